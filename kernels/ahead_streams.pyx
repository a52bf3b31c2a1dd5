# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Failure streams compiled at install: the hits of ``streams`` to the bit on the same machine.

Same steps in the same order, same C library functions (exp, expm1, log, pow), no fused multiply-adds; a drawn
interval is rounded to whole microseconds at once.
"""

from .stream_layouts import survival_layout as stream_layout
from .stream_plan import SURVIVAL_COLUMNS, blank_pattern, memory, plan

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

__all__ = ["hits", "memory", "pattern", "plan", "stream_layout", "stream_lives"]

include "ahead_arrays.pxi"
include "ahead_draws.pxi"
include "ahead_laws.pxi"
include "ahead_streams.pxi"
include "ahead_streams_patterns.pxi"


def hits(plan, seed, trial, int64_t horizon, int64_t[::1] times not None, int32_t[::1] groups not None, memory):
    """Every hit of a trial up to ``horizon`` [us]: ``streams.hits``, its arguments and its numbers; drops the GIL."""
    cdef stream s
    cdef Py_ssize_t room = min(times.shape[0], groups.shape[0])
    cdef int64_t count = 0, i
    cdef event e
    bind_stream(&s, plan, memory, seed, trial)
    with nogil:
        begin(&s, horizon, True)
        while s.reg[S_HEAP] > 0:
            e = next_event(&s)
            for i in range(s.starts[e.entity], s.starts[e.entity + 1]):
                if count < room:
                    times[count] = e.time
                    groups[count] = s.members[i]
                count += 1
        finish(&s)
    return count


def pattern(plan, hosting, seed, trial):
    """How the groups of one trial fail: ``stream_patterns.pattern``, its arguments and its numbers."""
    cdef stream s
    cdef stream_pattern p
    drawn, held = memory(plan), blank_pattern(len(hosting.types))
    bind_stream(&s, plan, drawn, seed, trial)
    bind_stream_pattern(&p, hosting, held)
    with nogil:
        follow(&s, &p)
    lost = held.ends[p.events - 1] if p.events else 0
    return held.order[:lost].copy(), held.ends[: p.events].copy(), held.times[: p.events].copy(), bool(p.wiped)


def stream_lives(stream_plan, layout, seed, uint64_t first, int64_t[:, ::1] rows not None):
    """Lives of trials first, first + 1, ...: ``stream_survival.stream_lives``; drops the GIL."""
    cdef stream s
    cdef stream_pattern p
    cdef Py_ssize_t i
    if rows.shape[1] != len(SURVIVAL_COLUMNS):
        raise ValueError(f"rows: {rows.shape[1]} columns, of {len(SURVIVAL_COLUMNS)}")
    drawn, held = memory(stream_plan), blank_pattern(len(layout.types))
    bind_stream(&s, stream_plan, drawn, seed, first)
    bind_stream_pattern(&p, layout, held)
    with nogil:
        for i in range(rows.shape[0]):
            enter_trial(&s, first + <uint64_t>i)
            follow(&s, &p)
            enter_life(&p, &rows[i, 0])
