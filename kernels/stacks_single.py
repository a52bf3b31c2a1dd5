"""Last failure counts that each depth survives, one trial at a time: layouts too large for lanes, and given keys."""

import numpy as np

from .apart import apart
from .jit import njit
from .matching import lower_by_matching, new_work
from .philox import pattern_keys
from .stacks_arcs import lower_by_walk
from .stacks_blocks import lower_by_blocks
from .stacks_rows import ARCS, BLOCKS
from .stacks_values import count_below, count_equal, rank_keys, select


@njit
def wipe_out(hosts, values):
    """The least over the types of the greatest of ``values`` among its hosts (int64): that group wipes out."""
    wipe = np.int64(1) << np.int64(32)
    for t in range(hosts.shape[0]):
        last = np.int64(0)
        for place in range(hosts.shape[1]):
            last = max(last, np.int64(values[hosts[t, place]]))
        wipe = min(wipe, last)
    return wipe


@njit
def _row(kind, hosts, stacks, starts, values, out, w):
    """One trial's row, given its keys or their ranks (uint32[N+1], the last one 0).

    False if two groups tie where it matters: two of the same value are then on different sides of some count.
    """
    apart()
    groups, redundancy = hosts.shape
    wipe = wipe_out(hosts, values)
    endurable = count_below(values, 0, groups, wipe)
    clear = count_equal(values, 0, groups, wipe) == 1
    for place in range(redundancy):
        out[place] = endurable
    out[0] = 0
    reached = 0
    depth = np.int64(2)
    while clear and reached < endurable:
        reached = (
            groups - (groups + depth - 1) // depth
        )  # alive groups can take no more than depth types each
        start = wipe
        if reached < endurable:
            start = select(values, 0, groups, reached)
        if kind == ARCS:
            threshold = lower_by_walk(values, redundancy, start, depth)
        elif kind == BLOCKS:
            threshold = lower_by_blocks(starts, values, start, depth)
        else:
            threshold = lower_by_matching(stacks, hosts, values, start, depth, w)
        reached = count_below(values, 0, groups, threshold)
        clear = count_equal(values, 0, groups, threshold) == 1
        out[depth - 1] = reached
        depth += 1
    return clear


@njit
def rows_one_by_one(kind, hosts, stacks, starts, given, k0, k1, first, out):
    """:func:`spare_mc.kernels.stacks.capacity`; of the keys ``given`` (uint32[count, N]) unless it has no rows."""
    groups, redundancy = hosts.shape
    w = new_work(groups, redundancy)
    values = np.zeros(groups + 1, np.uint32)
    keys = np.empty(groups, np.uint32)
    for i in range(out.shape[0]):
        if given.shape[0] > 0:
            for g in range(groups):
                keys[g] = given[i, g]
        else:
            pattern_keys(keys, k0, k1, first + np.uint64(i))
        for g in range(groups):
            values[g] = keys[g]
        if not _row(kind, hosts, stacks, starts, values, out[i], w):
            rank_keys(keys, values)
            _row(kind, hosts, stacks, starts, values, out[i], w)
