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
from .lanes import load64, splat64, store, weave_high, weave_low

PURPOSE_PATTERN = 0  # 32-bit failure-order keys; group g's is word g & 3 of element g >> 2
PURPOSE_CLOCK = 1  # failure clocks of training runs: element group, repetition renewal
PURPOSE_JITTER = 2  # compute jitter of training runs
PURPOSE_LAYOUT = 3  # random layouts
# Failure streams (docs/failures.md), by the numbers of a stream's plan
PURPOSE_EVENT = 4  # the k-th unit of a source to fail, when and which: element source, repetition k from 0
PURPOSE_UNIT = 5  # later intervals of a unit: element entity (through all pools), repetition renewal from 0
PURPOSE_REPLAY = 6  # where a pass through a log starts: element replay, repetition pass
PURPOSE_DEAL = (
    7  # which entity a log's unit is in a pass: element replay << 24 | units met before, repetition pass
)

_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint64(0x9E3779B9)
_W1 = np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_0123 = np.arange(4, dtype=np.uint64)


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


@njit(forceinline=True)
def rounds4(c0, c1, c2, c3, k0, k1, count):
    """The last ``count`` rounds for four counters at once; k0, k1 (uint64): the key of the first of them.

    Counter words are 4 x uint64 vectors (``lanes``) whose low 32 bits count; the high ones may hold anything, so
    that a round is two multiplications, two shifts and four exclusive ors, and no mask.
    """
    low, half = splat64(_LOW), splat64(_32)
    m0, m1 = splat64(_M0), splat64(_M1)
    for _ in range(count):
        p0 = (c0 & low) * m0
        p1 = (c2 & low) * m1
        c0 = (p1 >> half) ^ (c1 ^ splat64(k0))
        c2 = (p0 >> half) ^ (c3 ^ splat64(k1))
        c1 = p1
        c3 = p0
        k0 = (k0 + _W0) & _LOW
        k1 = (k1 + _W1) & _LOW
    return c0, c1, c2, c3


@njit(forceinline=True)
def pattern_draws4(draw, trial, k0, k1):
    """Pattern draws ``draw`` .. ``draw + 3`` of a trial: four 4 x uint64 vectors, as :func:`rounds4` gives them.

    All arguments uint64. In the first two rounds half of the products are the same for every draw.
    """
    low, half = splat64(_LOW), splat64(_32)
    p0 = (splat64(draw) + load64(_0123, 0)) * splat64(_M0)
    p1 = (trial & _LOW) * _M1
    c0 = (p1 >> _32) ^ k0
    c2 = (p0 >> half) ^ splat64((trial >> _32) ^ k1)
    k0 = (k0 + _W0) & _LOW
    k1 = (k1 + _W1) & _LOW
    q0 = c0 * _M0
    q1 = (c2 & low) * splat64(_M1)
    c0 = (q1 >> half) ^ splat64((p1 & _LOW) ^ k0)
    c2 = splat64((q0 >> _32) ^ k1) ^ p0
    return rounds4(c0, q1, c2, splat64(q0), (k0 + _W0) & _LOW, (k1 + _W1) & _LOW, 8)


@njit(forceinline=True)
def _store_keys(keys, start, a, b, c, d):
    low, half = splat64(_LOW), splat64(_32)
    a = (a & low) | (b << half)
    c = (c & low) | (d << half)
    store(keys, start, weave_low(a, c))
    store(keys, start + 8, weave_high(a, c))


@njit
def pattern_keys(keys, k0, k1, trial):
    """Fill ``keys`` (uint32[N]) with the failure-order keys of one trial (uint64); earlier keys fail first."""
    n = keys.shape[0]
    whole = n >> 2
    key0, key1 = np.uint64(k0), np.uint64(k1)
    draw = 0
    while draw + 16 <= whole:
        # four chains of rounds at a time: one alone waits for its own multiplications
        a = pattern_draws4(np.uint64(draw), trial, key0, key1)
        b = pattern_draws4(np.uint64(draw + 4), trial, key0, key1)
        c = pattern_draws4(np.uint64(draw + 8), trial, key0, key1)
        d = pattern_draws4(np.uint64(draw + 12), trial, key0, key1)
        _store_keys(keys, 4 * draw, *a)
        _store_keys(keys, 4 * draw + 16, *b)
        _store_keys(keys, 4 * draw + 32, *c)
        _store_keys(keys, 4 * draw + 48, *d)
        draw += 16
    while draw < whole and whole >= 4:
        # the last block steps back over draws already made: cheaper than drawing a few one by one
        draw = min(draw, whole - 4)
        a = pattern_draws4(np.uint64(draw), trial, key0, key1)
        _store_keys(keys, 4 * draw, *a)
        draw += 4
    t0 = np.uint32(trial & _LOW)
    t1 = np.uint32(trial >> _32)
    while 4 * draw < n:
        words = philox(np.uint32(draw), np.uint32(0), t0, t1, k0, k1)
        for g in range(4 * draw, min(4 * draw + 4, n)):
            keys[g] = words[g & 3]
        draw += 1


@njit(inline="always")
def uniform(high, low):
    """A double in (0, 1) from two words: (u + 0.5) * 2**-52 with u of 52 bits (53 would round to 1)."""
    u = (np.uint64(high) << np.uint64(20)) | (np.uint64(low) >> np.uint64(12))
    return (np.float64(u) + 0.5) * 2.0**-52
