"""Failure streams: every hit the reference's, and both held against what is known of laws, renewals and logs."""

import numpy as np
import pytest
from scipy import stats
from stream_cases import EACH, GROUPS, LAWS, PLANS, SEED, log_of

from spare_mc.kernels import ahead_levels, reference_streams, stream_laws, streams
from spare_mc.kernels import stream_plan as sp
from spare_mc.kernels.stream_plan import Law, Pool, Source

# Statistical tests fail by chance with probability FALSE each, and seeds are fixed.
FALSE = 1e-5
HOUR = 3_600_000_000
AHEAD = 2**61  # beyond every time drawn here


def kernel_of(name):
    """The kernels of a backend."""
    if name == "numba":
        return streams
    if not ahead_levels.built("ahead_streams"):
        pytest.skip("built without the Cython backend")
    return ahead_levels.load("ahead_streams")


def drawn(plan, trial, horizon, memory=None, kernel=streams):
    """(times, groups) of a trial."""
    memory = memory or sp.memory(plan)
    times, groups = np.empty(64, np.int64), np.empty(64, np.int32)
    count = kernel.hits(plan, SEED, trial, horizon, times, groups, memory)
    if count > times.size:
        times, groups = np.empty(count, np.int64), np.empty(count, np.int32)
        assert kernel.hits(plan, SEED, trial, horizon, times, groups, memory) == count
    return times[:count], groups[:count]


def units_of(law, count):
    """A stream of so many units of one law, a group each."""
    return sp.plan(count, [Pool(np.arange(count + 1), np.arange(count))], [Source(law, count, 0)])


@pytest.mark.matrix
@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("backend", ["numba", "cython"])
def test_hits_are_the_references(backend, name):
    plan, kernel = PLANS[name], kernel_of(backend)
    memory = sp.memory(plan)
    for trial in (0, 1, 2**32 + 5, 2**63 - 1):
        for horizon in (10, 1_000_000, 3_000_000):
            times, groups = drawn(plan, trial, horizon, memory, kernel)
            expected = reference_streams.hits(plan, SEED, trial, horizon)
            assert list(zip(times.tolist(), groups.tolist(), strict=True)) == expected
    for at in (sp.CARD, sp.RENEWALS):
        assert not memory.deck[:, at].any()
    assert not memory.log_deck[:, sp.CARD].any()


@pytest.mark.matrix
@pytest.mark.parametrize("backend", ["numba", "cython"])
def test_a_later_horizon_only_adds_and_the_room_does_not_matter(backend):
    plan, kernel = PLANS["gpus and stripes"], kernel_of(backend)
    times, groups = drawn(plan, 3, 4_000_000, kernel=kernel)
    for horizon in (0, int(times[5]), int(times[5]) - 1, 2_000_000):
        some, hit = drawn(plan, 3, horizon, kernel=kernel)
        assert some.size == np.searchsorted(times, horizon, side="right")
        assert (some == times[: some.size]).all() and (hit == groups[: some.size]).all()
    few, which = np.empty(3, np.int64), np.empty(3, np.int32)
    assert kernel.hits(plan, SEED, 3, 4_000_000, few, which, sp.memory(plan)) == times.size
    assert (few == times[:3]).all() and (which == groups[:3]).all()


def at_hazards(law, hazards):
    plan = units_of(law, 1)
    return np.array([stream_laws.interval(plan, 0, float(h)) for h in hazards])


@pytest.mark.parametrize("name", LAWS)
def test_a_law_is_its_quantiles(name):
    law = LAWS[name]._replace(scale=1e9)  # so that rounding to whole us does not show
    hazards = np.concatenate([np.geomspace(1e-6, 30.0, 200), -np.log1p(-np.linspace(0.0013, 0.9991, 331))])
    quantile = -np.expm1(-hazards)
    with np.errstate(over="ignore"):
        expected = {
            "exponential": lambda: stats.expon.isf(np.exp(-hazards)),
            "weibull": lambda: stats.weibull_min.isf(np.exp(-hazards), law.shape),
            "lognormal": lambda: np.where(
                hazards > 1, stats.lognorm.isf(np.exp(-hazards), law.shape), stats.lognorm.ppf(quantile, law.shape)
            ),
            "linear": lambda: _extended(hazards, *(law.table if law.kind == sp.LINEAR else ([], []))),
            "loglog": lambda: np.exp(
                _extended(np.log(hazards), law.table[0] + law.table[1] * np.arange(law.table.size - 2), law.table[2:])
            ),
            "steps": lambda: np.quantile(law.table, quantile, method="inverted_cdf"),
        }[name]()  # fmt: skip
    expected = np.maximum(1e9 * expected, 1.0)
    got = at_hazards(law, hazards)
    assert (np.abs(got - expected) <= 0.51 + 1e-10 * expected).all()


def _extended(x, knots, values):
    """Linear interpolation whose end slopes go on."""
    i = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    return values[i] + (x - knots[i]) * (values[i + 1] - values[i]) / (knots[i + 1] - knots[i])


def firsts(plan, trials, order, horizon=AHEAD):
    """The ``order``-th hit of every trial [us]; times after it are not followed."""
    memory, times, groups = sp.memory(plan), np.empty(order, np.int64), np.empty(order, np.int32)
    found = np.empty(trials)
    for trial in range(trials):
        assert streams.hits(plan, SEED, trial, horizon, times, groups, memory) >= order
        found[trial] = times[order - 1]
    return found


@pytest.mark.parametrize("shape", [0.7, 1.5])
def test_the_first_of_n_weibull_units_is_weibull(shape):
    # the least of n Weibull lifetimes has the same shape, and n**(-1/shape) of the scale
    scale = 100 * HOUR
    plan = units_of(Law(sp.WEIBULL, float(scale), shape), 400)
    first = firsts(plan, 2000, 1, horizon=int(scale))
    least = stats.weibull_min(shape, scale=scale * 400 ** (-1 / shape))
    assert stats.kstest(first, least.cdf).pvalue > FALSE


@pytest.mark.parametrize("order", [2, 7, 20])
def test_order_statistics_of_exponential_units(order):
    # the k-th of n uniforms is Beta(k, n - k + 1) (David and Nagaraja, Order Statistics, section 2.1); units whose
    # renewed clock strikes again before the k-th first failure are left out by following the pattern of groups
    plan = units_of(Law(sp.EXPONENTIAL, float(HOUR)), 20)
    memory, found = sp.memory(plan), []
    for trial in range(1500):
        times, groups = drawn(plan, trial, 30 * HOUR, memory=memory)
        _, first = np.unique(groups, return_index=True)
        found.append(times[np.sort(first)[order - 1]])
    uniform = -np.expm1(-np.array(found) / HOUR)
    assert stats.kstest(uniform, stats.beta(order, 20 - order + 1).cdf).pvalue > FALSE


def renewal_function(law_cdf, t, steps):
    """Expected renewals by t, from M = F + M * dF (Xie's discretisation, Microelectronics Reliability 29, 1989)."""
    grid = np.linspace(0.0, t, steps + 1)
    cdf = law_cdf(grid)
    middle = law_cdf(grid[1:] - t / steps / 2)
    found = np.zeros(steps + 1)
    for i in range(1, steps + 1):
        j = np.arange(1, i)
        known = (found[j] - found[j - 1]) @ middle[i - j]
        found[i] = (cdf[i] + known - middle[0] * found[i - 1]) / (1 - middle[0])
    return found[-1]


def test_the_renewal_equation_is_solved():
    assert renewal_function(lambda t: -np.expm1(-t), 5.0, 1000) == pytest.approx(5.0, rel=1e-5)


@pytest.mark.parametrize("shape", [0.7, 1.5])
def test_renewal_counts(shape):
    # 10,000 units over 5 mean lives; redrawing all clocks at every failure would give far more or fewer
    units, lives = 10_000, 5.0
    mean = 1000 * HOUR
    law = stats.weibull_min(shape, scale=1 / stats.weibull_min(shape).mean())
    plan = units_of(Law(sp.WEIBULL, mean / stats.weibull_min(shape).mean(), shape), units)
    _, groups = drawn(plan, 1, int(lives * mean))
    counts = np.bincount(groups, minlength=units)
    expected = renewal_function(law.cdf, lives, 2000)
    assert abs(counts.mean() - expected) < stats.norm.isf(FALSE / 2) * counts.std() / units**0.5


def test_weibull_of_mean_300():
    # first failures and the intervals after them: 40,000 of each
    shape, mean = 0.78, 300_000_000
    plan = units_of(Law(sp.WEIBULL, 259_894_374.0, shape), 2000)
    for times, groups in (drawn(plan, trial, 45 * mean) for trial in range(10)):
        order = np.lexsort((times, groups))
        starts = np.searchsorted(groups[order], np.arange(2000))
        first, second = times[order][starts], times[order][starts + 1] - times[order][starts]
        for sample in (first, second):
            assert abs(sample.mean() - mean) < stats.norm.isf(FALSE / 20) * sample.std() / sample.size**0.5


def test_lemons_are_a_random_few():
    # of five units one has 9 times the rate; exponential clocks: the next to fail is a unit by its rate, so three
    # failures in a row are one unit's with probability sum of w**3
    plan = sp.plan(
        5,
        [Pool(np.arange(6), np.arange(5))],
        [Source(Law(sp.EXPONENTIAL, 1e9), 4, 0), Source(Law(sp.EXPONENTIAL, 1e9 / 9), 1, 0)],
    )
    memory, trials = sp.memory(plan), 6000
    three = np.array([drawn(plan, trial, 4 * 10**9, memory=memory)[1][:3] for trial in range(trials)])
    rates = np.array([1, 1, 1, 1, 9]) / 13
    same = int((three == three[:, :1]).all(axis=1).sum())
    assert stats.binomtest(same, trials, (rates**3).sum()).pvalue > FALSE
    assert stats.chisquare(np.bincount(three[:, 0], minlength=5)).pvalue > FALSE


@pytest.mark.parametrize("fixed", [0, 1])
def test_a_log_is_played_round_and_round(fixed):
    # 12 entities for the 15 units of the log: fixed, unit u is entity u mod 12
    log = log_of(fixed=fixed)
    plan = sp.plan(GROUPS, [EACH], [], [log])
    n, window = log.times.size, log.window
    moments = set()
    for trial in range(20):
        times, groups = drawn(plan, trial, 4 * window)
        assert times.size == 4 * n and times[0] >= 1
        assert (np.diff(times.reshape(4, n), axis=0) == window).all()
        # the first failure of the log in the trial tells the moment; its time of the log is unique but for two
        gaps = np.diff(times[: n + 1])
        starts = [
            i for i in range(n)
            if (np.diff(np.concatenate([log.times, log.times + window])[i : i + n + 1]) == gaps).all()
        ]  # fmt: skip
        assert len(starts) == 1
        moments.add(int(log.times[starts[0]] - times[0]))
        units = np.resize(np.roll(log.units, -starts[0]), 4 * n)
        if fixed:
            assert (groups == units % GROUPS).all()
            continue
        # every pass maps units on groups anew; the first one ends where the log does
        passes = np.split(np.arange(4 * n), n - starts[0] + n * np.arange(4))
        for part in passes:
            pairs = {(int(u), int(g)) for u, g in zip(units[part], groups[part], strict=True)}
            assert len(pairs) == len({u for u, _ in pairs})
            if len(pairs) <= GROUPS:  # no more units met than groups: all different
                assert len({g for _, g in pairs}) == len(pairs)
    assert len(moments) > 15


def test_blocks_keep_bursts_and_start_anywhere():
    log = log_of(block=300_000, fixed=1)
    plan = sp.plan(GROUPS, [EACH], [], [log])
    times, groups = drawn(plan, 0, 300_000 * 200)
    assert times.min() >= 1
    counts = np.zeros(log.times.size, np.int64)
    for block in range(200):
        inside = (times > block * 300_000) & (times <= (block + 1) * 300_000)
        at, hit = times[inside] - block * 300_000, groups[inside]
        if not at.size:
            continue
        # the moments after some moment of the log, wrapped, as many as the block is long
        for first in range(log.times.size):
            moment = int(log.times[first] - at[0])
            wall = (log.times - moment - 1) % log.window + 1
            order = np.argsort(wall, kind="stable")
            order = order[wall[order] <= 300_000]
            if (
                order.size == at.size
                and (wall[order] == at).all()
                and (log.units[order] % GROUPS == hit).all()
            ):
                counts[order] += 1
                break
        else:
            raise AssertionError(f"block {block} is no part of the log")
    # every failure of the log is played in a block with probability block / window: 60 of 200 times
    chance = stats.binom(200, 0.3)
    assert counts.min() > chance.ppf(FALSE / 80) and counts.max() < chance.isf(FALSE / 80)


def test_cost_grows_with_the_failures():
    # operations, not time: 600,000 clocks of a GPU each, and 600 of a group each, with about as many failures
    for per_group in (1, 1000):
        units = 600 * per_group
        pool = Pool(np.arange(units + 1), np.arange(units) // per_group)
        plan = sp.plan(600, [pool], [Source(Law(sp.EXPONENTIAL, float(units)), units, 0)])
        memory = sp.memory(plan)
        count = streams.hits(plan, SEED, 0, 1000, np.empty(1, np.int64), np.empty(1, np.int32), memory)
        assert 800 < count < 1200
        assert memory.reg[sp.HITS] == count
        # a draw for every failure, one for the interval of every renewed unit, and one ahead
        assert memory.reg[sp.DRAWS] <= 2 * count + 1
