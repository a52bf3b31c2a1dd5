"""Controller lives compiled ahead of time: equal to Numba's, and small ones to plain Python's, at every level."""

import importlib
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from ahead_tools import ahead
from reorder_cases import LAYOUTS

from spare_mc import backends
from spare_mc.kernels import ahead_levels, reference_reorder, reorder
from spare_mc.layouts import Layout

SEED = 2**63 + 20260727
FIRST = 2**32 - 2  # trials across a boundary of the counter's words
LARGE = {
    f"{layout.kind} {layout.groups}/{layout.redundancy}": layout
    for layout in (
        Layout.golomb(600, 9),
        Layout.golomb(200, 8),
        Layout.golomb(1000, 20),
        Layout.contiguous(600, 9),
        Layout.contiguous(65, 20),
        Layout.partition(200, 9),
        Layout.random(300, 7, seed=2),
        Layout.custom(101, (0, 3, 4, 50)),
    )
}
LEVELS = [level for level in ahead_levels.supported() if level in ahead_levels.built("ahead_reorder")]
kernels = pytest.mark.parametrize("level", LEVELS or ["none"])


def kernel_at(level):
    ahead("ahead_reorder")  # skips where it was not built
    return importlib.import_module(f"spare_mc.kernels.ahead_reorder_{level}")


def lives(kernel, plan, count, first=FIRST, batch=1):
    n = plan.stacks.shape[0]
    rows = np.full((count, len(kernel.COLUMNS)), -1, np.int64)
    by_failures = np.zeros((n + 1, len(kernel.BY_FAILURES)), np.int64)
    moves = np.zeros(n + 1, np.int64)
    kernel.lives(plan, SEED, first, rows, by_failures, moves, batch)
    return rows, by_failures, moves


def plan_of(layout):
    return reorder.plan(layout.host_table(), layout.stack_table())


def equal(one, other):
    return all((a == b).all() for a, b in zip(one, other, strict=True))


@kernels
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", [*LAYOUTS, *LARGE])
def test_lives_equal_numba(name, batch, level):
    layout = (LAYOUTS | LARGE)[name]
    kernel, plan = kernel_at(level), plan_of(layout)
    count = 30 if layout.groups < 100 else 6
    found = lives(kernel, plan, count, batch=batch)
    assert equal(found, lives(reorder, plan, count, batch=batch))
    assert (found[0][:, 0] >= 0).all() and found[1][:, 3].sum() == count


@kernels
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("name", LAYOUTS)
def test_lives_equal_the_reference(name, batch, level):
    layout = LAYOUTS[name]
    rows, _, _ = lives(kernel_at(level), plan_of(layout), 4, batch=batch)
    hosts, stacks = layout.host_table(), layout.stack_table()
    for i, row in enumerate(rows.tolist()):
        assert row == reference_reorder.lives_row(hosts, stacks, SEED, FIRST + i, batch)


def wide(plan):
    """The plan as it is where group numbers need 32 bits."""
    return plan._replace(hosts=plan.hosts.astype(np.uint32), stacks=plan.stacks.astype(np.uint32))


@kernels
@pytest.mark.parametrize("name", ["golomb 600/9", "partition 200/9", "contiguous 65/20"])
def test_wide_numbers_change_nothing(name, level):
    kernel, plan = kernel_at(level), plan_of(LARGE[name])
    assert equal(lives(kernel, wide(plan), 6), lives(kernel, plan, 6))


@kernels
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", [*LAYOUTS, "golomb 600/9"])
def test_decisions_equal_numba(name, batch, level):
    kernel, plan = kernel_at(level), plan_of((LAYOUTS | LARGE)[name])
    for form in (plan, wide(plan)):
        pairs = zip(
            kernel.decisions(form, SEED, FIRST, batch),
            reorder.decisions(form, SEED, FIRST, batch),
            strict=True,
        )
        for ours, theirs in pairs:
            assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert ours.phase == 3


def test_counts_are_added_to_and_may_be_left_out():
    kernel, plan = ahead("ahead_reorder"), plan_of(LAYOUTS["golomb 31/5"])
    rows, by_failures, moves = lives(kernel, plan, 10)
    again, more, histogram = np.zeros_like(rows), by_failures.copy(), moves.copy()
    kernel.lives(plan, SEED, FIRST, again, more, histogram)
    assert equal((again, more, histogram), (rows, 2 * by_failures, 2 * moves))
    again[:] = 0
    kernel.lives(plan, SEED, FIRST, again)
    assert (again == rows).all()
    kernel.lives(plan, SEED, FIRST, again[:0])  # none asked for


@pytest.mark.parametrize("wrong", ["rows", "by_failures", "moves", "batch"])
def test_arrays_of_the_wrong_shape_are_refused(wrong):
    kernel, plan = ahead("ahead_reorder"), plan_of(LAYOUTS["golomb 31/5"])
    arrays = {
        "rows": np.zeros((2, len(kernel.COLUMNS)), np.int64),
        "by_failures": np.zeros((32, len(kernel.BY_FAILURES)), np.int64),
        "moves": np.zeros(32, np.int64),
    }
    if wrong == "batch":
        arrays["batch"] = 0
    else:
        arrays[wrong] = arrays[wrong][..., :-1].copy()
    with pytest.raises(ValueError, match="batch" if wrong == "batch" else "shape"):
        kernel.lives(plan, SEED, FIRST, **arrays)


def test_threads_share_a_plan():
    kernel, plan = ahead("ahead_reorder"), plan_of(LARGE["golomb 200/8"])
    whole = lives(kernel, plan, 64)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda i: lives(kernel, plan, 8, FIRST + 8 * i), range(8)))
    assert (np.concatenate([rows for rows, _, _ in parts]) == whole[0]).all()
    assert equal([sum(part[i] for part in parts) for i in (1, 2)], whole[1:])


def test_backends_tally_the_same():
    ahead("ahead_reorder")
    point = SimpleNamespace(layout=Layout.random(60, 4, seed=1), stream=None)
    told = []
    for name in ("cython", "numba"):
        backend = backends.BACKENDS[name]
        told.append(backend.block("reordering", backend.plan("reordering", point), point, SEED, 5, 40))
    assert told[0]["sums"] == told[1]["sums"] and told[0]["sums"]["moves"] > 100
    assert told[0]["counts"].keys() == told[1]["counts"].keys()
    assert all((told[0]["counts"][key] == told[1]["counts"][key]).all() for key in told[0]["counts"])
