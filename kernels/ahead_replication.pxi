# Replication: training_replication.py step for step. Part of ahead_training.pyx.


cdef inline void compute_blocks(run_memory* s, int64_t saver) noexcept nogil:
    """Every alive group computes its block, checking its clock before it and on its own arrival.

    Only groups that may fail by then are drawn one by one; the slowest of all others is one draw. The saver (or -1)
    starts T_s late; what that adds to the barrier is the cost of the save.
    """
    cdef int64_t now = s.reg[NOW], delay = s.reg[DELAY], r = s.reg[REDUNDANCY], horizon = now + delay + reach(s, r)
    cdef int64_t others, release = now, undelayed = now, kept = 0, drawn = 0, g, late, arrival
    cdef bint held = delay > 0
    extend(s, horizon)
    others = s.reg[GROUPS] - s.reg[OUT_COUNT]
    while drawn < s.reg[SOON_COUNT] and s.due[s.soon[drawn]] <= horizon:
        g = s.soon[drawn]
        drawn += 1
        others -= 1
        late = 0
        if held and g == saver:
            late = delay
            held = False
        arrival = now + late
        if s.due[g] > arrival:
            arrival += single_time(s, r)
        if s.due[g] <= arrival:
            fail(s, g, arrival)
        else:
            s.soon[kept] = g
            kept += 1
        release = max(release, arrival)
        undelayed = max(undelayed, arrival - late)
    drop(s, kept, drawn)
    if held:
        others -= 1
        arrival = now + delay + single_time(s, r)
        release = max(release, arrival)
        undelayed = max(undelayed, arrival - delay)
    if others > 0:
        arrival = now + slowest_time(s, others, r)
        release = max(release, arrival)
        undelayed = max(undelayed, arrival)
    s.reg[DELAY] = 0
    spend(s, NEEDED, s.reg[STACK_TIME])
    spend(s, REDUNDANT, (r - 1) * s.reg[STACK_TIME])
    spend(s, WAITING, undelayed - now - r * s.reg[STACK_TIME])
    spend(s, CHECKPOINT, release - undelayed)


cdef inline void enqueue(run_memory* s, int64_t g) noexcept nogil:
    """Group g has been found and waits to be handled; QUEUE counts those who wait among 32 groups each."""
    s.status[g] = PENDING
    s.queue[g >> 5] += 1
    s.reg[PENDING_COUNT] += 1
    s.reg[LOWEST] = min(s.reg[LOWEST], g)


cdef inline int64_t block_of(run_memory* s, int64_t blocks, int64_t g) noexcept nogil:
    return g // s.reg[REDUNDANCY] if s.reg[PLACEMENT] == CONSECUTIVE else g % blocks


cdef bint handle_lowest(run_memory* s, int64_t* living, int64_t blocks) noexcept nogil:
    """Take the lowest-numbered pending group out of its block; returns whether the block still lives."""
    cdef int64_t g = s.reg[LOWEST], chunk = g >> 5, following = s.reg[GROUPS], block
    s.status[g] = FOUND
    s.queue[chunk] -= 1
    s.reg[PENDING_COUNT] -= 1
    if s.reg[PENDING_COUNT] > 0:
        following = g + 1
        if s.queue[chunk] == 0:
            while s.queue[chunk] == 0:
                chunk += 1
            following = chunk << 5
        while s.status[following] != PENDING:
            following += 1
    s.reg[LOWEST] = following
    block = block_of(s, blocks, g)
    living[block] -= 1
    return living[block] > 0


cdef inline bint settle_blocks(run_memory* s, int64_t* living, int64_t blocks) noexcept nogil:
    """All-reduce; handle the lowest-numbered pending group, or all; returns whether the step can commit."""
    cdef bint alive
    if s.reg[PENDING_COUNT] == 0:
        spend(s, ALLREDUCE, s.reg[ALLREDUCE_TIME])
        return True
    found_allreduce(s)
    alive = handle_lowest(s, living, blocks)
    while s.reg[LOWEST_ONLY] == 0 and alive and s.reg[PENDING_COUNT] > 0:
        alive = handle_lowest(s, living, blocks)
    if alive:
        shrink(s)
    return alive


cdef void begin_life(run_memory* s, int64_t* living, int64_t blocks) noexcept nogil:
    """All groups of every block alive, none pending."""
    cdef int64_t n = s.reg[GROUPS], r = s.reg[REDUNDANCY], block, chunk
    for block in range(blocks):
        if s.reg[PLACEMENT] == CONSECUTIVE:
            living[block] = min(r, n - block * r)
        else:
            living[block] = (n - block + blocks - 1) // blocks
    for chunk in range((n + 31) >> 5):
        s.queue[chunk] = 0
    s.reg[PENDING_COUNT] = 0
    s.reg[LOWEST] = n
    s.reg[FIRST_ALIVE] = 0


cdef int64_t save_by_first_unhandled(run_memory* s) noexcept nogil:
    """The lowest-numbered alive group saves unless it has failed; returns it, or -1.

    Pending groups count as alive; only a pending lowest one cannot save either.
    """
    cdef int64_t g = s.reg[FIRST_ALIVE]
    while s.status[g] == FOUND:  # ends: every block has a member that is not FOUND
        g += 1
    s.reg[FIRST_ALIVE] = g
    if s.status[g] == PENDING:
        return -1
    extend(s, s.reg[NOW])
    if s.due[g] <= s.reg[NOW]:
        take(s, g)
        fail(s, g, s.reg[NOW])
        enqueue(s, g)
        return -1
    save(s)
    return g


cdef void run_replication(
    run_memory* s, int64_t* living, int64_t blocks, int64_t first, int64_t* rows, Py_ssize_t count) noexcept nogil:
    """Runs first, first + 1, ..., a row each; ``living``, a number a block, is workspace."""
    cdef int64_t r = s.reg[REDUNDANCY], saver, seen, i
    cdef Py_ssize_t row
    cdef bint elastic = s.reg[ELASTIC] > 0
    for row in range(count):
        open_book(s, first + row)
        start(s)
        restock(s)
        begin_life(s, living, blocks)
        saver = -1
        while goes_on(s):
            begin_step(s)
            s.reg[DEPTH_STEPS + r - 1] += 1
            if elastic:
                for i in range(come_back(s, -1)):
                    living[block_of(s, blocks, s.back[i])] += 1
            seen = s.reg[OUT_COUNT]
            compute_blocks(s, saver)
            saver = -1
            for i in range(seen, s.reg[OUT_COUNT]):
                enqueue(s, s.out[i])
            if not settle_blocks(s, living, blocks):
                roll_back(s, restart(s))
                restock(s)
                begin_life(s, living, blocks)
            elif commit(s, r):
                saver = save_by_first_unhandled(s)
        close_book(s, rows + row * (NAMED + r))
