"""Sixteen trials at a time, and once more by exact places those that half a key left undecided."""

import numpy as np

from .apart import apart
from .jit import njit
from .stacks_lanes import LANES, draw_ages, rank_ages

_EXACT, _NEXT, _WAITING = 0, 1, 2  # of Progress


@njit
def new_progress(count):
    """Where a run over ``count`` trials stands, and the trials to be done once more: (int64[3], int64[count])."""
    return np.zeros(3, np.int64), np.empty(count, np.int64)


@njit
def load_batch(progress, again, ages, groups, k0, k1, first, sorting, scratch):
    """Fill ``ages`` for the next trials; returns how many there are, 0 at the end.

    ``first``: uint64, number of the run's first trial. Scratch: ``sorting`` int64[2, N], ``scratch`` uint64[32].
    """
    apart()
    if progress[_EXACT] == 0 and progress[_NEXT] >= again.shape[0]:
        progress[_EXACT] = 1
        progress[_NEXT] = 0
    start = progress[_NEXT]
    if progress[_EXACT] == 0:
        draw_ages(ages, groups, k0, k1, first + np.uint64(start), scratch)
        return min(LANES, again.shape[0] - start)
    count = max(min(LANES, progress[_WAITING] - start), 0)
    for lane in range(count):
        rank_ages(ages, groups, lane, sorting, k0, k1, first + np.uint64(again[start + lane]))
    return count


@njit
def keep_rows(progress, again, rows, count, undecided, first, out):
    """Copy the ``rows`` (int32[16, r]) of a batch to ``out``; note the ``undecided`` lanes (bit mask) for later."""
    start = progress[_NEXT]
    exact = progress[_EXACT] == 1
    low = np.int64((first + np.uint64(start)) & np.uint64(0xFFFFFFFF))
    for lane in range(count):
        # draw_ages does not carry into the high half of the trial number
        if not exact and ((undecided >> lane) & 1 or low + lane > 0xFFFFFFFF):
            again[progress[_WAITING]] = start + lane
            progress[_WAITING] += 1
            continue
        row = again[start + lane] if exact else start + lane
        for place in range(rows.shape[1]):
            out[row, place] = rows[lane, place]
    progress[_NEXT] += LANES
