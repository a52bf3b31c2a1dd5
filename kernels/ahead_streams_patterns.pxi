# Failure patterns under a stream: stream_patterns.py step for step.

cdef int64_t FARTHEST = <int64_t>1 << 60  # LONGEST

ctypedef struct stream_pattern:
    int64_t groups, width
    # of the layout
    const uint32_t* types
    const int32_t* hosts
    # of the trial
    int32_t* order
    int32_t* ends
    int64_t* times
    int32_t* left
    uint8_t* out
    int64_t events
    bint wiped


cdef int bind_stream_pattern(stream_pattern* p, hosting, held) except -1:
    """Point ``p`` to the arrays of a stream_layouts.Hosting and a stream_plan.Pattern, which must outlive it."""
    p.groups, p.width = hosting.types.shape
    p.types, p.hosts = <uint32_t*>address(hosting.types, "uint32"), <int32_t*>address(hosting.hosts, "int32")
    p.order, p.ends = <int32_t*>address(held.order, "int32"), <int32_t*>address(held.ends, "int32")
    p.times, p.left = <int64_t*>address(held.times, "int64"), <int32_t*>address(held.left, "int32")
    p.out = <uint8_t*>address(held.out, "uint8")
    return 0


cdef inline void enter_trial(stream* s, uint64_t trial) noexcept nogil:
    s.reg[S_TRIAL_0] = <int64_t><uint32_t>trial
    s.reg[S_TRIAL_1] = <int64_t>(trial >> 32)


cdef void follow(stream* s, stream_pattern* p) noexcept nogil:
    """The pattern of the trial entered: p.order, p.ends and p.times of p.events events, the last of which p.wiped."""
    cdef int64_t hopes = 0, lost = 0, events = 0, before, i, place, g
    cdef int64_t first_log = s.numbers[N_SOURCES], logs_end = first_log + s.numbers[N_REPLAYS]
    cdef bint wiped = False
    cdef const uint32_t* row
    cdef event e
    memcpy(p.left, p.hosts, (p.groups + 1) * sizeof(int32_t))
    for g in range(s.numbers[N_GROUPS]):
        hopes += s.reach[g]
    begin(s, FARTHEST, False)
    while s.reg[S_HEAP] > 0 and not wiped:
        if hopes == 0 and first_log <= s.heap[1] and s.heap[1] < logs_end:
            replace_first(s, NO_FAILURE, 0)  # this log has nothing left to hit
            continue
        e = next_event(s)
        before = lost
        for i in range(s.starts[e.entity], s.starts[e.entity + 1]):
            g = s.members[i]
            if p.out[g] == 0:
                p.out[g] = 1
                p.order[lost] = <int32_t>g
                lost += 1
                hopes -= s.reach[g]
                row = p.types + g * p.width
                for place in range(p.width):
                    p.left[row[place]] -= 1
                    wiped |= p.left[row[place]] == 0
        if lost > before:
            p.ends[events] = <int32_t>lost
            p.times[events] = e.time
            events += 1
    finish(s)
    for i in range(lost):
        p.out[p.order[i]] = 0
    p.events, p.wiped = events, wiped


cdef inline int64_t enter_life(const stream_pattern* p, int64_t* row) noexcept nogil:
    """Write SURVIVAL_COLUMNS into ``row``; returns the events endured."""
    cdef int64_t endured = p.events - 1 if p.wiped else p.events
    row[0] = p.ends[endured - 1] if endured > 0 else 0
    row[1] = endured
    row[2] = p.times[endured] if p.wiped else -1
    return endured
