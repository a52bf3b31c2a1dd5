"""Failure laws against quadrature and closed forms; MTBF conversion against published rates."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from spare_mc import laws
from spare_mc.errors import UserError
from spare_mc.laws import Exponential, Weibull, convert_mtbf, law, system_mtbf

SOME = [Exponential(300.0), Weibull(300.0, 0.78), Weibull(5.0, 0.4), Weibull(2.0, 1.0), Weibull(7.0, 4.5)]


def test_weibull_scale_of_the_published_setting():
    assert Weibull(300.0, 0.78).scale == pytest.approx(259.894374, abs=5e-7)
    assert Weibull.from_scale(259.894374, 0.78).mean == pytest.approx(300.0, rel=1e-8)


@pytest.mark.parametrize("some", SOME, ids=repr)
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


def test_fresh_weibull_units_fail_first_by_a_power_of_their_number():
    assert Weibull(300.0, 0.5).minimum(10).mean == pytest.approx(3.0, rel=1e-14)
    assert Exponential(300.0).minimum(10).mean == pytest.approx(30.0, rel=1e-14)


def test_law_by_name():
    assert law("exponential", 300) == Exponential(300.0)
    assert law("weibull", 300, 0.78) == Weibull(300.0, 0.78)
    assert all(law(name, 1.0, None if name == "exponential" else 2.0).name == name for name in laws.LAWS)


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
    (lambda: law("lognormal", 1.0), "law = 'lognormal'"),
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
