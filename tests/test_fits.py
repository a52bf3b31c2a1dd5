"""Fits against SciPy's laws, closed forms and logs of known truth.

Statistical tests use fixed seeds; each says at what rate it would fail by chance under another seed.
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from trace_tools import renewal_log, weibull

from spare_mc import fit_checks, fits, study
from spare_mc.durations import duration
from spare_mc.errors import UserError
from spare_mc.fit_block import law_block
from spare_mc.fit_laws import LAWS
from spare_mc.fit_likelihood import estimate, fit, log_likelihood
from spare_mc.trace_cleaning import clean
from spare_mc.trace_exposure import Gaps, system_gaps, unit_gaps
from spare_mc.trace_records import Outage, Records

NONE = np.zeros(0)


def scipy_law(name, mean, shape):
    if name == "exponential":
        return stats.expon(scale=mean)
    if name == "weibull":
        return stats.weibull_min(shape, scale=mean / math.gamma(1 + 1 / shape))
    if name == "gamma":
        return stats.gamma(shape, scale=mean / shape)
    return stats.lognorm(shape, scale=mean * math.exp(-(shape**2) / 2))


CASES = [
    ("exponential", None),
    ("weibull", 0.6),
    ("weibull", 1.8),
    ("gamma", 0.4),
    ("gamma", 3.0),
    ("lognormal", 1.3),
]


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_laws_are_scipys(name, shape):
    law, other = LAWS[name], scipy_law(name, 50.0, shape)
    t = np.array([0.01, 1.0, 20.0, 50.0, 170.0])
    assert other.mean() == pytest.approx(50.0)
    np.testing.assert_allclose(law.log_density(t, 50.0, shape), other.logpdf(t), rtol=1e-10)
    np.testing.assert_allclose(law.log_survival(t, 50.0, shape), other.logsf(t), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(law.exceeded(other.sf(t), 50.0, shape), t, rtol=1e-6)
    for at in t:
        left = quad(other.sf, at, np.inf, epsabs=1e-13, limit=400)[0] / 50.0
        assert law.log_steady(np.array([at]), 50.0, shape)[0] == pytest.approx(math.log(left), abs=2e-5)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_samples_follow_their_law(name, shape):
    """Fails by chance at 2e-4 a case (two Kolmogorov-Smirnov tests at 1e-4)."""
    law, rng = LAWS[name], np.random.default_rng(17)
    lives = law.sample(rng, 20_000, 50.0, shape)
    assert stats.kstest(lives, scipy_law(name, 50.0, shape).cdf).pvalue > 1e-4
    first = law.sample_steady(rng, 20_000, 50.0, shape)
    assert stats.kstest(first, lambda t: -np.expm1(law.log_steady(t, 50.0, shape))).pvalue > 1e-4


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_uncensored_fits_are_scipys(name, shape):
    lives = scipy_law(name, 3600.0, shape).rvs(400, random_state=3)
    found = fit(Gaps(lives, NONE, NONE, NONE, np.array([lives.sum()])), name)
    kind = {
        "exponential": stats.expon,
        "weibull": stats.weibull_min,
        "gamma": stats.gamma,
        "lognormal": stats.lognorm,
    }
    theirs = kind[name](*kind[name].fit(lives, floc=0))
    assert found.log_likelihood == pytest.approx(theirs.logpdf(lives).sum(), abs=1e-4)
    assert found.mean == pytest.approx(theirs.mean(), rel=2e-3)
    assert found.aic == pytest.approx(2 * (2 if shape else 1) - 2 * found.log_likelihood)


def test_exponential_has_its_closed_form_whatever_is_cut_off():
    gaps = Gaps(
        np.array([5.0, 9.0, 1.0, 30.0]),
        np.array([7.0]),
        np.array([4.0, 2.0]),
        np.array([60.0, 60.0]),
        np.array([178.0]),
    )
    for watched in (gaps, gaps.as_new()):
        found = fit(watched, "exponential")
        assert found.mean == pytest.approx(178 / 6, rel=1e-7)
        # the information on the logarithm of the mean is the number of failures
        assert math.log(found.mean_high / found.mean) == pytest.approx(1.959964 / math.sqrt(6), rel=1e-4)


def test_weibull_score_is_zero_at_a_cut_off_fit():
    """Against the likelihood equations of the censored Weibull law, Cohen (1965), solved by their own form."""
    rng = np.random.default_rng(8)
    lives = 100 * rng.weibull(0.8, 300)
    whole, cut = lives[lives < 120], np.full((lives >= 120).sum(), 120.0)
    found = fit(Gaps(whole, cut, NONE, NONE, np.array([1e4])), "weibull")
    every = np.concatenate([whole, cut])
    k = found.shape
    equation = (every**k * np.log(every)).sum() / (every**k).sum() - 1 / k - np.log(whole).mean()
    assert abs(equation) < 1e-5
    scale = ((every**k).sum() / len(whole)) ** (1 / k)
    assert found.mean == pytest.approx(scale * math.gamma(1 + 1 / k), rel=1e-6)


def test_likelihood_of_steady_clocks_by_hand():
    gaps = Gaps(np.array([3.0]), np.array([4.0]), np.array([5.0]), np.array([6.0, 6.0]), np.array([24.0]))
    for name, shape in CASES:
        other = scipy_law(name, 8.0, shape)
        steady = quad(other.sf, 6.0, np.inf, limit=400)[0] / 8.0
        by_hand = other.logpdf(3.0) + other.logsf(4.0) + math.log(other.sf(5.0) / 8.0) + 2 * math.log(steady)
        assert log_likelihood(gaps, LAWS[name], 8.0, shape) == pytest.approx(by_hand, rel=1e-6)


def log_of(rows, days=None, **options):
    records = Records("csv", [Outage(t, None, unit) for t, unit in rows], calendar=False)
    return records, clean(records, 0.0, None if days is None else days * 86400.0, **options)


@pytest.mark.parametrize("shape", [0.7, 1.0, 1.5])
def test_truth_is_found_with_silent_units_and_unknown_ages(shape):
    """Mean and shape within 4.5 standard errors of truth; false-alarm rate about 1e-5 a number."""
    rng = np.random.default_rng(21)
    mean = 40 * 86400.0
    rows = renewal_log(rng, 120, 60, weibull(mean, shape), steady=20 * mean)
    records, log = log_of(rows, 60)
    report = fits.fit_log(log, records, fits.Choices(units=120, repeats=0))
    level = report.levels["unit"]
    assert len(level.gaps.never) > 5 and level.gaps.exposure == pytest.approx(120 * 60 * 86400)
    found = level.fits["weibull"]
    for value, low, high, truth in (
        (found.mean, found.mean_low, found.mean_high, mean),
        (found.shape, found.shape_low, found.shape_high, shape),
    ):
        error = math.log(high / low) / (2 * 1.959964)
        assert abs(math.log(value / truth)) < 4.5 * error < 0.9
    if shape == 0.7:
        # taking the units as new at the start, which they were not, is another model with another answer
        new = (
            fits.fit_log(log, records, fits.Choices(units=120, repeats=0, clocks="new"))
            .levels["unit"]
            .fits["weibull"]
        )
        assert new.mean > 1.1 * found.mean


def test_units_that_never_failed_count():
    rng = np.random.default_rng(4)
    rows = renewal_log(rng, 30, 50, weibull(30 * 86400.0, 1.0))
    records, log = log_of(rows, 50)
    few = fits.fit_log(log, records, fits.Choices(repeats=0))
    many = fits.fit_log(log, records, fits.Choices(units=300, repeats=0))
    ratio = many.levels["unit"].fits["exponential"].mean / few.levels["unit"].fits["exponential"].mean
    assert ratio == pytest.approx(300 / few.units, rel=1e-6)
    assert any("--units" in text for text in few.warnings) and not any(
        "--units" in text for text in many.warnings
    )


def test_zero_gaps_are_floored_or_dropped():
    rng = np.random.default_rng(9)
    times = np.sort(rng.uniform(0, 1e6, 200))
    rows = [(float(t), f"n{i}") for i, t in enumerate(times)] + [(float(t), "twin") for t in times[::20]]
    records, log = log_of(rows)
    reports = {
        how: fits.fit_log(log, records, fits.Choices(zero_gaps=how, repeats=0)) for how in fits.ZERO_GAPS
    }
    floor, drop = (reports[how].levels["system"] for how in fits.ZERO_GAPS)
    assert floor.zero_gaps == drop.zero_gaps == 10
    assert len(floor.gaps.whole) == 209 and len(drop.gaps.whole) == 199 and floor.gaps.whole.min() == 1.0
    assert floor.other_shape == pytest.approx(drop.fits["weibull"].shape)
    assert drop.other_shape == pytest.approx(floor.fits["weibull"].shape)
    assert floor.fits["weibull"].shape < drop.fits["weibull"].shape
    wide = fits.fit_log(log, records, fits.Choices(floor=60.0, repeats=0)).levels["system"]
    assert wide.fits["weibull"].shape > floor.fits["weibull"].shape


# ---- what speaks against a fit ---------------------------------------------------------------------------------


def test_distance_is_kolmogorovs_where_nothing_is_cut():
    lives = np.random.default_rng(2).exponential(10, 80)
    found = fit_checks.distance(Gaps(lives, NONE, NONE, NONE, NONE), LAWS["exponential"], 12.0, None)
    assert found == pytest.approx(stats.kstest(lives, stats.expon(scale=12).cdf).statistic, rel=1e-12)


def test_kaplan_meier_by_hand():
    # whole 1, 3, 3, cut 2, 3: survival 4/5 after 1, then 4/5 * 2/3 * 1/2 after 3
    gaps = Gaps(np.array([3.0, 1.0, 3.0]), np.array([2.0, 3.0]), NONE, NONE, NONE)
    model = np.exp(-np.array([1.0, 3.0]) / 4)
    by_hand = max(1 - model[0], abs(0.8 - model[0]), abs(0.8 - model[1]), abs(0.8 / 3 - model[1]))
    assert fit_checks.distance(gaps, LAWS["exponential"], 4.0, None) == pytest.approx(by_hand)


def test_simulated_clocks_fail_as_often_as_they_should():
    """Steady clocks fail on average once a mean life: within 5 standard errors, false-alarm rate 6e-7."""
    rng = np.random.default_rng(6)
    clocks = np.full(4000, 3.0)
    for name, shape in CASES:
        gaps = fit_checks.simulate(rng, clocks, LAWS[name], 1.0, shape, True)
        spread = 4.0 if name == "lognormal" else 3.0
        assert abs(gaps.failures - 12_000) < 5 * math.sqrt(12_000) * spread
        assert gaps.whole.sum() + gaps.cut.sum() + gaps.first.sum() + gaps.never.sum() == pytest.approx(
            12_000
        )
    new = fit_checks.simulate(rng, np.full(20_000, 5.0), LAWS["weibull"], 1.0, 0.7, False)
    # the renewal function of the Weibull law of shape 0.7 at 5 mean lives, from the renewal equation
    assert new.failures / 20_000 == pytest.approx(renewal_function(0.7, 5.0), abs=5 * 3.4 / math.sqrt(20_000))


def renewal_function(shape, until, steps=4000):
    """Expected renewals by a time in mean lives: m = F + the integral of m(t - x) dF(x), by the trapezoidal rule."""
    cdf = scipy_law("weibull", 1.0, shape).cdf(np.linspace(0, until, steps + 1))
    step = np.diff(cdf)
    m = np.zeros(steps + 1)
    for i in range(1, steps + 1):
        cells = (m[:i] + np.append(m[1:i], 0.0))[
            ::-1
        ] / 2  # means over cells of m(t - x); m(t) itself is still unknown
        m[i] = (cdf[i] + cells @ step[:i]) / (1 - step[0] / 2)
    return m[-1]


def test_goodness_tells_the_right_law_from_a_wrong_one():
    """The right law is refused at 5 % by chance; fixed seed."""
    rng = np.random.default_rng(31)
    records, log = log_of(renewal_log(rng, 40, 100, weibull(10 * 86400.0, 0.6), steady=1e7), 100)
    report = fits.fit_log(log, records, fits.Choices(units=40, repeats=99))
    level = report.levels["unit"]
    assert level.best.law == "weibull" and level.goodness["weibull"]["p_value"] > 0.05
    wrong = fit_checks.goodness(level.gaps, level.fits["exponential"], 99, 1, True)
    assert wrong["p_value"] == 0.01 and wrong["repeats"] == 99
    again = fit_checks.goodness(level.gaps, level.fits["exponential"], 99, 1, True)
    assert again == wrong


def test_laplace_by_hand_and_its_warning():
    records, log = log_of([(float(t), "a") for t in (10, 20, 30, 40, 90, 95)], 100 / 86400)
    expected = (np.mean([10, 20, 30, 40, 90, 95]) - 50) / (100 / math.sqrt(72))
    assert fit_checks.trend(log)["laplace"] == pytest.approx(expected)
    rng = np.random.default_rng(12)
    times = np.sort(1e7 * rng.random(300) ** 2)  # ever rarer
    records, log = log_of([(float(t), f"n{i % 50}") for i, t in enumerate(times)])
    report = fits.fit_log(log, records, fits.Choices(units=50, repeats=0))
    assert report.trend["laplace"] < -5 and any("rarer" in text for text in report.warnings)


def test_bursts_are_warned_of_and_rounding_is_not():
    rng = np.random.default_rng(13)
    times = np.round(rng.uniform(0, 1e6, 400) / 60) * 60  # to the minute: some fall together by chance
    rows = [(float(t), f"n{i}") for i, t in enumerate(times)]
    records, log = log_of(rows)
    report = fits.fit_log(log, records, fits.Choices(repeats=0))
    assert report.bursts["zero_gaps"] > 3 and report.bursts["resolution_s"] == 60
    simulated = [(np.diff(np.sort(np.round(rng.uniform(0, 1e6, 400) / 60))) == 0).sum() for _ in range(2000)]
    # within 5 standard errors: false-alarm rate 6e-7
    error = np.std(simulated) / math.sqrt(2000)
    assert abs(report.bursts["by_chance"] - np.mean(simulated)) < 5 * error + 0.02 * np.mean(simulated)
    assert not any("bursts" in text for text in report.warnings)
    rows += [(float(times[0]), f"m{i}") for i in range(60)]
    records, log = log_of(rows)
    (text,) = (t for t in fits.fit_log(log, records, fits.Choices(repeats=0)).warnings if "bursts" in t)
    assert "means little" in text and "up to 61 at once" in text


def test_bad_units_are_noticed_and_alike_ones_are_not():
    """Alike units are called different at a rate of 1 %; fixed seed."""
    rng = np.random.default_rng(14)
    counts = rng.poisson(3, 200)
    alike = fit_checks.differing_units(counts, np.ones(200), 0)
    assert alike["p_value"] > 0.01 and alike["statistic"] == pytest.approx(
        counts.var() * 200 / 199 / counts.mean()
    )
    lemons = counts.copy()
    lemons[:5] += 15
    assert fit_checks.differing_units(lemons, np.ones(200), 0)["p_value"] == 0.001
    assert fit_checks.differing_units(np.array([3]), np.ones(1), 0) is None


def test_too_few_failures_are_refused():
    records, log = log_of([(1.0, "a"), (5.0, "b")])
    with pytest.raises(UserError, match="1 gaps between failures: a fit needs at least 3"):
        fits.fit_log(log, records)
    same_gaps = Gaps(np.full(50, 7.0), NONE, NONE, NONE, np.array([350.0]))
    with pytest.raises(UserError, match="law weibull: the likelihood"):
        fit(same_gaps, "weibull")


def test_durations_for_people():
    assert [duration(v) for v in (1.5, 300, 9000, 4e5)] == ["1.5 s", "5 min", "2.5 h", "4.63 days"]


# ---- the block -------------------------------------------------------------------------------------------------


def test_blocks_are_studies(tmp_path):
    rng = np.random.default_rng(15)
    records, log = log_of(renewal_log(rng, 40, 100, weibull(10 * 86400.0, 0.6), steady=1e7), 100)
    report = fits.fit_log(log, records, fits.Choices(units=40, repeats=0))
    for level, unit_is, key in (("unit", "node", "node_mtbf"), ("unit", "gpu", "gpu_mtbf"), 
                                ("unit", "group", "group_mtbf"), ("system", "node", "system_mtbf")):  # fmt: skip
        text, values = law_block(report, level, unit_is, "weibull")
        path = tmp_path / "study.toml"
        path.write_text(
            "[cluster]\ngroups = 10\ngpus_per_group = 8\n[layout]\nkind = 'contiguous'\nredundancy = 2\n"
            + text
            + "\n"
        )
        parameters = study.load(path).points[0].parameters
        found = report.levels[level].fits["weibull"]
        scale = {"node_mtbf": 10, "gpu_mtbf": 80, "group_mtbf": 10, "system_mtbf": 1}[key]
        assert parameters["failures.system_mtbf"] == pytest.approx(found.mean / scale, rel=1e-5)
        assert parameters["failures.shape"] == pytest.approx(found.shape, abs=1e-4)
        assert values[key] == pytest.approx(found.mean, rel=1e-5)
    text, values = law_block(report, law="exponential")
    assert values["law"] == "exponential" and "shape" not in values
    with pytest.raises(UserError, match="--law = 'pareto'"):
        law_block(report, law="pareto")


def test_the_block_has_the_best_law_at_the_level_it_was_fitted_at(tmp_path):
    rng = np.random.default_rng(16)
    records, log = log_of(renewal_log(rng, 60, 400, lambda r: 5e5 * r.lognormal(0, 1.2), steady=5e7), 400)
    report = fits.fit_log(log, records, fits.Choices(units=60, repeats=0))
    text, values = law_block(report)
    assert values["law"] == "lognormal" and values["clock_level"] == "node"
    text, values = law_block(report, law="exponential")
    assert "lognormal fits better" in text and "clock_level" not in values
    _, values = law_block(report, "system")
    assert values["clock_level"] == "system"


# ---- slow: coverage and the level of the tests -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("shape", [0.7, 1.5])
def test_intervals_cover(shape):
    """500 logs: coverage of 95 % intervals is at least 92 % (false-alarm rate 2e-3 at 95 %) and at most 98 % (1e-3)."""
    rng = np.random.default_rng(41)
    mean, hits = 30 * 86400.0, np.zeros(2)
    for _ in range(500):
        gaps = fit_checks.simulate(rng, np.full(80, 50 * 86400.0), LAWS["weibull"], mean, shape, True)
        found = fit(gaps, "weibull")
        hits += (found.mean_low <= mean <= found.mean_high, found.shape_low <= shape <= found.shape_high)
    assert np.all(hits >= 460) and np.all(hits <= 490), hits


@pytest.mark.slow
def test_goodness_and_trend_refuse_the_truth_as_often_as_they_say():
    """100 logs at 10 %: between 2 and 22 refusals, false-alarm rate 1e-3 each."""
    rng = np.random.default_rng(42)
    refused = np.zeros(2)
    for i in range(100):
        gaps = fit_checks.simulate(rng, np.full(30, 50.0), LAWS["weibull"], 20.0, 0.7, True)
        refused[0] += fit_checks.goodness(gaps, fit(gaps, "weibull"), 39, i, True)["p_value"] <= 0.1
        times = np.sort(rng.uniform(0, 1e6, 60))
        log = log_of([(float(t), "a") for t in times], 1e6 / 86400)[1]
        refused[1] += fit_checks.trend(log)["laplace_p"] <= 0.1
    assert np.all(refused >= 2) and np.all(refused <= 22), refused


def test_estimates_without_intervals_are_the_same():
    rng = np.random.default_rng(43)
    gaps = fit_checks.simulate(rng, np.full(30, 50.0), LAWS["gamma"], 20.0, 0.7, True)
    for name in LAWS:
        found = fit(gaps, name)
        mean, shape = estimate(gaps, name)
        assert mean == pytest.approx(found.mean, rel=1e-6)
        assert shape is None or shape == pytest.approx(found.shape, rel=1e-6)


def test_a_unit_with_many_failures_has_a_shape_of_its_own():
    """Two units of different laws are told apart; the true shapes lie within 4.5 standard errors (1e-5 each)."""
    rng = np.random.default_rng(45)
    rows = renewal_log(rng, 1, 4000, weibull(8 * 86400.0, 0.6), steady=1e8)
    rows += [(t, "steady") for t, _ in renewal_log(rng, 1, 4000, weibull(20 * 86400.0, 2.0), steady=1e8)]
    records, log = log_of(rows, 4000)
    report = fits.fit_log(log, records, fits.Choices(units=2, repeats=0))
    for row, shape in zip(report.each, (0.6, 2.0), strict=True):
        error = math.log(row["weibull_shape_high"] / row["weibull_shape_low"]) / (2 * 1.959964)
        assert abs(math.log(row["weibull_shape"] / shape)) < 4.5 * error < 0.4
    none = fits.fit_log(log, records, fits.Choices(units=2, repeats=0, each=0)).each
    assert "weibull_shape" not in none[0] and none[0]["failures"] == report.each[0]["failures"]


def test_json_holds_what_was_found():
    rng = np.random.default_rng(44)
    records, log = log_of(renewal_log(rng, 20, 100, weibull(10 * 86400.0, 1.0)), 100)
    report = fits.fit_log(log, records, fits.Choices(units=25, repeats=9))
    found = report.as_json()
    assert found["units"] == {"exist": 25, "appear": len(log.outages), "source": "as stated"}
    assert found["unit"]["exposure_s"] == pytest.approx(25 * 100 * 86400)
    assert sum(unit["failures"] for unit in found["each_unit"]) == found["failures"] == len(log.starts)
    assert set(found["unit"]["laws"]) == set(LAWS) and found["availability"] is None
    assert dataclasses.asdict(report.choices)["units"] == 25
    first, last = found["each_unit"][0], found["each_unit"][-1]
    assert first["failures"] >= last["failures"] and "weibull_shape" not in last
    assert first["mtbf_s"] == pytest.approx(first["up_s"] / first["failures"])
    # exact Poisson limits, from chi-square quantiles as textbooks give them
    assert first["mtbf_low_s"] == pytest.approx(
        2 * first["up_s"] / stats.chi2.ppf(0.975, 2 * first["failures"] + 2)
    )
    assert first["mtbf_high_s"] == pytest.approx(
        2 * first["up_s"] / stats.chi2.ppf(0.025, 2 * first["failures"])
    )
    assert len(system_gaps(log).whole) == found["system"]["gaps"] == len(log.starts) - 1
    assert unit_gaps(log, 25).failures == len(log.starts)
