"""Replay: a failure log drives the simulation in place of laws.

Scaling to another size: a cluster of U' units runs ceil(U' / U) copies of a log of U units side by side, each from a
random moment of its own; of the last copy only so many units are there that the sizes agree, so the failures per unit
stay those of the log, and so do its bursts.
"""

import math

import numpy as np

from . import placement
from .errors import UserError, nearest
from .kernels.stream_plan import MOST_REPLAYS

_OPTIONS = (
    "time",
    "unit",
    "end",
    "duration",
    "time_unit",
    "time_zone",
    "cause",
    "cause_column",
    "system",
    "where",
)


def resolved(section, groups, per_group, per_node, label):
    """``(parameters, inputs)`` of a study's section [replay]; both empty where there is no log.

    inputs : dict with ``times`` int64[n] [us], ascending from 0, and ``units`` int32[n], from 0
    """
    if section.log is None:
        for key in ("units", "block", "options", "start", "end"):
            value = getattr(section, key)
            if value is not None:
                raise UserError(f"{label}: replay.{key} = {value!r}: needs replay.log")
        for key, default in (("unit_is", "node"), ("mapping", "random")):
            if getattr(section, key) != default:
                raise UserError(f"{label}: replay.{key} = {getattr(section, key)!r}: needs replay.log")
        return {}, {}
    log, known = _read(section, label)
    units, times, window = _events(log, section.log, label)
    exist = _existing(section.units, known, units, section.log, label)
    block = 0.0 if section.block is None else float(section.block)
    if block > window:
        raise UserError(
            f"{label}: replay.block = {block:g} s: must be at most the length of the log, {window:g} s"
        )
    if block and block * len(times) < window / 10:
        raise UserError(
            f"{label}: replay.block = {block:g} s: must be at least {window / len(times) / 10:.4g} s, a tenth of the "
            "mean time between failures: shorter pieces of the log hold hardly any"
        )
    count = _cluster_units(section.unit_is, groups, per_group, per_node, label)
    if section.mapping == "fixed" and count > exist:
        raise UserError(
            f"{label}: replay.mapping = 'fixed': the log has {exist:,} units, the cluster {count:,}; use random"
        )
    if -(-count // exist) > MOST_REPLAYS:
        raise UserError(
            f"{label}: replay.log = {section.log!r}: the cluster's {count:,} {section.unit_is}s would take "
            f"{-(-count // exist):,} copies of a log of {exist:,} units; at most {MOST_REPLAYS}: let a unit stand for "
            "more, such as replay.unit_is = 'group' or a larger cluster.gpus_per_node"
        )
    inputs = {"times": times, "units": units}
    found = {
        "replay.digest": placement.digest(times, units),
        "replay.failures": len(times),
        "replay.window": window,
        "replay.units": exist,
        "replay.unit_is": section.unit_is,
        "replay.mapping": section.mapping,
    }
    return found | ({"replay.block": block} if block else {}), inputs


def copies(parameters):
    """``(copies, units of the cluster)``: logs played side by side, and what they are played on."""
    p = parameters
    count = _cluster_units(
        p["replay.unit_is"],
        int(p["cluster.groups"]),
        p.get("cluster.gpus_per_group"),
        p.get("cluster.gpus_per_node", 8),
        "replay",
    )
    return -(-count // int(p["replay.units"])), count


def _read(section, label):
    """The cleaned log and how many units it says exist."""
    from . import trace_cleaning, traces

    records = traces.read(section.log, _options(section.options, label))
    begin, end = (
        None if text is None else traces.moment(text, records, f"replay.{key}")
        for key, text in (("start", section.start), ("end", section.end))
    )
    return trace_cleaning.clean(records, begin, end), records.units


def _options(text, label):
    from .trace_records import Options

    given = {}
    for part in text.split(",") if text else []:
        name, equals, value = part.partition("=")
        name = name.strip().removeprefix("--").replace("-", "_")
        if not equals or name not in _OPTIONS:
            raise UserError(
                f"{label}: replay.options: {part.strip()!r}: must be NAME=VALUE; {nearest(name, _OPTIONS)}"
            )
        given[name] = value.strip()
    where = {}
    if "where" in given:
        column, _, value = given.pop("where").partition("=")
        where[column.strip()] = value.strip()
    if "system" in given:
        where["System"] = given.pop("system")
    causes = (given.pop("cause"),) if "cause" in given else ()
    cause = given.pop("cause_column", None)
    return Options(**given, cause=cause, where=where, causes=causes)


def _events(log, path, label):
    """``(units int32[n], times int64[n] [us], window [s])`` of the failures within the window, in order of time."""
    begin, end = log.window
    names = sorted(log.outages)
    if not names:
        raise UserError(
            f"{label}: replay.log = {path!r}: no failure names a unit, so none can be mapped on a group"
        )
    starts = [log.outages[name][:, 0][log.fresh[name]] for name in names]
    units = np.repeat(np.arange(len(names), dtype=np.int32), [len(s) for s in starts])
    times = np.floor((np.concatenate(starts) - begin) * 1e6 + 0.5).astype(np.int64)
    window = float(end - begin)
    times = np.minimum(times, math.floor(window * 1e6) - 1)  # at the very end: within
    order = np.lexsort([units, times])
    return units[order], times[order], window


def _existing(told, known, units, path, label):
    """Units that exist: as told, or as the log says."""
    seen = int(units.max()) + 1
    exist = told if told is not None else known
    if exist is None:
        raise UserError(
            f"{label}: replay.units is missing: {seen:,} units appear in {path}; how many exist, those that never "
            "failed too?"
        )
    if exist < seen:
        raise UserError(f"{label}: replay.units = {exist}: {seen:,} units appear in {path}")
    return exist


def _cluster_units(unit_is, groups, per_group, per_node, label):
    if unit_is == "group":
        return groups
    if per_group is None:
        raise UserError(
            f"{label}: replay.unit_is = {unit_is!r}: needs cluster.gpus or cluster.gpus_per_group"
        )
    gpus = groups * int(per_group)
    return gpus if unit_is == "gpu" else -(-gpus // int(per_node))
