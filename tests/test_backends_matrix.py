"""Every pattern kernel of every backend, on every layout family and many sizes, against the plain-Python reference.

A backend that is added to ``backends.BACKENDS`` is in the matrix at once; MOST holds those back that are too slow for
the larger sizes. The CUDA kernels are in it where there is a GPU, and in the CUDA simulator (test_cuda_simulator.py).
"""

import functools
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from spare_mc import backends, gpu
from spare_mc.kernels import reference, reference_reorder, reference_stacks
from spare_mc.layouts import Layout

INTERPRETED = numba.config.DISABLE_JIT
SEED = 0xC0FFEE_D00D_5EED
FIRST = 2**32 - 9  # trial numbers cross the low word's end
MEASURES = ("survival", "stacks", "reordering")
MOST = {"numba": 20} if INTERPRETED else {"cuda": 40} if gpu.simulated() else {}  # groups
FEWER = {"numba": 3, "cuda": 5}  # trials of those

SMALL = [
    Layout.contiguous(2, 1),
    Layout.contiguous(2, 2),
    Layout.golomb(7, 3),
    Layout.contiguous(9, 9),
    Layout.partition(11, 1),
    Layout.partition(7, 7),
    Layout.random(12, 12),
    Layout.custom(15, [0, 5, 10]),
    Layout.contiguous(16, 3),
    Layout.golomb(17, 4),
    Layout.partition(17, 4),
    Layout.random(17, 3),
    Layout.custom(20, [0, 19, 18]),
]
MEDIUM = [
    Layout.golomb(31, 5),
    Layout.contiguous(33, 6),
    Layout.partition(34, 4),
    Layout.random(30, 5),
    Layout.custom(40, [0, 1, 2, 3, 4, 5, 6, 8]),
    Layout.golomb(57, 7),
    Layout.golomb(64, 3),
    Layout.contiguous(65, 4),
    Layout.partition(63, 8),
    Layout.random(65, 4),
]
LARGE = [
    Layout.golomb(600, 9),
    Layout.golomb(600, 20),
    Layout.contiguous(601, 9),
    Layout.partition(602, 9),
    Layout.random(601, 6),
    Layout.custom(300, [0, 1, 2, 3, 4, 5, 6, 8]),
]
COUNT = {"survival": 37, "stacks": 19, "reordering": 19}  # no multiples of 16


def combinations():
    """(backend, measure) of everything there is to test."""
    for name, backend in backends.BACKENDS.items():
        if name != "reference":
            yield from ((name, measure) for measure in MEASURES if measure in backend.measures)


def backend_of(name, measure):
    backend = backends.BACKENDS[name]
    if reason := backend.missing([measure]):
        pytest.skip(reason)
    return backend


def able(measure, layout):
    """Backends that are here and can do a layout, not the slow ones."""
    point = SimpleNamespace(layout=layout, parameters={})
    return [
        name
        for name, other in combinations()
        if other == measure
        and layout.groups <= MOST.get(name, 10**6)
        and backends.BACKENDS[name].missing([measure]) is None
        and backends.BACKENDS[name].refusal(measure, point) is None
    ]


def rows_of(layout):
    return [[int(group) for group in row if group >= 0] for row in layout.host_table()]


def computed(backend, measure, layout, first, count):
    """Rows of ``count`` trials by a backend's kernel: lists of ints."""
    kernel = backend.kernel(measure)
    if measure == "survival":
        out = np.full(count, -1, np.int32)
        kernel.endurable(backend.prepared(measure, layout), SEED, first, out)
        return out[:, None].tolist()
    if measure == "stacks":
        out = np.full((count, layout.redundancy), -1, np.int32)
        kernel.capacity(backend.prepared(measure, layout), SEED, first, out)
        return out.tolist()
    out = np.full((count, len(kernel.COLUMNS)), -1, np.int64)
    kernel.lives(backend.prepared(measure, layout), SEED, first, out)
    return out.tolist()


@functools.cache
def expected(measure, layout, first, count):
    rows, n, trials = rows_of(layout), layout.groups, range(first, first + count)
    if measure == "survival":
        return [[reference.endurable(rows, n, SEED, i)] for i in trials]
    if measure == "stacks":
        return [reference_stacks.capacity(rows, n, layout.redundancy, SEED, i) for i in trials]
    stacks = [[int(t) for t in row if t >= 0] for row in layout.stack_table()]
    return [reference_reorder.lives_row(rows, stacks, SEED, i) for i in trials]


def name_of(layout):
    return f"{layout.kind}-{layout.groups}-{layout.redundancy}"


@pytest.mark.matrix
@pytest.mark.parametrize("layout", SMALL + MEDIUM, ids=name_of)
@pytest.mark.parametrize(("name", "measure"), list(combinations()))
def test_equals_the_reference(name, measure, layout):
    if layout.groups > MOST.get(name, 10**6):
        pytest.skip("takes minutes")
    count = FEWER[name] if name in MOST else COUNT[measure]
    wanted = expected(measure, layout, FIRST, COUNT[measure])[:count]
    assert computed(backend_of(name, measure), measure, layout, FIRST, count) == wanted


@pytest.mark.parametrize("layout", LARGE, ids=name_of)
@pytest.mark.parametrize("measure", MEASURES)
def test_backends_agree_at_full_size(measure, layout):
    """More trials than the reference could do; its survival, and that of every other measure, for some of them."""
    names = able(measure, layout)
    if len(names) < 2:
        pytest.skip("one backend only")
    first, *others = (computed(backends.BACKENDS[name], measure, layout, FIRST, 205) for name in names)
    for other in others:
        assert other == first
    endured = [row[{"survival": 0, "stacks": -1, "reordering": 0}[measure]] for row in first[:9]]
    assert endured == [row[0] for row in expected("survival", layout, FIRST, 9)]


@pytest.mark.matrix
@pytest.mark.parametrize("layout", SMALL + MEDIUM, ids=name_of)
@pytest.mark.parametrize("name", [name for name, measure in combinations() if measure == "stacks"])
def test_stacks_of_tied_keys(name, layout):
    """Keys that tie in all bits are in the order of their groups."""
    if layout.groups > MOST.get(name, 10**6):
        pytest.skip("takes minutes")
    backend = backend_of(name, "stacks")
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 5, (12, layout.groups)).astype(np.uint32)
    keys[6:] += np.uint32(0xFFFFFFFB)  # the largest keys there are
    found = backend.kernel("stacks").capacity_of_keys(backend.prepared("stacks", layout), keys)
    for row, got in zip(keys, found.tolist(), strict=True):
        order = sorted(range(layout.groups), key=lambda group, row=row: (row[group], group))
        assert got == reference_stacks.capacity_in_order(rows_of(layout), order, layout.redundancy)


@pytest.mark.skipif(INTERPRETED, reason="takes minutes uncompiled")
@pytest.mark.parametrize(
    "layout",
    [
        Layout.contiguous(140, 130),
        Layout.random(140, 130),
        Layout.contiguous(70_001, 3),
        Layout.partition(70_001, 4),
    ],
    ids=name_of,
)
def test_stacks_too_large_for_lanes(layout):
    """One trial at a time."""
    names = able("stacks", layout)
    found = [computed(backend_of(name, "stacks"), "stacks", layout, FIRST, 3) for name in names]
    assert all(rows == found[0] for rows in found)
    assert [row[-1] for row in found[0]] == [row[0] for row in expected("survival", layout, FIRST, 3)]


@pytest.mark.skipif(INTERPRETED, reason="takes minutes uncompiled")
@pytest.mark.parametrize(
    "layout", [Layout.golomb(4001, 5), Layout.contiguous(4001, 5), Layout.partition(4001, 5)]
)
def test_stacks_of_many_ties_in_half_keys(layout):
    """Of so many groups a third of the trials has to be done again by exact places."""
    names = able("stacks", layout)
    found = [computed(backend_of(name, "stacks"), "stacks", layout, FIRST, 70) for name in names]
    assert all(rows == found[0] for rows in found)


def test_the_matrix_has_every_measure():
    assert {measure for _, measure in combinations()} == set(MEASURES)
    assert {name for name, _ in combinations()} >= {"numba", "cython", "cuda"}
