"""Last failure counts that each depth survives, one trial at a time: layouts too large for lanes, and given keys.

Only the steps are compiled: they take a millisecond for layouts of that size.
"""

import numpy as np

from .jit import njit
from .matching import lower_by_matching, new_work
from .stacks_arcs import lower_by_walk
from .stacks_blocks import lower_by_blocks
from .stacks_plan import ARCS, BLOCKS
from .stacks_values import count_below, count_equal, rank_keys, select


@njit
def _wipe_out(hosts, values):
    """The least over the types of the greatest of ``values`` among its hosts (int64): that group wipes out."""
    wipe = np.int64(1) << np.int64(32)
    for t in range(hosts.shape[0]):
        last = np.int64(0)
        for place in range(hosts.shape[1]):
            last = max(last, np.int64(values[hosts[t, place]]))
        wipe = min(wipe, last)
    return wipe


def lowering(plan):
    """The method of a layout's family: (values, threshold, depth) -> the greatest threshold at which depth suffices.

    See :func:`spare_mc.kernels.matching.lower_by_matching`. The function has scratch: one a thread.
    """
    groups, redundancy = plan.hosts.shape
    if plan.kind == ARCS:
        return lambda values, threshold, depth: lower_by_walk(values, redundancy, threshold, depth)
    if plan.kind == BLOCKS:
        return lambda values, threshold, depth: lower_by_blocks(plan.starts, values, threshold, depth)
    work = new_work(groups, redundancy)
    return lambda values, threshold, depth: lower_by_matching(
        plan.stacks, plan.hosts, values, threshold, depth, work
    )


def row_of_values(plan, lower, values, out):
    """One trial's row (int32[r]), given its keys or their ranks (uint32[N+1], the last one 0).

    False if two groups tie where it matters: two of the same value are then on different sides of some count.
    """
    groups = plan.hosts.shape[0]
    wipe = _wipe_out(plan.hosts, values)
    endurable = count_below(values, 0, groups, wipe)
    clear = count_equal(values, 0, groups, wipe) == 1
    out[:] = endurable
    out[0] = reached = 0
    depth = 2
    while clear and reached < endurable:
        reached = groups - -(-groups // depth)  # beyond it the alive cannot take enough types
        start = select(values, 0, groups, reached) if reached < endurable else wipe
        threshold = lower(values, np.int64(start), depth)
        reached = count_below(values, 0, groups, threshold)
        clear = count_equal(values, 0, groups, threshold) == 1
        out[depth - 1] = reached
        depth += 1
    return clear


def rows_of_keys(plan, keys, out):
    """:func:`spare_mc.kernels.stacks.capacity` for failure-order keys, an iterable of uint32[N]; fills ``out``."""
    groups = plan.hosts.shape[0]
    lower = lowering(plan)
    values = np.zeros(groups + 1, np.uint32)
    for row, found in zip(keys, out, strict=True):
        values[:groups] = row
        if not row_of_values(plan, lower, values, found):
            rank_keys(values[:groups].copy(), values)
            row_of_values(plan, lower, values, found)
