"""What studies say of failures: levels, scales, lemons, unequal groups, and the mean times that follow."""

import math

import numpy as np
import pytest

from spare_mc import failure_model, failure_report, study
from spare_mc.errors import UserError
from spare_mc.laws import Weibull, law

CLUSTER = {"groups": 20, "gpus_per_group": 64}


def parameters(**failures):
    raw = {"cluster": CLUSTER, "layout": {"redundancy": 3}, "failures": failures}
    return study.load(raw).points[0].parameters


def refused(**failures):
    with pytest.raises(UserError) as told:
        parameters(**failures)
    assert "\n" not in str(told.value)
    return str(told.value)


def test_points_that_could_be_said_before_keep_their_identity():
    """Keys that say nothing new are no part of a point: files of earlier versions go on."""
    found = parameters(law="weibull", shape=0.78, system_mtbf=300)
    assert {k for k in found if k.startswith("failures.")} == {
        "failures.law",
        "failures.shape",
        "failures.system_mtbf",
    }
    assert parameters(gpu_mtbf=1000.0, clock_level="gpu") == parameters(gpu_mtbf=1000.0)


def test_published_rates_are_told_by_system_and_gpu():
    """Llama 3 at 600,000 GPUs: 50,677 h per GPU is 5.07 min for the system (MODEL section 7)."""
    raw = {
        "cluster": {"groups": 600, "gpus": 600_000},
        "layout": {"redundancy": 9, "kind": "contiguous"},
        "failures": {"gpu_mtbf": "50677 h"},
    }
    (line,) = failure_report.lines(study.load(raw).points[0].parameters)
    assert line == "system MTBF 5.068 min at 600,000 GPUs = 50.68 h per group = 50,677 h per GPU"


@pytest.mark.parametrize("name", ["weibull", "lognormal", "gamma"])
def test_a_scale_says_the_same_as_its_mean(name):
    mean = type(law(name, 1.0, 0.7)).from_scale(1e6, 0.7).mean
    by_scale = parameters(law=name, shape=0.7, node_scale=1e6, clock_level="node")
    by_mean = parameters(law=name, shape=0.7, node_mtbf=mean, clock_level="node")
    assert by_scale["failures.system_mtbf"] == pytest.approx(by_mean["failures.system_mtbf"], rel=1e-14)
    assert (
        failure_model.unit_law(by_scale)[0].mean == pytest.approx(mean)
        and failure_model.unit_law(by_scale)[1] == 8
    )


def test_lemons_and_unequal_groups_add_up_by_rate():
    """System rate = sum over units of rate / mean: of 160 nodes a tenth lemons of rate 11 is twice the rate."""
    mtbf = parameters(node_mtbf=1600.0, clock_level="node", lemon_share=0.1, lemon_rate=11)[
        "failures.system_mtbf"
    ]
    assert mtbf == pytest.approx(1600.0 / 160 / 2)
    found = parameters(group_mtbf=100.0, group_rates="15x1,5x5")
    assert found["failures.system_mtbf"] == pytest.approx(100.0 / (15 + 25))
    assert failure_model.group_rates(found).tolist() == [1.0] * 15 + [5.0] * 5
    given = parameters(system_mtbf=2.5, group_rates="15x1,5x5")
    assert failure_model.unit_law(given)[0].mean == pytest.approx(100.0)  # the same, the system's MTBF given


def test_rates_from_a_file_are_the_same_point(tmp_path):
    path = tmp_path / "rates.txt"
    path.write_text("# generation 1\n" + "1\n" * 15 + "5.0, 5, 5 5 5\n")
    assert parameters(group_mtbf=100.0, group_rates=str(path)) == parameters(
        group_mtbf=100.0, group_rates="15 x 1, 5*5"
    )
    assert "failures.group_rates" not in parameters(group_mtbf=100.0, group_rates="20x3")


def test_gaps_keep_their_mean_unless_told_otherwise(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("10\n20\n60\n")
    found = parameters(law="empirical", gaps=str(path))
    assert found["failures.system_mtbf"] == pytest.approx(30.0 / 20) and found["failures.gaps"] == [
        10,
        20,
        60,
    ]
    assert failure_model.unit_law(parameters(law="empirical", gaps=str(path), group_mtbf=60))[
        0
    ].times.tolist() == [20, 40, 120]


def test_the_first_of_a_groups_fresh_units():
    """A group of 64 fresh Weibull GPUs lasts 64**(-1/s) of one: the order statistics are those of that law."""
    found = parameters(law="weibull", shape=0.5, gpu_mtbf=1e6, clock_level="gpu")
    places = np.arange(1, 21)
    group = Weibull(1e6, 0.5).minimum(64)
    known = parameters(law="weibull", shape=0.5, group_mtbf=group.mean)
    assert failure_model.order_times(20, places, found) == pytest.approx(
        failure_model.order_times(20, places, known), rel=1e-9
    )


def test_one_clock_of_the_system_fails_at_every_mean():
    found = parameters(law="gamma", shape=2.0, system_mtbf=300.0, clock_level="system")
    assert failure_model.order_times(20, [1, 2, 20], found).tolist() == [300.0, 600.0, 6000.0]


@pytest.mark.parametrize(
    ("own", "units"),
    [
        ({"law": "lognormal", "shape": 1.2}, 8),
        ({"law": "gamma", "shape": 0.4}, 1),
        ({"law": "bathtub", "early_rate": 9.0, "early_age": "1 h"}, 8),
        ({"law": "piecewise", "ages": ["1 h", "20 h"], "rates": [4, 1, 2]}, 64),
    ],
    ids=lambda v: v["law"] if isinstance(v, dict) else str(v),
)
def test_mean_times_of_the_ith_failure_by_sorted_draws(own, units):
    """Against 20,000 sorted draws of 20 groups, each the least of its units; 5 sigma (false alarm 1e-5 in all)."""
    level = {1: "group", 8: "node", 64: "gpu"}[units]
    found = parameters(**own, clock_level=level, group_mtbf="10 h")
    model, clocks = failure_model.unit_law(found)
    assert clocks == units and model.mean == pytest.approx(units * 36_000.0)
    rng = np.random.default_rng(4)
    draws = np.sort(model.quantile(rng.random((20_000, 20, units))).min(axis=2), axis=1)
    error = draws.std(axis=0) / math.sqrt(len(draws))
    assert np.all(
        np.abs(failure_model.order_times(20, np.arange(1, 21), found) - draws.mean(axis=0)) < 5 * error
    )


def test_laws_that_are_not_exponential_say_when_a_fresh_system_fails_first():
    found = parameters(law="weibull", shape=0.5, group_mtbf="400 h")
    lines = list(failure_report.lines(found))
    first = Weibull(400.0, 0.5).minimum(20).mean
    assert f"{first:.4g} h" in lines[1] or f"{60 * first:.4g} min" in lines[1]


def test_every_law_reports_its_time_to_interruption(tmp_path):
    """The mean over the counted K of the mean time of failure K + 1, for a law other than the old two."""
    import spare_mc

    raw = {
        "cluster": CLUSTER,
        "layout": {"redundancy": 3},
        "failures": {"law": "gamma", "shape": 0.5, "system_mtbf": 300},
        "sampling": {"trials": 500},
    }
    (point,) = spare_mc.run(raw, tmp_path / "x.h5")
    counts = point.tallies["survival"].counts["endurable_failures"]
    times = failure_model.order_times(20, np.arange(1, 21), point.parameters)
    assert point.estimates["time_to_interruption_s"].mean == pytest.approx(
        counts[:20] @ times / 500, rel=1e-12
    )
    (again,) = spare_mc.open(tmp_path / "x.h5").points
    assert again.parameters == point.parameters


def test_refusals_name_key_value_and_what_is_allowed(tmp_path):
    assert "failures.node_mtbf, failures.gpu_mtbf" in refused(node_mtbf=1, gpu_mtbf=1)
    assert "group_scale" in refused(law="weibull", shape=1.0, gpu_scale=5)
    assert "has a mean only" in refused(law="piecewise", ages=[1], rates=[1, 2], group_scale=5)
    assert "needs failures.lemon_rate" in refused(group_mtbf=1, lemon_share=0.1)
    assert "one clock of the whole system" in refused(
        system_mtbf=1, clock_level="system", lemon_share=0.1, lemon_rate=2
    )
    assert "of 20 units alike" in refused(group_mtbf=1, lemon_share=0.01, lemon_rate=2)
    assert "has 19 rates" in refused(group_mtbf=1, group_rates="19x1")
    assert "cannot be read" in refused(group_mtbf=1, group_rates="none.txt")
    assert "1e-06 to 1e+06" in refused(group_mtbf=1, group_rates="19x1,1x0")
    assert "multiple" in _refused_cluster({"groups": 20, "gpus_per_group": 63}, clock_level="node")
    assert "needs cluster.gpus" in _refused_cluster({"groups": 20}, clock_level="gpu")
    path = tmp_path / "gaps.txt"
    path.write_text("1\nx\n")
    assert "line 2: 'x'" in refused(law="empirical", gaps=str(path))
    assert "failures.gaps is missing" in refused(law="empirical", group_mtbf=1)


def _refused_cluster(cluster, **failures):
    with pytest.raises(UserError) as told:
        study.load(
            {"cluster": cluster, "layout": {"redundancy": 3}, "failures": {"group_mtbf": 5, **failures}}
        )
    return str(told.value)


def test_the_python_interface_takes_the_same_sections():
    import spare_mc

    layout = spare_mc.Layout.golomb(20, 3)
    asked = {"law": "gamma", "shape": 0.5, "gpu_mtbf": "5000 h"}
    found = spare_mc.survival(layout, trials=10, failures=asked, cluster={"gpus_per_group": 64})
    assert found.parameters == parameters(**asked)
    with pytest.raises(UserError, match="unknown argument 'failure'; did you mean 'failures'"):
        spare_mc.survival(layout, trials=10, failure=asked)


@pytest.mark.parametrize("level", ["group", "system"])
def test_training_draws_every_law(level):
    """A piecewise hazard that is constant is exponential, draw by draw; gamma of shape 1 too, but for its table."""
    import spare_mc

    layout = spare_mc.Layout.golomb(20, 3)

    def walls(**own):
        failures = {"system_mtbf": 600.0, "clock_level": level, **own}
        asked = {"steps": 200, "checkpoint_steps": 10, "restart_time": 300.0}
        return spare_mc.training(layout, runs=4, failures=failures, **asked).tallies["training"].rows

    known = walls()
    assert walls(law="piecewise", ages=[3600.0], rates=[2.0, 2.0]) == pytest.approx(known, rel=1e-9, abs=10)
    assert walls(law="gamma", shape=1.0) == pytest.approx(known, rel=1e-5, abs=1e4)
    assert (walls(law="gamma", shape=0.5) != known).any()


def test_one_clock_of_the_system_is_the_training_rule_of_that_name():
    import spare_mc

    asked = {"steps": 100, "checkpoint_steps": 10, "runs": 2}
    layout = spare_mc.Layout.golomb(20, 3)
    by_level = spare_mc.training(layout, failures={"system_mtbf": 300.0, "clock_level": "system"}, **asked)
    by_rule = spare_mc.training(layout, system_mtbf=300.0, clocks="system", **asked)
    assert (by_level.tallies["training"].rows == by_rule.tallies["training"].rows).all()
    with pytest.raises(UserError, match="training.clocks = 'fresh'"):
        spare_mc.training(
            layout, failures={"system_mtbf": 300.0, "clock_level": "system"}, clocks="fresh", **asked
        )


def test_the_systems_mtbf_counts_whole_lemons():
    """Of 100 groups 0.5 % is one lemon (rounded): the first failure comes after system_mtbf; 5 sigma, 20,000 trials."""
    import spare_mc

    layout = spare_mc.Layout.contiguous(100, 1)
    failures = {"system_mtbf": 300.0, "lemon_share": 0.005, "lemon_rate": 100.0}
    found = spare_mc.survival(layout, trials=20_000, failures=failures).estimates["time_to_interruption_s"]
    assert abs(found.mean - 300.0) < 5 * found.std / math.sqrt(20_000)


def test_nonsense_is_refused_in_one_line():
    import spare_mc

    assert "cannot be read" in refused(group_mtbf=1, group_rates="10x1,10x1e")
    assert "1e+06" in refused(group_mtbf=1, group_rates="10x1,10x1e9")
    assert "1e+06" in refused(group_mtbf=1, lemon_share=0.1, lemon_rate=1e12)
    with pytest.raises(UserError, match="the layout has 20 groups"):
        spare_mc.survival(spare_mc.Layout.contiguous(20, 3), trials=1, cluster={"groups": 10})
    with pytest.raises(UserError, match="endurable_failures says the same"):
        study.load(
            {
                "cluster": CLUSTER,
                "layout": {"redundancy": 3},
                "sampling": {"target": {"endurable_events": 0.1}},
            }
        )
