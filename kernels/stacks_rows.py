"""Last failure counts that each depth survives, in sixteen trials side by side."""

import numpy as np

from .apart import apart
from .jit import njit
from .lanes import load16, store, umax
from .stacks_arcs import raise_by_walk
from .stacks_blocks import bounds_by_blocks
from .stacks_lanes import LANES, bounds_of_count, count_alive, draw_ages, rank_ages, wipe_out_bounds
from .stacks_paths import complete16, new_search
from .stacks_sweep import sweep16

TABLE, ARCS, BLOCKS, RING = 0, 1, 2, 3  # which method finds the least depth; RING: a table of short offsets
_ALL = (1 << LANES) - 1


@njit
def _rows_of_blocks(starts, ages, groups, rows, bounds, members, alive, edge):
    """:func:`_rows` for partitions."""
    apart()
    redundancy = rows.shape[1]
    undecided = 0
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
def _rows(kind, hosts, stacks, ages, rows, wipe, bounds, alive, edge, types, free, places, search):
    """Fill ``rows`` (int32[16, r]) from ``ages``; returns the undecided lanes (bit mask)."""
    apart()
    groups, redundancy = hosts.shape
    wipe_out_bounds(hosts, ages, wipe)
    count_alive(ages, groups, wipe, alive, edge)
    undecided = 0
    for lane in range(LANES):
        for place in range(redundancy):
            rows[lane, place] = groups - np.int64(alive[lane])
        rows[lane, 0] = 0
        undecided |= np.int64(edge[lane] != 1) << lane
    active = _ALL ^ undecided if redundancy > 1 else 0
    depth = np.int64(2)  # not a literal, for which the callees would be compiled once more
    while active != 0:
        most = groups - (groups + depth - 1) // depth  # beyond it the alive cannot take enough types
        for lane in range(LANES):
            bounds[lane] = np.uint16(0)
        for lane in range(LANES):
            if rows[lane, redundancy - 1] > most:
                bounds_of_count(ages, groups, groups - most, bounds)
                break
        store(bounds, 0, umax(load16(bounds, 0), load16(wipe, 0)))
        if kind == ARCS:
            raise_by_walk(ages, groups, redundancy, depth, bounds)
        else:
            sweep16(hosts, stacks, ages, bounds, depth, types, free, places)
            complete16(hosts, stacks, kind == RING, ages, bounds, depth, types, free, active, search)
        count_alive(ages, groups, bounds, alive, edge)
        for lane in range(LANES):
            if (active >> lane) & 1 == 0:
                continue
            reached = groups - np.int64(alive[lane])
            if edge[lane] != 1:
                undecided |= 1 << lane
            if edge[lane] != 1 or reached == rows[lane, redundancy - 1]:
                active ^= 1 << lane
            rows[lane, depth - 1] = reached
        depth += 1
    return undecided


@njit
def rows_by_lanes(kind, hosts, stacks, starts, k0, k1, first, out):
    """:func:`spare_mc.kernels.stacks.capacity` for layouts that fit into lanes."""
    groups, redundancy = hosts.shape
    count = out.shape[0]
    ages = np.empty(LANES * (((groups + 3) & ~3) + 1), np.uint16)
    types = np.empty(LANES * (groups + 1), np.uint16)
    places = np.empty(LANES * redundancy, np.uint16)
    small = np.empty((4, LANES), np.uint16)
    depths = np.empty((redundancy + 2 if kind == BLOCKS else 0, LANES), np.uint16)
    free = np.zeros(groups + 1, np.uint16)
    search = new_search(groups)
    keys = np.empty(groups, np.uint32)
    order = np.empty((2, groups), np.int64)
    scratch = np.empty(32, np.uint64)
    rows = np.empty((LANES, redundancy), np.int32)
    again = np.empty(count, np.int64)
    waiting = 0
    exact = False
    base = 0
    while True:
        if not exact and base >= count:
            exact = True  # the trials left undecided by half a key, once more by exact places
            base = 0
            count = waiting
        if exact and base >= count:
            break
        lanes = min(LANES, count - base)
        if exact:
            for lane in range(lanes):
                trial = first + np.uint64(again[base + lane])
                rank_ages(ages, groups, lane, keys, order, k0, k1, trial)
        else:
            trial = first + np.uint64(base)
            draw_ages(ages, groups, k0, k1, trial, scratch)
        if kind == BLOCKS:
            undecided = _rows_of_blocks(starts, ages, groups, rows, depths, types, small[2], small[3])
        else:
            undecided = _rows(
                kind,
                hosts,
                stacks,
                ages,
                rows,
                small[0],
                small[1],
                small[2],
                small[3],
                types,
                free,
                places,
                search,
            )
        if not exact and np.uint32(trial) > np.uint32(0xFFFFFFFF - LANES + 1):
            undecided = _ALL  # draw_ages does not carry into the high half of the trial number
        for lane in range(lanes):
            if not exact and (undecided >> lane) & 1:
                again[waiting] = base + lane
                waiting += 1
            else:
                row = again[base + lane] if exact else base + lane
                for place in range(redundancy):
                    out[row, place] = rows[lane, place]
        base += LANES
