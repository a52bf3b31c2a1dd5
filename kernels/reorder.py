"""Lives of the reordering controller under random failure patterns: from full strength to wipe-out.

A trial's failure order is the order of its pattern keys (``philox.pattern_keys``), ties by group index, as in the
survival and stack kernels: the endurable failures of a trial are the same numbers there and here.
"""

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
from .reorder_life import Decision, batches, events

__all__ = ["BY_FAILURES", "COLUMNS", "PHASES", "decisions", "failure_order", "lives", "plan"]


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
        count_decision(reg, rows, i, by_failures, moves, k, phase, promoted, patch, changed)
        if phase == WIPED:
            break
    rows[i, 0] = k - 1
    if k - begin > 1:
        rows[i, 0] = _wipeout_index(plan, state, order, k) - 1
    rows[i, 11] = reg[DEPTH]


@device(inline="always")
def count_decision(reg, rows, i, by_failures, moves, k, phase, promoted, patch, changed):
    """Enter a decision after which k groups are out into row i and the counts."""
    by_failures[k, phase] += 1
    if phase != WIPED:
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


def decisions(plan, seed, trial, batch=1, pattern=None):
    """The life of one trial, decision by decision: a generator of ``reorder_life.Event``, the last one the wipe-out.

    Same device functions, order and batches as lives(); for teaching, plots and tests. pattern: (order, ends, times)
    of a failure stream (``stream_patterns.pattern``) in place of the order of the trial's keys and batches.
    """
    if pattern is None:
        keys, order, starts = pattern_memory(plan.stacks.shape[0])
        pattern_keys(keys, *split64(seed), np.uint64(trial))
        failure_order(keys, order, starts)
        pattern = order, batches(len(order), batch), None
    order, ends, times = pattern
    state = plain_state(plan)

    def decided(groups):
        for g in groups:
            fail(plan, state, g)
        made = (int(value) for value in decide(plan, state))
        return Decision(*made, *(int(state.reg[place]) for place in (BEFORE, DEPTH, FOUND)))

    return events(plan, state, order, decided, ends, times)
