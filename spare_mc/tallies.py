"""Integer tallies of a point: add, merge, refuse what must not be merged.

A tally belongs to one (point, seed, measure) and covers a set of trials given as disjoint spans. Tallies of the same
point and seed over different trials add up exactly, in any order; anything else is refused.
"""

from dataclasses import dataclass, field

import numpy as np

from .errors import UserError

MEASURES = ("survival", "stacks", "reordering", "training")


def merge_spans(spans):
    """Sorted, disjoint, joined copy of half-open spans ``[(first, stop), ...]``; ValueError where two overlap."""
    merged = []
    for first, stop in sorted((int(a), int(b)) for a, b in spans):
        if first >= stop:
            continue
        if merged and first < merged[-1][1]:
            raise ValueError(f"trials {first} to {min(stop, merged[-1][1]) - 1} are counted twice")
        if merged and first == merged[-1][1]:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((first, stop))
    return tuple(merged)


def missing_spans(spans, total):
    """The spans of ``range(total)`` that ``spans`` does not cover."""
    gaps, at = [], 0
    for first, stop in merge_spans(spans):
        if at < min(first, total):
            gaps.append((at, min(first, total)))
        at = max(at, stop)
    if at < total:
        gaps.append((at, total))
    return tuple(gaps)


@dataclass
class Tally:
    """What was counted over some trials of one point.

    Attributes
    ----------
    measure : one of MEASURES
    point : identity of the point (hex)
    seed : 64-bit seed
    spans : disjoint half-open spans of trial (training: run) numbers
    counts : name -> int64 array (histograms, trials at each state)
    sums : name -> Python int, of any size (sums, squares and cross products over trials)
    rows : int64[runs, columns] in the order of the spans, or None (training only)
    """

    measure: str
    point: str
    seed: int
    spans: tuple = ()
    counts: dict = field(default_factory=dict)
    sums: dict = field(default_factory=dict)
    rows: np.ndarray | None = None

    @property
    def total(self):
        """Number of trials (training: runs) counted."""
        return sum(stop - first for first, stop in self.spans)

    def add(self, other):
        """Add another tally of the same point, seed and measure over other trials; returns self.

        Raises UserError when the two do not belong together or share a trial; self is then unchanged.
        """
        for key in ("measure", "point", "seed"):
            mine, theirs = getattr(self, key), getattr(other, key)
            if mine != theirs:
                raise UserError(f"tallies do not belong together: {key} {mine!r} against {theirs!r}")
        try:
            spans = merge_spans(self.spans + other.spans)
        except ValueError as error:
            raise UserError(
                f"tallies of seed {self.seed} overlap at point {self.point[:12]}: {error}"
            ) from None
        if self.spans and other.spans:
            for name, theirs in other.counts.items():
                if self.counts[name].shape != theirs.shape:
                    raise UserError(
                        f"tally {name!r} has shape {theirs.shape}, expected {self.counts[name].shape}"
                    )
        for name, theirs in other.counts.items():
            if name in self.counts:
                self.counts[name] = self.counts[name] + theirs
            else:
                self.counts[name] = np.array(theirs, np.int64)
        for name, theirs in other.sums.items():
            self.sums[name] = self.sums.get(name, 0) + int(theirs)
        if other.rows is not None:
            self.rows = _merge_rows(self, other)
        self.spans = spans
        return self


def _merge_rows(mine, theirs):
    """Rows of two tallies in the order of their run numbers."""
    if mine.rows is None or not len(mine.rows):
        return np.array(theirs.rows, np.int64)
    numbers = [np.arange(a, b) for tally in (mine, theirs) for a, b in tally.spans]
    order = np.argsort(np.concatenate(numbers), kind="stable")
    return np.concatenate([mine.rows, theirs.rows])[order]
