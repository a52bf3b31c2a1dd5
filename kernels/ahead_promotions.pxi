# The fewest promotions into prefixes: promotions.py step for step, where the method is told. Part of
# ahead_controller.pxi.

cdef enum:  # flags of types
    PROMOTED = 1
    SHED = 2


cdef bint promote(life* s, int64_t depth) noexcept nogil:
    """Cover the uncovered types at ``depth``; False where that cannot be done (the caller undoes the changes)."""
    cdef int64_t step = 4 * s.groups + 8  # above every distance
    cdef int64_t priced = 0, i, k, g, end, distance, seen
    i = promote_directly(s, depth, 0)
    while i < s.uncovered_count:
        if s.base < 2 * step:
            for g in range(s.groups):
                if s.label[g] != OUT_LABEL:
                    s.label[g] = FAR
            s.base = FAR
        s.base -= step
        end = search(s, depth, s.uncovered[i], &distance, &seen)
        if end < 0:
            break
        i += 1
        if i < s.uncovered_count:
            priced = lower(s, seen, s.base + distance, priced)
        apply_path(s, depth, end)
        i = promote_directly(s, depth, i)
    for k in range(priced):
        s.pi[s.priced[k]] = 0
    return i == s.uncovered_count


cdef inline int64_t touch(life* s, int64_t depth, int64_t g) noexcept nogil:
    """Where group g's prefix of before this decision is saved."""
    cdef int64_t place, slot = s.slot[g]
    if slot < 0:
        slot = s.touched_count
        s.touched_count = slot + 1
        s.slot[g] = slot
        s.touched[slot] = g
        for place in range(depth):
            s.saved[slot * s.redundancy + place] = s.stack[g * s.redundancy + place]
    return slot


cdef int64_t promote_directly(life* s, int64_t depth, int64_t i) noexcept nogil:
    """Promote the uncovered types from the i-th on while a host has a type to spare; returns where that ends."""
    cdef int64_t t, j, g, place, x
    cdef bint done
    while i < s.uncovered_count:
        t = s.uncovered[i]
        done = False
        for j in range(t * s.redundancy, (t + 1) * s.redundancy):
            g = s.hosts[j]
            if s.label[g] == OUT_LABEL:
                continue
            for place in range(g * s.redundancy, g * s.redundancy + depth):
                x = s.stack[place]
                if s.cover[x] >= 2:
                    touch(s, depth, g)
                    s.stack[place] = t
                    s.cover[t] = 1
                    s.flag[t] = PROMOTED
                    s.cover[x] -= 1
                    s.flag[x] |= SHED
                    done = True
                    break
            if done:
                break
        if not done:
            break
        i += 1
    return i


cdef int64_t search(life* s, int64_t depth, int64_t start, int64_t* distance, int64_t* seen) noexcept nogil:
    """Cheapest path from the uncovered type ``start``; returns its end or -1, its distance, queue entries used."""
    cdef int64_t r = s.redundancy, base = s.base
    cdef int64_t end = -1, bound = FAR, top = 0, tail = 0, d = 0, g = -1
    cdef int64_t which, x, price, shed, j, h, to, slot, place, entry
    s.bucket[0] = -1
    while True:
        for which in range(depth if g >= 0 else 1):
            x = start
            price = d + 1
            if g >= 0:
                x = s.stack[g * r + which]
                price += s.pi[g] - (s.flag[x] & PROMOTED)
            shed = s.flag[x] & SHED
            for j in range(x * r, x * r + r):
                h = s.hosts[j]
                to = price - s.pi[h]
                if shed and s.slot[h] >= 0:
                    slot = s.slot[h] * r
                    for place in range(depth):
                        if s.saved[slot + place] == x:
                            to -= 1
                            break
                # The group that holds x now is no exception: it was reached at no greater distance.
                if to >= bound or base + to >= s.label[h]:
                    continue
                s.label[h] = <int32_t>(base + to)
                s.via[h] = x
                s.origin[h] = <int32_t>g
                while top < to:
                    top += 1
                    s.bucket[top] = -1
                s.queue[tail] = h
                s.queue_next[tail] = s.bucket[to]
                s.bucket[to] = tail
                tail += 1
                for place in range(h * r, h * r + depth):
                    if s.cover[s.stack[place]] >= 2:
                        end = h
                        bound = to
                        break
        while True:
            if d > top or d >= bound:
                distance[0], seen[0] = bound, tail
                return end
            entry = s.bucket[d]
            if entry < 0:
                d += 1
                continue
            s.bucket[d] = s.queue_next[entry]
            g = s.queue[entry]
            if s.label[g] == base + d:  # else it was reached cheaper since, and expanded
                break


cdef int64_t lower(life* s, int64_t seen, int64_t goal, int64_t priced) noexcept nogil:
    """Potentials after a search: every group nearer than the end comes down by what it is nearer."""
    cdef int64_t entry, g, nearer
    for entry in range(seen):
        g = s.queue[entry]
        nearer = s.label[g] - goal
        if nearer < 0:
            if s.pi[g] == 0:
                s.priced[priced] = g
                priced += 1
            s.pi[g] += nearer
            s.label[g] = FAR  # once, however often it was queued
    return priced


cdef void apply_path(life* s, int64_t depth, int64_t end) noexcept nogil:
    """Walk the path back from its last group: each displaces what goes on and takes in what arrives."""
    cdef int64_t r = s.redundancy, g = end, leaving = -1, t, slot, place, vacated, own
    for place in range(g * r, g * r + depth):
        if s.cover[s.stack[place]] >= 2:
            leaving = s.stack[place]
            break
    s.cover[leaving] -= 1
    while g >= 0:
        t = s.via[g]
        slot = touch(s, depth, g) * r
        vacated, own = 0, -1
        for place in range(depth):
            if s.stack[g * r + place] == leaving:
                vacated = place
            if s.saved[slot + place] == t:
                own = place
        if own >= 0:
            # It stood here: back to its own place, whose promoted holder moves to the vacated one.
            s.stack[g * r + vacated] = s.stack[g * r + own]
            s.stack[g * r + own] = t
            s.flag[t] &= ~PROMOTED
        else:
            s.stack[g * r + vacated] = t
            s.flag[t] |= PROMOTED
        s.flag[leaving] |= SHED
        leaving = t
        g = s.origin[g]
    s.cover[leaving] = 1
