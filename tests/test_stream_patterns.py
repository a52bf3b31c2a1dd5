"""Failure patterns under streams: kernels against the reference, and both against complete enumeration."""

import functools
from itertools import permutations

import numba
import numpy as np
import pytest
from scipy import stats
from stream_cases import GROUPS, LAWS, PLANS, SEED

from spare_mc import backends, exact
from spare_mc.agreement import compare
from spare_mc.backend import Streamed
from spare_mc.estimates import interruption_times
from spare_mc.kernels import reference_stream_lives, reference_streams, stream_layouts, stream_patterns
from spare_mc.kernels import stream_plan as sp
from spare_mc.kernels.stream_plan import Law, Pool, Replay, Source
from spare_mc.layouts import Layout

INTERPRETED = numba.config.DISABLE_JIT
FIRST = 2**32 - 9  # trial numbers cross the low word's end
COUNT = 2 if INTERPRETED else 19  # no multiple of 16
FALSE = 1e-5  # probability that a statistical test fails by chance; seeds are fixed

LAYOUTS = [
    Layout.golomb(GROUPS, 3),
    Layout.contiguous(GROUPS, 4),
    Layout.partition(GROUPS, 5),
    Layout.random(GROUPS, 4),
]


def rows_of(layout):
    return [[int(g) for g in row if g >= 0] for row in layout.host_table()]


def stacks_of(layout):
    return [[int(t) for t in row if t >= 0] for row in layout.stack_table()]


def computed(name, measure, plan, layout, first=FIRST, count=COUNT, seed=SEED):
    """(rows, counts beside them) of lives by a backend."""
    backend = backends.BACKENDS[name]
    if measure not in backend.streams or backend.missing([measure]):
        pytest.skip(f"{name} cannot do {measure} here")
    held = Streamed(plan, backend.prepared_for_stream(measure, layout))
    return backend._streamed(measure, held, layout, seed, first, count)


def combinations():
    for name, backend in backends.BACKENDS.items():
        if name != "reference":
            yield from ((name, measure) for measure in backend.streams if measure != "training")


@functools.cache
def expected(measure, plan_name, layout):
    plan, hosts = PLANS[plan_name], rows_of(layout)
    trials = range(FIRST, FIRST + COUNT)
    if measure == "survival":
        return [reference_stream_lives.survival_row(plan, hosts, SEED, i) for i in trials]
    if measure == "stacks":
        return [reference_stream_lives.stack_row(plan, hosts, layout.redundancy, SEED, i) for i in trials]
    return [reference_stream_lives.reorder_row(plan, hosts, stacks_of(layout), SEED, i) for i in trials]


@pytest.mark.matrix
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.kind)
@pytest.mark.parametrize(("name", "measure"), list(combinations()))
def test_lives_are_the_references(name, measure, layout):
    for plan_name, plan in PLANS.items():
        rows, *counts = computed(name, measure, plan, layout)
        assert rows.tolist() == expected(measure, plan_name, layout), plan_name
        if measure == "stacks":
            # rows add up to what is counted by depth
            assert (counts[0] @ np.arange(1, layout.redundancy + 1)).sum() == rows[:, 3].sum()
            assert counts[0].sum() == rows[:, 4].sum() == rows[:, 1].sum() + COUNT
            assert counts[0][0, 0] == COUNT


@pytest.mark.matrix
@pytest.mark.parametrize("name", PLANS)
def test_patterns_are_the_references(name):
    layout = LAYOUTS[0]
    hosting = stream_layouts.hosting(layout.stack_table())
    for trial in (0, 1, 2**63 - 1):
        order, ends, times, wiped = stream_patterns.pattern(PLANS[name], hosting, SEED, trial)
        found = order.tolist(), ends.tolist(), times.tolist(), wiped
        assert found == reference_streams.pattern(PLANS[name], rows_of(layout), SEED, trial)


def test_states_by_depth_are_the_references():
    layout, plan = LAYOUTS[0], PLANS["gpus and stripes"]
    wanted = np.zeros((GROUPS + 1, layout.redundancy), np.int64)
    for trial in range(FIRST, FIRST + COUNT):
        for k, depth in reference_stream_lives.depths(plan, rows_of(layout), 3, SEED, trial):
            wanted[k, depth - 1] += 1
    for name, _ in (pair for pair in combinations() if pair[1] == "stacks"):
        assert np.array_equal(computed(name, "stacks", plan, layout)[1], wanted)


def test_stacks_of_layouts_too_large_for_lanes():
    if INTERPRETED:
        pytest.skip("takes minutes uncompiled")
    layout = Layout.contiguous(140, 130)
    racks = Pool(np.arange(0, 141, 7), np.arange(140))
    plan = sp.plan(140, [racks], [Source(LAWS["weibull"], 20, 0)])
    wanted = [reference_stream_lives.survival_row(plan, rows_of(layout), SEED, FIRST + i) for i in range(3)]
    found = [computed(name, "stacks", plan, layout, count=3) for name, m in combinations() if m == "stacks"]
    for rows, at_depth in found:
        assert rows[:, :3].tolist() == wanted
        assert np.array_equal(rows, found[0][0]) and np.array_equal(at_depth, found[0][1])
    # with racks of 7 in a ring and 130 hosts of a type, the depth is the bound in nearly all states
    assert (found[0][0][:, 3] >= found[0][0][:, 4]).all()


# ---- against complete enumeration ---------------------------------------------------------------------------------


def chance_of(order, rates):
    """Probability of an order of exponential units: each next one by its rate among those left."""
    chance, left = 1.0, sum(rates)
    for unit in order:
        chance *= rates[unit] / left
        left -= rates[unit]
    return chance


def units(rates, pools):
    """A stream in which unit i, a source and a pool of its own, has this rate and hits these groups."""
    groups = 1 + max(g for hit in pools for g in hit)
    made = [Pool(np.array([0, len(hit)]), np.array(hit)) for hit in pools]
    return sp.plan(groups, made, [Source(Law(sp.EXPONENTIAL, 1e9 / r), 1, i) for i, r in enumerate(rates)])


def test_the_order_of_unequal_groups():
    # 24 orders of four groups; the last one's place is known when three have failed: no layout would follow it
    rates = [1.0, 2.0, 4.0, 0.5]
    plan = units(rates, [[0], [1], [2], [3]])
    hosting = stream_layouts.hosting(np.array([[0], [1], [2], [3]]))  # the first loss wipes out
    whole = hosting._replace(hosts=np.array([9, 9, 9, 9, 2**30], np.int32))
    trials = 12_000
    counts = dict.fromkeys(permutations(range(4)), 0)
    for trial in range(trials):
        counts[tuple(stream_patterns.pattern(plan, whole, SEED, trial)[0].tolist())] += 1
    chances = [chance_of(order, rates) for order in counts]
    assert sum(chances) == pytest.approx(1)
    assert stats.chisquare(list(counts.values()), np.array(chances) * trials).pvalue > FALSE


def enumerated(layout, rates, pools):
    """Distribution of (K, events, sum of S*) over all orders of the units: dict -> probability."""
    hosts, found = rows_of(layout), {}
    for order in permutations(range(len(rates))):
        chance, lost, states = chance_of(order, rates), set(), []
        for unit in order:
            if not set(pools[unit]) <= lost:
                states.append(frozenset(lost))
                lost = lost | set(pools[unit])
            if any(set(row) <= lost for row in hosts):
                break
        depths = sum(_depth(layout, state) for state in states)
        key = len(states[-1]), len(states) - 1, depths
        found[key] = found.get(key, 0.0) + chance
    assert sum(found.values()) == pytest.approx(1)
    return found


@functools.cache
def _depth(layout, lost):
    from spare_mc.kernels.reference_stacks import least_depth

    return least_depth(rows_of(layout), set(range(layout.groups)) - lost, layout.redundancy)


@pytest.mark.parametrize(
    ("layout", "rates", "pools"),
    [
        (Layout.contiguous(6, 3), [1, 2, 3, 1, 0.5, 4], [[g] for g in range(6)]),
        (Layout.golomb(7, 3), [3, 1, 1, 1, 1, 1, 0.2], [[g] for g in range(7)]),
        # domains: groups of their own, two racks and a feed that takes half of them
        (Layout.contiguous(4, 2), [1, 1, 1, 1, 0.7, 0.7, 0.4], [[0], [1], [2], [3], [0, 1], [2, 3], [1, 2]]),
        (Layout.contiguous(6, 2), [1.5, 1, 1, 1, 0.6, 0.6], [[0, 1], [2, 3], [4, 5], [0, 3], [1, 4], [2, 5]]),
        (Layout.partition(6, 3), [1, 1, 1, 1, 2, 2], [[0, 3], [1, 4], [2, 5], [0], [1, 2, 3], [4]]),
    ],
    ids=["unequal contiguous", "unequal golomb", "groups, racks, feed", "two ways of racks", "partition"],
)
def test_lives_against_complete_enumeration(layout, rates, pools):
    chances = enumerated(layout, rates, pools)
    trials = 20_000
    rows, _ = computed("numba", "stacks", units(rates, pools), layout, count=trials)
    found, counts = np.unique(rows[:, [0, 1, 3]], axis=0, return_counts=True)
    seen = {tuple(key): int(n) for key, n in zip(found.tolist(), counts, strict=True)}
    assert seen.keys() <= chances.keys()
    rare = {key for key, chance in chances.items() if chance * trials < 8}
    kept = [key for key in chances if key not in rare]
    cells = [(seen.get(key, 0), chances[key] * trials) for key in kept]
    cells += [(sum(seen.get(key, 0) for key in rare), sum(chances[key] for key in rare) * trials)] * bool(
        rare
    )
    observed, wanted = (np.array(side, float) for side in zip(*cells, strict=True))
    if len(cells) > 1:
        assert stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > FALSE


@pytest.mark.parametrize("law", ["exponential", "weibull"])
def test_identical_groups_through_a_stream(law):
    # the long way round to what the fast path knows: exact survival, and the time of the wipe-out
    layout, trials = Layout.contiguous(40, 4), 20_000
    plan = sp.plan(40, [Pool(np.arange(41), np.arange(40))], [Source(LAWS[law]._replace(scale=1e9), 40, 0)])
    rows, *_ = computed("numba", "survival", plan, layout, count=trials)
    alive = np.cumsum(np.bincount(rows[:, 0], minlength=41)[::-1])[::-1]
    assert compare(alive, trials, exact.survival_curve(layout)).p > FALSE
    assert (rows[:, 0] == rows[:, 1]).all()
    mean = 1000.0 if law == "exponential" else stats.weibull_min(0.78, scale=1000.0).mean()
    parameters = {"cluster.groups": 40, "failures.system_mtbf": mean / 40, "failures.law": law}
    if law == "weibull":
        parameters["failures.shape"] = 0.78
    known = interruption_times(40, np.arange(40), parameters)
    until = float(known @ -np.diff(exact.survival_curve(layout)))  # expected time, over the exact law of K
    times = rows[:, 2] * 1e-6
    assert abs(times.mean() - until) < stats.norm.isf(FALSE / 2) * times.std() / trials**0.5


def test_a_log_that_reaches_too_few_groups_ends():
    # fixed, the log's two units are groups 0 and 1, which host no type alone
    log = Replay(np.array([5_000, 9_000]), np.array([0, 1]), 200_000, 0, 0, 1)
    layout = Layout.contiguous(GROUPS, 4)
    pools = [Pool(np.arange(GROUPS + 1), np.arange(GROUPS)), Pool(np.arange(3), np.array([4, 6]))]
    alone = sp.plan(GROUPS, pools, [], [log])
    clocks = sp.plan(GROUPS, pools, [Source(LAWS["exponential"], 2, 1)], [log])
    for plan, most in ((alone, 2), (clocks, 4)):
        rows, *_ = computed("numba", "survival", plan, layout)
        assert (rows[:, 0] == most).all() and (rows[:, 2] == -1).all()
        for row, trial in zip(rows.tolist(), range(FIRST, FIRST + 3), strict=False):
            assert row == reference_stream_lives.survival_row(plan, rows_of(layout), SEED, trial)


@pytest.mark.skipif(INTERPRETED, reason="takes minutes uncompiled")
@pytest.mark.parametrize(
    "layout",
    [Layout.golomb(600, 9), Layout.contiguous(601, 9), Layout.partition(602, 9), Layout.random(600, 6)],
    ids=lambda layout: f"{layout.kind}-{layout.groups}",
)
def test_backends_agree_at_full_size(layout):
    """GPUs, racks and a log beside one another; K, events and times are the same whatever the measure."""
    n = layout.groups
    gpus = Pool(np.arange(100 * n + 1), np.arange(100 * n) // 100)
    racks = Pool(np.append(np.arange(0, n, 8), n), np.arange(n))
    rng = np.random.default_rng(2)
    log = Replay(np.sort(rng.integers(0, 10**11, 300)), rng.integers(0, 75, 300), 10**11, 10**10, 1, 0)
    sources = [
        Source(LAWS["weibull"]._replace(scale=1e13), 100 * n, 0),
        Source(LAWS["lognormal"]._replace(scale=4e12), 70, 1),
    ]
    plan = sp.plan(n, [gpus, racks], sources, [log])
    lives = {}
    for name, measure in combinations():
        rows, *counts = computed(name, measure, plan, layout, count=67)
        other = lives.setdefault(measure, (rows, counts))
        assert np.array_equal(rows, other[0])
        assert all(np.array_equal(mine, theirs) for mine, theirs in zip(counts, other[1], strict=True))
    survival, stacks, reordering = (lives[m][0] for m in ("survival", "stacks", "reordering"))
    assert np.array_equal(stacks[:, :3], survival) and np.array_equal(reordering[:, [0, 12, 13]], survival)
    assert np.array_equal(reordering[:, 10], stacks[:, 3])  # the controller's depth is the least there is
    assert (survival[:, 0] > survival[:, 1]).mean() > 0.8  # events take several groups at once
