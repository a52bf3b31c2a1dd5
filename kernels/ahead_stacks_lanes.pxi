# Included by ahead_stacks.pyx: sixteen trials side by side, as in stacks_lanes, stacks_sweep, stacks_arcs and
# stacks_blocks, where the methods are described.
#
# Ages, bounds and the states of types are those of the Numba kernels less 32,768, so that they compare as signed
# numbers. A lane of a comparison is -1 or 0: `alive ^ BOTTOM` is then the highest value or the lowest, and an and
# with it is what the Numba kernels multiply by.

cdef enum:
    STEP = 128  # of a type's state: one host still to come
    NOBODY = 0x4000  # the state of type N; see stacks_sweep


cdef void draw_ages(int16_t* ages, Py_ssize_t groups, uint32_t k0, uint32_t k1, uint64_t first) noexcept nogil:
    cdef spare_lanes ones = spare_splat(-1), most = spare_splat(TOP - 1)
    cdef Py_ssize_t x
    draw_trials16(ages, (groups + 3) >> 2, k0, k1, first)
    for x in range(0, 16 * groups, 16):
        spare_store(ages + x, spare_min(spare_xor(spare_load(ages + x), ones), most))
    spare_store(ages + 16 * groups, spare_splat(TOP))


cdef void rank_ages(
    int16_t* ages, Py_ssize_t groups, int lane, uint32_t* keys, uint64_t* sorting, uint32_t k0, uint32_t k1,
    uint64_t trial) noexcept nogil:
    """One lane by the exact places; ``keys``: uint32[N], ``sorting``: uint64[2 N], scratch."""
    cdef uint32_t[3][2049] ends
    cdef uint64_t* source = sorting
    cdef uint64_t* target = sorting + groups
    cdef Py_ssize_t g
    cdef uint32_t key, value
    cdef int digit
    memset(ends, 0, sizeof(ends))
    draw_full(keys, groups, k0, k1, trial)
    for g in range(groups):
        key = keys[g]
        source[g] = <uint64_t>key << 16 | <uint64_t>g
        ends[0][(key & 2047) + 1] += 1
        ends[1][((key >> 11) & 2047) + 1] += 1
        ends[2][(key >> 22) + 1] += 1
    for digit in range(3):
        for value in range(2048):
            ends[digit][value + 1] += ends[digit][value]
        for g in range(groups):
            value = <uint32_t>(source[g] >> (16 + 11 * digit)) & 2047
            target[ends[digit][value]] = source[g]
            ends[digit][value] += 1
        source, target = target, source
    for g in range(groups):
        ages[16 * <Py_ssize_t>(source[g] & 0xFFFF) + lane] = <int16_t>(groups - 1 - g + BOTTOM)
    ages[16 * groups + lane] = TOP


cdef void wipe_out_bounds(const Shape* s, const int16_t* ages, int16_t* bounds) noexcept nogil:
    cdef spare_lanes last, latest = spare_splat(BOTTOM)
    cdef const uint16_t* row = s.hosts
    cdef Py_ssize_t t, place
    for t in range(s.groups):
        last = spare_load(ages + 16 * <Py_ssize_t>row[0])
        for place in range(1, s.redundancy):
            last = spare_min(last, spare_load(ages + 16 * <Py_ssize_t>row[place]))
        latest = spare_max(latest, last)
        row += s.redundancy
    spare_store(bounds, spare_add(latest, spare_splat(1)))


cdef void count_alive(
    const int16_t* ages, Py_ssize_t groups, const int16_t* bounds, int32_t* alive, uint32_t* clear) noexcept nogil:
    """Groups alive in every lane; bit i of ``clear``: whether one only is of the greatest age alive in lane i."""
    cdef spare_lanes bound = spare_load(bounds), last = spare_sub(bound, spare_splat(1)), age
    cdef spare_lanes below = spare_splat(BOTTOM), same = spare_splat(0)
    cdef int16_t[16] part
    cdef Py_ssize_t x
    cdef int lane
    for x in range(0, 16 * groups, 16):
        age = spare_load(ages + x)
        below = spare_tally_below(below, age, bound)
        same = spare_tally_equal(same, age, last)
    spare_store(part, below)
    for lane in range(16):
        alive[lane] = <int32_t>part[lane] - BOTTOM
    clear[0] = spare_mask_equal(same, spare_splat(1))


cdef void bounds_of_count(const int16_t* ages, Py_ssize_t groups, Py_ssize_t count, int16_t* bounds) noexcept nogil:
    cdef spare_lanes wanted = spare_splat(<int16_t>(count + BOTTOM))
    cdef spare_lanes bound = spare_splat(BOTTOM), step, tried, below
    cdef Py_ssize_t x
    cdef int bit
    for bit in range(16):
        step = spare_splat(<int16_t>(0x8000 >> bit))
        tried = spare_xor(bound, step)
        below = spare_splat(BOTTOM)
        for x in range(0, 16 * groups, 16):
            below = spare_tally_below(below, spare_load(ages + x), tried)
        bound = spare_xor(bound, spare_and(step, spare_below(below, wanted)))
    spare_store(bounds, spare_add(bound, spare_splat(1)))


cdef void sweep16(
    const Shape* s, const int16_t* ages, const int16_t* bounds, int depth, int16_t* types, uint16_t* free,
    int16_t* places) noexcept nogil:
    cdef spare_lanes bound = spare_load(bounds), zero = spare_splat(0), one = spare_splat(1)
    cdef spare_lanes highest = spare_splat(TOP), flip = spare_splat(BOTTOM), most = spare_splat(<int16_t>depth)
    cdef spare_lanes left, alive, here, urgency, first, second, third, last, limit, passed, state, taken, load
    cdef Py_ssize_t g, place, r = s.redundancy
    cdef const uint16_t* row = s.hosts
    cdef int16_t* at
    cdef int turn
    for g in range(s.groups):
        left = zero
        for place in range(r):
            left = spare_tally_below(left, spare_load(ages + 16 * <Py_ssize_t>row[place]), bound)
        spare_store(types + 16 * g, spare_xor(spare_shift_left(left, 7), flip))
        row += r
    spare_store(types + 16 * s.groups, spare_splat(NOBODY))
    row = s.stacks
    for g in range(s.groups):
        alive = spare_below(spare_load(ages + 16 * g), bound)
        last = highest  # the depth-th smallest urgency, found by so many passes of a bubble sort
        here = zero
        if depth == 2:
            first = highest
            for place in range(r):
                urgency = spare_or(spare_load(types + 16 * <Py_ssize_t>row[place]), here)
                here = spare_add(here, one)
                last = spare_min(last, spare_max(first, urgency))
                first = spare_min(first, urgency)
        elif depth == 3:
            first = second = highest
            for place in range(r):
                urgency = spare_or(spare_load(types + 16 * <Py_ssize_t>row[place]), here)
                here = spare_add(here, one)
                left = spare_max(first, urgency)
                first = spare_min(first, urgency)
                last = spare_min(last, spare_max(second, left))
                second = spare_min(second, left)
        elif depth == 4:
            first = second = third = highest
            for place in range(r):
                urgency = spare_or(spare_load(types + 16 * <Py_ssize_t>row[place]), here)
                here = spare_add(here, one)
                left = spare_max(first, urgency)
                first = spare_min(first, urgency)
                urgency = spare_max(second, left)
                second = spare_min(second, left)
                last = spare_min(last, spare_max(third, urgency))
                third = spare_min(third, urgency)
        else:
            for place in range(r):
                urgency = spare_or(spare_load(types + 16 * <Py_ssize_t>row[place]), here)
                here = spare_add(here, one)
                spare_store(places + 16 * place, spare_max(last, urgency))
                last = spare_min(last, urgency)
            for turn in range(1, depth):
                last = highest
                for place in range(r):
                    urgency = spare_load(places + 16 * place)
                    spare_store(places + 16 * place, spare_max(last, urgency))
                    last = spare_min(last, urgency)
        # dead lanes take none
        limit = spare_xor(spare_and(spare_xor(spare_min(spare_add(last, one), zero), flip), alive), flip)
        passed = spare_and(alive, spare_splat(STEP))
        load = zero
        here = zero
        for place in range(r):
            at = types + 16 * <Py_ssize_t>row[place]
            state = spare_load(at)
            taken = spare_below(spare_or(state, here), limit)
            load = spare_sub(load, taken)
            # a type taken is of no group yet: its low bits are clear and its top bit is set
            spare_store(at, spare_xor(spare_sub(state, passed), spare_and(taken, spare_xor(here, flip))))
            here = spare_add(here, one)
        free[g] = <uint16_t>spare_mask_below(load, spare_and(most, alive))
        if row[r - 1] == s.groups:
            spare_store(types + 16 * s.groups, spare_splat(NOBODY))
        row += r


cdef void raise_by_walk(
    const int16_t* ages, Py_ssize_t groups, Py_ssize_t redundancy, int depth, int16_t* bounds) noexcept nogil:
    cdef spare_lanes zero = spare_splat(0), one = spare_splat(1), flip = spare_splat(BOTTOM)
    cdef spare_lanes served = spare_splat(<int16_t>depth), full = spare_splat(<int16_t>(redundancy - 1))
    cdef spare_lanes bound = spare_load(bounds), queue, latest, emptied, age, alive, empty, over, most
    cdef bint settled = False
    cdef Py_ssize_t step
    while not settled:
        settled = True
        queue = emptied = zero
        latest = spare_splat(TOP)
        for step in range(2 * groups):
            age = spare_load(ages + 16 * (step if step < groups else step - groups))
            alive = spare_below(age, bound)
            most = spare_and(served, alive)
            queue = spare_sub(spare_max(spare_add(queue, one), most), most)
            latest = spare_min(latest, spare_max(age, spare_xor(alive, flip)))
            empty = spare_equal(queue, zero)
            latest = spare_max(latest, spare_xor(empty, flip))
            over = spare_below(full, queue)
            if spare_bits(over):
                settled = False
                # `latest + 1` where the queue is full, elsewhere the lowest
                latest = spare_add(latest, one)
                bound = spare_max(bound, spare_xor(spare_and(spare_xor(latest, flip), over), flip))
                queue = spare_and_not(queue, over)
                latest = spare_max(spare_sub(latest, one), spare_xor(over, flip))
            if step >= groups:
                emptied = spare_or(emptied, empty)
                if spare_bits(emptied) == 0xFFFF:
                    break  # from here on the second round repeats the first
    spare_store(bounds, bound)


cdef void bounds_by_blocks(
    const int64_t* starts, Py_ssize_t blocks, const int16_t* ages, Py_ssize_t redundancy, int16_t* bounds,
    int16_t* members) noexcept nogil:
    """The bounds of all depths: ``bounds`` int16[r+1, 16], row d for depth d >= 2."""
    cdef spare_lanes highest = spare_splat(TOP), one = spare_splat(1), least, age
    cdef Py_ssize_t depth, block, size, member, needed
    cdef const int16_t* first
    for depth in range(redundancy + 1):
        spare_store(bounds + 16 * depth, spare_splat(BOTTOM))
    for block in range(blocks):
        size = starts[block + 1] - starts[block]
        first = ages + 16 * starts[block]
        for member in range(size):
            spare_store(members + 16 * member, spare_load(first + 16 * member))
        depth = redundancy
        for needed in range(1, (size + 1) // 2 + 1):
            least = highest  # the needed-th smallest age, found by so many passes of a bubble sort
            for member in range(size):
                age = spare_load(members + 16 * member)
                spare_store(members + 16 * member, spare_max(least, age))
                least = spare_min(least, age)
            while depth >= 2 and (size + depth - 1) // depth <= needed:
                spare_store(
                    bounds + 16 * depth, spare_max(spare_load(bounds + 16 * depth), spare_add(least, one)))
                depth -= 1
