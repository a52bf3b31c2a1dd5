"""Cleaning a failure log: ends that are missing or impossible, overlapping outages, the window of observation."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from .errors import UserError


@dataclass(frozen=True)
class Log:
    """A cleaned log within its window of observation; times in seconds.

    Attributes
    ----------
    starts : float64[n], sorted: the failures of the whole log within the window
    outages : {unit: float64[k, 2]}, sorted and disjoint: start and end of each outage of a unit, cut to the window
    fresh : {unit: bool[k]}: whether the outage began within the window, so that it counts as a failure
    window : (begin, end)
    listed : failures in the window before overlapping outages were merged
    ended : whether any outage has a length, so that down time is known
    done : {what: count}: what cleaning met and did
    """

    starts: np.ndarray
    outages: dict
    fresh: dict
    window: tuple
    listed: int
    ended: bool
    done: dict

    @property
    def length(self):
        """Length of the window [s]."""
        return self.window[1] - self.window[0]


def clean(records, begin=None, end=None, keep_overlaps=False):
    """A Log from Records.

    Parameters
    ----------
    records : trace_records.Records
    begin, end : window of observation [s]; default: the format's origin or the first failure, the last time in the log
    keep_overlaps : whether failures of a unit that is down already count as failures of the system; its down time
        never counts twice

    UserError if no failure lies in the window.
    """
    done = Counter()
    outages = []
    for start, until, unit in records.outages:
        if until is None:
            done["failures without an end: counted, with no down time"] += 1
            until = start
        elif until < start:
            done["ends before their start: the failure counts, with no down time"] += 1
            until = start
        elif until == start:
            done["outages of no length: the failure counts"] += 1
        if unit is None:
            done["failures without a unit: in the system's gaps, in no unit's"] += 1
        outages.append((start, until, unit))
    if not outages:
        raise UserError("no failure is left to look at: " + (_told(records.left_out) or "the log holds none"))
    outages.sort(key=lambda o: (o[0], o[1], o[2] or ""))
    window = _window(outages, records.origin, begin, end)
    begin, end = window
    before = sum(until < begin for _, until, _ in outages)
    after = sum(start > end for start, _, _ in outages)
    if before:
        done["outages before the window: left out"] = before
    if after:
        done["outages after the window: left out"] = after
    outages = [o for o in outages if o[1] >= begin and o[0] <= end]
    listed = sum(begin <= start for start, _, _ in outages)
    merged, overlaps = _merge(outages)
    if overlaps:
        done["outages within another of their unit: merged, counted once"] = overlaps
    running = sum(spans[0][0] < begin for spans in merged.values())
    if running:
        done["outages that began before the window: down time only"] = running
    if keep_overlaps:
        starts = [start for start, _, _ in outages if start >= begin]
    else:
        starts = [start for spans in merged.values() for start, _ in spans if start >= begin]
        starts += [start for start, _, unit in outages if unit is None and start >= begin]
    if not starts:
        raise UserError(
            f"no failure lies in the window of observation; {len(records.outages):,} lie outside it"
        )
    fresh = {unit: np.array([s >= begin for s, _ in spans]) for unit, spans in merged.items()}
    cut = {unit: np.clip(np.array(spans, np.float64), begin, end) for unit, spans in merged.items()}
    ended = any(until > start for start, until, _ in outages)
    return Log(np.sort(np.array(starts, np.float64)), cut, fresh, window, listed, ended, dict(done))


def _told(counter):
    return ", ".join(f"{count:,} {what}" for what, count in counter.items())


def _window(outages, origin, begin, end):
    first = outages[0][0] if origin is None else min(origin, outages[0][0])
    last = max(until for _, until, _ in outages)
    window = (first if begin is None else begin, last if end is None else end)
    if not window[1] > window[0]:
        raise UserError(
            f"the window of observation is empty: it is {window[1] - window[0]:g} s long (--from, --to)"
        )
    return window


def _merge(outages):
    """({unit: [[start, end], ...]}, how many were merged away) of sorted outages.

    Outages of a unit overlap if one starts before another ends, or both start at the same moment.
    """
    merged, overlaps = {}, 0
    for start, until, unit in outages:
        if unit is None:
            continue
        spans = merged.setdefault(unit, [])
        if spans and (start < spans[-1][1] or start == spans[-1][0]):
            spans[-1][1] = max(spans[-1][1], until)
            overlaps += 1
        else:
            spans.append([start, until])
    return merged, overlaps
