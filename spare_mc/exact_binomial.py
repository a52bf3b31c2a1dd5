"""Binomial probabilities that keep their digits at N of a million.

Differences of log-factorials lose seven digits there. The form of C. Loader, "Fast and accurate computation of binomial
probabilities" (2000), has no large terms that cancel.
"""

import math

import numpy as np

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
# ln n! less Stirling's first three terms, for n = 0..15; entry 0 is never used with its pole.
_SMALL = np.array(
    [0.0] + [math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - _HALF_LOG_2PI for n in range(1, 16)]
)


def stirling_rest(n):
    """ln n! - ((n + 1/2) ln n - n + ln(2 pi)/2) for whole n >= 1 given as floats; absolute error below 1e-15."""
    n = np.asarray(n, dtype=np.float64)
    big = np.maximum(n, 16.0)
    inverse = 1.0 / (big * big)
    series = (
        1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - inverse / 1188) * inverse) * inverse) * inverse
    ) / big
    return np.where(n < 16.0, _SMALL[np.minimum(n, 15.0).astype(np.int64)], series)


def deviance(x, mean):
    """x ln(x/mean) + mean - x for x > 0, mean > 0, accurate where they are close."""
    v = (x - mean) / (x + mean)
    square = v * v
    series = np.zeros_like(v)
    for j in range(11, 0, -1):  # 2 x (v^3/3 + v^5/5 + ..), enough digits for |v| < 0.1
        series = (series + 1.0 / (2 * j + 1)) * square
    near = (x - mean) * v + 2.0 * x * v * series
    with np.errstate(divide="ignore", invalid="ignore"):
        far = x * np.log(x / mean) + mean - x
    return np.where(np.abs(v) < 0.1, near, far)


def log_binomial(k, n, p, q):
    """ln of C(n, k) p^k q^(n-k), for whole 0 <= k <= n as float arrays and p + q = 1, both > 0.

    Relative error of the probability: about 1e-15 times (1 + |its logarithm|).
    """
    k, n, p, q = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (k, n, p, q)))
    inner = (k > 0) & (k < n)
    ks, left = np.where(inner, k, 1.0), np.where(inner, n - k, 1.0)
    ns = ks + left
    value = (
        stirling_rest(ns)
        - stirling_rest(ks)
        - stirling_rest(left)
        - deviance(ks, ns * p)
        - deviance(left, ns * q)
        + 0.5 * np.log(ns / ks / left)
        - _HALF_LOG_2PI
    )
    value = np.where(inner, value, np.where(k > 0, n * _log_complement(p, q), n * _log_complement(q, p)))
    return value


def _log_complement(p, q):
    """ln p, from q = 1 - p where that has the digits."""
    return np.where(p < 0.5, np.log(p), np.log1p(-q))


def log_all_failed(failures, groups, hosts):
    """ln of C(N-u, k-u)/C(N, k), the chance that u given groups are among k failed ones; -inf for k < u.

    ``failures`` k and ``hosts`` u broadcast (0 <= u <= N, 0 <= k <= N); float64.
    """
    k = np.asarray(failures, dtype=np.float64)
    u = np.asarray(hosts, dtype=np.float64)
    sure = (u == 0) | (k == groups)
    inner = (k >= u) & ~sure
    ks, us, n = np.where(inner, k, 1.0), np.where(inner, u, 0.0), max(groups, 2)
    p, q = ks / n, (n - ks) / n
    value = us * _log_complement(p, q) + log_binomial(ks - us, n - us, p, q) - log_binomial(ks, n, p, q)
    return np.where(inner, np.minimum(value, 0.0), np.where(sure, 0.0, -np.inf))
