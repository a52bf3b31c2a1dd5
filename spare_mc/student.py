"""Student's t quantile for whole degrees of freedom, without SciPy, whose import takes longer than a small run."""

from functools import lru_cache
from math import atan, cos, exp, lgamma, log1p, pi, sin, sqrt
from statistics import NormalDist

_SERIES_TO = 1000  # degrees of freedom; beyond, the expansion is good to a few units in the last place


@lru_cache(maxsize=256)
def two_sided(df, confidence):
    """The t within which Student's T stays with probability ``confidence``; ``df``: its degrees of freedom, int >= 1.

    Relative error below 1e-12 up to a confidence of 0.99, below 1e-9 up to 0.999999.
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    if df > _SERIES_TO:
        return _expansion(z, df)
    # Newton's steps from the normal quantile, which is below: the probability is concave in t, so they stay below
    t = z
    while True:
        step = (confidence - _within(t, df)) / (2 * _density(t, df))
        t += step
        if step <= 1e-13 * t:
            return t


def _within(t, df):
    """Probability that |T| <= t: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4."""
    angle = atan(t / sqrt(df))
    square = cos(angle) ** 2
    term = total = cos(angle) if df % 2 else 1.0
    for j in range(3 if df % 2 else 2, df - 1, 2):
        term *= square * (j - 1) / j
        total += term
    if df % 2 == 0:
        return sin(angle) * total
    return 2 / pi * (angle + (sin(angle) * total if df > 1 else 0.0))


def _density(t, df):
    return exp(lgamma((df + 1) / 2) - lgamma(df / 2) - (df + 1) / 2 * log1p(t * t / df)) / sqrt(df * pi)


def _expansion(z, df):
    """Student's quantile from the normal one: 26.7.5 there."""
    s = z * z
    terms = (
        z * (s + 1) / 4,
        z * ((5 * s + 16) * s + 3) / 96,
        z * (((3 * s + 19) * s + 17) * s - 15) / 384,
        z * ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / 92160,
    )
    return z + sum(term / df**power for power, term in enumerate(terms, 1))
