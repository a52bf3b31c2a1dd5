"""``lanes`` for a GPU: a vector is the one trial of a thread.

The CPU's kernels work on sixteen trials side by side. Linked with these functions and LANES = 1, the same source works
on one trial, and the thirty-two threads of a warp are the lanes. A value is a uint64 of which the low 16 bits count:
sums, products and bitwise operations leave those right, everything else cuts first.
"""

import numpy as np

from . import apart, lanes
from .cuda_link import Linker

_LOW = np.uint64(0xFFFF)


def load16(array, start):
    """Element ``start`` of ``array`` (uint16)."""
    return np.uint64(array[start])


def store(array, start, value):
    """Write the low 16 bits of ``value`` to element ``start`` of ``array`` (uint16)."""
    array[start] = np.uint16(value & _LOW)


def splat16(value):
    """A value (numpy.uint16)."""
    return np.uint64(value)


def umax(a, b):
    """The greater of two."""
    return max(a & _LOW, b & _LOW)


def umin(a, b):
    """The smaller of two."""
    return min(a & _LOW, b & _LOW)


def tally_below(tally, value, bound):
    """``tally``, with one added if ``value < bound``."""
    return tally + np.uint64((value & _LOW) < (bound & _LOW))


def tally_equal(tally, value, bound):
    """``tally``, with one added if ``value == bound``."""
    return tally + np.uint64((value & _LOW) == (bound & _LOW))


def mask_below(value, bound):
    """A numpy.uint16 with all bits set if ``value < bound``, none otherwise."""
    return np.uint16(0xFFFF) if (value & _LOW) < (bound & _LOW) else np.uint16(0)


def mask_equal(value, bound):
    """A numpy.uint16 with all bits set if ``value == bound``, none otherwise."""
    return np.uint16(0xFFFF) if (value & _LOW) == (bound & _LOW) else np.uint16(0)


def nothing():
    """``apart``: what is inlined on a GPU is decided elsewhere."""


def linker(**options):
    """A Linker under which functions written for sixteen lanes work on a thread's own trial."""
    inner = Linker()
    names = (
        "load16",
        "store",
        "splat16",
        "umax",
        "umin",
        "tally_below",
        "tally_equal",
        "mask_below",
        "mask_equal",
    )
    swapped = [(getattr(lanes, name), inner(globals()[name])) for name in names]
    return Linker([*swapped, (apart.apart, inner(nothing))], {"LANES": 1}, **options)
