"""Intervals of means, ratios, proportions and differences, from counts.

Nothing here knows what was counted. Sums and squares come in as Python integers and stay integers until one
division at the end: a sum of squares kept in doubles cancels, and then deviations come out tenfold wrong or
as NaN.
"""

from fractions import Fraction
from math import log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from . import student


class Estimate(NamedTuple):
    """A value with its interval.

    Attributes
    ----------
    mean : the estimate
    low, high : ends of the interval; None where one observation (or none) gives no width
    std : standard deviation per trial (per run); ``std / sqrt(trials)`` is the standard error; None as above
    """

    mean: float | None
    low: float | None
    high: float | None
    std: float | None


def _half_widths(trials, confidence):
    """Two-sided Student quantile over sqrt(trials)."""
    return student.two_sided(trials - 1, confidence) / sqrt(trials)


def _around(mean, std, trials, confidence, within):
    """Student interval of given mean and deviation, cut to the range the quantity can take."""
    half = std * _half_widths(trials, confidence)
    low, high = mean - half, mean + half
    if within[0] is not None:
        low = max(low, within[0])
    if within[1] is not None:
        high = min(high, within[1])
    return Estimate(mean, low, high, std)


def mean_interval(trials, total, squares, confidence=0.95, within=(None, None)):
    """Mean of ``trials`` integers with a Student interval.

    Parameters
    ----------
    trials, total, squares : Python ints: how many, their sum, the sum of their squares (any size, exact)
    confidence : two-sided, between 0 and 1
    within : lowest and highest value the mean can take, None where open

    Returns
    -------
    Estimate; without width for one trial; ValueError for none.
    """
    trials, total, squares = int(trials), int(total), int(squares)
    if trials < 1:
        raise ValueError("no trials, no mean")
    mean = float(Fraction(total, trials))
    if trials == 1:
        return Estimate(mean, None, None, None)
    spread = trials * squares - total * total
    if spread < 0:
        raise ValueError(f"sum of squares {squares} is too small for {trials} values of sum {total}")
    return _around(mean, sqrt(Fraction(spread, trials * (trials - 1))), trials, confidence, within)


def sample_interval(values, weights=None, confidence=0.95):
    """Mean of real values with a Student interval: two passes, deviations taken from the mean.

    Parameters
    ----------
    values : float64[n]
    weights : int64[n], how often each value occurred; once if None
    """
    values = np.asarray(values, np.float64)
    weights = np.ones(len(values), np.int64) if weights is None else np.asarray(weights, np.int64)
    trials = int(weights.sum())
    if trials < 1:
        raise ValueError("no trials, no mean")
    start = float(np.average(values, weights=weights))
    mean = start + float(np.dot(weights, values - start)) / trials
    if trials == 1:
        return Estimate(mean, None, None, None)
    std = sqrt(float(np.dot(weights, (values - mean) ** 2)) / (trials - 1))
    return _around(mean, std, trials, confidence, (None, None))


def ratio_interval(trials, a, b, aa, ab, bb, confidence=0.95, within=(None, None)):
    """Ratio of two sums over trials, ``a / b``, with a delta-method interval.

    What one trial adds to both sums may be correlated in any way: only trials are taken as independent. The
    variance is that of ``a_i - R b_i`` over the mean of b (Cochran, Sampling Techniques, 3rd ed., chapter 6),
    in exact integers.

    Parameters
    ----------
    trials, a, b, aa, ab, bb : Python ints: trials, sum a_i, sum b_i, sum a_i^2, sum a_i b_i, sum b_i^2
    confidence : two-sided
    within : lowest and highest value the ratio can take, None where open

    Returns
    -------
    Estimate; None where b is zero (the ratio means nothing); without width for one trial.
    """
    trials, a, b, aa, ab, bb = (int(x) for x in (trials, a, b, aa, ab, bb))
    if b == 0:
        return None
    ratio = float(Fraction(a, b))
    if trials == 1:
        return Estimate(ratio, None, None, None)
    spread = aa * b * b - 2 * a * b * ab + a * a * bb
    if spread < 0:
        raise ValueError("sums of squares and products do not fit each other")
    return _around(
        ratio, sqrt(Fraction(spread * trials * trials, (trials - 1) * b**4)), trials, confidence, within
    )


def proportion_interval(events, trials, confidence=0.95):
    """Clopper-Pearson interval of a probability: never shorter than it claims, defined at 0 and at all.

    Parameters
    ----------
    events, trials : int or int64 arrays, broadcast against each other, 0 <= events <= trials
    confidence : two-sided, half of the rest on each side (also at 0 and at all)

    Returns
    -------
    (low, high) float64 arrays (or floats), within [0, 1]; (0, 1) where trials is 0.
    """
    from scipy.special import betainccinv, betaincinv

    events, trials = np.broadcast_arrays(np.asarray(events, np.int64), np.asarray(trials, np.int64))
    if np.any(events < 0) or np.any(events > trials):
        raise ValueError("events must lie between 0 and the trials")
    tail = (1 - confidence) / 2
    low, high = np.zeros(events.shape), np.ones(events.shape)
    some, rest = events > 0, events < trials
    low[some] = betaincinv(events[some], trials[some] - events[some] + 1.0, tail)
    high[rest] = betainccinv(events[rest] + 1.0, trials[rest] - events[rest], tail)
    return (low[()], high[()]) if low.ndim else (float(low), float(high))


def proportion_estimate(events, trials, confidence=0.95):
    """Estimate of a probability with its Clopper-Pearson interval; ``std`` is that of one trial."""
    share = events / trials
    return Estimate(share, *proportion_interval(events, trials, confidence), sqrt(share * (1 - share)))


def quantile_interval(values, share, confidence=0.95):
    """Quantile of a sample, with an interval between two of its values that holds for every distribution.

    The number of values at or below the true quantile is binomial (David and Nagaraja, Order Statistics, 3rd ed.,
    section 7.1).

    Parameters
    ----------
    values : float64[n], n at least 1
    share : which quantile, 0 < share < 1
    confidence : two-sided, half of the rest on each side

    Returns
    -------
    Estimate; the mean interpolates linearly between values, an end is None where the sample is too small to give
    one, std is None
    """
    ordered = np.sort(np.asarray(values, np.float64))
    count, tail = len(ordered), (1 - confidence) / 2
    below = _binomial_curve(count, share)  # Pr[at most j values below], j = 0..n-1
    # value number l (from 1) is below the quantile unless fewer than l values are: Pr = below[l - 1]
    low = int(np.searchsorted(below, tail, side="right"))
    # value number u is above it unless at least u values are below: Pr = 1 - below[u - 1]
    high = int(np.searchsorted(below, 1 - tail, side="left")) + 1
    return Estimate(
        _interpolated(ordered, share),
        float(ordered[low - 1]) if low >= 1 else None,
        float(ordered[high - 1]) if high <= count else None,
        None,
    )


def _interpolated(ordered, share):
    """np.quantile, which would load numpy.ma: a twentieth of a short run."""
    at = share * (len(ordered) - 1)
    below = int(at)
    low, high, part = ordered[below], ordered[min(below + 1, len(ordered) - 1)], at - below
    return float(high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part)


def _binomial_curve(count, share):
    """Pr[X <= j] of a binomial X, j = 0..count-1. SciPy's takes longer to import than a small run takes in all."""
    j = np.arange(1, count + 1)
    steps = np.log((count + 1 - j) / j) + (
        log(share) - log1p(-share)
    )  # from the chance of j - 1 to that of j
    logs = np.concatenate(([0.0], np.cumsum(steps)))
    chances = np.exp(logs - logs.max())
    return chances.cumsum()[:-1] / chances.sum()


def upper_bound(events, trials, confidence=0.95):
    """One-sided Clopper-Pearson bound from above; at zero events ``1 - (1-confidence)^(1/trials)``."""
    from scipy.special import betainccinv

    if events >= trials:
        return 1.0
    return float(betainccinv(events + 1.0, trials - events, 1 - confidence))


def difference_interval(first, second, confidence=0.95):
    """Mean of ``second - first`` over paired trials (same trial numbers and seed), with a Student interval.

    Parameters
    ----------
    first, second : integer or float arrays of one length, pair by pair
    """
    first, second = np.asarray(first), np.asarray(second)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"pairs need two lists of one length, got {first.shape} and {second.shape}")
    if np.issubdtype(first.dtype, np.integer) and np.issubdtype(second.dtype, np.integer):
        steps = second.astype(object) - first.astype(object)
        return mean_interval(len(steps), steps.sum(), (steps * steps).sum(), confidence)
    return sample_interval(second.astype(np.float64) - first, confidence=confidence)
