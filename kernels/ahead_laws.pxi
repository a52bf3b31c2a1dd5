# Laws that are given as numbers: stream_laws.of_table step for step. Part of ahead_training.pyx and ahead_streams.pyx.

cdef enum:  # stream_plan
    LAW_EXPONENTIAL, LAW_WEIBULL, LAW_LOGNORMAL, LAW_LINEAR, LAW_LOGLOG, LAW_STEPS


cdef double of_table(const double* table, int64_t kind, int64_t size, double h) noexcept nogil:
    """The laws that are given as numbers, at scale 1."""
    cdef int64_t low, high, middle, knots, i
    cdef double place, time, slope
    if kind == LAW_LINEAR:
        knots = size >> 1
        low, high = 0, knots - 1
        while high - low > 1:
            middle = (low + high) >> 1
            if table[middle] <= h:
                low = middle
            else:
                high = middle
        time = table[low + knots]
        slope = (table[low + knots + 1] - time) / (table[low + 1] - table[low])
        return time + (h - table[low]) * slope
    if kind == LAW_LOGLOG:
        place = (log(h) - table[0]) / table[1]
        i = <int64_t>min(max(place, 0.0), <double>(size - 4))
        time = table[2 + i]
        return exp(time + (place - <double>i) * (table[3 + i] - time))
    return table[min(size - 1, <int64_t>(-expm1(-h) * <double>size))]
