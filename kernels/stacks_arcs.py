"""Least depth of contiguous layouts: a queue walked around the ring instead of a matching.

Group g hosts r consecutive types of a ring, group g + 1 the same moved by one. An assignment exists unless the
alive groups are too few altogether, or some arc of groups is too few for the types that only it hosts: L groups in a
row, dead ones included, are the only hosts of L - r + 1 types. So let one job arrive with every group, and every
alive one serve ``depth`` jobs: the depth suffices if and only if the queue never reaches r (docs/stacks.md).
"""

import numpy as np

from .apart import apart
from .jit import njit
from .lanes import load16, mask_below, mask_equal, splat16, store, tally_below, tally_equal, umax, umin
from .stacks_lanes import LANES


@njit
def lower_by_walk(values, redundancy, threshold, depth):
    """The greatest threshold, at most ``threshold``, at which ``depth`` suffices on a contiguous layout.

    ``values``: uint32[N+1]; a group is alive when its value is at least the threshold (int64), and the alive groups
    must be at least N / depth.

    The queue is empty before an arc that is too few. Lowering the threshold to the arc's latest failure adds one
    group to it, and the walk goes on from there, since fewer failures leave an empty queue empty.
    """
    apart()
    groups = values.shape[0] - 1
    empty = -1  # last step after which the queue was empty
    queue = 0
    step = 0
    while step < 2 * groups:
        queue += 1
        if np.int64(values[step if step < groups else step - groups]) >= threshold:
            queue = max(queue - depth, 0)
        if queue == 0:
            empty = step
            if step >= groups:
                break  # from here on the second round repeats the first
        elif queue >= redundancy:
            lower = np.int64(0)
            for i in range(empty + 1, step + 1):
                value = np.int64(values[i if i < groups else i - groups])
                if value < threshold:
                    lower = max(lower, value)
            threshold = lower
            step = empty
            queue = 0
        step += 1
    return threshold


@njit
def raise_by_walk(ages, groups, redundancy, depth, bounds):
    """:func:`lower_by_walk` in sixteen trials at once: raise ``bounds`` (uint16[16]) where ``depth`` is too little.

    ``latest`` is the least age among the dead groups since a lane's queue was empty. A lane whose queue reaches r
    takes it as its bound and goes on as if its queue were empty: a queue taken too short shows nothing that is not
    so, and the walk is repeated until no lane changes.
    """
    apart()
    zero, one, highest = splat16(np.uint16(0)), splat16(np.uint16(1)), splat16(np.uint16(0xFFFF))
    served, taken = splat16(np.uint16(depth)), splat16(np.uint16(0x10000 - depth))
    full = splat16(np.uint16(redundancy - 1))
    bound = load16(bounds, 0)
    settled = False
    while not settled:
        settled = True
        queue = zero
        latest = highest
        emptied = zero
        for step in range(2 * groups):
            age = load16(ages, LANES * (step if step < groups else step - groups))
            alive = tally_below(zero, age, bound)
            queue = umax(queue + one, served * alive) + taken * alive
            latest = umin(latest, age | (highest * alive))
            empty = tally_equal(zero, queue, zero)
            latest = latest | (highest * empty)
            if np.int64(mask_below(full, queue)) != 0:
                settled = False
                over = tally_below(zero, full, queue)
                bound = umax(bound, (latest + one) * over)
                queue = queue * (over ^ one)
                latest = latest | (highest * over)
            if step >= groups:
                emptied = emptied | empty
                if np.int64(mask_equal(emptied, one)) == 0xFFFF:
                    break  # from here on the second round repeats the first
    store(bounds, 0, bound)
