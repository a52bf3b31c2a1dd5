"""Two points of results files compared: differences of their estimates with intervals, paired where they can be."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .again import Again, common_spans
from .errors import UserError, nearest
from .estimates import OF_TRIALS, RATIOS, interruption_times, ratio_of
from .failure_streams import has_stream
from .intervals import Estimate
from .paired import (
    correlation,
    mean_difference,
    ratio_difference,
    told_apart,
    unpaired_difference,
    without_spread,
)
from .training_estimates import count_terms, terms

# Which way is better, of the estimates where one way is: +1 more, -1 less.
BETTER = {
    "endurable_failures": 1, "wipeout_index": 1, "endurable_events": 1, "time_to_interruption_s": 1, "mean_stack": -1,
    "above_bound_fraction": -1, "reorder_fraction": -1, "moves_per_reorder": -1, "patch_stacks": -1,
    "time_to_train_s": -1, "time_to_train_ratio": -1, "availability": 1, "useful_fraction": 1, "restarts": -1,
    "steps_per_day": 1, "tokens_per_day": 1, "gpu_hours": -1,
}  # fmt: skip
# What is compared unless something else is named; the others of BETTER follow from these or are seldom of interest.
USUAL = (
    "endurable_failures", "time_to_interruption_s", "mean_stack", "reorder_fraction", "moves_per_reorder",
    "patch_stacks", "time_to_train_s", "availability", "useful_fraction", "restarts",
)  # fmt: skip
MOST_TRIALS = 100_000  # drawn again of a pair, unless more are asked for


class Side(NamedTuple):
    """A point and where it comes from: ``point`` PointResult, ``label`` for people, ``attributes`` of its file."""

    point: object
    label: str
    attributes: dict


@dataclass
class Difference:
    """An estimate of two points.

    Attributes
    ----------
    first, second : float, of the trials compared
    difference : Estimate of second - first; low and high None where no width is known
    trials : pairs, or None where the two are not paired
    correlation : of the pairs, None where not paired or one of the two does not vary
    """

    first: float
    second: float
    difference: Estimate
    trials: int | None = None
    correlation: float | None = None

    @property
    def told_apart(self):
        """Whether the interval leaves out zero."""
        return told_apart(self.difference)


@dataclass
class Comparison:
    """Two points: ``first`` and ``second`` Side, ``unpaired`` why (some of) their trials are not paired, None where
    all are, ``differences`` estimate -> Difference."""

    first: Side
    second: Side
    unpaired: str | None
    differences: dict = field(default_factory=dict)


def why_unpaired(first, second):
    """Why two Sides do not share their random numbers, or None where they do."""
    a, b = first.attributes, second.attributes
    for key in ("generator", "generator_version"):
        if a[key] != b[key]:
            return f"other random numbers: {key} {a[key]} and {b[key]}"
    if a["seed"] != b["seed"]:
        return f"other seeds: {a['seed']} and {b['seed']}"
    if not (a["common_random_numbers"] and b["common_random_numbers"]):
        return "every point has its own random numbers (common_random_numbers = false)"
    sizes = [side.point.parameters["cluster.groups"] for side in (first, second)]
    if sizes[0] != sizes[1]:
        return f"other numbers of groups: {sizes[0]} and {sizes[1]}"
    return None


def same_point(first, second):
    """None where two Sides are different points or have other random numbers; else what can be said of them."""
    a, b = first.point, second.point
    if a.id != b.id or any(
        first.attributes[k] != second.attributes[k]
        for k in ("seed", "common_random_numbers", "generator", "generator_version")
    ):
        return None
    mine, theirs = a.tallies, b.tallies
    for measure in mine.keys() & theirs.keys():
        if mine[measure].spans == theirs[measure].spans and not _equal(mine[measure], theirs[measure]):
            return f"counted differently over the same trials ({measure}): one of the files is wrong"
    if mine.keys() == theirs.keys() and all(_equal(mine[m], theirs[m]) for m in mine):
        return "identical"
    return "same point and random numbers, other trials"


def _equal(a, b):
    rows = np.array_equal(a.rows, b.rows) if a.rows is not None and b.rows is not None else a.rows is b.rows
    counts = a.counts.keys() == b.counts.keys() and all(
        np.array_equal(a.counts[k], b.counts[k]) for k in a.counts
    )
    return a.spans == b.spans and counts and rows and a.sums == b.sums


def chosen_estimates(sides, wanted=None):
    """Names of the estimates to compare: those wanted, or USUAL, that both points of some pair have.

    sides : list of (Side, Side); wanted : names, None for the usual. Raises UserError for one that cannot be compared.
    """
    there = dict.fromkeys(n for a, b in sides for n in a.point.estimates if n in b.point.estimates)
    able = [n for n in there if _comparable(n)]
    if wanted is None:
        found = [n for n in USUAL if n in able] or able
        if not found:
            raise UserError("nothing to compare: no two points have an estimate in common")
        return found
    for name in wanted:
        if name not in able:
            what = "has no difference here" if name in there else "is no estimate that two points have"
            raise UserError(f"--estimates {name}: {what}; {nearest(name, able)}")
    return list(wanted)


def _comparable(name):
    quantile_or_share = name.startswith("time_to_train_s_p") or name == "unfinished_fraction"
    return not quantile_or_share


def compare(pairs, names, level, trials=MOST_TRIALS, backend="auto", threads=None):
    """Compare pairs of points.

    Parameters
    ----------
    pairs : list of (Side, Side)
    names : estimates to compare
    level : confidence of each interval, two-sided
    trials : failure patterns of a pair drawn again at most
    backend, threads : as of ``spare_mc.survival``

    Returns
    -------
    list of Comparison
    """
    again = Again(backend, threads)
    return [_Pair(first, second, level, trials, again).compared(names) for first, second in pairs]


class _Pair:
    def __init__(self, first, second, level, trials, again):
        self.sides = first, second
        self.level, self.most, self.again = level, trials, again
        self.points = [first.point, second.point]
        self.tallies = [point.tallies for point in self.points]
        self.unpaired = why_unpaired(first, second)
        self.drawable = self._drawable()

    def _drawable(self):
        try:
            return all(point.layout and (point.stream or True) for point in self.points)
        except UserError:
            return False

    def compared(self, names):
        found = {n: self._difference(n) for n in names if all(n in p.estimates for p in self.points)}
        found = {n: d for n, d in found.items() if d is not None}
        left = self.unpaired
        if left is None and any(d.trials is None for d in found.values()):
            left = (
                "no trials in common" if self.drawable else "a host table is not in the file, only its hash"
            )
        return Comparison(*self.sides, left, found)

    def _difference(self, name):
        if self.unpaired:
            return self._from_estimates(name)
        if name in RATIOS:
            measure = RATIOS[name][0]
            lives = self._lives(measure, measure)
            if lives is None:
                return self._from_estimates(name)
            ratios = [ratio_of(name, point.parameters) for point in self.points]
            return _paired([(of[r[1]], of[r[2]]) for of, r in zip(lives, ratios, strict=True)], self.level)
        if name in OF_TRIALS:
            return self._endurance(name)
        return self._training(name)

    def _from_estimates(self, name):
        values = [point.estimates[name] for point in self.points]
        trials = [_counted(tallies, name) for tallies in self.tallies]
        found = unpaired_difference(values[0], trials[0], values[1], trials[1], self.level)
        return Difference(values[0].mean, values[1].mean, found)

    def _lives(self, measure, kernel):
        """What the common trials of a measure add to its sums, for both points; None where they have none."""
        tallies = [of.get(measure) for of in self.tallies]
        if not self.drawable or any(t is None for t in tallies):
            return None
        spans = common_spans(*tallies, self.most)
        if not spans:
            return None
        counted = [t.counts["endurable_failures"] for t in tallies]
        return [self.again.lives(p, kernel, spans, c) for p, c in zip(self.points, counted, strict=True)]

    def _endurance(self, name):
        shared = {
            m: sum(b - a for a, b in common_spans(self.tallies[0][m], self.tallies[1][m]))
            for m in self.tallies[0].keys() & self.tallies[1].keys() - {"training"}
        }
        if not shared:
            return self._from_estimates(name)
        # K of a trial is the same whatever measure counted it, and survival's kernel is the quickest
        lives = self._lives(max(sorted(shared), key=shared.get), "survival")
        if lives is None:
            return self._from_estimates(name)
        values = [_of_trials(name, of, p.parameters) for of, p in zip(lives, self.points, strict=True)]
        return _paired([(v, None) for v in values], self.level)

    @cached_property
    def _runs(self):
        """Columns of the training runs that both points have, run by run."""
        from .kernels.training_settings import COLUMNS

        tallies = [of["training"] for of in self.tallies]
        numbers = [np.concatenate([np.arange(a, b) for a, b in t.spans]) for t in tallies]
        _, *rows = np.intersect1d(*numbers, assume_unique=True, return_indices=True)
        return [
            {name: t.rows[at, i] for i, name in enumerate(COLUMNS)}
            for t, at in zip(tallies, rows, strict=True)
        ]

    def _training(self, name):
        if not len(self._runs[0]["wall"]):
            return self._from_estimates(name)
        values = []
        for point, of in zip(self.points, self._runs, strict=True):
            term = {**terms(point.parameters), **count_terms(point.parameters)}[name]
            above = of[term.above[0]] - sum(of[column] for column in term.above[1:])
            below = None if term.below is None else of[term.below].astype(np.float64)
            values.append((above * term.factor, below))
        return _paired(values, self.level)


def _counted(tallies, name):
    """Trials or runs behind an estimate of a point."""
    if name in RATIOS:
        return tallies[RATIOS[name][0]].total
    if name in OF_TRIALS:
        return max(t.total for m, t in tallies.items() if m != "training")
    return tallies["training"].total


def _of_trials(name, of, parameters):
    """An estimate of OF_TRIALS trial by trial, from what a life adds to the sums (int64 or float64[n])."""
    if name == "endurable_events":
        return of["events"]
    if name != "time_to_interruption_s":
        return of["failures"] + (name == "wipeout_index")
    if has_stream(parameters):
        return of["time"] * 1e-6
    return interruption_times(parameters["cluster.groups"], of["failures"], parameters)


def _paired(values, level):
    """Difference of two means ``(values, None)`` or ratios ``(above, below)``, trial by trial."""
    if values[0][1] is None:
        first, second = (np.asarray(above, np.float64) for above, _ in values)
        found = mean_difference(first, second, level)
        means, moves = (first.mean(), second.mean()), (first, second)
    else:
        found = ratio_difference(*values, level)
        if found is None:
            return None
        means = [above.sum() / below.sum() for above, below in values]
        moves = [above - mean * below for (above, below), mean in zip(values, means, strict=True)]
    together = correlation(*moves)
    return Difference(float(means[0]), float(means[1]), without_spread(found), len(values[0][0]), together)
