"""Failure laws, always stated by their mean, and conversion of an MTBF between GPU, node, group and system.

A mean time between failures is converted by count: n units that each fail once in t seconds fail, together,
once in t / n seconds. For exponential lifetimes that is also the mean time to the first failure. For Weibull
lifetimes of shape s it holds for a superposition of long-running clocks, while the first failure among n *fresh*
units comes after t * n**(-1/s) on average (``Weibull.minimum``). Say which of the two a model means.
"""

import math
from dataclasses import dataclass

import numpy as np

from .arguments import positive, whole
from .errors import UserError

LAWS = ("exponential", "weibull")
LEVELS = ("gpu", "node", "group", "system")
_LEAST_SHAPE = 0.01  # below, Gamma(1 + 1/shape) nears the end of the doubles


@dataclass(frozen=True)
class Exponential:
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

    def survival(self, time):
        """Pr[lifetime > time] = exp(-time/mean); time in seconds, float or array, 1 where negative."""
        return np.exp(-np.maximum(time, 0.0) / self.mean)

    def quantile(self, probability):
        """Time [s] by which this share has failed; float or array in [0, 1]."""
        return self.mean * _hazard(probability)

    def minimum(self, count):
        """The law of the first failure among ``count`` independent units, an Exponential of mean / count."""
        return Exponential(self.mean / whole("count", count, 1))


@dataclass(frozen=True)
class Weibull:
    """Weibull lifetimes of the given mean [s] and shape; below shape 1 the hazard falls with age."""

    mean: float
    shape: float

    name = "weibull"

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

    def survival(self, time):
        """Pr[lifetime > time] = exp(-(time/scale)**shape); seconds, float or array, 1 where negative."""
        return np.exp(-((np.maximum(time, 0.0) / self.scale) ** self.shape))

    def quantile(self, probability):
        """Time [s] by which this share has failed; float or array in [0, 1]."""
        return self.scale * _hazard(probability) ** (1.0 / self.shape)

    def minimum(self, count):
        """The law of the first failure among ``count`` *fresh* units: mean * count**(-1/shape), same shape."""
        return Weibull(self.mean * whole("count", count, 1) ** (-1.0 / self.shape), self.shape)


def law(name, mean, shape=None):
    """The law called ``name``, one of ``LAWS``, of this mean [s]; only the Weibull law takes a shape, and must."""
    if name == "exponential":
        if shape is not None:
            raise UserError(f"shape = {shape!r}: only law 'weibull' has a shape")
        return Exponential(mean)
    if name == "weibull":
        if shape is None:
            raise UserError("shape is missing: law 'weibull' needs it, e.g. 0.78")
        return Weibull(mean, shape)
    raise UserError(f"law = {name!r}: must be one of {', '.join(LAWS)}")


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


def _hazard(probability):
    """-ln(1 - probability), the cumulated hazard by then."""
    p = np.asarray(probability, dtype=np.float64)
    if not np.all((p >= 0.0) & (p <= 1.0)):
        raise UserError(f"probability = {probability!r}: must lie in [0, 1]")
    with np.errstate(divide="ignore"):
        hazard = -np.log1p(-p)
    return hazard if hazard.ndim else float(hazard)
