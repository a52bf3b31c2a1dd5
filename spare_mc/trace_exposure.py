"""What a cleaned log says about the units that exist: up and down time, gaps between failures."""

from dataclasses import dataclass

import numpy as np

from .errors import UserError


@dataclass(frozen=True)
class Gaps:
    """Times to failure of a number of clocks, as far as they were seen; seconds.

    Attributes
    ----------
    whole : float64[n], from a repair (or the clock's start) to the next failure
    cut : float64[m], from a repair to the end of observation: longer than that
    first : float64[a], from the start of observation to the first failure, the clock's age being unknown
    never : float64[b], units without a failure: their whole time of observation
    clocks : float64[c], the time each clock was watched
    """

    whole: np.ndarray
    cut: np.ndarray
    first: np.ndarray
    never: np.ndarray
    clocks: np.ndarray

    @property
    def failures(self):
        """Failures seen."""
        return len(self.whole) + len(self.first)

    @property
    def exposure(self):
        """Time watched, all clocks together [s]."""
        return float(self.clocks.sum())

    def as_new(self):
        """The same with every clock taken as new at the start of observation."""
        none = np.zeros(0)
        return Gaps(
            np.concatenate([self.whole, self.first]),
            np.concatenate([self.cut, self.never]),
            none,
            none,
            self.clocks,
        )

    def floored(self, least):
        """The same with whole and first gaps shorter than ``least`` seconds set to it."""
        return Gaps(
            np.maximum(self.whole, least), self.cut, np.maximum(self.first, least), self.never, self.clocks
        )

    def without_zeros(self):
        """The same without whole and first gaps of no length."""
        return Gaps(self.whole[self.whole > 0], self.cut, self.first[self.first > 0], self.never, self.clocks)


def system_gaps(log):
    """Gaps between the failures of the whole log, one after the other, from the first failure on.

    The time before the first failure is left out: it is no gap, as its beginning was not seen.
    """
    gaps = np.diff(log.starts)
    tail = log.window[1] - log.starts[-1]
    none = np.zeros(0)
    watched = np.array([log.window[1] - log.starts[0]])
    return Gaps(gaps, np.array([tail] if tail > 0 else []), none, none, watched)


def unit_gaps(log, units):
    """Up times of the units that exist, those that never failed included; their down time does not age them."""
    begin, end = log.window
    whole, cut, first, clocks = [], [], [], []
    for unit, spans in log.outages.items():
        fresh = log.fresh[unit]
        starts, ends = spans[:, 0], spans[:, 1]
        ups = starts[1:] - ends[:-1]
        whole.append(ups)
        if fresh[0]:
            first.append(starts[0] - begin)
        cut.append(end - ends[-1])
        clocks.append((end - begin) - float((ends - starts).sum()))
    silent = np.full(units - len(log.outages), end - begin)
    return Gaps(
        np.concatenate(whole) if whole else np.zeros(0),
        np.array([c for c in cut if c > 0]),
        np.array(first),
        silent,
        np.concatenate([np.array(clocks), silent]),
    )


def checked_units(log, stated, from_file):
    """(units that exist, where the number is from); UserError if fewer are stated than appear."""
    appear = len(log.outages)
    if stated is not None:
        if stated < appear:
            raise UserError(
                f"--units = {stated}: {appear} units appear in the log, so at least as many exist"
            )
        return stated, "as stated"
    if from_file is not None and from_file >= appear:
        return from_file, "according to the log"
    return appear, "only those that appear in the log: state how many exist with --units"


def most_down(log):
    """The most units down at one moment; an outage ends before another starts at the same moment."""
    spans = [s for s in log.outages.values() if len(s)]
    if not spans:
        return 0
    spans = np.concatenate(spans)
    spans = spans[spans[:, 1] > spans[:, 0]]
    times = np.concatenate([spans[:, 1], spans[:, 0]])
    steps = np.concatenate([np.full(len(spans), -1), np.full(len(spans), 1)])
    order = np.lexsort((steps, times))
    return int(np.cumsum(steps[order]).max(initial=0))


def down_time(log):
    """Down time of all units within the window [s], overlaps counted once."""
    return float(sum((spans[:, 1] - spans[:, 0]).sum() for spans in log.outages.values()))


def availability(log, units):
    """Share of unit time that units were up, over the units that exist."""
    return 1.0 - down_time(log) / (units * log.length)
