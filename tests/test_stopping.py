"""When a point has enough: targets, looks at fixed counts, shares, time limits, and what stopping does to intervals."""

import time

import numpy as np
import pytest

from spare_mc import engine, stopping, study
from spare_mc.errors import UserError
from spare_mc.intervals import mean_interval
from spare_mc.layouts import Layout
from spare_mc.results import PointResult
from spare_mc.tallies import Tally

RAW = {
    "study": {"seed": 5, "measure": ["survival", "stacks"]},
    "cluster": {"groups": 30},
    "layout": {"kind": ["contiguous", "partition"], "redundancy": [2, 4]},
    "sampling": {"trials": 100, "target": {"endurable_failures": 0.02, "mean_stack": 0.004}},
}


def raw(**sampling):
    return {**RAW, "sampling": {**RAW["sampling"], **sampling}}


def run(asked, memory=None, **options):
    memory = memory or engine.Memory()
    loaded = study.load(asked) if isinstance(asked, dict) else asked
    outcome = engine.run(loaded, have=memory.tally, keep=memory.add, threads=2, **options)
    return loaded, memory, outcome


def spans(memory):
    return {key: tally.spans for key, tally in memory.tallies.items()}


def same(a, b):
    assert a.tallies.keys() == b.tallies.keys()
    for key, mine in a.tallies.items():
        theirs = b.tallies[key]
        assert (mine.spans, mine.sums) == (theirs.spans, theirs.sums)
        assert all(np.array_equal(mine.counts[name], theirs.counts[name]) for name in mine.counts)


def test_each_point_stops_at_the_first_look_that_is_narrow_enough():
    loaded, memory, outcome = run(RAW)
    for point in loaded.points:
        for measure, name, wanted in (
            ("survival", "endurable_failures", 0.02),
            ("stacks", "mean_stack", 0.004),
        ):
            ((first, stop),) = memory.tallies[point.id, measure].spans
            assert first == 0 and stop in [100 * 2**i for i in range(20)]
            assert outcome.stopped[point.id][measure] == "target"
            result = PointResult(point.id, point.parameters, 5, {measure: memory.tallies[point.id, measure]})
            value = result.estimates[name]
            assert (value.high - value.low) / 2 <= wanted * value.mean
            if stop > 100:  # and not at the look before
                fewer, before, _ = run({**RAW, "sampling": {"trials": stop // 2}})
                tallies = {measure: before.tallies[point.id, measure]}
                value = PointResult(point.id, point.parameters, 5, tallies).estimates[name]
                assert (value.high - value.low) / 2 > wanted * value.mean


def test_a_cut_study_stops_at_the_same_place():
    _, whole, outcome = run(RAW)
    rng = np.random.default_rng(2)
    for _ in range(5):
        memory = engine.Memory()

        class Cut(Exception):
            pass

        left = int(rng.integers(1, 25))

        def keep(tally, memory=memory):
            nonlocal left
            left -= 1
            if left < 0:
                raise Cut
            memory.add(tally)

        loaded = study.load(RAW)
        with pytest.raises(Cut):
            engine.run(loaded, have=memory.tally, keep=keep, threads=2)
        _, _, again = run(RAW, memory)
        same(memory, whole)
        assert again.stopped == outcome.stopped


def test_an_interrupted_stage_with_holes_is_completed_first():
    loaded, whole, _ = run(RAW)
    memory = engine.Memory()
    for point in loaded.points:  # as after a kill: a later block is there, an earlier one is not
        chosen = engine.backends.choose("auto", ["survival"])
        plan = chosen.plan("survival", point)
        found = chosen.block("survival", plan, point, loaded.key(point), 60, 30)
        memory.add(Tally("survival", point.id, loaded.seed, ((60, 90),), **found))
    run(RAW, memory)
    same(memory, whole)


def test_a_target_already_reached_adds_nothing_and_a_tighter_one_goes_on():
    _, memory, _ = run(RAW)
    before = spans(memory)
    run(RAW, memory)
    assert spans(memory) == before
    tighter = raw(target={"endurable_failures": 0.01})
    _, _, outcome = run(tighter, memory)
    _, fresh, _ = run(tighter)
    for key in fresh.tallies:
        if key[1] == "survival":
            assert memory.tallies[key].spans == fresh.tallies[key].spans
    assert all(reasons["survival"] == "target" for reasons in outcome.stopped.values())


def test_the_maximum_is_always_there_and_said():
    loaded, memory, outcome = run(raw(max_trials=250, target={"endurable_failures": 1e-6}))
    for point in loaded.points:
        assert memory.tallies[point.id, "survival"].spans == ((0, 250),)
        assert memory.tallies[point.id, "stacks"].spans == ((0, 100),)
        assert outcome.stopped[point.id] == {"survival": "maximum", "stacks": "total"}


def test_no_events_are_never_enough():
    asked = {
        "study": {"measure": ["survival"]},
        "cluster": {"groups": 200},
        "layout": {"kind": "contiguous", "redundancy": 12},
        "sampling": {"trials": 100, "max_trials": 1600, "target": {"survival[20]": 0.9}},
    }
    loaded, memory, outcome = run(asked)
    point = loaded.points[0]
    histogram = memory.tallies[point.id, "survival"].counts["endurable_failures"]
    assert histogram[:20].sum() == 0  # a loss of some 1e-9: never seen
    assert outcome.stopped[point.id] == {"survival": "maximum"}
    assert histogram.sum() == 1600


def test_a_share_is_looked_at_on_its_rare_side():
    asked = {
        "cluster": {"groups": 30},
        "layout": {"kind": "contiguous", "redundancy": 4},
        "sampling": {"trials": 100, "target": {"survival[6]": 0.2}},
    }
    loaded, memory, outcome = run(asked)
    histogram = memory.tallies[loaded.points[0].id, "survival"].counts["endurable_failures"]
    lost, trials = histogram[:6].sum(), histogram.sum()
    assert outcome.stopped[loaded.points[0].id] == {"survival": "target"}
    # Binomial: a relative half-width of 20 % of the loss takes some (1.96 / 0.2)^2 events of it
    assert 80 < lost < 4 * 96 and lost / trials < 0.1


def test_shares_of_totals_are_spans_and_shares_of_targets_are_points():
    fixed = {**RAW, "sampling": {"trials": 1001}}
    for asked in (fixed, RAW):
        _, whole, outcome = run(asked)
        memory, stopped = engine.Memory(), {}
        for at in (3, 1, 4, 2):
            loaded, _, part = run(asked, memory, share=(at, 4))
            for identity, reasons in part.stopped.items():
                stopped.setdefault(identity, {}).update(reasons)
        same(memory, whole)
        if asked is RAW:
            assert stopped == outcome.stopped
        else:
            assert all(set(reasons.values()) == {"share"} for reasons in stopped.values())
    loaded, alone, part = run(fixed, share=(2, 4))
    assert set(spans(alone).values()) == {((250, 500),)}
    loaded, alone, part = run(RAW, share=(2, 4))
    assert {key[0] for key in alone.tallies} == {loaded.points[1].id}


def test_a_time_limit_ends_on_whole_blocks_and_says_so():
    asked = raw(trials=10**9, target=None, time_limit=0.5)
    run(raw(target=None))  # compiled before the clock runs
    started = time.monotonic()
    loaded, memory, outcome = run(asked)
    assert time.monotonic() - started < 20
    for point in loaded.points:
        assert set(outcome.stopped[point.id].values()) == {"time limit"}
        for measure in loaded.measures:
            tally = memory.tallies[point.id, measure]
            ((first, stop),) = tally.spans
            assert first == 0 and tally.counts["endurable_failures"].sum() == stop
    # what was counted is what any run counts of these trials
    point = loaded.points[0]
    count = memory.tallies[point.id, "survival"].total
    _, again, _ = run({**RAW, "sampling": {"trials": count}})
    assert np.array_equal(
        again.tallies[point.id, "survival"].counts["endurable_failures"],
        memory.tallies[point.id, "survival"].counts["endurable_failures"],
    )


def test_time_goes_where_the_interval_is_widest():
    asked = {
        "cluster": {"groups": 60},
        "layout": {
            "kind": "contiguous",
            "redundancy": [2, 12],
        },  # K of some 6 and of some 43: relative spread 5:1
        "sampling": {"trials": 10**9, "time_limit": 1.0},
    }
    run({**asked, "sampling": {"trials": 10}})
    loaded, memory, _ = run(asked)
    narrow, wide = (memory.tallies[p.id, "survival"].total for p in reversed(loaded.points))
    assert wide > 4 * narrow


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            {"endurable_failure": 0.1},
            "unknown estimate 'endurable_failure'; did you mean 'endurable_failures'",
        ),
        ({"mean_stack": 0}, "mean_stack = 0.0: must be a relative half-width above 0"),
        ({"mean_stack": -1}, "must be a relative half-width above 0"),
        ({"availability": 0.1}, "needs study.measure = training, which is not asked for"),
        ({"survival[x]": 0.1}, "unknown estimate 'survival\\[x\\]'"),
        ("mean_stack", "must be estimate = relative half-width"),
        ({"mean_stack": "wide"}, "sampling.target"),
        ({"survival[03]": 0.1}, r"unknown estimate 'survival\[03\]'"),
        ({"survival[30]": 0.1}, r"survival\[30\]: k must be from 1 to 29"),
        ({"survival[0]": 0.1}, r"survival\[0\]: k must be from 1 to 29"),
        (["mean_stack=0.1", "mean_stack=0.2"], "must name each estimate once"),
    ],
)
def test_a_target_that_cannot_be_is_refused(target, message):
    with pytest.raises(UserError, match=message) as caught:
        study.load(raw(target=target))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sampling", [{"trials": 0}, {"trials": 1000, "max_trials": 100}])
def test_a_first_look_must_be_possible(sampling):
    with pytest.raises(
        UserError, match=r"sampling\.trials = \d+: with a target, the count at the first look"
    ):
        study.load(raw(**sampling))


def test_rules_look_at_fixed_counts():
    rule = stopping.Rule("survival", 100, 1000, {"endurable_failures": 0.1})
    looks, at = [], 0
    while at < 1000:
        at = rule.next_total(at)
        looks.append(at)
    assert looks == [100, 200, 400, 800, 1000]
    assert [n for n in range(1001) if rule.is_look(n)] == looks


@pytest.mark.slow
@pytest.mark.parametrize("target", [0.09, 0.0225])  # at the edge between two looks: the hardest
def test_intervals_cover_with_the_rule_on(target):
    """2,000 small studies that stop by target: the share whose interval holds the exact mean.

    The exact mean is that of the contiguous layout's exact distribution. Looking several times makes an interval miss
    a little more often than its 5 %; that it covers 93 % is asked for. The estimated share has a standard error of
    0.5 %: with a true coverage of 94.5 % the test fails by chance once in a thousand.
    """
    from spare_mc import exact

    mean = exact.mean_endurable(Layout.contiguous(30, 3))
    covered, counts = 0, []
    for seed in range(2000):
        asked = {
            "study": {"seed": seed},
            "cluster": {"groups": 30},
            "layout": {"kind": "contiguous", "redundancy": 3},
            "sampling": {"trials": 50, "target": {"endurable_failures": target}},
        }
        loaded, memory, outcome = run(asked)
        (point,) = loaded.points
        assert outcome.stopped[point.id] == {"survival": "target"}
        histogram = memory.tallies[point.id, "survival"].counts["endurable_failures"]
        ks = np.arange(len(histogram))
        trials = int(histogram.sum())
        value = mean_interval(trials, int(ks @ histogram), int(ks**2 @ histogram))
        covered += value.low <= mean <= value.high
        counts.append(trials)
    assert len(set(counts)) > 1  # the rule decides, not the maximum
    assert covered / 2000 >= 0.93, covered / 2000
