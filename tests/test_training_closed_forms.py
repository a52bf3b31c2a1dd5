"""Training runs against closed forms: jitter, restarts, failure laws, checkpoint-only."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtri
from training_tools import S, column, paper_settings, plan, rows

from spare_mc.kernels import jitter, training
from spare_mc.kernels.training_settings import BACKGROUND, FRESH, PER_STACK, SAVER, SYSTEM

NO_FAILURES = 1e30


def steps_of(settings, seed=3, **more):
    """Times between the step ends of one run without failures or saves [us]."""
    _, events = training.timeline(plan(settings, **more), seed, 0)
    return np.diff(events[events[:, 0] == 0, 1])


def test_normal_quantile():
    """Wichura's routine against scipy's, over both tails."""
    u = np.concatenate([np.linspace(1e-4, 1 - 1e-4, 999), 10.0 ** -np.arange(5, 300, 5)])
    found = np.array([jitter.normal(x) for x in u])
    assert found == pytest.approx(ndtri(u), rel=4e-15, abs=1e-16)


def test_slowest_by_table_is_the_quantile():
    """z of the slowest of n at u: kernel's table against -ndtri(1 - u**(1/n)) by log and expm1."""
    table = jitter.slowest_table()
    t = jitter.LOWEST_T + (np.arange(len(table)) - 1) * jitter.STEP
    low = t < -1
    assert table[low] == pytest.approx(-ndtri(-np.expm1(-np.exp(t[low]))), rel=1e-13)
    high = ~low
    assert table[high] == pytest.approx(ndtri(np.exp(-np.exp(t[high]))), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize(
    ("scheme", "groups", "redundancy", "kind"),
    [
        ("checkpoint-only", 1, 1, PER_STACK),
        ("checkpoint-only", 600, 1, PER_STACK),
        ("replication", 7, 3, PER_STACK),
        ("replication", 600, 3, 1),
    ],
)
def test_the_barrier_waits_for_the_slowest(scheme, groups, redundancy, kind):
    """Kolmogorov-Smirnov over 5,000 steps against Phi(z)**n at level 1e-4, on fixed seeds."""
    settings = paper_settings(
        scheme, "exponential", groups, redundancy, mean=NO_FAILURES, steps=5001, save=0, jitter=kind
    )
    compute = (steps_of(settings) - settings.allreduce) / settings.stack
    spread = 0.05 * (math.sqrt(redundancy) if kind == PER_STACK else redundancy)
    result = stats.kstest((compute - redundancy) / spread, lambda z: stats.norm.cdf(z) ** groups)
    assert result.pvalue > 1e-4


def mean_of_largest(n):
    """E[largest of n standard normals]."""
    return integrate.quad(lambda z: z * n * stats.norm.pdf(z) * stats.norm.cdf(z) ** (n - 1), -12, 12)[0]


@pytest.mark.parametrize(("scheme", "redundancy"), [("spare", 8), ("replication", 3)])
def test_without_failures_the_wall_time_is_known(scheme, redundancy):
    """steps * (S T_comp + E[slowest] + T_a) + saves; five standard errors (1 in 1.7 million)."""
    settings = paper_settings(scheme, "weibull", 600, redundancy, mean=NO_FAILURES, steps=2000)
    if scheme == "replication":  # where saves overlap, the barrier hides part of them
        settings = settings._replace(save_kind=0)
    table = rows(settings, 20)
    stacks = redundancy if scheme == "replication" else 1
    slowest = 0.05 * stacks * 64 * S * mean_of_largest(600)
    expected = 2000 * (stacks * 64 * S + slowest + settings.allreduce) + 200 * settings.save
    wall = column(table, "wall")
    assert abs(wall.mean() - expected) < 5 * wall.std(ddof=1) / math.sqrt(20)
    assert (column(table, "checkpoint") == 200 * settings.save).all() and (
        column(table, "failures") == 0
    ).all()


def test_an_overlapped_save_costs_what_the_barrier_shows_of_it():
    """No jitter: the saver is T_s late at the next barrier, no more and no less."""
    changes = dict(mean=NO_FAILURES, steps=100, sigma=0.0, save=50 * S)
    settings = paper_settings("replication", "weibull", 30, 3, save_kind=SAVER, **changes)
    assert column(rows(settings, 1), "checkpoint")[0] == 10 * 50 * S
    # With a block of 192 s, deviation 0.05 * 192 s, the slowest of 30 hides part of a save of 5 s.
    jittered = column(rows(settings._replace(sigma=0.05, save=5 * S), 50), "checkpoint")
    assert 0 < jittered.mean() < 10 * 5 * S * 0.5


def test_a_background_save_costs_its_blocking_part_until_writes_queue_up():
    changes = dict(mean=NO_FAILURES, steps=100, sigma=0.0, save_kind=BACKGROUND, save_blocking=2 * S)
    settings = paper_settings("checkpoint-only", "exponential", 4, 1, save=60 * S, **changes)
    step = settings.stack + settings.allreduce
    assert column(rows(settings, 1), "checkpoint")[0] == 10 * 2 * S + 58 * S, "and the last is waited for"
    # A save at every step, and a write longer than a step: each waits for the one before.
    crowded = settings._replace(save_steps=1, save=202 * S)
    assert column(rows(crowded, 1), "checkpoint")[0] == 100 * 2 * S + 99 * (200 * S - step) + 200 * S


def test_checkpoint_only_has_a_closed_form():
    """One group, exponential, restarts of fixed length, no all-reduce: every save starts a memoryless segment.

    A segment of k steps succeeds with p**k, p = exp(-T / m); a failed attempt costs T (1 - p**k) / (1 - p) on the mean
    over all attempts, and T_r. A failure during the save is found, and restarts, before the next stack.
    """
    k, segments, m = 5, 40, 900.0
    settings = paper_settings(
        "checkpoint-only", "exponential", 1, 1, mean=m * S, steps=k * segments, save_steps=k, sigma=0.0, extended=0,
        resume_after=1, allreduce=0, found_allreduce=0, restart=400 * S, clocks=FRESH,
    )  # fmt: skip
    p = math.exp(-64.0 / m)
    save = settings.save / S
    segment = 64.0 * (1 - p**k) / (1 - p) / p**k + (p**-k - 1) * 400.0
    expected = segments * (segment + save) + (segments - 1) * (1 - math.exp(-save / m)) * 400.0
    for clocks in (FRESH, SYSTEM, 0):
        wall = column(rows(settings._replace(clocks=clocks), 4000, seed=clocks), "wall") / S
        assert abs(wall.mean() - expected) < 4.5 * wall.std() / math.sqrt(4000), clocks


@pytest.mark.parametrize("clocks", [0, SYSTEM])
def test_an_extended_restart_takes_what_a_failure_free_window_takes(clocks):
    """One group, exponential: (exp(T_r / m) - 1) m until a window of T_r without a failure."""
    settings = paper_settings(
        "checkpoint-only", "exponential", 1, 1, mean=3000.0 * S, steps=200, save_steps=1, resume_after=1, clocks=clocks,
    )  # fmt: skip
    table = rows(settings, 500, seed=2)
    restarts = column(table, "restarts").sum()
    mean = column(table, "restart").sum() / restarts / S
    expected = (math.exp(3600 / 3000) - 1) * 3000
    # Its deviation is below its mean plus a window.
    assert abs(mean - expected) < 4.5 * (expected + 3600) / math.sqrt(restarts)


def test_system_clock_fails_at_its_own_rate():
    """Two blocks of 25, few failures a life: failures found over time are 1 in 300 s whatever has failed before."""
    settings = paper_settings(
        "replication", "exponential", 50, 25, mean=300.0 * S, clocks=SYSTEM, steps=10, sigma=0.0, lowest_only=0,
    )  # fmt: skip
    table = rows(settings._replace(stack=10 * S), 2000)
    found = column(table, "failures").sum()
    expected = column(table, "wall").sum() / (300.0 * S)
    assert column(table, "restarts").sum() == 0
    assert (
        abs(found - expected) < 4.5 * math.sqrt(expected) + 0.02 * expected
    )  # the last all-reduce sees none


@pytest.mark.parametrize("law", ["exponential", "weibull"])
def test_first_failure_of_fresh_groups(law):
    """Mean of the least of n fresh Weibull clocks: scale n**(-1/s) Gamma(1 + 1/s), found within a 1 s stack."""
    n, shape = 40, (0.78 if law == "weibull" else 1.0)
    settings = paper_settings(
        "checkpoint-only", law, n, 1, mean=4e5 * S, steps=10**6, stack=S, allreduce=0, found_allreduce=0, save=0,
        save_steps=10**6, sigma=0.0, restart=10**12, extended=0, max_wall=10**12,
    )  # fmt: skip
    table = rows(settings, 300)
    first = (column(table, "wall") - column(table, "restart")) / S - 0.5
    expected = 4e5 * n ** (-1 / shape)
    assert abs(first.mean() - expected) < 4.5 * first.std() / math.sqrt(300)


def test_period_and_table_of_intervals_decide_saves():
    """No failures, no jitter: a step takes 70 s, and a save follows the first step that ends late enough."""
    base = paper_settings(
        "checkpoint-only",
        "exponential",
        600,
        1,
        mean=NO_FAILURES,
        sigma=0.0,
        steps=100,
        save_steps=0,
        save=10 * S,
    )
    for period, every in ((0, 1), (70, 1), (71, 2), (140, 2), (300, 5)):
        saves = column(rows(base, 1, intervals=[period * S]), "saves")[0]
        assert saves == math.ceil(100 / every), period
    _, events = training.timeline(plan(base, intervals=[70 * S, 140 * S], width=1000 * S), 1, 0)
    saves = events[events[:, 0] == training.EVENTS.index("save")][:, 2]
    gaps = np.diff(saves)
    assert set(gaps[:8]) == {1} and set(gaps[15:-1]) == {2}


def test_weibull_intervals_are_youngs_at_the_hazard_of_the_moment():
    """Shape 1: Young's interval sqrt(2 T_s m) at every time; below 1 it grows with the time since the restart."""
    constant = training.weibull_intervals(60 * S, 3600.0 * S, 1.0, 600 * S, 10)
    assert constant == pytest.approx(math.sqrt(2 * 60 * 3600) * S, rel=1e-6)
    growing = training.weibull_intervals(60 * S, 3600.0 * S, 0.7, 600 * S, 10)
    assert (np.diff(growing) > 0).all()
    t = 300.0 / 3600
    assert growing[0] == pytest.approx(math.sqrt(2 * 60 * 3600 / (0.7 * t**-0.3)) * S, rel=1e-6)


@pytest.mark.parametrize(("scheme", "redundancy"), [("spare", 3), ("replication", 3), ("checkpoint-only", 1)])
def test_useful_fraction_under_corrected_rules_is_near_its_closed_form(scheme, redundancy):
    """A(T_c) counts what the corrected rules cost, but masked failures, as lost: within 0.02 (8 runs; std 0.01)."""
    import spare_mc
    from spare_mc.training_closed_forms import closed_forms

    layout = spare_mc.Layout.contiguous(200, redundancy)
    found = spare_mc.training(
        layout,
        system_mtbf=300.0 if redundancy > 1 else 30_000.0,
        scheme=scheme,
        rules="corrected",
        runs=8,
        steps=2000,
    )
    stated = closed_forms(found.parameters, layout)
    assert found.estimates["useful_fraction"].mean == pytest.approx(stated["useful_fraction"], abs=0.02)
    assert found.estimates["time_to_train_ratio"].mean > stated["time_to_train_ratio"]


def test_no_closed_form_is_told_where_there_is_none():
    import spare_mc
    from spare_mc.training_closed_forms import closed_forms

    layout = spare_mc.Layout.contiguous(20, 3)
    asked = {"system_mtbf": 3000.0, "runs": 1, "steps": 5, "checkpoint_steps": 2}
    for more in ({"repair_time": 60.0}, {"failures": {"lemon_share": 0.1, "lemon_rate": 3.0}}):
        found = spare_mc.training(layout, **asked, **more)
        assert closed_forms(found.parameters, layout) == {}
