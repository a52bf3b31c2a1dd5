"""What the CUDA kernels do beyond the matrix: rare paths, training runs, blocks by the engine.

Runs where there is a GPU, and in the CUDA simulator (test_cuda_simulator.py).
"""

import random
from types import SimpleNamespace

import numpy as np
import pytest
import survival_cases
import training_tools

import spare_mc
from spare_mc import backends, gpu
from spare_mc.kernels import reference, reference_stacks
from spare_mc.kernels.training_settings import COLUMNS, columns
from spare_mc.layouts import Layout

pytestmark = pytest.mark.skipif(gpu.missing() is not None, reason=str(gpu.missing()))

# compiled at install, if it could be
CPU = backends.BACKENDS["numba" if backends.BACKENDS["cython"].missing() else "cython"]
SEED, FIRST = 0xC0FFEE_D00D_5EED, 2**32 - 5
LAYOUTS = [
    Layout.contiguous(2, 1),
    Layout.golomb(17, 4),
    Layout.contiguous(16, 3),
    Layout.partition(17, 4),
    Layout.random(12, 12),
    Layout.custom(20, [0, 19, 18]),
]


def name_of(layout):
    return f"{layout.kind}-{layout.groups}-{layout.redundancy}"


def kernel_and_plan(measure, layout):
    backend = backends.BACKENDS["cuda"]
    return backend.kernel(measure), backend.prepared(measure, layout)


def rows_of(layout):
    return [[int(group) for group in row if group >= 0] for row in layout.host_table()]


def tied_keys(layout, count):
    keys = np.random.default_rng(3).integers(0, 4, (count, layout.groups)).astype(np.uint32)
    keys[count // 2 :] += np.uint32(0xFFFFFFFC)  # the largest keys there are
    return keys


@pytest.mark.parametrize("layout", LAYOUTS, ids=name_of)
def test_survival_of_tied_keys(layout):
    """Keys that tie in all bits are in the order of their groups."""
    kernel, plan = kernel_and_plan("survival", layout)
    keys = tied_keys(layout, 6)
    found = np.full(6, -1, np.int32)
    kernel.endurable_of_keys(plan, keys, found)
    orders = [np.argsort(row, kind="stable").tolist() for row in keys]
    assert found.tolist() == [reference.endurable_in_order(rows_of(layout), order) for order in orders]


@pytest.mark.parametrize("layout", LAYOUTS[1:5], ids=name_of)
def test_survival_with_keys_in_memory(layout, monkeypatch):
    """Layouts too large for shared memory take another kernel."""
    kernel, plan = kernel_and_plan("survival", layout)
    monkeypatch.setattr(kernel, "SHARED", 0)
    found = np.full(5, -1, np.int32)
    kernel.endurable(plan, SEED, FIRST, found)
    wanted = survival_cases.expected(layout.groups, rows_of(layout), FIRST, 5, SEED)
    assert found.tolist() == wanted
    assert (
        kernel.counts(plan, SEED, FIRST, 5).tolist()
        == np.bincount(wanted, minlength=layout.groups + 1).tolist()
    )


@pytest.mark.parametrize("layout", [Layout.golomb(31, 5), Layout.contiguous(33, 6), Layout.partition(34, 4)])
def test_counts_of_stacks(layout, monkeypatch):
    """Counted on the GPU, in several launches, as on the host from the rows of all trials."""
    kernel, plan = kernel_and_plan("stacks", layout)
    monkeypatch.setattr(kernel, "_MANY", 8)
    backend, point = backends.BACKENDS["cuda"], SimpleNamespace(layout=layout)
    found = backend.block("stacks", plan, point, SEED, FIRST, 20)
    wanted = CPU.block("stacks", CPU.prepared("stacks", layout), point, SEED, FIRST, 20)
    assert found["sums"] == wanted["sums"]
    for name, counts in wanted["counts"].items():
        assert np.array_equal(found["counts"][name], counts), name
    rows = np.full((20, layout.redundancy), -1, np.int32)
    kernel.capacity(plan, SEED, FIRST, rows)
    hosts = rows_of(layout)
    assert rows[:2].tolist() == [
        reference_stacks.capacity(hosts, layout.groups, layout.redundancy, SEED, FIRST + i) for i in range(2)
    ]


def test_reordering_counts_what_the_cpu_counts():
    layout = Layout.golomb(17, 4)
    point = SimpleNamespace(layout=layout)
    found, wanted = (
        backend.block("reordering", backend.prepared("reordering", layout), point, SEED, FIRST, 12)
        for backend in (backends.BACKENDS["cuda"], CPU)
    )
    assert found["sums"] == wanted["sums"]
    for name, counts in wanted["counts"].items():
        assert np.array_equal(found["counts"][name], counts), name


def close(found, wanted):
    """Rows of training runs: equal in the simulator; on a GPU, durations differ by a microsecond now and then."""
    if gpu.simulated():
        return np.array_equal(found, wanted)
    first = COLUMNS.index("failures")  # the first that is no time
    times = np.abs(found[:, :first] - wanted[:, :first])
    return times.max() <= 100 and np.array_equal(found[:, first:], wanted[:, first:])


@pytest.mark.parametrize("case", range(10))
def test_training_runs_of_every_rule(case):
    settings, more = training_tools.small(random.Random(case))
    plan = training_tools.plan(settings, **more)
    wanted = np.empty((3, len(columns(settings.redundancy))), np.int64)
    CPU.kernel("training").run(plan, SEED, FIRST, wanted)
    found = np.full_like(wanted, -1)
    kernel = backends.BACKENDS["cuda"].kernel("training")
    kernel.run(kernel.prepare(plan), SEED, FIRST, found)
    assert close(found, wanted)


RETURNS = {"repair": 900_000_000, "spares": 1, "swap": 10_000_000, "rejoin": 1_000_000}


@pytest.mark.parametrize("returns", [{}, RETURNS], ids=["no returns", "returns"])
@pytest.mark.parametrize("scheme", ["spare", "replication"])
def test_training_runs_with_jitter(scheme, returns):
    settings = training_tools.paper_settings(scheme, "weibull", 7, 3, steps=20, **returns)
    plan = training_tools.plan(settings)
    wanted = np.empty((2, len(columns(3))), np.int64)
    CPU.kernel("training").run(plan, SEED, FIRST, wanted)
    found = np.full_like(wanted, -1)
    kernel = backends.BACKENDS["cuda"].kernel("training")
    kernel.run(kernel.prepare(plan), SEED, FIRST, found)
    assert close(found, wanted)


def test_blocks_of_the_engine():
    """Threads of the engine share the GPU; what they count is what the other backends count."""
    layout = Layout.golomb(13, 4)
    for measure in (spare_mc.survival, spare_mc.stacks):
        found = measure(layout, trials=40, seed=3, backend="cuda", threads=3)
        wanted = measure(layout, trials=40, seed=3, backend=CPU.name, threads=1)
        assert found.estimates == wanted.estimates


def test_an_unknown_type_of_argument_shows_in_the_simulator():
    if not gpu.simulated():
        pytest.skip("a GPU compiles the kernel once more")
    from spare_mc.kernels import cuda_device, cuda_stacks

    with cuda_device.take() as slot, pytest.raises(TypeError, match="a kernel takes"):
        cuda_stacks.examples()["stacks, tallies"].launch(slot, 1, 1, [slot.zeros("x", (3,), np.float64)] * 4)
