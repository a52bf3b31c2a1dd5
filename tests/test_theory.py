"""Closed forms against the published figures, brute force, quadrature and library functions."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import lambertw

from spare_mc import exact, theory
from spare_mc.errors import UserError

SAVE, RESTART, MTBF = 58.8235, 3600.0, 300.0


@pytest.mark.parametrize(("groups", "redundancy", "printed"), [(600, 9, 279.13), (600, 20, 424.21)])
def test_mu_meets_the_papers_figures(groups, redundancy, printed):
    assert theory.mu(groups, redundancy) == pytest.approx(printed, abs=0.005)


def test_mu_is_exact_without_redundancy_and_near_independent_types():
    assert theory.mu(600, 1) == 1.0
    assert theory.mu(2, 2) == pytest.approx(math.gamma(0.5) / 2 * 2**0.5)
    curve = exact.independent_types_curve(600, 9)
    assert theory.mu(600, 9) == pytest.approx(curve.sum(), rel=0.01)  # both count the wipe-out failure


def test_least_stack_bound_is_the_smallest_depth_with_room_for_all_types():
    groups = 23
    for k in range(groups):
        depth = theory.least_stack_bound(k, groups)
        assert depth * (groups - k) >= groups > (depth - 1) * (groups - k)
    bounds = theory.least_stack_bound(np.arange(groups), groups)
    assert bounds.tolist() == [math.ceil(groups / (groups - k)) for k in range(groups)]


@pytest.mark.parametrize("groups", [2, 3, 10, 200, 600, 1000])
def test_mean_least_stack_bound_is_the_mean_it_says(groups):
    for r in {1, 2, 3, min(9, groups), groups // 2, groups} - {0}:
        if r > groups:
            continue
        lives = math.floor(theory.mu(groups, r))
        mean = sum(-(-groups // (groups - k)) for k in range(lives)) / lives
        assert theory.mean_least_stack_bound(groups, r) == pytest.approx(mean, rel=1e-14)


def test_mean_least_stack_weighs_by_survival():
    assert theory.mean_least_stack([1.0, 0.5, 0.25, 0.0]) == pytest.approx((1 + 0.5 * 2 + 0.25 * 3) / 1.75)
    # N=600, r=9: golomb attains c(k) at all but 0.02 % of the failures, and its mean depth is 2.017
    assert theory.mean_least_stack(exact.independent_types_curve(600, 9)) == pytest.approx(2.017, abs=0.002)


@pytest.mark.parametrize("life", [300.0, 5000.0, 279 * MTBF, 1e7])
@pytest.mark.parametrize("restart", [0.0, RESTART])
def test_checkpoint_period_is_where_availability_is_best(life, restart):
    best = minimize_scalar(
        lambda log: -theory.availability(math.exp(log), SAVE, restart, life),
        bounds=(math.log(SAVE), math.log(1e9)),
        method="bounded",
        options={"xatol": 1e-12},
    )
    period = theory.checkpoint_period(SAVE, restart, life)
    assert period == pytest.approx(math.exp(best.x), rel=1e-5)
    assert theory.best_availability(SAVE, restart, life) == pytest.approx(-best.fun, rel=1e-12)
    assert 0.0 < theory.best_availability(SAVE, restart, life) < 1.0


def test_availability_by_hand_and_when_saving_is_free():
    # 2 * 100 * (30 - 10) / (30 * (200 + 40 + 30))
    assert theory.availability(30.0, 10.0, 20.0, 100.0) == pytest.approx(4000 / 8100)
    assert theory.best_availability(0.0, 20.0, 100.0) == pytest.approx(100 / 120)
    assert theory.best_availability(1e-9, 20.0, 100.0) == pytest.approx(100 / 120, rel=1e-4)
    assert theory.availability(10.0, 10.0, 20.0, 100.0) == 0.0


def test_cost_divides_the_stack_by_availability():
    assert theory.cost(2.0, SAVE, RESTART, 1e5) == 2.0 / theory.best_availability(SAVE, RESTART, 1e5)


@pytest.mark.parametrize(("groups", "best"), [(200, 8), (600, 10), (1000, 10)])
def test_best_redundancy_of_the_paper_and_its_shortcut(groups, best):
    assert theory.redundancy_shortcut(groups) == best
    assert theory.best_redundancy(groups, MTBF, SAVE, RESTART, time_to_failure="paper") == best
    costs = theory.redundancy_costs(groups, MTBF, SAVE, RESTART)
    assert theory.best_redundancy(groups, MTBF, SAVE, RESTART) == min(costs, key=costs.get)
    # Redundancies without a golomb layout are not offered: r (r - 1) differences, N - 1 residues.
    assert max(costs) * (max(costs) - 1) <= groups - 1 < (max(costs) + 1) * max(costs)
    assert min(costs) == 1


def test_redundancy_costs_follow_the_definition():
    costs = theory.redundancy_costs(200, MTBF, SAVE, RESTART, [3, 8], "paper")
    assert list(costs) == [3, 8]
    for r, found in costs.items():
        life = theory.mu(200, r) * MTBF
        period = SAVE + math.sqrt(SAVE**2 + 2 * SAVE * (life + RESTART))
        share = 2 * life * (period - SAVE) / (period * (2 * life + 2 * RESTART + period))
        assert found == pytest.approx(theory.mean_least_stack_bound(200, r) / share, rel=1e-13)
    longer = theory.redundancy_costs(200, MTBF, SAVE, RESTART, [8])[8]
    assert longer < costs[8]  # survivors fail more rarely than mu * m supposes


def test_replication_meets_its_reference_and_exact_counts():
    assert theory.replication_failures_to_interruption(600, 3) == pytest.approx(91.669336, abs=5e-7)
    for groups, r in [(6, 1), (6, 2), (6, 6), (60, 4), (600, 8), (1000, 2)]:
        mean = 1 + exact.mean_from_counts(exact.partition_counts(groups, r))
        assert theory.replication_failures_to_interruption(groups, r) == pytest.approx(float(mean), rel=1e-13)


@pytest.mark.parametrize("copies", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("blocks", [1, 14, 15, 16, 600_000])
def test_replication_is_stable_up_to_600000_blocks(blocks, copies):
    # Gamma(1+a) Gamma(n+1) / Gamma(n+1+a) = prod over j of j / (j + a)
    logs = math.fsum((-np.log1p(1.0 / copies / np.arange(1, blocks + 1))).tolist())
    wanted = (blocks * copies + 1) * math.exp(logs)
    found = theory.replication_failures_to_interruption(blocks * copies, copies)
    assert found == pytest.approx(wanted, rel=1e-13)


def test_replication_says_when_blocks_are_unequal():
    with pytest.raises(UserError, match="redundancy = 7: must divide groups = 600"):
        theory.replication_failures_to_interruption(600, 7)


def test_young_period():
    assert theory.young_period(50.0, 1e4) == 1000.0


@pytest.mark.parametrize("ratio", [1e-4, 6e-4, 0.02, 0.2, 1.0, 3.0, 30.0])
def test_exponential_period_by_lambert_w_and_as_the_least_expected_time(ratio):
    life = 1234.0
    period = theory.exponential_period(ratio * life, life)
    assert period == pytest.approx(life * (1 + lambertw(-math.exp(-ratio - 1)).real), rel=1e-9)
    # Expected time per unit of work with exponential failures is proportional to (e^((W + T_s)/T_f) - 1) / W.
    slow = [math.expm1(w / life + ratio) / w for w in (0.99 * period, period, 1.01 * period)]
    assert slow[1] < min(slow[0], slow[2])


def test_exponential_period_keeps_its_digits_at_both_ends():
    for ratio in (1e-14, 1e-9, 1e-5):
        u = theory.exponential_period(ratio, 1.0)
        root = math.sqrt(2 * ratio)  # series of the root of u^2/2 + u^3/3 + .. = ratio
        assert u == pytest.approx(root - root**2 / 3 + root**3 / 36, rel=2 * root**3 + 1e-14)
    assert theory.exponential_period(1e6, 1.0) == 1.0


def life_by_quadrature(blocks, copies, shape, mean):
    """Mean time to the loss of a block whose lifetimes are Weibull: the integral of (1 - F(t)^g)^n."""
    scale = mean / math.gamma(1 + 1 / shape)
    log_time = np.linspace(math.log(mean) - 60, math.log(mean) + 8, 20_001)
    failed = -np.expm1(-((np.exp(log_time) / scale) ** shape))
    with np.errstate(divide="ignore"):
        alive = np.exp(blocks * np.log1p(-(failed**copies)))
    return float(np.sum(alive * np.exp(log_time)) * (log_time[1] - log_time[0]))  # smooth, 0 at both ends


@pytest.mark.parametrize("shape", [None, 1.0, 0.78, 2.5])
@pytest.mark.parametrize(("blocks", "copies"), [(1, 1), (1, 7), (5, 1), (75, 8), (100, 2)])
def test_time_to_wipeout_of_blocks_by_quadrature(blocks, copies, shape):
    groups = blocks * copies
    curve = exact.partition_curve(groups, copies)
    law = "exponential" if shape is None else "weibull"
    found = theory.time_to_wipeout(curve, MTBF, law, shape)
    assert found == pytest.approx(life_by_quadrature(blocks, copies, shape or 1.0, MTBF * groups), rel=1e-9)


def test_time_to_wipeout_exceeds_mu_failures_as_the_survivors_get_fewer():
    # N=600, r=9: 279 m counted in failures, 382 m in time for golomb (0.6 % below independent types)
    curve = exact.independent_types_curve(600, 9)
    assert theory.time_to_wipeout(curve, 1.0) == pytest.approx(382, rel=0.01)


@pytest.mark.parametrize(
    ("groups", "redundancy", "error"),
    [(2, 1, 1e-13), (2, 2, 1e-13), (7, 7, 1e-13), (600, 1, 1e-11), (600, 9, 1e-11), (600, 600, 1e-11)]
    + [(20_000, r, 1e-6) for r in (1, 2, 9, 140, 5000)],
)
def test_time_to_wipeout_of_independent_types_is_that_of_their_curve(groups, redundancy, error):
    whole = theory.time_to_wipeout(exact.independent_types_curve(groups, redundancy), MTBF)
    assert theory.independent_time_to_wipeout(groups, redundancy, MTBF) == pytest.approx(whole, rel=error)


REFUSED = [
    (lambda: theory.mu(0, 1), "groups = 0"),
    (lambda: theory.mu(10, 11), "redundancy = 11"),
    (lambda: theory.mu(10, 2.0), "redundancy = 2.0"),
    (lambda: theory.mu(10, True), "redundancy = True"),
    (lambda: theory.least_stack_bound(10, 10), "failures = 10"),
    (lambda: theory.least_stack_bound([0, -1], 10), "failures = [0, -1]"),
    (lambda: theory.checkpoint_period(-1, 0, 1), "save_time = -1"),
    (lambda: theory.checkpoint_period(1, math.nan, 1), "restart_time = nan"),
    (lambda: theory.checkpoint_period(1, 0, 0), "time_to_failure = 0"),
    (lambda: theory.availability(5.0, 10.0, 0.0, 1.0), "period = 5"),
    (lambda: theory.cost(0.0, 1.0, 1.0, 1.0), "mean_stack = 0.0"),
    (lambda: theory.redundancy_costs(10, 1, 1, 1, None, "mu"), "time_to_failure = 'mu'"),
    (lambda: theory.redundancy_costs(10, 1, 1, 1, [11]), "redundancy = 11"),
    (lambda: theory.best_redundancy(10, "5 min", 1, 1), "system_mtbf = '5 min'"),
    (lambda: theory.young_period(0, 1), "save_time = 0"),
    (lambda: theory.exponential_period(1, -1), "time_to_failure = -1"),
    (lambda: theory.time_to_wipeout([1.0, 0.5], 1.0), "survival: must start at 1 and end at 0"),
    (lambda: theory.time_to_wipeout([1.0, 1.5, 0.0], 1.0), "survival"),
    (lambda: theory.time_to_wipeout([1.0, 0.5, 0.0], 1.0, "weibull"), "shape is missing"),
]


@pytest.mark.parametrize(("call", "named"), REFUSED, ids=[named for _, named in REFUSED])
def test_bad_arguments_are_named_in_one_line(call, named):
    with pytest.raises(UserError) as told:
        call()
    assert named in str(told.value) and "\n" not in str(told.value)
