# Included by ahead.pyx, ahead_stacks.pyx and ahead_reorder.pyx: vectors, failure-order keys, sixteen trials side by side.

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

cdef extern from "ahead_philox.h" nogil:
    ctypedef struct spare_lanes:
        pass
    spare_lanes spare_load(const int16_t* start)
    void spare_store(int16_t* to, spare_lanes v)
    spare_lanes spare_splat(int16_t x)
    spare_lanes spare_max(spare_lanes a, spare_lanes b)
    spare_lanes spare_min(spare_lanes a, spare_lanes b)
    spare_lanes spare_and(spare_lanes a, spare_lanes b)
    spare_lanes spare_and_not(spare_lanes a, spare_lanes b)
    spare_lanes spare_or(spare_lanes a, spare_lanes b)
    spare_lanes spare_xor(spare_lanes a, spare_lanes b)
    spare_lanes spare_add(spare_lanes a, spare_lanes b)
    spare_lanes spare_sub(spare_lanes a, spare_lanes b)
    spare_lanes spare_below(spare_lanes a, spare_lanes b)
    spare_lanes spare_equal(spare_lanes a, spare_lanes b)
    spare_lanes spare_shift_left(spare_lanes a, int bits)
    spare_lanes spare_tally_below(spare_lanes tally, spare_lanes a, spare_lanes b)
    spare_lanes spare_tally_equal(spare_lanes tally, spare_lanes a, spare_lanes b)
    uint32_t spare_bits(spare_lanes flags)
    uint32_t spare_mask_below(spare_lanes a, spare_lanes b)
    uint32_t spare_mask_equal(spare_lanes a, spare_lanes b)

    ctypedef struct spare_schedule:
        pass
    ctypedef struct spare_trials:
        pass
    void spare_schedule_keys(spare_schedule* keys, uint32_t k0, uint32_t k1)
    void spare_start_trials(spare_trials* part, uint64_t trial, uint32_t k0)
    void spare_draw_of_trials(
        int16_t* out, const spare_trials* part, uint64_t draw, uint64_t high, const spare_schedule* keys)
    void spare_draws_packed(int16_t* out, uint64_t draw, uint64_t trial, const spare_schedule* keys)
    void spare_draws_full(uint32_t* out, uint64_t draw, uint64_t trial, const spare_schedule* keys)

cdef uint64_t LOW = 0xFFFFFFFF
cdef enum:
    TOP = 32767
    BOTTOM = -32768


cdef inline void draw_trials16(int16_t* keys, Py_ssize_t draws, uint32_t k0, uint32_t k1, uint64_t trial) noexcept nogil:
    """``keys[16 g + i]``: the upper half of group g's key in trial + i, less 32,768; see ``patterns.trials16``."""
    cdef spare_schedule schedule
    cdef spare_trials part
    cdef Py_ssize_t draw
    spare_schedule_keys(&schedule, k0, k1)
    spare_start_trials(&part, trial, k0)
    for draw in range(draws):
        spare_draw_of_trials(keys + 64 * draw, &part, <uint64_t>draw, trial >> 32, &schedule)


cdef inline void draw_full(uint32_t* keys, Py_ssize_t n, uint32_t k0, uint32_t k1, uint64_t trial) noexcept nogil:
    """The full keys of the ``n`` groups of one trial; see ``philox.pattern_keys``."""
    cdef uint32_t[64] block
    cdef spare_schedule schedule
    cdef Py_ssize_t g, whole = n & ~63
    spare_schedule_keys(&schedule, k0, k1)
    for g in range(0, whole, 64):
        spare_draws_full(keys + g, <uint64_t>(g >> 2), trial, &schedule)
    if whole < n:
        spare_draws_full(block, <uint64_t>(whole >> 2), trial, &schedule)
        memcpy(keys + whole, block, (n - whole) * sizeof(uint32_t))


cdef inline int side_by_side(uint64_t trial, Py_ssize_t left) noexcept nogil:
    """How many of the next 16 trials can be drawn side by side: those that share their high 32 bits."""
    cdef uint64_t room = (<uint64_t>1 << 32) - (trial & LOW)
    return <int>min(<uint64_t>min(16, left), room)


def aligned(Py_ssize_t count, type):
    """An empty array that begins with a cache line: of vectors that begin elsewhere every second one spans two lines."""
    cdef Py_ssize_t size = count * np.dtype(type).itemsize
    bytes = np.empty(size + 64, np.uint8)
    cdef uint8_t[::1] view = bytes
    cdef Py_ssize_t skip = -<Py_ssize_t>&view[0] & 63
    return bytes[skip : skip + size].view(type)
