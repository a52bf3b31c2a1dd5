"""Groups that come back during a run, and spares: exact mean times to a restart, limits, and runs that add up."""

import heapq
import math

import numpy as np
import pytest
from training_tools import S, column, paper_settings, plan, rows

from spare_mc.kernels import training
from spare_mc.kernels.training_settings import CYCLIC, FRESH, LARGEST_TIME, NO_REPAIR, SYSTEM

LIFE = 1000.0  # mean life of a group [s]; a step takes 1 s


def blocks(groups, redundancy, **changes):
    """Replication that restarts at once and saves nothing: all that is seen is the time between wipe-outs."""
    return paper_settings(
        "replication", "exponential", groups, redundancy, mean=LIFE * S, stack=S // redundancy, allreduce=0,
        found_allreduce=0, shrink=0, restart=0, save=0, steps=10**9, save_steps=10**9, sigma=0.0, lowest_only=0,
        extended=0, **changes,
    )  # fmt: skip


def check_time_between_restarts(settings, expected, restarts=2500):
    """The mean of so many lives against ``expected`` [s]: 4.5 standard errors of about exponential times, and 0.3 %."""
    (row,) = rows(settings._replace(max_wall=int(restarts * expected) * S), 1, seed=6)
    of = dict(zip(training.COLUMNS, row.tolist(), strict=False))
    found = of["wall"] / S / of["restarts"]
    assert abs(found / expected - 1) < 4.5 / math.sqrt(of["restarts"]) + 0.003, (found, expected)
    return of


@pytest.mark.parametrize("repair", [20.0, 200.0, 1000.0])
@pytest.mark.parametrize("clocks", [0, FRESH])
def test_one_block_of_two_with_repair_has_an_exact_mean_life(repair, clocks):
    """Renewals at every return: T = 1/2l + E[min(X, R)] + exp(-lR) T, with R half a step longer than the repair.

    A failure is found half a step late on the mean; a repair of whole steps is over as a step begins.
    """
    out = repair + 0.5
    lost = -math.expm1(-out / LIFE)
    expected = (LIFE / 2 + LIFE * lost) / lost
    settings = blocks(2, 2, repair=int(repair * S), clocks=clocks)
    of = check_time_between_restarts(settings, expected, 2500 if repair > 100 else 500)
    assert of["returns"] > 0 and of["out_steps"] > 0


def survival_of_a_block(out, end, step):
    """P(a block of two is alive at t = 0, step, ...), by the renewal equation of its returns after ``out`` [s]."""
    rate, back, count = 1 / LIFE, round(out / step), round(end / step)
    t = np.arange(count + 1) * step
    density = 2 * rate * np.exp(-2 * rate * t)
    # one out at t, its first failure less than ``out`` ago: integral of the density times exp(-l (t - u))
    since = np.maximum(0.0, t - out)
    alone = 2 * (np.exp(-rate * (t + since)) - np.exp(-2 * rate * t))
    alive = np.exp(-2 * rate * t) + alone
    for i in range(back, count + 1):
        upto = i - back
        weights = np.full(upto + 1, step)
        weights[0] = weights[-1] = step / 2
        if upto:
            alive[i] += math.exp(-rate * out) * (density[: upto + 1] * weights) @ alive[upto::-1]
    return t, alive


@pytest.mark.parametrize("placement", [0, CYCLIC])
def test_many_blocks_of_two_with_repair(placement):
    """Eight blocks fail apart: the mean of the least of their lives is the integral of P**8."""
    repair = 150.0
    _, alive = survival_of_a_block(repair + 0.5, 9000.0, 0.5)
    expected = float(np.sum((alive[1:] ** 8 + alive[:-1] ** 8) / 2 * 0.5))
    assert alive[-1] ** 8 < 1e-6
    check_time_between_restarts(blocks(16, 2, repair=int(repair * S), placement=placement), expected)


def test_a_spare_that_does_not_come_back_steps_in_once():
    """One block, one spare: T = 1/2l + E[min(X, s)] + exp(-ls) (1/2l + 1/l), s the swap and half a step."""
    swap = 400.0
    kept = math.exp(-(swap + 0.5) / LIFE)
    expected = LIFE / 2 + LIFE * (1 - kept) + kept * 1.5 * LIFE
    of = check_time_between_restarts(blocks(2, 2, spares=1, swap=int(swap * S)), expected)
    assert of["spares_used"] == 1 and 0 < of["returns"] <= of["restarts"]


def lives_by_events(groups, redundancy, repair, spares, swap, count, seed):
    """Mean time to the loss of a whole block in continuous time, event by event: an independent simulation."""
    rng = np.random.default_rng(seed)
    total = 0.0
    for _ in range(count):
        free, waiting, out = spares, [], set()
        events = [(rng.exponential(LIFE), "fail", g) for g in range(groups)]
        heapq.heapify(events)
        while True:
            time, what, g = heapq.heappop(events)
            if what == "fail":
                out.add(g)
                first = g - g % redundancy
                if all(h in out for h in range(first, first + redundancy)):
                    break
                if repair is not None:
                    heapq.heappush(events, (time + repair, "mended", g))
                if free:
                    free -= 1
                    heapq.heappush(events, (time + swap, "back", g))
                else:
                    waiting.append(g)
            elif what == "mended" and waiting:
                heapq.heappush(events, (time + swap, "back", waiting.pop(0)))
            elif what == "mended":
                free += 1
            else:
                out.discard(g)
                heapq.heappush(events, (time + rng.exponential(LIFE), "fail", g))
        total += time
    return total / count


def test_spares_and_repairs_agree_with_a_simulation_in_continuous_time():
    """Four blocks of three, two spares, a queue for them: the means of 1,500 lives on either side."""
    expected = lives_by_events(12, 3, 300.5, 2, 60.5, 1500, 4)
    settings = blocks(12, 3, repair=300 * S, spares=2, swap=60 * S)
    (row,) = rows(settings._replace(max_wall=int(1500 * expected) * S), 1, seed=6)
    of = dict(zip(training.COLUMNS, row.tolist(), strict=False))
    found = of["wall"] / S / of["restarts"]
    assert abs(found / expected - 1) < 4.5 * math.sqrt(1 / of["restarts"] + 1 / 1500) + 0.005  # 1 in 150,000
    assert of["spares_used"] == 2 and of["spares_lacking"] > 0


PAPER = [
    paper_settings("spare", "weibull", 600, 8, steps=400),
    paper_settings("spare", "exponential", 200, 9, steps=400, clocks=SYSTEM, mean=300.0 * S),
    paper_settings("replication", "weibull", 600, 3, steps=400),
]


@pytest.mark.parametrize("settings", PAPER)
def test_a_repair_that_never_ends_in_time_changes_nothing(settings):
    plain = rows(settings, 4)
    never = rows(settings._replace(repair=LARGEST_TIME, rejoin=7 * S), 4)
    lacking = rows(settings._replace(repair=LARGEST_TIME, spares=3, swap=LARGEST_TIME), 4)
    for name in training.COLUMNS:
        if name not in ("out_steps", "spares_used", "spares_lacking"):
            assert (column(never, name) == column(plain, name)).all(), name
            assert (column(lacking, name) == column(plain, name)).all(), name
    assert (column(plain, "out_steps") == 0).all() and (column(never, "out_steps") > 0).all()


@pytest.mark.parametrize("settings", PAPER)
def test_a_repair_at_once_leaves_hardly_a_wipe_out(settings):
    plain, quick = (rows(s, 6) for s in (settings, settings._replace(repair=0)))
    assert column(plain, "restarts").sum() > 0
    assert column(quick, "restarts").sum() == 0
    assert (column(quick, "wall") < column(plain, "wall")).all()
    # everybody found is back at the next step, but for who is found as the last step ends, or waits to be handled
    left = column(quick, "failures") - column(quick, "returns")
    assert (left >= 0).all() and (left < 40).all()


@pytest.mark.parametrize("settings", PAPER)
@pytest.mark.parametrize("more", [{"repair": 2400 * S}, {"repair": 9000 * S, "spares": 20, "swap": 300 * S}])
def test_parts_add_up_and_counts_hang_together(settings, more):
    settings = settings._replace(rejoin=5 * S, restart=600 * S, **more)
    table = rows(settings, 5)
    assert (sum(column(table, name) for name in training.PARTS) == column(table, "wall")).all()
    assert (column(table, "finished") == 1).all()
    assert (column(table, "executed") == 400 + column(table, "rolled_back")).all()
    assert (table[:, len(training.COLUMNS) :].sum(axis=1) == column(table, "executed")).all()
    assert (column(table, "returns") > 100).all()
    assert (column(table, "rejoins") <= column(table, "returns")).all()
    assert (column(table, "shrink_total") >= column(table, "rejoins") * 5 * S).all()
    assert (column(table, "spares_used") <= settings.spares).all()


def test_groups_out_are_those_under_repair():
    """No wipe-out: a group is up for its mean life, then out for the repair and a step; the share of time it is out."""
    settings = paper_settings(
        "spare", "exponential", 60, 7, mean=LIFE * S, stack=S, allreduce=0, found_allreduce=0, shrink=0, save=0,
        steps=30_000, save_steps=30_000, sigma=0.0, repair=100 * S, rejoin=0,
    )  # fmt: skip
    table = rows(settings, 4)
    assert column(table, "restarts").sum() == 0
    found = column(table, "out_steps").sum() / column(table, "executed").sum()
    # a step of one or two stacks, and patches now and then: 1.5 s, give or take what the tolerance covers
    assert found == pytest.approx(60 * 101.5 / (LIFE + 101.5), rel=0.02)


@pytest.mark.parametrize("settings", PAPER)
def test_timeline_tells_of_returns(settings):
    settings = settings._replace(repair=3000 * S, spares=10, swap=100 * S)
    row, events = training.timeline(plan(settings), 1, 2)
    of = dict(zip(training.COLUMNS, row.tolist(), strict=False))
    kinds = [training.EVENTS[kind] for kind in events[:, 0]]
    assert kinds.count("return") == of["returns"] > 50 and kinds.count("failure") == of["failures"]
    out = set()
    for kind, (_, _, a, _) in zip(kinds, events.tolist(), strict=True):
        if kind == "failure":
            assert a not in out, "found failed while out"
            out.add(a)
        elif kind == "return":
            out.remove(a)
        elif kind == "restart":
            out.clear()
    moves = events[[kind == "rejoin" for kind in kinds]][:, 2].sum()
    assert moves == of["rejoin_moves"]


@pytest.mark.parametrize(
    "change", [{"repair": -2}, {"spares": -1}, {"swap": -1}, {"keep_depth": 1}, {"repair": LARGEST_TIME + 1}]
)
def test_settings_that_cannot_be_run_are_refused(change):
    with pytest.raises(ValueError, match=r"\w"):
        plan(paper_settings("replication", "exponential", 600, 3, **change))
    with pytest.raises(ValueError, match="nothing comes back"):
        plan(paper_settings("checkpoint-only", "exponential", 600, 1, repair=0))
    assert not paper_settings("spare", "exponential", 600, 3).elastic and NO_REPAIR == -1
