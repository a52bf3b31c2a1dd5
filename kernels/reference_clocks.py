"""Plain-Python failure clocks and restarts of a training run: every group looked at, one after the other.

The oracle of ``clocks`` and ``restarts``. It draws the same numbers (the same counters of the same generator), but
shares no code with them: no queue, no look-ahead, no shortcut at a restart.
"""

import math
from statistics import NormalDist

import numpy as np

from .reference import philox
from .reference_streams import TIMES
from .training_settings import EXPONENTIAL, FRESH, LOGNORMAL, STREAM, SYSTEM, WEIBULL

_CLOCK = 1 << 24  # purpose CLOCK in the counter's second word
_SYSTEM = 2**32 - 1


class Clocks:
    """``due[g]``: next failure of group g [us]; ``out``: groups found failed since the last restart."""

    def __init__(self, settings, seed, run, means=None, table=None, hits=None):
        self.s = settings
        self.table = None if table is None else [float(x) for x in np.ravel(table)]
        self.key = (seed & 0xFFFFFFFF, seed >> 32)
        self.run = (run & 0xFFFFFFFF, run >> 32)
        self.means = means or [settings.mean] * settings.groups
        self.groups = range(settings.groups)
        self.drawn = [0] * settings.groups
        self.out = set()
        self.hits = hits
        self.own = settings.clocks not in (SYSTEM, STREAM)  # a clock for every group
        if not self.own:
            self.due = [math.inf] * settings.groups
            self.index = -1
            self.event = 0
            self._next_event()
        else:
            self.due = [self.interval(g) for g in self.groups]

    def failed(self, g, now):
        """Whether group g, alive so far, has failed by ``now``."""
        if not self.own:
            self._hits_until(now)
        return self.due[g] <= now

    def find(self, g, now):
        """Group g finds itself failed."""
        self.out.add(g)
        if self.own:
            self.due[g] = now + self.interval(g)

    def come_back(self, groups, now):
        """Groups that were out are alive again at ``now``, their clocks new."""
        if not self.own:
            self._hits_until(now)  # these were none of theirs
        self.out -= set(groups)
        for g in groups:
            self.due[g] = now + self.interval(g) if self.own else math.inf

    def interval(self, g):
        """The next interval of group g's clock [us]."""
        words = self._words(g, self.drawn[g])
        self.drawn[g] += 1
        return self._duration(words, self.means[g])

    def restart(self, now):
        """When a restart begun at ``now`` ends; all groups are alive then."""
        s = self.s
        self.out.clear()
        if not self.own:
            return self._restart_by_events(now)
        ends = [now + s.restart]
        if s.clocks != FRESH or s.extended:
            ends += [self._window(g, now) for g in self.groups]
        if s.clocks == FRESH:
            self.due = [max(ends) + self.interval(g) for g in self.groups]
        return max(ends)

    def _window(self, g, now):
        begin = now
        while self.due[g] < begin + self.s.restart:
            if self.s.extended:
                begin = max(begin, self.due[g])
            self.due[g] += self.interval(g)
            if begin >= self.s.max_wall:
                break
        return begin + self.s.restart

    def _restart_by_events(self, now):
        while self.event <= now:
            self._next_event()
        self.due = [math.inf] * self.s.groups
        end = now + self.s.restart
        ready = [end] * self.s.groups
        while self.event <= end and end < self.s.max_wall:
            g = self._victim(1)
            if self.s.extended and self.due[g] == math.inf:
                if self.event < ready[g]:
                    ready[g] = self.event + self.s.restart
                    end = max(ready)
                else:
                    self.due[g] = self.event
            self._next_event()
        return end

    def _hits_until(self, now):
        while self.event <= now:
            if self.s.clocks == STREAM:
                g = self._victim(1)
                if g not in self.out and self.due[g] == math.inf:
                    self.due[g] = self.event
                self._next_event()
                continue
            alive = [g for g in self.groups if g not in self.out and self.due[g] == math.inf]
            if not alive:
                break  # the event waits for the restart
            attempt = 1
            while self._victim(attempt) not in alive:
                attempt += 1
            self.due[self._victim(attempt)] = self.event
            self._next_event()

    def _next_event(self):
        self.index += 1
        if self.s.clocks == STREAM:
            self.event = self.hits[self.index][0] if self.index < len(self.hits) else math.inf
            return
        self.event += self._duration(self._words(_SYSTEM, self.index), self.s.mean)

    def _victim(self, attempt):
        if self.s.clocks == STREAM:
            return self.hits[self.index][1]
        words = self._words(_SYSTEM - attempt, self.index)
        return int(_uniform(words[2], words[3]) * self.s.groups)

    def _words(self, element, repetition):
        return philox((element, _CLOCK | repetition, *self.run), self.key)

    def _duration(self, words, mean):
        u = _uniform(words[0], words[1])
        s = self.s
        if s.law == EXPONENTIAL:
            time = -math.log(u) * mean
        elif s.law == WEIBULL:
            time = math.pow(-math.log(u), 1.0 / s.shape) * (mean * (1.0 / math.gamma(1.0 + 1.0 / s.shape)))
        elif s.law == LOGNORMAL:
            time = math.exp(NormalDist().inv_cdf(u) * s.shape) * (mean * math.exp(-0.5 * s.shape**2))
        else:
            time = TIMES[s.law](-math.log(u), 1.0, 1.0, self.table) * (mean * (1.0 / s.mean))
        return int(max(1.0, math.floor(min(time, 2.0**60) + 0.5)))


def _uniform(high, low):
    return (((high << 20) | (low >> 12)) + 0.5) * 2.0**-52
