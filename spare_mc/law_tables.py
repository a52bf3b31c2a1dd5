"""Laws as the kernels draw from them: a formula where there is one, else a table of times by cumulated hazard."""

import math

import numpy as np

# Cumulated hazards that are ever asked for: 2**-53 over a million units, to a million units that all failed.
_FROM, _TO = math.log(1e-23), math.log(90.0)
_KNOTS = 32_768  # a table is then off by less than a relative 2e-6 (tested), far below any interval
_MICROSECONDS = 1e6


def kernel_law(law):
    """The ``kernels.stream_plan.Law`` of a law, times in microseconds."""
    from .kernels import stream_plan as names

    scale, none = _MICROSECONDS, np.empty(0)
    if law.name == "exponential":
        return names.Law(names.EXPONENTIAL, scale * law.mean, 1.0, none)
    if law.name == "weibull":
        return names.Law(names.WEIBULL, scale * law.scale, law.shape, none)
    if law.name == "lognormal":
        return names.Law(names.LOGNORMAL, scale * law.scale, law.shape, none)
    if law.name == "piecewise":
        hazards, times = law.knots()
        return names.Law(names.LINEAR, 1.0, 1.0, np.array([hazards, scale * times]))
    if law.name == "empirical":
        return names.Law(names.STEPS, 1.0, 1.0, scale * law.times)
    return names.Law(names.LOGLOG, 1.0, 1.0, _table(law))


def _table(law):
    """x0, dx, then ln t [us] at x0 + i dx, x the logarithm of the cumulated hazard."""
    x = np.linspace(_FROM, _TO, _KNOTS)
    with np.errstate(divide="ignore"):
        # times far below a microsecond, and beyond the doubles: what is drawn is at least 1 us, and ends far before
        times = np.clip(np.log(law.at_hazard(np.exp(x))) + math.log(_MICROSECONDS), -700.0, 700.0)
    return np.concatenate([[x[0], x[1] - x[0]], times])
