# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Least stacks compiled at install: no just-in-time start-up, the answers of ``stacks`` to the bit.

The methods are those of ``stacks`` and the modules it uses, and docs/stacks.md.
"""

import numpy as np

from .stacks_plan import plan
from .stream_layouts import stack_layout as stream_layout
from .stream_plan import STACK_COLUMNS, blank_pattern, memory

include "ahead_keys.pxi"
include "ahead_arrays.pxi"

__all__ = ["capacity", "capacity_of_keys", "plan", "stream_layout", "stream_lives"]

# which method finds the least depth, as in stacks_plan
cdef enum:
    TABLE, RING, ARCS, BLOCKS


cdef struct Shape:
    # A layout that fits into lanes
    const uint16_t* hosts  # [N, r], padded with N
    const uint16_t* stacks
    Py_ssize_t groups, redundancy
    bint ring


include "ahead_stacks_lanes.pxi"
include "ahead_stacks_paths.pxi"
include "ahead_stacks_single.pxi"


# ---- sixteen trials at a time, and once more by exact places those that half a key left undecided ----------------


cdef struct Batches:
    bint exact
    Py_ssize_t next  # trial, or place in `again`
    Py_ssize_t waiting  # trials to be done once more
    Py_ssize_t count
    int64_t* again
    uint32_t* keys
    uint64_t* sorting
    uint32_t k0, k1
    uint64_t first


cdef int load_batch(Batches* b, int16_t* ages, Py_ssize_t groups) noexcept nogil:
    """Fill ``ages`` for the next trials; returns how many there are, 0 at the end."""
    cdef int lane, count
    if not b.exact and b.next >= b.count:
        b.exact = True
        b.next = 0
    if not b.exact:
        draw_ages(ages, groups, b.k0, b.k1, b.first + <uint64_t>b.next)
        return <int>min(16, b.count - b.next)
    count = <int>max(min(16, b.waiting - b.next), 0)
    for lane in range(count):
        rank_ages(
            ages, groups, lane, b.keys, b.sorting, b.k0, b.k1, b.first + <uint64_t>b.again[b.next + lane])
    return count


cdef void keep_rows(
    Batches* b, const int32_t* rows, int count, uint32_t undecided, Py_ssize_t redundancy, int32_t* out
) noexcept nogil:
    """Copy the rows of a batch to ``out``; note the undecided lanes (bit mask) for later."""
    cdef int lane, drawn = side_by_side(b.first + <uint64_t>b.next, 16)
    cdef Py_ssize_t row
    for lane in range(count):
        if not b.exact and ((undecided >> lane) & 1 or lane >= drawn):
            b.again[b.waiting] = b.next + lane
            b.waiting += 1
            continue
        row = b.again[b.next + lane] if b.exact else b.next + lane
        memcpy(out + row * redundancy, rows + lane * redundancy, redundancy * sizeof(int32_t))
    b.next += 16


cdef void start_bounds(
    const int16_t* ages, Py_ssize_t groups, const int32_t* endurable, const int16_t* wipe, int32_t most, int16_t* bounds
) noexcept nogil:
    """Set ``bounds`` to those after ``most`` failures, or before the wipe-out if that comes first."""
    cdef int lane
    spare_store(bounds, spare_splat(BOTTOM))
    for lane in range(16):
        if endurable[lane] > most:
            bounds_of_count(ages, groups, groups - most, bounds)
            break
    spare_store(bounds, spare_max(spare_load(bounds), spare_load(wipe)))


cdef uint32_t rows_of_ages(
    int kind, const Shape* s, int16_t* ages, int16_t* types, uint16_t* free, int16_t* places, Box* box, int32_t* rows
) noexcept nogil:
    """Rows of sixteen trials whose ages are given; returns the undecided lanes (bit mask)."""
    cdef int16_t[16] wipe, bounds
    cdef int32_t[16] alive, endurable
    cdef Py_ssize_t groups = s.groups, r = s.redundancy, place
    cdef uint32_t clear, undecided, active
    cdef int lane, depth
    wipe_out_bounds(s, ages, wipe)
    count_alive(ages, groups, wipe, alive, &clear)
    for lane in range(16):
        endurable[lane] = <int32_t>groups - alive[lane]
        for place in range(r):
            rows[lane * r + place] = endurable[lane]
        rows[lane * r] = 0
    undecided = ~clear & 0xFFFF
    active = clear if r > 1 else 0
    depth = 2
    while active:
        start_bounds(ages, groups, endurable, wipe, <int32_t>(groups - (groups + depth - 1) // depth), bounds)
        if kind == ARCS:
            raise_by_walk(ages, groups, r, depth, bounds)
        else:
            sweep16(s, ages, bounds, depth, types, free, places)
            complete16(s, ages, bounds, depth, types, free, active, box)
        count_alive(ages, groups, bounds, alive, &clear)
        undecided |= active & ~clear
        for lane in range(16):
            if (active >> lane) & 1:
                rows[lane * r + depth - 1] = <int32_t>groups - alive[lane]
                if <int32_t>groups - alive[lane] == endurable[lane]:
                    active ^= <uint32_t>1 << lane
        active &= clear
        depth += 1
    return undecided


cdef void rows_by_lanes(
    int kind, const Shape* s, Batches* b, int16_t* ages, int16_t* types, uint16_t* free, int16_t* places, Box* box,
    int32_t* rows, int32_t* out) noexcept nogil:
    cdef uint32_t undecided
    cdef int count
    while True:
        count = load_batch(b, ages, s.groups)
        if count == 0:
            break
        undecided = rows_of_ages(kind, s, ages, types, free, places, box, rows)
        keep_rows(b, rows, count, undecided, s.redundancy, out)


cdef uint32_t block_rows_of_ages(
    const int64_t* starts, Py_ssize_t blocks, Py_ssize_t groups, Py_ssize_t r, int16_t* ages, int16_t* bounds,
    int16_t* members, int32_t* rows) noexcept nogil:
    """``rows_of_ages`` for partitions."""
    cdef int32_t[16] alive
    cdef uint32_t clear = 0, undecided = 0
    cdef Py_ssize_t depth
    cdef int lane
    memset(alive, 0, sizeof(alive))
    bounds_by_blocks(starts, blocks, ages, r, bounds, members)
    for depth in range(r, 1, -1):
        if depth == r or memcmp(bounds + 16 * depth, bounds + 16 * (depth + 1), 32):
            count_alive(ages, groups, bounds + 16 * depth, alive, &clear)
        undecided |= ~clear
        for lane in range(16):
            rows[lane * r + depth - 1] = <int32_t>groups - alive[lane]
    for lane in range(16):
        rows[lane * r] = 0
    return undecided


cdef void rows_of_blocks(
    const int64_t* starts, Py_ssize_t blocks, Py_ssize_t groups, Py_ssize_t r, Batches* b, int16_t* ages,
    int16_t* bounds, int16_t* members, int32_t* rows, int32_t* out) noexcept nogil:
    cdef uint32_t undecided
    cdef int count
    while True:
        count = load_batch(b, ages, groups)
        if count == 0:
            break
        undecided = block_rows_of_ages(starts, blocks, groups, r, ages, bounds, members, rows)
        keep_rows(b, rows, count, undecided, r, out)


# ---- what Python calls -------------------------------------------------------------------------------------------


def capacity(plan, seed, uint64_t first, int32_t[:, ::1] out):
    """Fill ``out`` (int32[count, r]) for trials first, first + 1, ...: ``stacks.capacity``. Drops the GIL."""
    cdef uint32_t k0 = seed & 0xFFFFFFFF, k1 = (seed >> 32) & 0xFFFFFFFF
    cdef const uint16_t[:, ::1] hosts = plan.hosts16, stacks = plan.stacks16
    cdef const int64_t[::1] starts = plan.starts
    cdef Py_ssize_t groups = hosts.shape[0], r = out.shape[1], count = out.shape[0]
    cdef int kind = plan.kind
    if count == 0:
        return
    if groups == 0:
        _one_by_one(plan, k0, k1, first, None, out)
        return
    cdef int16_t[::1] ages = aligned(16 * ((groups + 3 & ~3) + 1), np.int16)
    cdef int16_t[::1] types = aligned(16 * (groups + 1), np.int16)
    cdef int16_t[::1] places = aligned(16 * (r + 2), np.int16)
    cdef int16_t[::1] members = aligned(16 * r, np.int16)
    cdef uint16_t[::1] halves = np.empty(12 * (groups + 1), np.uint16)
    cdef uint32_t[::1] words = np.empty(3 * (groups + 1), np.uint32)
    cdef uint64_t[::1] sorting = np.empty(2 * groups, np.uint64)
    cdef int64_t[::1] again = np.empty(count, np.int64)
    cdef int32_t[::1] rows = np.empty(16 * r, np.int32)
    cdef Shape shape
    cdef Batches b
    cdef Box box
    with nogil:
        shape.hosts, shape.stacks = &hosts[0, 0], &stacks[0, 0]
        shape.groups, shape.redundancy, shape.ring = groups, r, kind == RING
        b.exact = False
        b.next = b.waiting = 0
        b.count = count
        b.again, b.keys, b.sorting = &again[0], &words[2 * (groups + 1)], &sorting[0]
        b.k0, b.k1, b.first = k0, k1, first
        lay_out(&box, &halves[0], &words[0], groups)
        if kind == BLOCKS:
            rows_of_blocks(
                &starts[0], starts.shape[0] - 1, groups, r, &b, &ages[0], &places[0], &members[0], &rows[0], &out[0, 0])
        else:
            rows_by_lanes(
                kind, &shape, &b, &ages[0], &types[0], &halves[11 * (groups + 1)], &places[0], &box, &rows[0],
                &out[0, 0])


def capacity_of_keys(plan, keys):
    """The rows of :func:`capacity` (int32[count, r]) for given failure-order keys (uint32[count, N])."""
    given = np.ascontiguousarray(keys, np.uint32)
    out = np.empty((given.shape[0], plan.hosts.shape[1]), np.int32)
    _one_by_one(plan, 0, 0, 0, given, out)
    return out


def _one_by_one(plan, uint32_t k0, uint32_t k1, uint64_t first, given, int32_t[:, ::1] out):
    """One trial at a time, of drawn keys or of ``given`` ones (uint32[count, N])."""
    cdef const uint32_t[:, ::1] hosts = plan.hosts, stacks = plan.stacks
    cdef const uint32_t[:, ::1] keys = given
    cdef const int64_t[::1] starts = plan.starts if plan.kind == BLOCKS else np.zeros(1, np.int64)
    cdef Py_ssize_t groups = hosts.shape[0], r = hosts.shape[1], i
    cdef int kind = plan.kind
    cdef bint drawn = given is None
    cdef uint32_t[::1] values = np.zeros(groups + 1, np.uint32)
    cdef uint64_t[::1] sorting = np.empty(2 * groups, np.uint64)
    cdef int32_t[::1] words = np.empty(7 * (groups + 1) + groups * r, np.int32)
    cdef int64_t[::1] places = np.empty(r, np.int64)
    cdef Work w
    with nogil:
        w.hosts, w.stacks, w.groups, w.redundancy = &hosts[0, 0], &stacks[0, 0], groups, r
        lay_out_work(&w, &words[0], &places[0])
        for i in range(out.shape[0]):
            if drawn:
                draw_full(&values[0], groups, k0, k1, first + <uint64_t>i)
            else:
                memcpy(&values[0], &keys[i, 0], groups * sizeof(uint32_t))
            if not row_of_values(kind, &starts[0], starts.shape[0] - 1, &values[0], &w, &out[i, 0]):
                rank_keys(&values[0], groups, &sorting[0])
                row_of_values(kind, &starts[0], starts.shape[0] - 1, &values[0], &w, &out[i, 0])


include "ahead_stacks_streams.pxi"
