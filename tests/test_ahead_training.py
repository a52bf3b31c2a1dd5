"""Training runs compiled ahead of time: rows equal to Numba's, and without jitter to plain Python's."""

import importlib
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from ahead_tools import ahead
from training_tools import S, paper_settings, plan, small

from spare_mc import backends
from spare_mc.kernels import ahead_levels, jitter, training
from spare_mc.kernels.reference_training import training_row
from spare_mc.layouts import Layout
from spare_mc.study import load

LEVELS = [level for level in ahead_levels.supported() if level in ahead_levels.built("ahead_training")]
kernels = pytest.mark.parametrize("level", LEVELS or ["none"])


def kernel_at(level):
    ahead("ahead_training")  # skips where it was not built
    return importlib.import_module(f"spare_mc.kernels.ahead_training_{level}")


def runs(kernel, prepared, count, seed=1, first=0):
    rows = np.full((count, len(kernel.columns(prepared.settings.redundancy))), -1, np.int64)
    kernel.run(prepared, seed, first, rows)
    return rows


def random_cases(seed, count):
    """Settings of small clusters with every rule drawn at random, jitter among them, and what else a plan needs."""
    rng = random.Random(seed)
    for _ in range(count):
        settings, more = small(rng)
        settings = settings._replace(sigma=rng.choice([0.0, 0.05, 0.3]))
        yield settings, more, rng.randrange(2**64), rng.randrange(2**40)


def compare_with_numba(kernel, seed, count):
    total = 0
    for settings, more, key, first in random_cases(seed, count):
        prepared = training.plan(settings, **more)
        found, wanted = (runs(k, prepared, 2, key, first) for k in (kernel, training))
        assert (found == wanted).all(), (settings, more)
        total = total + found[:, : len(training.COLUMNS)].sum(axis=0)
    return dict(zip(training.COLUMNS, total.tolist(), strict=True))


@kernels
def test_rows_equal_numba_under_random_rules(level):
    total = compare_with_numba(kernel_at(level), 11, 200)
    for name in ("failures", "restarts", "reorders", "deeper", "fixed", "moves", "saves", "finished"):
        assert total[name] > 50, f"too few {name} to tell"
    assert total["finished"] < 400 and total["rework"] > 0 and total["detection"] > 0 and total["waiting"] > 0


@pytest.mark.slow
@kernels
def test_rows_equal_numba_under_random_rules_at_length(level):
    compare_with_numba(kernel_at(level), 12, 5000)


def test_rows_equal_the_walk_over_all_groups_without_jitter():
    kernel = ahead("ahead_training")
    for settings, more, key, first in random_cases(13, 60):
        settings = settings._replace(sigma=0.0)
        (found,) = runs(kernel, training.plan(settings, **more), 1, key, first).tolist()
        assert found == list(training_row(settings, key, first, **more)), (settings, more)


LARGE = {
    f"{scheme} {groups}/{redundancy} {law} {layout}": (
        paper_settings(scheme, law, groups, redundancy, steps=400)._replace(**changes),
        layout,
    )
    for scheme, groups, redundancy, law, layout, changes in (
        ("spare", 600, 8, "weibull", "golomb", {}),
        ("spare", 600, 20, "exponential", "golomb", {"patch_all": 1, "extended": 0, "resume_after": 1}),
        ("spare", 200, 9, "weibull", "contiguous", {"law": 2}),
        ("spare", 203, 4, "weibull", "partition", {"clocks": 1}),
        ("spare", 100, 6, "exponential", "random", {"clocks": 2, "mean": 300.0 * S}),
        ("spare", 1000, 3, "weibull", "golomb", {"save_kind": 2, "save_blocking": 5 * S}),
        ("replication", 600, 3, "weibull", None, {}),
        ("replication", 200, 20, "exponential", None, {"placement": 1, "lowest_only": 0}),
        ("replication", 1000, 7, "weibull", None, {"jitter": 0, "save_kind": 0}),
        ("checkpoint-only", 20, 1, "weibull", None, {"mean": 6000.0 * S * 20}),
    )
}


def large(name):
    settings, kind = LARGE[name]
    if kind is None:
        return plan(settings)
    layout = getattr(Layout, kind)(settings.groups, settings.redundancy)
    return plan(settings, hosts=layout.host_table(), stacks=layout.stack_table())


@kernels
@pytest.mark.parametrize("name", LARGE)
def test_rows_equal_numba_at_published_sizes(name, level):
    prepared = large(name)
    found, wanted = (runs(k, prepared, 3, 2**63 + 5, 2**32 - 1) for k in (kernel_at(level), training))
    assert (found == wanted).all()
    assert found[:, training.COLUMNS.index("failures")].sum() > 20


@kernels
def test_jitter_tables_are_equal_to_the_bit(level):
    table = kernel_at(level).slowest_table()
    assert table.tobytes() == jitter.slowest_table().tobytes()


def test_wide_numbers_change_nothing():
    kernel, prepared = ahead("ahead_training"), large("spare 600/8 weibull golomb")
    stacks = prepared.stacks
    stacks = stacks._replace(hosts=stacks.hosts.astype(np.uint32), stacks=stacks.stacks.astype(np.uint32))
    assert (runs(kernel, prepared._replace(stacks=stacks), 2) == runs(kernel, prepared, 2)).all()


@pytest.mark.parametrize("name", ["spare 600/8 weibull golomb", "replication 600/3 weibull None"])
def test_a_run_is_its_number_and_seed_in_any_thread(name):
    kernel, prepared = ahead("ahead_training"), large(name)
    whole = runs(kernel, prepared, 16, 7, 2**33)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda i: runs(kernel, prepared, 2, 7, 2**33 + 2 * i), range(8)))
    assert (np.concatenate(parts) == whole).all() and len({tuple(row) for row in whole}) == 16


@pytest.mark.parametrize("name", ["spare 600/8 weibull golomb", "replication 600/3 weibull None"])
def test_timelines_equal_numba(name):
    kernel, prepared = ahead("ahead_training"), large(name)
    for limit in (50, 100_000):
        (row, events), (wanted, told) = (k.timeline(prepared, 4, 2, limit) for k in (kernel, training))
        assert (row == wanted).all() and events.shape == told.shape and (events == told).all()
    assert len(events) > 400


def test_rows_of_the_wrong_width_are_refused():
    kernel, prepared = ahead("ahead_training"), large("spare 600/8 weibull golomb")
    with pytest.raises(ValueError, match="columns"):
        kernel.run(prepared, 1, 0, np.zeros((2, 20), np.int64))
    kernel.run(prepared, 1, 0, np.zeros((0, len(training.columns(8))), np.int64))  # none asked for


def test_backends_tally_the_same():
    ahead("ahead_training")
    study = load(
        {
            "study": {"measure": ["training"]},
            "cluster": {"groups": 60},
            "layout": {"kind": "golomb", "redundancy": 4},
            "failures": {"law": "weibull", "shape": 0.78, "system_mtbf": 900.0},
            "training": {"scheme": "spare", "steps": 100, "checkpoint": "dynamic"},
        }
    )
    (point,) = study.points
    told = []
    for name in ("cython", "numba"):
        backend = backends.BACKENDS[name]
        told.append(backend.block("training", backend.plan("training", point), point, 3, 5, 4)["rows"])
    assert (told[0] == told[1]).all() and told[0].shape == (4, len(training.columns(4)))
