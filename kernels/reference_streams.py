"""Plain-Python failure streams: slow, obviously right; the oracle of :mod:`spare_mc.kernels.streams`.

It draws the same numbers (the same counters of the same generator), but nothing is lazy here: the first failures of all
units are listed and sorted, the pools are shuffled as lists, every unit's later failures follow up to the horizon, logs
are played pass by pass, and all events are sorted at the end.
"""

import math
from statistics import NormalDist

from . import stream_plan as sp
from .reference import philox

_EVENT, _UNIT, _REPLAY, _DEAL = 4 << 24, 5 << 24, 6 << 24, 7 << 24  # purposes in the counter's second word
_PASSES = 2**24


def interval(plan, source, hazard):
    """When a unit of the source fails, at this cumulated hazard [us]."""
    kind, _, _, first, size = (int(x) for x in plan.sources[source])
    scale, power = (float(x) for x in plan.reals[source])
    table = [float(x) for x in plan.tables[first : first + size]]
    try:
        time = TIMES[kind](hazard, scale, power, table)
    except OverflowError:
        time = math.inf
    return int(max(1.0, math.floor(min(time, 2.0**60) + 0.5)))


def _lognormal(h, scale, shape, table):
    h = min(h, 700.0)  # exp(-h) is a normal number
    # the quantile of 1 - exp(-h), from the side that keeps its digits
    upper = -NormalDist().inv_cdf(math.exp(-h)) if h > math.log(2) else None
    z = NormalDist().inv_cdf(-math.expm1(-h)) if upper is None else upper
    return math.exp(z * shape) * scale


def _linear(h, scale, power, table):
    knots = len(table) // 2
    hazards, times = table[:knots], table[knots:]
    i = max(i for i in range(knots - 1) if hazards[i] <= h)
    slope = (times[i + 1] - times[i]) / (hazards[i + 1] - hazards[i])
    return (times[i] + (h - hazards[i]) * slope) * scale


def _loglog(h, scale, power, table):
    x0, dx, *y = table
    place = (math.log(h) - x0) / dx
    i = math.floor(min(max(place, 0.0), float(len(y) - 2)))
    return math.exp(y[i] + (place - i) * (y[i + 1] - y[i])) * scale


def _steps(h, scale, power, table):
    return table[min(len(table) - 1, math.floor(-math.expm1(-h) * len(table)))] * scale


TIMES = {
    sp.EXPONENTIAL: lambda h, scale, power, table: h * scale,
    sp.WEIBULL: lambda h, scale, power, table: math.pow(h, power) * scale,
    sp.LOGNORMAL: _lognormal,
    sp.LINEAR: _linear,
    sp.LOGLOG: _loglog,
    sp.STEPS: _steps,
}


class Stream:
    """One trial of a stream."""

    def __init__(self, plan, seed, trial):
        self.plan = plan
        self.key = (seed & 0xFFFFFFFF, seed >> 32)
        self.trial = (trial & 0xFFFFFFFF, trial >> 32)
        self.sources, self.replays = len(plan.sources), len(plan.replays)

    def _words(self, element, purpose, repetition):
        return philox((element, purpose | repetition, *self.trial), self.key)

    def first_failures(self):
        """The first failure of every unit: list of (time, source, entity), in order; entities through all pools."""
        found = []
        for s in range(self.sources):
            count = int(self.plan.sources[s, sp.COUNT])
            hazard, time = 0.0, 0
            for k in range(count):
                words = self._words(s, _EVENT, k)
                hazard += -math.log(_uniform(words[0], words[1])) / float(count - k)
                time = max(time, interval(self.plan, s, hazard))
                found.append((time, s, k, _uniform(words[2], words[3])))
        cards = [
            list(range(begin, end)) for begin, end in zip(self.plan.pools, self.plan.pools[1:], strict=False)
        ]
        dealt = [0] * len(cards)
        failures = []
        for time, s, _, u in sorted(found):
            pool = int(self.plan.sources[s, sp.POOL])
            failures.append((time, s, int(_deal(cards[pool], dealt[pool], u))))
            dealt[pool] += 1
        return failures

    def events(self, horizon, renew):
        """All events up to the horizon: list of (time, whose, place among its own, entity), sorted."""
        found = []
        for place, (time, s, entity) in enumerate(self.first_failures()):
            found.append((time, s, place, entity))
            renewal = 0
            while renew and time <= horizon and renewal < _PASSES - 1:
                words = self._words(entity, _UNIT, renewal)
                time += interval(self.plan, s, -math.log(_uniform(words[0], words[1])))
                found.append((time, self.sources + self.replays + entity, renewal, entity))
                renewal += 1
        for replay in range(self.replays):
            played = self._played(replay, horizon)
            found += [(time, self.sources + replay, i, entity) for i, (time, entity) in enumerate(played)]
        return sorted(event for event in found if event[0] <= horizon)

    def _played(self, replay, horizon):
        """A log's failures up to the horizon, in order: list of (time, entity)."""
        row = self.plan.replays[replay]
        window, block, pool, first, events = (
            int(row[c]) for c in (sp.WINDOW, sp.BLOCK, sp.REPLAY_POOL, sp.FIRST, sp.EVENTS)
        )
        log = [
            (int(t), int(u))
            for t, u in zip(
                self.plan.times[first : first + events], self.plan.units[first : first + events], strict=True
            )
        ]
        begin, end = int(self.plan.pools[pool]), int(self.plan.pools[pool + 1])
        found = []
        number = 0
        shift = 0
        while number < _PASSES:
            words = self._words(replay, _REPLAY, number)
            moment = math.floor(_uniform(words[0], words[1]) * window)
            if block:
                # the moments after ``moment``, as many as a block is long, round the end of the window
                starts = number * block
                ordered = [(t - moment, u) for t, u in log if t > moment]
                ordered += [(t + window - moment, u) for t, u in log if t <= moment]
                wall = [(starts + t, u) for t, u in ordered if t <= block]
            elif number == 0:
                starts, shift = 0, -moment
                wall = [(t + shift, u) for t, u in log if t > moment]
            else:
                shift += window
                starts = shift
                wall = [(t + shift, u) for t, u in log]
            if starts > horizon:
                break
            met = {}
            cards = []
            for time, unit in wall:
                if row[sp.FIXED]:
                    entity = begin + unit % (end - begin)
                else:
                    if unit not in met:
                        dealt = len(met) % (end - begin)
                        if dealt == 0:
                            cards = list(range(begin, end))
                        words = self._words(replay << 24 | len(met), _DEAL, number)
                        met[unit] = _deal(cards, dealt, _uniform(words[0], words[1]))
                    entity = met[unit]
                found.append((time, entity))
            number += 1
        return [event for event in found if event[0] <= horizon]

    def members(self, entity):
        """The groups that an entity hits (list)."""
        begin, end = self.plan.starts[entity], self.plan.starts[entity + 1]
        return [int(g) for g in self.plan.members[begin:end]]


def hits(plan, seed, trial, horizon):
    """Every hit of a trial up to the horizon [us]: list of (time, group). Units are renewed at their failure."""
    stream = Stream(plan, seed, trial)
    return [
        (time, group)
        for time, _, _, entity in stream.events(horizon, True)
        for group in stream.members(entity)
    ]


def pattern(plan, host_rows, seed, trial):
    """How the groups of a trial fail until some type has lost all hosts; nothing is repaired.

    ``host_rows[t]``: the groups that host type t, negative entries are padding. Returns (order, ends, times, wiped):
    groups as they are lost; how many are lost after each event that lost any; when [us]; whether the last event
    wipes out (False: the stream never reaches all hosts of a type).
    """
    stream = Stream(plan, seed, trial)
    last_first = max((time for time, _, _ in stream.first_failures()), default=0)
    horizon = 2**20
    while True:
        order, ends, times = [], [], []
        for time, _, _, entity in stream.events(horizon, False):
            new = [g for g in stream.members(entity) if g not in order]
            if new:
                order += new
                ends.append(len(order))
                times.append(time)
                lost = set(order)
                if any(all(int(g) in lost for g in row if g >= 0) for row in host_rows):
                    return order, ends, times, True
        reachable = any(plan.reach[g] and g not in order for g in range(int(plan.numbers[sp.GROUPS])))
        if horizon >= last_first and not reachable or horizon >= sp.LONGEST:
            return order, ends, times, False
        horizon = min(2 * horizon, sp.LONGEST)


def _deal(cards, dealt, u):
    """Deal one of the cards not dealt yet (Fisher and Yates, one step)."""
    place = dealt + math.floor(u * (len(cards) - dealt))
    cards[dealt], cards[place] = cards[place], cards[dealt]
    return cards[dealt]


def _uniform(high, low):
    return (((high << 20) | (low >> 12)) + 0.5) * 2.0**-52
