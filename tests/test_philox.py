"""Philox4x32-10 against the published known-answer vectors, in every form in which it is computed.

Vectors: kat_vectors of Random123 (Salmon et al.), the lines "philox4x32 10".
"""

import numpy as np
import pytest
from ahead_tools import ahead

from spare_mc.kernels import lanes, patterns, philox, reference
from spare_mc.kernels.jit import njit

KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
SEED = 0xFEDCBA9876543210
TRIALS = [0, 1, 10**12 + 7, 2**32 - 1, 2**32, 2**64 - 1]
SIZES = [1, 2, 3, 4, 5, 15, 16, 17, 19, 63, 64, 65, 67, 80, 200, 603]


@njit(cache=False)
def _vector_words(counter, k0, k1, words):
    c0, c1 = lanes.splat64(counter[0]), lanes.splat64(counter[1])
    c2, c3 = lanes.splat64(counter[2]), lanes.splat64(counter[3])
    c0, c1, c2, c3 = philox.rounds4(c0, c1, c2, c3, k0, k1, 10)
    lanes.store(words, 0, c0)
    lanes.store(words, 4, c1)
    lanes.store(words, 8, c2)
    lanes.store(words, 12, c3)


@pytest.mark.parametrize("counter, key, expected", KNOWN)
def test_known_answers(counter, key, expected):
    assert reference.philox(counter, key) == expected
    scalar = philox.philox(*(np.uint32(word) for word in counter + key))
    assert tuple(int(word) for word in scalar) == expected
    words = np.zeros(16, np.uint64)
    _vector_words(np.array(counter, np.uint64), np.uint64(key[0]), np.uint64(key[1]), words)
    low = (words & 0xFFFFFFFF).reshape(4, 4)
    assert (low == np.array(expected, np.uint64)[:, None]).all()


@pytest.fixture(params=["numba", "cython"])
def pattern_keys(request):
    if request.param == "numba":
        return philox.pattern_keys
    return ahead("ahead").pattern_keys


def test_the_zero_vector_as_pattern_keys(pattern_keys):
    keys = np.empty(4, np.uint32)
    pattern_keys(keys, np.uint32(0), np.uint32(0), np.uint64(0))
    assert tuple(keys.tolist()) == KNOWN[0][2]


@pytest.mark.parametrize("trial", TRIALS)
def test_pattern_keys(pattern_keys, trial):
    k0, k1 = philox.split64(SEED)
    for size in SIZES:
        keys = np.full(size + 64, 12345, np.uint32)
        pattern_keys(keys[:size], k0, k1, np.uint64(trial))
        assert keys[:size].tolist() == reference.pattern_keys(size, SEED, trial)
        assert (keys[size:] == 12345).all()


@pytest.mark.parametrize("trial", [0, 10**12, 2**32 - 16, 2**64 - 16])
def test_high_halves_in_bulk(trial):
    k0, k1 = (np.uint64(word) for word in philox.split64(SEED))
    groups = 64
    expected = np.array([reference.pattern_keys(groups, SEED, trial + lane) for lane in range(16)], np.uint32)
    side_by_side = np.empty(16 * groups, np.uint16)
    patterns.trials16(side_by_side, groups // 4, k0, k1, np.uint64(trial), np.empty(32, np.uint64))
    assert np.array_equal(side_by_side.reshape(groups, 16).T, expected >> 16)
    alone = np.empty(groups, np.uint16)
    patterns.trial1(alone, groups // 4, k0, k1, np.uint64(trial))
    assert np.array_equal(alone, expected[0] >> 16)
    assert [patterns.group_key(g, k0, k1, np.uint64(trial)) for g in range(groups)] == expected[0].tolist()


def test_purposes_share_no_stream():
    purposes = [value for name, value in vars(philox).items() if name.startswith("PURPOSE_")]
    assert len(purposes) >= 4 and len(set(purposes)) == len(purposes)
    assert all(0 <= purpose < 256 for purpose in purposes)


def test_uniform_stays_inside_the_unit_interval():
    top = np.uint32(0xFFFFFFFF)
    assert philox.uniform(np.uint32(0), np.uint32(0)) == 2.0**-53
    assert philox.uniform(top, top) == 1 - 2.0**-53
    assert philox.uniform(np.uint32(1 << 31), np.uint32(0)) == 0.5 + 2.0**-53


def test_split64():
    assert [int(half) for half in philox.split64(0x0123456789ABCDEF)] == [0x89ABCDEF, 0x01234567]
