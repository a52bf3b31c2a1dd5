"""Plain-Python training runs: slow, obviously right; the oracle of the training kernel.

Every alive group is walked through every step, stack by stack, with a jitter draw for each. Committed steps are kept
as a list of what each cost, and a rollback cuts the list; nothing is accumulated on the way. Without jitter its rows
equal the kernel's to the microsecond; with jitter, in distribution.
"""

from .reference_clocks import Clocks
from .reference_reorder import Controller
from .reference_returns import Workshop
from .training_settings import (
    BACKGROUND,
    BINS,
    BLOCKING,
    COLUMNS,
    CONSECUTIVE,
    PER_BLOCK,
    REPLICATION,
    SAVER,
    SPARE,
)


def training_row(settings, seed, run, jitter=None, hits=None, **layout):
    """One run's row, a list of integers in the order of ``training_settings.columns``.

    jitter: a function without arguments that draws one multiple of T_comp (its floor included); None for exactly 1.
    hits: of a run on a failure stream, (time [us], group) in time order, as many as it needs.
    layout: hosts, stacks (SPARe), intervals, width, means, table, as ``training.plan`` takes them.
    """
    scheme = _Replication if settings.scheme == REPLICATION else _Spare
    return scheme(settings, seed, run, jitter, hits, **layout).row()


class _Run:
    def __init__(
        self,
        settings,
        seed,
        run,
        jitter,
        hits,
        hosts=None,
        stacks=None,
        intervals=(0,),
        width=1,
        means=None,
        table=None,
    ):
        self.s = settings
        self.clocks = Clocks(settings, seed, run, means, table, hits)
        self.jitter = jitter
        self.layout = (hosts, stacks)
        self.intervals, self.width = intervals, width
        self.now = 0
        self.history = []  # a dict of bins for every committed step that still stands
        self.lost = 0  # time of steps rolled back
        self.resume = 0  # committed steps that a restart falls back to
        self.writing = None  # (when a background save will be written, its resume point)
        self.last_save = self.life = 0
        self.saver = None
        self.total = dict.fromkeys(COLUMNS, 0)
        self.depths = [0] * settings.redundancy
        self.workshop = Workshop(settings)
        self.new_life()

    def row(self):
        s = self.s
        while len(self.history) < s.steps and self.now < s.max_wall:
            self.step()
        if len(self.history) == s.steps:
            self.total["finished"] = 1
            if self.saver is not None:
                self.spend("checkpoint", s.save)
            if self.writing and self.writing[0] > self.now:
                self.spend("checkpoint", self.writing[0] - self.now)
        for name in BINS:
            self.total[name] = sum(step[name] for step in self.history)
        self.total |= {
            "rework": self.lost,
            "wall": self.now,
            "useful": sum(sum(step.values()) for step in self.history),
            "committed": len(self.history),
            "rolled_back": self.total["executed"] - len(self.history),
            "spares_used": self.workshop.most_used,
            "spares_lacking": self.workshop.lacking,
        }
        return [*self.total.values(), *self.depths]

    def step(self):
        self.total["executed"] += 1
        self.bins = dict.fromkeys(BINS, 0)
        if self.s.elastic:
            self.come_back()
        if self.attempt():
            self.history.append(self.bins)
            if self.save_due():
                self.try_to_save()
            return
        if self.writing and self.writing[0] <= self.now:
            self.resume = self.writing[1]
        self.writing = None
        self.lost += sum(self.bins.values()) + sum(sum(step.values()) for step in self.history[self.resume :])
        del self.history[self.resume :]
        self.total["restarts"] += 1
        self.spend("restart", self.clocks.restart(self.now) - self.now)
        self.last_save = self.life = self.now
        self.saver = None
        self.workshop.restock()
        self.new_life()

    def come_back(self):
        ready = self.workshop.ready(self.now)
        back = [g for g in ready if g not in self.unhandled]
        if back:
            self.workshop.taken(back)
            self.clocks.come_back(back, self.now)
            self.spend("shrink", self.s.rejoin)
            self.total["shrink_total"] += self.s.rejoin
            self.total["returns"] += len(back)
            self.total["rejoins"] += 1
            self.rejoin(back)
        self.total["out_steps"] += len(self.clocks.out)

    def spend(self, name, time):
        self.now += time
        if name in BINS:
            self.bins[name] += time
        else:
            self.total[name] += time

    def find(self, g, time):
        self.total["failures"] += 1
        self.clocks.find(g, time)
        self.workshop.failed(g, time)

    def shrink(self):
        self.spend("shrink", self.s.shrink)
        self.total["shrink_total"] += self.s.shrink

    def stack_times(self, count):
        """Times of ``count`` stacks of one group in a row."""
        stack = self.s.stack
        if self.jitter is None:
            return [stack] * count
        if self.s.jitter == PER_BLOCK:
            block = int(self.jitter() * count * stack + 0.5)
            return [block * (i + 1) // count - block * i // count for i in range(count)]
        return [int(self.jitter() * stack + 0.5) for _ in range(count)]

    def save_due(self):
        done, s = len(self.history), self.s
        if done == s.steps:
            return True
        if s.save_steps:
            return done % s.save_steps == 0
        age = (self.now - self.life) // self.width
        return self.now - self.last_save >= self.intervals[min(age, len(self.intervals) - 1)]

    def save(self, group):
        s = self.s
        if self.writing:
            if self.writing[0] > self.now:
                self.spend("checkpoint", self.writing[0] - self.now)
            self.resume, self.writing = self.writing[1], None
        self.total["saves"] += 1
        point = len(self.history) - (0 if s.resume_after else 1)
        if s.save_kind == BACKGROUND:
            self.spend("checkpoint", s.save_blocking)
            self.writing = (self.now + s.save - s.save_blocking, point)
        else:
            self.resume = point
        if s.save_kind == BLOCKING:
            self.spend("checkpoint", s.save)
        if s.save_kind == SAVER and s.save:
            self.saver = group
        self.last_save = self.now

    def release(self, arrivals, late, nominal):
        """The barrier opens: compute, and what the saver adds to it."""
        start = self.now
        saver = self.saver
        release = max(arrivals.values(), default=start)
        undelayed = max((t - late * (g == saver) for g, t in arrivals.items()), default=start)
        self.saver = None
        self.spend("needed", self.s.stack)
        self.spend("redundant", nominal - self.s.stack)
        self.spend("waiting", undelayed - start - nominal)
        self.spend("checkpoint", release - undelayed)
        return release


class _Spare(_Run):
    def new_life(self):
        if self.s.scheme == SPARE:
            self.controller = Controller(*self.layout)
        self.depth = 1
        self.unhandled = set()

    def rejoin(self, groups):
        self.total["rejoin_moves"] += self.controller.rejoin(groups, self.s.keep_depth)
        self.depth = self.controller.depth

    def alive(self):
        return [g for g in self.clocks.groups if g not in self.clocks.out]

    def walk(self, g, start, count):
        """Group g computes; when it is at the barrier, whether it failed on the way."""
        time = start
        for duration in self.stack_times(count):
            if self.clocks.failed(g, time):
                self.find(g, time)
                self.unhandled.add(g)
                break
            time += duration
        return time

    def check_all(self, time):
        for g in self.alive():
            if self.clocks.failed(g, time):
                self.find(g, time)
                self.unhandled.add(g)

    def attempt(self):
        late = self.s.save if self.saver is not None else 0
        arrivals = {g: self.walk(g, self.now + late * (g == self.saver), self.depth) for g in self.alive()}
        release = self.release(arrivals, late, self.depth * self.s.stack)
        self.check_all(release)
        commits = self.settle()
        self.depths[self.depth - 1] += 1
        return commits

    def settle(self):
        while self.unhandled:
            self.spend("allreduce", self.s.found_allreduce)
            self.spend("detection", self.s.detection)
            if self.s.scheme != SPARE:
                return False
            before = {g: list(types) for g, types in self.controller.order.items()}
            told = self.controller.fail(self.unhandled)
            self.unhandled = set()
            if told["phase"] == 3:
                return False
            self.shrink()
            self.depth = told["after"]
            self.total[("fixed", "deeper", "reorders")[told["phase"]]] += 1
            self.total["moves"] += told["moves"]
            if told["phase"] == 0:
                return True
            self.patch(before, told["before"])
        self.spend("allreduce", self.s.allreduce)
        return True

    def patch(self, before, old_depth):
        arrivals = []
        for g in self.alive():
            prefix = self.controller.order[g][: self.depth]
            places = sum(p >= old_depth or t != before[g][p] for p, t in enumerate(prefix))
            if not self.s.patch_all:
                places = min(places, 1)
            self.total["patch_stacks"] += places
            if places:
                arrivals.append(self.walk(g, self.now, places))
        self.spend("patch", max(arrivals) - self.now)
        self.check_all(self.now)

    def try_to_save(self):
        alive = self.alive()
        if not alive:
            return
        if self.clocks.failed(alive[0], self.now):
            self.find(alive[0], self.now)
            self.unhandled.add(alive[0])
        else:
            self.save(alive[0])


class _Replication(_Run):
    def new_life(self):
        self.unhandled = set()
        self.gone = set()

    def rejoin(self, groups):
        self.gone -= set(groups)

    def block(self, g):
        s = self.s
        return g // s.redundancy if s.placement == CONSECUTIVE else g % -(-s.groups // s.redundancy)

    def attempt(self):
        s = self.s
        late = s.save if self.saver is not None else 0
        arrivals = {}
        for g in self.clocks.groups:
            if g in self.clocks.out:
                continue
            time = self.now + late * (g == self.saver)
            if not self.clocks.failed(g, time):
                time += sum(self.stack_times(s.redundancy))
            arrivals[g] = time
            if self.clocks.failed(g, time):
                self.find(g, time)
                self.unhandled.add(g)
        self.release(arrivals, late, s.redundancy * s.stack)
        self.depths[s.redundancy - 1] += 1
        if not self.unhandled:
            self.spend("allreduce", s.allreduce)
            return True
        self.spend("allreduce", s.found_allreduce)
        self.spend("detection", s.detection)
        handled = {min(self.unhandled)} if s.lowest_only else set(self.unhandled)
        self.unhandled -= handled
        self.gone |= handled
        blocks = {self.block(g) for g in self.clocks.groups}
        if {self.block(g) for g in self.clocks.groups if g not in self.gone} != blocks:
            return False
        self.shrink()
        return True

    def try_to_save(self):
        first = min(g for g in self.clocks.groups if g not in self.gone)
        if first in self.unhandled:
            return
        if self.clocks.failed(first, self.now):
            self.find(first, self.now)
            self.unhandled.add(first)
        else:
            self.save(first)
