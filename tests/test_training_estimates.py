"""Estimates of training runs against the same quantities from the rows, in plain Python."""

from fractions import Fraction
from math import comb, sqrt

import numpy as np
import pytest

from spare_mc import estimates, intervals
from spare_mc.kernels.training_settings import COLUMNS, PARTS, columns
from spare_mc.results import PointResult
from spare_mc.tallies import Tally
from spare_mc.training_estimates import PARTS as DESCRIBED

PARAMETERS = {
    "cluster.groups": 600,
    "layout.kind": "golomb",
    "layout.redundancy": 3,
    "training.steps": 1000,
    "training.stack_time": 64.0,
    "training.allreduce_time": 6.0,
}


def rows_of(runs, seed=3):
    """Made-up rows whose parts add up to the wall time, as those of the kernel do."""
    rng = np.random.default_rng(seed)
    names = columns(3)
    rows = rng.integers(0, 50, (runs, len(names)))
    for part in PARTS:
        rows[:, names.index(part)] = rng.integers(10**9, 10**11, runs)
    wall = sum(rows[:, names.index(part)] for part in PARTS)
    rows[:, names.index("wall")] = wall
    rows[:, names.index("shrink_total")] = rng.integers(10**6, 10**8, runs)
    rows[:, names.index("useful")] = (wall * rng.uniform(0.3, 0.9, runs)).astype(np.int64)
    rows[:, names.index("committed")] = 1000
    rows[:, names.index("finished")] = 1
    return rows.astype(np.int64)


def point(rows, confidence=0.95, **more):
    tally = Tally("training", "0" * 64, 1, ((0, len(rows)),), rows=rows)
    return PointResult("0" * 64, {**PARAMETERS, **more}, 1, {"training": tally}, confidence)


def column(rows, name):
    return [int(x) for x in rows[:, COLUMNS.index(name)]]


def test_times_and_counts_are_means_of_the_rows():
    rows = rows_of(25)
    found = point(rows).estimates
    wall = column(rows, "wall")
    value = found["time_to_train_s"]
    assert value.mean == pytest.approx(float(Fraction(sum(wall), 25)) / 1e6, rel=1e-15)
    assert value.std == pytest.approx(float(np.std(wall, ddof=1)) / 1e6, rel=1e-12)
    # t(24; 0.975) = 2.063899
    assert value.high - value.mean == pytest.approx(2.063899 * value.std / 5, rel=1e-6)
    ratio = found["time_to_train_ratio"]
    assert ratio.mean == pytest.approx(value.mean / 70_000, rel=1e-14)
    assert ratio.high - ratio.low == pytest.approx((value.high - value.low) / 70_000, rel=1e-12)
    for name in ("restarts", "failures", "reorders", "moves"):
        assert found[name].mean == sum(column(rows, name)) / 25
    assert set(found) <= set(estimates.UNITS) and set(estimates.UNITS) == set(estimates.DESCRIPTIONS)


def test_parts_add_up_to_the_wall_time():
    found = point(rows_of(25)).estimates
    assert tuple(DESCRIBED) == PARTS, "every part of the kernel is told"
    total = sum(found[f"{part}_s"].mean for part in PARTS)
    assert total == pytest.approx(found["time_to_train_s"].mean, rel=1e-14)


def test_fractions_are_of_the_sums_over_runs():
    rows = rows_of(25)
    found = point(rows).estimates
    wall = column(rows, "wall")
    down = [r + s for r, s in zip(column(rows, "restart"), column(rows, "shrink_total"), strict=True)]
    value = found["availability"]
    assert value.mean == pytest.approx(float(1 - Fraction(sum(down), sum(wall))), rel=1e-14)
    ratio = Fraction(sum(down), sum(wall))
    residual = float(sum((d - ratio * w) ** 2 for d, w in zip(down, wall, strict=True)))
    assert value.std == pytest.approx(sqrt(residual / 24) / (sum(wall) / 25), rel=1e-12)
    useful = found["useful_fraction"]
    assert useful.mean == pytest.approx(float(Fraction(sum(column(rows, "useful")), sum(wall))), rel=1e-14)
    assert 0 <= useful.low < useful.mean < useful.high <= 1


def test_years_in_microseconds_do_not_overflow():
    rows = rows_of(4)
    rows[:, COLUMNS.index("wall")] = 2**58 + np.array([0, 2, 4, 6])
    value = point(rows).estimates["time_to_train_s"]
    assert value.std == pytest.approx(sqrt(20 / 3) / 1e6, rel=1e-12)


def test_one_run_has_no_width():
    found = point(rows_of(1)).estimates
    assert found["time_to_train_s"].low is None and found["availability"].high is None
    assert found["time_to_train_s_p50"].low is None and found["time_to_train_s_p50"].high is None


def test_no_runs_have_no_estimates():
    assert point(rows_of(0)).estimates == {}


def test_unfinished_runs_are_told():
    rows = rows_of(20)
    assert "unfinished_fraction" not in point(rows).estimates
    rows[:3, COLUMNS.index("finished")] = 0
    value = point(rows).estimates["unfinished_fraction"]
    assert value.mean == 0.15
    assert (value.low, value.high) == intervals.proportion_interval(3, 20)


def test_tokens_per_day():
    rows = rows_of(9)
    assert "tokens_per_day" not in point(rows).estimates
    value = point(rows, **{"training.tokens_per_step": 4e6}).estimates["tokens_per_day"]
    days = sum(column(rows, "wall")) / 86400e6
    assert value.mean == pytest.approx(9 * 1000 * 4e6 / days, rel=1e-12)
    assert value.low < value.mean < value.high


def test_quantiles_of_the_wall_time():
    rows = rows_of(200)
    wall = np.sort(np.array(column(rows, "wall"))) / 1e6
    found = point(rows).estimates
    median = found["time_to_train_s_p50"]
    assert median.mean == pytest.approx((wall[99] + wall[100]) / 2, rel=1e-14)
    # Pr[at most 85 of 200 below the median] = 0.0200, of 86 = 0.0280: between values 86 and 115 (from 1)
    assert (median.low, median.high) == (wall[85], wall[114])
    assert found["time_to_train_s_p05"].mean < median.mean < found["time_to_train_s_p95"].mean


@pytest.mark.parametrize(("count", "share"), [(6, 0.5), (9, 0.3), (40, 0.05), (100, 0.95), (500, 0.5)])
def test_quantile_intervals_cover_for_every_distribution(count, share):
    """Exact: the values below the true quantile are binomial; the interval is the shortest that covers 95 %."""
    value = intervals.quantile_interval(np.arange(1.0, count + 1), share)
    tails = [
        sum(comb(count, x) * share**x * (1 - share) ** (count - x) for x in range(m))
        for m in range(count + 2)
    ]
    if value.low is None:
        assert tails[1] > 0.025, "even the least value may lie above the quantile"
    else:
        low = int(value.low)
        assert tails[low] <= 0.025 < tails[low + 1]
    if value.high is None:
        assert 1 - tails[count] > 0.025
    else:
        high = int(value.high)
        assert 1 - tails[high] <= 0.025 < 1 - tails[high - 1]
