"""Failure laws given by their hazard over age, or by observed gaps."""

import functools
import math
from dataclasses import dataclass, field

import numpy as np

from .arguments import positive
from .errors import UserError
from .laws import Law

MOST_GAPS = 10_000  # of an empirical law: a study's identity and its results hold them all
_MOST_RATE = 1e6


@dataclass(frozen=True)
class Piecewise(Law):
    """Lifetimes whose hazard is constant between given ages: ``rates[i]`` up to ``ages[i]``, the last one for ever.

    ``ages`` [s] ascend; ``rates`` are relative, one more than ages; the mean [s] sets their common factor.
    """

    mean: float
    ages: tuple
    rates: tuple
    _base: float = field(default=0.0, init=False, repr=False, compare=False)

    name, keys, smooth = "piecewise", ("ages", "rates"), False

    def __post_init__(self):
        object.__setattr__(self, "mean", positive("mean", self.mean))
        ages, rates = (tuple(float(v) for v in values) for values in (self.ages, self.rates))
        if not ages or ages[0] <= 0 or any(b <= a for a, b in zip(ages, ages[1:], strict=False)):
            raise UserError(f"ages = {list(ages)}: must be one or more ages above 0, ascending")
        if len(rates) != len(ages) + 1:
            raise UserError(
                f"rates = {list(rates)}: must be {len(ages) + 1}, one before each of the {len(ages)} ages and one after"
            )
        if not all(0 < rate <= _MOST_RATE for rate in rates):
            raise UserError(f"rates = {list(rates)}: must be above 0, at most {_MOST_RATE:g}")
        object.__setattr__(self, "ages", ages)
        object.__setattr__(self, "rates", rates)
        object.__setattr__(self, "_base", _factor_of_mean(self._mean_at, self.mean, f"ages = {list(ages)}"))

    def _mean_at(self, base):
        """Mean lifetime [s] where the rates are taken times ``base`` [1/s]."""
        total, alive, before = 0.0, 1.0, 0.0
        for age, rate in zip((*self.ages, math.inf), self.rates, strict=True):
            hazard, length = base * rate, age - before
            # alive * integral of exp(-hazard t) over the piece
            total += alive * -math.expm1(-hazard * length) / hazard
            alive *= math.exp(-hazard * length)
            before = age
        return total

    def knots(self):
        """(h, t): cumulated hazards and times [s] between which time is linear in hazard; both from 0."""
        t = np.array([0.0, *self.ages])
        h = np.concatenate([[0.0], np.cumsum(self._base * np.array(self.rates[:-1]) * np.diff(t))])
        # one more on the last slope
        more = 1.0 / (self._base * self.rates[-1])
        return np.append(h, h[-1] + 1.0), np.append(t, t[-1] + more)

    def cumulated_hazard(self, time):
        """H(t), linear between the ages; time in seconds, float or array, 0 where negative."""
        h, t = self.knots()
        time = np.maximum(time, 0.0)
        beyond = h[-2] + (time - t[-2]) * self._base * self.rates[-1]
        return np.where(time > t[-2], beyond, np.interp(time, t, h))

    def at_hazard(self, hazard):
        """Time [s] at which the cumulated hazard reaches this value; float or array from 0."""
        h, t = self.knots()
        hazard = np.asarray(hazard, np.float64)
        place = np.clip(np.searchsorted(h, hazard), 1, len(h) - 1)
        share = (hazard - h[place - 1]) / (h[place] - h[place - 1])
        found = t[place - 1] + share * (t[place] - t[place - 1])
        return found if found.ndim else float(found)


@dataclass(frozen=True)
class Bathtub(Law):
    """A bathtub hazard: h(t) proportional to 1 + (early_rate - 1) exp(-t/early_age) + (t/wear_age)**2.

    early_rate : hazard of a new unit against that of a settled one
    early_age : time [s] in which early failures fall off by e
    wear_age : age [s] at which wear-out has doubled the settled hazard; None for no wear-out
    The mean [s] sets the settled hazard.
    """

    mean: float
    early_rate: float
    early_age: float
    wear_age: float | None = None
    _base: float = field(default=0.0, init=False, repr=False, compare=False)

    name, keys, optional_keys = "bathtub", ("early_rate", "early_age", "wear_age"), ("wear_age",)

    def __post_init__(self):
        object.__setattr__(self, "mean", positive("mean", self.mean))
        object.__setattr__(self, "early_age", positive("early_age", self.early_age))
        if self.wear_age is not None:
            object.__setattr__(self, "wear_age", positive("wear_age", self.wear_age))
        rate = positive("early_rate", self.early_rate)
        if rate > _MOST_RATE:
            raise UserError(f"early_rate = {self.early_rate!r}: must be at most {_MOST_RATE:g}")
        object.__setattr__(self, "early_rate", rate)
        told = f"early_rate = {rate:g}, early_age = {self.early_age:g}"
        object.__setattr__(self, "_base", _factor_of_mean(self._mean_at, self.mean, told))

    def _shape_of_hazard(self, time):
        early = (self.early_rate - 1.0) * self.early_age * -np.expm1(-time / self.early_age)
        wear = 0.0 if self.wear_age is None else time * (time / self.wear_age) ** 2 / 3.0
        return time + early + wear

    def _mean_at(self, base):
        """Mean lifetime [s] at a settled hazard of ``base`` [1/s], by the trapezoidal rule in the logarithm of age."""
        end = math.log(60.0 / base)
        start = math.log(min(1.0 / base, self.early_age, self.wear_age or math.inf)) - 40.0
        x = np.linspace(start, end, 20_000)
        alive = np.exp(-base * self._shape_of_hazard(np.exp(x)) + x)
        return float(np.trapezoid(alive, x) if hasattr(np, "trapezoid") else np.trapz(alive, x))

    def cumulated_hazard(self, time):
        """H(t); time in seconds, float or array, 0 where negative."""
        return self._base * self._shape_of_hazard(np.maximum(time, 0.0))

    def at_hazard(self, hazard):
        """Time [s] at which the cumulated hazard reaches this value; float or array from 0. By bisection."""
        hazard = np.asarray(hazard, np.float64)
        # settled hazard alone gives the latest time, the highest hazard of that span the earliest
        high = hazard / (self._base * min(1.0, self.early_rate))
        low = np.zeros_like(high)
        for _ in range(100):
            middle = 0.5 * (low + high)
            above = self._base * self._shape_of_hazard(middle) >= hazard
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return high if high.ndim else float(high)


@dataclass(frozen=True)
class Empirical(Law):
    """Lifetimes drawn from observed gaps [s], each as likely as another, rescaled to the given mean [s].

    ``mean`` None keeps the gaps as they are. A resampled gap repeats an observed one: nothing is smoothed.
    """

    mean: float | None
    gaps: tuple

    name, keys, smooth = "empirical", ("gaps",), False

    def __post_init__(self):
        gaps = tuple(sorted(float(gap) for gap in self.gaps))
        if not 2 <= len(gaps) <= MOST_GAPS:
            raise UserError(f"gaps: {len(gaps):,} of them: must be 2 to {MOST_GAPS:,}")
        if not (gaps[0] > 0 and math.isfinite(gaps[-1])):
            raise UserError(f"gaps: the least is {gaps[0]:g} s: must all be above 0 and finite")
        object.__setattr__(self, "gaps", gaps)
        mean = math.fsum(gaps) / len(gaps) if self.mean is None else positive("mean", self.mean)
        object.__setattr__(self, "mean", mean)

    @functools.cached_property
    def times(self):
        """The gaps at the law's mean [s], float64[n], ascending."""
        gaps = np.array(self.gaps)
        return gaps * (self.mean / (math.fsum(self.gaps) / len(gaps)))

    def cumulated_hazard(self, time):
        """H(t), a staircase that ends in infinity; time in seconds, float or array."""
        alive = 1.0 - np.searchsorted(self.times, np.asarray(time), side="right") / len(self.times)
        with np.errstate(divide="ignore"):
            return -np.log(alive)

    def at_hazard(self, hazard):
        """Time [s] at which the cumulated hazard reaches this value; float or array from 0."""
        share = -np.expm1(-np.asarray(hazard, np.float64))
        place = np.minimum(np.floor(share * len(self.times)), len(self.times) - 1).astype(np.int64)
        found = self.times[place]
        return found if found.ndim else float(found)


def _factor_of_mean(mean_at, mean, told):
    """The base rate [1/s] at which the mean lifetime is ``mean`` [s]; UserError where none is."""
    low, high = math.log(1e-9 / mean), math.log(1e9 / mean)  # the mean falls as the rate grows
    if not mean_at(math.exp(low)) > mean > mean_at(math.exp(high)):
        raise UserError(f"{told}: no rate gives these a mean of {mean:g} s")
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if mean_at(math.exp(middle)) > mean else (low, middle)
        if high - low < 1e-15 * abs(high):
            break
    return math.exp(0.5 * (low + high))
