"""The check: silent on right counts at its stated rate, loud on wrong ones, and telling about closed forms."""

import json
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest

from spare_mc import agreement, exact
from spare_mc.check import check, check_all
from spare_mc.kernels import reference
from spare_mc.layouts import Layout
from spare_mc.results import PointResult
from spare_mc.study import layout_parameters
from spare_mc.tallies import Tally

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "enumerated.json"


def contiguous_curve(groups, r):
    """P(k) of circular consecutive-r-out-of-N, from the counts of surviving subsets (exact integers)."""
    curve = []
    for k in range(groups):
        count = sum(
            (-1) ** j * comb(groups - k, j) * comb(groups - 1 - r * j, groups - k - 1)
            for j in range(min(groups - k, k // r) + 1)
        )
        curve.append(float(Fraction(groups * count, (groups - k) * comb(groups, k))))
    return np.array([*curve, 0.0])


def sampled(curve, trials, seed):
    """Histogram of K drawn from an exact curve P(k) = Pr[K >= k]."""
    chances = np.append(curve[:-1] - curve[1:], 0.0)
    return np.random.default_rng(seed).multinomial(trials, chances / chances.sum())


def point(layout, *tallies, **more):
    parameters = {"cluster.groups": layout.groups, **layout_parameters(layout), **more}
    return PointResult("0" * 64, parameters, 1, {t.measure: t for t in tallies})


def tally(histogram, measure="survival", first=0, counts=None, sums=None):
    histogram = np.asarray(histogram, np.int64)
    counts = {"endurable_failures": histogram, **(counts or {})}
    return Tally(measure, "0" * 64, 1, ((first, first + int(histogram.sum())),), counts, sums or {})


def verdict(verdicts, curve, kind):
    (found,) = [v for v in verdicts if (v.curve, v.kind) == (curve, kind)]
    return found


@pytest.fixture(scope="module")
def curve():
    return contiguous_curve(200, 9)


def test_right_counts_pass_and_say_so(curve):
    verdicts = check(point(Layout.contiguous(200, 9), tally(sampled(curve, 200_000, 1))))
    assert all(v.passed for v in verdicts)
    found = verdict(verdicts, "survival", "exact")
    assert found.threshold == 1e-4 and found.p > 1e-4 and found.distance < 0.01
    assert f"exactly {1 + curve[1:].sum():.3f}" in found.message


def test_false_alarms_are_no_more_than_stated(curve):
    """At a level of 5 % at most 5 % of 1,000 right samples may fail: 84 is 5 sigma above 50 (alarm 3e-7).

    Small and large samples: the test must hold without a limit theorem.
    """
    for trials in (3, 40, 5000):
        alarms = 0
        for seed in range(1000):
            histogram = sampled(curve, trials, 10_000 + seed)
            alarms += agreement.compare(np.cumsum(histogram[::-1])[::-1], trials, curve).p < 0.05
        assert alarms < 84


@pytest.mark.parametrize(
    ("fault", "trials"),
    [
        ("one less", 100_000),
        ("one more", 100_000),
        ("wider", 100_000),
        ("early deaths", 100_000),
        ("r - 1", 3_000),
    ],
)
def test_faults_are_found(curve, fault, trials):
    """Faults a simulator may have, each found (at 1e-4) in 8 of 8 samples of so many trials."""
    k = np.arange(201)
    chances = np.append(curve[:-1] - curve[1:], 0.0)
    mean = (k * chances).sum()
    wrong = {
        "one less": lambda: np.append(chances[1:], 0.0),
        "one more": lambda: np.append(0.0, chances[:-1]),
        "wider": lambda: np.interp((k - mean) / 1.03 + mean, k, chances),
        "early deaths": lambda: 0.9998 * chances + 0.0002 * np.isin(k, (8, 9)) / 2,
        "r - 1": lambda: -np.diff(np.append(contiguous_curve(200, 8), 0.0)),
    }[fault]()
    layout = Layout.contiguous(200, 9)
    for seed in range(8):
        histogram = np.random.default_rng(seed).multinomial(trials, wrong / wrong.sum())
        found = verdict(check(point(layout, tally(histogram))), "survival", "exact")
        assert not found.passed and found.p < found.threshold and "CONTRADICTS" in found.message


def test_the_level_is_shared_by_all_tests_of_a_file(curve):
    layout = Layout.contiguous(200, 9)
    results = [point(layout, tally(sampled(curve, 1000, seed))) for seed in range(4)]
    results.append(point(Layout.golomb(200, 9), tally(sampled(curve, 1000, 9))))
    thresholds = [v.threshold for v in check_all(results) if v.kind == "exact"]
    assert thresholds == [1e-4 / 5] * 5
    assert [v.threshold for v in check_all(results[:1], alpha=0.01) if v.kind == "exact"] == [0.01]


def test_binomial_tails_are_exact():
    """One place, 20 trials: p is twice the smaller tail of the binomial, summed by hand."""
    exact = np.array([1.0, 0.3, 0.0])
    for alive in range(21):
        lower = sum(comb(20, x) * 0.3**x * 0.7 ** (20 - x) for x in range(alive + 1))
        upper = sum(comb(20, x) * 0.3**x * 0.7 ** (20 - x) for x in range(alive, 21))
        found = agreement.compare([20, alive, 0], 20, exact)
        assert found.p == pytest.approx(min(1.0, 2 * min(lower, upper)), rel=1e-10)
        assert found.z == pytest.approx((alive - 6) / np.sqrt(4.2), abs=1e-12)
        assert found.distance == pytest.approx(abs(alive / 20 - 0.3), abs=1e-15)


def test_what_the_exact_curve_rules_out_fails_at_once():
    exact = np.array([1.0, 1.0, 0.5, 0.0])
    assert agreement.compare([10, 9, 5, 0], 10, exact)[:2] == (0.0, 1)
    assert agreement.compare([10, 10, 5, 1], 10, exact)[:2] == (0.0, 3)
    assert agreement.compare([10, 10, 5, 0], 10, exact).p == 1.0


def test_one_event_far_out_in_the_tail_is_enough():
    loss = np.append(10.0 ** -np.arange(30, 0, -1.0), 1.0)
    alive = np.rint(10**6 * (1 - loss)).astype(np.int64)
    assert agreement.compare(alive, 10**6, 1 - loss, loss).p > 0.1
    alive[10:] -= 1  # one trial dies where the chance is 1e-20
    assert agreement.compare(alive, 10**6, 1 - loss, loss).p < 1e-4


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Layout.contiguous(30, 4), "fewer than 3"),
        (lambda: Layout.golomb(30, 4), "fewer than 3"),
        (lambda: Layout.partition(30, 4), "fewer than 1"),
    ],
)
def test_too_few_failures_are_impossible(make, words):
    """K is at least the hosts of the rarest type less 1 (a partition of 30 by 4 ends on a block of two)."""
    layout = make()
    least = 1 if layout.kind == "partition" else 3
    histogram = np.zeros(31, np.int64)
    histogram[[least, 9]] = 1, 10**6
    assert verdict(check(point(layout, tally(histogram))), "counts", "certain").passed
    histogram[[least, least - 1]] = 0, 1
    found = verdict(check(point(layout, tally(histogram))), "counts", "certain")
    assert not found.passed and words in found.message


def test_too_many_failures_are_impossible():
    """30 types on stacks of 4 need 8 groups: nobody endures more than 22."""
    histogram = np.zeros(31, np.int64)
    histogram[[9, 22]] = 5, 1
    assert verdict(check(point(Layout.golomb(30, 4), tally(histogram))), "counts", "certain").passed
    histogram[[22, 23]] = 0, 1
    found = verdict(check(point(Layout.golomb(30, 4), tally(histogram))), "counts", "certain")
    assert not found.passed and "more than 22" in found.message


def test_counts_that_do_not_add_up_fail():
    histogram = np.zeros(31, np.int64)
    histogram[9] = 10
    short = Tally("survival", "0" * 64, 1, ((0, 11),), {"endurable_failures": histogram})
    found = verdict(check(point(Layout.golomb(30, 4), short)), "counts", "certain")
    assert not found.passed and "10 trials" in found.message and "11" in found.message


def stacks(layout, trials, spoil=None):
    """Stack tallies of a small layout from the plain-Python failure orders, depths by trying every assignment."""
    groups, r = layout.groups, layout.redundancy
    rows = [[int(g) for g in layout.hosts(t)] for t in range(groups)]
    at_depth, depths = np.zeros((groups + 1, r), np.int64), []
    for trial in range(trials):
        order = reference.failure_order(groups, 5, trial)
        endured = reference.endurable_in_order(rows, order)
        life = [least_depth(rows, set(order[:k]), r) for k in range(endured + 1)]
        for k, depth in enumerate(life):
            at_depth[k, depth - 1] += 1
        depths.append(life)
    histogram = np.bincount([len(life) - 1 for life in depths], minlength=groups + 1)
    a, b = [sum(life) for life in depths], [len(life) for life in depths]
    sums = {"stack": sum(a), "states": sum(b)}
    sums |= {"stack_squared": sum(x * x for x in a), "states_squared": sum(x * x for x in b)}
    sums |= {"stack_states": sum(x * y for x, y in zip(a, b, strict=True))}
    sums |= dict.fromkeys(("above", "above_squared", "above_failures"), 0)
    sums |= {"failures": sum(b) - trials, "failures_squared": sum((x - 1) ** 2 for x in b)}
    return tally(histogram, "stacks", counts={"trials_at_depth": at_depth}, sums=sums)


def least_depth(rows, failed, r):
    """Least depth by augmenting paths, one type after the other."""
    for depth in range(1, r + 1):
        load = {}

        def place(t, seen, load=load, depth=depth):
            for g in rows[t]:
                if g in failed or g in seen:
                    continue
                seen.add(g)
                held = load.setdefault(g, [])
                if len(held) < depth:
                    held.append(t)
                    return True
                for i, other in enumerate(held):
                    if place(other, seen):
                        held[i] = t
                        return True
            return False

        if all(place(t, set()) for t in range(len(rows))):
            return depth
    raise AssertionError("wiped out")


def test_depths_of_small_layouts_are_tested_by_enumeration():
    layout = Layout.contiguous(8, 3)
    counted = stacks(layout, 400)
    verdicts = check(point(layout, counted))
    assert all(v.passed for v in verdicts)
    assert [v.curve for v in verdicts if v.kind == "exact"] == [
        "survival",
        "stack_within_1",
        "stack_within_2",
    ]
    assert {v.threshold for v in verdicts if v.kind == "exact"} == {1e-4 / 3}
    # deeper than need be after four failures, in a third of the trials: possible, but not the least depth
    at_depth = counted.counts["trials_at_depth"]
    moved = at_depth[4, 1] // 3
    at_depth[4, 1] -= moved
    at_depth[4, 2] += moved
    counted.sums["stack"] += int(moved)
    verdicts = check(point(layout, counted))
    assert verdict(verdicts, "counts", "certain").passed
    assert not verdict(verdicts, "stack_within_2", "exact").passed
    assert verdict(verdicts, "survival", "exact").passed


@pytest.mark.skipif(not DATA.exists(), reason="shared data is not here")
def test_enumerated_least_stacks_are_what_is_tested_against():
    from spare_mc.references import exact_stack_curves

    seen = 0
    for case in json.loads(DATA.read_text()):
        groups = case["groups"]
        layout = Layout.custom(groups, case["offsets"])
        curves = dict(exact_stack_curves(point(layout)))
        if "least_stack_counts_by_failures" not in case or not curves:
            continue
        for k, counts in case["least_stack_counts_by_failures"].items():
            for depth, curve in curves.items():
                within = sum(n for d, n in counts.items() if int(d) <= depth)
                assert curve[int(k)] == pytest.approx(within / comb(groups, int(k)), rel=1e-12)
                seen += 1
    assert seen > 50


def test_depth_below_the_bound_is_impossible():
    layout = Layout.contiguous(8, 3)
    counted = stacks(layout, 20)
    at_depth = counted.counts["trials_at_depth"]
    at_depth[3, 0] += 1
    at_depth[3, 1] -= 1
    counted.sums["stack"] -= 1
    found = verdict(check(point(layout, counted)), "counts", "certain")
    assert not found.passed and "below" in found.message and "= 2" in found.message
    counted.sums["stack"] += 1
    at_depth[3, 0] -= 1
    at_depth[3, 1] += 1
    counted.sums["stack"] += 1
    assert "adds up to" in verdict(check(point(layout, counted)), "counts", "certain").message
    counted.sums["stack"] -= 1
    at_depth[3, 2] += 1
    assert "are alive" in verdict(check(point(layout, counted)), "counts", "certain").message


def test_measures_must_agree_on_the_same_trials():
    layout = Layout.contiguous(8, 3)
    counted = stacks(layout, 50)
    same = tally(counted.counts["endurable_failures"])
    verdicts = check(point(layout, same, counted))
    assert verdict(verdicts, "counts", "certain").passed
    assert sum(v.curve == "survival" and v.kind == "exact" for v in verdicts) == 1, (
        "the same trials, tested once"
    )
    other = same.counts["endurable_failures"].copy()
    other[[3, 4]] += (1, -1)
    found = verdict(check(point(layout, tally(other), counted)), "counts", "certain")
    assert not found.passed and "survival and stacks differ" in found.message
    apart = check(point(layout, tally(other, first=1000), counted))
    assert verdict(apart, "counts", "certain").passed
    assert sum(v.curve == "survival" and v.kind == "exact" for v in apart) == 2


def test_phases_must_cover_the_failures_endured():
    histogram = np.array([0, 0, 3, 2, 0, 0, 0])
    phases = np.zeros((7, 3), np.int64)
    phases[1, 1], phases[2, 0], phases[3, 2] = 5, 5, 2
    sums = {"failures": 12, "failures_squared": 30, "reorders": 2, "reorders_squared": 2}
    sums |= {"reorders_failures": 6, "moves": 2, "moves_squared": 2, "moves_reorders": 2}
    sums |= {"patch": 2, "patch_squared": 2, "patch_reorders": 2}
    counts = {"phase_at_failure": phases, "moves_at_failure": np.array([0, 0, 0, 2, 0, 0, 0])}
    result = point(Layout.contiguous(6, 3), tally(histogram, "reordering", counts=counts, sums=sums))
    assert verdict(check(result), "counts", "certain").passed
    phases[2, 0] -= 1
    found = verdict(check(result), "counts", "certain")
    assert not found.passed and "k = 2" in found.message


def test_contiguous_endures_more_than_the_closed_form_and_the_check_says_so():
    """N=600, r=9: exactly 302.678 against mu = 279.13, 8.4 % more."""
    result = point(Layout.contiguous(600, 9), tally(sampled(contiguous_curve(600, 9), 10**8, 4)))
    found = verdict(check(result), "wipeout_index", "approximation")
    assert found.passed and found.p is None
    assert "endures 8.4 % more than the paper's closed form mu = 279.13" in found.message
    assert found.distance == pytest.approx(302.678 / 279.13 - 1, abs=2e-4)


def test_layouts_without_exact_values_are_told_about_not_failed():
    layout = Layout.golomb(200, 9)
    near = exact.independent_types_curve(200, 9)
    verdicts = check(point(layout, tally(sampled(near, 10**5, 3))))
    assert all(v.passed for v in verdicts)
    assert [v.curve for v in verdicts if v.kind == "exact"] == ["rare_loss"]
    found = verdict(verdicts, "survival", "approximation")
    assert "no exact curve is known" in found.message and abs(found.distance) < 0.005
    # however far off, an approximation fails nothing
    far = check(point(layout, tally(sampled(contiguous_curve(200, 12), 10**5, 3))))
    assert all(v.passed for v in far if v.kind == "approximation")


def test_rare_loss_is_held_against_rigorous_bounds():
    """Golomb, N=200, r=9: fewer losses than the lower bound or more than the upper one are found."""
    layout = Layout.golomb(200, 9)
    near = exact.independent_types_curve(200, 9)
    found = verdict(check(point(layout, tally(sampled(near, 10**6, 3)))), "rare_loss", "exact")
    assert found.passed and found.threshold == 1e-4
    for r in (8, 10):
        histogram = sampled(contiguous_curve(200, r), 10**5, 3)
        histogram[8] += histogram[7]
        histogram[7] = 0
        found = verdict(check(point(layout, tally(histogram))), "rare_loss", "exact")
        assert not found.passed and "CONTRADICTS rigorous bounds" in found.message and found.distance > 0.001


def test_bounds_are_tested_with_exact_binomial_tails():
    lost, trials, low, high = [3], 20, np.array([0.25]), np.array([0.4])
    inside = agreement.compare_bounds([6], trials, low, high)
    assert inside == (1.0, 0)
    fewer = sum(comb(20, x) * 0.25**x * 0.75 ** (20 - x) for x in range(4))
    assert agreement.compare_bounds(lost, trials, low, high)[0] == pytest.approx(2 * fewer, rel=1e-10)
    more = sum(comb(20, x) * 0.4**x * 0.6 ** (20 - x) for x in range(15, 21))
    assert agreement.compare_bounds([15], trials, low, high)[0] == pytest.approx(2 * more, rel=1e-10)
    none = agreement.compare_bounds([0, 1], trials, np.array([0.0, 0.0]), np.array([0.0, 1e-9]))
    assert none[0] == pytest.approx(4 * 20e-9, rel=1e-6) and none[1] == 1


def test_closed_forms_of_stack_and_time():
    layout = Layout.contiguous(8, 3)
    result = point(layout, stacks(layout, 100), **{"failures.system_mtbf": 300.0})
    verdicts = check(result)
    stack = verdict(verdicts, "mean_stack", "approximation")
    # mu(8, 3) = Gamma(4/3) 8^(2/3) = 3.57: the mean of c(0), c(1), c(2) = 1, 2, 2
    assert f"paper's bound {5 / 3:.5g}" in stack.message
    time = verdict(verdicts, "time_to_interruption_s", "approximation")
    paper = 300.0 * 3.5719
    assert time.distance == pytest.approx(
        result.estimates["time_to_interruption_s"].mean / paper - 1, abs=1e-4
    )


@pytest.mark.parametrize("layout", [Layout.contiguous(2, 1), Layout.contiguous(2, 2), Layout.partition(5, 1)])
def test_smallest_clusters_and_single_trials(layout):
    """Redundancy 1 endures nothing, two groups of two endure one failure: the only possible counts pass."""
    histogram = np.zeros(layout.groups + 1, np.int64)
    histogram[layout.redundancy - 1] = 1
    for trials in (1, 5):
        verdicts = check(point(layout, tally(histogram * trials)))
        assert all(v.passed for v in verdicts)
        assert verdict(verdicts, "survival", "exact").p == 1.0
    assert (
        "from one trial"
        in verdict(check(point(layout, tally(histogram))), "wipeout_index", "approximation").message
    )
    histogram[[layout.redundancy - 1, layout.redundancy]] = (0, 1)
    assert not all(v.passed for v in check(point(layout, tally(histogram))))


def test_training_alone_has_nothing_to_check():
    assert check(PointResult("0" * 64, {"cluster.groups": 8, "layout.redundancy": 3}, 1)) == []


def test_sampled_small_layouts_of_every_family_agree():
    """Plain-Python failure orders, 3,000 each: nothing may contradict enumeration or counts (alarm 1e-4 in all)."""
    results = []
    for layout in (
        Layout.golomb(13, 4),
        Layout.contiguous(9, 4),
        Layout.partition(10, 4),
        Layout.random(11, 3, seed=2),
        Layout.custom(12, [0, 2, 7]),
    ):
        rows = [[int(g) for g in layout.hosts(t)] for t in range(layout.groups)]
        endured = [reference.endurable(rows, layout.groups, 8, trial) for trial in range(3000)]
        results.append(point(layout, tally(np.bincount(endured, minlength=layout.groups + 1))))
    verdicts = check_all(results)
    assert all(v.passed for v in verdicts)
    assert sum(v.kind == "exact" for v in verdicts) == 5
