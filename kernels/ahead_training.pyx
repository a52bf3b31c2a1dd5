# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Training runs compiled at install: the rows of ``training`` to the bit on the same machine.

Same steps in the same order, same C library functions (exp, expm1, log, pow), no fused multiply-adds; a drawn
duration is rounded to whole microseconds at once, and all else is integers.
"""

import functools

import numpy as np

from . import ahead_levels, stream_plan, training_state
from .controller_state import blank_state
from .training_plan import Plan, plan, weibull_intervals
from .training_settings import COLUMNS, EVENTS, PARTS, Settings, columns
from .training_streams import run_on_hits

from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

__all__ = [
    "COLUMNS", "EVENTS", "PARTS", "Plan", "Settings", "columns", "plan", "run", "timeline", "weibull_intervals",
]

include "ahead_arrays.pxi"
include "ahead_controller.pxi"
include "ahead_run.pxi"
include "ahead_draws.pxi"
include "ahead_jitter.pxi"
include "ahead_laws.pxi"
include "ahead_clocks.pxi"
include "ahead_ledger.pxi"
include "ahead_restarts.pxi"
include "ahead_returns.pxi"
include "ahead_spare.pxi"
include "ahead_replication.pxi"

_PLACES = {
    "NOW": NOW, "NOTED": NOTED, "RUN_1": RUN_1, "SCHEME": SCHEME, "SHIFT": SHIFT, "DEPTH_STEPS": DEPTH_STEPS,
    "BLOCK": BLOCK,
}
if NAMED != len(COLUMNS) or any(getattr(training_state, name) != place for name, place in _PLACES.items()):
    # it would write past the ends of the arrays
    raise ImportError("built from other sources than training_state.py: build it again")


def run(plan, seed, first, int64_t[:, ::1] rows not None):
    """Runs first, first + 1, ...: ``training.run``, its arguments and its numbers; drops the GIL."""
    run_all(plan, seed, first, rows, 0)


def timeline(plan, seed, number, limit=100_000):
    """One run and what happened in it: ``training.timeline``, its arguments and its numbers."""
    row = np.empty((1, len(COLUMNS) + plan.settings.redundancy), np.int64)
    reg = run_all(plan, seed, number, row, limit)
    begin = DEPTH_STEPS + plan.settings.redundancy
    return row[0], reg[begin : begin + 4 * reg[NOTED]].reshape(-1, 4)


cdef run_all(plan, seed, int64_t first, int64_t[:, ::1] rows, limit):
    if rows.shape[1] != NAMED + plan.settings.redundancy:
        raise ValueError(f"rows: {rows.shape[1]} columns, of {NAMED + plan.settings.redundancy}")
    if plan.settings.clocks == STREAM:
        memory = stream_plan.memory(plan.stream)
        streams = ahead_levels.load("ahead_streams")

        def hits(run, horizon, times, groups):
            return streams.hits(plan.stream, seed, run, horizon, times, groups, memory)

        def run_one(state, run, row):
            run_rows(plan, seed, state, run, row)

        return run_on_hits(plan, first, np.asarray(rows), limit, slowest_table(), hits, run_one)
    state = training_state.make_state(plan.settings, plan.scale, slowest_table(), plan.table, limit)
    run_rows(plan, seed, state, first, rows)
    return state[0]


cdef run_rows(plan, seed, state, int64_t first, int64_t[:, ::1] rows):
    cdef int64_t r = plan.settings.redundancy, blocks = -(-plan.settings.groups // r)
    cdef int64_t scheme = plan.settings.scheme
    cdef Py_ssize_t count = rows.shape[0]
    cdef int64_t[::1] work = np.zeros(max(blocks, r + 1), np.int64)
    cdef run_memory s
    cdef life16 small
    cdef life32 large
    bind_run(&s, state, plan)
    s.reg[KEY_0], s.reg[KEY_1] = seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF
    if count == 0:
        return
    if scheme == REPLICATION:
        with nogil:
            run_replication(&s, &work[0], blocks, first, &rows[0, 0], count)
        return
    stacks = blank_state(plan.stacks)
    if plan.stacks.stacks.dtype == np.uint16:
        bind(&small, plan.stacks, stacks)
        with nogil:
            run_spare(&s, &small, &work[0], first, &rows[0, 0], count)
    else:
        bind(&large, plan.stacks, stacks)
        with nogil:
            run_spare(&s, &large, &work[0], first, &rows[0, 0], count)
