"""Least stacks under a failure stream.

The groups of one event are lost at one moment, so only states between events count. Feasible after k failures means
feasible after fewer: with the last of single failures that each depth survives, found as for independent groups (the
groups of an event in any order), the last event it survives is the one before.
"""

import numpy as np

from .jit import njit
from .philox import split64
from .stacks_lanes import LANES
from .stacks_paths import new_box
from .stacks_plan import BLOCKS
from .stacks_rows import block_rows_of_ages, new_ages, rows_of_ages
from .stacks_single import rows_of_keys
from .stream_layouts import stack_layout as stream_layout
from .stream_patterns import enter_life, enter_trial, follow
from .stream_plan import STACK_COLUMNS as COLUMNS
from .stream_plan import blank_pattern, memory

__all__ = ["COLUMNS", "stream_lives", "stream_layout"]


def stream_lives(stream, layout, seed, first, rows, at_depth):
    """Lives of trials first, first + 1, ... under a stream; drops the GIL.

    stream: of ``streams.plan``; layout: of ``stream_layout``; seed, trials: below 2**64. Written: rows,
    int64[count, len(COLUMNS)]. at_depth, int64[N + 1, r], is added to: row k, column d - 1 the states between events, k
    groups lost, whose least stack is d.
    """
    groups = len(layout.hosting.types)
    drawn, held = memory(stream), blank_pattern(groups)
    if layout.stacks.hosts16.shape[0] == 0:
        _one_by_one(stream, layout, drawn, held, seed, first, rows, at_depth)
        return
    stacks = layout.stacks
    key = (np.uint64(half) for half in split64(seed))
    ends, endured = np.empty((LANES, groups), np.int32), np.empty(LANES, np.int64)
    tables = stacks.kind, stacks.hosts16, stacks.stacks16, stacks.starts
    _in_lanes(
        stream, drawn, layout.hosting, held, ends, endured, *tables, *key, np.uint64(first), rows, at_depth
    )


@njit
def _in_lanes(
    stream, memory, hosting, held, ends, endured, kind, hosts, stacks, starts, k0, k1, first, rows, at_depth
):
    """``ends``, int32[16, N], and ``endured``, int64[16]: the events of each lane, and how many are endured."""
    groups, redundancy = hosts.shape
    ages = new_ages(groups)
    types = np.empty(LANES * (groups + 1), np.uint16)
    free = np.zeros(groups + 1, np.uint16)
    places = np.empty(LANES * redundancy, np.uint16)
    box, marks = new_box(groups)
    bounds, block_bounds = np.empty((4, LANES), np.uint16), np.empty((redundancy + 1, LANES), np.uint16)
    last = np.empty((LANES, redundancy), np.int32)
    for lane in range(LANES):
        _enter_ages(held.order, np.int64(0), ages, lane, groups)  # of lanes that have no trial
    for start in range(0, rows.shape[0], LANES):
        count = min(LANES, rows.shape[0] - start)
        for lane in range(count):
            enter_trial(memory, k0, k1, first + np.uint64(start + lane))
            events, wiped = follow(stream, memory, hosting, held)
            endured[lane] = enter_life(held, events, wiped, rows[start + lane])
            for event in range(events):
                ends[lane, event] = held.ends[event]
            _enter_ages(held.order, held.ends[events - 1] if events > 0 else 0, ages, lane, groups)
        if kind == BLOCKS:
            block_rows_of_ages(starts, groups, ages, block_bounds, places, bounds[2], bounds[3], last)
        else:
            rows_of_ages(kind, hosts, stacks, ages, types, free, places, box, marks, bounds, last)
        for lane in range(count):
            _enter_states(last[lane], ends[lane], endured[lane], groups, rows[start + lane], at_depth)


@njit
def _enter_ages(order, lost, ages, lane, groups):
    """Ages of one lane (see ``stacks_lanes``): the ``lost`` groups in their order, then all others."""
    for g in range(groups + 1):
        ages[LANES * g + lane] = np.uint16(0xFFFF)
    for i in range(lost):
        ages[LANES * np.int64(order[i]) + lane] = np.uint16(groups - 1 - i)
    for g in range(groups):
        if ages[LANES * g + lane] == np.uint16(0xFFFF):
            ages[LANES * g + lane] = np.uint16(groups - 1 - lost)
            lost += 1


@njit
def _enter_states(last, ends, endured, groups, row, at_depth):
    """Count the states between events: ``last`` (int32[r]) as of ``stacks.capacity``, ``ends`` of the events."""
    depth = np.int64(1)
    stack = above = np.int64(0)
    lost = np.int64(0)
    for event in range(endured + 1):
        if event > 0:
            lost = np.int64(ends[event - 1])
        while last[depth - 1] < lost:
            depth += 1
        at_depth[lost, depth - 1] += 1
        stack += depth
        # c(k) = ceil(N / (N - k)) is what the alive can take at least
        above += np.int64(depth > (2 * groups - lost - 1) // (groups - lost))
    row[3] = stack
    row[4] = endured + 1
    row[5] = above


def _one_by_one(stream, layout, memory, held, seed, first, rows, at_depth):
    """One trial at a time: layouts too large for lanes."""
    groups, redundancy = layout.stacks.hosts.shape
    last = np.empty((1, redundancy), np.int32)
    key = (np.uint64(half) for half in split64(seed))
    k0, k1 = key
    for i in range(rows.shape[0]):
        events, endured, lost = _follow_one(
            stream, memory, layout.hosting, held, k0, k1, np.uint64(first + i), rows[i]
        )
        keys = np.full(groups, groups, np.uint32)
        keys[held.order[:lost]] = np.arange(lost, dtype=np.uint32)
        rows_of_keys(layout.stacks, [keys], last)
        _enter_states(last[0], held.ends, endured, groups, rows[i], at_depth)


@njit
def _follow_one(stream, memory, hosting, held, k0, k1, trial, row):
    enter_trial(memory, k0, k1, trial)
    events, wiped = follow(stream, memory, hosting, held)
    return events, enter_life(held, events, wiped, row), np.int64(held.ends[events - 1] if events > 0 else 0)
