# Failure streams: stream_laws.py, stream_logs.py and streams.py step for step, over the arrays of stream_plan.py.

cdef extern from *:
    void fetch_ahead "__builtin_prefetch"(const void* address) nogil

cdef enum:  # numbers
    N_GROUPS, N_POOLS, N_SOURCES, N_REPLAYS
cdef enum:  # columns of sources, reals
    SOURCE_KIND, SOURCE_COUNT, SOURCE_POOL, SOURCE_TABLE, SOURCE_SIZE, SOURCE_COLUMNS
cdef enum:
    REAL_SCALE, REAL_POWER, REAL_COLUMNS
cdef enum:  # columns of replays
    LOG_WINDOW, LOG_BLOCK, LOG_POOL, LOG_FIXED, LOG_FIRST, LOG_EVENTS, LOG_UNITS, LOG_UNIT_AT, LOG_CARD_AT
    REPLAY_COLUMNS
cdef enum:  # reg
    S_HEAP, S_KEY_0, S_KEY_1, S_TRIAL_0, S_TRIAL_1, S_HORIZON, S_RENEW, S_PASSES, S_DRAWS, S_HITS
cdef enum:  # columns of logs
    L_PASS, L_AT, L_SHIFT, L_END, L_WRAPPED, L_MET, L_CARDS, L_EPOCH, LOG_COLUMNS
cdef enum:  # columns of decks
    CARD, EXCHANGED, SOURCE_OF, RENEWALS, CARD_COLUMNS
    LOG_CARD_COLUMNS = 2
cdef enum:
    EVENT_PURPOSE = 4 << 24
    UNIT_PURPOSE = 5 << 24
    REPLAY_PURPOSE = 6 << 24
    DEAL_PURPOSE = 7 << 24
    LAST_REPETITION = 16777215  # the counter's repetition has 24 bits
cdef int64_t NO_FAILURE = <int64_t>1 << 62
cdef double LN_2 = 0.6931471805599453

ctypedef struct stream:
    # the plan
    const int64_t* numbers
    const int64_t* pools
    const int64_t* starts
    const int32_t* members
    const int64_t* sources
    const double* reals
    const double* tables
    const int64_t* replays
    const int64_t* times
    const int32_t* units
    const uint8_t* reach
    # the memory
    int64_t* reg
    int64_t* heap
    int64_t* failed
    int64_t* reached
    double* hazard
    int64_t* dealt
    int32_t* deck
    int64_t* logs
    int32_t* map_entity
    int64_t* map_epoch
    int32_t* log_deck

ctypedef struct event:
    int64_t time, entity


cdef int bind_stream(stream* s, plan, memory, seed, trial) except -1:
    """Point ``s`` to the arrays of a stream_plan Plan and Memory, which must outlive it, and enter seed and trial."""
    for name, array, columns in (
        ("sources", plan.sources, SOURCE_COLUMNS), ("reals", plan.reals, REAL_COLUMNS),
        ("replays", plan.replays, REPLAY_COLUMNS), ("logs", memory.logs, LOG_COLUMNS),
        ("deck", memory.deck, CARD_COLUMNS), ("log_deck", memory.log_deck, LOG_CARD_COLUMNS), ("heap", memory.heap, 2),
        ("hazard", memory.hazard, 2),
    ):
        if array.shape[1] != columns:  # it would read past the ends of the arrays
            raise ValueError(f"{name}: {array.shape[1]} columns, of {columns}: built from other sources, build it again")
    s.numbers, s.pools = <int64_t*>address(plan.numbers, "int64"), <int64_t*>address(plan.pools, "int64")
    s.starts, s.members = <int64_t*>address(plan.starts, "int64"), <int32_t*>address(plan.members, "int32")
    s.sources, s.reals = <int64_t*>address(plan.sources, "int64"), <double*>address(plan.reals, "float64")
    s.tables, s.replays = <double*>address(plan.tables, "float64"), <int64_t*>address(plan.replays, "int64")
    s.times, s.units = <int64_t*>address(plan.times, "int64"), <int32_t*>address(plan.units, "int32")
    s.reach = <uint8_t*>address(plan.reach, "uint8")
    s.reg, s.heap = <int64_t*>address(memory.reg, "int64"), <int64_t*>address(memory.heap, "int64")
    s.failed, s.reached = <int64_t*>address(memory.failed, "int64"), <int64_t*>address(memory.reached, "int64")
    s.hazard, s.dealt = <double*>address(memory.hazard, "float64"), <int64_t*>address(memory.dealt, "int64")
    s.deck, s.logs = <int32_t*>address(memory.deck, "int32"), <int64_t*>address(memory.logs, "int64")
    s.map_entity = <int32_t*>address(memory.map_entity, "int32")
    s.map_epoch = <int64_t*>address(memory.map_epoch, "int64")
    s.log_deck = <int32_t*>address(memory.log_deck, "int32")
    s.reg[S_KEY_0], s.reg[S_KEY_1] = seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF
    s.reg[S_TRIAL_0], s.reg[S_TRIAL_1] = trial & 0xFFFFFFFF, (trial >> 32) & 0xFFFFFFFF
    return 0


# ---- laws --------------------------------------------------------------------------------------------------------


cdef int64_t interval(const stream* s, int64_t source, double h) noexcept nogil:
    """The time of the source's law at the cumulated hazard h > 0 [us]: whole, at least 1, at most 2**60."""
    cdef const int64_t* row = s.sources + source * SOURCE_COLUMNS
    cdef const double* real = s.reals + source * REAL_COLUMNS
    cdef int64_t kind = row[SOURCE_KIND]
    cdef double time, z
    if kind == LAW_EXPONENTIAL:
        time = h
    elif kind == LAW_WEIBULL:
        time = pow(h, real[REAL_POWER])
    elif kind == LAW_LOGNORMAL:
        # the quantile of 1 - exp(-h), from the side that keeps its digits
        h = min(h, 700.0)
        if h > LN_2:
            z = -normal(exp(-h))
        else:
            z = normal(-expm1(-h))
        time = exp(z * real[REAL_POWER])
    else:
        time = of_table(s.tables + row[SOURCE_TABLE], kind, row[SOURCE_SIZE], h)
    time = time * real[REAL_SCALE]
    return <int64_t>max(1.0, floor(min(time, 1152921504606846976.0) + 0.5))


include "ahead_streams_logs.pxi"


# ---- the heap of next failures -----------------------------------------------------------------------------------


cdef inline bint sooner(const int64_t* a, const int64_t* b) noexcept nogil:
    return a[0] < b[0] or (a[0] == b[0] and a[1] < b[1])


cdef inline void push_failure(stream* s, int64_t time, int64_t whose) noexcept nogil:
    """Put a failure into the heap."""
    cdef int64_t at = s.reg[S_HEAP], above
    cdef int64_t[2] entry
    s.reg[S_HEAP] = at + 1
    entry[0], entry[1] = time, whose
    while at > 0:
        above = (at - 1) >> 1
        if sooner(s.heap + 2 * above, entry):
            break
        s.heap[2 * at], s.heap[2 * at + 1] = s.heap[2 * above], s.heap[2 * above + 1]
        at = above
    s.heap[2 * at], s.heap[2 * at + 1] = time, whose


cdef inline void replace_first(stream* s, int64_t time, int64_t whose) noexcept nogil:
    """Put a failure into the heap in the place of its first; one beyond the horizon takes no place."""
    cdef int64_t at = 0, below, size
    cdef int64_t[2] entry
    entry[0], entry[1] = time, whose
    if time > s.reg[S_HORIZON]:
        s.reg[S_HEAP] -= 1
        entry[0], entry[1] = s.heap[2 * s.reg[S_HEAP]], s.heap[2 * s.reg[S_HEAP] + 1]
    size = s.reg[S_HEAP]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and sooner(s.heap + 2 * (below + 1), s.heap + 2 * below):
            below += 1
        if sooner(entry, s.heap + 2 * below):
            break
        s.heap[2 * at], s.heap[2 * at + 1] = s.heap[2 * below], s.heap[2 * below + 1]
        at = below
    if size > 0:
        s.heap[2 * at], s.heap[2 * at + 1] = entry[0], entry[1]


# ---- a trial -----------------------------------------------------------------------------------------------------


cdef int64_t first_failure(stream* s, int64_t source) noexcept nogil:
    """When the source's next unit fails for the first time [us], NO_FAILURE when all have."""
    cdef int64_t failed = s.failed[source], count = s.sources[source * SOURCE_COLUMNS + SOURCE_COUNT]
    cdef int64_t pool = s.sources[source * SOURCE_COLUMNS + SOURCE_POOL], first = s.pools[pool], entity
    cdef words w
    if failed == count:
        return NO_FAILURE
    w = stream_words(s, source, EVENT_PURPOSE | failed)
    s.hazard[2 * source] += -log(uniform(w.a, w.b)) / <double>(count - failed)
    s.hazard[2 * source + 1] = uniform(w.c, w.d)
    # What the next deal of the pool will most likely read: a large pool lies outside the caches. (In a function of its
    # own GCC would leave the fetches out, as without effect.)
    entity = first + s.dealt[pool]
    entity += <int64_t>(s.hazard[2 * source + 1] * <double>(s.pools[pool + 1] - entity))
    fetch_ahead(s.deck + entity * CARD_COLUMNS)
    fetch_ahead(s.starts + entity)
    fetch_ahead(s.members + s.starts[first] + entity - first)  # where every entity hits one group
    return max(s.reached[source], interval(s, source, s.hazard[2 * source]))


cdef int64_t renewal_of(stream* s, int64_t entity) noexcept nogil:
    """The next interval of a unit that has failed [us]."""
    cdef int32_t* card = s.deck + entity * CARD_COLUMNS
    cdef int64_t renewal = card[RENEWALS]
    cdef words w
    if renewal >= LAST_REPETITION:
        return NO_FAILURE
    card[RENEWALS] = <int32_t>(renewal + 1)
    w = stream_words(s, entity, UNIT_PURPOSE | renewal)
    return interval(s, card[SOURCE_OF], -log(uniform(w.a, w.b)))


cdef void begin(stream* s, int64_t horizon, bint renew) noexcept nogil:
    """Before the first event of a trial; ``renew``: whether failed units fail again."""
    cdef int64_t i, time
    s.reg[S_HEAP] = s.reg[S_DRAWS] = s.reg[S_HITS] = 0
    s.reg[S_HORIZON] = horizon
    s.reg[S_RENEW] = renew
    for i in range(s.numbers[N_POOLS]):
        s.dealt[i] = 0
    for i in range(s.numbers[N_SOURCES]):
        s.failed[i] = s.reached[i] = 0
        s.hazard[2 * i] = 0.0
        time = first_failure(s, i)
        if time <= horizon:
            push_failure(s, time, i)
    for i in range(s.numbers[N_REPLAYS]):
        time = start_log(s, i)
        if time <= horizon:
            push_failure(s, time, s.numbers[N_SOURCES] + i)


cdef event next_event(stream* s) noexcept nogil:
    """The next event, of which there must be one in the heap."""
    cdef int64_t whose = s.heap[1], pool, first, later
    cdef int64_t sources = s.numbers[N_SOURCES], replays = s.numbers[N_REPLAYS]
    cdef event out, following
    out.time = s.heap[0]
    s.reg[S_HITS] += 1
    if whose < sources:
        pool = s.sources[whose * SOURCE_COLUMNS + SOURCE_POOL]
        first = s.pools[pool]
        out.entity = deal(
            s.deck, CARD_COLUMNS, first, s.dealt[pool], s.pools[pool + 1] - first, s.hazard[2 * whose + 1])
        s.dealt[pool] += 1
        s.deck[out.entity * CARD_COLUMNS + SOURCE_OF] = <int32_t>whose
        s.failed[whose] += 1
        s.reached[whose] = out.time
        replace_first(s, first_failure(s, whose), whose)
        if s.reg[S_RENEW] != 0:
            later = out.time + renewal_of(s, out.entity)
            if later <= s.reg[S_HORIZON]:
                push_failure(s, later, sources + replays + out.entity)
    elif whose < sources + replays:
        following = play(s, whose - sources)
        out.entity = following.entity
        replace_first(s, following.time, whose)
    else:
        out.entity = whose - sources - replays
        replace_first(s, out.time + renewal_of(s, out.entity), whose)
    return out


cdef void finish(stream* s) noexcept nogil:
    """After the last event of a trial: the memory is as new, at the cost of what was touched."""
    cdef int64_t pool, first, at, replay
    for pool in range(s.numbers[N_POOLS]):
        first = s.pools[pool]
        for at in range(first, first + s.dealt[pool]):
            s.deck[(at + s.deck[at * CARD_COLUMNS + CARD]) * CARD_COLUMNS + RENEWALS] = 0
        gather(s.deck, CARD_COLUMNS, first, s.dealt[pool])
    for replay in range(s.numbers[N_REPLAYS]):
        gather(
            s.log_deck, LOG_CARD_COLUMNS, s.replays[replay * REPLAY_COLUMNS + LOG_CARD_AT],
            s.logs[replay * LOG_COLUMNS + L_CARDS])
        s.logs[replay * LOG_COLUMNS + L_CARDS] = 0
