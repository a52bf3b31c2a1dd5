"""Progress of long work: a live line on a terminal, a plain line about every minute in a log."""

import sys
import threading
import time
from contextlib import contextmanager

_PLAIN_EVERY = 60.0  # seconds between lines in a log


class _Callback:
    """Remembers the last Progress; ``show`` prints it."""

    def __init__(self, show=None):
        self.last = None
        self._show = show

    def __call__(self, progress):
        self.last = progress
        if self._show:
            self._show(progress)


class _Rate:
    """Trials a second since the first block came back: compiling, and waiting for workers, is before that."""

    def __init__(self):
        self._first = None

    def __call__(self, progress):
        """Trials a second, or None while nothing can be said."""
        if self._first is None:
            self._first = progress
        seconds = progress.elapsed - self._first.elapsed
        return (progress.done - self._first.done) / seconds if seconds > 0 else None


def seconds_left(progress, rate):
    """Seconds until the end as it looks now; None while it cannot be said, or the intervals decide."""
    if progress.time_limit is not None:
        return max(0.0, progress.time_limit - progress.elapsed)
    if progress.open_ended or not rate:
        return None
    return (progress.total - progress.done) / rate


def told(progress, rate):
    """The figures of a run as pairs of label and text."""
    left = seconds_left(progress, rate)
    figures = [
        ("points done", f"{progress.points_done:,} of {progress.points:,}"),
        (
            "trials",
            f"{progress.done:,} of {progress.total:,}"
            + (" until the next looks" if progress.open_ended else ""),
        ),
        ("a second", "-" if rate is None else f"{rate:,.0f}"),
        ("widest interval", _widest(progress)),
        ("elapsed", duration(progress.elapsed)),
        ("left", "the intervals decide" if progress.open_ended and left is None else duration(left)),
    ]
    return figures


def _widest(progress):
    if progress.widest is None:
        return "-"
    width, name, point = progress.widest
    p = point.parameters
    size = "too few for one" if width == float("inf") else f"+/- {100 * width:.2g} %"
    return f"{size} ({name}, {p['layout.kind']} N = {p['cluster.groups']}, r = {p['layout.redundancy']})"


def duration(seconds):
    """A time as people say it; a dash for None."""
    if seconds is None:
        return "-"
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds % 60:02d} s"


def _plain():
    last, rate = time.monotonic(), _Rate()

    def show(progress):
        nonlocal last
        now, speed = time.monotonic(), rate(progress)
        if now - last < _PLAIN_EVERY:
            return
        last = now
        figures = dict(told(progress, speed))
        trials, speed = figures.pop("trials"), figures.pop("a second")
        line = ", ".join(f"{label} {text}" for label, text in figures.items())
        print(f"spare-mc: {trials} trials, {speed} a second, {line}", file=sys.stderr, flush=True)

    return show


_PATIENCE = 3.0  # seconds without a first block, after which the wait is explained


@contextmanager
def reporter(quiet=False, compiles=True):
    """A progress callback for ``engine.run``; writes to standard error.

    ``compiles``: whether the backend compiles at first use, so that a long wait for the first block is explained.
    """
    if quiet:
        yield _Callback()
        return
    with _live() as callback:
        if not compiles:
            yield callback
            return
        timer = threading.Timer(_PATIENCE, _explain, (callback,))
        timer.daemon = True
        timer.start()
        try:
            yield callback
        finally:
            timer.cancel()


def _explain(callback):
    if callback.last is None:
        print(
            "spare-mc: the first block is under way; kernels are compiled at first use",
            file=sys.stderr,
            flush=True,
        )


@contextmanager
def _live():
    if not sys.stderr.isatty():
        yield _Callback(_plain())
        return
    from rich.console import Console
    from rich.live import Live

    rate = _Rate()
    with Live(console=Console(stderr=True), transient=True, refresh_per_second=4) as live:
        yield _Callback(lambda progress: live.update(_table(progress, rate(progress))))


def _table(progress, rate):
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for label, text in told(progress, rate):
        table.add_row(label, text)
    if progress.time_limit is not None:
        total, done = progress.time_limit, min(progress.elapsed, progress.time_limit)
    elif progress.open_ended:
        total, done = progress.points, progress.points_done
    else:
        total, done = progress.total, progress.done
    table.add_row("", ProgressBar(total=max(total, 1e-9), completed=done, width=50))
    return table
