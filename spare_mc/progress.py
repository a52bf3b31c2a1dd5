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


def _plain():
    started = last = time.monotonic()

    def show(progress):
        nonlocal last
        now = time.monotonic()
        if now - last < _PLAIN_EVERY:
            return
        last = now
        share = 100.0 * progress.done / progress.total
        print(
            f"spare-mc: {progress.done:,} of {progress.total:,} trials ({share:.1f} %), "
            f"point {progress.point} of {progress.points}, {now - started:.0f} s",
            file=sys.stderr,
            flush=True,
        )

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
            "spare-mc: the first block is under way; kernels are compiled at first use, once on a machine",
            file=sys.stderr,
            flush=True,
        )


@contextmanager
def _live():
    if not sys.stderr.isatty():
        yield _Callback(_plain())
    else:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("point {task.fields[point]}/{task.fields[points]}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.completed:,.0f} trials, {task.fields[rate]:,.0f}/s"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=None, point=1, points=1, rate=0.0)
            before = None

            def show(progress):
                nonlocal before
                before = before or progress
                seconds = progress.elapsed - before.elapsed
                rate = (progress.done - before.done) / seconds if seconds > 0 else 0.0
                bar.update(
                    task,
                    total=progress.total,
                    completed=progress.done,
                    point=progress.point,
                    points=progress.points,
                    rate=rate,
                )

            yield _Callback(show)
