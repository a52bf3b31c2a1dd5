# Failure clocks: clocks.py step for step. Part of ahead_training.pyx.

cdef int64_t NEVER = <int64_t>1 << 62
cdef enum:
    LAST_RENEWAL = 16777215  # the counter's repetition has 24 bits
    CLOCK_PURPOSE = 1 << 24


cdef inline int64_t duration(run_memory* s, int64_t g, double u) noexcept nogil:
    """Group g's interval at the uniform u [us]: rounded to whole microseconds, at least 1."""
    cdef double time
    if s.reg[LAW] == EXPONENTIAL:
        time = -log(u) * s.scale[g]
    elif s.reg[LAW] == WEIBULL:
        time = pow(-log(u), s.inverse_shape) * s.scale[g]
    elif s.reg[LAW] == LOGNORMAL:
        time = exp(normal(u) * s.shape) * s.scale[g]
    else:
        time = of_table(s.law_table, s.reg[LAW], s.reg[LAW_SIZE], -log(u)) * s.scale[g]
    # 2**60: a drawn duration is cut here, so that sums stay within int64
    return max(<int64_t>1, <int64_t>floor(min(time, 1152921504606846976.0) + 0.5))


cdef int64_t draw(run_memory* s, int64_t g) noexcept nogil:
    """The next interval of group g's clock [us]."""
    cdef int64_t renewal = s.drawn[g]
    cdef words w
    s.drawn[g] = renewal + 1
    if renewal >= LAST_RENEWAL:
        s.reg[SPENT] = 1
        return <int64_t>1 << 60
    w = philox(<uint32_t>g, <uint32_t>(CLOCK_PURPOSE | renewal), s.reg)
    return duration(s, g, uniform(w.a, w.b))


cdef inline void add(run_memory* s, int64_t g) noexcept nogil:
    """Queue the alive group g by its due time: in its place in SOON, or in a bucket."""
    cdef int64_t due = s.due[g], at, before, bucket
    if due < s.reg[EDGE]:
        at = s.reg[SOON_COUNT]
        while at > 0:
            before = s.soon[at - 1]
            if s.due[before] < due or (s.due[before] == due and before < g):
                break
            s.soon[at] = before
            at -= 1
        s.soon[at] = g
        s.reg[SOON_COUNT] += 1
    else:
        bucket = (due >> s.reg[SHIFT]) & (s.reg[BUCKETS] - 1)
        s.link[g] = s.head[bucket]
        s.head[bucket] = g


cdef inline void next_event(run_memory* s) noexcept nogil:
    """Move EDGE on to the event after it: the stream's next hit, or a draw of the system clock's."""
    if s.reg[CLOCKS] == STREAM:
        to_hit(s, s.reg[EVENT_INDEX] + 1)
    else:
        strike(s, s.reg[EDGE])


cdef void to_hit(run_memory* s, int64_t index) noexcept nogil:
    """The stream's hit of that number is next; beyond the last, all that is known is that it comes after HORIZON."""
    s.reg[EVENT_INDEX] = index
    s.reg[EDGE] = s.reg[s.reg[HITS] + index] if index < s.reg[HITS_COUNT] else s.reg[HORIZON] + 1


cdef inline bint comes(run_memory* s, int64_t upto) noexcept nogil:
    """Whether the next event comes by ``upto`` [us]; where the hits do not tell, the run ends and SHORT is set."""
    return s.reg[EDGE] <= upto and known(s)


cdef bint known(run_memory* s) noexcept nogil:
    if s.reg[CLOCKS] == STREAM and s.reg[EVENT_INDEX] >= s.reg[HITS_COUNT]:
        s.reg[SHORT] = 1
        s.reg[SPENT] = 1
        s.reg[EDGE] = NEVER
        return False
    return True


cdef void strike(run_memory* s, int64_t now) noexcept nogil:
    """Draw the system clock's next event from ``now`` [us]."""
    cdef words w
    s.reg[EVENT_INDEX] += 1
    if s.reg[EVENT_INDEX] > LAST_RENEWAL:
        s.reg[SPENT] = 1
        s.reg[EDGE] = NEVER
    else:
        w = philox(<uint32_t>0xFFFFFFFF, <uint32_t>(CLOCK_PURPOSE | s.reg[EVENT_INDEX]), s.reg)
        s.reg[EDGE] = now + duration(s, 0, uniform(w.a, w.b))


cdef int64_t victim(run_memory* s, int64_t attempt) noexcept nogil:
    """Whom the present event hits: the stream's group, or a uniformly random one; ``attempt`` from 1."""
    cdef words w
    if s.reg[CLOCKS] == STREAM:
        return s.reg[s.reg[HITS] + s.reg[HITS_ROOM] + s.reg[EVENT_INDEX]]
    w = philox(<uint32_t>(<int64_t>0xFFFFFFFF - attempt), <uint32_t>(CLOCK_PURPOSE | s.reg[EVENT_INDEX]), s.reg)
    return <int64_t>(uniform(w.c, w.d) * <double>s.reg[GROUPS])


cdef inline void mark_hit(run_memory* s, int64_t g) noexcept nogil:
    """The present event makes g due; events come in order, so SOON stays sorted."""
    s.status[g] = HIT
    s.due[g] = s.reg[EDGE]
    s.soon[s.reg[SOON_COUNT]] = g
    s.reg[SOON_COUNT] += 1


cdef inline void extend(run_memory* s, int64_t upto) noexcept nogil:
    """Bring every alive group due at or before ``upto`` [us] into SOON."""
    if s.reg[EDGE] <= upto:
        extend_soon(s, upto)


cdef void extend_soon(run_memory* s, int64_t upto) noexcept nogil:
    cdef int64_t attempt, g, following, bucket
    if s.reg[CLOCKS] == SYSTEM:
        # Every event hits a uniformly random group among those alive; with none alive, events wait.
        while s.reg[EDGE] <= upto and s.reg[OUT_COUNT] + s.reg[SOON_COUNT] < s.reg[GROUPS]:
            attempt = 1
            g = victim(s, attempt)
            while s.status[g] != ALIVE:
                attempt += 1
                g = victim(s, attempt)
            mark_hit(s, g)
            next_event(s)
        return
    if s.reg[CLOCKS] == STREAM:
        while comes(s, upto):
            g = victim(s, 1)
            if s.status[g] == ALIVE:  # a hit on a group that is out does nothing
                mark_hit(s, g)
            next_event(s)
        return
    while s.reg[EDGE] <= upto:
        bucket = (s.reg[EDGE] >> s.reg[SHIFT]) & (s.reg[BUCKETS] - 1)
        s.reg[EDGE] += <int64_t>1 << s.reg[SHIFT]
        g = s.head[bucket]
        s.head[bucket] = -1
        while g >= 0:
            following = s.link[g]
            add(s, g)
            g = following


cdef inline void found(run_memory* s, int64_t g, int64_t now) noexcept nogil:
    """Group g is found failed by its own check at ``now``: it is out, and its clock runs on unobserved."""
    s.status[g] = FOUND
    s.out[s.reg[OUT_COUNT]] = g
    s.reg[OUT_COUNT] += 1
    if s.reg[CLOCKS] < SYSTEM:  # a clock of its own
        s.due[g] = now + draw(s, g)


cdef void rewind(run_memory* s) noexcept nogil:
    """Take the system clock or the stream back to now: what was looked ahead of has not happened."""
    cdef int64_t ahead = 0, i, g, index
    while ahead < s.reg[SOON_COUNT] and s.due[s.soon[s.reg[SOON_COUNT] - 1 - ahead]] > s.reg[NOW]:
        ahead += 1
    if ahead:
        s.reg[SOON_COUNT] -= ahead
        if s.reg[CLOCKS] == SYSTEM:
            s.reg[EVENT_INDEX] -= ahead
            s.reg[EDGE] = s.due[s.soon[s.reg[SOON_COUNT]]]
        for i in range(s.reg[SOON_COUNT], s.reg[SOON_COUNT] + ahead):
            g = s.soon[i]
            s.status[g] = ALIVE
            s.due[g] = NEVER
    if s.reg[CLOCKS] == STREAM:  # hits on groups that are out were passed over as well
        index = s.reg[EVENT_INDEX]
        while index > 0 and s.reg[s.reg[HITS] + index - 1] > s.reg[NOW]:
            index -= 1
        to_hit(s, index)


cdef inline void drop(run_memory* s, int64_t begin, int64_t end) noexcept nogil:
    """Take the places begin <= i < end off SOON."""
    cdef int64_t i, count = end - begin
    if count > 0:
        for i in range(end, s.reg[SOON_COUNT]):
            s.soon[i - count] = s.soon[i]
        s.reg[SOON_COUNT] -= count


cdef void take(run_memory* s, int64_t g) noexcept nogil:
    """Take group g off SOON."""
    cdef int64_t i, kept = 0
    for i in range(s.reg[SOON_COUNT]):
        if s.soon[i] != g:
            s.soon[kept] = s.soon[i]
            kept += 1
    s.reg[SOON_COUNT] = kept


cdef void all_fresh(run_memory* s, int64_t now) noexcept nogil:
    """Every group alive with a new clock from ``now`` [us]."""
    cdef int64_t g, bucket
    s.reg[SOON_COUNT] = 0
    s.reg[OUT_COUNT] = 0
    s.reg[EDGE] = (now >> s.reg[SHIFT]) << s.reg[SHIFT]
    for bucket in range(s.reg[BUCKETS]):
        s.head[bucket] = -1
    for g in range(s.reg[GROUPS]):
        s.status[g] = ALIVE
        s.due[g] = now + draw(s, g)
        add(s, g)


cdef void start(run_memory* s) noexcept nogil:
    """All groups alive at time 0, their first failures drawn; the registers are zero already."""
    cdef int64_t g
    for g in range(s.reg[GROUPS]):
        s.drawn[g] = 0
        s.status[g] = ALIVE
        s.due[g] = NEVER
    if s.reg[CLOCKS] >= SYSTEM:
        s.reg[EVENT_INDEX] = -1
        next_event(s)
    else:
        all_fresh(s, s.reg[NOW])
