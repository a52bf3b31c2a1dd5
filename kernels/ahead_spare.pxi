# SPARe, and checkpoints only: training_spare.py step for step. Part of ahead_training.pyx.


cdef int64_t walk(run_memory* s, int64_t g, int64_t begin, int64_t depth) noexcept nogil:
    """Group g computes ``depth`` stacks from ``begin`` [us], checking its clock before each.

    Returns when it arrives at the barrier, or -1 - time if it found itself failed at that time.
    """
    cdef int64_t due = s.due[g], time = begin, block, place
    if due <= begin:
        return -1 - begin
    if s.reg[JITTER] == PER_BLOCK:
        block = single_time(s, depth)
        for place in range(1, depth):
            time = begin + block * place // depth
            if due <= time:
                return -1 - time
        return begin + block
    for place in range(depth - 1):
        time += single_time(s, 1)
        if due <= time:
            return -1 - time
    return time + single_time(s, 1)


cdef inline void compute_stacks(run_memory* s, int64_t depth, int64_t saver) noexcept nogil:
    """Every alive group computes its first ``depth`` stacks; failures are found before a stack or at the release.

    Only groups that may fail before their last stack are walked one by one; the slowest of all others is one
    draw. The saver (or -1) starts T_s late; what that adds to the barrier is the cost of the save.
    """
    cdef int64_t now = s.reg[NOW], delay = s.reg[DELAY], horizon = now + delay + reach(s, depth - 1)
    cdef int64_t others, release = now, undelayed = now, kept = 0, walked = 0, g, late, arrival
    cdef bint held = delay > 0
    extend(s, horizon)
    others = s.reg[GROUPS] - s.reg[OUT_COUNT]
    while walked < s.reg[SOON_COUNT] and s.due[s.soon[walked]] <= horizon:
        g = s.soon[walked]
        walked += 1
        others -= 1
        late = 0
        if held and g == saver:
            late = delay
            held = False
        arrival = walk(s, g, now + late, depth)
        if arrival < 0:
            arrival = -1 - arrival
            fail(s, g, arrival)
        else:
            s.soon[kept] = g
            kept += 1
        release = max(release, arrival)
        undelayed = max(undelayed, arrival - late)
    drop(s, kept, walked)
    if held:  # its clock lies beyond the horizon
        others -= 1
        arrival = walk(s, saver, now + delay, depth)
        arrival = -arrival if arrival < 0 else arrival
        release = max(release, arrival)
        undelayed = max(undelayed, arrival - delay)
    if others > 0:
        arrival = now + slowest_time(s, others, depth)
        release = max(release, arrival)
        undelayed = max(undelayed, arrival)
    s.reg[DELAY] = 0
    spend(s, NEEDED, s.reg[STACK_TIME])
    spend(s, REDUNDANT, (depth - 1) * s.reg[STACK_TIME])
    spend(s, WAITING, undelayed - now - depth * s.reg[STACK_TIME])
    spend(s, CHECKPOINT, release - undelayed)
    fail_due(s, release)


cdef int64_t to_patch(run_memory* s, life* stacks, int64_t groups, int64_t* counts) noexcept nogil:
    """Fill ``counts`` (r + 1 numbers) with the groups that patch 1, 2, ... stacks; returns the most of any group."""
    cdef int64_t size = s.reg[REDUNDANCY] + 1, g, i, places, most = 0
    if s.reg[PATCH_ALL] == 0:
        counts[1] = groups
        s.reg[PATCH_STACKS] += groups
        return 1
    memset(counts, 0, size * sizeof(int64_t))
    if stacks.depth > stacks.before:
        for g in range(s.reg[GROUPS]):
            if s.status[g] != FOUND:
                counts[places_again(stacks, g)] += 1
    else:
        for i in range(stacks.touched_count):
            counts[places_again(stacks, stacks.touched[i])] += 1
    for places in range(1, size):
        s.reg[PATCH_STACKS] += places * counts[places]
        if counts[places] > 0:
            most = places
    return most


cdef void patch(run_memory* s, life* stacks, int64_t groups, int64_t* counts) noexcept nogil:
    """The ``groups`` whose prefix changed or grew compute again: one stack, or every changed place."""
    cdef int64_t now = s.reg[NOW], most = to_patch(s, stacks, groups, counts), horizon = now + reach(s, most - 1)
    cdef int64_t release = now, kept = 0, walked = 0, g, places, arrival
    extend(s, horizon)
    while walked < s.reg[SOON_COUNT] and s.due[s.soon[walked]] <= horizon:
        g = s.soon[walked]
        walked += 1
        places = min(places_again(stacks, g), most)
        arrival = now
        if places > 0:
            counts[places] -= 1
            arrival = walk(s, g, now, places)
        if arrival < 0:
            arrival = -1 - arrival
            fail(s, g, arrival)
        else:
            s.soon[kept] = g
            kept += 1
        release = max(release, arrival)
    drop(s, kept, walked)
    for places in range(1, most + 1):
        if counts[places] > 0:
            release = max(release, now + slowest_time(s, counts[places], places))
    spend(s, PATCH_TIME, release - now)
    note(s, PATCH, release, groups, 0)
    fail_due(s, release)


cdef bint recover(run_memory* s, life* stacks, int64_t* counts, int64_t seen) noexcept nogil:
    """What follows an all-reduce while failures are found; returns whether the step can commit.

    ``seen``: how many of the groups that are out the controller knows already.
    """
    cdef int64_t i
    cdef decision made
    while s.reg[OUT_COUNT] > seen:
        found_allreduce(s)
        if s.reg[SCHEME] != SPARE:
            return False
        for i in range(seen, s.reg[OUT_COUNT]):
            take_out(stacks, s.out[i])
        seen = s.reg[OUT_COUNT]
        made = decide(stacks)
        if made.phase == PHASE_WIPED:
            return False
        shrink(s)
        if made.phase == PHASE_FIXED:
            s.reg[FIXED] += 1
            return True
        if made.phase == PHASE_DEEPER:
            s.reg[DEEPER] += 1
        else:
            s.reg[REORDERS] += 1
            s.reg[MOVES] += made.moves
        note(s, REORDER, s.reg[NOW], made.moves, stacks.depth)
        patch(s, stacks, made.patch, counts)
    spend(s, ALLREDUCE, s.reg[ALLREDUCE_TIME])
    return True


cdef int64_t save_by_first_alive(run_memory* s) noexcept nogil:
    """The lowest-numbered alive group saves unless it has failed; returns it, or -1."""
    cdef int64_t g = s.reg[FIRST_ALIVE]
    while g < s.reg[GROUPS] and s.status[g] == FOUND:
        g += 1
    s.reg[FIRST_ALIVE] = g
    if g == s.reg[GROUPS]:
        return -1
    extend(s, s.reg[NOW])
    if s.due[g] <= s.reg[NOW]:
        take(s, g)
        fail(s, g, s.reg[NOW])
        return -1
    save(s)
    return g


cdef int64_t rejoin_groups(run_memory* s, life* stacks, int64_t seen) noexcept nogil:
    """A step begins where groups can come back; returns how many do. The depth is then as the rule says."""
    cdef int64_t i, moves, back = come_back(s, s.out[seen] if s.reg[OUT_COUNT] > seen else -1)
    if back > 0:
        for i in range(back):
            rejoin(stacks, s.back[i])
        if s.reg[KEEP_DEPTH] == 0:
            moves = relax(stacks)
            s.reg[REJOIN_MOVES] += moves
            if stacks.depth < stacks.before:
                note(s, REJOIN, s.reg[NOW], moves, stacks.depth)
    return back


cdef void run_spare(
    run_memory* s, life* stacks, int64_t* counts, int64_t first, int64_t* rows, Py_ssize_t count) noexcept nogil:
    """Runs first, first + 1, ..., a row each; ``counts``, r + 1 numbers, is workspace."""
    cdef int64_t seen, saver
    cdef Py_ssize_t i
    cdef bint alive, elastic = s.reg[ELASTIC] > 0
    for i in range(count):
        open_book(s, first + i)
        start(s)
        restock(s)
        reset(stacks)
        seen, saver = 0, -1
        while goes_on(s):
            begin_step(s)
            if elastic:
                seen -= rejoin_groups(s, stacks, seen)
            compute_stacks(s, stacks.depth, saver)
            saver = -1
            if s.reg[OUT_COUNT] > seen:
                alive = recover(s, stacks, counts, seen)
            else:
                spend(s, ALLREDUCE, s.reg[ALLREDUCE_TIME])
                alive = True
            s.reg[DEPTH_STEPS + stacks.depth - 1] += 1
            if alive:
                seen = s.reg[OUT_COUNT]
                if commit(s, stacks.depth):
                    saver = save_by_first_alive(s)
            else:
                roll_back(s, restart(s))
                restock(s)
                reset(stacks)
                s.reg[FIRST_ALIVE] = 0
                seen = 0
        close_book(s, rows + i * (NAMED + s.reg[REDUNDANCY]))
