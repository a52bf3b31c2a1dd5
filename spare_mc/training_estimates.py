"""Rows of training runs -> estimates. A row is integers, times in microseconds: sums are exact until one division."""

from typing import NamedTuple

import numpy as np

from .intervals import Estimate, mean_interval, proportion_estimate, quantile_interval, ratio_interval

QUANTILES = {"p05": 0.05, "p50": 0.5, "p95": 0.95}

# The parts that the wall time of a run is broken down into; their means add up to that of time_to_train_s.
PARTS = {
    "needed": "needed compute, T_comp a step",
    "redundant": "redundant stacks, (S - 1) T_comp a step",
    "patch": "stacks computed again in failing steps",
    "waiting": "waiting for the slowest, barrier less S T_comp; can be negative for few groups",
    "allreduce": "all-reduce",
    "shrink": "shrinking the communicator",
    "detection": "noticing failures",
    "checkpoint": "checkpoint writes",
    "rework": "steps rolled back, whole",
    "restart": "global restarts",
}

# What GPU-hours are lost to: everything but the compute and the all-reduce that a run without failures needs too.
LOST = tuple(part for part in PARTS if part not in ("needed", "allreduce"))

UNITS = {
    "time_to_train_s": "s",
    **{f"time_to_train_s_{name}": "s" for name in QUANTILES},
    "time_to_train_ratio": "1",
    "availability": "1",
    "useful_fraction": "1",
    "restarts": "restarts",
    "failures": "failures",
    "reorders": "reorders",
    "moves": "moves",
    "returns": "groups",
    "rejoins": "steps",
    "rejoin_moves": "moves",
    "groups_out": "groups",
    "spares_used": "groups",
    "spares_lacking": "failures",
    "unfinished_fraction": "1",
    "steps_per_day": "steps/d",
    "tokens_per_day": "tokens/d",
    "gpu_hours": "GPU h",
    **{f"{part}_s": "s" for part in PARTS},
    **{f"gpu_hours_lost_{part}": "GPU h" for part in LOST},
}

DESCRIPTIONS = {
    "time_to_train_s": "wall time of a run",
    **{
        f"time_to_train_s_{name}": f"{100 * share:g} % of runs take no longer"
        for name, share in QUANTILES.items()
    },
    "time_to_train_ratio": "wall time over the failure-free time T0 = steps (T_comp + T_a)",
    "availability": "1 - (restart + shrink time) / wall time, of the sums over runs",
    "useful_fraction": "time of steps never rolled back over wall time, of the sums over runs",
    "restarts": "global restarts of a run",
    "failures": "failures found in a run",
    "reorders": "reorders of a run",
    "moves": "promotions into prefixes of a run, after failures",
    "returns": "groups that came back in a run before a restart",
    "rejoins": "steps of a run that began with groups coming back",
    "rejoin_moves": "promotions into prefixes of a run that made the depth least again after groups came back",
    "groups_out": "groups out when a step began, over all steps",
    "spares_used": "the most spares of a run that were taken at one time",
    "spares_lacking": "failures of a run for which no spare was free",
    "unfinished_fraction": "share of runs ended at max_wall, not finished; no time-to-train is given then",
    "steps_per_day": "committed steps over wall time, of the sums over runs",
    "gpu_hours": "wall time on all GPUs of the cluster, spare groups included",
    **{f"gpu_hours_lost_{part}": f"GPU-hours lost to {text}" for part, text in PARTS.items() if part in LOST},
    "tokens_per_day": "tokens of committed steps over wall time, of the sums over runs",
    **{f"{part}_s": f"wall time spent on {text}" for part, text in PARTS.items()},
}

_COUNTS = ("restarts", "failures", "reorders", "moves")


class Term(NamedTuple):
    """What an estimate is made of, as columns of the rows: ``factor`` times a mean, or times a ratio of sums.

    ``above``: column, or the first less the others; ``below``: column of a ratio's lower sum, None for a mean;
    ``low``, ``high``: the range the quantity can take, in its unit.
    """

    above: tuple
    below: str | None = None
    factor: float = 1.0
    low: float | None = 0.0
    high: float | None = None

    def upper(self, of):
        """Values of what stands above, run by run; ``of`` maps a column's name to its values."""
        first, *others = (of[name] for name in self.above)
        for other in others:
            first = [x - y for x, y in zip(first, other, strict=True)]
        return first


def terms(parameters):
    """Name -> Term of the estimates of a point's runs: where all of them finished."""
    from .training_setup import failure_free_time

    wall = ("wall",)
    found = {
        "time_to_train_s": Term(wall, factor=1e-6),
        "time_to_train_ratio": Term(wall, factor=1e-6 / failure_free_time(parameters)),
        "availability": Term(("wall", "restart", "shrink_total"), "wall", high=1.0),
        "useful_fraction": Term(("useful",), "wall", high=1.0),
        "steps_per_day": Term(("committed",), "wall", 86400e6),
    }
    tokens = parameters.get("training.tokens_per_step")
    if tokens is not None:
        found["tokens_per_day"] = Term(("committed",), "wall", tokens * 86400e6)
    for part in PARTS:  # waiting can be negative for few groups
        found[f"{part}_s"] = Term((part,), factor=1e-6, low=None if part == "waiting" else 0.0)
    per_group = parameters.get("cluster.gpus_per_group")
    if per_group is not None:
        held = parameters["cluster.groups"] + parameters.get("training.spares", 0)
        hours = 1e-6 * per_group * held / 3600
        found["gpu_hours"] = Term(wall, factor=hours)
        for part in LOST:
            found[f"gpu_hours_lost_{part}"] = found[f"{part}_s"]._replace(factor=hours)
    return found


def count_terms(parameters):
    """Name -> Term of what is counted in all runs of a point, finished or not."""
    from .training_setup import comes_back

    found = {name: Term((name,)) for name in _COUNTS}
    if comes_back(parameters):
        found |= {name: Term((name,)) for name in ("returns", "rejoins")}
        if parameters["training.scheme"] == "spare":
            found["rejoin_moves"] = Term(("rejoin_moves",))
        found["groups_out"] = Term(("out_steps",), "executed")
        if parameters.get("training.spares"):
            found |= {name: Term((name,)) for name in ("spares_used", "spares_lacking")}
    return found


def training_estimates(tally, parameters, confidence):
    """Estimates of a training tally.

    Parameters
    ----------
    tally : Tally with rows int64[runs, columns], columns as named by ``kernels.training_settings.columns``
    parameters : resolved parameters of the point
    confidence : of the intervals

    Returns
    -------
    dict name -> Estimate (units in UNITS), a run taken as one observation. Where a run was ended at
    ``training.max_wall`` nothing of its time is a number: then ``unfinished_fraction`` and counts are all there is.
    """
    from .kernels.training_settings import COLUMNS

    runs = len(tally.rows)
    of = {name: [int(x) for x in tally.rows[:, i]] for i, name in enumerate(COLUMNS)}
    unfinished = runs - sum(of["finished"])
    if unfinished:
        found = {"unfinished_fraction": proportion_estimate(unfinished, runs, confidence)}
    else:
        found = {name: _estimate(term, of, confidence) for name, term in terms(parameters).items()}
        found = _with_quantiles(found, np.array(of["wall"]) * 1e-6, confidence)
    counted = count_terms(parameters)
    return found | {name: _estimate(term, of, confidence) for name, term in counted.items()}


def _with_quantiles(found, seconds, confidence):
    """The quantiles of time-to-train, put after its mean."""
    first, *others = found.items()
    quantiles = {
        f"time_to_train_s_{name}": quantile_interval(seconds, share, confidence)
        for name, share in QUANTILES.items()
    }
    return dict([first]) | quantiles | dict(others)


def _estimate(term, of, confidence):
    """The mean or ratio of a Term with its interval: exact integers until one division."""
    upper = term.upper(of)
    within = tuple(None if end is None else end / term.factor for end in (term.low, term.high))
    squares = sum(x * x for x in upper)
    if term.below is None:
        return _scaled(mean_interval(len(upper), sum(upper), squares, confidence, within), term.factor)
    lower = of[term.below]
    products = sum(x * y for x, y in zip(upper, lower, strict=True)), sum(y * y for y in lower)
    found = ratio_interval(len(upper), sum(upper), sum(lower), squares, *products, confidence, within)
    return _scaled(found, term.factor)


def _scaled(value, factor):
    return Estimate(*(None if x is None else x * factor for x in value))
