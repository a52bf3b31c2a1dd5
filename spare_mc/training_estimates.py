"""Rows of training runs -> estimates. A row is integers, times in microseconds: sums are exact until one division."""

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
    "moves": "promotions into prefixes of a run",
    "unfinished_fraction": "share of runs ended at max_wall, not finished; no time-to-train is given then",
    "steps_per_day": "committed steps over wall time, of the sums over runs",
    "gpu_hours": "wall time on all GPUs of the cluster",
    **{f"gpu_hours_lost_{part}": f"GPU-hours lost to {text}" for part, text in PARTS.items() if part in LOST},
    "tokens_per_day": "tokens of committed steps over wall time, of the sums over runs",
    **{f"{part}_s": f"wall time spent on {text}" for part, text in PARTS.items()},
}

_COUNTS = ("restarts", "failures", "reorders", "moves")


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
    found = {"unfinished_fraction": proportion_estimate(unfinished, runs, confidence)} if unfinished else {}
    if not unfinished:
        found |= _times(of, parameters, confidence)
    return found | {name: _mean(of[name], confidence) for name in _COUNTS}


def _times(of, parameters, confidence):
    """Estimates of finished runs' times."""
    from .training_setup import failure_free_time

    seconds = {name: _mean(of[name], confidence, 1e-6, name == "waiting") for name in ("wall", *PARTS)}
    found = {"time_to_train_s": seconds["wall"]}
    for name, share in QUANTILES.items():
        found[f"time_to_train_s_{name}"] = quantile_interval(np.array(of["wall"]) * 1e-6, share, confidence)
    found["time_to_train_ratio"] = _scaled(seconds["wall"], 1 / failure_free_time(parameters))
    up = [w - r - s for w, r, s in zip(of["wall"], of["restart"], of["shrink_total"], strict=True)]
    found["availability"] = _ratio(up, of["wall"], confidence)
    found["useful_fraction"] = _ratio(of["useful"], of["wall"], confidence)
    rate = _ratio(of["committed"], of["wall"], confidence, highest=None)
    found["steps_per_day"] = _scaled(rate, 86400e6)
    tokens = parameters.get("training.tokens_per_step")
    if tokens is not None:
        found["tokens_per_day"] = _scaled(rate, tokens * 86400e6)
    found |= {f"{part}_s": seconds[part] for part in PARTS}
    per_group = parameters.get("cluster.gpus_per_group")
    if per_group is not None:
        hours = per_group * parameters["cluster.groups"] / 3600
        found["gpu_hours"] = _scaled(seconds["wall"], hours)
        found |= {f"gpu_hours_lost_{part}": _scaled(seconds[part], hours) for part in LOST}
    return found


def _mean(values, confidence, unit=1.0, negative=False):
    """Mean of integers, in a unit of so many; its interval ends at 0 unless they can be negative."""
    squares = sum(x * x for x in values)
    within = (None if negative else 0.0, None)
    return _scaled(mean_interval(len(values), sum(values), squares, confidence, within), unit)


def _ratio(a, b, confidence, highest=1.0):
    """Ratio of sums over runs."""
    products = (sum(x * y for x, y in zip(*pair, strict=True)) for pair in ((a, a), (a, b), (b, b)))
    return ratio_interval(len(a), sum(a), sum(b), *products, confidence, within=(0.0, highest))


def _scaled(value, factor):
    return Estimate(*(None if x is None else x * factor for x in value))
