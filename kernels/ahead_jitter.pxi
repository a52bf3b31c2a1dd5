# Compute jitter: jitter.py step for step. Part of ahead_training.pyx.

cdef extern from *:
    """
    /* jitter.LOWEST_T, 1 / STEP, FLOOR: constants for the C compiler */
    #define SPARE_LOWEST_T -40.0
    #define SPARE_PER_STEP 64.0
    #define SPARE_FLOOR 0.1
    """
    const double LOWEST_T "SPARE_LOWEST_T"
    const double PER_STEP "SPARE_PER_STEP"
    const double FLOOR "SPARE_FLOOR"

cdef inline words philox(uint32_t c0, uint32_t c1, const int64_t* reg) noexcept nogil:
    """A draw of element c0, purpose and repetition c1, with the run and the key of ``reg``."""
    return philox4x32(
        c0, c1, <uint32_t>reg[RUN_0], <uint32_t>reg[RUN_1], <uint32_t>reg[KEY_0], <uint32_t>reg[KEY_1])


cdef double slowest(double w) noexcept nogil:
    """The largest of n independent standard normals by inversion, w = x / n with x a unit exponential."""
    cdef double lower_tail = exp(-w)
    if lower_tail < 0.5:
        return normal(lower_tail)
    return -normal(-expm1(-w))


@functools.cache
def slowest_table():
    """``jitter.slowest_table``: ``slowest(exp(t))`` at t = LOWEST_T - STEP, LOWEST_T, ... to 4 + STEP and beyond."""
    cdef int i, count = <int>((4.0 - LOWEST_T) * PER_STEP) + 4
    cdef double[::1] out = np.empty(count)
    for i in range(count):
        out[i] = slowest(exp(LOWEST_T + (i - 1) / PER_STEP))
    return np.asarray(out)


cdef void refill(run_memory* s, int stream) noexcept nogil:
    """Draw the next block of a stream, 0 slowest (kept as log(-log u)) or 1 single (normals)."""
    cdef int64_t block = s.reg[SLOWEST_BLOCKS + 2 * stream]
    cdef double* kept = s.kept + BLOCK * stream
    cdef double u, v
    cdef words w
    cdef int i
    s.reg[SLOWEST_BLOCKS + 2 * stream] = block + 1
    for i in range(BLOCK // 2):
        w = philox(<uint32_t>(BLOCK // 2 * block + i), <uint32_t>(2 << 24 | stream), s.reg)
        u, v = uniform(w.a, w.b), uniform(w.c, w.d)
        if stream == 0:
            kept[2 * i] = log(-log(u))
            kept[2 * i + 1] = log(-log(v))
        else:
            kept[2 * i] = normal(u)
            kept[2 * i + 1] = normal(v)
    s.reg[SLOWEST_LEFT + 2 * stream] = BLOCK


cdef inline int64_t rounded(double base, double spread, double z) noexcept nogil:
    """Time of stacks of that mean and deviation at deviate z [us], floored and whole."""
    return <int64_t>(max(base + spread * z, FLOOR * base) + 0.5)


cdef inline int64_t slowest_time(run_memory* s, int64_t n, int64_t depth) noexcept nogil:
    """How long the slowest of n >= 1 groups takes over ``depth`` stacks in a row [us]."""
    cdef double spread = s.spread[depth], z = 0.0, place, f, inner
    cdef int64_t left
    cdef const double* at
    if spread > 0.0:
        if s.reg[SLOWEST_LEFT] == 0:
            refill(s, 0)
        left = s.reg[SLOWEST_LEFT] - 1
        s.reg[SLOWEST_LEFT] = left
        # The table of slowest(exp(t)), by cubics through four points: exact to 1e-9, in a fifth of the time.
        place = max((s.kept[left] - s.log_of[n] - LOWEST_T) * PER_STEP, 0.0)
        at = s.slowest + <int64_t>place
        f = place - <double>(<int64_t>place)
        inner = f * (f - 1.0)
        z = (inner * ((f + 1.0) * at[3] - (f - 2.0) * at[0]) / 6.0
             + (f + 1.0) * (f - 2.0) * ((f - 1.0) * at[1] - f * at[2]) / 2.0)
    return rounded(s.base[depth], spread, z)


cdef inline int64_t single_time(run_memory* s, int64_t depth) noexcept nogil:
    """How long one group takes over ``depth`` stacks under one draw [us]."""
    cdef double spread = s.spread[depth], z = 0.0
    cdef int64_t left
    if spread > 0.0:
        if s.reg[SINGLE_LEFT] == 0:
            refill(s, 1)
        left = s.reg[SINGLE_LEFT] - 1
        s.reg[SINGLE_LEFT] = left
        z = s.kept[BLOCK + left]
    return rounded(s.base[depth], spread, z)


cdef inline int64_t reach(run_memory* s, int64_t depth) noexcept nogil:
    """No group takes longer over ``depth`` stacks, but for one in 1e16 [us]."""
    return <int64_t>s.reach[depth]
