"""A training run as a study asks for it, made into what the kernel reads."""

import dataclasses
import math

import numpy as np

from .errors import UserError
from .rules import rules

_TIMES = ("stack_time", "allreduce_time", "save_time", "restart_time", "shrink_time", "detection_delay")
_BINS = 2048  # of the time since the restart, for a dynamic checkpoint period


def resolved(section, groups, redundancy, failures, label):
    """``training.*`` parameters of a point: every rule and time resolved, seconds as numbers.

    section : Training model; failures : resolved ``failures.*`` parameters
    """
    if not any(key.startswith(("failures.", "domains.", "replay.")) for key in failures):
        raise UserError(
            f"{label}: failures.system_mtbf (--system-mtbf) is missing: a training run needs failures"
        )
    scheme = section.scheme
    if scheme == "checkpoint-only" and redundancy != 1:
        raise UserError(
            f"{label}: layout.redundancy = {redundancy}: scheme checkpoint-only has no redundancy; give 1"
        )
    rule = rules(scheme, section.rules)
    found = {"scheme": scheme, "rules": section.rules, "steps": section.steps, "jitter": section.jitter}
    for name in rule:
        given = getattr(section, name)
        found[name] = rule[name] if given is None else given
    found["clocks"] = _clocks(section, failures, found["clocks"], label)
    if scheme != "replication":
        for name, allowed in (("placement", "block"), ("handling", "all")):
            if found[name] != allowed:
                raise UserError(
                    f"{label}: training.{name} = {found[name]!r}: is a rule of scheme replication; "
                    f"scheme {scheme} allows {allowed!r}"
                )
        del found["placement"]
    found.update(
        {name: float(getattr(section, name)) for name in ("stack_time", "save_time", "restart_time")}
    )
    found["shrink_time"] = float(section.shrink_time)
    found["allreduce_time"] = (
        groups / 100 if section.allreduce_time is None else float(section.allreduce_time)
    )
    found.update(_returns(section, found, label))
    found.update(_saves(section, found, label))
    found.update(_checkpoint(section, found, label))
    failure_free = found["steps"] * (found["stack_time"] + found["allreduce_time"])
    found["max_wall"] = 1000 * failure_free if section.max_wall is None else float(section.max_wall)
    for name in ("tokens_per_step", "shard_size"):
        if getattr(section, name) is not None:
            found[name] = float(getattr(section, name))
    return {f"training.{name}": value for name, value in found.items()}


def _clocks(section, failures, usual, label):
    """The rule of the failure clocks: what the failures themselves ask for comes before the rule set's."""
    from .failure_streams import has_stream, stream_key

    given = section.clocks
    if failures.get("failures.clock_level") == "system" and not has_stream(failures):
        if given not in (None, "system"):
            raise UserError(
                f"{label}: training.clocks = {given!r}: failures.clock_level = 'system' is one clock of the whole "
                "system; leave training.clocks out"
            )
        return "system"
    key = stream_key(failures)
    if key is None:
        return usual if given is None else given
    if given is not None:
        raise UserError(
            f"{label}: training.clocks = {given!r}: {key} makes failures of its own, whose units are renewed when they "
            "fail; leave training.clocks out"
        )
    return "stream"


def _returns(section, found, label):
    """Keys of groups that come back before a restart; none where none does, so that such points keep their identity."""
    repair, spares = section.repair_time, section.spares
    if repair is None and spares is None:
        for name in ("swap_time", "rejoin_time", "depth_after_rejoin"):
            if getattr(section, name) is not None:
                needed = (
                    "training.spares" if name == "swap_time" else "training.repair_time or training.spares"
                )
                raise UserError(f"{label}: training.{name} = {getattr(section, name)!r}: needs {needed}")
        return {}
    key, value = ("repair_time", f"{repair:g}") if repair is not None else ("spares", spares)
    if found["scheme"] == "checkpoint-only":
        raise UserError(
            f"{label}: training.{key} = {value}: with scheme checkpoint-only any failure restarts, and nothing can "
            "come back before; allowed with spare and replication"
        )
    returns = {} if repair is None else {"repair_time": float(repair)}
    if spares is not None:
        returns["spares"] = spares
        returns["swap_time"] = 0.0 if section.swap_time is None else float(section.swap_time)
    elif section.swap_time is not None:
        raise UserError(f"{label}: training.swap_time = {section.swap_time:g}: needs training.spares")
    rejoin = section.rejoin_time
    returns["rejoin_time"] = found["shrink_time"] if rejoin is None else float(rejoin)
    if found["scheme"] == "spare":
        returns["depth_after_rejoin"] = section.depth_after_rejoin or "least"
    elif section.depth_after_rejoin is not None:
        raise UserError(
            f"{label}: training.depth_after_rejoin = {section.depth_after_rejoin!r}: is a rule of scheme spare"
        )
    return returns


def comes_back(parameters):
    """Whether groups of a point can come back before a restart."""
    return "training.repair_time" in parameters or bool(parameters.get("training.spares"))


def _saves(section, found, label):
    if found["saves"] != "asynchronous":
        if section.save_blocking is not None:
            raise UserError(
                f"{label}: training.save_blocking: only saves = 'asynchronous' has a part that blocks"
            )
        return {}
    blocking = 0.0 if section.save_blocking is None else float(section.save_blocking)
    if blocking > found["save_time"]:
        raise UserError(
            f"{label}: training.save_blocking = {blocking:g}: must be at most save_time = {found['save_time']:g} s"
        )
    return {"save_blocking": blocking}


def _checkpoint(section, found, label):
    given = [
        k for k in ("checkpoint_steps", "checkpoint_period", "checkpoint") if getattr(section, k) is not None
    ]
    if len(given) > 1:
        raise UserError(f"{label}: training.{given[0]} and training.{given[1]}: give one of the two")
    if section.checkpoint == "dynamic" and simulates_wipeouts({f"training.{k}": v for k, v in found.items()}):
        why = "failures come from a stream" if found["clocks"] == "stream" else "groups come back"
        raise UserError(
            f"{label}: training.checkpoint = 'dynamic': where {why} the hazard of a wipe-out is not known; allowed "
            "here: optimal, young, or checkpoint_steps or checkpoint_period in its place"
        )
    return {given[0]: getattr(section, given[0])} if given else {"checkpoint": "optimal"}


def failure_free_time(parameters):
    """T0 = steps (T_comp + T_a), seconds."""
    p = parameters
    return p["training.steps"] * (p["training.stack_time"] + p["training.allreduce_time"])


def survival_curve(parameters, layout):
    """P(k) of what the scheme endures: exact where it is known, else types taken as independent; float64[N+1]."""
    from . import exact
    from .layouts import Layout

    n, r = layout.groups, layout.redundancy
    if parameters["training.scheme"] == "replication":
        layout = Layout.partition(n, r)  # cyclic blocks lie elsewhere but are as many and as large
    elif parameters["training.scheme"] == "checkpoint-only":
        return np.concatenate([[1.0], np.zeros(n)])
    curve = exact.survival_curve(layout)
    return exact.independent_types_curve(n, r) if curve is None else curve


def simulates_wipeouts(parameters):
    """Whether the mean time to a wipe-out has no closed form: groups come back, or failures come from a stream."""
    return comes_back(parameters) or parameters["training.clocks"] == "stream"


def time_to_wipeout(point):
    """Expected time [s] from a fresh start to a wipe-out of a Point's scheme: by closed form, or by ``probes``."""
    from . import failure_model, probes

    if simulates_wipeouts(point.parameters):
        return probes.time_to_wipeout(lambda *asked: _plan(point, *asked), point.parameters)
    return failure_model.time_to_wipeout(survival_curve(point.parameters, point.layout), point.parameters)


def checkpoint_interval(point):
    """Compute time [s] between saves, the save not included, of policies optimal and young, for a Point."""
    from . import theory

    p = point.parameters
    save, restart = p["training.save_time"], p["training.restart_time"]
    if save == 0:
        return 0.0
    until = time_to_wipeout(point)
    if p["training.checkpoint"] == "young":
        return theory.young_period(save, until)
    return theory.checkpoint_period(save, restart, until) - save


def dynamic_intervals(point):
    """``(intervals, width)``: Young's interval at the wipe-out hazard by time since the restart, seconds.

    The hazard of a bin is the fall of ln S over it, S(t) = sum_k P(k) Pr[k of N groups failed by t] with all groups
    fresh at the restart: at redundancy 1 and a Weibull shape below 1 it falls with time; with redundancy it rises.
    Interval sqrt(2 T_s / hazard), at most ten mean times to wipe-out.
    """
    from scipy.stats import binom

    from .failure_model import unit_law

    p, n = point.parameters, point.layout.groups
    curve = survival_curve(p, point.layout)
    until = time_to_wipeout(point)
    width = 3.0 * until / _BINS
    edges = np.arange(_BINS + 1) * width
    model, clocks = unit_law(p)
    alive = np.exp(-clocks * model.cumulated_hazard(edges))
    ks = np.flatnonzero(curve > 0)
    survival = np.array([binom.pmf(ks, n, 1.0 - a) @ curve[ks] for a in alive])
    with np.errstate(divide="ignore", invalid="ignore"):
        hazard = -np.diff(np.log(survival)) / width
        intervals = np.sqrt(2.0 * p["training.save_time"] / hazard)
    gone = ~np.isfinite(intervals) & (survival[1:] < 1e-280)
    last = intervals[~gone][-1] if (~gone).any() else until
    intervals = np.where(gone, last, np.where(np.isfinite(intervals), intervals, 10 * until))
    return np.minimum(intervals, 10 * until), width


def microseconds(seconds):
    """A duration in seconds as whole microseconds, the nearest."""
    return int(math.floor(seconds * 1e6 + 0.5))


def kernel_plan(point):
    """The ``kernels.training_plan`` Plan of a Point, for every backend."""
    intervals, width = _intervals(point)
    return _plan(point, point.parameters.get("training.checkpoint_steps", 0), {}, intervals, width)


def _plan(point, save_steps, changes, intervals=None, width=1):
    from .kernels import training_plan
    from .kernels import training_settings as names

    parameters, layout = point.parameters, point.layout
    p = {
        key.removeprefix("training."): value
        for key, value in parameters.items()
        if key.startswith("training.")
    }
    times = {name: microseconds(p[name]) for name in _TIMES}
    clocks = {"renewal": names.RENEWAL, "fresh": names.FRESH, "system": names.SYSTEM, "stream": names.STREAM}
    streamed = p["clocks"] == "stream"
    law, shape, mean, table = (names.EXPONENTIAL, 1.0, 1.0, None) if streamed else _clock(parameters)
    save_kind = {"blocking": names.BLOCKING, "overlapped": names.SAVER, "asynchronous": names.BACKGROUND}
    settings = names.Settings(
        scheme={
            "spare": names.SPARE,
            "replication": names.REPLICATION,
            "checkpoint-only": names.CHECKPOINT_ONLY,
        }[p["scheme"]],
        groups=layout.groups,
        redundancy=layout.redundancy,
        steps=p["steps"],
        stack=times["stack_time"],
        allreduce=times["allreduce_time"],
        found_allreduce=microseconds(p["found_allreduce"] * p["allreduce_time"]),
        save=times["save_time"],
        restart=times["restart_time"],
        shrink=times["shrink_time"],
        detection=times["detection_delay"],
        law=law,
        shape=shape,
        mean=mean,
        clocks=clocks[p["clocks"]],
        extended=int(p["restart"] == "extended"),
        lowest_only=int(p["handling"] == "lowest"),
        resume_after=int(p["resume"] == "after"),
        save_kind=save_kind[p["saves"]],
        save_blocking=microseconds(p.get("save_blocking", 0.0)),
        sigma=0.0 if p["barrier"] == "mean" else p["jitter"],
        jitter=names.PER_BLOCK if p["jitter_per"] == "block" else names.PER_STACK,
        patch_all=int(p["patch"] == "every"),
        placement=names.CYCLIC if p.get("placement") == "cyclic" else names.CONSECUTIVE,
        save_steps=save_steps,
        max_wall=microseconds(p["max_wall"]),
        repair=microseconds(p["repair_time"]) if "repair_time" in p else names.NO_REPAIR,
        spares=p.get("spares", 0),
        swap=microseconds(p.get("swap_time", 0.0)),
        rejoin=microseconds(p.get("rejoin_time", 0.0)),
        keep_depth=int(p.get("depth_after_rejoin") == "kept"),
    )
    settings = settings._replace(**changes)
    tables = (layout.host_table(), layout.stack_table()) if p["scheme"] == "spare" else (None, None)
    try:
        stream = point.training_stream if streamed else None
        return training_plan.plan(
            settings, *tables, intervals=intervals, width=width, table=table, stream=stream
        )
    except ValueError as error:
        raise UserError(f"training: {error}") from None


def _clock(parameters):
    """``(law, shape, mean [us], table)`` of a group's own clock, or of the one clock of the whole system."""
    from .failure_model import unit_law
    from .kernels.training_settings import LINEAR

    one = parameters["training.clocks"] == "system"
    mean = parameters["failures.system_mtbf"] * (1 if one else parameters["cluster.groups"])
    drawn = dataclasses.replace(unit_law(parameters)[0], mean=mean).kernel()
    table = drawn.table if drawn.kind >= LINEAR else None
    return drawn.kind, parameters.get("failures.shape", 1.0), 1e6 * mean, table


def _intervals(point):
    parameters = point.parameters
    if "training.checkpoint_steps" in parameters:
        return None, 1
    if "training.checkpoint_period" in parameters:
        return [microseconds(parameters["training.checkpoint_period"])], 1
    if parameters["training.checkpoint"] == "dynamic":
        intervals, width = dynamic_intervals(point)
        return [microseconds(value) for value in intervals], microseconds(width)
    return [microseconds(checkpoint_interval(point))], 1
