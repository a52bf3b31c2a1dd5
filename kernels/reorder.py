"""Lives of the reordering controller under random failure patterns: from full strength to wipe-out.

A trial's failure order is the order of its pattern keys (``philox.pattern_keys``), ties by group index, as in the
survival and stack kernels: the endurable failures of a trial are the same numbers there and here.
"""

from typing import NamedTuple

import numpy as np

from .controller import (
    BEFORE,
    DEPTH,
    FIXED,
    FOUND,
    REORDER,
    WIPED,
    decide,
    fail,
    plain_state,
    plan,
    reset,
)
from .controller_jit import device, inner
from .controller_state import LABEL, OUT, SCRATCH
from .philox import pattern_keys, split64
from .reorder_columns import BY_FAILURES, COLUMNS, PHASES, pattern_memory

__all__ = ["BY_FAILURES", "COLUMNS", "PHASES", "Event", "Promotion", "failure_order", "life", "lives", "plan"]


def lives(plan, seed, first, rows, by_failures=None, moves=None, batch=1):
    """Whole lives of trials first, first + 1, ...: one row of integers each. Releases the GIL.

    plan: of this module's ``plan(hosts, stacks)``; seed: below 2**64; batch: failures found together and decided
    on at once (the last batch may be short; endurable failures count single failures whatever the batch).

    rows: int64[count, len(COLUMNS)], written. by_failures: int64[N + 1, len(BY_FAILURES)], added to; row k: decisions
    after which k groups were out. moves: int64[N + 1], added to: reorders by their moves.
    """
    n = plan.stacks.shape[0]
    if by_failures is None:
        by_failures = np.zeros((n + 1, len(BY_FAILURES)), np.int64)
    if moves is None:
        moves = np.zeros(n + 1, np.int64)
    keys, order, starts = pattern_memory(n)
    _lives(plan, plain_state(plan), keys, order, starts, *split64(seed), np.uint64(first), rows, by_failures, moves,
           np.int64(batch))  # fmt: skip


@device
def _lives(plan, state, keys, order, starts, k0, k1, first, rows, by_failures, moves, batch):
    for i in range(rows.shape[0]):
        pattern_keys(keys, k0, k1, first + np.uint64(i))
        failure_order(keys, order, starts)
        reset(plan, state)
        _life(plan, state, order, rows, i, by_failures, moves, batch)


@device(inline="always")
def _life(plan, state, order, rows, i, by_failures, moves, batch):
    n = order.shape[0]
    reg = state.reg
    for column in range(rows.shape[1]):
        rows[i, column] = 0
    rows[i, 10] = 1
    k = np.int64(0)
    while True:
        begin = k
        k = min(n, k + batch)
        for index in range(begin, k):
            fail(plan, state, order[index])
        phase, promoted, patch, changed = decide(plan, state)
        by_failures[k, phase] += 1
        if phase == WIPED:
            break
        rows[i, 10] += reg[DEPTH]
        rows[i, 1 + phase] += 1
        if phase != FIXED:
            rows[i, 4] += promoted
            rows[i, 4 + phase] += patch
            rows[i, 6 + phase] += changed
            rows[i, 9] += reg[FOUND]
            by_failures[k, 4] += promoted
            by_failures[k, 5] += patch
            by_failures[k, 6] += changed
            if phase == REORDER:
                moves[promoted] += 1
    rows[i, 0] = k - 1
    if k - begin > 1:
        rows[i, 0] = _wipeout_index(plan, state, order, k) - 1
    rows[i, 11] = reg[DEPTH]


@inner
def _wipeout_index(plan, state, order, failed):
    """Failure index (from 1) of the wipe-out within a batch: least over dead types of their last host's."""
    hosts, table = plan.hosts, state.table
    for i in range(failed):
        table[SCRATCH, order[i]] = i + 1
    least = failed
    for i in range(state.reg[FOUND]):
        t = state.uncovered[i]
        last = np.int64(0)
        for j in range(hosts.shape[1]):
            g = hosts[t, j]
            last = max(last, np.int64(table[SCRATCH, g]) if table[LABEL, g] == OUT else failed + 1)
        least = min(least, last)
    return least


@device
def failure_order(keys, order, starts):
    """Write into order (int32[N]) the groups by (key, group), keys uint32[N]; starts: scratch int32[2**i + 1].

    Bucket sort by the i highest bits: uniform keys leave about one a bucket, so the insertion pass is short.
    """
    n = keys.shape[0]
    slots = starts.shape[0] - 1
    shift = np.int64(32)
    while (np.int64(1) << (np.int64(32) - shift)) < slots:
        shift -= 1
    for i in range(slots + 1):
        starts[i] = 0
    for g in range(n):
        starts[(np.int64(keys[g]) >> shift) + 1] += 1
    for i in range(slots):
        starts[i + 1] += starts[i]
    for g in range(n):
        slot = np.int64(keys[g]) >> shift
        order[starts[slot]] = g
        starts[slot] += 1
    for i in range(1, n):
        g = order[i]
        key = keys[g]
        j = i
        while j > 0 and keys[order[j - 1]] > key:
            order[j] = order[j - 1]
            j -= 1
        order[j] = g


class Promotion(NamedTuple):
    """One type that a reorder brought into a prefix: places count from 0."""

    type: int
    group: int
    old_place: int
    new_place: int


class Event(NamedTuple):
    """One decision of life(): what failed, what the controller did, and the stacks before and after."""

    failures: int  # groups out so far, this batch included
    groups: tuple  # those of this batch, in failure order
    phase: int  # index into PHASES
    moves: int
    promotions: tuple  # of Promotion, by (group, new place)
    depth_before: int
    depth_after: int
    uncovered: int  # types that the failures left uncovered at the depth before
    patch: int  # groups with places to compute again
    changed: int  # places to compute again
    before: np.ndarray  # int32[N, r], stacks before the decision, -1 padded; dead groups': as they died
    after: np.ndarray  # int32[N, r], stacks after it
    alive: np.ndarray  # bool[N], after the failures


def life(plan, seed, trial, batch=1):
    """The life of one trial, decision by decision: a generator of Event, the last one the wipe-out.

    Same device functions, order and batches as lives(); for teaching, plots and tests.
    """
    n = plan.stacks.shape[0]
    keys, order, starts = pattern_memory(n)
    pattern_keys(keys, *split64(seed), np.uint64(trial))
    failure_order(keys, order, starts)
    state = plain_state(plan)
    phase, k = FIXED, 0
    while phase != WIPED:
        groups = tuple(int(g) for g in order[k : k + batch])
        k += len(groups)
        for g in groups:
            fail(plan, state, g)
        before = _padded(plan, state)
        phase, moves, patch, changed = (int(value) for value in decide(plan, state))
        depths = int(state.reg[BEFORE]), int(state.reg[DEPTH])
        after = _padded(plan, state)
        promotions = _promotions(before, after, depths[1]) if phase == REORDER else ()
        yield Event(
            k, groups, phase, moves, promotions, *depths, int(state.reg[FOUND]), patch, changed, before, after,
            state.table[LABEL] != OUT,
        )  # fmt: skip


def _padded(plan, state):
    """The stacks, int32[N, r], short rows padded with -1."""
    inside = np.arange(state.stack.shape[1]) < plan.width[:, None]
    return np.where(inside, state.stack.astype(np.int32), np.int32(-1))


def _promotions(before, after, depth):
    found = []
    for g in np.flatnonzero((before != after).any(axis=1)):
        old = list(before[g])
        for place, t in enumerate(after[g, :depth]):
            if old.index(t) >= depth:  # a short row never changes, so t is a type
                found.append(Promotion(int(t), int(g), old.index(t), place))
    return tuple(found)
