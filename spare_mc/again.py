"""Trials of stored points drawn once more, one by one.

A file keeps of failure patterns only how often each outcome occurred. But a block of trials is a pure function of its
numbers: what trial i gave can be computed again, and is checked against what the file counted.
"""

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from . import backends
from .engine import check_threads
from .errors import UserError
from .tallies import merge_spans

_KEYS = {
    "survival": 2**24,
    "stacks": 2**19,
    "reordering": 2**17,
}  # drawn by a block: some tens of milliseconds
_HELD = 16  # points whose trials are kept: a base is compared with many


def common_spans(first, second, most=None):
    """The trials that two tallies share: sorted half-open spans, the first ``most`` trials of them."""
    shared = []
    for a, b in merge_spans(first.spans):
        for c, d in merge_spans(second.spans):
            if max(a, c) < min(b, d):
                shared.append((max(a, c), min(b, d)))
    return _first(merge_spans(shared), most)


def _first(spans, most):
    if most is None:
        return spans
    found = []
    for first, stop in spans:
        stop = min(stop, first + most)
        most -= stop - first
        if first < stop:
            found.append((first, stop))
    return tuple(found)


class Again:
    """Draws trials again, on several threads, and keeps those of the last few points.

    Parameters
    ----------
    backend : name, or "auto"
    threads : worker threads; None takes the cores this process may use
    """

    def __init__(self, backend="auto", threads=None):
        self._backend, self._threads = backend, check_threads(threads)
        self._held = OrderedDict()

    def lives(self, point, measure, spans, counted):
        """What each trial of a point adds to the sums over trials.

        Parameters
        ----------
        point : PointResult of a file whose points share their random numbers
        measure : survival, stacks or reordering
        spans : half-open spans of trials that it counted
        counted : int64[N+1], its histogram of endurable failures over these trials, and possibly others

        Returns
        -------
        dict name -> int64[n] in the order of the spans; ``failures`` is K of a trial.

        Raises UserError where the trials are not those that the point counted, or its layout is in no file.
        """
        key = (point.id, point.seed, measure, spans)
        if key not in self._held:
            self._held[key] = self._drawn(point, measure, spans, counted)
            while len(self._held) > _HELD:
                self._held.popitem(last=False)
        self._held.move_to_end(key)
        return self._held[key]

    def _drawn(self, point, measure, spans, counted):
        backend = backends.choose(self._backend, (measure,), points=(point,))
        plan = backend.plan(measure, point)
        size = max(1, int(_KEYS[measure] / backend.cost) // point.layout.groups)
        blocks = [(at, min(size, stop - at)) for first, stop in spans for at in range(first, stop, size)]
        with ThreadPoolExecutor(self._threads, thread_name_prefix="spare-mc") as pool:
            parts = list(pool.map(lambda b: backend.lives(measure, plan, point, point.seed, *b), blocks))
        found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        _check(point, found["failures"], counted)
        return found


def _check(point, failures, counted):
    """Refuse trials that the point cannot have counted: more with some K than there are in its histogram."""
    if (np.bincount(failures, minlength=len(counted)) > counted).any():
        raise UserError(
            f"point {point.id[:12]}: its trials, drawn again, are not those counted in the file; it was written with "
            "other random numbers or kernels, and cannot be paired"
        )
