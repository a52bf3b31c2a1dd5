"""Failure laws, always stated by their mean, and conversion of an MTBF between GPU, node, group and system.

A mean time between failures is converted by count: n units that each fail once in t seconds fail, together,
once in t / n seconds. For exponential lifetimes that is also the mean time to the first failure. For other laws it
holds for a superposition of long-running clocks, while the first failure among n *fresh* units comes when their
cumulated hazards add up: for Weibull lifetimes after t * n**(-1/s) on average (``Weibull.minimum``). Say which of
the two a model means.

A law knows its cumulated hazard H(t) = -ln Pr[lifetime > t] and the time at which H reaches a value. The first of n
fresh units fails when H reaches E/n, E exponential of mean 1: exact for every law (Renyi 1953).
"""

import math
from dataclasses import dataclass

import numpy as np

from .arguments import positive, whole
from .errors import UserError

LAWS = ("exponential", "weibull", "lognormal", "gamma", "piecewise", "bathtub", "empirical")
LEVELS = ("gpu", "node", "group", "system")
_LEAST_SHAPE = 0.01  # below, Gamma(1 + 1/shape) nears the end of the doubles
LARGEST_SIGMA = 10.0  # of a lognormal: its mean is then e^50 times its median


class Law:
    """Base of the laws: what follows from ``mean``, ``cumulated_hazard`` and ``at_hazard``."""

    name = ""
    keys = ()  # keys of a study's [failures] that state it besides its mean
    optional_keys = ()  # those of them that may be left out
    smooth = True  # whether the time as a function of the hazard has no kinks or steps

    def survival(self, time):
        """Pr[lifetime > time]; time in seconds, float or array, 1 where negative."""
        return np.exp(-self.cumulated_hazard(time))

    def quantile(self, probability):
        """Time [s] by which this share has failed; float or array in [0, 1]."""
        return self.at_hazard(_hazard(probability))

    def faster(self, rate):
        """The law of a unit that fails ``rate`` times as often: its mean is divided; ages that a law states stay."""
        import dataclasses

        return dataclasses.replace(self, mean=self.mean / rate)

    def kernel(self):
        """The law as failure streams draw from it, a ``kernels.stream_plan.Law`` (microseconds)."""
        from .law_tables import kernel_law

        return kernel_law(self)


@dataclass(frozen=True)
class Exponential(Law):
    """Exponential lifetimes of the given mean [s]."""

    mean: float

    name = "exponential"

    def __post_init__(self):
        object.__setattr__(self, "mean", positive("mean", self.mean))

    @classmethod
    def from_scale(cls, scale):
        """The law of this scale [s]; for the exponential the scale is the mean."""
        return cls(positive("scale", scale))

    @property
    def scale(self):
        """Time [s] by which all but 1/e have failed; equal to the mean."""
        return self.mean

    def cumulated_hazard(self, time):
        """H(t) = t / mean; time in seconds, float or array, 0 where negative."""
        return np.maximum(time, 0.0) / self.mean

    def at_hazard(self, hazard):
        """Time [s] at which the cumulated hazard reaches this value; float or array from 0."""
        return self.mean * hazard

    def minimum(self, count):
        """The law of the first failure among ``count`` independent units, an Exponential of mean / count."""
        return Exponential(self.mean / whole("count", count, 1))


@dataclass(frozen=True)
class Weibull(Law):
    """Weibull lifetimes of the given mean [s] and shape; below shape 1 the hazard falls with age."""

    mean: float
    shape: float

    name, keys = "weibull", ("shape",)

    def __post_init__(self):
        object.__setattr__(self, "mean", positive("mean", self.mean))
        object.__setattr__(self, "shape", _shape(self.shape))

    @classmethod
    def from_scale(cls, scale, shape):
        """The law of this scale [s] and shape."""
        return cls(positive("scale", scale) * math.gamma(1.0 + 1.0 / _shape(shape)), shape)

    @property
    def scale(self):
        """Time [s] by which all but 1/e have failed: mean / Gamma(1 + 1/shape)."""
        return self.mean / math.gamma(1.0 + 1.0 / self.shape)

    def cumulated_hazard(self, time):
        """H(t) = (t/scale)**shape; time in seconds, float or array, 0 where negative."""
        return (np.maximum(time, 0.0) / self.scale) ** self.shape

    def at_hazard(self, hazard):
        """Time [s] at which the cumulated hazard reaches this value; float or array from 0."""
        return self.scale * hazard ** (1.0 / self.shape)

    def minimum(self, count):
        """The law of the first failure among ``count`` *fresh* units: mean * count**(-1/shape), same shape."""
        return Weibull(self.mean * whole("count", count, 1) ** (-1.0 / self.shape), self.shape)


@dataclass(frozen=True)
class Lognormal(Law):
    """Lifetimes whose logarithm is normal with deviation ``shape`` (sigma), of the given mean [s]."""

    mean: float
    shape: float

    name, keys = "lognormal", ("shape",)

    def __post_init__(self):
        object.__setattr__(self, "mean", positive("mean", self.mean))
        if not _shape(self.shape) <= LARGEST_SIGMA:
            raise UserError(f"shape = {self.shape!r}: a lognormal's sigma is at most {LARGEST_SIGMA:g}")
        object.__setattr__(self, "shape", float(self.shape))

    @classmethod
    def from_scale(cls, scale, shape):
        """The law of this median [s] and sigma."""
        law = cls(1.0, shape)
        return cls(positive("scale", scale) / law.scale, law.shape)

    @property
    def scale(self):
        """The median [s]: mean * exp(-sigma**2 / 2)."""
        return self.mean * math.exp(-0.5 * self.shape**2)

    def cumulated_hazard(self, time):
        """H(t) = -ln Phi(-ln(t/median)/sigma); time in seconds, float or array, 0 where not positive."""
        from scipy.special import log_ndtr

        with np.errstate(divide="ignore"):
            return -log_ndtr(-np.log(np.maximum(time, 0.0) / self.scale) / self.shape)

    def at_hazard(self, hazard):
        """Time [s] at which the cumulated hazard reaches this value; float or array from 0."""
        from scipy.special import ndtri, ndtri_exp

        hazard = np.asarray(hazard, np.float64)
        with np.errstate(
            divide="ignore"
        ):  # beyond 1/2 by the survivors' logarithm: their share itself is 0 at 745
            z = np.where(hazard < 0.7, ndtri(-np.expm1(-hazard)), -ndtri_exp(-hazard))
        return _plain(self.scale * np.exp(self.shape * z))


@dataclass(frozen=True)
class Gamma(Law):
    """Gamma lifetimes of the given mean [s] and shape; shape 1 is the exponential."""

    mean: float
    shape: float

    name, keys = "gamma", ("shape",)

    def __post_init__(self):
        object.__setattr__(self, "mean", positive("mean", self.mean))
        object.__setattr__(self, "shape", _shape(self.shape))

    @classmethod
    def from_scale(cls, scale, shape):
        """The law of this scale [s] and shape; its mean is scale * shape."""
        return cls(positive("scale", scale) * _shape(shape), shape)

    @property
    def scale(self):
        """mean / shape [s]."""
        return self.mean / self.shape

    def cumulated_hazard(self, time):
        """H(t) = -ln Q(shape, t/scale), Q the upper incomplete gamma function; 0 where negative."""
        from scipy.special import gammainc, gammaincc

        x = np.maximum(time, 0.0) / self.scale
        with np.errstate(divide="ignore"):
            return np.where(
                x < self.shape, -np.log1p(-gammainc(self.shape, x)), -np.log(gammaincc(self.shape, x))
            )

    def at_hazard(self, hazard):
        """Time [s] at which the cumulated hazard reaches this value; float or array from 0."""
        from scipy.special import gammainccinv, gammaincinv, gammaln

        hazard = np.asarray(hazard, np.float64)
        failed = -np.expm1(-hazard)
        with np.errstate(divide="ignore"):
            # P(a, x) = x**a / Gamma(a + 1) (1 + O(x)): where the library's inverse would underflow
            early = np.exp((np.log(failed) + gammaln(self.shape + 1.0)) / self.shape)
        x = np.where(hazard < 0.7, gammaincinv(self.shape, failed), gammainccinv(self.shape, np.exp(-hazard)))
        return _plain(self.scale * np.where(early < 1e-12, early, x))


def law(name, mean, shape=None, **more):
    """The law called ``name``, one of ``LAWS``, of this mean [s].

    shape : of weibull and gamma; a lognormal's sigma
    more : ages, rates (piecewise), early_rate, early_age, wear_age (bathtub), gaps (empirical); see ``laws_hazard``

    UserError where something is missing, out of range, or not the law's own.
    """
    given = {key: value for key, value in {"shape": shape, **more}.items() if value is not None}
    kind = _kinds().get(name)
    if kind is None:
        raise UserError(f"law = {name!r}: must be one of {', '.join(LAWS)}")
    for key, value in given.items():
        if key not in kind.keys:
            owners = [f"'{other.name}'" for other in _kinds().values() if key in other.keys]
            told = f"law {owners[0]} has" if len(owners) == 1 else f"laws {', '.join(owners)} have"
            raise UserError(f"{key} = {value!r}: only {told} {_ARTICLES.get(key, key)}")
    for key in kind.keys:
        if key not in given and key not in kind.optional_keys:
            raise UserError(f"{key} is missing: law {name!r} needs it, e.g. {_EXAMPLES[key]}")
    return kind(mean, **given)


_ARTICLES = {"shape": "a shape"}
_EXAMPLES = {
    "shape": "0.78",
    "ages": '["1 day", "30 days"]',
    "rates": "[5, 1, 2]",
    "early_rate": "5",
    "early_age": '"3 days"',
    "gaps": '"gaps.txt"',
}


def _kinds():
    from .laws_hazard import Bathtub, Empirical, Piecewise

    kinds = (Exponential, Weibull, Lognormal, Gamma, Piecewise, Bathtub, Empirical)
    return {kind.name: kind for kind in kinds}


def convert_mtbf(mtbf, source, target, groups=None, gpus_per_group=None, gpus_per_node=None):
    """The MTBF [s] of one ``target`` from that of one ``source``, by count.

    Both are one of ``LEVELS``; a system is ``groups`` groups. Only the counts that lie between the two are read:
    group to system needs ``groups`` alone. UserError where one is missing or bad.
    """
    for role, level in (("source", source), ("target", target)):
        if level not in LEVELS:
            raise UserError(f"{role} = {level!r}: must be one of {', '.join(LEVELS)}")
    mtbf = positive(f"{source}_mtbf", mtbf)
    ends = {source, target}
    needed = set()
    if "system" in ends and len(ends) == 2:
        needed.add("groups")
    if ends & {"group", "system"} and ends & {"gpu", "node"}:
        needed.add("gpus_per_group")
    if "node" in ends and len(ends) == 2:
        needed.add("gpus_per_node")
    counts = {"groups": groups, "gpus_per_group": gpus_per_group, "gpus_per_node": gpus_per_node}
    for name in sorted(needed):
        if counts[name] is None:
            raise UserError(
                f"{name} is missing: {source}_mtbf = {mtbf:g} cannot become {target}_mtbf without"
            )
        counts[name] = whole(name, counts[name], 1)
    size = {  # in GPUs; a count that is not needed cancels
        "gpu": 1,
        "node": counts["gpus_per_node"] if "gpus_per_node" in needed else 1,
        "group": counts["gpus_per_group"] if "gpus_per_group" in needed else 1,
    }
    size["system"] = size["group"] * (counts["groups"] if "groups" in needed else 1)
    return mtbf * size[source] / size[target]


def system_mtbf(value, per, groups, gpus_per_group=None, gpus_per_node=None):
    """The whole system's MTBF [s] at full strength, from the one ``per`` gpu, node, group or system [s]."""
    return convert_mtbf(value, per, "system", groups, gpus_per_group, gpus_per_node)


def _shape(value):
    shape = positive("shape", value)
    if shape < _LEAST_SHAPE:
        raise UserError(f"shape = {value!r}: must be at least {_LEAST_SHAPE}")
    return shape


def _plain(values):
    """A float for a number, the array for an array."""
    return values if np.ndim(values) else float(values)


def _hazard(probability):
    """-ln(1 - probability), the cumulated hazard by then."""
    p = np.asarray(probability, dtype=np.float64)
    if not np.all((p >= 0.0) & (p <= 1.0)):
        raise UserError(f"probability = {probability!r}: must lie in [0, 1]")
    with np.errstate(divide="ignore"):
        hazard = -np.log1p(-p)
    return hazard if hazard.ndim else float(hazard)
