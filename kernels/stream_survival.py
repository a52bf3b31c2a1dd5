"""Endurable failures under a failure stream."""

import numpy as np

from .philox import split64
from .stream_layouts import survival_layout as stream_layout
from .stream_patterns import enter_life, enter_trial, follow
from .stream_plan import SURVIVAL_COLUMNS as COLUMNS
from .stream_plan import blank_pattern, memory
from .training_jit import entry

__all__ = ["COLUMNS", "stream_layout", "stream_lives"]


def stream_lives(stream, layout, seed, first, rows):
    """Lives of trials first, first + 1, ... under a stream; drops the GIL.

    stream: of ``streams.plan``; layout: of ``stream_layout``; seed, trials: below 2**64. Written: rows,
    int64[count, len(COLUMNS)].
    """
    k0, k1 = split64(seed)
    held = blank_pattern(len(layout.types))
    _lives(stream, memory(stream), layout, held, np.uint64(k0), np.uint64(k1), np.uint64(first), rows)


@entry
def _lives(stream, memory, hosting, held, k0, k1, first, rows):
    for i in range(rows.shape[0]):
        enter_trial(memory, k0, k1, first + np.uint64(i))
        events, wiped = follow(stream, memory, hosting, held)
        enter_life(held, events, wiped, rows[i])
