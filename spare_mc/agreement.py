"""A test of a sampled survival curve against the exact one."""

from typing import NamedTuple

import numpy as np

PLACES = 20


class Agreement(NamedTuple):
    """Outcome of one test of a whole curve.

    Attributes
    ----------
    p : at most so probable is a deviation at least as sure, where the exact curve holds; at any number of
    trials
    place : k at which the curve deviates most surely
    alive : trials alive there
    expected : probability to be alive there, exact
    z : deviation there in standard errors, signed; infinite where the exact curve rules it out
    distance : largest absolute difference of the two curves, over all k
    """

    p: float
    place: int
    alive: int
    expected: float
    z: float
    distance: float


def places(exact, loss, trials):
    """Places k at which a curve is tested, chosen from the exact curve and the trials, never from the sample.

    Those with 0 < P(k) < 1 nearest to PLACES levels evenly spaced in log(P/(1-P)), out to where a tenth of an
    event is expected (the bulk and both tails), and one far beyond either end, where a single event says
    enough.
    """
    inner = np.flatnonzero((exact > 0) & (loss > 0))
    if len(inner) <= PLACES:
        return inner
    logit = np.log(exact[inner]) - np.log(loss[inner])
    end, beyond = np.log(10.0 * trials), np.log(1e7 * trials)
    levels = np.concatenate([np.linspace(-end, end, PLACES), [-beyond, beyond]])
    return np.unique(inner[np.abs(logit - levels[:, None]).argmin(axis=1)])


def compare_bounds(lost, trials, low, high):
    """Whether a rare loss lies where rigorous bounds say: exact binomial tests at a few places, together.

    Parameters
    ----------
    lost : int64[m], trials wiped out within k failures, at m fixed k
    trials : how many there were, at least 1
    low, high : float64[m], bounds on the probability

    Returns
    -------
    (p, index of the place that deviates most surely); p is 1 where all of the sample lies between the bounds
    """
    from scipy.special import betainc

    lost = np.asarray(lost, np.float64)
    more = np.where(lost == 0, 1.0, betainc(np.maximum(lost, 1.0), trials - lost + 1, high))
    fewer = np.where(lost == trials, 1.0, betainc(np.maximum(trials - lost, 1.0), lost + 1, 1 - low))
    tails = np.minimum(more, fewer)
    at = int(tails.argmin())
    return min(1.0, 2 * len(tails) * float(tails[at])), at


def compare(alive, trials, exact, loss=None):
    """Exact binomial tests at a few fixed places, together (Bonferroni).

    Parameters
    ----------
    alive : int64[n], trials alive after k failures
    trials : how many there were, at least 1
    exact : float64[n], probability to be alive after k failures
    loss : float64[n], its complement with digits of its own; 1 - exact if None

    Returns
    -------
    Agreement
    """
    from scipy.special import betainc

    alive, exact = np.asarray(alive, np.int64), np.asarray(exact, np.float64)
    loss = 1 - exact if loss is None else np.asarray(loss, np.float64)
    share = alive / trials
    distance = float(np.max(np.abs(share - exact)))
    impossible = np.flatnonzero(((exact <= 0) & (alive > 0)) | ((loss <= 0) & (alive < trials)))
    if len(impossible):
        k = int(impossible[0])
        z = float(np.copysign(np.inf, share[k] - exact[k]))
        return Agreement(0.0, k, int(alive[k]), float(exact[k]), z, distance)
    tested = places(exact, loss, trials)
    if not len(tested):
        return Agreement(1.0, 0, int(alive[0]), float(exact[0]), 0.0, distance)
    seen, chance, other = alive[tested].astype(np.float64), exact[tested], loss[tested]
    fewer = np.where(seen == trials, 1.0, betainc(np.maximum(trials - seen, 1.0), seen + 1, other))
    more = np.where(seen == 0, 1.0, betainc(np.maximum(seen, 1.0), trials - seen + 1, chance))
    tails = np.minimum(fewer, more)
    at = int(tails.argmin())
    missing = (trials - seen[at]) - trials * other[at]
    excess = seen[at] - trials * chance[at] if chance[at] < 0.5 else -missing
    return Agreement(
        min(1.0, 2 * len(tested) * float(tails[at])),
        int(tested[at]),
        int(seen[at]),
        float(chance[at]),
        float(excess / np.sqrt(trials * chance[at] * other[at])),
        distance,
    )
