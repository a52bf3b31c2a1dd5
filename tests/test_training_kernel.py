"""The training kernel against plain-Python runs that walk every group through every step.

Without jitter both draw the same failure clocks, and every column of every row must be equal. With jitter the kernel
draws the slowest of many groups at once, and the columns must agree in distribution.
"""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from training_tools import S, column, paper_settings, rows, small

from spare_mc.kernels import training
from spare_mc.kernels.reference_training import training_row
from spare_mc.kernels.training_settings import (
    CHECKPOINT_ONLY,
    PER_BLOCK,
    PER_STACK,
    SAVER,
    SPARE,
)
from spare_mc.layouts import Layout


def compare(count, seed):
    """Rows of ``count`` random settings, kernel against reference; returns the kernel's, summed by column."""
    rng = random.Random(seed)
    total = 0
    for _ in range(count):
        settings, more = small(rng)
        key, first = rng.randrange(2**64), rng.randrange(2**40)
        found = rows(settings, 2, key, first, **more)
        for run in range(2):
            names = training.columns(settings.redundancy)
            expected = dict(zip(names, training_row(settings, key, first + run, **more), strict=True))
            assert dict(zip(names, found[run].tolist(), strict=True)) == expected, (settings, more)
        total += found[:, : len(training.COLUMNS)].sum(axis=0)
    return dict(zip(training.COLUMNS, total.tolist(), strict=True))


def test_equals_the_walk_over_all_groups_without_jitter():
    total = compare(250, 7)
    for name in (
        "failures",
        "restarts",
        "reorders",
        "deeper",
        "fixed",
        "moves",
        "saves",
        "finished",
        "returns",
    ):
        assert total[name] > 50, f"too few {name} to tell"
    assert total["rejoin_moves"] > 0 and total["spares_lacking"] > 50
    assert total["finished"] < 500 and total["rework"] > 0 and total["detection"] > 0


@pytest.mark.slow
def test_equals_the_walk_over_all_groups_without_jitter_at_length():
    compare(4000, 8)


JITTERED = {
    "spare": paper_settings("spare", "exponential", 13, 3, mean=6e9, sigma=0.25),
    "spare per block": paper_settings(
        "spare", "weibull", 13, 4, mean=6e9, sigma=0.25, jitter=PER_BLOCK, patch_all=1, extended=0
    ),
    "spare, saver": paper_settings("spare", "weibull", 7, 2, mean=1e10, sigma=0.2, save_kind=SAVER),
    "replication": paper_settings("replication", "exponential", 11, 4, mean=6e9, sigma=0.25),
    "replication per stack": paper_settings(
        "replication", "weibull", 7, 3, mean=5e9, sigma=0.2, jitter=PER_STACK, lowest_only=0, save_kind=0
    ),
    "checkpoint-only": paper_settings("checkpoint-only", "weibull", 3, 1, mean=4e9, sigma=0.25),
}


@pytest.mark.parametrize("case", JITTERED)
def test_agrees_with_the_walk_in_distribution(case):
    """Means and spreads of seven columns; |z| < 4.5 in 6 x 7 x 2 comparisons: a false alarm once in 1,700 seeds."""
    settings = JITTERED[case]._replace(
        steps=30, stack=100 * S, restart=600 * S, save_steps=4, allreduce=6 * S, found_allreduce=3 * S
    )
    more = {}
    if settings.scheme == SPARE:
        layout = Layout.golomb(settings.groups, settings.redundancy)
        more = {"hosts": layout.host_table(), "stacks": layout.stack_table()}
    rng = np.random.default_rng(5)
    count = 120
    expected = np.array(
        [
            training_row(settings, 9, run, lambda: max(0.1, rng.normal(1, settings.sigma)), **more)
            for run in range(count)
        ]
    )
    found = rows(settings, 20 * count, seed=10)
    for name in ("wall", "waiting", "rework", "failures", "restarts", "allreduce", "patch"):
        a, b = column(found, name).astype(float), column(expected, name).astype(float)
        for x, y in ((a, b), ((a - a.mean()) ** 2, (b - b.mean()) ** 2)):
            error = np.sqrt(x.var() / len(x) + y.var() / len(y))
            assert abs(x.mean() - y.mean()) <= 4.5 * error, (name, x.mean(), y.mean(), error)


# Scheme, N, r, and a system MTBF [s] at which some hundred steps see restarts and still end.
PAPER = [("spare", 600, 8, 300), ("replication", 200, 3, 300), ("checkpoint-only", 20, 1, 6000)]


@pytest.mark.parametrize(("scheme", "groups", "redundancy", "mtbf"), PAPER)
def test_parts_add_up_and_counts_hang_together(scheme, groups, redundancy, mtbf):
    settings = paper_settings(scheme, "weibull", groups, redundancy, steps=800, mean=mtbf * S * float(groups))
    table = rows(settings, 10)
    parts = sum(column(table, name) for name in training.PARTS)
    assert (parts == column(table, "wall")).all()
    assert (column(table, "finished") == 1).all()
    assert (column(table, "needed") == 800 * 64 * S).all(), "every committed step counts its compute once"
    assert (column(table, "committed") == 800).all()
    assert (column(table, "executed") == 800 + column(table, "rolled_back")).all()
    assert (column(table, "shrink_total") >= column(table, "shrink")).all()
    steps_at_depth = table[:, len(training.COLUMNS) :]
    assert (steps_at_depth.sum(axis=1) == column(table, "executed")).all()
    assert (column(table, "restarts") > 0).all() and (column(table, "rework") > 0).all()
    lost = ("checkpoint", "rework", "restart")
    useful = column(table, "wall") - sum(column(table, name) for name in lost)
    assert (column(table, "useful") == useful).all()


@pytest.mark.parametrize(("scheme", "groups", "redundancy", "mtbf"), PAPER)
def test_a_run_is_its_number_and_seed(scheme, groups, redundancy, mtbf):
    """Splitting, threads and neighbours change nothing; another seed or number changes the run."""
    settings = paper_settings(scheme, "weibull", groups, redundancy, steps=300, mean=mtbf * S * float(groups))
    whole = rows(settings, 12, seed=2**63 + 5, first=2**33)
    with ThreadPoolExecutor(4) as pool:
        parts = pool.map(lambda i: rows(settings, 3, seed=2**63 + 5, first=2**33 + 3 * i), range(4))
        assert (np.concatenate(list(parts)) == whole).all()
    assert len({tuple(row) for row in whole}) == 12
    assert (rows(settings, 12, seed=5, first=2**33) != whole).any(axis=1).all()


def test_a_run_that_cannot_finish_is_ended_and_flagged():
    """Restarts take ten times the mean time to a failure, so no step is ever committed."""
    settings = paper_settings(
        "checkpoint-only", "exponential", 20, 1, mean=7200e6, steps=100, max_wall=3 * 10**12
    )
    table = rows(settings, 4)
    assert (column(table, "finished") == 0).all() and (column(table, "committed") < 100).all()
    assert (column(table, "wall") >= 3 * 10**12).all()
    assert (sum(column(table, name) for name in training.PARTS) == column(table, "wall")).all()


def test_timeline_is_the_run_and_its_events_count_up_to_the_row():
    settings = paper_settings("spare", "weibull", 600, 4, steps=300)
    table = rows(settings, 3, seed=4)
    from training_tools import plan

    row, events = training.timeline(plan(settings), 4, 2)
    assert (row == table[2]).all()
    kinds = [training.EVENTS[kind] for kind in events[:, 0]]
    value = dict(zip(training.COLUMNS, row.tolist(), strict=False))
    assert kinds.count("failure") == value["failures"]
    assert kinds.count("reorder") == kinds.count("patch") == value["reorders"] + value["deeper"] > 0
    assert kinds.count("save") == value["saves"] and kinds.count("restart") == value["restarts"] > 0
    steps = events[events[:, 0] == 0]
    assert steps[-1, 2] == 300 and (np.diff(steps[:, 1]) > 0).all()
    restarts = events[events[:, 0] == training.EVENTS.index("restart")]
    assert (restarts[:, 2] - restarts[:, 1]).sum() == value["restart"]
    assert len(training.timeline(plan(settings), 4, 2, limit=50)[1]) == 50


@pytest.mark.parametrize(
    "change",
    [
        {"sigma": 0.4},
        {"stack": 0},
        {"redundancy": 0},
        {"redundancy": 601},
        {"steps": 0},
        {"mean": 0.0},
        {"restart": -1},
        {"save_steps": 0},
        {"lowest_only": 1},
        {"scheme": CHECKPOINT_ONLY},
    ],
)
def test_settings_that_cannot_be_run_are_refused(change):
    settings = paper_settings("spare", "exponential", 600, 8)
    layout = Layout.golomb(600, 8)
    with pytest.raises(ValueError, match=r"\w"):
        training.plan(settings._replace(**change), layout.host_table(), layout.stack_table())
