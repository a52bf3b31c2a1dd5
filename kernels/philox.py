"""Philox4x32-10, the counter-based generator behind every random number of the project.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11. A draw is a pure function
of (key, counter): nothing is seeded per worker, and trial i is the same trial everywhere.

Key: the low and high 32 bits of the 64-bit seed. Counter words:

====  =====================================================================================
0     element: what is drawn within the trial (for pattern keys, group >> 2)
1     purpose in the top 8 bits, repetition in the low 24
2, 3  low and high 32 bits of the trial (or run) number
====  =====================================================================================

Purposes are listed here so that no two uses share a stream.
"""

import numpy as np

from .jit import njit

GENERATOR = "philox4x32-10"
GENERATOR_VERSION = 1  # raised when the meaning of a counter word or a conversion changes

PURPOSE_PATTERN = 0  # 32-bit failure-order keys; group g's is word g & 3 of element g >> 2
PURPOSE_CLOCK = 1  # failure clocks of training runs: element group, repetition renewal
PURPOSE_JITTER = 2  # compute jitter of training runs
PURPOSE_LAYOUT = 3  # random layouts

_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint64(0x9E3779B9)
_W1 = np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


@njit(inline="always")
def philox(c0, c1, c2, c3, k0, k1):
    """Ten rounds on counter (c0..c3) with key (k0, k1), all uint32; returns four uint32 words."""
    # Every 32-bit operation is written in 64 bits and cut: Numba widens uint32 arithmetic anyway, and the
    # interpreted kernels then neither overflow nor warn. LLVM finds the 32-bit instructions again.
    for _ in range(10):
        p0 = np.uint64(c0) * _M0
        p1 = np.uint64(c2) * _M1
        c0 = np.uint32((p1 >> _32) ^ np.uint64(c1) ^ np.uint64(k0))
        c2 = np.uint32((p0 >> _32) ^ np.uint64(c3) ^ np.uint64(k1))
        c1 = np.uint32(p1 & _LOW)
        c3 = np.uint32(p0 & _LOW)
        k0 = np.uint32((np.uint64(k0) + _W0) & _LOW)
        k1 = np.uint32((np.uint64(k1) + _W1) & _LOW)
    return c0, c1, c2, c3


def split64(value):
    """The low and high 32 bits of an integer below 2**64, as a pair of numpy.uint32."""
    return np.uint32(value & 0xFFFFFFFF), np.uint32((value >> 32) & 0xFFFFFFFF)


@njit
def pattern_keys(keys, k0, k1, trial):
    """Fill ``keys`` (uint32[N]) with the failure-order keys of one trial (uint64); earlier keys fail first."""
    t0 = np.uint32(trial & _LOW)
    t1 = np.uint32(trial >> _32)
    n = keys.shape[0]
    whole = n >> 2
    for draw in range(whole):
        a, b, c, d = philox(np.uint32(draw), np.uint32(0), t0, t1, k0, k1)
        keys[4 * draw] = a
        keys[4 * draw + 1] = b
        keys[4 * draw + 2] = c
        keys[4 * draw + 3] = d
    if n & 3:
        words = philox(np.uint32(whole), np.uint32(0), t0, t1, k0, k1)
        for g in range(4 * whole, n):
            keys[g] = words[g & 3]


@njit(inline="always")
def uniform(high, low):
    """A double in (0, 1) from two words: (u + 0.5) * 2**-52 with u of 52 bits (53 would round to 1)."""
    u = (np.uint64(high) << np.uint64(20)) | (np.uint64(low) >> np.uint64(12))
    return (np.float64(u) + 0.5) * 2.0**-52
