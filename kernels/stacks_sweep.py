"""Shard types assigned to alive groups in sixteen trials at once: the greedy sweep.

The state of a type in a lane is one uint16: alive hosts that the sweep has still to pass (times 128) while it is
open; DONE plus the stack place at which its group hosts it (low 7 bits) once it has one. Every stack place holds
every type at most once, so the place names the group, ``hosts[type, place]``. See docs/stacks.md.
"""

import numpy as np

from .apart import apart
from .jit import njit
from .lanes import load16, mask_below, splat16, store, tally_below, umax, umin
from .stacks_lanes import LANES

DONE = np.uint16(0x8000)
_NOBODY = np.uint16(
    0xC000
)  # row N, a type that is done; stays so when 127 places of a short stack count it down


@njit
def sweep16(hosts, stacks, ages, bounds, depth, types, free, places):
    """Greedy assignment: the groups in turn each take the ``depth`` types with the fewest hosts still to come.

    Ties go to the lower place. Written: ``types``, uint16[16 * (N + 1)], and ``free``, uint16[N + 1]: the lanes
    (bit mask) in which a group is alive and has taken fewer than ``depth``. ``places``: uint16[16 * r], scratch.
    """
    apart()
    groups, redundancy = stacks.shape
    bound = load16(bounds, 0)
    zero, one, done = splat16(np.uint16(0)), splat16(np.uint16(1)), splat16(DONE)
    step, less = splat16(np.uint16(128)), splat16(np.uint16(0x10000 - 128))
    highest, most = splat16(np.uint16(0xFFFF)), splat16(np.uint16(depth))
    for t in range(groups):
        left = zero
        for place in range(redundancy):
            left = tally_below(left, load16(ages, LANES * np.int64(hosts[t, place])), bound)
        store(types, LANES * t, left * step)
    store(types, LANES * groups, splat16(_NOBODY))
    for g in range(groups):
        alive = tally_below(zero, load16(ages, LANES * g), bound)
        last = highest  # the depth-th smallest urgency, found by so many passes of a bubble sort
        here = zero
        if depth == 2:
            first = highest
            for place in range(redundancy):
                urgency = load16(types, LANES * np.int64(stacks[g, place])) | here
                here = here + one
                last = umin(last, umax(first, urgency))
                first = umin(first, urgency)
        elif depth == 3:
            first = second = highest
            for place in range(redundancy):
                urgency = load16(types, LANES * np.int64(stacks[g, place])) | here
                here = here + one
                higher = umax(first, urgency)
                first = umin(first, urgency)
                last = umin(last, umax(second, higher))
                second = umin(second, higher)
        elif depth == 4:
            first = second = third = highest
            for place in range(redundancy):
                urgency = load16(types, LANES * np.int64(stacks[g, place])) | here
                here = here + one
                higher = umax(first, urgency)
                first = umin(first, urgency)
                urgency = umax(second, higher)
                second = umin(second, higher)
                last = umin(last, umax(third, urgency))
                third = umin(third, urgency)
        else:
            for place in range(redundancy):
                urgency = load16(types, LANES * np.int64(stacks[g, place])) | here
                here = here + one
                store(places, LANES * place, umax(last, urgency))
                last = umin(last, urgency)
            for _ in range(1, depth):
                last = highest
                for place in range(redundancy):
                    urgency = load16(places, LANES * place)
                    store(places, LANES * place, umax(last, urgency))
                    last = umin(last, urgency)
        limit = umin(last + one, done) * alive
        passed = less * alive
        load = zero
        here = zero
        for place in range(redundancy):
            row = LANES * np.int64(stacks[g, place])
            state = load16(types, row)
            taken = tally_below(zero, state | here, limit)
            load = load + taken
            store(types, row, (state + passed) | (taken * (done | here)))
            here = here + one
        free[g] = mask_below(load, most * alive)
        if stacks[g, redundancy - 1] == groups:
            store(types, LANES * groups, splat16(_NOBODY))
