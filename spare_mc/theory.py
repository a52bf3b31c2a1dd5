"""Closed forms for SPARe, replication and checkpointing: no sampling, no layout.

Sources: Lee et al., "SPARe", ICML 2026, arXiv 2603.00357 (mu, the bound on the stack, J and its shortcut);
Saxena et al. 2024, arXiv 2410.18124 (checkpoint period and availability); Young 1974; process replication counted
on live processes. N groups, redundancy r, times in seconds. ``mu`` and the replication mean count the failure
that ends the life (the wipe-out index K_w = K + 1).
"""

import math

import numpy as np

from .arguments import not_negative, positive, size, whole
from .errors import UserError

TIMES_TO_FAILURE = ("wipeout", "paper")


def mu(groups, redundancy):
    """Mean index of the wipe-out failure, Gamma(1/r)/r * N**(1 - 1/r), treating shard types as independent.

    The paper's closed form; near the golomb layout (0.8 % low at N=600, r=9), not near other layouts.
    Parameters: ``groups`` N, ``redundancy`` r in 1..N. Returns float, failures including the wipe-out.
    """
    groups, redundancy = size(groups, redundancy)
    return math.gamma(1.0 + 1.0 / redundancy) * groups ** (1.0 - 1.0 / redundancy)


def least_stack_bound(failures, groups):
    """c(k) = ceil(N / (N - k)): no depth below it lets the N - k groups left compute all N types.

    ``failures`` k in 0..N-1: int, or an int array (returns int64 of its shape).
    """
    groups = whole("groups", groups, 1)
    k = np.asarray(failures)
    if k.dtype.kind not in "iu" or k.size and (k.min() < 0 or k.max() >= groups):
        raise UserError(f"failures = {failures!r}: must be integers from 0 to groups - 1 = {groups - 1}")
    bound = -(-groups // (groups - k.astype(np.int64)))
    return bound if k.ndim else int(bound)


def mean_least_stack_bound(groups, redundancy):
    """The paper's bound on the mean stack: the mean of c(k) over k < floor(mu(N, r)). Float >= 1."""
    lives = math.floor(mu(groups, redundancy))
    total, depth = lives, 1
    # c(k) > depth exactly when N - k <= (N - 1) // depth: one term a depth instead of one a failure.
    while (beyond := lives - groups + (groups - 1) // depth) > 0:
        total += beyond
        depth += 1
    return total / lives


def mean_least_stack(survival):
    """Mean of c(k) over a life, sum of P(k) c(k) / sum of P(k): no layout of this survival has a lower mean stack.

    ``survival`` float64[N+1], P(k) = Pr[K_w > k] (see ``spare_mc.exact``).
    """
    survival = _curve(survival)
    groups = survival.shape[0] - 1
    alive = survival[:-1]
    return float(alive @ least_stack_bound(np.arange(groups), groups) / alive.sum())


def checkpoint_period(save_time, restart_time, time_to_failure):
    """Period T_c [s], the save included, of the best ``availability`` (Saxena et al. 2024).

    T_c = T_s + sqrt(T_s**2 + 2 T_s (T_f + T_r)) for save time T_s, restart time T_r, mean time to failure T_f [s].
    """
    save, restart, failure = _checkpoint_times(save_time, restart_time, time_to_failure)
    return save + math.sqrt(save * save + 2.0 * save * (failure + restart))


def availability(period, save_time, restart_time, time_to_failure):
    """Share of the time that becomes progress, A(T_c) = 2 T_f (T_c - T_s) / (T_c (2 T_f + 2 T_r + T_c)).

    Counts saving and rework as lost (Saxena et al. 2024). All times [s]; ``period`` T_c includes the save.
    """
    save, restart, failure = _checkpoint_times(save_time, restart_time, time_to_failure)
    period = positive("period", period)
    if period < save:
        raise UserError(f"period = {period:g}: must be at least save_time = {save:g}, which it includes")
    return 2.0 * failure * (period - save) / (period * (2.0 * failure + 2.0 * restart + period))


def best_availability(save_time, restart_time, time_to_failure):
    """A*(T_f): the ``availability`` at its best period. Times [s]; float in (0, 1]."""
    period = checkpoint_period(save_time, restart_time, time_to_failure)
    if period == 0.0:  # saving costs nothing: save all the time
        return time_to_failure / (time_to_failure + restart_time)
    return availability(period, save_time, restart_time, time_to_failure)


def cost(mean_stack, save_time, restart_time, time_to_failure):
    """J = S_bar / A*(T_f): time per unit of progress, in stacks. ``mean_stack`` S_bar >= 1; times [s]."""
    return positive("mean_stack", mean_stack) / best_availability(save_time, restart_time, time_to_failure)


def redundancy_costs(
    groups, system_mtbf, save_time, restart_time, redundancies=None, time_to_failure="wipeout"
):
    """J(r) for each r, with the paper's bound for S_bar and the golomb layout's life.

    Parameters
    ----------
    groups : N
    system_mtbf, save_time, restart_time : [s]
    redundancies : r to look at; by default all for which a golomb layout is possible, r (r - 1) <= N - 1
    time_to_failure : "wipeout" for ``independent_time_to_wipeout``; "paper" for the shorter mu * system_mtbf

    Returns
    -------
    dict of r to J, in the order of r
    """
    groups = whole("groups", groups, 2)
    system_mtbf = positive("system_mtbf", system_mtbf)
    if time_to_failure not in TIMES_TO_FAILURE:
        raise UserError(
            f"time_to_failure = {time_to_failure!r}: must be one of {', '.join(TIMES_TO_FAILURE)}"
        )
    if redundancies is None:
        redundancies = range(1, (1 + math.isqrt(4 * groups - 3)) // 2 + 1)
    costs = {}
    for r in redundancies:
        if time_to_failure == "paper":
            life = mu(groups, r) * system_mtbf
        else:
            # Without redundancy the first failure ends the life, and types are anything but independent.
            life = system_mtbf if r == 1 else independent_time_to_wipeout(groups, r, system_mtbf)
        costs[r] = cost(mean_least_stack_bound(groups, r), save_time, restart_time, life)
    return costs


def best_redundancy(groups, system_mtbf, save_time, restart_time, time_to_failure="wipeout"):
    """The r of least J (see ``redundancy_costs``), the smaller of equals. Times [s]."""
    costs = redundancy_costs(groups, system_mtbf, save_time, restart_time, None, time_to_failure)
    return min(costs, key=costs.get)


def redundancy_shortcut(groups):
    """The paper's shortcut for the best r, floor(log2 N + 0.833); at most N."""
    groups = whole("groups", groups, 1)
    return min(groups, math.floor(math.log2(groups) + 0.833))


def replication_failures_to_interruption(groups, redundancy):
    """Mean failures to the loss of a whole block under process replication, the interrupting one included.

    n = N / r blocks of g = r groups, failures strike live groups only:
    (n g + 1) Gamma(1 + 1/g) Gamma(n + 1) / Gamma(n + 1 + 1/g); exact. Float, relative error below 1e-13.
    The form needs equal blocks: where r does not divide N, sum ``exact.survival_curve`` of the partition.
    """
    groups, redundancy = size(groups, redundancy)
    if groups % redundancy:
        raise UserError(
            f"redundancy = {redundancy}: must divide groups = {groups} for equal blocks; "
            "exact.mean_endurable(Layout.partition(...)) takes a smaller last block"
        )
    share = 1.0 / redundancy
    ratio = math.exp(-_log_gamma_step(groups // redundancy + 1, share))
    return (groups + 1) * math.gamma(1.0 + share) * ratio


def young_period(save_time, time_to_failure):
    """Young's compute time between saves, sqrt(2 T_s T_f) [s]; the save is not included."""
    save = positive("save_time", save_time)
    return math.sqrt(2.0 * save * positive("time_to_failure", time_to_failure))


def exponential_period(save_time, time_to_failure):
    """Compute time between saves [s] that is exactly optimal for exponential failures; the save is not included.

    W = T_f (1 + L0(-exp(-T_s/T_f - 1))) with Lambert's L0, found as the root u = W/T_f of
    -u - ln(1 - u) = T_s/T_f, which keeps its digits where L0 is evaluated next to its branch point.
    """
    save, failure = positive("save_time", save_time), positive("time_to_failure", time_to_failure)
    ratio = save / failure
    if ratio > 40.0:  # L0 is below the last digit
        return failure
    # Starts above the root of a convex function (Young's value from below a ratio of 1/2), so Newton falls to it.
    low, high = 0.0, -math.expm1(-ratio - 1.0)
    u = min(math.sqrt(2.0 * ratio), high)
    for _ in range(100):
        excess = _log_excess(u) - ratio
        low, high = (low, u) if excess > 0.0 else (u, high)
        step = u - excess * (1.0 - u) / u
        step = step if low <= step <= high else 0.5 * (low + high)
        if step == u:
            break
        u = step
    return failure * u


def time_to_wipeout(survival, system_mtbf, law="exponential", shape=None):
    """Expected time to wipe-out [s] of groups that all start fresh, from a layout's survival curve.

    Parameters
    ----------
    survival : float64[N+1], P(k) = Pr[K_w > k] with P(0) = 1 and P(N) = 0 (``spare_mc.exact``, or sampled)
    system_mtbf : m [s]; a group's mean lifetime is N m
    law, shape : of group lifetimes, see ``spare_mc.laws.law``; ``failure_model.time_to_wipeout`` takes a study's

    Sum over k of Pr[K_w = k] E[k-th smallest of N lifetimes]; for exponentials that is the sum of P(k) m N/(N - k).
    """
    from .laws import law as make
    from .order_times import order_means

    survival = _curve(survival)
    groups = survival.shape[0] - 1
    lifetime = make(law, positive("system_mtbf", system_mtbf) * groups, shape)
    ends = survival[:-1] - survival[1:]
    likely = np.flatnonzero(
        ends > 1e-18
    )  # all the others together weigh below 1e-12 of the mean at N = 600,000
    return float(ends[likely] @ order_means(groups, likely + 1, lifetime))


def independent_time_to_wipeout(groups, redundancy, system_mtbf):
    """Expected time to wipe-out [s] with types treated as independent, for exponential lifetimes.

    The ``time_to_wipeout`` of ``exact.independent_types_curve``, some 0.3 % above the golomb layout's at N=600, but
    on at most 4,097 values of k: a relative 1e-6 off beyond that many groups. Float; ``system_mtbf`` [s].
    """
    from scipy.special import digamma

    from .exact_binomial import log_all_failed

    groups, redundancy = size(groups, redundancy)
    system_mtbf = positive("system_mtbf", system_mtbf)
    # P is 1 while N C(N-r, k-r)/C(N, k) <= N (k/N)^r is below e^-40, and 0 once N ((k-r)/(N-r))^r exceeds e^4.
    first = math.floor(groups * math.exp((-40.0 - math.log(groups)) / redundancy))
    share = math.exp(min(0.0, (4.0 - math.log(groups)) / redundancy))
    last = min(groups, math.ceil(redundancy + (groups - redundancy) * share))
    k = np.unique(np.linspace(first, last, min(last - first, 4096) + 1).round())
    with np.errstate(divide="ignore"):
        survival = np.exp(groups * np.log1p(-np.exp(log_all_failed(k, groups, redundancy))))
    survival[0], survival[-1] = 1.0, 0.0
    middle = (k[:-1] + 1.0 + k[1:]) / 2.0  # of the failures that may be the last, k[i] + 1 .. k[i+1]
    times = digamma(groups + 1.0) - digamma(groups - middle + 1.0)
    return float(system_mtbf * groups * np.sum((survival[:-1] - survival[1:]) * times))


def _log_excess(u):
    """-u - ln(1 - u) for 0 <= u < 1."""
    if u > 0.1:
        return -u - math.log1p(-u)
    return math.fsum(u**k / k for k in range(2, 20))  # the difference would cancel


def _log_gamma_step(x, step):
    """ln Gamma(x + step) - ln Gamma(x) for x >= 1 and 0 <= step <= 1, without cancelling."""
    if x < 16:
        return math.lgamma(x + step) - math.lgamma(x)

    def tail(z):  # Stirling's series
        return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * z * z)) / (z * z)) / (z * z)) / z

    return (x - 0.5) * math.log1p(step / x) + step * math.log(x + step) - step + tail(x + step) - tail(x)


def _checkpoint_times(save_time, restart_time, time_to_failure):
    return (
        not_negative("save_time", save_time),
        not_negative("restart_time", restart_time),
        positive("time_to_failure", time_to_failure),
    )


def _curve(survival):
    survival = np.asarray(survival, dtype=np.float64)
    if survival.ndim != 1 or survival.shape[0] < 2 or not np.all((survival >= 0.0) & (survival <= 1.0)):
        raise UserError("survival: must be P(0)..P(N), N + 1 probabilities")
    if survival[0] != 1.0 or survival[-1] != 0.0:
        raise UserError(f"survival: must start at 1 and end at 0, not {survival[0]:g} and {survival[-1]:g}")
    return survival
