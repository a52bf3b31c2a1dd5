# Global restarts: restarts.py step for step. Part of ahead_training.pyx.


cdef int64_t restart(run_memory* s) noexcept nogil:
    """All groups alive again, their clocks as the rules say; returns when the restart begun now ends [us]."""
    cdef int64_t end
    if s.reg[CLOCKS] >= SYSTEM:
        return restart_by_events(s)
    end = s.reg[NOW] + s.reg[RESTART_TIME]
    if s.reg[EXTENDED] or s.reg[CLOCKS] == RENEWAL:
        end = restart_renewal(s)
    if s.reg[CLOCKS] == FRESH:
        all_fresh(s, end)
    return end


cdef int64_t restart_renewal(run_memory* s) noexcept nogil:
    """Every group's own window; only those out or due within T_r have work to do."""
    cdef int64_t first_end = s.reg[NOW] + s.reg[RESTART_TIME], end = first_end, i, g, soon
    extend(s, first_end)
    for i in range(s.reg[OUT_COUNT]):
        end = max(end, window(s, s.out[i]))
    soon = s.reg[SOON_COUNT]
    for i in range(soon):
        g = s.soon[i]
        if s.due[g] >= first_end:
            break
        end = max(end, window(s, g))
    s.reg[SOON_COUNT] = 0
    for i in range(soon):
        add(s, s.soon[i])
    for i in range(s.reg[OUT_COUNT]):
        g = s.out[i]
        s.status[g] = ALIVE
        add(s, g)
    s.reg[OUT_COUNT] = 0
    return end


cdef int64_t window(run_memory* s, int64_t g) noexcept nogil:
    """End of group g's restart window begun now [us]; its clock is drawn on until it lies past that end.

    A failure inside the window starts the window again from the failure (at once if the failure is past).
    """
    cdef int64_t due = s.due[g], begin = s.reg[NOW]
    while due < begin + s.reg[RESTART_TIME]:
        if s.reg[EXTENDED] and due > begin:
            begin = due
        due += draw(s, g)
        if begin >= s.reg[MAX_WALL] or s.reg[SPENT]:
            break
    s.due[g] = due
    return begin + s.reg[RESTART_TIME]


cdef int64_t restart_by_events(run_memory* s) noexcept nogil:
    """Restart under the one system clock or a stream; if failures extend it, an event hits any of the N groups."""
    cdef int64_t end, g
    rewind(s)
    while comes(s, s.reg[NOW]):  # nobody was left to be hit, or nobody looked
        next_event(s)
    s.reg[SOON_COUNT] = 0
    s.reg[OUT_COUNT] = 0
    end = s.reg[NOW] + s.reg[RESTART_TIME]
    if not s.reg[EXTENDED]:
        while comes(s, end):
            next_event(s)
    for g in range(s.reg[GROUPS]):
        s.status[g] = ALIVE
        s.due[g] = end if s.reg[EXTENDED] else NEVER  # extended: when the group's own window ends
    if not s.reg[EXTENDED]:
        return end
    while end < s.reg[MAX_WALL] and comes(s, end):
        g = victim(s, 1)
        if s.status[g] == ALIVE:
            if s.reg[EDGE] < s.due[g]:
                s.due[g] = s.reg[EDGE] + s.reg[RESTART_TIME]
                end = max(end, s.due[g])
            else:  # ready early, and failed again: the first step finds it
                mark_hit(s, g)
        next_event(s)
    for g in range(s.reg[GROUPS]):
        if s.status[g] == ALIVE:
            s.due[g] = NEVER
    return end
