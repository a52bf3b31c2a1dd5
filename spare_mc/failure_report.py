"""Failures in words: the rate of a study by system, group, node and GPU, and what its domains take out."""

from . import domains, failure_model, placement, replays
from .durations import duration
from .laws import convert_mtbf


def lines(parameters):
    """Lines that say what fails and how often, from resolved parameters; none where no failures are stated."""
    p = parameters
    if "failures.system_mtbf" in p:
        yield from _clocks(p)
    rates = [1.0 / p["failures.system_mtbf"]] if "failures.system_mtbf" in p else []
    for level in domains.levels_of(p):
        count, text = _domain(p, level)
        rates.append(count / p[f"domains.{level}_mtbf"])
        yield text
    if len(rates) > 1:
        yield f"all events together: one in {duration(1.0 / sum(rates))}"
    if "replay.digest" in p:
        yield _replay(p)
    if "domains.placement" in p and p["domains.placement"] != "linear":
        more = f", stride {p['domains.stride']}" if "domains.stride" in p else ""
        yield f"placement: {p['domains.placement']}{more}"


def brief(parameters):
    """What sets a point's failures apart from identical independent groups, a few words; empty where nothing does."""
    p = parameters
    levels = domains.levels_of(p)
    told = [f"{' and '.join(levels)} events"] if levels else []
    told += ["lemons"] if "failures.lemon_share" in p else []
    told += ["unequal groups"] if "failures.group_rates" in p else []
    told += ["replayed log"] if "replay.digest" in p else []
    told += [f"{p['domains.placement']} placement"] if "domains.placement" in p else []
    return ", ".join(told)


def _clocks(p):
    groups, per_group = int(p["cluster.groups"]), p.get("cluster.gpus_per_group")
    mtbf, per_node = p["failures.system_mtbf"], p.get("cluster.gpus_per_node")
    size = f" at {groups * per_group:,} GPUs" if per_group else ""
    told = [f"system MTBF {duration(mtbf)}{size}", f"{_hours(mtbf * groups)} per group"]
    sizes = {"groups": groups, "gpus_per_group": per_group, "gpus_per_node": per_node}
    if per_group and per_node:
        told.append(f"{_hours(convert_mtbf(mtbf, 'system', 'node', **sizes))} per node of {per_node}")
    if per_group:
        told.append(f"{_hours(convert_mtbf(mtbf, 'system', 'gpu', **sizes))} per GPU")
    yield " = ".join(told)
    level, law = p.get("failures.clock_level", "group"), p.get("failures.law", "exponential")
    if law != "exponential" or level == "system":
        each = (
            "one clock of the whole system"
            if level == "system"
            else f"a clock each {'GPU' if level == 'gpu' else level}"
        )
        if failure_model.identical(p) and level != "system":
            first = float(failure_model.order_times(groups, [1], p)[0])
            each += f"; all fresh, the first failure comes after {duration(first)} on average"
        yield f"{law} lifetimes, {each}"
    if "failures.lemon_share" in p:
        mean = failure_model.unit_law(p)[0].mean
        rate, all_of = p["failures.lemon_rate"], groups * failure_model.clocks_of_group(p)
        yield (
            f"lemons: {100 * p['failures.lemon_share']:g} % of the {all_of:,} {_plural(level)}, MTBF "
            f"{_hours(mean / rate)} against {_hours(mean)} of the others"
        )
    rates = failure_model.group_rates(p)
    if rates is not None:
        means = failure_model.unit_law(p)[0].mean / rates
        yield f"unequal groups: clocks of mean {_hours(means.min())} to {_hours(means.max())}"


def _domain(p, level):
    """``(domains of a level, a line on them)``."""
    mtbf, law = p[f"domains.{level}_mtbf"], p.get(f"domains.{level}_law", "exponential")
    shape = f" (shape {p[f'domains.{level}_shape']:g})" if f"domains.{level}_shape" in p else ""
    what = "power domain" if level == "power" else level
    text = f"{level} events: {law}{shape}, each {what} once in {duration(mtbf)}"
    size = p.get(f"domains.{level}_size")
    if size is None:  # what a table says of members, a file holds by its hash
        count = p[f"domains.{level}_domains"]
        return count, text + f", {count:,} of them: one in {duration(mtbf / count)}"
    gpus = int(p["cluster.groups"] * p["cluster.gpus_per_group"])
    count = -(-gpus // size)
    text += f", {count:,} of {size:,} GPUs: one in {duration(mtbf / count)}"
    if p["domains.placement"] != "custom":
        starts, groups = domains.members_of(p, level, placement.owners(p), {})
        most = int((starts[1:] - starts[:-1]).max())
        text += f"; takes out {len(groups) / count:.3g} groups on average, at most {most}"
    return count, text


def _replay(p):
    many, count = replays.copies(p)
    how = f"in blocks of {duration(p['replay.block'])}" if "replay.block" in p else "from a random moment on"
    side = "" if many == 1 else f", {many} copies side by side"
    return (
        f"replayed log: {p['replay.failures']:,} failures of {p['replay.units']:,} units in "
        f"{duration(p['replay.window'])}, {how}; {count:,} {_plural(p['replay.unit_is'])} here{side}: one failure in "
        f"{duration(p['replay.window'] * p['replay.units'] / p['replay.failures'] / count)}"
    )


def _hours(seconds):
    hours = seconds / 3600
    return duration(seconds) if hours < 2 else f"{hours:,.0f} h" if hours >= 1000 else f"{hours:.4g} h"


def _plural(level):
    return {"gpu": "GPUs", "node": "nodes", "group": "groups"}[level]
