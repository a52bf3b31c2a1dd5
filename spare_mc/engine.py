"""Splits points into blocks, hands them to threads, merges what comes back.

Blocks are spans of trial numbers. Their tallies are integers that add up exactly, so neither the number of threads
nor the size or order of the blocks shows in the result.
"""

import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass

from . import backends, cores
from .errors import UserError
from .results import PointResult
from .tallies import Tally, missing_spans

# Keys a block draws: some tens of milliseconds of kernel, short enough for Ctrl-C, long enough to hide the hand-over.
_KEYS_PER_BLOCK = 2**25
_WEIGHT = {
    "survival": 1,
    "stacks": 60,
    "reordering": 300,
    "training": 5000,
}  # rough cost of a trial against survival's


@dataclass
class Progress:
    """Where a run stands; handed to the progress callback after every block."""

    done: int
    before: int  # done before this run
    total: int
    elapsed: float
    point: int
    points: int


def block_trials(measure, groups, backend, total, threads):
    """Trials in a block: a fair share of ``total``, at most what keeps a block short."""
    keys = _KEYS_PER_BLOCK / (_WEIGHT[measure] * backend.cost)
    return max(1, min(int(keys // groups), -(-total // threads)))


def _tasks(study, backend, threads, have):
    """Yield (point index, point, measure, plan, first, count) for everything ``have`` does not cover."""
    for index, point in enumerate(study.points):
        for measure in study.measures:
            stored = have(point.id, measure)
            gaps = missing_spans(_spans(stored), study.total(measure))
            if not gaps:
                continue
            plan = backend.plan(measure, point)
            size = block_trials(measure, point.layout.groups, backend, sum(b - a for a, b in gaps), threads)
            for first, stop in gaps:
                for at in range(first, stop, size):
                    yield index, point, measure, plan, at, min(size, stop - at)


def run(study, *, have, keep, backend="auto", threads=None, progress=None):
    """Compute what is missing of a study.

    Parameters
    ----------
    study : Study
    have : callable (point id, measure) -> Tally or None; what is there already
    keep : callable (Tally); receives new tallies, in no particular order
    backend : name, or "auto"
    threads : worker threads; None takes the cores this process may use
    progress : callable (Progress), called from this thread

    An interrupt (Ctrl-C) stops handing out blocks, keeps those that were running, and is raised again.
    """
    chosen = backends.choose(backend, study.measures)
    threads = check_threads(threads)
    todo = sum(
        stop - first
        for point in study.points
        for measure in study.measures
        for first, stop in missing_spans(_spans(have(point.id, measure)), study.total(measure))
    )
    total = sum(study.total(measure) for measure in study.measures) * len(study.points)
    started, before = time.monotonic(), total - todo
    done = before

    def work(point, measure, plan, first, count):
        found = chosen.block(measure, plan, point, study.key(point), first, count)
        return Tally(measure, point.id, study.seed, ((first, first + count),), **found)

    running = {}

    def collect(finished):
        nonlocal done
        for future in finished:
            index, count = running.pop(future)
            keep(future.result())
            done += count
            if progress:
                progress(
                    Progress(done, before, total, time.monotonic() - started, index + 1, len(study.points))
                )

    with ThreadPoolExecutor(threads, thread_name_prefix="spare-mc") as pool:
        try:
            for index, point, measure, plan, first, count in _tasks(study, chosen, threads, have):
                future = pool.submit(work, point, measure, plan, first, count)
                running[future] = (index, count)
                if len(running) >= 2 * threads:
                    collect(wait(running, return_when=FIRST_COMPLETED).done)
            collect(wait(running).done)
        except KeyboardInterrupt:
            for future in [f for f in running if f.cancel()]:
                running.pop(future)
            collect(wait(running).done)
            raise
    return chosen.name


def _spans(tally):
    return tally.spans if tally else ()


def check_threads(threads):
    """The number of threads, defaulted to the cores allowed; UserError unless it is a whole number from 1."""
    return cores.allowed() if threads is None else check_whole("threads", threads, 1)


def check_whole(name, value, low, high=None):
    """The value as an int; UserError unless it is a whole number from ``low`` to ``high``."""
    if (
        isinstance(value, bool)
        or not hasattr(value, "__index__")
        or value < low
        or (high is not None and value > high)
    ):
        allowed = f"from {low} to {high}" if high is not None else f"{low} or more"
        raise UserError(f"{name} = {value!r}: must be a whole number, {allowed}")
    return value.__index__()


class Memory:
    """Keeps tallies in memory, for results that go to no file."""

    def __init__(self):
        self.tallies = {}

    def tally(self, point_id, measure):
        return self.tallies.get((point_id, measure))

    def add(self, tally):
        held = self.tallies.setdefault(
            (tally.point, tally.measure), Tally(tally.measure, tally.point, tally.seed)
        )
        held.add(tally)


class Publishing:
    """Keeps tallies in a store writer and publishes the file now and then, at most 5 % of the time spent on it."""

    def __init__(self, writer, first=10.0):
        self._writer = writer
        self._pause = first  # seconds until the next publication
        self._last = time.monotonic()

    def __call__(self, tally):
        self._writer.add(tally)
        before = time.monotonic()
        if before - self._last >= self._pause:
            self._writer.publish()
            self._last = time.monotonic()
            self._pause = max(self._pause, 20 * (self._last - before))


def results(study, have):
    """PointResults of a study from ``have(point id, measure)``."""
    found = []
    for point in study.points:
        tallies = {m: t for m in study.measures if (t := have(point.id, m)) is not None}
        found.append(PointResult(point.id, point.parameters, study.seed, tallies, study.confidence))
        found[-1].__dict__["layout"] = point.layout  # spares rebuilding it, and host tables are in no file
    return found
