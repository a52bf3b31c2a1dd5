# Included by ahead_stacks.pyx: one trial at a time, for layouts too large for lanes and for given keys, as in
# stacks_single, stacks_values and matching, where the methods are described. Groups are alive when their value is at
# least a threshold; values: uint32[N+1], the last one 0.

cdef enum:
    SETTLED = 1 << 30  # of Work.left: the type has its group
    OUT = 0x7FFFFFFF  # of Work.seen: the group is not alive


cdef struct Work:
    const uint32_t* hosts  # [N, r], padded with N
    const uint32_t* stacks
    int64_t groups, redundancy
    int32_t* left  # of every type: alive hosts that the sweep has still to pass, or SETTLED
    int32_t* host  # of every type: the group that computes it
    int32_t* load  # of every group: types taken
    int32_t* held  # which: group g's are held[g * depth : g * depth + load[g]]
    int32_t* seen  # of every group: last search that met it, or OUT
    int32_t* via  # of every group: type through which that search met it
    int32_t* queue  # types met by a search, in order
    int32_t* list  # alive groups, or types without a host
    int64_t* places  # one group's stack, urgency first


cdef void lay_out_work(Work* w, int32_t* words, int64_t* places) noexcept nogil:
    """``words``: int32[7 (N + 1) + N r], ``places``: int64[r]."""
    cdef Py_ssize_t n = w.groups + 1
    w.left, w.host, w.load, w.seen = words, words + n, words + 2 * n, words + 3 * n
    w.via, w.queue, w.list, w.held = words + 4 * n, words + 5 * n, words + 6 * n, words + 7 * n
    w.places = places


# ---- order statistics ------------------------------------------------------------------------------------------


cdef int64_t count_below(const uint32_t* values, int64_t start, int64_t stop, int64_t bound) noexcept nogil:
    cdef int64_t i, below = 0
    for i in range(start, stop):
        below += values[i] < bound
    return below


cdef int64_t count_equal(const uint32_t* values, int64_t stop, int64_t value) noexcept nogil:
    cdef int64_t i, equal = 0
    for i in range(stop):
        equal += values[i] == value
    return equal


cdef int64_t select(const uint32_t* values, int64_t start, int64_t stop, int64_t rank) noexcept nogil:
    """The value at place ``rank`` of ``values[start:stop]`` in sorted order; see ``stacks_values.select``."""
    cdef int64_t low = 0, below_low = 0, high = <int64_t>1 << 32, below_high = stop - start, cut, below, least, i
    cdef bint halve = False
    while below_high - below_low > 1 and high - low > 1:
        if halve:
            cut = (low + high) >> 1
        else:
            cut = low + <int64_t>(<double>(high - low) * ((rank - below_low + 0.5) / (below_high - below_low)))
            cut = min(max(cut, low + 1), high - 1)
        halve = not halve
        below = count_below(values, start, stop, cut)
        if below <= rank:
            low, below_low = cut, below
        else:
            high, below_high = cut, below
    least = high
    for i in range(start, stop):
        if low <= values[i] and values[i] < least:
            least = values[i]
    return least


cdef void rank_keys(uint32_t* values, int64_t n, uint64_t* sorting) noexcept nogil:
    """Replace keys by their places in (key, group) order; ``sorting``: uint64[2 n], scratch."""
    cdef uint64_t* source = sorting
    cdef uint64_t* target = sorting + n
    cdef int64_t[257] ends
    cdef int64_t i
    cdef int digit, value
    for i in range(n):
        source[i] = <uint64_t>values[i] << 32 | <uint64_t>i
    for digit in range(4):
        memset(ends, 0, sizeof(ends))
        for i in range(n):
            ends[((source[i] >> (32 + 8 * digit)) & 255) + 1] += 1
        for value in range(256):
            ends[value + 1] += ends[value]
        for i in range(n):
            value = (source[i] >> (32 + 8 * digit)) & 255
            target[ends[value]] = source[i]
            ends[value] += 1
        source, target = target, source
    for i in range(n):
        values[source[i] & LOW] = <uint32_t>i


# ---- the greatest threshold, at most the given one, at which a depth suffices -----------------------------------


cdef int64_t lower_by_walk(
    const uint32_t* values, int64_t groups, int64_t redundancy, int64_t threshold, int64_t depth) noexcept nogil:
    """Contiguous layouts; see ``stacks_arcs.lower_by_walk``."""
    cdef int64_t empty = -1, queue = 0, step = 0, lower, value, i
    while step < 2 * groups:
        queue += 1
        if values[step if step < groups else step - groups] >= threshold:
            queue = max(queue - depth, 0)
        if queue == 0:
            empty = step
            if step >= groups:
                break  # from here on the second round repeats the first
        elif queue >= redundancy:
            lower = 0
            for i in range(empty + 1, step + 1):
                value = values[i if i < groups else i - groups]
                if value < threshold:
                    lower = max(lower, value)
            threshold = lower
            step = empty
            queue = 0
        step += 1
    return threshold


cdef int64_t lower_by_blocks(
    const int64_t* starts, Py_ssize_t blocks, const uint32_t* values, int64_t threshold, int64_t depth) noexcept nogil:
    """Partitions; see ``stacks_blocks.lower_by_blocks``."""
    cdef int64_t size, spare
    cdef Py_ssize_t block
    for block in range(blocks):
        size = starts[block + 1] - starts[block]
        spare = size - (size + depth - 1) // depth  # members the block can lose
        if count_below(values, starts[block], starts[block + 1], threshold) > spare:
            threshold = select(values, starts[block], starts[block + 1], spare)
    return threshold


cdef int64_t sweep(const uint32_t* values, int64_t threshold, int64_t depth, Work* w) noexcept nogil:
    """Greedy assignment; returns the number of types left without a group, which stand first in ``w.list``."""
    cdef int64_t g, i, t, place, alive = 0, load, best, open_types = 0, r = w.redundancy
    cdef const uint32_t* row
    for g in range(w.groups):
        w.list[alive] = <int32_t>g
        alive += values[g] >= threshold
        w.seen[g] = 0 if values[g] >= threshold else OUT
        w.left[g] = 0
    w.seen[w.groups] = OUT
    for i in range(alive):
        row = w.stacks + w.list[i] * r
        for place in range(r):
            w.left[row[place]] += 1
    w.left[w.groups] = SETTLED
    for i in range(alive):
        g = w.list[i]
        row = w.stacks + g * r
        for place in range(r):
            w.places[place] = <int64_t>w.left[row[place]] << 16 | place
            w.left[row[place]] -= 1
        load = 0
        while load < depth:
            best = <int64_t>1 << 60
            for place in range(r):
                best = min(best, w.places[place])
            if best >= <int64_t>1 << 44:  # between a type still open and one that is settled
                break
            place = best & 0xFFFF
            w.places[place] = <int64_t>1 << 60
            t = row[place]
            w.left[t] = SETTLED
            w.host[t] = <int32_t>g
            w.held[g * depth + load] = <int32_t>t
            load += 1
        w.load[g] = <int32_t>load
    for t in range(w.groups):
        if w.left[t] <= 0:
            w.list[open_types] = <int32_t>t
            open_types += 1
    return open_types


cdef int64_t augment(int64_t start, int64_t depth, int32_t search, Work* w) noexcept nogil:
    """Give type ``start`` a group by a shortest path; 0, or how many types stand in the queue that overfill theirs."""
    cdef int64_t head = 0, tail = 1, t, h, g, place, slot
    w.queue[0] = <int32_t>start
    while head < tail:
        t = w.queue[head]
        head += 1
        for place in range(w.redundancy):
            h = w.hosts[t * w.redundancy + place]
            if w.seen[h] >= search:
                continue
            w.seen[h] = search
            w.via[h] = <int32_t>t
            if w.load[h] < depth:
                slot = h * depth + w.load[h]
                w.load[h] += 1
                t = w.via[h]
                while t != start:
                    w.held[slot] = <int32_t>t
                    g = w.host[t]
                    w.host[t] = <int32_t>h
                    slot = g * depth
                    while w.held[slot] != t:
                        slot += 1
                    h = g
                    t = w.via[h]
                w.held[slot] = <int32_t>start
                w.host[start] = <int32_t>h
                return 0
            for slot in range(h * depth, h * depth + depth):
                w.queue[tail] = w.held[slot]
                tail += 1
    return tail


cdef int64_t revive(const uint32_t* values, int64_t threshold, int64_t met, Work* w) noexcept nogil:
    """The largest threshold that makes one more host of the types met alive, or -1."""
    cdef int64_t lower = -1, i, place, value, g
    cdef uint32_t h
    for i in range(met):
        for place in range(w.redundancy):
            h = w.hosts[w.queue[i] * w.redundancy + place]
            value = values[h]
            if value < threshold and h < w.groups:
                lower = max(lower, value)
    for g in range(w.groups):
        if lower <= values[g] and values[g] < threshold:
            w.seen[g] = 0
            w.load[g] = 0
    return lower


cdef int64_t lower_by_matching(const uint32_t* values, int64_t threshold, int64_t depth, Work* w) noexcept nogil:
    """Any table; see ``matching.lower_by_matching``."""
    cdef int64_t i, start, met, open_types = sweep(values, threshold, depth, w)
    cdef int32_t search = 0
    for i in range(open_types):
        start = w.list[i]
        while True:
            search += 1
            met = augment(start, depth, search, w)
            if met == 0:
                break
            threshold = revive(values, threshold, met, w)
            if threshold < 0:
                return threshold
    return threshold


# ---- one trial --------------------------------------------------------------------------------------------------


cdef bint row_of_values(
    int kind, const int64_t* starts, Py_ssize_t blocks, const uint32_t* values, Work* w, int32_t* out) noexcept nogil:
    """One trial's row; False if two groups tie where it matters."""
    cdef int64_t groups = w.groups, r = w.redundancy, wipe = <int64_t>1 << 32, last, t, place, endurable, reached = 0
    cdef int64_t depth, threshold
    cdef bint clear
    for t in range(groups):
        last = 0
        for place in range(r):
            last = max(last, <int64_t>values[w.hosts[t * r + place]])
        wipe = min(wipe, last)
    endurable = count_below(values, 0, groups, wipe)
    clear = count_equal(values, groups, wipe) == 1
    for place in range(r):
        out[place] = <int32_t>endurable
    out[0] = 0
    depth = 2
    while clear and reached < endurable:
        reached = groups - (groups + depth - 1) // depth  # beyond it the alive cannot take enough types
        threshold = select(values, 0, groups, reached) if reached < endurable else wipe
        if kind == ARCS:
            threshold = lower_by_walk(values, groups, r, threshold, depth)
        elif kind == BLOCKS:
            threshold = lower_by_blocks(starts, blocks, values, threshold, depth)
        else:
            threshold = lower_by_matching(values, threshold, depth, w)
        reached = count_below(values, 0, groups, threshold)
        clear = count_equal(values, groups, threshold) == 1
        out[depth - 1] = <int32_t>reached
        depth += 1
    return clear
