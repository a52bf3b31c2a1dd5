# Included by ahead_stacks.pyx: least stacks of lives under a failure stream, as in stream_stacks.py.

include "ahead_draws.pxi"
include "ahead_laws.pxi"
include "ahead_streams.pxi"
include "ahead_streams_patterns.pxi"


cdef void enter_ages(const int32_t* order, int64_t lost, int16_t* ages, int lane, int64_t groups) noexcept nogil:
    """Ages of one lane: the ``lost`` groups in their order, then all others."""
    cdef int64_t i
    for i in range(groups + 1):
        ages[16 * i + lane] = TOP
    for i in range(lost):
        ages[16 * <int64_t>order[i] + lane] = <int16_t>(groups - 1 - i + BOTTOM)
    for i in range(groups):
        if ages[16 * i + lane] == TOP:
            ages[16 * i + lane] = <int16_t>(groups - 1 - lost + BOTTOM)
            lost += 1


cdef void enter_states(
    const int32_t* last, const int32_t* ends, int64_t endured, int64_t groups, int64_t redundancy, int64_t* row,
    int64_t* at_depth) noexcept nogil:
    """Count the states between events: ``last`` (int32[r]) as of capacity(), ``ends`` of the events."""
    cdef int64_t depth = 1, stack = 0, above = 0, lost = 0, i
    for i in range(endured + 1):
        if i > 0:
            lost = ends[i - 1]
        while last[depth - 1] < lost:
            depth += 1
        at_depth[lost * redundancy + depth - 1] += 1
        stack += depth
        # c(k) = ceil(N / (N - k)) is what the alive can take at least
        above += depth > (2 * groups - lost - 1) // (groups - lost)
    row[3], row[4], row[5] = stack, endured + 1, above


def stream_lives(
    stream_plan, layout, seed, uint64_t first, int64_t[:, ::1] rows not None, int64_t[:, ::1] at_depth not None):
    """Lives of trials first, first + 1, ...: ``stream_stacks.stream_lives``; drops the GIL."""
    stacks = layout.stacks
    cdef const uint16_t[:, ::1] hosts = stacks.hosts16, table = stacks.stacks16
    cdef const int64_t[::1] starts = stacks.starts if stacks.kind == BLOCKS else np.zeros(1, np.int64)
    cdef Py_ssize_t groups = stacks.hosts.shape[0], r = stacks.hosts.shape[1], begin_at, count, i
    cdef int kind = stacks.kind, lane
    cdef int64_t[16] endured
    cdef stream s
    cdef stream_pattern p
    cdef Shape shape
    cdef Box box
    if rows.shape[1] != len(STACK_COLUMNS) or at_depth.shape[0] != groups + 1 or at_depth.shape[1] != r:
        raise ValueError("rows or at_depth: wrong shape")
    drawn, held = memory(stream_plan), blank_pattern(groups)
    bind_stream(&s, stream_plan, drawn, seed, first)
    bind_stream_pattern(&p, layout.hosting, held)
    cdef int32_t[:, ::1] last = np.empty((16, r), np.int32)
    if hosts.shape[0] == 0:
        for i in range(rows.shape[0]):
            enter_trial(&s, first + <uint64_t>i)
            follow(&s, &p)
            endured[0] = enter_life(&p, &rows[i, 0])
            lost = p.ends[p.events - 1] if p.events > 0 else 0
            keys = np.full((1, groups), groups, np.uint32)
            keys[0, held.order[:lost]] = np.arange(lost, dtype=np.uint32)
            last = capacity_of_keys(stacks, keys)
            enter_states(&last[0, 0], p.ends, endured[0], groups, r, &rows[i, 0], &at_depth[0, 0])
        return
    cdef int32_t[:, ::1] ends = np.empty((16, groups), np.int32)
    cdef int16_t[::1] ages = aligned(16 * ((groups + 3 & ~3) + 1), np.int16)
    cdef int16_t[::1] types = aligned(16 * (groups + 1), np.int16)
    cdef int16_t[::1] places = aligned(16 * (r + 2), np.int16)
    cdef int16_t[::1] members = aligned(16 * r, np.int16)
    cdef uint16_t[::1] halves = np.empty(12 * (groups + 1), np.uint16)
    cdef uint32_t[::1] scratch = np.empty(3 * (groups + 1), np.uint32)
    with nogil:
        shape.hosts, shape.stacks = &hosts[0, 0], &table[0, 0]
        shape.groups, shape.redundancy, shape.ring = groups, r, kind == RING
        lay_out(&box, &halves[0], &scratch[0], groups)
        for lane in range(16):
            enter_ages(p.order, 0, &ages[0], lane, groups)  # of lanes that have no trial
        for begin_at in range(0, rows.shape[0], 16):
            count = min(16, rows.shape[0] - begin_at)
            for lane in range(count):
                enter_trial(&s, first + <uint64_t>(begin_at + lane))
                follow(&s, &p)
                endured[lane] = enter_life(&p, &rows[begin_at + lane, 0])
                memcpy(&ends[lane, 0], p.ends, p.events * sizeof(int32_t))
                enter_ages(p.order, p.ends[p.events - 1] if p.events > 0 else 0, &ages[0], lane, groups)
            if kind == BLOCKS:
                block_rows_of_ages(
                    &starts[0], starts.shape[0] - 1, groups, r, &ages[0], &places[0], &members[0], &last[0, 0])
            else:
                rows_of_ages(
                    kind, &shape, &ages[0], &types[0], &halves[11 * (groups + 1)], &places[0], &box, &last[0, 0])
            for lane in range(count):
                enter_states(
                    &last[lane, 0], &ends[lane, 0], endured[lane], groups, r, &rows[begin_at + lane, 0], &at_depth[0, 0])
