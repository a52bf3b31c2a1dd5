"""Whether a fit means anything: goodness of fit, trend, bursts, units that differ."""

import math
from statistics import NormalDist

import numpy as np

from .errors import UserError
from .fit_laws import LAWS
from .fit_likelihood import estimate
from .trace_exposure import Gaps

_MOST_DRAWS = 4_000_000  # lifetimes drawn at a time, to bound memory


def distance(gaps, law, mean, shape):
    """Kolmogorov and Smirnov's distance between the Kaplan-Meier curve of whole and cut gaps and a law."""
    times = np.concatenate([gaps.whole, gaps.cut])
    if not len(gaps.whole):
        return 0.0
    failed = np.concatenate([np.ones(len(gaps.whole), bool), np.zeros(len(gaps.cut), bool)])
    order = np.lexsort((~failed, times))  # at equal times, failures come before what was cut off
    times, failed = times[order], failed[order]
    at_risk = np.arange(len(times), 0, -1)
    after = np.cumprod(np.where(failed, 1.0 - 1.0 / at_risk, 1.0))
    before = np.concatenate([[1.0], after[:-1]])
    model = np.exp(law.log_survival(times[failed], mean, shape))
    # within a run of equal times only the curve before its first and after its last counts
    first = np.searchsorted(times, times[failed], "left")
    last = np.searchsorted(times, times[failed], "right") - 1
    return float(np.maximum(np.abs(before[first] - model), np.abs(after[last] - model)).max())


def simulate(rng, clocks, law, mean, shape, steady):
    """Gaps of renewal clocks under a law, each watched for so long.

    Parameters
    ----------
    rng : numpy.random.Generator
    clocks : float64[c], how long each is watched [s]
    law, mean, shape : a law of fit_laws
    steady : whether the clocks have run for long when watching starts; else they are new

    Returns Gaps of the same kinds as trace_exposure makes; UserError where a law of nearly infinite variance would fill
    the window with too many short lives.
    """
    clocks = clocks[clocks > 0]
    parts = []
    width = int(1.2 * clocks.max(initial=0) / mean) + 8
    rows = max(1, _MOST_DRAWS // width)
    for i in range(0, len(clocks), rows):
        parts.append(_simulate(rng, clocks[i : i + rows], law, mean, shape, steady, width))
    joined = [np.concatenate([part[j] for part in parts]) for j in range(4)]
    return Gaps(*joined, clocks)


def _simulate(rng, clocks, law, mean, shape, steady, width):
    lives = law.sample(rng, (len(clocks), width), mean, shape)
    if steady:
        lives[:, 0] = law.sample_steady(rng, len(clocks), mean, shape)
    ends = np.cumsum(lives, axis=1)
    while np.any(ends[:, -1] <= clocks):
        if lives.size > 10 * _MOST_DRAWS:
            raise UserError(f"law {law.name}: its short lives are too many to simulate")
        more = law.sample(rng, (len(clocks), width), mean, shape)
        lives = np.concatenate([lives, more], axis=1)
        ends = np.cumsum(lives, axis=1)
    seen = ends <= clocks[:, None]
    counts = seen.sum(axis=1)
    lasts = np.where(counts > 0, ends[np.arange(len(clocks)), counts - 1], 0.0)
    tail = clocks - lasts
    if not steady:
        return lives[seen], tail, np.zeros(0), np.zeros(0)
    firsts = lives[counts > 0, 0]
    seen[:, 0] = False
    return lives[seen], tail[counts > 0], firsts, clocks[counts == 0]


def goodness(gaps, fit, repeats, seed, steady):
    """Parametric bootstrap of the distance.

    Parameters
    ----------
    gaps : trace_exposure.Gaps that were fitted
    fit : fit_likelihood.Fit
    repeats : simulated logs, each fitted again
    seed : of numpy's PCG64
    steady : as in ``simulate``

    Returns
    -------
    dict: distance; p_value, (1 + simulated logs at least as far from their own fit) / (1 + repeats); repeats, those
    that could be fitted. p_value is None where none were asked for, or less than nine in ten could be fitted.
    """
    law = LAWS[fit.law]
    found = distance(gaps, law, fit.mean, fit.shape)
    rng = np.random.default_rng(seed)
    farther = done = 0
    for _ in range(repeats):
        try:
            sample = simulate(rng, gaps.clocks, law, fit.mean, fit.shape, steady)
            mean, shape = estimate(sample, fit.law, (fit.mean, fit.shape))
        except UserError:
            continue
        done += 1
        farther += distance(sample, law, mean, shape) >= found
    p = (1 + farther) / (1 + done) if repeats and done >= 0.9 * repeats else None
    return {"distance": found, "p_value": p, "repeats": done}


def trend(log):
    """Laplace's test for a trend of the failures over the window, and Lewis and Robinson's for any law of gaps.

    Returns
    -------
    dict: laplace, its statistic (standard normal for a Poisson process without trend; positive: failures become more
    frequent); laplace_p; lewis_robinson, the same divided by the gaps' coefficient of variation ``variation``, as
    clustered gaps alone spread Laplace's; lewis_robinson_p. None with fewer than five failures.
    """
    starts = log.starts
    begin, end = log.window
    if begin == starts[0]:
        starts = starts[1:]  # the window was begun by a failure, which tells nothing then
    if end == starts[-1:]:
        starts = starts[:-1]
    count = len(starts)
    if count < 5:
        return None
    laplace = float((starts.mean() - (begin + end) / 2) / ((end - begin) / math.sqrt(12 * count)))
    gaps = np.diff(log.starts)
    variation = float(gaps.std(ddof=1) / gaps.mean()) if gaps.mean() > 0 else 1.0
    robust = laplace / variation if variation > 0 else laplace
    return {
        "laplace": laplace,
        "laplace_p": _two_sided(laplace),
        "lewis_robinson": robust,
        "lewis_robinson_p": _two_sided(robust),
        "variation": variation,
    }


def _two_sided(z):
    return 2 * NormalDist().cdf(-abs(z))


def bursts(log):
    """Failures at the same moment as the one before, and how many chance and rounding would give.

    The resolution of the log's times is taken as their greatest common divisor, in milliseconds.

    Returns dict: zero_gaps, largest (failures at one moment), resolution_s, by_chance, p_value (Poisson).
    """
    from scipy.special import gammainc

    gaps = np.diff(log.starts)
    zeros = int((gaps == 0).sum())
    moments, counts = np.unique(log.starts, return_counts=True)
    ticks = np.unique(np.round(np.diff(moments) * 1000).astype(np.int64))
    resolution = float(np.gcd.reduce(ticks)) / 1000 if len(ticks) else 0.0
    span = float(log.starts[-1] - log.starts[0])
    cell = resolution * len(gaps) / span if span else 0.0  # failures expected in one tick of the clock
    # a gap shorter than a tick is rounded away unless a boundary lies in it: 1 - (1 - exp(-cell)) / cell of all gaps
    chance = len(gaps) * (1.0 + math.expm1(-cell) / cell) if cell > 0 else 0.0
    p = float(gammainc(zeros, chance)) if zeros and chance > 0 else 1.0 if not zeros else 0.0
    return {
        "zero_gaps": zeros,
        "largest": int(counts.max()),
        "resolution_s": resolution,
        "by_chance": float(chance),
        "p_value": p,
    }


def differing_units(failures, exposure, seed, repeats=999):
    """Pearson's test that all units fail at one rate, its distribution by simulation given the total.

    Parameters
    ----------
    failures : int[n], failures of each unit that exists
    exposure : float64[n], up time of each [s]
    seed, repeats : of the simulation; fewer for more than 20,000 units

    Returns dict: statistic (about 1 where units are alike: Pearson's over n - 1), p_value; None for one unit.
    """
    if len(failures) < 2 or failures.sum() < 5:
        return None
    repeats = max(99, min(repeats, 20_000_000 // len(failures)))  # bounds the time for very many units
    share = exposure / exposure.sum()
    expected = failures.sum() * share
    used = expected > 0

    def statistic(counts):
        return ((counts[..., used] - expected[used]) ** 2 / expected[used]).sum(axis=-1)

    rng = np.random.default_rng(seed)
    found = statistic(failures)
    more = sum(statistic(rng.multinomial(failures.sum(), share)) >= found for _ in range(repeats))
    return {"statistic": float(found / (len(failures) - 1)), "p_value": (1 + int(more)) / (1 + repeats)}
