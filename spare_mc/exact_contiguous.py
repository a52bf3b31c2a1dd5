"""The contiguous layout's survival curve in floats, for any N: P and 1 - P, each to nearly full relative accuracy.

n = N - k survivors cut the circle of N into n runs of failures. With runs drawn as independent geometric numbers
conditioned on the sum k, the layout survives when all runs stay below r:

    P(k) = [x^k] ((1 - x^r)/(1 - x))^n / [x^k] (1 - x)^-n

Three forms share the range, none with terms that cancel:

few survivors   integers, by inclusion and exclusion over long runs, divided once
loss rare       the same sum for 1 - P in floats while its first term is at most 1: the terms then fall at once
the rest        the upper coefficient as Cauchy's integral over a circle through the saddle point, where the series'
                terms are probabilities: the trapezoid rule on it is exact but for aliases beyond 13 standard deviations
"""

from math import comb

import numpy as np

from .exact_binomial import log_all_failed, log_binomial

FEW = 64  # survivors up to which integers are used
_RARE = 1.0
_LEAST_LOG = -700.0  # P below e^-700 is told as 0
_CHUNK = 4096


def contiguous_pair(groups, redundancy):
    """P(k) and 1 - P(k) for k = 0..N: two float64[N+1].

    Relative error of each below 1e-11 up to N = 600,000 (1e-12 was the worst found); values of P below 1e-300 are 0.
    """
    survive, lose = np.zeros(groups + 1), np.ones(groups + 1)
    r = redundancy
    first = min(r, groups)
    survive[:first], lose[:first] = 1.0, 0.0  # fewer than r failures never lose
    if r == 1 or groups == r:
        return survive, lose
    few_from = max(first, groups - FEW)
    last = groups - -(-groups // r)  # every r-th group at least must survive
    for k in range(few_from, last + 1):
        survive[k], lose[k] = _by_integers(groups, r, k)
    k = np.arange(first, min(few_from, last + 1), dtype=np.float64)
    if k.size == 0:
        return survive, lose
    expected = np.log(groups - k) + log_all_failed(k, groups - 1, r)  # ln of the mean number of runs >= r
    rare = int(np.searchsorted(expected, np.log(_RARE), side="right"))
    for start in range(0, rare, _CHUNK):
        part = slice(start, min(start + _CHUNK, rare))
        at = slice(first + part.start, first + part.stop)
        lose[at] = _rare_loss(groups, r, k[part])
        survive[at] = 1.0 - lose[at]
    for start in range(rare, k.size, _CHUNK):
        part = k[start : start + _CHUNK]
        at = slice(first + start, first + start + part.size)
        survive[at] = _by_circle(groups, r, part)
        lose[at] = 1.0 - survive[at]
        if survive[at.stop - 1] == 0.0:  # P never rises
            survive[at.stop : groups + 1], lose[at.stop : groups + 1] = 0.0, 1.0
            break
    return survive, lose


def _by_integers(groups, r, k):
    """P and 1 - P, each rounded once."""
    n = groups - k
    lost = 0
    for j in range(1, min(n, k // r) + 1):
        lost -= (-1) ** j * comb(n, j) * comb(groups - 1 - r * j, n - 1)
    total = comb(groups - 1, n - 1)
    return (total - lost) / total, lost / total


def _rare_loss(groups, r, k):
    """Alternating sum over j runs of at least r among n: C(n, j) C(N-1-rj, n-1)/C(N-1, n-1)."""
    n = groups - k
    total, log_ways = np.zeros_like(k), np.zeros_like(k)
    for j in range(1, int(k[-1] // r) + 1):
        with np.errstate(divide="ignore"):
            log_ways = log_ways + np.log(np.maximum(n - j + 1, 0.0) / j)
        term = np.exp(log_ways + log_all_failed(k, groups - 1, np.full_like(k, r * j)))
        total += term if j % 2 else -term
        if np.all(term <= 1e-18 * total):
            break
    return total


def _by_circle(groups, r, k):
    """P(k) for float whole k, n = N - k > FEW; 0 below e^-700."""
    n = groups - k
    mirrored = 2.0 * k > n * (r - 1)  # the coefficients of (1 + .. + x^(r-1))^n are symmetric
    m = np.where(mirrored, n * (r - 1) - k, k)
    y, deviation = _saddle(m / n, r)
    x, one_less = np.exp(y), -np.expm1(y)
    power, power_less = np.exp(r * y), -np.expm1(r * y)
    sigma = deviation * np.sqrt(n)
    integral = _circle_mean(m, n, r, x, one_less, power, power_less, sigma)
    log_last = n * np.where(power < 0.5, np.log1p(-power), np.log(power_less))
    value = np.where(
        mirrored,
        # Coefficient through x, binomial through its own mean: no common terms to cancel, and n is small here.
        log_last
        - n * np.log(one_less)
        - m * y
        + k * np.log(k / (groups - 1))
        + (n - 1) * np.log((n - 1) / (groups - 1))
        - log_binomial(k, groups - 1, k / (groups - 1), (n - 1) / (groups - 1)),
        log_last - np.log(one_less) - log_binomial(k, groups - 1, x, one_less),
    )
    value = value + np.log(integral)
    return np.where(value < _LEAST_LOG, 0.0, np.exp(np.minimum(value, 0.0)))


def _saddle(mean, r):
    """ln x (at most just below 0) at which runs cut at r - 1 have this mean (<= (r-1)/2), and their deviation.

    Newton's steps on a convex rising function: after the first they fall to the root. Any radius is right; a near
    miss costs digits only by its distance in standard deviations.
    """
    top = -1e-4 / r  # nearer to 0 the formulas cancel, and the saddle is as flat as makes no difference
    least = 1e-3 / max(r, 1000)
    mean = np.maximum(mean, least * 1e-6)
    y = np.minimum(np.log(mean) - np.log1p(mean), top)
    for _ in range(40):
        value, variance = _moments(y, r)
        step = (value - mean) / variance
        y = np.minimum(y - step, top)
        if np.all(np.abs(step) * np.sqrt(variance) < 1e-4):
            break
    return y, np.sqrt(_moments(y, r)[1])


def _moments(y, r):
    x, less = np.exp(y), -np.expm1(y)
    power, power_less = np.exp(r * y), -np.expm1(r * y)
    mean = x / less - r * power / power_less
    return mean, x / (less * less) - r * r * power / (power_less * power_less)


def _circle_mean(m, n, r, x, one_less, power, power_less, sigma):
    """Mean over the circle of (A(x e^it)/A(x))^n e^(-imt), A = 1 + .. + z^(r-1): the probability of the sum m."""
    points = np.ceil(13.0 * sigma) + 30.0
    # Of numbers cut at r, the geometric has the slowest characteristic function: (1 + t^2)^(-1/2), t in deviations.
    reach = np.sqrt(n * np.expm1(np.log(10.0) * 36.0 / n))
    half = np.floor(points / 2.0)
    # Below a deviation of 7 a sum is no bell yet, and its function need not have faded within reach: all points.
    steps = np.where(sigma < 7.0, half, np.minimum(half, np.ceil(reach / sigma * points / (2.0 * np.pi))))
    total = np.ones_like(m)
    block = max(1, (1 << 18) // m.size)
    for start in range(1, int(steps.max()) + 1, block):
        j = np.arange(start, min(start + block, int(steps.max()) + 1), dtype=np.float64)[:, None]
        angle = j * (2.0 * np.pi / points)
        log_size, turn = _log_ratio(angle, x, one_less)
        log_size_r, turn_r = _log_ratio(r * angle, power, power_less)
        value = np.exp(n * (log_size_r - log_size)) * np.cos(n * (turn_r - turn) - m * angle)
        weight = np.where(j <= steps, np.where(2.0 * j == points, 1.0, 2.0), 0.0)
        total += (weight * value).sum(axis=0)
    return total / points


def _log_ratio(angle, x, one_less):
    """ln |(1 - x e^it)/(1 - x)| and the argument of 1 - x e^it, each with its own digits for small t."""
    half = np.sin(0.5 * angle)
    square = 2.0 * x * half * half
    return 0.5 * np.log1p(2.0 * square / (one_less * one_less)), np.arctan2(
        -x * np.sin(angle), one_less + square
    )
