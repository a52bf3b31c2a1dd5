"""Order statistics of a trial's failure-order keys, found without sorting them."""

import numpy as np

from .apart import apart
from .jit import njit


@njit
def count_below(values, start, stop, bound):
    """How many of ``values[start:stop]`` (uint32) are below ``bound`` (int64)."""
    below = 0
    for i in range(start, stop):
        below += np.int64(np.int64(values[i]) < bound)
    return below


@njit
def count_equal(values, start, stop, value):
    """How many of ``values[start:stop]`` (uint32) equal ``value`` (int64)."""
    equal = 0
    for i in range(start, stop):
        equal += np.int64(np.int64(values[i]) == value)
    return equal


@njit
def select(values, start, stop, rank):
    """The value at place ``rank`` (0-based) of ``values[start:stop]`` (uint32) in sorted order, as int64.

    Keys are uniform, so interpolating between the two counts already known takes a handful of passes;
    every second pass halves the interval, which bounds the passes by 64 for any values.
    """
    apart()
    low, below_low = np.int64(0), 0
    high, below_high = np.int64(1) << np.int64(32), stop - start
    halve = False
    while below_high - below_low > 1 and high - low > 1:
        if halve:
            cut = (low + high) >> np.int64(1)
        else:
            share = (rank - below_low + 0.5) / (below_high - below_low)
            cut = low + np.int64(np.float64(high - low) * share)
            cut = min(max(cut, low + 1), high - 1)
        halve = not halve
        below = count_below(values, start, stop, cut)
        if below <= rank:
            low, below_low = cut, below
        else:
            high, below_high = cut, below
    least = high
    for i in range(start, stop):
        value = np.int64(values[i])
        if low <= value < least:
            least = value
    return least


@njit
def rank_keys(keys, ranks):
    """Fill ``ranks[:N]`` (uint32) with the place of each of ``keys`` (uint32[N]) in (key, group) order.

    Distinct stand-ins for keys that tie. A radix sort, least significant byte first, keeps equal keys in the
    order of their groups.
    """
    apart()
    n = keys.shape[0]
    order = np.empty(n, np.int64)
    for g in range(n):
        order[g] = g  # np.arange costs seconds of compilation
    other = np.empty(n, np.int64)
    for shift in range(0, 32, 8):
        ends = np.zeros(257, np.int64)
        for g in range(n):
            ends[((np.int64(keys[g]) >> np.int64(shift)) & 255) + 1] += 1
        for digit in range(256):
            ends[digit + 1] += ends[digit]
        for i in range(n):
            digit = (np.int64(keys[order[i]]) >> np.int64(shift)) & 255
            other[ends[digit]] = order[i]
            ends[digit] += 1
        order, other = other, order
    for i in range(n):
        ranks[order[i]] = i
