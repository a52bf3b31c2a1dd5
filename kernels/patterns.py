"""High halves of pattern keys in bulk: 16 trials side by side, or one trial.

Survival decides nearly every trial by the upper 16 bits of the keys, 16 of which fill a vector; the full keys are
drawn again, one by one, only for the few groups that tie.
"""

import numpy as np

from .jit import njit
from .lanes import load64, splat64, store
from .philox import (
    _LOW,
    _M0,
    _M1,
    _W0,
    _W1,
    PURPOSE_PATTERN,
    _32,
    pattern_draws4,
    philox,
    rounds4,
)

_16 = np.uint64(16)
_HIGH_HALVES = np.uint64(0xFFFF0000FFFF0000)
_LOW_HALVES = np.uint64(0x0000FFFF0000FFFF)
_CHAIN_OF_WORD = np.array(
    [0, 2, 1, 3]
)  # _pack puts chain c of four into uint16 number _CHAIN_OF_WORD[c] of a word
_WORD1 = np.uint32(PURPOSE_PATTERN << 24)


@njit(forceinline=True)
def _pack(a, b, c, d):
    """Bits 16..31 of four uint64 (vectors): those of a, c, b, d, from the least significant 16 bits up."""
    low, half = splat64(_LOW), splat64(_32)
    ab = (a & low) | (b << half)
    cd = (c & low) | (d << half)
    return ((ab >> splat64(_16)) & splat64(_LOW_HALVES)) | (cd & splat64(_HIGH_HALVES))


@njit(forceinline=True)
def _lane_draws(lane_part, at, c0, c1, c2, k0, k1):
    p0 = load64(lane_part, 16 + at)
    return rounds4(load64(lane_part, at) ^ c0, c1, (p0 >> splat64(_32)) ^ c2, p0, k0, k1, 8)


@njit
def trials16(keys, draws, k0, k1, trial, scratch):
    """Fill ``keys[64 * draws]`` (uint16): element 16 g + i is the high half of group g's key in trial + i.

    ``k0, k1, trial``: uint64; the 16 trial numbers must not differ in their high 32 bits (lanes beyond such a
    boundary hold the keys of no trial). ``scratch``: uint64[32].

    With the trials side by side two rounds of ten come nearly free: in the first, one product depends on the
    trial alone and the other on the draw alone; so do those of the second.
    """
    for chain in range(4):
        for i in range(4):
            lane = np.uint64(4 * i + _CHAIN_OF_WORD[chain])
            p1 = (((trial & _LOW) + lane) & _LOW) * _M1
            scratch[4 * chain + i] = p1 & _LOW
            scratch[16 + 4 * chain + i] = ((p1 >> _32) ^ k0) * _M0
    k2, k3 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
    k4, k5 = (k2 + _W0) & _LOW, (k3 + _W1) & _LOW
    for draw in range(draws):
        p0 = np.uint64(draw) * _M0
        p1 = ((p0 >> _32) ^ (trial >> _32) ^ k1) * _M1
        c0, c1, c2 = splat64((p1 >> _32) ^ k2), splat64(p1), splat64((p0 & _LOW) ^ k3)
        a = _lane_draws(scratch, np.int64(0), c0, c1, c2, k4, k5)
        b = _lane_draws(scratch, np.int64(4), c0, c1, c2, k4, k5)
        c = _lane_draws(scratch, np.int64(8), c0, c1, c2, k4, k5)
        d = _lane_draws(scratch, np.int64(12), c0, c1, c2, k4, k5)
        store(keys, 64 * draw, _pack(a[0], b[0], c[0], d[0]))
        store(keys, 64 * draw + 16, _pack(a[1], b[1], c[1], d[1]))
        store(keys, 64 * draw + 32, _pack(a[2], b[2], c[2], d[2]))
        store(keys, 64 * draw + 48, _pack(a[3], b[3], c[3], d[3]))


@njit
def trial1(keys, draws, k0, k1, trial):
    """Fill ``keys[4 * draws]`` (uint16) with the high halves of one trial's keys; ``draws`` a multiple of 16."""
    for draw in range(0, draws, 16):
        # four chains of rounds at a time: one alone waits for its own multiplications
        a = pattern_draws4(np.uint64(draw), trial, k0, k1)
        b = pattern_draws4(np.uint64(draw + 4), trial, k0, k1)
        c = pattern_draws4(np.uint64(draw + 8), trial, k0, k1)
        d = pattern_draws4(np.uint64(draw + 12), trial, k0, k1)
        store(keys, 4 * draw, _pack(a[0], a[2], a[1], a[3]))
        store(keys, 4 * draw + 16, _pack(b[0], b[2], b[1], b[3]))
        store(keys, 4 * draw + 32, _pack(c[0], c[2], c[1], c[3]))
        store(keys, 4 * draw + 48, _pack(d[0], d[2], d[1], d[3]))


@njit
def group_key(group, k0, k1, trial):
    """The full 32-bit key of one group (int64) as uint32; ``k0, k1, trial``: uint64."""
    words = philox(
        np.uint32(group >> 2),
        _WORD1,
        np.uint32(trial & _LOW),
        np.uint32(trial >> _32),
        np.uint32(k0),
        np.uint32(k1),
    )
    return words[group & 3]
