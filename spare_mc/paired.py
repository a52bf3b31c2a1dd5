"""Differences of means and of ratios between two settings, over trials that share their random numbers or not.

Where trial i of both saw the same failures, the difference is taken trial by trial and its interval is that of one
sample: what both have in common cancels. Otherwise the two deviations add up.
"""

from math import inf, sqrt

import numpy as np

from .intervals import Estimate, difference_interval

_NOTHING = (None, None)


def mean_difference(first, second, level):
    """Mean of ``second - first`` over pairs, with a Student interval at ``level``.

    Parameters
    ----------
    first, second : float64[n], pair by pair
    level : confidence, two-sided

    Returns
    -------
    Estimate; without width (low and high None) for one pair.
    """
    return difference_interval(np.asarray(first, np.float64), np.asarray(second, np.float64), level)


def ratio_difference(first, second, level):
    """``sum(c) / sum(d) - sum(a) / sum(b)`` over pairs, with a delta-method interval at ``level``.

    A trial moves a ratio R = sum(a) / sum(b) by ``(a_i - R b_i) / mean(b)`` (Cochran, Sampling Techniques, 3rd ed.,
    chapter 6); the movements of the two ratios are subtracted trial by trial, whatever their correlation.

    Parameters
    ----------
    first, second : pairs ``(a, b)`` and ``(c, d)`` of float64[n]
    level : confidence, two-sided

    Returns
    -------
    Estimate; without width for one pair; None where a ratio means nothing (its lower sum is zero).
    """
    moves, ratios = [], []
    for above, below in (first, second):
        above, below = np.asarray(above, np.float64), np.asarray(below, np.float64)
        if below.sum() == 0:
            return None
        ratios.append(above.sum() / below.sum())
        moves.append((above - ratios[-1] * below) / below.mean())
    found = difference_interval(*moves, level)
    shift = (
        ratios[1] - ratios[0]
    )  # the movements have mean zero; the estimate is the difference of the ratios
    if found.low is None:
        return Estimate(shift, None, None, found.std)
    half = (found.high - found.low) / 2
    return Estimate(shift, shift - half, shift + half, found.std)


def unpaired_difference(first, first_trials, second, second_trials, level):
    """Difference ``second - first`` of two estimates of independent trials, with Welch's interval.

    Parameters
    ----------
    first, second : Estimate with the deviation of one trial
    first_trials, second_trials : how many trials each has
    level : confidence, two-sided

    Returns
    -------
    Estimate, its ``std`` None (there are no pairs); without width where a deviation is unknown, or both are zero while
    the means differ. Degrees of freedom after Welch (Biometrika 34, 1947) and Satterthwaite.
    """
    mean = second.mean - first.mean
    if first.std is None or second.std is None:
        return Estimate(mean, None, None, None)
    parts = first.std**2 / first_trials, second.std**2 / second_trials
    variance = sum(parts)
    if variance == 0:
        return Estimate(mean, *((0.0, 0.0) if mean == 0 else _NOTHING), None)
    from scipy.special import stdtrit

    freedom = variance**2 / (parts[0] ** 2 / (first_trials - 1) + parts[1] ** 2 / (second_trials - 1))
    half = float(stdtrit(freedom, 0.5 + level / 2)) * sqrt(variance)
    return Estimate(mean, mean - half, mean + half, None)


def without_spread(difference):
    """A difference without its interval where all pairs gave the same one, not zero: of its spread nothing is known."""
    if difference is not None and difference.std == 0 and difference.mean != 0:
        return difference._replace(low=None, high=None)
    return difference


def open_ended(difference):
    """A difference whose unknown width is taken as infinite: it tells nothing apart."""
    if difference.low is None or difference.high is None:
        return difference._replace(low=-inf, high=inf)
    return difference


def told_apart(difference):
    """Whether an interval is there and leaves out zero."""
    known = difference is not None and difference.low is not None and difference.high is not None
    return known and (difference.low > 0 or difference.high < 0)


def correlation(first, second):
    """Correlation of pairs; None where one of the two does not vary."""
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if len(first) < 2 or first.std() == 0 or second.std() == 0:
        return None
    return float(np.corrcoef(first, second)[0, 1])
