"""Last failure counts that each depth survives, in sixteen trials side by side."""

import numpy as np

from .apart import apart
from .jit import njit
from .lanes import load16, store, umax
from .stacks_arcs import raise_by_walk
from .stacks_batches import keep_rows, load_batch, new_progress
from .stacks_blocks import bounds_by_blocks
from .stacks_lanes import LANES, bounds_of_count, count_alive, wipe_out_bounds
from .stacks_paths import complete16, new_box
from .stacks_plan import ARCS, RING
from .stacks_sweep import sweep16

_ALL = (1 << LANES) - 1


@njit
def new_ages(groups):
    """Ages of sixteen trials."""
    return np.empty(LANES * (((groups + 3) & ~3) + 1), np.uint16)  # trials16 draws four groups at a time


@njit
def _enter_wipe_out(alive, edge, groups, rows):
    """Start ``rows`` (int32[16, r]) with the endurable failures; returns the undecided lanes (bit mask)."""
    undecided = 0
    for lane in range(LANES):
        for place in range(rows.shape[1]):
            rows[lane, place] = groups - np.int64(alive[lane])
        rows[lane, 0] = 0
        undecided |= np.int64(edge[lane] != 1) << lane
    return undecided


@njit
def _start_bounds(ages, groups, endurable, wipe, most, bounds):
    """Set ``bounds`` to those after ``most`` failures, or before the wipe-out if that comes first."""
    apart()
    for lane in range(LANES):
        bounds[lane] = np.uint16(0)
    for lane in range(LANES):
        if endurable[lane] > most:
            bounds_of_count(ages, groups, groups - most, bounds)
            break
    store(bounds, 0, umax(load16(bounds, 0), load16(wipe, 0)))


@njit
def _enter_depth(alive, edge, groups, depth, active, rows):
    """Enter one depth into ``rows``; returns the lanes (bit masks) with depths still to find, and undecided."""
    undecided = 0
    last = rows.shape[1] - 1
    for lane in range(LANES):
        if (active >> lane) & 1 == 0:
            continue
        reached = groups - np.int64(alive[lane])
        undecided |= np.int64(edge[lane] != 1) << lane
        if edge[lane] != 1 or reached == rows[lane, last]:
            active ^= 1 << lane
        rows[lane, depth - 1] = reached
    return active, undecided


@njit
def rows_of_ages(kind, hosts, stacks, ages, types, free, places, box, marks, bounds, rows):
    """Rows (int32[16, r]) of sixteen trials whose ``ages`` are given; returns the undecided lanes (bit mask).

    Scratch: ``types`` uint16[16 * (N + 1)], ``free`` uint16[N + 1], ``places`` uint16[16 * r], those of new_box(),
    ``bounds`` uint16[4, 16].
    """
    groups, redundancy = hosts.shape
    wipe, bound, alive, edge = bounds[0], bounds[1], bounds[2], bounds[3]
    wipe_out_bounds(hosts, ages, wipe)
    count_alive(ages, groups, wipe, alive, edge)
    undecided = _enter_wipe_out(alive, edge, groups, rows)
    active = _ALL ^ undecided if redundancy > 1 else 0
    depth = np.int64(2)  # not a literal, for which the callees would be compiled once more
    while active != 0:
        most = groups - (groups + depth - 1) // depth  # beyond it the alive cannot take enough types
        _start_bounds(ages, groups, rows[:, redundancy - 1], wipe, most, bound)
        if kind == ARCS:
            raise_by_walk(ages, groups, redundancy, depth, bound)
        else:
            sweep16(hosts, stacks, ages, bound, depth, types, free, places)
            complete16(hosts, stacks, kind == RING, ages, bound, depth, types, free, active, box, marks)
        count_alive(ages, groups, bound, alive, edge)
        active, unclear = _enter_depth(alive, edge, groups, depth, active, rows)
        undecided |= unclear
        depth += 1
    return undecided


@njit
def rows_by_lanes(kind, hosts, stacks, k0, k1, first, out):
    """:func:`spare_mc.kernels.stacks.capacity` for layouts that fit into lanes, but partitions."""
    groups, redundancy = hosts.shape
    ages = new_ages(groups)
    types = np.empty(LANES * (groups + 1), np.uint16)
    free = np.zeros(groups + 1, np.uint16)
    places = np.empty(LANES * redundancy, np.uint16)
    box, marks = new_box(groups)
    bounds = np.empty((4, LANES), np.uint16)
    rows = np.empty((LANES, redundancy), np.int32)
    sorting, scratch = np.empty((2, groups), np.int64), np.empty(32, np.uint64)
    progress, again = new_progress(out.shape[0])
    while True:
        count = load_batch(progress, again, ages, groups, k0, k1, first, sorting, scratch)
        if count == 0:
            break
        undecided = rows_of_ages(kind, hosts, stacks, ages, types, free, places, box, marks, bounds, rows)
        keep_rows(progress, again, rows, count, undecided, first, out)


@njit
def block_rows_of_ages(starts, groups, ages, bounds, members, alive, edge, rows):
    """:func:`rows_of_ages` for partitions. Scratch: ``bounds`` uint16[r + 1, 16], ``members`` uint16[16 * r]."""
    redundancy = rows.shape[1]
    undecided = np.int64(0)
    bounds_by_blocks(starts, ages, redundancy, bounds, members)
    for depth in range(redundancy, 1, -1):
        changed = depth == redundancy
        for lane in range(LANES):
            changed |= bounds[depth, lane] != bounds[min(depth + 1, redundancy), lane]
        if changed:
            count_alive(ages, groups, bounds[depth], alive, edge)
        for lane in range(LANES):
            rows[lane, depth - 1] = groups - np.int64(alive[lane])
            undecided |= np.int64(edge[lane] != 1) << lane
    for lane in range(LANES):
        rows[lane, 0] = 0
    return undecided


@njit
def rows_of_blocks(starts, groups, k0, k1, first, out):
    """:func:`spare_mc.kernels.stacks.capacity` for partitions that fit into lanes."""
    redundancy = out.shape[1]
    ages = new_ages(groups)
    bounds = np.empty((redundancy + 1, LANES), np.uint16)
    members = np.empty(LANES * redundancy, np.uint16)
    alive, edge = np.empty(LANES, np.uint16), np.empty(LANES, np.uint16)
    rows = np.empty((LANES, redundancy), np.int32)
    sorting, scratch = np.empty((2, groups), np.int64), np.empty(32, np.uint64)
    progress, again = new_progress(out.shape[0])
    while True:
        count = load_batch(progress, again, ages, groups, k0, k1, first, sorting, scratch)
        if count == 0:
            break
        undecided = block_rows_of_ages(starts, groups, ages, bounds, members, alive, edge, rows)
        keep_rows(progress, again, rows, count, undecided, first, out)
