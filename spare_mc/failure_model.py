"""What a study says of failures, resolved: the law of the clocks, how many there are, and what each fails at.

Resolved parameters of [failures]: ``law`` and its own keys, ``system_mtbf`` [s] of the full-strength system by count
and rate, and, where they are not the defaults, ``clock_level``, ``lemon_share``, ``lemon_rate``, ``group_rates``.
"""

import re
from pathlib import Path

import numpy as np

from .errors import UserError
from .laws import LAWS, LEVELS, convert_mtbf, law

LAW_KEYS = ("shape", "ages", "rates", "early_rate", "early_age", "wear_age", "gaps")
_RUN = re.compile(r"\s*(\d+)\s*[x*]\s*(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)\s*$")
_MOST_RATE = 1e6  # of a lemon or a group, and its inverse the least


def resolved(section, cluster, per_group, label):
    """Resolved ``failures.*`` parameters of a study's section [failures].

    section, cluster : validated sections; per_group : GPUs of a group, or None
    Raises UserError naming the key, the value and what is allowed.
    """
    level, per_node = section.clock_level, cluster.gpus_per_node
    kind, unit, value = _given(section, label)
    own = {key: getattr(section, key) for key in LAW_KEYS if getattr(section, key) is not None}
    if "gaps" in own:
        own["gaps"] = _numbers(own["gaps"], f"{label}: failures.gaps")
    try:
        model = law(section.law, 1.0 if value is None or kind == "scale" else value, **own)
    except UserError as error:
        raise UserError(f"{label}: failures.{error}") from None
    found = {"failures.law": section.law}
    found |= {f"failures.{key}": list(v) if isinstance(v, (list, tuple)) else v for key, v in own.items()}
    clocks = _clocks(level, cluster.groups, per_group, per_node, label)
    lemons = _lemons(section, level, label)
    rates = _group_rates(section.group_rates, cluster.groups, level, label)
    if lemons:
        _enough_lemons(lemons[0], clocks if level != "group" else 1, cluster.groups, rates, label)
    weight = _weight(lemons, rates, cluster.groups, clocks)
    if kind == "scale":
        value = _mean_of_scale(value, unit, level, model, own, label)
    elif value is None:
        value = law("empirical", None, gaps=own["gaps"]).mean
    if unit in ("node", "gpu") and per_group is None:
        raise UserError(
            f"{label}: failures.{unit}_{kind} = {value:g}: needs cluster.gpus or cluster.gpus_per_group"
        )
    sizes = {"groups": cluster.groups, "gpus_per_group": per_group, "gpus_per_node": per_node}
    mtbf = convert_mtbf(value, unit, "system", **sizes)
    if unit != "system":
        mtbf /= weight  # given for a unit of rate 1
    found["failures.system_mtbf"] = float(mtbf)
    # Clocks of one law that never age can be a group's as well: minima of exponentials are exponential.
    if level == "system" or (level != "group" and (section.law != "exponential" or lemons)):
        found["failures.clock_level"] = level
        if level == "node":
            found["cluster.gpus_per_node"] = per_node
    if lemons:
        found["failures.lemon_share"], found["failures.lemon_rate"] = lemons
    if rates is not None and (rates != rates[0]).any():  # all alike only set the level
        found["failures.group_rates"] = _told_rates(rates)
    return found


def unit_law(parameters):
    """``(law, clocks)``: the law of one clock of rate 1, its mean in seconds, and how many clocks a group has.

    For ``clock_level`` system the one clock's, and 0.
    """
    p = parameters
    level = p.get("failures.clock_level", "group")
    clocks = clocks_of_group(p)
    count = max(1, clocks) * (1 if level == "system" else p["cluster.groups"])
    lemons = (p["failures.lemon_share"], p["failures.lemon_rate"]) if "failures.lemon_share" in p else None
    rates = group_rates(p)
    weight = _weight(lemons, rates, int(p["cluster.groups"]), max(1, clocks))
    mean = float(p["failures.system_mtbf"]) * count * weight
    own = {key: p[f"failures.{key}"] for key in LAW_KEYS if f"failures.{key}" in p}
    return law(p.get("failures.law", "exponential"), mean, **own), clocks


def clocks_of_group(parameters):
    """Clocks of a group: 1, or its nodes or GPUs; 0 where the whole system has one."""
    p, level = parameters, parameters.get("failures.clock_level", "group")
    if level in ("group", "system"):
        return int(level == "group")
    per_group = int(p["cluster.gpus_per_group"])
    return per_group if level == "gpu" else per_group // int(p["cluster.gpus_per_node"])


def group_rates(parameters):
    """Relative failure rate of every group, float64[N], or None where all are alike."""
    told = parameters.get("failures.group_rates")
    return None if told is None else _rates_of_runs(told)


def identical(parameters):
    """Whether all groups fail alike and independently, so that any order of failures is as likely as another."""
    others = ("failures.lemon_share", "failures.group_rates")
    return not any(key in others or key.startswith(("domains.", "replay.")) for key in parameters)


def order_times(groups, places, parameters):
    """Mean time [s] of the i-th failure among N identical, independent, fresh groups, or None without an MTBF.

    places : int array of i, 1..N. Under one clock of the whole system the i-th failure comes after i intervals.
    """
    from .order_times import order_means

    known = (
        parameters.get("failures.law", "exponential") in LAWS
    )  # a file of a later version may hold another
    if not parameters.get("failures.system_mtbf") or not known or not identical(parameters):
        return None
    model, clocks = unit_law(parameters)
    if not clocks:
        return np.asarray(places) * model.mean
    return order_means(groups, places, model, clocks)


def time_to_wipeout(survival, parameters):
    """Expected time [s] from fresh groups to the wipe-out, of identical independent groups.

    survival : float64[N+1], P(k) = Pr[K_w > k]. Sum over k of Pr[K_w = k] E[time of the k-th failure].
    """
    survival = np.asarray(survival, np.float64)
    ends = survival[:-1] - survival[1:]
    likely = np.flatnonzero(ends > 1e-18)  # the others together weigh below 1e-12 of the mean
    return float(ends[likely] @ order_times(len(ends), likely + 1, parameters))


def _given(section, label):
    """``("mtbf" or "scale", level, seconds)``: the one key that says how often failures come; None: the gaps do."""
    given = [
        (kind, level, getattr(section, f"{level}_{kind}"))
        for kind in ("mtbf", "scale")
        for level in reversed(LEVELS)
        if getattr(section, f"{level}_{kind}") is not None
    ]
    if not given and section.law == "empirical" and section.gaps is not None:
        return "mtbf", section.clock_level, None
    if len(given) != 1:
        named = ", ".join(f"failures.{level}_{kind}" for kind, level, _ in given) or "none"
        raise UserError(
            f"{label}: give one of failures.system_mtbf, group_mtbf, node_mtbf, gpu_mtbf, or the scale of a clock "
            f"(system_scale, ...); given: {named}"
        )
    return given[0]


def _mean_of_scale(value, unit, level, model, own, label):
    """Mean [s] of a clock whose law has this scale [s]."""
    name = f"{label}: failures.{unit}_scale = {value:g}"
    if unit != level:
        raise UserError(
            f"{name}: is of a {unit}'s clock, but failures.clock_level = {level!r}; give {level}_scale, or the mean"
        )
    if not hasattr(type(model), "from_scale"):
        raise UserError(f"{name}: law {model.name!r} has a mean only")
    return type(model).from_scale(value, *own.values()).mean


def _clocks(level, groups, per_group, per_node, label):
    """Clocks of a group."""
    if level in ("group", "system"):
        return 1
    if per_group is None:
        raise UserError(
            f"{label}: failures.clock_level = {level!r}: needs cluster.gpus or cluster.gpus_per_group"
        )
    if level == "gpu":
        return per_group
    if per_group % per_node:
        raise UserError(
            f"{label}: failures.clock_level = 'node': cluster.gpus_per_group = {per_group} is no multiple of "
            f"cluster.gpus_per_node = {per_node}"
        )
    return per_group // per_node


def _lemons(section, level, label):
    share, rate = section.lemon_share, section.lemon_rate
    if (share is None) != (rate is None):
        there, lacking = ("share", "rate") if rate is None else ("rate", "share")
        raise UserError(f"{label}: failures.lemon_{there}: needs failures.lemon_{lacking} beside it")
    if share is None:
        return None
    if not 1 / _MOST_RATE <= rate <= _MOST_RATE:
        raise UserError(
            f"{label}: failures.lemon_rate = {rate:g}: must be from {1 / _MOST_RATE:g} to {_MOST_RATE:g}"
        )
    if level == "system":
        raise UserError(
            f"{label}: failures.lemon_share = {share:g}: one clock of the whole system has no lemons"
        )
    return share, rate


def _enough_lemons(share, clocks, groups, rates, label):
    """Refuse a share that leaves no lemon, or none but lemons, among units of one rate."""
    sizes = [groups] if rates is None else np.unique(rates, return_counts=True)[1]
    for size in sizes:
        if not 1 <= lemons_among(int(size) * clocks, share) < size * clocks:
            raise UserError(
                f"{label}: failures.lemon_share = {share:g}: of {size * clocks:,} units alike, one to "
                f"{size * clocks - 1:,} must be lemons"
            )


def lemons_among(count, share):
    """How many of so many units are lemons: the share, rounded."""
    return int(np.floor(count * share + 0.5))


def _weight(lemons, rates, groups, clocks):
    """Mean failure rate of the units against one of rate 1, the lemons counted as they are: whole ones of each rate."""
    kinds, sizes = (np.ones(1), np.array([groups])) if rates is None else np.unique(rates, return_counts=True)
    weight = 0.0
    for rate, size in zip(kinds, sizes * clocks, strict=True):
        bad = 0 if lemons is None else lemons_among(int(size), lemons[0])
        weight += rate * (size + bad * ((lemons[1] if lemons else 1.0) - 1.0))
    return float(weight) / (groups * clocks)


def _group_rates(text, groups, level, label):
    if text is None:
        return None
    name = f"{label}: failures.group_rates"
    if level == "system":
        raise UserError(f"{name} = {text!r}: one clock of the whole system hits all groups alike")
    runs = [_RUN.match(part) for part in text.split(",")]
    rates = _rates_of_runs(text) if all(runs) else np.array(_numbers(text, name))
    if len(rates) != groups:
        raise UserError(f"{name} = {text!r}: has {len(rates):,} rates; needs cluster.groups = {groups:,}")
    if not ((rates >= 1 / _MOST_RATE) & (rates <= _MOST_RATE)).all():
        raise UserError(f"{name} = {text!r}: every rate must be from {1 / _MOST_RATE:g} to {_MOST_RATE:g}")
    return rates


def _rates_of_runs(text):
    pairs = (_RUN.match(part) for part in text.split(","))
    counts, rates = zip(*((int(m[1]), float(m[2])) for m in pairs), strict=True)
    if sum(counts) > 2**24:
        raise UserError(f"failures.group_rates = {text!r}: more than {2**24:,} groups")
    return np.repeat(rates, counts)


def _told_rates(rates):
    """Rates as runs, the same text for the same rates however they were given."""
    edges = np.flatnonzero(np.diff(rates)) + 1
    return ",".join(f"{len(run)}x{float(run[0])!r}" for run in np.split(rates, edges))


def _numbers(path, name):
    """Numbers of a text file, separated by blanks, commas or lines."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise UserError(
            f"{name} = {path!r}: cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for word in line.partition("#")[0].replace(",", " ").split():
            try:
                found.append(float(word))
            except ValueError:
                raise UserError(f"{name} = {path!r}: line {number}: {word!r} is no number") from None
    if not found:
        raise UserError(f"{name} = {path!r}: holds no number")
    return found
