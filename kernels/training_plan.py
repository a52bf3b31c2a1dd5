"""How a point is prepared for training runs; shared by all backends, so it imports no compiler."""

import math
from typing import NamedTuple

import numpy as np

from . import controller_state, stream_plan
from .stream_plan import Law, law_table
from .training_settings import (
    BACKGROUND,
    CHECKPOINT_ONLY,
    LARGEST_SIGMA,
    LARGEST_TIME,
    LINEAR,
    LOGNORMAL,
    NO_REPAIR,
    REPLICATION,
    SPARE,
    STREAM,
    SYSTEM,
    WEIBULL,
    Settings,
)


class Plan(NamedTuple):
    """What runs of one point share; nothing in it changes."""

    settings: Settings
    scale: np.ndarray  # float64[N], scale of each group's law [us]; SYSTEM: of the one clock
    intervals: np.ndarray  # int64[n], time between saves by time since the restart [us]
    width: int  # of a bin of ``intervals`` [us]
    stacks: controller_state.Plan | None  # SPARe's controller plan
    table: (
        np.ndarray
    )  # float64[...] [us], of laws LINEAR, LOGLOG, STEPS at the mean of the settings, else empty
    stream: stream_plan.Plan | None = None  # where failures come from one (STREAM)


def plan(settings, hosts=None, stacks=None, intervals=None, width=1, means=None, table=None, stream=None):
    """The Plan of a point.

    settings: Settings. hosts, stacks: int32[N, r], SPARe's layout as ``controller.plan`` takes it; the other
    schemes need none. intervals: int64[n] with ``width`` [us]: where ``save_steps`` is 0, save after the first step
    that ends at least ``intervals[min(age // width, n - 1)]`` after the last save or restart, age being the time
    since the last restart; one number is a fixed period. means: float64[N], the mean of each group's clock [us],
    where groups differ; ``settings.mean`` otherwise. table: of laws LINEAR, LOGLOG and STEPS, as
    stream_plan.Law has it, in us at ``settings.mean``. stream: the ``stream_plan.Plan`` of STREAM.
    Raises ValueError for settings that cannot be run.
    """
    s = Settings(*settings)
    _check(s)
    if (table is None) != (s.law < LINEAR):
        raise ValueError("table: laws LINEAR, LOGLOG and STEPS have one, the others none")
    table = np.empty(0) if table is None else law_table(Law(s.law, 1.0, 1.0, table), "law")
    if s.scheme == CHECKPOINT_ONLY and s.redundancy != 1:
        raise ValueError("redundancy is 1 with checkpoints only")
    if s.save_steps == 0 and intervals is None:
        raise ValueError("save_steps is 0: give intervals")
    intervals = np.array([0] if intervals is None else intervals, np.int64)
    if not intervals.size or intervals.min() < 0 or width < 1:
        raise ValueError("intervals must be one or more times, of bins 1 us wide or wider")
    means = np.array([s.mean] if means is None else means, np.float64)
    if means.size not in (1, s.groups) or means.min() <= 0 or (means.size > 1 and s.clocks >= SYSTEM):
        raise ValueError(
            "means must be positive, one for all groups or one for each (and one for the system clock)"
        )
    if (s.clocks == STREAM) != (stream is not None):
        raise ValueError("a failure stream goes with clocks = STREAM, and these with no other failures")
    if stream is not None and int(stream.numbers[stream_plan.GROUPS]) != s.groups:
        raise ValueError("the failure stream is of another number of groups")
    scale = np.ascontiguousarray(np.broadcast_to(means * _scale_of_mean(s), s.groups))
    layout = None
    if s.scheme not in (REPLICATION, CHECKPOINT_ONLY):
        if hosts is None or stacks is None or np.shape(stacks) != (s.groups, s.redundancy):
            raise ValueError("SPARe needs hosts and stacks, int32[groups, redundancy]")
        layout = controller_state.plan(hosts, stacks)
    elif s.scheme == CHECKPOINT_ONLY:
        own = np.arange(s.groups, dtype=np.int32)[:, None]
        layout = controller_state.plan(own, own)
    return Plan(s, scale, intervals, int(width), layout, table, stream)


def _scale_of_mean(s):
    """Scale of the law of mean 1; of a table, which is for the mean of the settings, what it is multiplied by."""
    if s.law >= LINEAR:
        return 1.0 / s.mean
    if s.law == WEIBULL:
        return 1.0 / math.gamma(1.0 + 1.0 / s.shape)
    if s.law == LOGNORMAL:
        return math.exp(-0.5 * s.shape**2)
    return 1.0


def _check(s):
    """ValueError where a setting is out of range."""
    times = (
        "stack",
        "allreduce",
        "found_allreduce",
        "save",
        "restart",
        "shrink",
        "detection",
        "save_blocking",
        "swap",
        "rejoin",
    )
    for name in (*times, "max_wall"):
        if not 0 <= getattr(s, name) <= LARGEST_TIME:
            raise ValueError(f"{name} = {getattr(s, name)}: must be 0 to 2**59 us")
    if not s.stack >= 1:
        raise ValueError("stack = 0: a step takes time")
    if not 1 <= s.redundancy <= s.groups < 2**24:
        raise ValueError("groups must be 1 to 2**24 - 1, redundancy 1 to groups")
    if not 1 <= s.steps < 2**31:
        raise ValueError("steps must be 1 to 2**31 - 1")
    if not 0.0 <= s.sigma <= LARGEST_SIGMA:
        raise ValueError(f"sigma = {s.sigma}: must be 0 to {LARGEST_SIGMA}")
    if not 0.0 < s.mean < math.inf or not 0.0 < s.shape < math.inf:
        raise ValueError("mean and shape must be positive and finite")
    if s.lowest_only and s.scheme != REPLICATION:
        raise ValueError("lowest_only is a rule of replication")
    if s.repair != NO_REPAIR and not 0 <= s.repair <= LARGEST_TIME:
        raise ValueError(f"repair = {s.repair}: must be 0 to 2**59 us, or NO_REPAIR")
    if not 0 <= s.spares < 2**24:
        raise ValueError("spares must be 0 to 2**24 - 1")
    if s.elastic and s.scheme == CHECKPOINT_ONLY:
        raise ValueError("with checkpoints only any failure restarts: nothing comes back before")
    if s.keep_depth and s.scheme != SPARE:
        raise ValueError("keep_depth is a rule of SPARe")
    if s.save_kind == BACKGROUND and s.save_blocking > s.save:
        raise ValueError("save_blocking is part of save")


def weibull_intervals(save, scale, shape, width, count):
    """Intervals [us], int64[count], for failures whose hazard since the restart is a Weibull's.

    ``sqrt(2 * save / h(t))`` with ``h(t) = shape / scale * (t / scale)**(shape - 1)`` at the middle of each bin of
    ``width`` [us]; save and scale in us. Young's interval at the hazard of the moment; as a checkpoint frequency
    ``sqrt(h(t) / (2 * save))`` in Liu, Nassar, Leangsuksun et al., IPDPS 2008 (doi 10.1109/IPDPS.2008.4536279).
    """
    t = (np.arange(count) + 0.5) * width
    hazard = shape / scale * (t / scale) ** (shape - 1.0)
    return np.minimum(np.sqrt(2.0 * save / hazard), LARGEST_TIME).astype(np.int64)
