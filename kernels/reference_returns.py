"""Plain-Python repairs and spares of a training run: all that failed since the restart gone through at every look.

The oracle of ``returns``: no queue is kept from one look to the next.
"""

import heapq


class Workshop:
    """Who can take whose place, and when; ``most_used`` spares at a time, ``lacking`` failures without a spare."""

    def __init__(self, settings):
        self.s = settings
        self.most_used = 0
        self.before = 0  # failures without a spare in lives that are over
        self.restock()

    @property
    def lacking(self):
        return self.before + self.waited

    def restock(self):
        """A restart: all spares are free, nothing is under repair."""
        if hasattr(self, "waited"):
            self.before += self.waited
        self.waited = 0
        self.looks = 0
        self.failures = []  # (looks before, time, group) of every failure since the restart
        self.gone_back = []  # (time, group) of every place that was taken

    def failed(self, g, time):
        """Group g is found failed."""
        self.failures.append((self.looks, time, g))

    def ready(self, now):
        """The groups whose places can be taken by ``now``, among those not taken yet."""
        self.looks += 1
        promised = self._promised(now)
        for place in self.gone_back:
            promised.remove(place)
        self.promised = dict((g, (time, g)) for time, g in promised)
        return [g for time, g in promised if time <= now]

    def taken(self, groups):
        """These came back."""
        self.gone_back += [self.promised[g] for g in groups]

    def _promised(self, now):
        """(time, group) of every place that someone is going to take, as known by ``now``."""
        s = self.s
        if s.spares == 0:
            return [(time + s.repair, g) for _, time, g in sorted(self.failures)]
        free, repairs, waiting, promised, lacking = s.spares, [], [], [], 0
        for _, time, g in [*sorted(self.failures), (0, now, None)]:
            while repairs and repairs[0] <= time:
                mended = heapq.heappop(repairs)
                if waiting:
                    promised.append((mended + s.swap, waiting.pop(0)))
                else:
                    free += 1
            if g is None:
                break
            if s.repair >= 0:
                heapq.heappush(repairs, time + s.repair)
            if free:
                free -= 1
                self.most_used = max(self.most_used, s.spares - free)
                promised.append((time + s.swap, g))
            else:
                waiting.append(g)
                lacking += 1
        self.waited = lacking
        return promised
