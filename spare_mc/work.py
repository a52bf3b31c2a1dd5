"""What a worker does: blocks of trials -> tallies. The same function in a thread, a process, on another machine.

A worker is told everything and keeps nothing but prepared kernels' plans; it opens no file.
"""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from . import backends
from .backend import on_stream
from .study import Point
from .tallies import Tally

_MOST_CELLS = 2**25  # cells (N r) of the layouts whose plans are held: 256 MB with their tables at worst
_MOST_PLANS = 64


_loading = threading.Lock()


@dataclass(frozen=True)
class Piece:
    """A block: trials first .. first + count - 1 of one measure of a point, drawn with ``key``."""

    point: Point
    measure: str
    seed: int
    key: int
    first: int
    count: int


def run_pieces(backend, pieces):
    """Run blocks one after the other.

    Parameters
    ----------
    backend : name of a backend
    pieces : list of Piece

    Returns
    -------
    list of ``(Tally, seconds)``, one a piece, in order; seconds are those spent in the block itself.
    """
    wanted = {piece.measure for piece in pieces}
    with _loading:
        chosen = backends.choose(backend, wanted)
        for measure in wanted:
            mine = (piece.point.parameters for piece in pieces if piece.measure == measure)
            chosen.load(measure, any(on_stream(measure, parameters) for parameters in mine))
    found = []
    for piece in pieces:
        plan = _plans.get(chosen, piece.measure, piece.point)
        started = time.perf_counter()
        fields = chosen.block(piece.measure, plan, piece.point, piece.key, piece.first, piece.count)
        seconds = time.perf_counter() - started
        span = (piece.first, piece.first + piece.count)
        found.append((Tally(piece.measure, piece.point.id, piece.seed, (span,), **fields), seconds))
    return found


class _Plans:
    """Plans of the points last worked on: a block of a point usually follows another one of it."""

    def __init__(self):
        self._held = OrderedDict()
        self._cells = 0
        self._lock = threading.Lock()

    def get(self, backend, measure, point):
        key = (backend.name, measure, point.id)
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key][0]
        plan = backend.plan(measure, point)  # two threads may both prepare it; they get the same
        cells = point.layout.groups * point.layout.redundancy
        with self._lock:
            if key not in self._held:
                self._held[key] = (plan, cells)
                self._cells += cells
                while len(self._held) > 1 and (self._cells > _MOST_CELLS or len(self._held) > _MOST_PLANS):
                    self._cells -= self._held.popitem(last=False)[1][1]
        return plan


_plans = _Plans()
