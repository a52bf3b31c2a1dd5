"""Intervals against published values, tail sums counted by hand, and their coverage (fixed seeds)."""

from fractions import Fraction
from math import comb, pi, sqrt, tan

import numpy as np
import pytest

from spare_mc import intervals, student


def tail(n, p, low, high):
    """Pr[low <= X <= high] of a binomial, by summing the terms."""
    return sum(comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(low, high + 1))


def test_mean_of_known_sample():
    # 1, 2, 3, 4: mean 2.5, variance 5/3, t(3; 0.975) = 3.182446 (any table)
    value = intervals.mean_interval(4, 10, 30)
    assert value.mean == 2.5
    assert value.std == pytest.approx(sqrt(5 / 3), rel=1e-15)
    assert value.high - value.mean == pytest.approx(3.182446305 * sqrt(5 / 12), rel=1e-9)
    assert value.mean - value.low == pytest.approx(value.high - value.mean, rel=1e-12)


def test_squares_do_not_cancel():
    # values 10^9 and 10^9 + 1, half each, 10^12 trials: in doubles the difference of squares is lost
    trials, base = 10**12, 10**9
    total = trials * base + trials // 2
    squares = trials // 2 * (base**2 + (base + 1) ** 2)
    value = intervals.mean_interval(trials, total, squares)
    assert value.std == pytest.approx(0.5, rel=1e-12)
    assert value.mean == base + 0.5


def test_one_observation_has_no_width():
    assert intervals.mean_interval(1, 7, 49) == (7.0, None, None, None)
    assert intervals.ratio_interval(1, 3, 4, 9, 12, 16) == (0.75, None, None, None)
    assert intervals.sample_interval([2.5]) == (2.5, None, None, None)


def test_equal_observations_have_zero_width():
    assert intervals.mean_interval(5, 15, 45) == (3.0, 3.0, 3.0, 0.0)


def test_impossible_sums_are_refused():
    with pytest.raises(ValueError, match="too small"):
        intervals.mean_interval(2, 10, 49)
    with pytest.raises(ValueError, match="no trials"):
        intervals.mean_interval(0, 0, 0)
    with pytest.raises(ValueError, match="between"):
        intervals.proportion_interval(3, 2)


def test_means_stay_in_range():
    value = intervals.mean_interval(2, 1, 1, within=(0.0, 1.0))
    assert (value.low, value.high) == (0.0, 1.0)


def test_ratio_equals_its_definition():
    rng = np.random.default_rng(5)
    b = rng.integers(1, 50, 40)
    a = b + rng.integers(0, 5, 40)
    value = intervals.ratio_interval(
        40, a.sum(), b.sum(), (a * a).sum(), (a * b).sum(), (b * b).sum(), confidence=0.9
    )
    ratio = Fraction(int(a.sum()), int(b.sum()))
    residual = sum((int(x) - ratio * int(y)) ** 2 for x, y in zip(a, b, strict=True))
    std = sqrt(residual / 39) / (b.sum() / 40)
    assert value.mean == float(ratio)
    assert value.std == pytest.approx(std, rel=1e-13)
    # t(39; 0.95) = 1.684875 (tables)
    assert value.high - value.mean == pytest.approx(1.684875 * std / sqrt(40), rel=1e-6)
    assert intervals.ratio_interval(3, 0, 0, 0, 0, 0) is None


def test_ratio_of_constant_quotient_is_exact_however_trials_vary():
    b = [3, 17, 5, 123456789]
    a = [7 * x for x in b]
    value = intervals.ratio_interval(
        4,
        sum(a),
        sum(b),
        sum(x * x for x in a),
        sum(x * y for x, y in zip(a, b, strict=True)),
        sum(x * x for x in b),
    )
    assert value == (7.0, 7.0, 7.0, 0.0)


@pytest.mark.parametrize(("events", "trials"), [(0, 10), (10, 10), (1, 10), (3, 7), (40, 41), (17, 60)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_clopper_pearson_inverts_binomial_tails(events, trials, confidence):
    low, high = intervals.proportion_interval(events, trials, confidence)
    rest = (1 - confidence) / 2
    if events == 0:
        assert low == 0.0
    else:
        assert tail(trials, low, events, trials) == pytest.approx(rest, rel=1e-9)
    if events == trials:
        assert high == 1.0
    else:
        assert tail(trials, high, 0, events) == pytest.approx(rest, rel=1e-9)


def test_clopper_pearson_published_value():
    # 0 of 20: upper end 1 - 0.025^(1/20) = 0.16843; 10 of 20: 0.27196 .. 0.72804 (Clopper and Pearson 1934
    # tables)
    assert intervals.proportion_interval(0, 20)[1] == pytest.approx(0.16843, abs=5e-6)
    assert intervals.proportion_interval(10, 20) == pytest.approx((0.27196, 0.72804), abs=5e-6)


def test_proportions_of_many_trials_stay_ordered():
    events = np.array([0, 1, 2, 10**6, 5 * 10**11, 10**12 - 1, 10**12])
    low, high = intervals.proportion_interval(events, 10**12)
    share = events / 10**12
    assert np.all((low >= 0) & (low <= share) & (share <= high) & (high <= 1))
    assert np.all(np.diff(low) > 0) and np.all(np.diff(high)[:-1] > 0)
    # sqrt(p(1-p)/n) z at one half
    assert high[4] - 0.5 == pytest.approx(1.959964 * 0.5e-6, rel=1e-4)
    # Poisson limit at no events: -ln(0.025)
    assert high[0] == pytest.approx(3.688879454e-12, rel=1e-6)


def test_upper_bound_at_zero_events():
    assert intervals.upper_bound(0, 1000) == pytest.approx(1 - 0.05 ** (1 / 1000), rel=1e-12)
    assert intervals.upper_bound(7, 7) == 1.0


@pytest.mark.parametrize("p", [0.001, 0.03, 0.5, 0.97])
def test_clopper_pearson_covers(p):
    """Exact coverage at n = 80: the binomial summed over the outcomes whose interval holds p."""
    n = 80
    low, high = intervals.proportion_interval(np.arange(n + 1), n)
    covered = sum(tail(n, p, x, x) for x in range(n + 1) if low[x] <= p <= high[x])
    assert covered >= 0.95


def test_ratio_covers_although_places_of_a_trial_are_correlated():
    """4,000 studies of 200 trials; the count of misses is binomial(4000, 0.05): 5 sigma is 132 to 268 (alarm
    6e-7).

    The delta method is asymptotic, so a band and not the exact level is asked of it. Within a trial the
    summands are copies of one draw: a binomial interval over all places would miss the truth about half of
    the time.
    """
    rng = np.random.default_rng(11)
    misses = naive = 0
    truth = 0.25
    for _ in range(4000):
        b = rng.integers(5, 40, 200)
        a = b * (rng.random(200) < truth)
        sums = [int(x) for x in (a.sum(), b.sum(), (a * a).sum(), (a * b).sum(), (b * b).sum())]
        value = intervals.ratio_interval(200, *sums, within=(0.0, 1.0))
        misses += not value.low <= truth <= value.high
        half = 1.96 * sqrt(value.mean * (1 - value.mean) / sums[1])
        naive += abs(value.mean - truth) > half
    assert 132 < misses < 268
    assert naive > 2000


def test_paired_difference():
    rng = np.random.default_rng(3)
    common = rng.integers(0, 1000, 500)
    first, second = common + rng.integers(0, 3, 500), common + rng.integers(1, 4, 500)
    value = intervals.difference_interval(first, second)
    assert value.mean == pytest.approx(float(np.mean(second - first)), rel=1e-15)
    assert value.std == pytest.approx(float(np.std(second - first, ddof=1)), rel=1e-12)
    assert value.std < 2 < np.std(first)
    floats = intervals.difference_interval(first / 8, second / 8)
    assert floats.mean == pytest.approx(value.mean / 8, rel=1e-12)
    with pytest.raises(ValueError, match="one length"):
        intervals.difference_interval(first, second[1:])


def test_weights_are_repetitions():
    values, weights = np.array([1.5, 2.25, 9.0]), np.array([3, 1, 4])
    repeated = intervals.sample_interval(np.repeat(values, weights))
    assert intervals.sample_interval(values, weights) == pytest.approx(repeated, rel=1e-14)


@pytest.mark.parametrize("count", [1, 2, 5, 16, 101])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_quantiles_are_numpys(count, share):
    values = np.random.default_rng(count).normal(size=count)
    assert intervals.quantile_interval(values, share).mean == np.quantile(values, share)


@pytest.mark.parametrize("count", [1, 2, 16, 61, 1000, 100_000])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_the_binomial_curve_is_scipys(count, share):
    from scipy.special import bdtr

    theirs = bdtr(np.arange(count, dtype=float), count, share)
    np.testing.assert_allclose(intervals._binomial_curve(count, share), theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99, 0.999, 0.999999])
def test_student_quantiles_are_scipys(confidence):
    from scipy.special import stdtrit

    for df in (*range(1, 40), 99, 100, 999, 1000, 1001, 1002, 4321, 10**5, 10**9, 10**13):
        ours, theirs = student.two_sided(df, confidence), stdtrit(df, 0.5 + confidence / 2)
        assert ours == pytest.approx(theirs, rel=1e-10 if confidence > 0.9999 else 1e-12), df


def test_student_quantiles_of_one_and_two_degrees_of_freedom():
    """Closed forms: tan(pi c / 2), and c sqrt(2 / (1 - c^2))."""
    for confidence in (0.1, 0.5, 0.9, 0.95, 0.99):
        assert student.two_sided(1, confidence) == pytest.approx(tan(pi * confidence / 2), rel=1e-13)
        closed = confidence * sqrt(2 / (1 - confidence**2))
        assert student.two_sided(2, confidence) == pytest.approx(closed, rel=1e-13)
