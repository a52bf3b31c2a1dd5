"""When a point has enough: totals, targets for intervals, and the counts at which they are looked at.

A rule looks at a point only at fixed counts, first, 2 first, 4 first, ... up to a maximum, and decides from the first
so many trials alone. Where a study was cut and resumed, and who computed what, therefore does not show in where it
stops.
"""

import math
import re
from dataclasses import dataclass

from .errors import UserError, nearest
from .estimates import OF_TRIALS, UNITS
from .training_estimates import UNITS as TRAINING_UNITS

# Reasons, as they are stored.
TOTAL, TARGET, MAXIMUM, TIME_LIMIT, SHARE = "total", "target", "maximum", "time limit", "share"

MIN_EVENTS = 20  # a share or a rate of fewer events has no interval worth acting on

_SURVIVAL = re.compile(
    r"survival\[(0|[1-9]\d*)\]$"
)  # one spelling a number: survival[03] would be another key
_PATTERNS = ("survival", "stacks", "reordering")
MEASURE_OF = {
    "mean_stack": "stacks",
    "above_bound_fraction": "stacks",
    "reorder_fraction": "reordering",
    "moves_per_reorder": "reordering",
    "patch_stacks": "reordering",
    **dict.fromkeys(TRAINING_UNITS, "training"),
}
# What a point is watched by where no target says: the first that its measure has.
PRIMARY = {
    "survival": "endurable_failures",
    "stacks": "mean_stack",
    "reordering": "moves_per_reorder",
    "training": "time_to_train_s",
}
# Estimates near 1 whose rare side, the loss, is what a target is about.
_OF_THE_LOSS = ("availability", "useful_fraction")
# Shares and rates -> what counts their events in the sums (pattern measures) or rows (training).
_COUNTED = (
    "restarts",
    "failures",
    "reorders",
    "moves",
    "returns",
    "rejoins",
    "rejoin_moves",
    "spares_lacking",
)
_EVENTS = {
    "above_bound_fraction": ("above",),
    "reorder_fraction": ("reorders",),
    "moves_per_reorder": ("reorders",),
    "patch_stacks": ("reorders",),
    "unfinished_fraction": ("unfinished",),
    **{name: (name,) for name in _COUNTED},
    "availability": ("restarts", "failures"),
    "useful_fraction": ("restarts", "failures"),
}


@dataclass(frozen=True)
class Rule:
    """How much is counted of one measure at a point.

    Attributes
    ----------
    measure : what is counted
    first : trials (training: runs) counted before the first look
    maximum : trials counted at most
    targets : dict estimate -> relative half-width that is enough; empty: all of ``maximum`` is counted
    """

    measure: str
    first: int
    maximum: int
    targets: dict

    def next_total(self, total):
        """The count of the next look after ``total`` trials, or ``maximum``."""
        goal = max(1, self.first)
        while goal <= total:
            goal *= 2
        return min(goal, self.maximum)

    def is_look(self, total):
        """Whether the rule looks at exactly so many trials."""
        return total == self.maximum or (total > 0 and self.next_total(total - 1) == total)


def rules_of(study):
    """measure -> Rule of a study. Raises UserError for a target that names nothing measured."""
    mine = {measure: {} for measure in study.measures}
    for name, width in (study.target or {}).items():
        measure = measure_of(name, study.measures)
        if found := _SURVIVAL.match(name):
            groups = min(point.layout.groups for point in study.points)
            if not 1 <= int(found[1]) < groups:
                raise UserError(
                    f"sampling.target: {name}: k must be from 1 to {groups - 1}, below cluster.groups"
                )
        if not (isinstance(width, (int, float)) and 0 < width < math.inf):
            raise UserError(
                f"sampling.target: {name} = {width!r}: must be a relative half-width above 0, such as 0.01"
            )
        mine[measure][name] = float(width)
    return {measure: _rule(study, measure, targets) for measure, targets in mine.items()}


def _rule(study, measure, targets):
    total, most = (study.runs, study.max_runs) if measure == "training" else (study.trials, study.max_trials)
    if targets:
        key = "runs" if measure == "training" else "trials"
        if not 1 <= total <= most:
            raise UserError(
                f"sampling.{key} = {total}: with a target, the count at the first look: from 1 to max_{key} = {most}"
            )
        return Rule(measure, total, most, targets)
    if study.time_limit is None:
        return Rule(measure, total, total, {})
    # Under a time limit all points get a little before any gets much.
    return Rule(measure, min(total, 16 if measure == "training" else 1000), total, {})


def measure_of(name, measures):
    """The measure, among those of a study, that gives an estimate. Raises UserError when none does."""
    if name in OF_TRIALS or _SURVIVAL.match(name):
        able = [m for m in _PATTERNS if m in measures]
        if not able:
            raise UserError(f"sampling.target: {name}: needs one of study.measure = {', '.join(_PATTERNS)}")
        return able[0]
    if name not in MEASURE_OF:
        known = [*UNITS, "survival[k]"]
        raise UserError(f"sampling.target: unknown estimate {name!r}; {nearest(name, known)}")
    if MEASURE_OF[name] not in measures:
        raise UserError(
            f"sampling.target: {name}: needs study.measure = {MEASURE_OF[name]}, which is not asked for"
        )
    return MEASURE_OF[name]


def half_width(result, name):
    """Relative half-width of an estimate's interval; infinite where there is none yet.

    Relative to the estimate, or to what it falls short of 1 by where that is the rare side (availability, survival):
    the interval of a loss of 1e-3 is wide when it is half as wide as the loss, not as the survival. Infinite also
    while fewer than MIN_EVENTS events are counted of a share or a rate: no events are no proof that there are none.
    """
    found = _SURVIVAL.match(name)
    if found:
        return _loss_half_width(result, int(found[1]))
    value = result.estimates.get(name)
    if value is None or value.low is None or value.high is None or _events(result, name) < MIN_EVENTS:
        return math.inf
    scale = 1.0 - value.mean if name in _OF_THE_LOSS else abs(value.mean)
    return (value.high - value.low) / 2 / scale if scale > 0 else math.inf


def _loss_half_width(result, failures):
    from .estimates import pattern_tally
    from .intervals import proportion_interval

    tally = pattern_tally(result)
    if tally is None:
        return math.inf
    lost = int(tally.counts["endurable_failures"][:failures].sum())
    if min(lost, tally.total) < MIN_EVENTS:
        return math.inf
    low, high = proportion_interval(lost, tally.total, result.confidence)
    return float(high - low) / 2 / (lost / tally.total)


def _events(result, name):
    names = _EVENTS.get(name)
    if names is None:
        return math.inf
    if MEASURE_OF[name] != "training":
        return result.tallies[MEASURE_OF[name]].sums[names[0]]
    from .kernels.training_settings import COLUMNS

    rows = result.tallies["training"].rows
    if names == ("unfinished",):
        return int((rows[:, COLUMNS.index("finished")] == 0).sum())
    return max(int(rows[:, COLUMNS.index(n)].sum()) for n in names)
