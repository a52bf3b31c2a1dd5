# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lives of the reordering controller compiled at install: the answers of ``reorder`` to the bit."""

import numpy as np

from .controller_state import blank_state, plan
from .reorder_columns import BY_FAILURES, COLUMNS, PHASES, STREAM_COLUMNS, pattern_memory
from .reorder_life import Decision, batches, events
from .stream_layouts import reorder_layout as stream_layout
from .stream_plan import blank_pattern, memory

__all__ = [
    "BY_FAILURES", "COLUMNS", "PHASES", "decisions", "lives", "plan", "stream_layout", "stream_lives",
]

include "ahead_keys.pxi"
include "ahead_arrays.pxi"
include "ahead_controller.pxi"
include "ahead_draws.pxi"
include "ahead_laws.pxi"
include "ahead_streams.pxi"
include "ahead_streams_patterns.pxi"

ctypedef struct pattern:  # the failure order of a trial, and what it is made from
    int64_t groups, slots
    uint32_t* keys
    int32_t* order
    int32_t* starts

cdef enum:  # columns of rows, in the order of reorder_columns
    FAILURES, FIXED, DEEPER, REORDERS, MOVES, DEEPER_PATCH, PATCH, DEEPER_CHANGED, CHANGED, UNCOVERED, DEPTH_SUM, DEPTH
    COLUMN_COUNT
    EVENTS = COLUMN_COUNT  # under a failure stream
    TIME, STREAM_COLUMN_COUNT
cdef enum:  # columns of counts by failures behind those of the phases
    MOVES_BY = 4
    PATCH_BY, CHANGED_BY, BY_COUNT

if COLUMN_COUNT != len(COLUMNS) or STREAM_COLUMN_COUNT != len(STREAM_COLUMNS) or BY_COUNT != len(BY_FAILURES):
    raise ImportError("built from other sources than reorder_columns.py: build it again")


cdef int bind_pattern(pattern* p, memory) except -1:
    """Point ``p`` to the arrays of pattern_memory, which must outlive it."""
    keys, order, starts = memory
    p.groups, p.slots, p.keys = keys.shape[0], starts.shape[0] - 1, <uint32_t*>address(keys, "uint32")
    p.order, p.starts = <int32_t*>address(order, "int32"), <int32_t*>address(starts, "int32")
    return 0


cdef void sort_groups(pattern* p) noexcept nogil:
    """``reorder.failure_order``."""
    cdef int64_t n = p.groups, i, j, slot, g
    cdef int shift = 32
    cdef uint32_t key
    while (<int64_t>1 << (32 - shift)) < p.slots:
        shift -= 1
    memset(p.starts, 0, (p.slots + 1) * sizeof(int32_t))
    for g in range(n):
        p.starts[(<int64_t>p.keys[g] >> shift) + 1] += 1
    for i in range(p.slots):
        p.starts[i + 1] += p.starts[i]
    for g in range(n):
        slot = <int64_t>p.keys[g] >> shift
        p.order[p.starts[slot]] = g
        p.starts[slot] += 1
    for i in range(1, n):
        g = p.order[i]
        key = p.keys[g]
        j = i
        while j > 0 and p.keys[p.order[j - 1]] > key:
            p.order[j] = p.order[j - 1]
            j -= 1
        p.order[j] = g


cdef int64_t wipeout_index(life* s, const int32_t* order, int64_t failed) noexcept nogil:
    """Failure index (from 1) of the wipe-out within a batch: least over dead types of their last host's."""
    cdef int64_t i, j, t, g, last, least = failed
    for i in range(failed):
        s.scratch[order[i]] = i + 1
    for i in range(s.found):
        t = s.uncovered[i]
        last = 0
        for j in range(t * s.redundancy, (t + 1) * s.redundancy):
            g = s.hosts[j]
            last = max(last, <int64_t>s.scratch[g] if s.label[g] == OUT_LABEL else failed + 1)
        least = min(least, last)
    return least


cdef inline void count_decision(life* s, decision made, int64_t* row, int64_t* by, int64_t* moves) noexcept nogil:
    """Enter a decision into its trial's row and the counts ``by`` the groups that are out after it."""
    by[made.phase] += 1
    if made.phase != PHASE_WIPED:
        row[DEPTH_SUM] += s.depth
        row[FIXED + made.phase] += 1
        if made.phase != PHASE_FIXED:
            row[MOVES] += made.moves
            row[MOVES + made.phase] += made.patch
            row[PATCH + made.phase] += made.changed
            row[UNCOVERED] += s.found
            by[MOVES_BY] += made.moves
            by[PATCH_BY] += made.patch
            by[CHANGED_BY] += made.changed
            if made.phase == PHASE_REORDER:
                moves[made.moves] += 1


cdef void live(
    life* s, const int32_t* order, int64_t* row, int64_t* by_failures, int64_t* moves, int64_t batch) noexcept nogil:
    cdef int64_t n = s.groups, k = 0, begin, index
    cdef decision made
    memset(row, 0, COLUMN_COUNT * sizeof(int64_t))
    row[DEPTH_SUM] = 1
    while True:
        begin = k
        k = min(n, k + batch)
        for index in range(begin, k):
            take_out(s, order[index])
        made = decide(s)
        count_decision(s, made, row, by_failures + k * BY_COUNT, moves)
        if made.phase == PHASE_WIPED:
            break
    row[FAILURES] = k - 1
    if k - begin > 1:
        row[FAILURES] = wipeout_index(s, order, k) - 1
    row[DEPTH] = s.depth


cdef void live_all(
    life* s, pattern* p, uint32_t k0, uint32_t k1, uint64_t first, int64_t* rows, Py_ssize_t count,
    int64_t* by_failures, int64_t* moves, int64_t batch) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        draw_full(p.keys, p.groups, k0, k1, first + <uint64_t>i)
        sort_groups(p)
        reset(s)
        live(s, p.order, rows + i * COLUMN_COUNT, by_failures, moves, batch)


def lives(plan, seed, first, int64_t[:, ::1] rows not None, by_failures=None, moves=None, int64_t batch=1):
    """Whole lives of trials first, first + 1, ...: ``reorder.lives``, its arguments and its numbers; drops the GIL."""
    cdef int64_t n = plan.stacks.shape[0]
    cdef int64_t[:, ::1] by = np.zeros((n + 1, BY_COUNT), np.int64) if by_failures is None else by_failures
    cdef int64_t[::1] histogram = np.zeros(n + 1, np.int64) if moves is None else moves
    if rows.shape[1] != COLUMN_COUNT or by.shape[0] != n + 1 or by.shape[1] != BY_COUNT or histogram.shape[0] != n + 1:
        raise ValueError("rows, by_failures or moves: wrong shape")
    if batch < 1:
        raise ValueError(f"batch = {batch}: must be 1 or more")
    cdef uint32_t k0 = seed & 0xFFFFFFFF, k1 = (seed >> 32) & 0xFFFFFFFF
    cdef uint64_t trial = first
    cdef Py_ssize_t count = rows.shape[0]
    cdef pattern p
    cdef life16 small
    cdef life32 large
    state, memory = blank_state(plan), pattern_memory(n)
    bind_pattern(&p, memory)
    if count == 0:
        return
    if plan.stacks.dtype == np.uint16:
        bind(&small, plan, state)
        with nogil:
            live_all(&small, &p, k0, k1, trial, &rows[0, 0], count, &by[0, 0], &histogram[0], batch)
    else:
        bind(&large, plan, state)
        with nogil:
            live_all(&large, &p, k0, k1, trial, &rows[0, 0], count, &by[0, 0], &histogram[0], batch)


cdef told(life* s, groups):
    cdef int64_t g
    cdef decision made
    for g in groups:
        take_out(s, g)
    made = decide(s)
    return Decision(made.phase, made.moves, made.patch, made.changed, s.before, s.depth, s.found)


cdef class Controller:
    """A controller that Python tells of failures; its stacks and labels are those of ``state``."""

    cdef object plan, state
    cdef life16 small
    cdef life32 large
    cdef bint is_small

    def __init__(self, plan, state):
        self.plan, self.state = plan, state
        self.is_small = plan.stacks.dtype == np.uint16
        if self.is_small:
            bind(&self.small, plan, state)
            reset(&self.small)
        else:
            bind(&self.large, plan, state)
            reset(&self.large)

    def decided(self, groups):
        """Take the groups out and decide: a ``reorder_life.Decision``."""
        return told(&self.small, groups) if self.is_small else told(&self.large, groups)


def decisions(plan, seed, trial, batch=1, pattern=None):
    """One life, decision by decision: ``reorder.decisions``, its arguments and its events."""
    order, ends, times = drawn_order(plan, seed, trial, batch) if pattern is None else pattern
    state = blank_state(plan)
    return events(plan, state, order, Controller(plan, state).decided, ends, times)


def drawn_order(plan, seed, trial, batch):
    """Groups by the trial's keys, the ends of its batches, no times."""
    cdef pattern p
    memory = pattern_memory(plan.stacks.shape[0])
    bind_pattern(&p, memory)
    draw_full(p.keys, p.groups, seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF, trial)
    sort_groups(&p)
    return memory[1], batches(len(memory[1]), batch), None


cdef void stream_live(
    life* s, const stream_pattern* p, int64_t* row, int64_t* by_failures, int64_t* moves) noexcept nogil:
    """One life under a failure stream: a decision after every event that loses a group."""
    cdef int64_t lost = 0, i, j
    cdef decision made
    memset(row, 0, STREAM_COLUMN_COUNT * sizeof(int64_t))
    row[DEPTH_SUM], row[TIME] = 1, -1
    for i in range(p.events):
        for j in range(lost, p.ends[i]):
            take_out(s, p.order[j])
        made = decide(s)
        count_decision(s, made, row, by_failures + p.ends[i] * BY_COUNT, moves)
        if made.phase == PHASE_WIPED:
            row[TIME] = p.times[i]
            break
        lost = p.ends[i]
        row[EVENTS] += 1
    row[FAILURES], row[DEPTH] = lost, s.depth


cdef void stream_live_all(
    stream* drawn, stream_pattern* p, life* s, uint64_t first, int64_t* rows, Py_ssize_t count, int64_t* by_failures,
    int64_t* moves) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        enter_trial(drawn, first + <uint64_t>i)
        follow(drawn, p)
        reset(s)
        stream_live(s, p, rows + i * STREAM_COLUMN_COUNT, by_failures, moves)


def stream_lives(
    stream_plan, layout, seed, uint64_t first, int64_t[:, ::1] rows not None, int64_t[:, ::1] by_failures not None,
    int64_t[::1] moves not None):
    """Lives of trials first, first + 1, ...: ``stream_reorder.stream_lives``; drops the GIL."""
    plan = layout.controller
    cdef int64_t n = plan.stacks.shape[0]
    cdef Py_ssize_t count = rows.shape[0]
    cdef stream s
    cdef stream_pattern p
    cdef life16 small
    cdef life32 large
    if (rows.shape[1] != STREAM_COLUMN_COUNT or by_failures.shape[0] != n + 1 or by_failures.shape[1] != BY_COUNT
            or moves.shape[0] != n + 1):
        raise ValueError("rows, by_failures or moves: wrong shape")
    if count == 0:
        return
    state, drawn, held = blank_state(plan), memory(stream_plan), blank_pattern(n)
    bind_stream(&s, stream_plan, drawn, seed, first)
    bind_stream_pattern(&p, layout.hosting, held)
    if plan.stacks.dtype == np.uint16:
        bind(&small, plan, state)
        with nogil:
            stream_live_all(&s, &p, &small, first, &rows[0, 0], count, &by_failures[0, 0], &moves[0])
    else:
        bind(&large, plan, state)
        with nogil:
            stream_live_all(&s, &p, &large, first, &rows[0, 0], count, &by_failures[0, 0], &moves[0])
