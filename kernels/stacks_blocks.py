"""Least depth of partition layouts: every block on its own, by its members' order of failure.

A block of b groups hosts b types, so depth d suffices while ceil(b / d) members are alive: until the one fails that
only ceil(b / d) - 1 members outlive.
"""

import numpy as np

from .apart import apart
from .jit import njit
from .lanes import load16, splat16, store, umax, umin
from .stacks_lanes import LANES
from .stacks_values import count_below, select


@njit
def lower_by_blocks(starts, values, threshold, depth):
    """The greatest threshold, at most ``threshold``, at which ``depth`` suffices on a partition layout.

    ``starts``: int64[B+1], block i is groups starts[i] .. starts[i+1]-1, which all host the types of the same
    numbers. ``values``: uint32[N+1]; a group is alive when its value is at least the threshold (int64).
    """
    apart()
    for block in range(starts.shape[0] - 1):
        start, stop = starts[block], starts[block + 1]
        size = stop - start
        spare = size - (size + depth - 1) // depth  # members the block can lose
        if count_below(values, start, stop, threshold) > spare:
            threshold = select(values, start, stop, spare)
    return threshold


@njit
def bounds_by_blocks(starts, ages, redundancy, bounds, members):
    """The bounds of all depths in sixteen trials at once: ``bounds`` uint16[r+1, 16], row d for depth d >= 2.

    ``members``: uint16[16 * largest block], scratch.
    """
    apart()
    highest, one = splat16(np.uint16(0xFFFF)), splat16(np.uint16(1))
    for depth in range(redundancy + 1):
        store(bounds[depth], 0, highest ^ highest)
    for block in range(starts.shape[0] - 1):
        start = starts[block]
        size = starts[block + 1] - start
        for member in range(size):
            store(members, LANES * member, load16(ages, LANES * (start + member)))
        depth = redundancy
        for needed in range(1, (size + 1) // 2 + 1):
            least = highest  # the needed-th smallest age, found by so many passes of a bubble sort
            for member in range(size):
                age = load16(members, LANES * member)
                store(members, LANES * member, umax(least, age))
                least = umin(least, age)
            while depth >= 2 and (size + depth - 1) // depth <= needed:
                store(bounds[depth], 0, umax(load16(bounds[depth], 0), least + one))
                depth -= 1
