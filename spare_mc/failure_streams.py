"""From the resolved parameters of a point to its failure stream.

Independent groups with identical clocks need none: every failure order is then as likely as any other.
"""

import json

import numpy as np

from . import domains, failure_model, placement, replays
from .errors import UserError

_KEPT = 4  # plans: one of 600,000 clocks takes 10 MB, and points of a sweep share them
_plans = {}


def has_stream(parameters):
    """Whether failures come from a failure stream: groups are then not identical and independent.

    parameters : mapping of dotted key -> resolved value
    """
    return not failure_model.identical(parameters)


def trains_on_stream(parameters):
    """Whether training runs take their failures from a stream: also where clocks lie below the groups."""
    return has_stream(parameters) or parameters.get("failures.clock_level") in ("node", "gpu")


def stream_key(parameters):
    """What has training runs take their failures from a stream: a key, a key = value or a section; None: nothing."""
    p = parameters
    if not trains_on_stream(p):
        return None
    for key in ("failures.lemon_share", "failures.group_rates"):
        if key in p:
            return key
    for section in ("domains", "replay"):
        if any(key.startswith(f"{section}.") for key in p):
            return f"[{section}]"
    return f"failures.clock_level = {p['failures.clock_level']!r}"


def stream_plan_of(parameters, inputs=None, training=False):
    """The ``kernels.stream_plan.Plan`` of a point, or None where its groups are identical and independent.

    parameters : mapping of dotted key -> resolved value
    inputs : arrays that the parameters hold only by their hash (``study.Point.inputs``)
    training : for training runs, which also need one for clocks below the groups
    """
    if not (trains_on_stream(parameters) if training else has_stream(parameters)):
        return None
    key = json.dumps(
        {k: v for k, v in parameters.items() if not k.startswith(("layout.", "training."))}, sort_keys=True
    )
    if key not in _plans:
        while len(_plans) >= _KEPT:
            _plans.pop(next(iter(_plans)), None)
        _plans[key] = _built(parameters, inputs or {})
    return _plans[key]


def _built(parameters, inputs):
    from .kernels import stream_plan

    p, groups = parameters, int(parameters["cluster.groups"])
    pools, sources, played = [], [], []
    if "failures.system_mtbf" in p:
        _add_clocks(p, pools, sources)
    owner = None
    if "domains.placement" in p:
        owner = placement.owners(p, inputs.get("custom"))
    for level in domains.levels_of(p):
        pool = stream_plan.Pool(*domains.members_of(p, level, owner, inputs))
        sources.append(
            stream_plan.Source(domains.level_law(p, level).kernel(), len(pool.starts) - 1, len(pools))
        )
        pools.append(pool)
    if "replay.digest" in p:
        _add_replays(p, inputs, owner, pools, played)
    try:
        return stream_plan.plan(groups, pools, sources, played)
    except ValueError as error:
        raise UserError(f"failures: {error}") from None


def _add_clocks(p, pools, sources):
    """The groups' own clocks: a source for each failure rate, another for the lemons among them."""
    from .kernels.stream_plan import Pool, Source

    model, clocks = failure_model.unit_law(p)
    groups = int(p["cluster.groups"])
    if not clocks:
        raise UserError(
            "failures.clock_level = 'system': one clock of the whole system goes with no domains, lemons or replays"
        )
    rates = failure_model.group_rates(p)
    rates = np.ones(groups) if rates is None else rates
    for rate in np.unique(rates):
        own = np.repeat(np.flatnonzero(rates == rate).astype(np.int32), clocks)
        pools.append(Pool(np.arange(len(own) + 1, dtype=np.int64), own))
        lemons = 0
        if "failures.lemon_share" in p:
            lemons = failure_model.lemons_among(len(own), p["failures.lemon_share"])
            faster = _at_rate(model, rate * p["failures.lemon_rate"])
            sources.append(Source(faster.kernel(), lemons, len(pools) - 1))
        sources.append(Source(_at_rate(model, rate).kernel(), len(own) - lemons, len(pools) - 1))


def _at_rate(model, rate):
    """The law with all times divided by ``rate``."""
    return model if rate == 1.0 else model.faster(float(rate))


def _add_replays(p, inputs, owner, pools, played):
    from .kernels.stream_plan import Pool, Replay

    groups, unit_is = int(p["cluster.groups"]), p["replay.unit_is"]
    many, count = replays.copies(p)
    if unit_is == "group":
        starts, members = np.arange(groups + 1, dtype=np.int64), np.arange(groups, dtype=np.int32)
    elif unit_is == "gpu":
        starts, members = np.arange(count + 1, dtype=np.int64), owner
    else:
        node = np.arange(len(owner), dtype=np.int64) // int(p["cluster.gpus_per_node"])
        starts, members = placement.members(node, owner, count)
    window, size = round(p["replay.window"] * 1e6), int(p["replay.units"])
    block = round(p.get("replay.block", 0.0) * 1e6)
    for copy in range(many):
        begin, end = copy * size, min(count, (copy + 1) * size)
        mine = starts[begin : end + 1] - starts[begin]
        # units of the log that have no counterpart here hit nothing
        mine = np.concatenate([mine, np.full(size - (end - begin), mine[-1])])
        pools.append(Pool(mine, members[starts[begin] : starts[end]]))
        played.append(
            Replay(
                inputs["times"],
                inputs["units"],
                window,
                block,
                len(pools) - 1,
                int(p["replay.mapping"] == "fixed"),
            )
        )
