"""Failure laws against quadrature and closed forms; MTBF conversion against published rates."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from spare_mc import laws
from spare_mc.errors import UserError
from spare_mc.laws import Exponential, Gamma, Lognormal, Weibull, convert_mtbf, law, system_mtbf
from spare_mc.laws_hazard import Bathtub, Empirical, Piecewise

SOME = [Exponential(300.0), Weibull(300.0, 0.78), Weibull(5.0, 0.4), Weibull(2.0, 1.0), Weibull(7.0, 4.5)]
FURTHER = [
    Lognormal(300.0, 1.2),
    Lognormal(2.0, 0.1),
    Gamma(300.0, 0.3),
    Gamma(5.0, 4.0),
    Piecewise(300.0, (50.0, 400.0), (5.0, 1.0, 3.0)),
    Piecewise(1.0, (2.0,), (0.1, 9.0)),
    Bathtub(300.0, 8.0, 30.0, 900.0),
    Bathtub(300.0, 0.5, 30.0),
]


def test_weibull_scale_of_the_published_setting():
    assert Weibull(300.0, 0.78).scale == pytest.approx(259.894374, abs=5e-7)
    assert Weibull.from_scale(259.894374, 0.78).mean == pytest.approx(300.0, rel=1e-8)


@pytest.mark.parametrize("some", SOME + FURTHER, ids=repr)
def test_mean_is_the_integral_of_survival(some):
    far = some.quantile(1.0 - 1e-12)
    pieces = [some.quantile(q) for q in (0.0, 0.1, 0.5, 0.9, 0.999, 0.999999)] + [far]
    integral = sum(quad(some.survival, a, b, epsabs=0.0)[0] for a, b in zip(pieces, pieces[1:], strict=False))
    assert integral == pytest.approx(some.mean, rel=1e-8)


@pytest.mark.parametrize("some", SOME, ids=repr)
def test_quantile_undoes_survival_and_scale_leaves_one_in_e(some):
    share = np.array([0.0, 1e-9, 0.1, 0.5, 0.99, 0.999999])
    assert 1.0 - some.survival(some.quantile(share)) == pytest.approx(share, rel=1e-6, abs=1e-15)
    assert some.survival(some.scale) == pytest.approx(math.exp(-1.0), rel=1e-13)
    assert some.survival(-1.0) == 1.0 and some.quantile(1.0) == math.inf
    assert isinstance(some.quantile(0.5), float)


@pytest.mark.parametrize("some", SOME, ids=repr)
@pytest.mark.parametrize("count", [1, 8, 600_000])
def test_minimum_of_fresh_units_survives_when_all_do(some, count):
    first = some.minimum(count)
    times = first.mean * np.array([0.01, 0.5, 1.0, 3.0])
    # ln Pr[all alive] = count * ln Pr[one alive], in hazards, where a million units keep their digits
    hazard = (times / some.scale) ** getattr(some, "shape", 1.0)
    assert first.survival(times) == pytest.approx(np.exp(-count * hazard), rel=1e-9)


HAZARDS = np.array([1e-15, 1e-6, 0.1, 0.5, 0.69, 0.71, 1.0, 3.0, 20.0, 60.0])


@pytest.mark.parametrize("some", SOME + FURTHER, ids=repr)
def test_hazards_there_and_back(some):
    assert some.cumulated_hazard(some.at_hazard(HAZARDS)) == pytest.approx(HAZARDS, rel=1e-12)
    assert some.cumulated_hazard(-1.0) == 0.0 and isinstance(some.at_hazard(0.5), float)


@pytest.mark.parametrize(("shape", "sigma"), [(0.3, 0.5), (4.0, 2.0)])
def test_lognormal_and_gamma_against_the_library(shape, sigma):
    from scipy import stats

    found, times = Gamma(300.0, shape), np.array([1e-3, 1.0, 200.0, 3000.0])
    known = stats.gamma(shape, scale=300.0 / shape)
    assert found.survival(times) == pytest.approx(known.sf(times), rel=1e-12)
    assert found.quantile(0.2) == pytest.approx(known.ppf(0.2), rel=1e-12)
    found = Lognormal(300.0, sigma)
    known = stats.lognorm(sigma, scale=300.0 * math.exp(-0.5 * sigma**2))
    assert known.mean() == pytest.approx(300.0)
    assert found.survival(times) == pytest.approx(known.sf(times), rel=1e-12)
    assert found.quantile(0.2) == pytest.approx(known.ppf(0.2), rel=1e-12)


@pytest.mark.parametrize("some", [Weibull(300.0, 0.78), Lognormal(300.0, 1.2), Gamma(300.0, 3.0)], ids=repr)
def test_a_scale_gives_the_law_back(some):
    assert type(some).from_scale(some.scale, some.shape).mean == pytest.approx(some.mean, rel=1e-14)


def test_hazards_have_the_shape_that_was_asked_for():
    """Slopes of the cumulated hazard: piecewise in proportion to the rates, bathtub as its formula says."""

    def slope(some, at, width=1e-3):
        return (some.cumulated_hazard(at + width) - some.cumulated_hazard(at - width)) / (2 * width)

    steps = Piecewise(300.0, (50.0, 400.0), (5.0, 1.0, 3.0))
    low = slope(steps, 100.0)
    assert slope(steps, 10.0) == pytest.approx(5 * low) and slope(steps, 900.0) == pytest.approx(3 * low)
    tub = Bathtub(300.0, 8.0, 30.0, 900.0)
    base = slope(tub, 2e-3) / (1 + 7 * math.exp(-2e-3 / 30))
    for at in (15.0, 200.0, 900.0):
        told = 1 + 7 * math.exp(-at / 30) + (at / 900) ** 2
        assert slope(tub, at) == pytest.approx(base * told, rel=1e-5)


def test_observed_gaps_are_drawn_as_often_as_each_other_at_the_mean_asked_for():
    gaps = Empirical(None, (1.0, 2.0, 3.0, 10.0))
    assert gaps.mean == 4.0 and Empirical(8.0, gaps.gaps).times.tolist() == [2.0, 4.0, 6.0, 20.0]
    shares = np.array([0.1, 0.3, 0.6, 0.9])
    assert gaps.quantile(shares).tolist() == [1.0, 2.0, 3.0, 10.0]
    assert gaps.survival(np.array([0.5, 1.0, 2.5, 10.0])) == pytest.approx([1.0, 0.75, 0.5, 0.0])


@pytest.mark.parametrize("some", SOME + FURTHER + [Empirical(300.0, (1.0, 2.0, 9.0))], ids=repr)
def test_kernels_draw_from_the_same_law(some):
    """The formula or table that failure streams take, read as stream_plan documents it, against the law itself."""
    from spare_mc.kernels import stream_plan as names

    kind, scale, shape, table = some.kernel()
    hazards = np.exp(np.linspace(math.log(1e-20), math.log(80.0), 1001))
    if kind == names.EXPONENTIAL:
        times = hazards * scale
    elif kind == names.WEIBULL:
        times = hazards ** (1 / shape) * scale
    elif kind == names.LOGNORMAL:
        from scipy.special import ndtri, ndtri_exp

        with np.errstate(divide="ignore"):
            low = ndtri(-np.expm1(-hazards))
        times = scale * np.exp(shape * np.where(hazards < 0.7, low, -ndtri_exp(-hazards)))
    elif kind == names.LINEAR:
        times = scale * np.interp(hazards, *table)
        slope = (table[1, -1] - table[1, -2]) / (table[0, -1] - table[0, -2])
        beyond = hazards > table[0, -1]
        times[beyond] = scale * (table[1, -1] + (hazards[beyond] - table[0, -1]) * slope)
    elif kind == names.LOGLOG:
        x = table[0] + table[1] * np.arange(table.size - 2)
        times = scale * np.exp(np.interp(np.log(hazards), x, table[2:]))
    else:
        times = (
            scale * table[np.minimum(np.floor(-np.expm1(-hazards) * table.size), table.size - 1).astype(int)]
        )
    assert times == pytest.approx(1e6 * some.at_hazard(hazards), rel=2e-6)


def test_fresh_weibull_units_fail_first_by_a_power_of_their_number():
    assert Weibull(300.0, 0.5).minimum(10).mean == pytest.approx(3.0, rel=1e-14)
    assert Exponential(300.0).minimum(10).mean == pytest.approx(30.0, rel=1e-14)


def test_law_by_name():
    assert law("exponential", 300) == Exponential(300.0)
    assert law("weibull", 300, 0.78) == Weibull(300.0, 0.78)
    own = {
        "exponential": {},
        "piecewise": {"ages": [1.0], "rates": [1.0, 2.0]},
        "bathtub": {"early_rate": 3.0, "early_age": 0.1},
        "empirical": {"gaps": [1.0, 2.0]},
    }
    for name in laws.LAWS:
        made = law(name, 1.0, **own.get(name, {"shape": 2.0}))
        assert made.name == name and made.mean == 1.0


def test_published_rates_convert_by_count():
    """Llama 3: 419 interruptions in 54 days on 16,384 GPUs; RSC-1: 6.50 failures in 1,000 days of 8-GPU nodes."""
    system = 54 * 86400.0 / 419
    gpu = convert_mtbf(system, "system", "gpu", groups=16, gpus_per_group=1024)
    assert gpu / 3600 == pytest.approx(50_677, abs=0.5)
    assert system_mtbf(gpu, per="gpu", groups=600, gpus_per_group=1000) / 60 == pytest.approx(5.07, abs=0.005)
    node = 1000 * 86400.0 / 6.50
    assert convert_mtbf(node, "node", "gpu", gpus_per_node=8) == pytest.approx(8 * node)
    found = system_mtbf(node, per="node", groups=4, gpus_per_group=1024, gpus_per_node=8)
    assert found == pytest.approx(node / 512)


def test_conversion_needs_only_the_counts_between():
    assert convert_mtbf(600.0, "group", "system", groups=3) == 200.0
    assert convert_mtbf(200.0, "system", "group", groups=3) == 600.0
    assert convert_mtbf(800.0, "gpu", "group", gpus_per_group=16) == 50.0
    assert convert_mtbf(7.0, "node", "node") == 7.0
    assert system_mtbf(7.0, per="system", groups=3) == 7.0
    for source in laws.LEVELS:
        for target in laws.LEVELS:
            there = convert_mtbf(5.0, source, target, 10, 64, 8)
            assert convert_mtbf(there, target, source, 10, 64, 8) == pytest.approx(5.0)


REFUSED = [
    (lambda: Exponential(0.0), "mean = 0.0"),
    (lambda: Exponential("soon"), "mean = 'soon'"),
    (lambda: Exponential(math.inf), "mean"),
    (lambda: Weibull(1.0, -2.0), "shape = -2.0"),
    (lambda: Weibull(1.0, 0.001), "shape = 0.001"),
    (lambda: Weibull.from_scale(1.0, math.nan), "shape"),
    (lambda: Weibull(1.0, 2.0).quantile(1.5), "probability = 1.5"),
    (lambda: Exponential(1.0).minimum(0), "count = 0"),
    (lambda: law("pareto", 1.0), "law = 'pareto'"),
    (lambda: law("lognormal", 1.0), "shape is missing"),
    (lambda: law("lognormal", 1.0, 11.0), "shape = 11.0"),
    (lambda: law("piecewise", 1.0, ages=[1.0]), "rates is missing"),
    (lambda: law("piecewise", 1.0, ages=[2.0, 1.0], rates=[1, 1, 1]), "ages = [2.0, 1.0]"),
    (lambda: law("piecewise", 1.0, ages=[1.0], rates=[1.0]), "rates = [1.0]"),
    (lambda: law("piecewise", 1.0, ages=[1.0], rates=[0.0, 1.0]), "rates = [0.0, 1.0]"),
    (lambda: law("bathtub", 1.0, early_rate=-1.0, early_age=1.0), "early_rate = -1.0"),
    (lambda: law("empirical", 1.0, gaps=[1.0]), "gaps: 1"),
    (lambda: law("empirical", 1.0, gaps=[0.0, 1.0]), "gaps: the least is 0"),
    (lambda: law("weibull", 1.0, 2.0, ages=[1.0]), "only law 'piecewise' has"),
    (lambda: law("weibull", 1.0), "shape is missing"),
    (lambda: law("exponential", 1.0, 0.78), "shape = 0.78"),
    (lambda: convert_mtbf(-1.0, "gpu", "gpu"), "gpu_mtbf = -1.0"),
    (lambda: convert_mtbf(1.0, "rack", "gpu"), "source = 'rack'"),
    (lambda: convert_mtbf(1.0, "gpu", "rack"), "target = 'rack'"),
    (lambda: convert_mtbf(1.0, "group", "system"), "groups is missing"),
    (lambda: convert_mtbf(1.0, "gpu", "system", groups=2), "gpus_per_group is missing"),
    (lambda: convert_mtbf(1.0, "gpu", "node"), "gpus_per_node is missing"),
    (lambda: convert_mtbf(1.0, "gpu", "group", gpus_per_group=2.5), "gpus_per_group = 2.5"),
]


@pytest.mark.parametrize(("call", "named"), REFUSED, ids=[named for _, named in REFUSED])
def test_bad_arguments_are_named_in_one_line(call, named):
    with pytest.raises(UserError) as told:
        call()
    assert named in str(told.value) and "\n" not in str(told.value)
