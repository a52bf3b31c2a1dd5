"""Streams of whole studies: events come as often as the study says, and hit whom it says.

Counts of exponential clocks are Poisson: 5 sigma, a false alarm of 6e-7 each.
"""

import math

import numpy as np
import pytest

from spare_mc import study
from spare_mc.failure_streams import has_stream, trains_on_stream
from spare_mc.kernels import stream_plan, streams


def stream(training=False, **sections):
    raw = {
        "cluster": {"groups": 12, "gpus_per_group": 16, "gpus_per_node": 8},
        "layout": {"redundancy": 3, "kind": "contiguous"},
        **sections,
    }
    (point,) = study.load(raw).points
    return point.training_stream if training else point.stream


def hits(plan, horizon, trials=20):
    """Hits of each group up to ``horizon`` [s], summed over trials: int64[N]."""
    times, groups = np.empty(1 << 20, np.int64), np.empty(1 << 20, np.int32)
    found, memory = np.zeros(12, np.int64), stream_plan.memory(plan)
    for trial in range(trials):
        count = streams.hits(plan, 7, trial, int(horizon * 1e6), times, groups, memory)
        assert count <= len(times) and (np.diff(times[:count]) >= 0).all()
        found += np.bincount(groups[:count], minlength=12)
    return found


def assert_poisson(found, expected):
    assert np.all(np.abs(found - expected) < 5 * np.sqrt(expected)), (found, expected)


def test_own_clocks_and_domains_together():
    """A group is hit by its own clock, by its two racks of 24 GPUs where it reaches into two, by its power domain."""
    plan = stream(
        failures={"system_mtbf": 10.0},
        domains={"rack_mtbf": 300.0, "rack_size": 24, "power_mtbf": 900.0, "power_size": 64},
    )
    racks = np.array([len({16 * g // 24, (16 * g + 15) // 24}) for g in range(12)])
    horizon = 20 * 2000.0
    assert_poisson(hits(plan, 2000.0), horizon * (1 / 120.0 + racks / 300.0 + 1 / 900.0))


def test_lemons_fail_so_many_times_as_often_and_unequal_groups_at_their_rates():
    """Node clocks of mean 400 s, a quarter of them lemons of rate 5: twice the rate; groups of rates 1 and 3."""
    plan = stream(
        failures={
            "node_mtbf": 400.0, "clock_level": "node", "lemon_share": 0.25, "lemon_rate": 5.0,
            "group_rates": "6x1,6x3",
        }
    )  # fmt: skip
    found = hits(plan, 500.0, 200)
    rates = np.repeat([1.0, 3.0], 6) * 2 * 2.0 / 400.0 * 200 * 500.0
    # which nodes are lemons varies from trial to trial: of 2 nodes a group, 0 to 2, 12 nodes of a rate with 3 lemons
    lemons = 2 * 0.25 * 0.75 * (12 - 2) / (12 - 1)
    spread = 200 * lemons * (np.repeat([1.0, 3.0], 6) * 4.0 / 400.0 * 500.0) ** 2
    assert np.all(np.abs(found - rates) < 5 * np.sqrt(rates + spread)), (found, rates)


@pytest.mark.parametrize(
    "own",
    [
        {"law": "gamma", "shape": 0.5},
        {"law": "lognormal", "shape": 1.0},
        {"law": "bathtub", "early_rate": 5.0, "early_age": 10.0, "wear_age": 300.0},
        {"law": "piecewise", "ages": [20.0], "rates": [4.0, 1.0]},
    ],
    ids=lambda own: own["law"],
)
def test_first_failures_of_a_law_come_when_it_says(own):
    """The first of 24 node clocks against the law's own survival: Kolmogorov and Smirnov, 1,500 trials, p > 1e-6."""
    from scipy import stats

    from spare_mc.failure_model import unit_law

    raw = {
        "cluster": {"groups": 12, "gpus_per_group": 16},
        "layout": {"redundancy": 3, "kind": "contiguous"},
        "failures": {**own, "node_mtbf": 200.0, "clock_level": "node"},
    }
    (point,) = study.load(raw).points
    model, clocks = unit_law(point.parameters)
    assert clocks == 2 and not has_stream(point.parameters) and trains_on_stream(point.parameters)
    times, groups = np.empty(64, np.int64), np.empty(64, np.int32)
    plan = point.training_stream
    first, memory = [], stream_plan.memory(plan)
    for trial in range(1500):
        streams.hits(plan, 3, trial, 10**8, times, groups, memory)
        first.append(times[0] / 1e6)
    tested = stats.kstest(first, lambda t: -np.expm1(-24 * model.cumulated_hazard(t)))
    assert tested.pvalue > 1e-6


def test_a_replay_keeps_the_failures_per_unit(tmp_path):
    """Four units failing 40 times in 100 s on 24 nodes: six copies, 0.1 failures a second and node."""
    path = tmp_path / "log.csv"
    rng = np.random.default_rng(1)
    rows = sorted(zip(rng.uniform(0, 100, 40), rng.integers(0, 4, 40), strict=True))
    path.write_text("time_s,host\n0,n0\n" + "".join(f"{t:.6f},n{u}\n" for t, u in rows))
    plan = stream(replay={"log": str(path), "units": 4, "end": "100 s"})
    assert len(plan.replays) == 6
    found = hits(plan, 100.0, 100)
    # a trial plays every row of every copy once, wherever it starts
    assert found.sum() == 100 * 6 * 41
    assert math.isclose(found.mean(), 2 * 41 / 4 * 100)


def test_streams_are_shared_by_the_points_of_a_sweep():
    raw = {
        "cluster": {"groups": 12, "gpus_per_group": 16},
        "layout": {"redundancy": [2, 3], "kind": "contiguous"},
        "domains": {"rack_mtbf": 5.0, "rack_size": 16},
    }
    one, other = study.load(raw).points
    assert one.stream is other.stream
