"""Tallies -> estimates with intervals, and curves over the number of failures.

Everything is computed from integer counts when it is read; nothing here is stored but the numbers it returns.
Symbols: K endurable failures of a trial, K_w = K + 1 the index of the failure that wipes the job out, S*(k)
the least all-reduce stack after k failures, N groups.
"""

import numpy as np

from .failure_streams import has_stream
from .intervals import (
    Estimate,
    mean_interval,
    proportion_interval,
    ratio_interval,
    sample_interval,
    upper_bound,
)
from .training_estimates import DESCRIPTIONS as TRAINING_DESCRIPTIONS
from .training_estimates import LOST, PARTS, training_estimates
from .training_estimates import UNITS as TRAINING_UNITS

__all__ = [
    "CURVE_DESCRIPTIONS",
    "CURVE_UNITS",
    "DESCRIPTIONS",
    "NAMES",
    "OF_TRIALS",
    "RATIOS",
    "UNITS",
    "Estimate",
    "curve_band",
    "curves_of",
    "estimates_of",
    "interruption_times",
    "ratio_of",
    "pattern_tally",
    "stack_bound",
]

UNITS = {
    "endurable_failures": "failures",
    "wipeout_index": "failures",
    "endurable_events": "events",
    "time_to_interruption_s": "s",
    "mean_stack": "stacks",
    "above_bound_fraction": "1",
    "reorder_fraction": "1",
    "moves_per_reorder": "moves",
    "patch_stacks": "stacks",
    **TRAINING_UNITS,
}

DESCRIPTIONS = {
    "endurable_failures": "failures endured before the wipe-out, K",
    "wipeout_index": "index of the failure that wipes the job out, K + 1: what closed forms count",
    "endurable_events": "events endured before the one that wipes the job out, each of which takes a group at least",
    "time_to_interruption_s": (
        "time until the wipe-out; std is that of its expectation given K, but its own under a failure stream"
    ),
    "mean_stack": "mean all-reduce depth of a life: sum of S*(k) over k = 0..K, over sum of K + 1",
    "above_bound_fraction": "share of the endured failures after which S* exceeds ceil(N/(N-k))",
    "reorder_fraction": "share of the endured failures that a reorder decides",
    "moves_per_reorder": "promotions into prefixes per reorder",
    "patch_stacks": "group-stacks computed again in the failing step, per reorder",
    **TRAINING_DESCRIPTIONS,
}

# What an estimate is called in tables and pictures.
NAMES = {
    "endurable_failures": "endurable failures K",
    "wipeout_index": "wipe-out index K + 1",
    "endurable_events": "endurable events",
    "time_to_interruption_s": "time to interruption",
    "mean_stack": "mean all-reduce stack",
    "above_bound_fraction": "failures above the bound c(k)",
    "reorder_fraction": "failures decided by a reorder",
    "moves_per_reorder": "moves per reorder",
    "patch_stacks": "patch stacks per reorder",
    "time_to_train_s": "time to train",
    "time_to_train_s_p05": "time to train, 5 % of runs below",
    "time_to_train_s_p50": "time to train, median",
    "time_to_train_s_p95": "time to train, 95 % of runs below",
    "time_to_train_ratio": "time to train / failure-free",
    "useful_fraction": "useful fraction",
    "steps_per_day": "steps a day",
    "tokens_per_day": "tokens a day",
    "gpu_hours": "GPU-hours",
    "unfinished_fraction": "runs NOT FINISHED at max_wall",
    **{f"{part}_s": f"  time in {part}" for part in PARTS},
    **{f"gpu_hours_lost_{part}": f"  GPU-hours lost to {part}" for part in LOST},
}

CURVE_UNITS = {
    "survival": "1",
    "loss": "1",
    "min_stack": "stacks",
    "min_stack_bound": "stacks",
    "phase_fixed": "1",
    "phase_depth": "1",
    "phase_reorder": "1",
    "moves": "moves",
}

CURVE_DESCRIPTIONS = {
    "survival": "share of trials still alive after k failures",
    "loss": "share of trials wiped out within k failures",
    "min_stack": "mean S* after k failures among the trials still alive",
    "min_stack_bound": "c(k) = ceil(N/(N-k)), below which S* cannot be",
    "phase_fixed": "share of k-th failures after which nothing moves",
    "phase_depth": "share of k-th failures that a new depth alone decides",
    "phase_reorder": "share of k-th failures that a reorder decides",
    "moves": "mean promotions at the k-th failure",
}

# name -> (measure, sum above, sum below, highest value); products of the two are named "above_below" in the
# sums
RATIOS = {
    "mean_stack": ("stacks", "stack", "states", None),
    "above_bound_fraction": ("stacks", "above", "failures", 1.0),
    "reorder_fraction": ("reordering", "reorders", "failures", 1.0),
    "moves_per_reorder": ("reordering", "moves", "reorders", None),
    "patch_stacks": ("reordering", "patch", "reorders", None),
}

# Estimates that every pattern measure gives.
OF_TRIALS = ("endurable_failures", "wipeout_index", "endurable_events", "time_to_interruption_s")

# Under a failure stream these are shares of the events, each of which may take several groups.
_OF_EVENTS = ("above_bound_fraction", "reorder_fraction")

_PHASES = ("phase_fixed", "phase_depth", "phase_reorder")


def ratio_of(name, parameters):
    """(measure, sum above, sum below, highest value) of a ratio in RATIOS, at a point of these parameters."""
    measure, above, below, highest = RATIOS[name]
    return measure, above, "events" if name in _OF_EVENTS and has_stream(parameters) else below, highest


def pattern_tally(result):
    """The tally with the most trials among those that hold a histogram of endurable failures, or None."""
    tallies = [t for t in result.tallies.values() if "endurable_failures" in t.counts and t.total]
    return max(tallies, key=lambda t: t.total, default=None)


def estimates_of(result):
    """Estimates of a point.

    Parameters
    ----------
    result : spare_mc.results.PointResult

    Returns
    -------
    dict name -> Estimate (units in UNITS); a quantity that nothing was counted for, or a ratio per event
    where no event occurred, is left out.
    """
    estimates = {}
    tally = pattern_tally(result)
    if tally is not None:
        estimates.update(_endurance(tally.counts["endurable_failures"], result))
        if has_stream(result.parameters):
            estimates.update(_events(tally, result))
    for name in RATIOS:
        measure, above, below, highest = ratio_of(name, result.parameters)
        tally = result.tallies.get(measure)
        if tally is None or not tally.total:
            continue
        sums = (above, below, f"{above}_squared", f"{above}_{below}", f"{below}_squared")
        value = ratio_interval(
            tally.total, *(tally.sums[key] for key in sums), result.confidence, within=(0.0, highest)
        )
        if value is None:
            continue
        if highest == 1.0 and tally.sums[above] == 0:
            value = value._replace(low=0.0, high=_unseen_bound(tally, below, result))
        estimates[name] = value
    tally = result.tallies.get("training")
    if tally is not None and tally.total:
        estimates.update(training_estimates(tally, result.parameters, result.confidence))
    return estimates


def _unseen_bound(tally, below, result):
    """Upper bound on a share per failure when no trial showed an event.

    A trial has an event with probability at most p (exact binomial bound at zero events), and then at most as
    many as it can endure failures, N - ceil(N/r): nothing is assumed about how events cluster in a trial.
    """
    groups, redundancy = result.parameters["cluster.groups"], result.parameters["layout.redundancy"]
    most = groups - -(-groups // redundancy)
    bound = upper_bound(0, tally.total, result.confidence) * most * tally.total / tally.sums[below]
    return min(1.0, bound)


def _endurance(histogram, result):
    """Estimates that follow from the histogram of endurable failures alone."""
    groups = len(histogram) - 1
    values = np.flatnonzero(histogram)
    weights = histogram[values]
    trials = int(weights.sum())
    if trials * groups**2 < 2**63:  # exact in 64 bits
        total, squares = int(values @ weights), int((values * values) @ weights)
    else:
        ks, ws = values.astype(object), weights.astype(object)
        total, squares = (ks * ws).sum(), (ks * ks * ws).sum()
    failures = mean_interval(trials, total, squares, result.confidence, within=(0.0, groups - 1.0))
    estimates = {
        "endurable_failures": failures,
        "wipeout_index": mean_interval(
            trials,
            total + trials,
            squares + 2 * total + trials,
            result.confidence,
            within=(1.0, float(groups)),
        ),
    }
    times = None if has_stream(result.parameters) else interruption_times(groups, values, result.parameters)
    if times is not None:
        estimates["time_to_interruption_s"] = sample_interval(times, weights, result.confidence)
    return estimates


def _events(tally, result):
    """Estimates that follow from the events of a failure stream."""
    found = {}
    for name, kept, unit in (("endurable_events", "events", 1.0), ("time_to_interruption_s", "time", 1e-6)):
        total, squares = tally.sums[kept], tally.sums[f"{kept}_squared"]
        value = mean_interval(tally.total, total, squares, result.confidence, within=(0.0, None))
        found[name] = Estimate(*(None if number is None else number * unit for number in value))
    return found


def interruption_times(groups, failures, parameters):
    """Expected time of the wipe-out, given how many failures a trial endured.

    The failure order is independent of the failure times, so the time of the (K + 1)-th of N failures has the
    expectation of that order statistic. Clocks are fresh at the start and nothing is repaired.

    Parameters
    ----------
    groups : N
    failures : int64[n], endured failures K, each below N
    parameters : resolved parameters; those of [failures] are read

    Returns
    -------
    float64[n] in seconds; None where the parameters name no MTBF, or groups are not identical and independent.
    """
    from .failure_model import order_times

    return order_times(groups, np.asarray(failures) + 1, {"cluster.groups": groups, **parameters})


def _alive(histogram):
    """Trials still alive after k failures, int64[N+1]."""
    return np.cumsum(histogram[::-1])[::-1]


def _shares(part, whole):
    """part / whole as float64, NaN where whole is 0."""
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) > 0)


def curves_of(result):
    """Curves of a point: dict name -> float64[N+1], index k = failures so far (units in CURVE_UNITS).

    NaN where nothing was seen (``min_stack`` where nobody is alive; ``phase_*`` and ``moves`` also at k = 0).
    """
    curves = {}
    tally = pattern_tally(result)
    if tally is not None:
        alive = _alive(tally.counts["endurable_failures"])
        curves["survival"] = alive / tally.total
        curves["loss"] = (tally.total - alive) / tally.total
    tally = result.tallies.get("stacks")
    if tally is not None and tally.total:
        at_depth = tally.counts["trials_at_depth"]
        depths = np.arange(1, at_depth.shape[1] + 1)
        curves["min_stack"] = _shares(at_depth @ depths, at_depth.sum(axis=1))
        curves["min_stack_bound"] = stack_bound(len(at_depth) - 1)
    tally = result.tallies.get("reordering")
    if tally is not None and tally.total:
        phases = tally.counts["phase_at_failure"]
        decided = phases.sum(axis=1)
        for index, name in enumerate(_PHASES):
            curves[name] = _shares(phases[:, index], decided)
        curves["moves"] = _shares(tally.counts["moves_at_failure"], decided)
    return curves


def stack_bound(groups):
    """c(k) = ceil(N/(N-k)) for k = 0..N-1 (infinite at N), float64[N+1]."""
    left = np.arange(groups, 0, -1)
    return np.append(-(-groups // left), np.inf).astype(np.float64)


def curve_band(result, name, confidence=None):
    """Pointwise interval of a curve.

    Parameters
    ----------
    result : PointResult
    name : a name in ``curves_of(result)``
    confidence : two-sided at every k on its own; the result's if None

    Returns
    -------
    (low, high) float64[N+1] each: Clopper-Pearson for shares, Student for ``min_stack``; NaN where there is
    no width; None for a curve without band (``min_stack_bound`` is exact; of ``moves`` no squares are
    counted).
    """
    confidence = result.confidence if confidence is None else confidence
    if name in ("survival", "loss"):
        tally = pattern_tally(result)
        alive = _alive(tally.counts["endurable_failures"])
        return _share_band(alive if name == "survival" else tally.total - alive, tally.total, confidence)
    if name in _PHASES:
        phases = result.tallies["reordering"].counts["phase_at_failure"]
        return _share_band(phases[:, _PHASES.index(name)], phases.sum(axis=1), confidence)
    if name == "min_stack":
        return _stack_band(result.tallies["stacks"].counts["trials_at_depth"], confidence)
    return None


def _share_band(events, trials, confidence):
    """Clopper-Pearson at every place; equal counts are computed once, NaN where there were no trials."""
    events, trials = np.broadcast_arrays(events, trials)
    many, event = np.unique(events, return_inverse=True)
    totals, total = np.unique(trials, return_inverse=True)
    # ranks instead of the counts themselves: their product fits int64 however many trials there are
    pairs, where = np.unique(event * len(totals) + total, return_inverse=True)
    whole = totals[pairs % len(totals)]
    low, high = proportion_interval(many[pairs // len(totals)], whole, confidence)
    low[whole == 0] = high[whole == 0] = np.nan
    return low[where], high[where]


def _stack_band(at_depth, confidence):
    """Student interval of the mean depth at every k; S* is between 1 and r."""
    from scipy.special import stdtrit

    depths = np.arange(1, at_depth.shape[1] + 1, dtype=np.float64)
    trials = at_depth.sum(axis=1)
    mean = _shares(at_depth @ depths, trials)
    # deviations are taken from the mean before they are squared: nothing cancels
    spread = (at_depth * (depths - mean[:, None]) ** 2).sum(axis=1)
    width = np.full(len(trials), np.nan)
    some = trials > 1
    width[some] = stdtrit(trials[some] - 1.0, 0.5 + confidence / 2) * np.sqrt(
        spread[some] / (trials[some] - 1.0) / trials[some]
    )
    return np.maximum(mean - width, 1.0), np.minimum(mean + width, depths[-1])
