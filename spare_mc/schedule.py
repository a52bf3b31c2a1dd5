"""Which block comes next: the work of a study in order, in jobs of about the same cost.

Each measure of each point is a unit. A unit is counted up to its rule's next look, then looked at, then goes on or
stops. Units are taken in the study's order; under a time limit, those not yet looked at first, then the one whose
interval is widest.
"""

import heapq
import math
import time
from collections import deque

from . import stopping
from .failure_streams import has_stream
from .results import PointResult
from .tallies import merge_spans, missing_spans
from .work import Piece

# Rough cost of a trial against survival's, per key drawn.
_WEIGHT = {"survival": 1, "stacks": 15, "reordering": 200, "training": 5000}
_STREAM_WEIGHT = 150  # drawing a failure pattern event by event

_BY_SIGHT = (
    200  # points up to which every finished one is looked at for the widest interval; beyond, one a second
)


def rough_cost(measure, point):
    """Rough cost of a trial (training: a run) of a point, in keys drawn by survival."""
    weight = _WEIGHT[measure]
    if measure != "training" and has_stream(point.parameters):
        weight += _STREAM_WEIGHT
    return weight * point.layout.groups * (1.0 + 0.02 * point.layout.redundancy)


def is_open_ended(study, rules):
    """Whether intervals or the time decide how much is counted, so that shares are points and not spans of trials."""
    return study.time_limit is not None or any(rule.targets for rule in rules.values())


def places_in(share, points, open_ended):
    """Places of the points that a share ``(i, n)`` (None: all) counts."""
    at, of = share or (1, 1)
    return range(at - 1, points, of) if open_ended else range(points)


def span_in(share, maximum, open_ended):
    """``(first, end)`` of the trials that a share counts of each of its points."""
    at, of = (1, 1) if open_ended or share is None else share
    return maximum * (at - 1) // of, maximum * at // of


class _Unit:
    """One measure of one point."""

    __slots__ = ("gaps", "goal", "index", "low", "outstanding", "point", "reason", "rule", "width")

    def __init__(self, index, point, rule, low):
        self.index, self.point, self.rule, self.low = index, point, rule, low
        self.gaps = deque()  # spans to hand out until the next look
        self.goal = low  # where the next look is
        self.outstanding = 0  # trials handed out and not back
        self.reason = None
        self.width = math.inf


class Schedule:
    """The work of a study that is not done yet.

    Parameters
    ----------
    study : Study
    have : callable (point id, measure) -> Tally or None
    keys : keys that a job may draw, at the survival measure's cost each
    workers : how many jobs should be there at once
    share : ``(i, n)`` or None
    watch : whether to look out for the widest interval where no rule needs it

    Attributes
    ----------
    done, before, total : trials (training: runs) there are, were at the start, and will be at the next looks
    points_done : points of which nothing more is asked
    open_ended : whether the intervals decide how much is counted
    """

    def __init__(self, study, have, keys, workers, share=None, watch=False):
        self._study, self._have, self._share = study, have, share
        self._rules = stopping.rules_of(study)
        self._by_width = study.time_limit is not None
        self.open_ended = is_open_ended(study, self._rules)
        self._watch, self._next_watch = watch, 0.0
        self._widths = {}  # unit's place -> (relative half-width, estimate, point)
        self._widest, self._next_widest = None, 0.0
        self._ready = []  # heap of (rank, place, unit)
        self._units = {}  # (point id, measure) -> unit
        self._left_at = [0] * len(study.points)
        self.done = self.before = self.total = self.points_done = 0
        for unit in self._all_units():
            self._units[unit.point.id, unit.rule.measure] = unit
            self._left_at[unit.index] += 1
        for unit in self._units.values():
            self._look(unit)
        missing = {unit: sum(b - a for a, b in unit.gaps) for unit in self._units.values()}
        self.done = self.before = self.total - sum(missing.values())
        cost = sum(count * rough_cost(unit.rule.measure, unit.point) for unit, count in missing.items())
        # A fair share of what there is, at most what keeps a job short.
        self._budget = max(1.0, min(keys, cost / workers))

    def _all_units(self):
        for index in places_in(self._share, len(self._study.points), self.open_ended):
            for measure in self._study.measures:
                rule, low = self._rules[measure], 0
                if self._share and not self.open_ended:
                    low, high = span_in(self._share, rule.maximum, self.open_ended)
                    rule = stopping.Rule(measure, high, high, {})
                yield _Unit(index, self._study.points[index], rule, low)

    # Looks

    def _look(self, unit):
        """Find out what a unit needs until its next look, or why it has enough."""
        tally = self._have(unit.point.id, unit.rule.measure)
        spans = merge_spans((max(a, unit.low), b) for a, b in tally.spans) if tally else ()
        before = unit.goal
        if self.open_ended and unit.rule.maximum:
            unit.goal = self._next_goal(unit, tally, spans)
        else:
            unit.goal = unit.rule.maximum
        gaps = [(max(a, unit.low), b) for a, b in missing_spans(spans, unit.goal) if b > unit.low]
        self.total += unit.goal - before
        if not gaps:
            unit.reason = unit.reason or (stopping.SHARE if self._share else stopping.TOTAL)
            self._finish(unit)
            return
        unit.gaps.extend(gaps)
        self._push(unit)

    def _next_goal(self, unit, tally, spans):
        """The count of the next look; the present one, and the unit's reason set, where it has enough."""
        rule, end = unit.rule, spans[-1][1] if spans else 0
        if spans != ((0, end),) or not (rule.is_look(end) or end > rule.maximum):
            return max(end, rule.next_total(end - 1)) if end else rule.next_total(0)
        result = self._result(unit, tally)
        unit.width = self._width(unit, result)
        if rule.targets and unit.width <= 1.0:
            unit.reason = stopping.TARGET
        elif end >= rule.maximum:
            unit.reason = stopping.MAXIMUM if rule.targets else stopping.TOTAL
        else:
            return rule.next_total(end)
        return end

    def _result(self, unit, tally):
        tallies = {unit.rule.measure: tally}
        return PointResult(
            unit.point.id, unit.point.parameters, self._study.seed, tallies, self._study.confidence
        )

    def _width(self, unit, result):
        """How far a unit is from enough: its widest interval over its target, or its primary one's relative width."""
        rule = unit.rule
        names = rule.targets or {stopping.PRIMARY[rule.measure]: 1.0}
        widths = {name: stopping.half_width(result, name) for name in names}
        worst = max(widths, key=lambda name: widths[name] / names[name])
        if self._watch:
            self._widths[unit.index, rule.measure] = (widths[worst], worst, unit.point)
        return widths[worst] / names[worst]

    def _finish(self, unit):
        self._left_at[unit.index] -= 1
        if not self._left_at[unit.index]:
            self.points_done += 1
        if not self._watch or self.open_ended or unit.rule.maximum == 0:
            return
        now = time.monotonic()
        if len(self._study.points) <= _BY_SIGHT or now >= self._next_watch:
            self._next_watch = now + 1.0
            tally = self._have(unit.point.id, unit.rule.measure)
            if tally is not None:
                self._width(unit, self._result(unit, tally))

    @property
    def widest(self):
        """``(relative half-width, estimate, point)`` of the widest interval at the points' last looks, or None."""
        now = time.monotonic()
        if now >= self._next_widest:  # asked for after every job, over all points seen
            self._widest = max(self._widths.values(), key=lambda found: found[0], default=None)
            self._next_widest = now + 0.2
        return self._widest

    def stopped(self):
        """point id -> dict measure -> why no more is counted, once nothing more is handed out."""
        found = {}
        for (identity, measure), unit in self._units.items():
            found.setdefault(identity, {})[measure] = unit.reason or stopping.TIME_LIMIT
        return found

    # Jobs

    def _push(self, unit):
        # Without a time limit a point that goes on is finished before new ones begin.
        rank = -unit.width if self._by_width else -float(unit.width < math.inf)
        place = unit.index, self._study.measures.index(unit.rule.measure)
        heapq.heappush(self._ready, (rank, place, unit))

    def next_job(self):
        """Blocks for a worker, a list of Piece; empty when none is ready (more may be, once some are finished)."""
        pieces, left = [], self._budget
        while self._ready and left > self._budget / 8:
            unit = heapq.heappop(self._ready)[2]
            first, stop = unit.gaps.popleft()
            cost = rough_cost(unit.rule.measure, unit.point)
            count = min(stop - first, max(1, int(left / cost)))
            left -= count * cost
            unit.outstanding += count
            if first + count < stop:
                unit.gaps.appendleft((first + count, stop))
            if unit.gaps:
                self._push(unit)
            point, measure = unit.point, unit.rule.measure
            pieces.append(Piece(point, measure, self._study.seed, self._study.key(point), first, count))
        return pieces

    def finished(self, pieces):
        """Tell that the tallies of a job's blocks are there."""
        for piece in pieces:
            unit = self._units[piece.point.id, piece.measure]
            unit.outstanding -= piece.count
            self.done += piece.count
            if not unit.outstanding and not unit.gaps:
                self._look(unit)
