"""Training runs whose failures come from a stream: against plain Python, by hand, and against renewal clocks."""

import importlib
import random

import numpy as np
import pytest
from ahead_tools import ahead
from training_tools import S, column, paper_settings, rows, small

from spare_mc import api, study, timeline, training_setup
from spare_mc.errors import UserError
from spare_mc.kernels import ahead_levels, streams, training
from spare_mc.kernels import stream_plan as sp
from spare_mc.kernels.reference_training import training_row
from spare_mc.kernels.training_settings import FRESH, STREAM, SYSTEM
from spare_mc.layouts import Layout

LEVELS = [level for level in ahead_levels.supported() if level in ahead_levels.built("ahead_training")]


def each(groups):
    return sp.Pool(np.arange(groups + 1), np.arange(groups))


def racks(groups, size):
    return sp.Pool(np.append(np.arange(0, groups, size), groups), np.arange(groups))


def random_cases(seed, count, sigma=(0.0,)):
    """Small clusters under random rules: groups' own clocks and racks of three, sometimes a log as well."""
    rng = random.Random(seed)
    for _ in range(count):
        settings, more = small(rng)
        more.pop("means", None)
        more.pop("table", None)
        n = settings.groups
        mean = settings.mean * (n if settings.clocks == SYSTEM else 1)
        pools = [each(n), racks(n, 3)]
        sources = [
            sp.Source(sp.Law(sp.EXPONENTIAL, mean), n, 0),
            sp.Source(sp.Law(sp.WEIBULL, 2 * mean, 0.8), len(pools[1].starts) - 1, 1),
        ]
        logs = []
        if rng.random() < 0.3:
            times = np.sort([rng.randrange(int(5 * mean)) for _ in range(n)])
            units = np.array([rng.randrange(n) for _ in range(n)])
            logs = [sp.Replay(times, units, int(5 * mean), 0, 0, rng.choice([0, 1]))]
        stream = sp.plan(n, pools, sources, logs)
        settings = settings._replace(clocks=STREAM, law=0, sigma=rng.choice(sigma))
        yield training.plan(settings, stream=stream, **more), more, rng.randrange(2**64), rng.randrange(2**40)


def all_hits(stream, seed, run, until):
    """(time, group) of every hit up to ``until`` [us]."""
    times, groups, memory = np.empty(1 << 18, np.int64), np.empty(1 << 18, np.int32), sp.memory(stream)
    count = streams.hits(stream, seed, run, until, times, groups, memory)
    assert count <= len(times)
    return list(zip(times[:count].tolist(), groups[:count].tolist(), strict=True))


def run(kernel, prepared, count, seed=1, first=0):
    out = np.full((count, len(kernel.columns(prepared.settings.redundancy))), -1, np.int64)
    kernel.run(prepared, seed, first, out)
    return out


def test_equals_the_walk_over_all_groups():
    total = 0
    for prepared, more, key, first in random_cases(31, 120):
        found = run(training, prepared, 2, key, first)
        for number, row in enumerate(found):
            until = int(row[training.COLUMNS.index("wall")]) + 10**8
            hits = all_hits(prepared.stream, key, first + number, until)
            names = training.columns(prepared.settings.redundancy)
            want = training_row(prepared.settings, key, first + number, hits=hits, **more)
            assert dict(zip(names, row.tolist(), strict=True)) == dict(zip(names, want, strict=True)), more
        total = total + found[:, : len(training.COLUMNS)].sum(axis=0)
    of = dict(zip(training.COLUMNS, total.tolist(), strict=True))
    for name in ("failures", "restarts", "reorders", "deeper", "fixed", "saves", "finished", "returns"):
        assert of[name] > 50, f"too few {name} to tell"


@pytest.mark.parametrize("level", LEVELS or ["none"])
def test_cython_equals_numba(level):
    ahead("ahead_training")
    kernel = importlib.import_module(f"spare_mc.kernels.ahead_training_{level}")
    for prepared, _, key, first in random_cases(32, 120, (0.0, 0.05, 0.3)):
        assert (run(kernel, prepared, 2, key, first) == run(training, prepared, 2, key, first)).all()
    row, events = kernel.timeline(prepared, key, first)
    want, told = training.timeline(prepared, key, first)
    assert (row == want).all() and (events == told).all()


def by_hand(hits, **changes):
    """Two blocks of two, steps of 10 s, a restart of 100 s, no saves before the end; what happens under these hits."""
    settings = paper_settings(
        "replication", "exponential", 4, 2, stack=5 * S, allreduce=0, found_allreduce=0, shrink=0, save=0, steps=10,
        save_steps=100, sigma=0.0, lowest_only=0, restart=100 * S, clocks=STREAM, **{"extended": 0, **changes},
    )  # fmt: skip
    stream = sp.plan(
        4, [each(4)], [sp.Source(sp.Law(sp.EXPONENTIAL, 1e9), 4, 0)]
    )  # its hits are not asked for
    prepared = training.plan(settings, stream=stream)
    given = [(int(time * S), group) for time, group in hits]

    def told(run, horizon, times, groups):
        known = [hit for hit in given if hit[0] <= horizon]
        for at, hit in enumerate(known[: len(times)]):
            times[at], groups[at] = hit
        return len(known)

    out = np.empty((1, len(training.columns(2))), np.int64)
    training._run(prepared, 1, 0, out, 0, told)
    want = training_row(settings, 1, 0, hits=[*given, (10**15, 0)])
    assert out[0].tolist() == list(want)
    return {name: int(out[0, at]) // (S if at < 13 else 1) for at, name in enumerate(training.COLUMNS)}


def test_hits_by_hand():
    plain = by_hand([])
    assert (plain["wall"], plain["failures"], plain["restarts"]) == (100, 0, 0)
    # Group 0 is out from the first step on; more hits on it do nothing. Then its partner: steps 1 to 5 are done again.
    one = by_hand([(3, 0), (14, 0), (25, 0), (44, 1)])
    assert (one["wall"], one["failures"], one["restarts"], one["rework"]) == (50 + 100 + 100, 2, 1, 50)
    # A restart takes 100 s whoever is hit meanwhile; what is hit then is well as the run resumes.
    quiet = by_hand([(3, 0), (44, 1), (60, 2), (70, 3), (149, 2)])
    assert quiet == one
    # If hits extend it, that of group 2 at 60 s has it ready at 160 s, that at 149 s at 249 s.
    extended = by_hand([(3, 0), (44, 1), (60, 2), (70, 3), (149, 2)], extended=1)
    assert (extended["restart"], extended["failures"]) == (249 - 50, 2)
    # Group 3 was ready at 170 s and is hit again at 200 s: the first step after the restart finds it.
    again = by_hand([(3, 0), (44, 1), (70, 3), (149, 2), (200, 3)], extended=1)
    assert (again["restart"], again["failures"], again["restarts"]) == (249 - 50, 3, 1)


def test_one_event_takes_several_groups_out_at_once():
    """A switch under both members of a block is a restart; under one member of each block it is none."""
    block = by_hand([(33, 0), (33, 1)])
    assert (block["restarts"], block["rework"], block["failures"]) == (1, 40, 2)
    across = by_hand([(33, 0), (33, 2)])
    assert (across["restarts"], across["failures"], across["wall"]) == (0, 2, 100)


def test_a_group_that_is_back_can_be_hit_again():
    """Repaired 20 s after its failure was found at 10 s, group 0 is hit once more: a third failure, and no restart."""
    hits = [(3, 0), (35, 0), (44, 1)]
    found = by_hand(hits, repair=20 * S, rejoin=0)
    assert (found["failures"], found["restarts"], found["returns"]) == (3, 1, 1)
    found = by_hand(
        [(3, 0), (12, 0), (44, 1)], repair=20 * S, rejoin=0
    )  # a hit while it was out does nothing
    assert (found["failures"], found["restarts"], found["returns"]) == (2, 0, 2)


@pytest.mark.parametrize(
    ("scheme", "groups", "redundancy"), [("spare", 60, 4), ("replication", 60, 4), ("checkpoint-only", 8, 1)]
)
@pytest.mark.parametrize("extended", [0, 1])
def test_exponential_streams_agree_with_renewal_clocks(scheme, groups, redundancy, extended):
    """Exponential clocks have no memory: both rules are one. Seven means, |z| < 4.5: a false alarm in 3,500 seeds."""
    mean = 3e4 * S if groups > 8 else 5e4 * S
    settings = paper_settings(
        scheme, "exponential", groups, redundancy, steps=250, mean=mean, restart=900 * S, extended=extended
    )
    more = {}
    if scheme == "spare":
        layout = Layout.golomb(groups, redundancy)
        more = {"hosts": layout.host_table(), "stacks": layout.stack_table()}
    stream = sp.plan(groups, [each(groups)], [sp.Source(sp.Law(sp.EXPONENTIAL, mean), groups, 0)])
    count = 400
    plain = rows(settings, count, seed=3, **more)
    streamed = run(training, training.plan(settings._replace(clocks=STREAM), stream=stream, **more), count, 4)
    assert column(plain, "restarts").sum() > count
    for name in ("wall", "failures", "restarts", "rework", "restart", "executed", "saves"):
        a, b = column(plain, name).astype(float), column(streamed, name).astype(float)
        error = np.sqrt((a.var() + b.var()) / count)
        assert abs(a.mean() - b.mean()) <= 4.5 * error, (name, a.mean(), b.mean(), error)


def test_a_run_that_outgrows_its_hits_is_the_run_with_all_of_them():
    """Restarts take nearly all of the time: the first horizon, three times failure-free, is passed again and again."""
    settings = paper_settings(
        "replication", "exponential", 20, 2, steps=40, mean=3e4 * S, restart=20_000 * S, clocks=STREAM
    )
    stream = sp.plan(20, [each(20)], [sp.Source(sp.Law(sp.EXPONENTIAL, 3e4 * S), 20, 0)])
    prepared = training.plan(settings, stream=stream)
    horizons, hits = [], training._hits_of(stream, 7)

    def watched(number, horizon, times, groups):
        horizons.append(horizon)
        return hits(number, horizon, times, groups)

    def far(number, horizon, times, groups):
        return hits(number, 2**45, times, groups)

    found, want = (np.empty((3, len(training.columns(2))), np.int64) for _ in range(2))
    training._run(prepared, 7, 0, found, 0, watched)
    training._run(prepared, 7, 0, want, 0, far)
    assert len(set(horizons)) >= 4 and (found == want).all()
    assert (found == run(training, prepared, 3, 7)).all()
    assert (found[1:] == run(training, prepared, 2, 7, first=1)).all(), "alone, with horizons of its own"


def test_streams_and_clocks_go_together_or_not_at_all():
    stream = sp.plan(30, [each(30)], [sp.Source(sp.Law(sp.EXPONENTIAL, 1e9), 30, 0)])
    settings = paper_settings("replication", "exponential", 30, 3)
    for clocks, given in ((FRESH, stream), (STREAM, None)):
        with pytest.raises(ValueError, match="failure stream"):
            training.plan(settings._replace(clocks=clocks), stream=given)
    with pytest.raises(ValueError, match="another number of groups"):
        training.plan(settings._replace(clocks=STREAM, groups=60), stream=stream)


# ---- studies ----------------------------------------------------------------------------------------------------

STUDY = {
    "study": {"measure": ["training"], "seed": 3},
    "cluster": {"groups": 24, "gpus_per_group": 16},
    "layout": {"kind": "contiguous", "redundancy": 3},
    "failures": {"system_mtbf": 1500.0},
    "training": {"steps": 150, "restart_time": 600},
    "sampling": {"runs": 24},
}
LEMONS = {"failures": {"system_mtbf": 1500.0, "lemon_share": 0.25, "lemon_rate": 9.0}}
FEEDS = {"domains": {"power_size": 64, "power_mtbf": "10 h"}}


@pytest.mark.parametrize(
    ("sections", "key"),
    [
        (LEMONS, "failures.lemon_share"),
        (FEEDS, r"\[domains\]"),
        ({"failures": {"system_mtbf": 1500.0, "group_rates": "12x1,12x3"}}, "failures.group_rates"),
        (
            {"failures": {"system_mtbf": 1500.0, "law": "weibull", "shape": 0.8, "clock_level": "gpu"}},
            "failures.clock_level = 'gpu'",
        ),
    ],
)
@pytest.mark.parametrize("clocks", ["renewal", "fresh", "system"])
def test_the_failures_ask_for_a_stream_or_the_clocks_do(sections, key, clocks):
    point = study.load({**STUDY, **sections}).points[0]
    assert point.parameters["training.clocks"] == "stream"
    assert training_setup.kernel_plan(point).stream is point.training_stream is not None
    asked = {**STUDY, **sections, "training": {**STUDY["training"], "clocks": clocks}}
    with pytest.raises(UserError, match=f"training.clocks = '{clocks}': {key}"):
        study.load(asked)
    plain = study.load({**STUDY, "training": asked["training"]}).points[0]
    assert plain.parameters["training.clocks"] == clocks and training_setup.kernel_plan(plain).stream is None


def test_one_clock_of_the_whole_system_is_told_once():
    system = {**STUDY, "failures": {"system_mtbf": 1500.0, "clock_level": "system"}}
    point = study.load(system).points[0]
    assert (
        point.parameters["training.clocks"] == "system" and training_setup.kernel_plan(point).stream is None
    )
    with pytest.raises(UserError, match="training.clocks = 'fresh': failures.clock_level = 'system'"):
        study.load({**system, "training": {**STUDY["training"], "clocks": "fresh"}})


def test_domains_cost_time_by_where_groups_lie():
    """A feed of four neighbours kills a contiguous layout of r = 3 outright; groups apart in number survive it."""
    found = {}
    for placement in ("linear", "strided"):
        domains = {**FEEDS["domains"], "placement": placement}
        (result,) = api.run({**STUDY, "domains": domains})
        found[placement] = result.estimates
    (plain,) = api.run(STUDY)
    assert found["linear"]["restarts"].low > found["strided"]["restarts"].high
    assert found["linear"]["failures"].mean > plain.estimates["failures"].mean


def test_a_log_is_played_in_training(tmp_path):
    """Every unit of the log fails at the same moment: each round of the log is one wipe-out."""
    log = tmp_path / "log.csv"
    together = "".join(f"{12 * 3600},u{unit}\n" for unit in range(24))
    log.write_text(f"time,unit\n0,u0\n{together}{24 * 3600},u1\n")
    replay = {"log": str(log), "units": 24, "unit_is": "group"}
    raw = {k: v for k, v in STUDY.items() if k != "failures"} | {"replay": replay}
    point = study.load(raw).points[0]
    assert point.parameters["training.clocks"] == "stream"
    told = timeline.timeline(point, seed=3, run=1)
    assert sum(told.parts.values()) == told.summary["wall"]
    (result,) = api.run(raw)
    (again,) = api.run(raw, threads=1)
    assert (result.tallies["training"].rows == again.tallies["training"].rows).all()
    rounds = result.estimates["time_to_train_s"].mean / (24 * 3600)
    assert 0.5 * rounds < result.estimates["restarts"].mean < rounds + 1


def test_the_period_of_a_stream_is_simulated():
    exponential = study.load({**STUDY, "failures": {"system_mtbf": 1500.0, "group_rates": "24x1"}})
    plain = study.load(STUDY).points[0]
    lemons = study.load({**STUDY, **LEMONS}).points[0]
    assert exponential.points[0].id == plain.id, "groups all alike are no stream"
    until = training_setup.time_to_wipeout(lemons)
    assert until == float(f"{until:.3g}") == training_setup.time_to_wipeout(lemons)
    # six lemons die first, and the others last three times as long as groups of the same system without lemons
    assert 1 < until / training_setup.time_to_wipeout(plain) < 3
    interval = training_setup.checkpoint_interval(lemons)
    with pytest.raises(UserError, match="'dynamic': where failures come from a stream"):
        study.load({**STUDY, **LEMONS, "training": {**STUDY["training"], "checkpoint": "dynamic"}})
    young = study.load({**STUDY, **LEMONS, "training": {**STUDY["training"], "checkpoint": "young"}}).points[
        0
    ]
    assert training_setup.checkpoint_interval(young) == pytest.approx((2 * 58.8235 * until) ** 0.5)
    assert interval > training_setup.checkpoint_interval(young), "the restart is in there too"
