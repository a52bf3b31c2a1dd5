"""Survival kernels, Numba and Cython, against the plain-Python reference and against sorting with NumPy."""

import functools
import os
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest
import survival_cases as cases
from ahead_tools import ahead

from spare_mc.kernels import philox, reference, survival
from spare_mc.kernels.survival_plan import BITS, LANES, SINGLE

INTERPRETED = numba.config.DISABLE_JIT
FIRSTS = [0, 2**32 - 5, 10**12 + 3, 2**64 - 60]
LAYOUTS = {
    "one host": lambda n: cases.circulant(n, (0,)),
    "neighbours": lambda n: cases.circulant(n, (0, n - 1)),
    "scattered": lambda n: cases.circulant(n, sorted({0, n // 7, n // 3, n - 2 if n > 2 else 1})),
    "contiguous 3": lambda n: cases.contiguous(n, min(3, n)),
    "contiguous 9": lambda n: cases.contiguous(n, min(9, n)),
    "contiguous half": lambda n: cases.contiguous(n, n // 2 + 1),
    "every host": lambda n: cases.contiguous(n, n),
    "partition 2": lambda n: cases.partition(n, 2),
    "partition 9": lambda n: cases.partition(n, min(9, n)),
    "one block": lambda n: cases.partition(n, n),
    "random 1": lambda n: cases.table(n, 1),
    "random 4": lambda n: cases.table(n, min(4, n)),
    "random 20": lambda n: cases.table(n, min(20, n)),
    "ragged": lambda n: cases.table(n, min(9, n), short=True),
}
SIZES = [18] if INTERPRETED else [2, 3, 5, 16, 17, 63, 65, 100]
COUNT = 3 if INTERPRETED else 37  # not a multiple of 16 or 64


@pytest.fixture(params=["numba", "cython"])
def backend(request):
    if request.param == "numba":
        return survival
    return ahead("ahead")


@pytest.mark.matrix
@pytest.mark.parametrize("name", LAYOUTS)
def test_equals_the_reference(backend, name):
    for groups in SIZES:
        case = LAYOUTS[name](groups)
        plans = cases.plans(groups, case)
        for first in FIRSTS:
            wanted = cases.expected(groups, case[0], first, COUNT)
            for plan in plans:
                assert cases.computed(backend, plan, first, COUNT) == wanted, (groups, first, plan.way)


FULL_SIZE = {
    "golomb 9": (600, lambda: cases.circulant(600, cases.GOLOMB9), 300),
    "golomb 20": (600, lambda: cases.circulant(600, cases.GOLOMB20), 200),
    "contiguous 150": (599, lambda: cases.contiguous(599, 150), 50),
    "partition 9": (602, lambda: cases.partition(602, 9), 300),
    "random 9": (601, lambda: cases.table(601, 9), 300),
    "random 40": (601, lambda: cases.table(601, 40), 100),
}


@functools.cache
def _full_size(name, first):
    groups, make, count = FULL_SIZE[name]
    case = make()
    return groups, case, cases.expected(groups, case[0], first, count)


@pytest.mark.skipif(INTERPRETED, reason="takes minutes uncompiled")
@pytest.mark.parametrize("name", FULL_SIZE)
def test_equals_the_reference_at_full_size(name, backend):
    # In one trial of a hundred several groups share the upper half of the wipe-out key: a few here.
    first = 10**12 + 1
    groups, case, wanted = _full_size(name, first)
    for plan in cases.plans(groups, case):
        assert cases.computed(backend, plan, first, len(wanted)) == wanted


@pytest.mark.skipif(INTERPRETED, reason="compiled in other processes")
def test_interpreted_kernels_give_the_same():
    script = Path(__file__).with_name("survival_cases.py")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "all equal\n", done.stderr


@pytest.mark.matrix
@pytest.mark.parametrize("distinct", [1, 2, 7, 200])
@pytest.mark.parametrize("name", LAYOUTS)
def test_ties_are_broken_by_group(name, distinct):
    """Given keys with few distinct values, in the upper halves, the lower ones, or both."""
    groups, count = (17, 2) if INTERPRETED else (97, 21)
    rng = np.random.default_rng(distinct)
    values = rng.integers(0, 2**32, distinct)
    for mask in (0xFFFFFFFF, 0xFFFF0000, 0x0000FFFF):
        keys = (rng.choice(values, (count, groups)) & mask).astype(np.uint32)
        rows = LAYOUTS[name](groups)[0]
        orders = np.argsort(keys, axis=1, kind="stable")
        wanted = [reference.endurable_in_order(rows, order.tolist()) for order in orders]
        for plan in cases.plans(groups, LAYOUTS[name](groups)):
            out = np.full(count, -1, np.int32)
            survival.endurable_of_keys(plan, keys, out)
            assert out.tolist() == wanted, (hex(mask), plan.way)


def test_greatest_keys():
    """Every key the greatest there is: thresholds and paddings must not be taken for keys."""
    groups = 20
    keys = np.full((2, groups), 0xFFFFFFFF, np.uint32)
    for name in LAYOUTS:
        rows, _, _ = LAYOUTS[name](groups)
        wanted = reference.endurable_in_order(rows, list(range(groups)))
        for plan in cases.plans(groups, LAYOUTS[name](groups)):
            out = np.empty(2, np.int32)
            survival.endurable_of_keys(plan, keys, out)
            assert out.tolist() == [wanted, wanted]


def _by_sorting(rows, keys):
    """K of one trial from ``rows`` int[types, r] (no padding) by a stable sort."""
    index = np.empty(keys.size, np.int64)
    index[np.argsort(keys, kind="stable")] = np.arange(keys.size)
    return int(index[rows].max(axis=1).min())


TIED = [257_285, 3_118_922, 11_834_868]  # the wiping group comes second, second, first


@pytest.mark.skipif(INTERPRETED, reason="searched at a size that takes long uncompiled")
@pytest.mark.parametrize("trial", TIED)
def test_drawn_keys_that_tie_in_all_bits(backend, trial):
    """Trials of seed 7 in which two groups have the wipe-out key; found by searching twelve millions."""
    groups, case = 600, cases.circulant(600, cases.GOLOMB9)
    keys = reference.pattern_keys(groups, 7, trial)
    wanted = reference.endurable(case[0], groups, 7, trial)
    wipe_out_key = sorted(keys)[wanted]
    assert keys.count(wipe_out_key) == 2
    for plan in cases.plans(groups, case):
        assert cases.computed(backend, plan, trial - 3, 7, seed=7)[3] == wanted


@pytest.mark.skipif(INTERPRETED, reason="takes minutes uncompiled")
@pytest.mark.parametrize("kind", ["golomb", "contiguous", "partition", "random"])
@pytest.mark.parametrize(
    "groups, trials",
    [(20_011, 66), pytest.param(600_000, 18, marks=pytest.mark.slow)],
    ids=["20,011", "600,000"],
)
def test_large_layouts_against_sorting(backend, kind, groups, trials):
    """Here several groups share the upper half of the wipe-out key in most trials."""
    every = np.arange(groups)[:, None]
    if kind == "golomb":
        arguments, rows = {"offsets": cases.GOLOMB9}, (every - np.array(cases.GOLOMB9)) % groups
    elif kind == "contiguous":
        arguments, rows = {"offsets": range(31)}, (every - np.arange(31)) % groups
    elif kind == "partition":
        starts = every[::9]
        arguments, rows = {"block": 9}, np.minimum(starts + np.arange(9), groups - 1)
    else:
        rng = np.random.default_rng(8)
        rows = np.stack([rng.permutation(groups) for _ in range(9)], axis=1).astype(np.int32)
        arguments = {"hosts": rows}
    plan = survival.plan(groups, rows.shape[1], **arguments)
    found = cases.computed(backend, plan, 2**40, trials)
    keys = np.empty(groups, np.uint32)
    for i in range(trials):
        philox.pattern_keys(keys, *philox.split64(cases.SEED), np.uint64(2**40 + i))
        assert found[i] == _by_sorting(rows, keys)


@pytest.mark.skipif(INTERPRETED, reason="takes minutes uncompiled")
def test_counts_beyond_16_bits(backend):
    groups, block = 200_003, 20
    rows = np.minimum(np.arange(0, groups, block)[:, None] + np.arange(block), groups - 1)
    found = cases.computed(backend, survival.plan(groups, block, block=block), 7, 2)
    keys = np.empty(groups, np.uint32)
    for i in range(2):
        philox.pattern_keys(keys, *philox.split64(cases.SEED), np.uint64(7 + i))
        assert found[i] == _by_sorting(rows, keys) > 65_535


@pytest.mark.skipif(INTERPRETED, reason="nothing to compile")
def test_a_miss_of_the_threshold_costs_time_only(monkeypatch):
    """Tables first look below a threshold; set so low that most trials find nothing there, all must still agree."""
    from spare_mc.kernels import survival_plan

    groups, case = 300, cases.table(300, 5)
    wanted = cases.computed(survival, survival.plan(groups, way=LANES, **case[1]), 0, 200)
    for expected in (0.1, 1.0):
        monkeypatch.setattr(survival_plan, "_EXPECTED", expected)
        assert cases.computed(survival, survival.plan(groups, way=BITS, **case[1]), 0, 200) == wanted


def test_blocks_do_not_matter(backend):
    groups = 40 if INTERPRETED else 300
    for case in (cases.circulant(groups, (0, 1, 4, 9)), cases.partition(groups, 7), cases.table(groups, 6)):
        for plan in cases.plans(groups, case):
            first, count = 2**32 - 40, 70
            whole = cases.computed(backend, plan, first, count)
            for step in (1, 13, 64):
                parts = [
                    cases.computed(backend, plan, first + start, min(step, count - start))
                    for start in range(0, count, step)
                ]
                assert sum(parts, []) == whole


def test_one_plan_in_many_threads(backend):
    groups = 40 if INTERPRETED else 400
    case = cases.table(groups, 5)
    count = 16 if INTERPRETED else 2000
    for plan in cases.plans(groups, case):
        wanted = cases.computed(backend, plan, 0, 4 * count)
        found = np.empty(4 * count, np.int32)
        threads = [
            threading.Thread(
                target=backend.endurable,
                args=(plan, cases.SEED, i * count, found[i * count : (i + 1) * count]),
            )
            for i in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found.tolist() == wanted


@pytest.mark.skipif(INTERPRETED, reason="the interpreter holds the lock")
def test_the_lock_is_released(backend):
    """While a call of some 100 ms runs, another thread gets on."""
    plan = survival.plan(600, 9, offsets=cases.GOLOMB9)
    backend.endurable(plan, 1, 0, np.empty(1, np.int32))  # compiled, if need be
    done = threading.Event()

    def call():
        backend.endurable(plan, 1, 0, np.empty(200_000, np.int32))
        done.set()

    thread = threading.Thread(target=call)
    thread.start()
    turns = 0
    while not done.is_set():
        turns += 1
    thread.join()
    assert turns > 1000


def test_plans_are_read_only():
    plan = survival.plan(30, 3, offsets=(0, 1, 5))
    for array in plan[1:]:
        with pytest.raises(ValueError):
            array[...] = 0
    assert not hasattr(plan, "__dict__")


def test_plans_choose_a_way():
    assert survival.plan(600, 2, offsets=(0, 1)).way == LANES
    assert survival.plan(60_000, 2, offsets=(0, 1)).way == SINGLE
    assert survival.plan(60_000, 2, block=2).way == LANES
    assert survival.plan(600, 1, hosts=np.arange(600, dtype=np.int32)[:, None]).way == BITS


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"offsets": (0,), "block": 1},
        {"hosts": np.array([[0, 1], [-1, -1]], np.int32)},
        {"hosts": np.array([[0, 1], [1, 2]], np.int32)},
        {"block": 1, "way": BITS},
        {"offsets": (0,), "way": BITS},
    ],
)
def test_refused_plans(arguments):
    with pytest.raises(ValueError):
        survival.plan(2, 2, **arguments)
