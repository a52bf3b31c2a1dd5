# Bookkeeping: ledger.py step for step. Part of ahead_training.pyx.


cdef void open_book(run_memory* s, int64_t number) noexcept nogil:
    """Run ``number`` begins: row, registers and marks at zero; seed and settings stay."""
    cdef int64_t* reg = s.reg
    memset(reg, 0, (NOTED + 1) * sizeof(int64_t))  # the keys follow NOTED
    memset(reg + MARK, 0, 3 * BINS * sizeof(int64_t))
    memset(reg + DEPTH_STEPS, 0, reg[REDUNDANCY] * sizeof(int64_t))
    reg[RUN_0] = number & <int64_t>0xFFFFFFFF
    reg[RUN_1] = number >> 32
    plan_save(s)


cdef void plan_save(run_memory* s) noexcept nogil:
    """Where saves go by steps: the next multiple beyond the committed steps, or the last step."""
    cdef int64_t every = s.reg[SAVE_STEPS]
    if every > 0:
        s.reg[NEXT_SAVE] = min((s.reg[DONE] // every + 1) * every, s.reg[STEPS])


cdef inline void note(run_memory* s, int64_t kind, int64_t time, int64_t a, int64_t b) noexcept nogil:
    """Keep an event, if there is room."""
    cdef int64_t* at
    if s.reg[NOTED] < s.reg[EVENT_LIMIT]:
        at = s.reg + DEPTH_STEPS + s.reg[REDUNDANCY] + 4 * s.reg[NOTED]
        at[0], at[1], at[2], at[3] = kind, time, a, b
        s.reg[NOTED] += 1


cdef inline bint goes_on(run_memory* s) noexcept nogil:
    """Whether there are steps to do, and time and random numbers to do them."""
    return s.reg[DONE] < s.reg[STEPS] and s.reg[NOW] < s.reg[MAX_WALL] and s.reg[SPENT] == 0


cdef inline void begin_step(run_memory* s) noexcept nogil:
    """A step begins; bins are marked where a save may follow it."""
    s.reg[EXECUTED] += 1
    if s.reg[NEXT_SAVE] <= s.reg[DONE] + 1:
        memcpy(s.reg + BEGUN, s.reg, BINS * sizeof(int64_t))


cdef inline void spend(run_memory* s, int column, int64_t time) noexcept nogil:
    """Let ``time`` [us] pass on account of ``column``."""
    s.reg[column] += time
    s.reg[NOW] += time


cdef inline void found_allreduce(run_memory* s) noexcept nogil:
    """The all-reduce of an attempt that found failures, and the delay until they are known."""
    spend(s, ALLREDUCE, s.reg[FOUND_ALLREDUCE_TIME])
    spend(s, DETECTION, s.reg[DETECTION_TIME])


cdef inline void shrink(run_memory* s) noexcept nogil:
    """The communicator is shrunk."""
    spend(s, SHRINK, s.reg[SHRINK_TIME])
    s.reg[SHRINK_TOTAL] += s.reg[SHRINK_TIME]


cdef void fail(run_memory* s, int64_t g, int64_t time) noexcept nogil:
    """Group g is found failed at ``time`` [us]."""
    found(s, g, time)
    if s.reg[ELASTIC]:
        s.ready[g] = time
    s.reg[FAILURES] += 1
    note(s, FAILURE, time, g, 0)


cdef inline void fail_due(run_memory* s, int64_t time) noexcept nogil:
    """At the barrier's release every alive group checks its clock: all due by ``time`` are found."""
    cdef int64_t count = 0
    extend(s, time)
    while count < s.reg[SOON_COUNT] and s.due[s.soon[count]] <= time:
        fail(s, s.soon[count], time)
        count += 1
    drop(s, 0, count)


cdef inline bint commit(run_memory* s, int64_t depth) noexcept nogil:
    """The step commits; returns whether a save is due, by steps or else by the plan's intervals."""
    cdef int64_t age
    s.reg[DONE] += 1
    note(s, STEP_END, s.reg[NOW], s.reg[DONE], depth)
    if s.reg[NEXT_SAVE] > 0:
        if s.reg[DONE] < s.reg[NEXT_SAVE]:
            return False
        plan_save(s)
        return True
    if s.reg[DONE] == s.reg[STEPS]:
        return True
    age = (s.reg[NOW] - s.reg[LIFE]) // s.width
    return s.reg[NOW] - s.reg[LAST_SAVE] >= s.intervals[min(age, s.interval_count - 1)]


cdef void adopt(run_memory* s) noexcept nogil:
    """A background save has been written: it is the resume point."""
    memcpy(s.reg + MARK, s.reg + LATER, BINS * sizeof(int64_t))
    s.reg[RESUME] = s.reg[SAVING_DONE]
    s.reg[SAVING] = 0


cdef void save(run_memory* s) noexcept nogil:
    """A checkpoint after the step just committed."""
    if s.reg[SAVING] > 0:
        if s.reg[SAVING] > s.reg[NOW]:  # one write at a time: wait for the one before
            spend(s, CHECKPOINT, s.reg[SAVING] - s.reg[NOW])
        adopt(s)
    s.reg[SAVES] += 1
    if s.reg[SAVE_KIND] == BLOCKING:
        spend(s, CHECKPOINT, s.reg[SAVE_TIME])
    elif s.reg[SAVE_KIND] == BACKGROUND:
        spend(s, CHECKPOINT, s.reg[SAVE_BLOCKING])
        s.reg[SAVING] = s.reg[NOW] + s.reg[SAVE_TIME] - s.reg[SAVE_BLOCKING]
    else:
        s.reg[DELAY] = s.reg[SAVE_TIME]
    memcpy(s.reg + LATER, s.reg + (0 if s.reg[RESUME_AFTER] else BEGUN), BINS * sizeof(int64_t))
    s.reg[SAVING_DONE] = s.reg[DONE] - 1 + s.reg[RESUME_AFTER]
    if s.reg[SAVING] == 0:
        adopt(s)
    s.reg[LAST_SAVE] = s.reg[NOW]
    note(s, SAVE, s.reg[NOW], s.reg[DONE], 0)


cdef void roll_back(run_memory* s, int64_t end) noexcept nogil:
    """A restart until ``end`` [us]: steps since the resume point become rework."""
    cdef int b
    if 0 < s.reg[SAVING] <= s.reg[NOW]:
        adopt(s)
    s.reg[SAVING] = 0
    for b in range(BINS):
        s.reg[REWORK] += s.reg[b] - s.reg[MARK + b]
        s.reg[b] = s.reg[MARK + b]
    s.reg[RESTARTS] += 1
    note(s, RESTART, s.reg[NOW], end, s.reg[DONE] - s.reg[RESUME])
    spend(s, RESTARTING, end - s.reg[NOW])
    s.reg[DONE] = s.reg[RESUME]
    plan_save(s)
    s.reg[LAST_SAVE] = end
    s.reg[LIFE] = end
    s.reg[DELAY] = 0


cdef void close_book(run_memory* s, int64_t* row) noexcept nogil:
    """The run is over: wait for the last save, fill in the totals, copy the results to ``row``."""
    cdef int b
    if s.reg[DONE] >= s.reg[STEPS]:
        s.reg[FINISHED] = 1
        spend(s, CHECKPOINT, s.reg[DELAY])
        if s.reg[SAVING] > s.reg[NOW]:
            spend(s, CHECKPOINT, s.reg[SAVING] - s.reg[NOW])
    s.reg[WALL] = s.reg[NOW]
    for b in range(BINS):
        s.reg[USEFUL] += s.reg[b]
    s.reg[COMMITTED] = s.reg[DONE]
    s.reg[ROLLED_BACK] = s.reg[EXECUTED] - s.reg[DONE]
    memcpy(row, s.reg, NAMED * sizeof(int64_t))
    memcpy(row + NAMED, s.reg + DEPTH_STEPS, s.reg[REDUNDANCY] * sizeof(int64_t))
