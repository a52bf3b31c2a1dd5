"""Estimates and curves against the same quantities computed trial by trial in plain Python."""

from fractions import Fraction
from itertools import product
from math import comb, gamma, sqrt

import numpy as np
import pytest

from spare_mc import estimates
from spare_mc.laws import Weibull
from spare_mc.order_times import order_means
from spare_mc.results import PointResult
from spare_mc.tallies import Tally

N, R = 12, 3


def point(*tallies, groups=N, redundancy=R, confidence=0.95, **more):
    parameters = {"cluster.groups": groups, "layout.redundancy": redundancy, **more}
    return PointResult("0" * 64, parameters, 1, {t.measure: t for t in tallies}, confidence)


def tally(measure, trials, counts, sums=None):
    counts = {name: np.asarray(values, np.int64) for name, values in counts.items()}
    return Tally(measure, "0" * 64, 1, ((0, trials),), counts, sums or {})


def binomial(n, p, x):
    return comb(n, x) * p**x * (1 - p) ** (n - x)


def survival_of(endured, groups=N):
    return tally("survival", len(endured), {"endurable_failures": np.bincount(endured, minlength=groups + 1)})


def lives(trials, seed=7):
    """Made-up lives: lists S*(0..K), rising from 1 to at most R, K from 2 to 8 (12 groups, 3 copies)."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(trials):
        length = int(rng.integers(3, 10))
        found.append([1, *sorted(int(d) for d in rng.integers(2, R + 1, length - 1))])
    return found


def bound(k, groups=N):
    return -(-groups // (groups - k))


def stacks_of(found, groups=N):
    at_depth = np.zeros((groups + 1, R), np.int64)
    rows = []
    for life in found:
        for k, depth in enumerate(life):
            at_depth[k, depth - 1] += 1
        above = sum(depth > bound(k, groups) for k, depth in enumerate(life))
        rows.append((sum(life), len(life), above, len(life) - 1))
    a, b, e, f = (
        sum(row[0] for row in rows),
        sum(row[1] for row in rows),
        sum(row[2] for row in rows),
        sum(row[3] for row in rows),
    )
    sums = {"stack": a, "states": b, "above": e, "failures": f}
    for name, i, j in (
        ("stack_squared", 0, 0),
        ("stack_states", 0, 1),
        ("states_squared", 1, 1),
        ("above_squared", 2, 2),
        ("above_failures", 2, 3),
        ("failures_squared", 3, 3),
    ):
        sums[name] = sum(row[i] * row[j] for row in rows)
    histogram = np.bincount([len(life) - 1 for life in found], minlength=groups + 1)
    return tally("stacks", len(found), {"endurable_failures": histogram, "trials_at_depth": at_depth}, sums)


def test_endurance_equals_plain_mean_and_deviation():
    endured = [2, 5, 5, 7, 8, 2, 4]
    found = point(survival_of(endured)).estimates
    value = found["endurable_failures"]
    assert value.mean == float(Fraction(sum(endured), 7))
    assert value.std == pytest.approx(float(np.std(endured, ddof=1)), rel=1e-14)
    # t(6; 0.975) = 2.446912
    assert value.high - value.mean == pytest.approx(2.446912 * value.std / sqrt(7), rel=1e-6)
    index = found["wipeout_index"]
    assert index.mean == pytest.approx(value.mean + 1, rel=1e-15)
    assert index.std == value.std
    assert set(found) <= set(estimates.UNITS)
    assert set(estimates.UNITS) == set(estimates.DESCRIPTIONS)


def test_counts_of_a_long_study_do_not_overflow():
    histogram = np.zeros(600_001, np.int64)
    histogram[[500_000, 500_002]] = 10**12
    tallied = Tally("survival", "0" * 64, 1, ((0, 2 * 10**12),), {"endurable_failures": histogram})
    value = point(tallied, groups=600_000).estimates["endurable_failures"]
    assert value.mean == 500_001.0
    assert value.std == pytest.approx(1.0, rel=1e-12)


def test_one_trial_and_none():
    found = point(survival_of([4])).estimates
    assert found["endurable_failures"] == (4.0, None, None, None)
    empty = point(Tally("survival", "0" * 64, 1, (), {"endurable_failures": np.zeros(N + 1, np.int64)}))
    assert empty.estimates == {} and empty.curves == {}


def test_survival_curve_counts_trials_alive():
    endured = [0, 2, 5, 5, 11]
    curves = point(survival_of(endured)).curves
    assert curves["survival"].shape == (N + 1,)
    for k in range(N + 1):
        assert curves["survival"][k] == sum(e >= k for e in endured) / 5
        assert curves["loss"][k] == sum(e < k for e in endured) / 5
    assert curves["survival"].dtype == np.float64
    # E[K] = sum over k >= 1 of P(k)
    assert curves["survival"][1:].sum() == pytest.approx(sum(endured) / 5, rel=1e-14)


def test_survival_band_is_clopper_pearson_at_every_k():
    endured = [2] * 3 + [5] * 17
    result = point(survival_of(endured))
    low, high = estimates.curve_band(result, "survival", 0.9)
    assert low[0] == pytest.approx(0.05 ** (1 / 20), rel=1e-9) and high[0] == 1.0
    for k in (3, 4, 5):
        assert sum(binomial(20, low[k], x) for x in range(17, 21)) == pytest.approx(0.05)
        assert sum(binomial(20, high[k], x) for x in range(18)) == pytest.approx(0.05)
    assert low[6] == 0.0 and high[6] == pytest.approx(1 - 0.05 ** (1 / 20), rel=1e-9)
    lost_low, lost_high = estimates.curve_band(result, "loss", 0.9)
    assert lost_low == pytest.approx(1 - high, abs=1e-12)
    assert lost_high == pytest.approx(1 - low, abs=1e-12)
    assert estimates.curve_band(result, "survival")[0][3] < low[3]


def test_interruption_time_is_the_mean_of_that_order_statistic():
    """Against 40,000 sorted draws of lifetimes; 5 sigma bands (false alarm 6e-7 for each of 2 x 3 values)."""
    rng = np.random.default_rng(2)
    failures = np.array([0, 4, N - 1])
    for law, shape, draws in (
        ("exponential", 1.0, rng.exponential(1.0, (40_000, N))),
        ("weibull", 0.78, rng.weibull(0.78, (40_000, N)) / gamma(1 + 1 / 0.78)),
    ):
        ordered = np.sort(300.0 * N * draws, axis=1)[:, failures]
        parameters = {"failures.system_mtbf": 300.0, "failures.law": law}
        parameters |= {"failures.shape": shape} if law == "weibull" else {}
        times = estimates.interruption_times(N, failures, parameters)
        error = ordered.std(axis=0) / sqrt(len(ordered))
        assert np.all(np.abs(times - ordered.mean(axis=0)) < 5 * error)


def test_weibull_of_shape_one_is_exponential():
    failures = np.arange(600)
    flat = estimates.interruption_times(600, failures, {"failures.system_mtbf": 300.0})
    same = estimates.interruption_times(
        600,
        failures,
        {"failures.system_mtbf": 300.0, "failures.law": "weibull", "failures.shape": 1.0},
    )
    assert same == pytest.approx(flat, rel=1e-12)


@pytest.mark.parametrize("shape", [0.3, 0.78, 2.5])
def test_order_means_of_weibull_lifetimes_by_alternating_sum(shape):
    """Exact for few groups: the integral term by term, in 60 digits, where cancellation does no harm."""
    from decimal import Decimal, localcontext

    groups = 24
    with localcontext() as context:
        context.prec = 60
        power = 1 + Decimal(1 / shape)
        for i in (1, 2, 13, 23, 24):
            terms = ((-1) ** j * comb(i - 1, j) * Decimal(groups - i + 1 + j) ** -power for j in range(i))
            exact = float(i * comb(groups, i) * sum(terms))
            found = order_means(groups, [i], Weibull(100.0, shape))[0]
            assert found == pytest.approx(100.0 * exact, rel=1e-12)


def test_order_means_of_600_000_groups():
    """Exponential moments of the i-th smallest are sums: mean H, second moment H^2 + sum of squared terms."""
    groups = 600_000
    order = [1, 2, 1000, groups // 2, groups]
    terms = [1.0 / np.arange(groups - i + 1, groups + 1) for i in order]
    mean = np.array([t.sum() for t in terms])
    second = mean**2 + np.array([(t**2).sum() for t in terms])
    assert order_means(groups, order, Weibull(1.0, 1.0)) == pytest.approx(mean, rel=1e-11)
    # shape 1/2: X = scale V^2 with mean 2 scale
    assert order_means(groups, order, Weibull(1.0, 0.5)) == pytest.approx(second / 2, rel=1e-11)


def test_time_to_interruption_from_counts():
    endured = [0, 2, 5, 5, 11]
    result = point(survival_of(endured), **{"failures.system_mtbf": 300.0})
    # E[T] = sum over k >= 0 of P(k) m N/(N-k)
    alive = result.curves["survival"]
    expected = sum(alive[k] * 300.0 * N / (N - k) for k in range(N))
    value = result.estimates["time_to_interruption_s"]
    assert value.mean == pytest.approx(expected, rel=1e-13)
    per_trial = [sum(300.0 * N / (N - k) for k in range(e + 1)) for e in endured]
    assert value.std == pytest.approx(float(np.std(per_trial, ddof=1)), rel=1e-12)
    assert "time_to_interruption_s" not in point(survival_of(endured)).estimates
    unknown = point(survival_of(endured), **{"failures.system_mtbf": 300.0, "failures.law": "trace"})
    assert "time_to_interruption_s" not in unknown.estimates


def test_mean_stack_and_its_width_trial_by_trial():
    found = lives(60)
    result = point(stacks_of(found), confidence=0.9)
    depths, states = [sum(life) for life in found], [len(life) for life in found]
    ratio = Fraction(sum(depths), sum(states))
    value = result.estimates["mean_stack"]
    assert value.mean == float(ratio)
    residual = float(sum((d - ratio * s) ** 2 for d, s in zip(depths, states, strict=True)))
    error = sqrt(residual / 59 / 60) / (sum(states) / 60)
    # t(59; 0.95) = 1.671093
    assert value.high - value.mean == pytest.approx(1.671093 * error, rel=1e-6)
    assert value.std == pytest.approx(error * sqrt(60), rel=1e-12)


def test_min_stack_curve_and_band():
    found = lives(25)
    result = point(stacks_of(found))
    curve = result.curves["min_stack"]
    low, high = estimates.curve_band(result, "min_stack", 0.95)
    for k in range(N + 1):
        here = [life[k] for life in found if len(life) > k]
        if not here:
            assert np.isnan(curve[k]) and np.isnan(low[k])
            continue
        assert curve[k] == pytest.approx(sum(here) / len(here), rel=1e-15)
        if len(here) > 1:
            assert low[k] <= curve[k] <= high[k]
            assert max(1.0, curve[k] - low[k]) <= R
    assert result.curves["min_stack_bound"][:4].tolist() == [1.0, 2.0, 2.0, 2.0]
    assert result.curves["min_stack_bound"][N - 1] == N
    assert np.isinf(result.curves["min_stack_bound"][N])
    assert estimates.curve_band(result, "min_stack_bound") is None


def test_above_bound_fraction():
    found = lives(40)
    value = point(stacks_of(found)).estimates["above_bound_fraction"]
    above = sum(depth > bound(k) for life in found for k, depth in enumerate(life) if k)
    assert value.mean == float(Fraction(above, sum(len(life) - 1 for life in found)))
    assert 0 < value.low < value.mean < value.high < 1


def test_events_never_seen_leave_an_upper_bound():
    """Of 30 lives none exceeds the bound: that bounds the share of such lives, and each life's failures."""
    found = [[bound(k) for k in range(7)]] * 30
    value = point(stacks_of(found)).estimates["above_bound_fraction"]
    assert (value.mean, value.low) == (0.0, 0.0)
    share = 1 - 0.05 ** (1 / 30)
    assert value.high == pytest.approx(share * 8 / 6, rel=1e-12)


def test_reordering_ratios_and_curves():
    """Every combination of two short lives: phases and moves written out by hand."""
    # (phase of each endured failure, moves at it, patch stacks at it); phases: 0 fixed, 1 depth, 2 reorder
    made = [
        [(1, 0, 0), (0, 0, 0), (2, 3, 4)],
        [(1, 0, 0), (2, 1, 1), (2, 2, 3), (0, 0, 0)],
        [(0, 0, 0)],
    ]
    found = [life for pair in product(made, repeat=2) for life in pair]
    phases, moves = np.zeros((N + 1, 3), np.int64), np.zeros(N + 1, np.int64)
    rows = []
    for life in found:
        for k, (phase, moved, _) in enumerate(life, 1):
            phases[k, phase] += 1
            moves[k] += moved
        rows.append(
            {
                "failures": len(life),
                "reorders": sum(p == 2 for p, _, _ in life),
                "moves": sum(m for _, m, _ in life),
                "patch": sum(p for _, _, p in life),
            }
        )
    sums = {name: sum(row[name] for row in rows) for name in rows[0]}
    sums |= {f"{name}_squared": sum(row[name] ** 2 for row in rows) for name in rows[0]}
    for a, b in (("reorders", "failures"), ("moves", "reorders"), ("patch", "reorders")):
        sums[f"{a}_{b}"] = sum(row[a] * row[b] for row in rows)
    counts = {
        "endurable_failures": np.bincount([len(life) for life in found], minlength=N + 1),
        "phase_at_failure": phases,
        "moves_at_failure": moves,
    }
    result = point(tally("reordering", len(found), counts, sums))
    value = result.estimates
    assert value["reorder_fraction"].mean == float(Fraction(3, 8))
    assert value["moves_per_reorder"].mean == 2.0
    assert value["patch_stacks"].mean == float(Fraction(8, 3))
    for name in ("reorder_fraction", "moves_per_reorder", "patch_stacks"):
        assert value[name].low < value[name].mean < value[name].high
    curves = result.curves
    assert np.isnan(curves["moves"][0]) and np.isnan(curves["phase_fixed"][5])
    assert curves["phase_depth"][1] == pytest.approx(2 / 3)
    assert curves["phase_reorder"][2] == pytest.approx(1 / 2)
    assert curves["moves"][3] == pytest.approx(5 / 2)
    total = curves["phase_fixed"] + curves["phase_depth"] + curves["phase_reorder"]
    assert total[1:5] == pytest.approx(1.0)
    low, high = estimates.curve_band(result, "phase_reorder")
    assert low[2] < 0.5 < high[2] and np.isnan(low[0])
    assert estimates.curve_band(result, "moves") is None
    assert set(curves) <= set(estimates.CURVE_UNITS)
    assert set(estimates.CURVE_UNITS) == set(estimates.CURVE_DESCRIPTIONS)


def test_intervals_of_sampled_endurance_cover_the_exact_mean():
    """3 hosts of one type of 12 groups: K_w is the largest of 3 of 12 places, mean 3 * 13 / 4 exactly.

    2,000 studies of 50 trials at 90 %; misses are about binomial(2000, 0.1): the 5 sigma band is 133 to 267.
    """
    rng = np.random.default_rng(23)
    orders = rng.permuted(np.tile(np.arange(1, 13), (2000 * 50, 1)), axis=1)
    misses = 0
    for index in orders[:, :3].max(axis=1).reshape(2000, 50):
        value = point(survival_of(index - 1), confidence=0.9).estimates["wipeout_index"]
        misses += not value.low <= 9.75 <= value.high
    assert 133 < misses < 267


def test_curves_use_the_measure_with_most_trials():
    few, many = survival_of([3, 4]), stacks_of(lives(9))
    result = point(few, many)
    assert estimates.pattern_tally(result) is many
    assert result.trials == 9
    assert estimates.estimates_of(result)["endurable_failures"].mean == float(
        Fraction(sum(len(life) - 1 for life in lives(9)), 9)
    )
