"""When a unit fails: the inverse cumulated hazard of every law, rounded to whole microseconds."""

import math

import numpy as np

from .jitter import normal
from .stream_plan import (
    EXPONENTIAL,
    KIND,
    LINEAR,
    LOGLOG,
    LOGNORMAL,
    LONGEST,
    POWER,
    SCALE,
    SIZE,
    TABLE,
    WEIBULL,
)
from .training_jit import device, entry

_LONGEST = float(LONGEST)
_HALF = math.log(2.0)


@entry
def interval(plan, source, h):
    """The time of the source's law at the cumulated hazard h > 0 [us]: whole, at least 1, at most LONGEST."""
    kind = plan.sources[source, KIND]
    power = plan.reals[source, POWER]
    if kind == EXPONENTIAL:
        time = h
    elif kind == WEIBULL:
        time = math.pow(h, power)
    elif kind == LOGNORMAL:
        # the quantile of 1 - exp(-h), from the side that keeps its digits
        h = min(h, 700.0)
        z = -normal(math.exp(-h)) if h > _HALF else normal(-math.expm1(-h))
        time = math.exp(z * power)
    else:
        time = of_table(plan.tables, kind, plan.sources[source, TABLE], plan.sources[source, SIZE], h)
    time = time * plan.reals[source, SCALE]
    return np.int64(max(1.0, math.floor(min(time, _LONGEST) + 0.5)))


@device
def of_table(tables, kind, first, size, h):
    """The laws that are given as numbers, at scale 1."""
    if kind == LINEAR:
        knots = size >> 1
        low, high = (
            first,
            first + knots - 1,
        )  # the last knot at or below h, but the end, lies in low .. high - 1
        while high - low > 1:
            middle = (low + high) >> 1
            if tables[middle] <= h:
                low = middle
            else:
                high = middle
        time = tables[low + knots]
        slope = (tables[low + knots + 1] - time) / (tables[low + 1] - tables[low])
        return time + (h - tables[low]) * slope
    if kind == LOGLOG:
        place = (math.log(h) - tables[first]) / tables[first + 1]
        i = np.int64(min(max(place, 0.0), np.float64(size - 4)))
        y = tables[first + 2 + i]
        return math.exp(y + (place - np.float64(i)) * (tables[first + 3 + i] - y))
    i = min(size - 1, np.int64(-math.expm1(-h) * np.float64(size)))
    return tables[first + i]
