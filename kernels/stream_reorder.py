"""Lives of the reordering controller under a failure stream: it decides once after every event that loses a group."""

import numpy as np

from .controller import DEPTH, WIPED, decide, fail, plain_state, reset
from .controller_jit import device
from .philox import split64
from .reorder import count_decision
from .reorder_columns import BY_FAILURES, EVENTS, TIME
from .reorder_columns import STREAM_COLUMNS as COLUMNS
from .stream_layouts import reorder_layout as stream_layout
from .stream_patterns import enter_trial, follow
from .stream_plan import blank_pattern, memory

__all__ = ["BY_FAILURES", "COLUMNS", "stream_lives", "stream_layout"]


def stream_lives(stream, layout, seed, first, rows, by_failures, moves):
    """Lives of trials first, first + 1, ... under a stream; drops the GIL.

    stream: of ``streams.plan``; layout: of ``stream_layout``; the rest as for ``reorder.lives``, with rows of COLUMNS.
    Row k of by_failures: decisions after which k groups were out.
    """
    k0, k1 = split64(seed)
    state, held = plain_state(layout.controller), blank_pattern(len(layout.hosting.types))
    _lives(stream, memory(stream), layout.hosting, held, layout.controller, state, np.uint64(k0), np.uint64(k1),
           np.uint64(first), rows, by_failures, moves)  # fmt: skip


@device
def _lives(stream, memory, hosting, held, plan, state, k0, k1, first, rows, by_failures, moves):
    for i in range(rows.shape[0]):
        enter_trial(memory, k0, k1, first + np.uint64(i))
        events, _ = follow(stream, memory, hosting, held)
        reset(plan, state)
        _live(plan, state, held, events, rows, i, by_failures, moves)


@device
def _live(plan, state, held, events, rows, i, by_failures, moves):
    for column in range(rows.shape[1]):
        rows[i, column] = 0
    rows[i, 10] = 1
    lost = np.int64(0)
    rows[i, TIME] = -1
    for event in range(events):
        end = np.int64(held.ends[event])
        for index in range(lost, end):
            fail(plan, state, held.order[index])
        phase, promoted, patch, changed = decide(plan, state)
        count_decision(state.reg, rows, i, by_failures, moves, end, phase, promoted, patch, changed)
        if phase == WIPED:
            rows[i, TIME] = held.times[event]
            break
        lost = end
        rows[i, EVENTS] += 1
    rows[i, 0] = lost
    rows[i, 11] = state.reg[DEPTH]
