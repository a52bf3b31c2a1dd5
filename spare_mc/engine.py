"""Splits points into blocks, hands them to an executor, merges what comes back.

Blocks are spans of trial numbers. Their tallies are integers that add up exactly, so neither the executor nor the
number of its workers nor the size or order of the blocks shows in the result.
"""

import time
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from . import backends, cores
from .errors import UserError, WorkerError
from .results import PointResult
from .schedule import Schedule
from .tallies import Tally
from .work import run_pieces

# Keys a job draws: some tens of milliseconds of kernel, short enough for Ctrl-C, long enough to hide the hand-over.
_KEYS_PER_BLOCK = 2**25
_REMOTE = 8  # times as many for workers that are not threads: handing over costs more there
# Jobs handed out a worker: they last through the storing of a large file, and through a scheduler's round trips. Under
# a time limit few, since what is handed out is waited for.
_QUEUED, _QUEUED_IN_TIME = 16, 2


@dataclass
class Progress:
    """Where a run stands; handed to the progress callback after every block.

    ``done`` of ``total`` trials (with a target: of those until the next looks); ``before`` were there already.
    ``widest``: the widest interval so far, as ``(relative half-width, estimate, Point)``, or None.
    """

    done: int
    before: int
    total: int
    elapsed: float
    points: int
    points_done: int = 0
    open_ended: bool = False
    time_limit: float | None = None
    widest: tuple | None = None


@dataclass
class Outcome:
    """What a run came to.

    Attributes
    ----------
    backend : name of the backend that ran
    stopped : point id -> dict measure -> why no more was counted (``spare_mc.stopping``)
    kernel_seconds : time spent in blocks, summed over the workers
    """

    backend: str
    stopped: dict = field(default_factory=dict)
    kernel_seconds: float = 0.0


def run(
    study,
    *,
    have,
    keep,
    backend="auto",
    threads=None,
    progress=None,
    executor=None,
    workers=None,
    share=None,
):
    """Compute what is missing of a study.

    Parameters
    ----------
    study : Study
    have : callable (point id, measure) -> Tally or None; what is there already
    keep : callable (Tally); receives new tallies, in no particular order, all from this thread
    backend : name, or "auto"
    threads : worker threads; None takes the cores this process may use
    progress : callable (Progress), called from this thread
    executor : a ``concurrent.futures.Executor`` to work in the place of threads of this process; the caller's to close
    workers : how many workers it has; None asks it
    share : ``(i, n)``: only the i-th of n shares, i from 1; shares are spans of trials, or points where a target or a
        time limit makes their number unknown

    Returns an Outcome. An interrupt (Ctrl-C), or a worker that dies, stops handing out blocks, keeps those that were
    running, and is raised again, a dead worker as WorkerError.
    """
    # only of this machine is it known whether it has a GPU
    chosen = backends.choose(backend, study.measures, study if executor is None else None, study.points)
    if executor is None:
        workers = chosen.workers(check_threads(threads))
        with ThreadPoolExecutor(workers, thread_name_prefix="spare-mc") as pool:
            return _Run(study, have, keep, chosen, pool, workers, 1, progress, share).outcome()
    workers = workers or _workers_of(executor)
    return _Run(study, have, keep, chosen, executor, workers, _REMOTE, progress, share).outcome()


class _Run:
    """One run of the engine."""

    def __init__(self, study, have, keep, backend, executor, workers, size, progress, share):
        self.study, self.keep, self.progress = study, keep, progress
        self.backend, self.executor, self.workers = backend, executor, workers
        self.schedule = Schedule(
            study, have, size * _KEYS_PER_BLOCK / backend.cost, workers, share, watch=progress is not None
        )
        self.running = {}  # future -> pieces
        self.kernel_seconds = 0.0
        self.started = time.monotonic()
        self.deadline = self.started + study.time_limit if study.time_limit else None
        self.queued = _QUEUED_IN_TIME if self.deadline else _QUEUED

    def outcome(self):
        try:
            while True:
                while len(self.running) < self.queued * self.workers and not self._late():
                    pieces = self.schedule.next_job()
                    if not pieces:
                        break
                    self.running[self.executor.submit(run_pieces, self.backend.name, pieces)] = pieces
                if not self.running:
                    break
                self._collect(wait(self.running, self._time_left(), return_when=FIRST_COMPLETED).done)
        except BaseException:  # Ctrl-C, a dead worker, a full disk: what is running is worth keeping
            self._wind_up()
            raise
        return Outcome(self.backend.name, self.schedule.stopped(), self.kernel_seconds)

    def _late(self):
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _time_left(self):
        """Until the deadline; None without one, and after it, when only what is running is waited for."""
        return None if self.deadline is None or self._late() else self.deadline - time.monotonic()

    def _collect(self, finished):
        for future in finished:
            pieces = self.running.pop(future)
            try:
                found = future.result()
            except Exception as error:
                if not _is_death(error):
                    raise
                raise WorkerError(
                    f"a worker died ({' '.join(str(error).split()) or type(error).__name__}); what was done is kept, "
                    "the same command goes on from there"
                ) from error
            for tally, seconds in found:
                self.keep(tally)
                self.kernel_seconds += seconds
            self.schedule.finished(pieces)
            if self.progress:
                self.progress(self._progress())

    def _progress(self):
        schedule = self.schedule
        return Progress(
            done=schedule.done,
            before=schedule.before,
            total=schedule.total,
            elapsed=time.monotonic() - self.started,
            points=len(self.study.points),
            points_done=schedule.points_done,
            open_ended=schedule.open_ended,
            time_limit=self.study.time_limit,
            widest=schedule.widest,
        )

    def _wind_up(self):
        """Keep what running workers still bring; errors are those already told."""
        for future in [f for f in self.running if f.cancel()]:
            self.running.pop(future)
        for future in wait(self.running, timeout=60).done:
            if future.cancelled() or future.exception() is not None:
                continue
            try:
                for tally, _ in future.result():
                    self.keep(tally)
            except Exception:  # a full disk, most likely: the first error is the one to tell
                return


def _is_death(error):
    """Whether an error of a future tells of its worker, not of its work."""
    # Dask's own error is told by name: naming its class would import Dask.
    return (
        isinstance(error, (BrokenExecutor, CancelledError, ConnectionError))
        or type(error).__name__ == "KilledWorker"
    )


def _workers_of(executor):
    """The number of workers of an executor, which no two kinds call the same."""
    for name in ("_max_workers", "num_workers"):
        found = getattr(executor, name, None)
        if isinstance(found, int) and found > 0:
            return found
    return cores.allowed()


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


class Storing:
    """Keeps tallies in a store writer: to its journal about every second, to the file itself now and then.

    Each takes at most a fortieth of the time, so that storing costs at most 5 %, however large the file.
    """

    _LEAST = {"flush": 1.0, "publish": 10.0}  # seconds between two

    def __init__(self, writer):
        self._writer = writer
        self._due = {name: time.monotonic() + pause for name, pause in self._LEAST.items()}

    def __call__(self, tally):
        self._writer.add(tally)
        started = time.monotonic()
        if started >= self._due["publish"]:
            self._writer.publish()
            published = True
        elif started >= self._due["flush"]:
            published = self._writer.flush()  # the first one of a file makes it
        else:
            return
        now = time.monotonic()
        name = "publish" if published else "flush"
        self._due[name] = now + max(self._LEAST[name], 40 * (now - started))
        if published:  # nothing is left to flush
            self._due["flush"] = now + self._LEAST["flush"]


def results(study, have):
    """PointResults of a study from ``have(point id, measure)``."""
    found = []
    for point in study.points:
        tallies = {m: t for m in study.measures if (t := have(point.id, m)) is not None}
        found.append(PointResult(point.id, point.parameters, study.seed, tallies, study.confidence))
        # spares rebuilding the layout; host tables, placements and logs are in no file
        found[-1].__dict__["layout"], found[-1].inputs = point.layout, point.inputs
    return found
