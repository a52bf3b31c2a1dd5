# Groups that come back: returns.py step for step. Part of ahead_training.pyx.


cdef inline void restock(run_memory* s) noexcept nogil:
    """All spares free, nothing under repair: the state at the start and after a restart."""
    s.reg[KNOWN], s.reg[COMING_COUNT], s.reg[WAITING_COUNT], s.reg[REPAIRS_COUNT] = 0, 0, 0, 0
    s.reg[FREE] = s.reg[SPARES]


cdef void promise(run_memory* s, int64_t g, int64_t time) noexcept nogil:
    """Place g will be taken at ``time`` [us]; promises are made in order of time."""
    s.ready[g] = time
    s.coming[s.reg[COMING_COUNT]] = g
    s.reg[COMING_COUNT] += 1


cdef void mend(run_memory* s, int64_t now) noexcept nogil:
    """Repairs that are over by ``now`` [us]: each takes the place that has waited longest, or is a free spare."""
    cdef int64_t* reg = s.reg
    cdef int64_t mended, g
    while reg[REPAIRS_COUNT] > 0:
        mended = reg[reg[REPAIRS] + reg[REPAIRS_FIRST]]
        if mended > now:
            break
        reg[REPAIRS_FIRST] = (reg[REPAIRS_FIRST] + 1) % reg[REPAIRS_ROOM]
        reg[REPAIRS_COUNT] -= 1
        if reg[WAITING_COUNT] > 0:
            g = s.waiting[reg[WAITING_FIRST]]
            reg[WAITING_FIRST] = (reg[WAITING_FIRST] + 1) % reg[GROUPS]
            reg[WAITING_COUNT] -= 1
            promise(s, g, mended + reg[SWAP_TIME])
        else:
            reg[FREE] += 1


cdef void enter(run_memory* s, int64_t g) noexcept nogil:
    """The failure of g, found at ``ready``, reaches the spares and the repairs."""
    cdef int64_t* reg = s.reg
    cdef int64_t time = s.ready[g], last
    if reg[SPARES] == 0:
        promise(s, g, time + reg[REPAIR_TIME])
        return
    mend(s, time)
    if reg[REPAIR_TIME] >= 0:
        last = (reg[REPAIRS_FIRST] + reg[REPAIRS_COUNT]) % reg[REPAIRS_ROOM]
        reg[reg[REPAIRS] + last] = time + reg[REPAIR_TIME]
        reg[REPAIRS_COUNT] += 1
    if reg[FREE] > 0:
        reg[FREE] -= 1
        reg[SPARES_USED] = max(reg[SPARES_USED], reg[SPARES] - reg[FREE])
        promise(s, g, time + reg[SWAP_TIME])
    else:
        reg[SPARES_LACKING] += 1
        s.waiting[(reg[WAITING_FIRST] + reg[WAITING_COUNT]) % reg[GROUPS]] = g
        reg[WAITING_COUNT] += 1


cdef void learn(run_memory* s) noexcept nogil:
    """Enter the failures found since the last look, by the time of their finding, then by number."""
    cdef int64_t i, g, at, before, count = 0
    for i in range(s.reg[KNOWN], s.reg[OUT_COUNT]):
        g = s.out[i]
        at = count
        while at > 0:
            before = s.back[at - 1]
            if s.ready[before] < s.ready[g] or (s.ready[before] == s.ready[g] and before < g):
                break
            s.back[at] = before
            at -= 1
        s.back[at] = g
        count += 1
    for i in range(count):
        enter(s, s.back[i])
    if s.reg[SPARES] > 0:
        mend(s, s.reg[NOW])
    s.reg[KNOWN] = s.reg[OUT_COUNT]


cdef int64_t come_back(run_memory* s, int64_t unhandled) noexcept nogil:
    """A step begins: groups that are ready come back, their clocks new; how many, the first so many of ``back``.

    ``unhandled``: a group whose failure has not been handled yet, or -1 (those of status PENDING are none either).
    """
    cdef int64_t now = s.reg[NOW], back = 0, kept = 0, looked = 0, g, i
    learn(s)
    while looked < s.reg[COMING_COUNT] and s.ready[s.coming[looked]] <= now:
        g = s.coming[looked]
        looked += 1
        if g == unhandled or s.status[g] == PENDING:
            s.coming[kept] = g
            kept += 1
        else:
            s.back[back] = g
            back += 1
    if back > 0:
        for i in range(looked, s.reg[COMING_COUNT]):
            s.coming[i - back] = s.coming[i]
        s.reg[COMING_COUNT] -= back
        take_in(s, back)
        s.reg[RETURNS] += back
        s.reg[REJOINS] += 1
        spend(s, SHRINK, s.reg[REJOIN_TIME])
        s.reg[SHRINK_TOTAL] += s.reg[REJOIN_TIME]
    s.reg[OUT_STEPS] += s.reg[OUT_COUNT]
    return back


cdef void take_in(run_memory* s, int64_t back) noexcept nogil:
    """The first ``back`` groups of row ``back`` are alive from now on."""
    cdef int64_t now = s.reg[NOW], kept = 0, g, i
    if s.reg[CLOCKS] >= SYSTEM:
        extend(s, now)
        rewind(s)  # from now on its events may hit those who are back
    for i in range(back):
        g = s.back[i]
        s.status[g] = ALIVE
        if s.reg[CLOCKS] >= SYSTEM:
            s.due[g] = NEVER
        else:
            s.due[g] = now + draw(s, g)
            add(s, g)
        s.reg[FIRST_ALIVE] = min(s.reg[FIRST_ALIVE], g)
        note(s, RETURN, now, g, 0)
    for i in range(s.reg[OUT_COUNT]):
        g = s.out[i]
        if s.status[g] != ALIVE:
            s.out[kept] = g
            kept += 1
    s.reg[OUT_COUNT] = kept
    s.reg[KNOWN] = kept
