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
    "tokens_per_day": "tokens/d",
    **{f"{part}_s": "s" for part in PARTS},
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
    "unfinished_fraction": "share of runs ended at max_wall; the times of a run then say too little",
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
    dict name -> Estimate (units in UNITS), a run taken as one observation; ``unfinished_fraction`` only where a run
    was ended at ``training.max_wall``
    """
    from .kernels.training_settings import COLUMNS
    from .training_setup import failure_free_time

    runs = len(tally.rows)
    of = {name: [int(x) for x in tally.rows[:, i]] for i, name in enumerate(COLUMNS)}
    seconds = {name: _mean(of[name], confidence, 1e-6) for name in ("wall", *PARTS)}
    found = {"time_to_train_s": seconds["wall"]}
    for name, share in QUANTILES.items():
        value = quantile_interval(np.array(of["wall"]) * 1e-6, share, confidence)
        found[f"time_to_train_s_{name}"] = value
    failure_free = failure_free_time(parameters)
    found["time_to_train_ratio"] = _scaled(seconds["wall"], 1 / failure_free)
    up = [w - r - s for w, r, s in zip(of["wall"], of["restart"], of["shrink_total"], strict=True)]
    found["availability"] = _ratio(up, of["wall"], confidence)
    found["useful_fraction"] = _ratio(of["useful"], of["wall"], confidence)
    found |= {name: _mean(of[name], confidence) for name in _COUNTS}
    unfinished = runs - sum(of["finished"])
    if unfinished:
        found["unfinished_fraction"] = proportion_estimate(unfinished, runs, confidence)
    tokens = parameters.get("training.tokens_per_step")
    if tokens is not None:
        rate = _ratio(of["committed"], of["wall"], confidence, highest=None)
        found["tokens_per_day"] = _scaled(rate, tokens * 86400e6)
    return found | {f"{part}_s": seconds[part] for part in PARTS}


def _mean(values, confidence, unit=1.0):
    """Mean of integers, in a unit of so many."""
    return _scaled(mean_interval(len(values), sum(values), sum(x * x for x in values), confidence), unit)


def _ratio(a, b, confidence, highest=1.0):
    """Ratio of sums over runs."""
    products = (sum(x * y for x, y in zip(*pair, strict=True)) for pair in ((a, a), (a, b), (b, b)))
    return ratio_interval(len(a), sum(a), sum(b), *products, confidence, within=(0.0, highest))


def _scaled(value, factor):
    return Estimate(*(None if x is None else x * factor for x in value))
