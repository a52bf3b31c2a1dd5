# Included by ahead_stacks.pyx: augmenting paths for the types that the sweep left open, lane by lane, as in
# stacks_paths, where the search is described. States of types are here as there (DONE is the top bit).

cdef enum:
    DONE = 0x8000
    HELD = 0x807F  # DONE and a place
    AROUND = 24  # groups around the free ones of a ring that make them a target hard to miss
cdef uint32_t ALWAYS = 0xFFFFFFFF


cdef struct Box:
    # of every group: the type that would come into it, and the place that the type has there
    uint16_t* shard
    uint16_t* place
    # the type that would leave it for a group nearer to a free one, and its place there
    uint16_t* away
    uint16_t* there
    uint16_t* groups  # a list: groups met coming from the free ones
    uint16_t* free  # a list: free groups
    uint16_t* state  # of every type: its state, as in stacks_sweep
    uint16_t* queue  # a list: types met
    uint16_t* next  # a stack: those still to look at, on a ring
    uint16_t* open  # a list: types open in some lane
    uint16_t* lanes  # and in which (bit mask)
    # the number of the last search that met a group coming from the open type (ALWAYS: it is not alive), and coming
    # from the free groups (ALWAYS: it is free itself)
    uint32_t* seen
    uint32_t* back


cdef void lay_out(Box* box, uint16_t* halves, uint32_t* words, Py_ssize_t groups) noexcept nogil:
    """``halves``: uint16[11 (N + 1)], ``words``: uint32[2 (N + 1)]."""
    cdef Py_ssize_t n = groups + 1
    box.shard, box.place, box.away, box.there = halves, halves + n, halves + 2 * n, halves + 3 * n
    box.groups, box.free, box.state, box.queue = halves + 4 * n, halves + 5 * n, halves + 6 * n, halves + 7 * n
    box.next, box.open, box.lanes = halves + 8 * n, halves + 9 * n, halves + 10 * n
    box.seen, box.back = words, words + n


cdef Py_ssize_t enter_lane(
    const Shape* s, const int16_t* ages, int16_t bound, const int16_t* types, const uint16_t* free, int lane,
    Box* box) noexcept nogil:
    """Take one lane out of the sixteen; returns the number of free groups, listed in the box."""
    cdef Py_ssize_t g, frees = 0
    cdef bint is_free
    for g in range(s.groups):
        is_free = (free[g] >> lane) & 1
        box.free[frees] = <uint16_t>g
        frees += is_free
        box.back[g] = -<uint32_t>is_free
        box.seen[g] = -<uint32_t>(ages[16 * g + lane] >= bound)
        box.state[g] = <uint16_t>types[16 * g + lane] ^ DONE
    box.seen[s.groups] = ALWAYS
    box.state[s.groups] = 0
    return frees


cdef Py_ssize_t meet(
    const Shape* s, int depth, Py_ssize_t start, Py_ssize_t meeting, Py_ssize_t frees, Box* box) noexcept nogil:
    """Move types along the path from ``start`` over group ``meeting`` to a free one; returns how many remain free."""
    cdef Py_ssize_t r = s.redundancy, end = meeting, h = meeting, t, place, before, at = 0
    cdef int load = 0
    if box.back[meeting]:
        while box.back[end] != ALWAYS:
            t = box.away[end]
            place = box.there[end]
            box.state[t] = <uint16_t>(DONE + place)
            end = s.hosts[t * r + place]
    while True:
        t = box.shard[h]
        before = box.state[t] & 127
        box.state[t] = <uint16_t>(DONE + box.place[h])
        if t == start:
            break
        h = s.hosts[t * r + before]
    for place in range(r):
        load += (box.state[s.stacks[end * r + place]] & HELD) == DONE + place
    if load < depth:
        return frees
    box.back[end] = 0
    while box.free[at] != end:
        at += 1
    box.free[at] = box.free[frees - 1]
    return frees - 1


cdef inline Py_ssize_t away(Py_ssize_t a, Py_ssize_t b, Py_ssize_t groups) noexcept nogil:
    """How far two numbers are from each other on a ring of so many."""
    cdef Py_ssize_t distance = a - b if a > b else b - a
    return min(distance, groups - distance)


cdef Py_ssize_t start_at_free(const Shape* s, Py_ssize_t start, Py_ssize_t frees, Box* box) noexcept nogil:
    """List the free groups to search from; on a ring the one nearest to ``start`` first, which is returned."""
    cdef Py_ssize_t i, distance, nearest = s.groups
    for i in range(frees):
        box.groups[i] = box.free[i]
        if s.ring:
            distance = away(box.free[i], start, s.groups)
            if distance < nearest:
                nearest = distance
                box.groups[i] = box.groups[0]
                box.groups[0] = box.free[i]
    return box.groups[0]


cdef Py_ssize_t push(
    Py_ssize_t target, Py_ssize_t groups, Py_ssize_t first, Py_ssize_t tail, Py_ssize_t top, Box* box) noexcept nogil:
    """Stack the types ``queue[first:tail]``, the one nearest to ``target`` last."""
    cdef Py_ssize_t i, distance, nearest = groups
    for i in range(first, tail):
        distance = away(box.queue[i], target, groups)
        if distance <= nearest:
            nearest = distance
            box.next[top] = box.queue[i]
        else:
            box.next[top] = box.next[top - 1]
            box.next[top - 1] = box.queue[i]
        top += 1
    return top


cdef Py_ssize_t augment16(
    const Shape* s, int depth, Py_ssize_t start, Py_ssize_t* frees, uint32_t number, Box* box) noexcept nogil:
    """Give type ``start`` a group, moving others along an alternating path if need be.

    Returns 0, or the number of types met, which overfill their alive hosts.
    """
    cdef Py_ssize_t r = s.redundancy, groups = s.groups, head = 0, tail = 1, top = 1, first, entry, place
    cdef Py_ssize_t back_head = 0, back_tail = frees[0], target = -1, work = 0, t, h, g
    cdef const uint16_t* row
    cdef const uint16_t* stack
    cdef uint16_t state
    box.queue[0] = box.next[0] = <uint16_t>start
    while head < tail:
        if s.ring:
            if top == 0:
                break
            top -= 1
            t = box.next[top]
        else:
            t = box.queue[head]
            head += 1
        work += r
        first = tail
        row = s.hosts + t * r
        for entry in range(r):
            h = row[entry]
            if box.seen[h] >= number:
                continue
            box.seen[h] = number
            box.shard[h] = <uint16_t>t
            box.place[h] = <uint16_t>entry
            if box.back[h] >= number:
                frees[0] = meet(s, depth, start, h, frees[0], box)
                return 0
            work += r
            stack = s.stacks + h * r
            for place in range(r):
                box.queue[tail] = stack[place]
                tail += (box.state[stack[place]] & HELD) == DONE + place
        if target < 0:
            target = start_at_free(s, start, frees[0], box)
        if s.ring:
            top = push(target, groups, first, tail, top, box)
        while work > 0 and back_head < back_tail and (not s.ring or back_head < AROUND):
            g = box.groups[back_head]
            back_head += 1
            work -= r
            stack = s.stacks + g * r
            for place in range(r):
                t = stack[place]
                state = box.state[t]
                if state < DONE:
                    continue
                h = s.hosts[t * r + (state & 127)]
                if box.back[h] < number:
                    box.back[h] = number
                    box.away[h] = <uint16_t>t
                    box.there[h] = <uint16_t>place
                    if box.seen[h] == number:
                        frees[0] = meet(s, depth, start, h, frees[0], box)
                        return 0
                    box.groups[back_tail] = <uint16_t>h
                    back_tail += 1
    return tail


cdef int32_t raise_lane(
    const Shape* s, const int16_t* ages, int32_t bound, int lane, int depth, Py_ssize_t start, Py_ssize_t met,
    Py_ssize_t* frees, Box* box) noexcept nogil:
    """Let one more host of the ``met`` types live and give ``start`` a group by way of it; the bound at which it does."""
    cdef int32_t age, raised = TOP + 1
    cdef Py_ssize_t i, entry, t, h, g, revived = s.hosts[0]
    for i in range(met):
        t = box.queue[i]
        for entry in range(s.redundancy):
            h = s.hosts[t * s.redundancy + entry]
            age = ages[16 * h + lane]
            if bound <= age and age < raised - 1:
                raised = age + 1
                revived = h
                box.shard[h] = <uint16_t>t
                box.place[h] = <uint16_t>entry
    for g in range(s.groups):
        age = ages[16 * g + lane]
        if bound <= age and age < raised:
            box.seen[g] = 0
            box.back[g] = ALWAYS
            box.free[frees[0]] = <uint16_t>g
            frees[0] += 1
    frees[0] = meet(s, depth, start, revived, frees[0], box)
    return raised


cdef void complete16(
    const Shape* s, const int16_t* ages, int16_t* bounds, int depth, const int16_t* types, const uint16_t* free,
    uint32_t lanes, Box* box) noexcept nogil:
    """Assign the types that the sweep left open, in the ``lanes``; raises ``bounds`` to where that is possible."""
    cdef spare_lanes zero = spare_splat(0)
    cdef Py_ssize_t waiting = 0, t, i, frees, start, met
    cdef uint32_t mask, some = 0, number
    cdef int32_t bound
    cdef int lane
    for t in range(s.groups):
        mask = spare_mask_below(spare_load(types + 16 * t), zero) & lanes
        if mask:
            box.open[waiting] = <uint16_t>t
            box.lanes[waiting] = <uint16_t>mask
            some |= mask
            waiting += 1
    for lane in range(16):
        if not (some >> lane) & 1:
            continue
        bound = bounds[lane]
        frees = enter_lane(s, ages, <int16_t>bound, types, free, lane, box)
        number = 0
        for i in range(waiting):
            if not (box.lanes[i] >> lane) & 1:
                continue
            number += 1
            start = box.open[i]
            met = augment16(s, depth, start, &frees, number, box)
            if met > 0:
                # they overfill their alive hosts at this bound and at all up to their next dead host
                bound = raise_lane(s, ages, bound, lane, depth, start, met, &frees, box)
        bounds[lane] = <int16_t>bound
