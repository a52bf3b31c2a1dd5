# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Survival compiled at install: no just-in-time start-up, the answers of ``survival`` to the bit.

The steps are those of ``patterns``, ``wipeout`` and ``survival``, described there, as loops over 16 lanes that a C
compiler turns into vectors. Keys are kept as their upper half less 32,768: the baseline x86-64 has maxima and
comparisons of signed 16-bit lanes only.
"""

import numpy as np

from .survival_plan import plan

include "ahead_keys.pxi"

__all__ = ["endurable", "pattern_keys", "plan"]

# a plan's numbers, kinds and ways, in the order of survival_plan
cdef enum:
    GROUPS, KIND, SPAN, WIDTH, ROWS, THRESHOLD, LOOK, NUMBERS
cdef enum:
    CIRCULANT, PARTITION, TABLE
cdef enum:
    LANES, SINGLE, BITS

cdef uint64_t NEVER = 0xFFFFFFFFFFFFFFFF
cdef enum:
    FLUSH = 32767  # rows after which 16-bit tallies are emptied, before they can wrap


# ---- keys ------------------------------------------------------------------------------------------------------


cdef void trial1(int16_t[::1] keys, Py_ssize_t draws, uint32_t k0, uint32_t k1, uint64_t trial) noexcept nogil:
    cdef spare_schedule schedule
    cdef Py_ssize_t draw
    spare_schedule_keys(&schedule, k0, k1)
    for draw in range(0, draws, 16):
        spare_draws_packed(&keys[4 * draw], <uint64_t>draw, trial, &schedule)


def pattern_keys(uint32_t[::1] keys, uint32_t k0, uint32_t k1, uint64_t trial):
    """Fill ``keys`` (uint32[N]) with the failure-order keys of one trial; see ``philox.pattern_keys``."""
    cdef Py_ssize_t n = keys.shape[0]
    with nogil:
        draw_full(&keys[0], n, k0, k1, trial)


cdef uint64_t rank(int64_t group, uint32_t k0, uint32_t k1, uint64_t trial) noexcept nogil:
    """(full key, group): the order in which groups fail."""
    cdef uint32_t[64] block
    cdef spare_schedule schedule
    spare_schedule_keys(&schedule, k0, k1)
    spare_draws_full(block, <uint64_t>(group >> 2), trial, &schedule)
    return <uint64_t>block[group & 3] << 32 | <uint64_t>group


# ---- the least over the types of the greatest host key -----------------------------------------------------------


cdef void wrap(int16_t* keys, Py_ssize_t length, Py_ssize_t end) noexcept nogil:
    cdef Py_ssize_t x
    for x in range(length, end, 16):
        spare_store(keys + x, spare_load(keys + x - length))


cdef void fold(int16_t* target, const int16_t* keys, Py_ssize_t shift, Py_ssize_t length) noexcept nogil:
    cdef spare_lanes a, b
    cdef Py_ssize_t x
    for x in range(0, length, 16):
        a = spare_max(spare_load(keys + x), spare_load(keys + x + shift))
        b = spare_max(spare_load(keys + x + 2 * shift), spare_load(keys + x + 3 * shift))
        spare_store(target + x, spare_max(a, b))


cdef void least_window(
    const int16_t* keys, Py_ssize_t length, Py_ssize_t stride, const int64_t[::1] shifts, int16_t* best
) noexcept nogil:
    cdef spare_lanes a, b, c, d, least = spare_splat(TOP)
    cdef const int16_t* at
    cdef Py_ssize_t x, j, place, count = shifts.shape[0]
    for x in range(0, length, 64):
        at = keys + x + stride * shifts[0]
        a, b, c, d = spare_load(at), spare_load(at + 16), spare_load(at + 32), spare_load(at + 48)
        place = 1
        while place < count:
            for j in range(place, min(place + 8, count)):
                at = keys + x + stride * shifts[j]
                a = spare_max(a, spare_load(at))
                b = spare_max(b, spare_load(at + 16))
                c = spare_max(c, spare_load(at + 32))
                d = spare_max(d, spare_load(at + 48))
            place += 8
            if place + 8 <= count and not spare_mask_below(spare_min(spare_min(a, b), spare_min(c, d)), least):
                break
        least = spare_min(least, spare_min(spare_min(a, b), spare_min(c, d)))
    spare_store(best, least)


cdef inline spare_lanes row_maxima(const int16_t* keys, const uint32_t* hosts, Py_ssize_t width) noexcept nogil:
    cdef spare_lanes a = spare_load(keys + 16 * <Py_ssize_t>hosts[0])
    cdef Py_ssize_t j
    for j in range(1, width):
        a = spare_max(a, spare_load(keys + 16 * <Py_ssize_t>hosts[j]))
    return a


cdef void least_row(const int16_t* keys, const uint32_t[::1] hosts, Py_ssize_t width, int16_t* best) noexcept nogil:
    cdef spare_lanes least = spare_splat(TOP)
    cdef Py_ssize_t row = 0
    while row < hosts.shape[0]:
        least = spare_min(least, row_maxima(keys, &hosts[row], width))
        row += width
    spare_store(best, least)


cdef void flag_early(
    const int16_t* keys, Py_ssize_t groups, int16_t bound, uint64_t[::1] words, int shift) noexcept nogil:
    """Set bit ``shift + i`` of ``words[g]`` where group g's key in trial i is below ``bound``."""
    cdef spare_lanes level = spare_splat(bound)
    cdef Py_ssize_t g
    for g in range(groups):
        words[g] |= <uint64_t>spare_mask_below(spare_load(keys + 16 * g), level) << shift


cdef Py_ssize_t lost_rows(
    const uint64_t[::1] words, const uint32_t[::1] hosts, Py_ssize_t width, Py_ssize_t look,
    int32_t[::1] rows, uint64_t[::1] masks) noexcept nogil:
    cdef Py_ssize_t row = 0, j, many = 0
    cdef uint64_t word
    while row < hosts.shape[0]:
        word = words[hosts[row]]
        for j in range(row + 1, row + look):
            word &= words[hosts[j]]
        if look < width and word:
            for j in range(row + look, row + width):
                word &= words[hosts[j]]
        rows[many] = <int32_t>row
        masks[many] = word
        many += word != 0
        row += width
    return many


cdef void least_listed(
    const int16_t* keys, const uint32_t[::1] hosts, Py_ssize_t width, int32_t[::1] rows, uint64_t[::1] masks,
    int shift, Py_ssize_t many, int16_t* best) noexcept nogil:
    cdef spare_lanes least = spare_splat(TOP)
    cdef Py_ssize_t i
    for i in range(many):
        if (masks[i] >> shift) & 0xFFFF:
            least = spare_min(least, row_maxima(keys, &hosts[rows[i]], width))
    spare_store(best, least)


# ---- counts and ties -------------------------------------------------------------------------------------------


cdef void count16(
    const int16_t* keys, Py_ssize_t groups, const int16_t* best, int64_t* below, int64_t* equal) noexcept nogil:
    cdef spare_lanes less, same, key, bound = spare_load(best)
    cdef int16_t[16] part
    cdef Py_ssize_t start = 0, g
    cdef int lane
    for lane in range(16):
        below[lane] = equal[lane] = 0
    while start < groups:
        less = same = spare_splat(0)
        for g in range(start, min(start + FLUSH, groups)):
            key = spare_load(keys + 16 * g)
            less = spare_tally_below(less, key, bound)
            same = spare_tally_equal(same, key, bound)
        spare_store(part, less)
        for lane in range(16):
            below[lane] += part[lane]
        spare_store(part, same)
        for lane in range(16):
            equal[lane] += part[lane]
        start += FLUSH


cdef int64_t settle_tie(
    const int64_t[::1] numbers, const int64_t[::1] places, const uint32_t[::1] hosts,
    int32_t[::1] rows, Py_ssize_t many_rows, const int16_t* keys, Py_ssize_t stride, int lane, int16_t best,
    const int32_t* tied, uint64_t* ranks, Py_ssize_t many, uint32_t k0, uint32_t k1, uint64_t trial) noexcept nogil:
    """How many of the groups tied at ``best`` fail before the one that wipes out; see ``wipeout.settle_tie``."""
    cdef int64_t groups = numbers[GROUPS], kind = numbers[KIND], width = numbers[WIDTH], row, host, place
    cdef int64_t left, right, tie, other, i, before = 0
    cdef bint runs = kind == CIRCULANT and numbers[SPAN] + 1 == width
    cdef uint64_t wiping = NEVER, last
    cdef int16_t key
    for tie in range(many):
        ranks[tie] = rank(tied[tie], k0, k1, trial)
    for tie in range(1 if kind == TABLE else many):
        if runs:
            # contiguous windows around the group that hold no key above best
            left = right = 0
            while left < width - 1 and keys[(tied[tie] - left - 1 + groups) % groups * stride + lane] <= best:
                left += 1
            while right < width - 1 and keys[(tied[tie] + right + 1) % groups * stride + lane] <= best:
                right += 1
            for row in range(tied[tie] - left, tied[tie] + right + 2 - width):
                last = 0
                for other in range(many):
                    if (tied[other] - row + groups) % groups < width:
                        last = max(last, ranks[other])
                wiping = min(wiping, last)
            continue
        for i in range(many_rows if kind == TABLE else 1 if kind == PARTITION else width):
            if kind == TABLE:
                row = rows[i] if rows.shape[0] > 0 else i * width
            elif kind == PARTITION:
                row = tied[tie] // width * width
            else:
                row = tied[tie] - places[i]
            last = 0
            for place in range(width):
                if kind == CIRCULANT:
                    host = row + places[place]
                    host += groups if host < 0 else -groups if host >= groups else 0
                else:
                    host = hosts[row + place]
                key = keys[host * stride + lane]
                if key > best:
                    last = NEVER
                    break
                if key == best:
                    last = max(last, rank(host, k0, k1, trial))
            wiping = min(wiping, last)
    for tie in range(many):
        before += ranks[tie] < wiping
    return before


cdef void find_ties(
    const int16_t* keys, Py_ssize_t groups, const int16_t* best, uint32_t lanes, int32_t* tied) noexcept nogil:
    """List the groups at ``best`` in the ``lanes`` (bit mask): a lane's from ``tied[lane * groups]`` on."""
    cdef spare_lanes bound = spare_load(best)
    cdef Py_ssize_t[16] ends
    cdef Py_ssize_t g
    cdef uint32_t mask
    cdef int lane
    for lane in range(16):
        ends[lane] = lane * groups
    for g in range(groups):
        mask = spare_mask_equal(spare_load(keys + 16 * g), bound) & lanes
        lane = 0
        while mask:
            if mask & 1:
                tied[ends[lane]] = <int32_t>g
                ends[lane] += 1
            mask >>= 1
            lane += 1


cdef Py_ssize_t count1(
    const int16_t* keys, Py_ssize_t groups, int16_t best, int32_t* tied, int64_t* below) noexcept nogil:
    """Groups of one trial below ``best``, into ``below``, and those at it, which are listed; returns how many."""
    cdef spare_lanes bound = spare_splat(best), less, key
    cdef int16_t[16] part
    cdef Py_ssize_t start = 0, stop, x, g, many = 0
    cdef uint32_t mask
    cdef int lane
    below[0] = 0
    while start < groups & ~15:
        less = spare_splat(0)
        stop = min(start + 16 * FLUSH, groups & ~15)
        for x in range(start, stop, 16):
            key = spare_load(keys + x)
            less = spare_tally_below(less, key, bound)
            mask = spare_mask_equal(key, bound)
            if mask:
                for g in range(x, x + 16):
                    if keys[g] == best:
                        tied[many] = <int32_t>g
                        many += 1
        spare_store(part, less)
        for lane in range(16):
            below[0] += part[lane]
        start = stop
    for g in range(groups & ~15, groups):
        below[0] += keys[g] < best
        if keys[g] == best:
            tied[many] = <int32_t>g
            many += 1
    return many


# ---- blocks of trials --------------------------------------------------------------------------------------------


cdef void finish(
    const int64_t[::1] numbers, const int64_t[::1] places, const uint32_t[::1] hosts,
    int32_t[::1] rows, Py_ssize_t many_rows, const int16_t* keys, const int16_t* best, int32_t[::1] tied, uint64_t[::1] ranks,
    uint32_t k0, uint32_t k1, uint64_t trial, int32_t[::1] out, Py_ssize_t done, int lanes) noexcept nogil:
    cdef int64_t[16] below, equal
    cdef int64_t groups = numbers[GROUPS]
    cdef uint32_t several = 0
    cdef int lane
    count16(keys, groups, best, below, equal)
    for lane in range(lanes):
        several |= <uint32_t>(equal[lane] > 1) << lane
    if several:
        find_ties(keys, groups, best, several, &tied[0])
    for lane in range(lanes):
        if equal[lane] > 1:
            below[lane] += settle_tie(
                numbers, places, hosts, rows, many_rows, keys, 16, lane, best[lane], &tied[lane * groups], &ranks[0],
                equal[lane], k0, k1, trial + <uint64_t>lane)
        out[done + lane] = <int32_t>below[lane]


cdef void run_lanes(
    const int64_t[::1] numbers, const int64_t[::1] places, const int64_t[::1] steps, const int64_t[::1] shifts,
    const uint32_t[::1] hosts, uint32_t k0, uint32_t k1, uint64_t first, int32_t[::1] out,
    int16_t[::1] keys, int16_t[::1] folded, int32_t[::1] tied, uint64_t[::1] ranks,
    int32_t[::1] rows) noexcept nogil:
    cdef int16_t[16] best
    cdef Py_ssize_t groups = numbers[GROUPS], length = (groups * 16 + 63) & ~63
    cdef Py_ssize_t end = length + 16 * numbers[SPAN], left, i, done = 0
    cdef const int16_t* source
    cdef int lanes
    while done < out.shape[0]:
        lanes = side_by_side(first + <uint64_t>done, out.shape[0] - done)
        draw_trials16(&keys[0], (groups + 3) >> 2, k0, k1, first + <uint64_t>done)
        if numbers[KIND] == CIRCULANT:
            wrap(&keys[0], 16 * groups, end)
            source = &keys[0]
            left = end
            for i in range(steps.shape[0]):
                left -= 48 * steps[i]
                fold(&folded[0], source, 16 * steps[i], left)
                source = &folded[0]
            least_window(source, length, 16, shifts, best)
        else:
            least_row(&keys[0], hosts, numbers[WIDTH], best)
        finish(numbers, places, hosts, rows, numbers[ROWS], &keys[0], best, tied, ranks, k0, k1, first + <uint64_t>done,
               out, done, lanes)
        done += lanes


cdef void run_single(
    const int64_t[::1] numbers, const int64_t[::1] places, const int64_t[::1] steps, const int64_t[::1] shifts,
    const uint32_t[::1] hosts, uint32_t k0, uint32_t k1, uint64_t first, int32_t[::1] out,
    int16_t[::1] keys, int16_t[::1] folded, int32_t[::1] tied, uint64_t[::1] ranks,
    int32_t[::1] rows) noexcept nogil:
    cdef int16_t[16] part
    cdef int16_t best
    cdef int64_t below
    cdef Py_ssize_t groups = numbers[GROUPS], length = (groups + 63) & ~63
    cdef Py_ssize_t end = length + numbers[SPAN], left, i, many, done
    cdef const int16_t* source
    cdef int lane
    for done in range(out.shape[0]):
        trial1(keys, length >> 2, k0, k1, first + <uint64_t>done)
        wrap(&keys[0], groups, end)
        source = &keys[0]
        left = end
        for i in range(steps.shape[0]):
            left -= 3 * steps[i]
            fold(&folded[0], source, steps[i], left)
            source = &folded[0]
        least_window(source, length, 1, shifts, part)
        best = TOP
        for lane in range(16):
            best = min(best, part[lane])
        many = count1(&keys[0], groups, best, &tied[0], &below)
        if many > 1:
            below += settle_tie(
                numbers, places, hosts, rows, 0, &keys[0], 1, 0, best, &tied[0], &ranks[0], many, k0, k1,
                first + <uint64_t>done)
        out[done] = <int32_t>below


cdef void run_bits(
    const int64_t[::1] numbers, const int64_t[::1] places, const uint32_t[::1] hosts, uint32_t k0, uint32_t k1,
    uint64_t first, int32_t[::1] out, int16_t[:, ::1] keys, uint64_t[::1] words, int32_t[::1] tied, uint64_t[::1] ranks,
    int32_t[::1] every, int32_t[::1] rows, uint64_t[::1] masks) noexcept nogil:
    cdef int16_t[16] best
    cdef int[4] lanes
    cdef int16_t bound = <int16_t>(numbers[THRESHOLD] - 32768)
    cdef Py_ssize_t groups = numbers[GROUPS], width = numbers[WIDTH], g, many, start, done = 0
    cdef int b, lane, parts = <int>keys.shape[0]
    cdef bint missed
    while done < out.shape[0]:
        start = done
        for g in range(groups):
            words[g] = 0
        for b in range(parts):
            lanes[b] = side_by_side(first + <uint64_t>done, out.shape[0] - done)
            if lanes[b] > 0:
                draw_trials16(&keys[b, 0], (groups + 3) >> 2, k0, k1, first + <uint64_t>done)
                flag_early(&keys[b, 0], groups, bound, words, 16 * b)
            done += lanes[b]
        many = lost_rows(words, hosts, width, numbers[LOOK], rows, masks)
        for b in range(parts):
            least_listed(&keys[b, 0], hosts, width, rows, masks, 16 * b, many, best)
            missed = False
            for lane in range(lanes[b]):
                missed |= best[lane] >= bound
            if missed:
                least_row(&keys[b, 0], hosts, width, best)
            if lanes[b] > 0:
                finish(numbers, places, hosts, every if missed else rows, numbers[ROWS] if missed else many,
                       &keys[b, 0], best, tied, ranks, k0, k1, first + <uint64_t>start, out, start, lanes[b])
            start += lanes[b]


def endurable(plan, seed, uint64_t first, int32_t[::1] out):
    """Fill ``out`` (int32[count]) with the endurable failures of trials first, first + 1, ...: ``survival.endurable``.

    Drops the GIL.
    """
    cdef int way = plan.way
    cdef const int64_t[::1] numbers = plan.numbers, places = plan.places, steps = plan.steps, shifts = plan.shifts
    cdef const uint32_t[::1] hosts = plan.hosts
    cdef Py_ssize_t groups = numbers[GROUPS]
    cdef uint32_t k0 = seed & 0xFFFFFFFF, k1 = (seed >> 32) & 0xFFFFFFFF
    cdef Py_ssize_t size = ((groups + 3) >> 2) * 64
    cdef Py_ssize_t end = (groups * (1 if way == SINGLE else 16) + 63 & ~63) + 64
    end += numbers[SPAN] * (1 if way == SINGLE else 16)
    cdef Py_ssize_t parts = 4 if way == BITS and groups <= 131072 else 1
    size = size if way == BITS else end
    cdef int16_t[:, ::1] keys = aligned(parts * size, np.int16).reshape(parts, size)
    cdef int16_t[::1] folded = aligned(end if steps.shape[0] > 0 else 1, np.int16)
    cdef uint64_t[::1] words = np.empty(groups if way == BITS else 1, np.uint64)
    cdef uint64_t[::1] masks = np.empty(numbers[ROWS] + 1 if way == BITS else 1, np.uint64)
    cdef int32_t[::1] rows = np.empty(numbers[ROWS] + 1 if way == BITS else 1, np.int32)
    cdef int32_t[::1] every = np.empty(0, np.int32)
    cdef int32_t[::1] tied = np.empty(groups if way == SINGLE else 16 * groups, np.int32)
    cdef uint64_t[::1] ranks = np.empty(groups, np.uint64)
    with nogil:
        if way == LANES:
            run_lanes(numbers, places, steps, shifts, hosts, k0, k1, first, out, keys[0], folded, tied, ranks, every)
        elif way == SINGLE:
            run_single(numbers, places, steps, shifts, hosts, k0, k1, first, out, keys[0], folded, tied, ranks, every)
        else:
            run_bits(numbers, places, hosts, k0, k1, first, out, keys, words, tied, ranks, every, rows, masks)
