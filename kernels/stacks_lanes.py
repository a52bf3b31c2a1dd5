"""Sixteen trials side by side: order statistics of their failure orders, one lane a trial.

Lane i of row g (elements 16 g .. 16 g + 15 of a uint16 array) is group g's *age* in trial i: the complement of the
high half of its failure-order key, or N - 1 less its place in the order. Ages fall as failures come earlier; the
groups alive after some failures are those with an age below a *bound* of the lane. Two groups of one age next to a
bound leave a lane undecided. Row N is a group that is never alive, of an age no other has.
"""

import numpy as np

from .apart import apart
from .jit import njit
from .lanes import load16, splat16, store, tally_below, tally_equal, umax, umin
from .patterns import trials16
from .philox import PURPOSE_PATTERN, philox

LANES = 16
_NEVER = np.uint16(0xFFFF)
_PURPOSE = np.uint32(PURPOSE_PATTERN << 24)


@njit
def draw_ages(ages, groups, k0, k1, first, scratch):
    """Fill ``ages`` (uint16[16 * (N + 1)] and up to 48 more) for trials first .. first + 15 (uint64).

    The high 32 bits of the trials must be the same. ``scratch``: uint64[32].
    """
    apart()
    trials16(ages, (groups + 3) >> 2, k0, k1, first, scratch)
    never, most = splat16(_NEVER), splat16(np.uint16(0xFFFE))
    for g in range(groups):
        store(ages, LANES * g, umin(load16(ages, LANES * g) ^ never, most))
    store(ages, LANES * groups, never)


@njit
def rank_ages(ages, groups, lane, sorting, k0, k1, trial):
    """Fill one lane of ``ages`` with N - 1 less the exact places in the failure order: no two are equal.

    ``sorting``: int64[2, N], scratch. A radix sort of the full keys, least significant digit first, keeps equal keys
    in the order of their groups.
    """
    apart()
    ends = np.zeros((3, 2049), np.int64)
    low, high = np.uint32(trial & np.uint64(0xFFFFFFFF)), np.uint32(trial >> np.uint64(32))
    for draw in range((groups + 3) >> 2):
        words = philox(np.uint32(draw), _PURPOSE, low, high, np.uint32(k0), np.uint32(k1))
        for g in range(4 * draw, min(4 * draw + 4, groups)):
            key = np.int64(words[g & 3])
            sorting[0, g] = (key << np.int64(16)) | g  # N is less than 2**16
            for digit in range(3):
                ends[digit, ((key >> np.int64(11 * digit)) & 2047) + 1] += 1
    for digit in range(3):
        for value in range(2048):
            ends[digit, value + 1] += ends[digit, value]
        for i in range(groups):
            item = sorting[digit & 1, i]
            value = (item >> np.int64(16 + 11 * digit)) & 2047
            sorting[~digit & 1, ends[digit, value]] = item
            ends[digit, value] += 1
    for i in range(groups):
        ages[LANES * (sorting[1, i] & 0xFFFF) + lane] = np.uint16(groups - 1 - i)
    ages[LANES * groups + lane] = _NEVER


@njit
def wipe_out_bounds(hosts, ages, bounds):
    """Set ``bounds`` (uint16[16]) so that the groups alive are those left just before the wipe-out."""
    apart()
    latest = splat16(np.uint16(0))
    for t in range(hosts.shape[0]):
        last = load16(ages, LANES * np.int64(hosts[t, 0]))
        for place in range(1, hosts.shape[1]):
            last = umin(last, load16(ages, LANES * np.int64(hosts[t, place])))
        latest = umax(latest, last)
    store(bounds, 0, latest + splat16(np.uint16(1)))


@njit
def count_alive(ages, groups, bounds, alive, edge):
    """Per lane: groups alive, and those among them of the greatest age alive (uint16[16] each)."""
    apart()
    bound = load16(bounds, 0)
    last = bound + splat16(_NEVER)
    below = splat16(np.uint16(0))
    equal = splat16(np.uint16(0))
    for g in range(groups):
        age = load16(ages, LANES * g)
        below = tally_below(below, age, bound)
        equal = tally_equal(equal, age, last)
    store(alive, 0, below)
    store(edge, 0, equal)


@njit
def bounds_of_count(ages, groups, count, bounds):
    """Set ``bounds`` to the least at which at least ``count`` groups are alive (0 < count <= N)."""
    apart()
    zero = splat16(np.uint16(0))
    wanted = splat16(np.uint16(count))
    bound = zero  # greatest at which fewer are alive, bit by bit
    for bit in range(16):
        step = splat16(np.uint16(0x8000 >> bit))
        trial = bound | step
        below = zero
        for g in range(groups):
            below = tally_below(below, load16(ages, LANES * g), trial)
        bound = bound | (step * tally_below(zero, below, wanted))
    store(bounds, 0, bound + splat16(np.uint16(1)))
