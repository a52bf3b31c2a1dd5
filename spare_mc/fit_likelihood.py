"""Maximum likelihood of a law on gaps, those cut off by the end of observation included."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from .errors import UserError
from .fit_laws import LAWS

LEAST_GAPS = 3
_STEP = 1e-4  # of the logarithms, for derivatives by differences


@dataclass(frozen=True)
class Fit:
    """A fitted law.

    Attributes
    ----------
    law : name, a key of fit_laws.LAWS
    mean, mean_low, mean_high : mean lifetime [s] and its interval
    shape, shape_low, shape_high : shape (lognormal: sigma) and its interval, None for the exponential
    log_likelihood, aic : AIC = 2 * parameters - 2 * log likelihood
    """

    law: str
    mean: float
    mean_low: float
    mean_high: float
    shape: float | None
    shape_low: float | None
    shape_high: float | None
    log_likelihood: float
    aic: float

    def survival(self, t):
        """Pr[lifetime > t] for times [s]."""
        return np.exp(LAWS[self.law].log_survival(np.asarray(t, np.float64), self.mean, self.shape))

    def hazard(self, t):
        """Failures per second of age at ages t [s]."""
        law = LAWS[self.law]
        t = np.asarray(t, np.float64)
        return np.exp(law.log_density(t, self.mean, self.shape) - law.log_survival(t, self.mean, self.shape))


def log_likelihood(gaps, law, mean, shape):
    """Log likelihood of trace_exposure.Gaps under a law of fit_laws; first and never are of clocks in steady state."""
    total = law.log_density(gaps.whole, mean, shape).sum() + law.log_survival(gaps.cut, mean, shape).sum()
    if len(gaps.first):
        total += law.log_survival(gaps.first, mean, shape).sum() - len(gaps.first) * math.log(mean)
    if len(gaps.never):
        times, counts = np.unique(gaps.never, return_counts=True)  # units that never failed share one time
        total += (law.log_steady(times, mean, shape) * counts).sum()
    return float(total)


def fit(gaps, name, confidence=0.95, start=None):
    """Fit a law by maximum likelihood.

    Parameters
    ----------
    gaps : trace_exposure.Gaps, whole and first gaps longer than 0
    name : a key of fit_laws.LAWS
    confidence : of the intervals, from the observed information on the logarithms of mean and shape
    start : (mean, shape) to begin at

    Returns a Fit; UserError with fewer than three failures, or where the likelihood has no finite maximum.
    """
    law = LAWS[name]
    place, value, hessian = _maximum(gaps, law, start)
    covariance = np.linalg.inv(hessian)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    half = z * np.sqrt(np.diag(covariance))
    best, low, high = np.exp(place), np.exp(place - half), np.exp(place + half)
    shaped = (float(v[1]) for v in (best, low, high)) if law.shapes else (None, None, None)
    aic = 2 * (1 + law.shapes) - 2 * value
    return Fit(name, float(best[0]), float(low[0]), float(high[0]), *shaped, value, aic)


def estimate(gaps, name, start=None):
    """(mean, shape) of greatest likelihood, without intervals."""
    place = np.exp(_maximum(gaps, LAWS[name], start, curved=False)[0])
    return float(place[0]), float(place[1]) if LAWS[name].shapes else None


def _maximum(gaps, law, start, curved=True):
    """(log parameters, log likelihood, minus its Hessian in them) at the maximum, by Newton's method.

    With ``curved`` False the Hessian is that of the step before.
    """
    if gaps.failures < LEAST_GAPS:
        raise UserError(f"{gaps.failures} gaps between failures: a fit needs at least {LEAST_GAPS}")

    def value(x):
        with np.errstate(all="ignore"):
            found = log_likelihood(gaps, law, math.exp(x[0]), math.exp(x[1]) if law.shapes else None)
        return found if math.isfinite(found) else -math.inf

    if start is None:
        start = (gaps.exposure / gaps.failures, _first_shape(gaps, law))
    x = np.log(np.array(start[: 1 + law.shapes], np.float64))
    here = value(x)
    if here == -math.inf:
        raise UserError(f"law {law.name}: the likelihood cannot be computed on these gaps")
    for _ in range(200):
        slope, curve = _derivatives(value, x, here)
        step = _newton_step(slope, curve)
        while True:
            ahead = value(x + step)
            if ahead >= here - 1e-12 * abs(here) or np.abs(step).max() < 1e-10:
                break
            step = step / 2
        x, here = x + step, max(ahead, -1e308)
        if np.abs(x).max() > 60:
            break
        if np.abs(step).max() < 1e-5:  # convergence is quadratic: the next step would be some 1e-10
            if curved:
                _, curve = _derivatives(value, x, here)
            if np.all(np.linalg.eigvalsh(-curve) > 0):
                return x, here, -curve
            break
    raise UserError(f"law {law.name}: the likelihood of these gaps has no maximum that can be found")


def _first_shape(gaps, law):
    """A shape to start at, from the spread of the logarithms of the gaps."""
    times = np.concatenate([gaps.whole, gaps.first])
    spread = max(float(np.log(times).std()), 0.05)
    if law.name == "lognormal":
        return spread
    return float(np.clip(1.28 / spread, 0.1, 20.0))  # of a Weibull law, pi / sqrt(6) = 1.28


def _derivatives(value, x, here):
    """Gradient and Hessian by central differences."""
    count = len(x)
    steps = np.eye(count) * _STEP
    up = [value(x + s) for s in steps]
    down = [value(x - s) for s in steps]
    slope = np.array([(a - b) / (2 * _STEP) for a, b in zip(up, down, strict=True)])
    curve = np.diag([(a - 2 * here + b) / _STEP**2 for a, b in zip(up, down, strict=True)])
    if count == 2:
        both = value(x + steps[0] + steps[1]) + value(x - steps[0] - steps[1])
        curve[0, 1] = curve[1, 0] = (both - up[0] - up[1] - down[0] - down[1] + 2 * here) / (2 * _STEP**2)
    return slope, curve


def _newton_step(slope, curve):
    """A step uphill, at most 1 in each logarithm; where the curvature is not that of a maximum, along the slope."""
    values, vectors = np.linalg.eigh(-curve)
    values = np.maximum(np.abs(values), 1e-6 * max(1.0, np.abs(values).max()))
    step = vectors @ ((vectors.T @ slope) / values)
    return step / max(1.0, np.abs(step).max())
