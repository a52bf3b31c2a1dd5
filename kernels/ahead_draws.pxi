# Draws that several extensions make: Philox as philox.py has it, and the normal quantile of jitter.py.

from libc.math cimport exp, expm1, floor, log, pow, sqrt
from libc.stdint cimport int64_t, uint32_t, uint64_t

ctypedef struct words:
    uint32_t a, b, c, d


cdef inline words philox4x32(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0, uint32_t k1) noexcept nogil:
    """Ten rounds on the counter (c0..c3) with the key (k0, k1)."""
    cdef uint64_t p0, p1
    cdef words out
    cdef int i
    for i in range(10):
        p0 = <uint64_t>c0 * <uint64_t>0xD2511F53
        p1 = <uint64_t>c2 * <uint64_t>0xCD9E8D57
        c0 = <uint32_t>(p1 >> 32) ^ c1 ^ k0
        c2 = <uint32_t>(p0 >> 32) ^ c3 ^ k1
        c1 = <uint32_t>p1
        c3 = <uint32_t>p0
        k0 += <uint32_t>0x9E3779B9
        k1 += <uint32_t>0xBB67AE85
    out.a, out.b, out.c, out.d = c0, c1, c2, c3
    return out


cdef inline double uniform(uint32_t high, uint32_t low) noexcept nogil:
    """A double in (0, 1) from two words: (u + 0.5) * 2**-52 with u of 52 bits."""
    cdef int64_t u = (<int64_t>high << 20) | (low >> 12)
    return (<double>u + 0.5) * 2.220446049250313e-16


cdef double tail(double q) noexcept nogil:
    """The z with upper tail probability q, for q < 0.075: the two outer branches of AS 241."""
    cdef double r = sqrt(-log(q)), num, den
    if r <= 5.0:
        r -= 1.6
        num = 7.74545014278341407640e-4
        num = num * r + 2.27238449892691845833e-2
        num = num * r + 2.41780725177450611770e-1
        num = num * r + 1.27045825245236838258e0
        num = num * r + 3.64784832476320460504e0
        num = num * r + 5.76949722146069140550e0
        num = num * r + 4.63033784615654529590e0
        num = num * r + 1.42343711074968357734e0
        den = 1.05075007164441684324e-9
        den = den * r + 5.47593808499534494600e-4
        den = den * r + 1.51986665636164571966e-2
        den = den * r + 1.48103976427480074590e-1
        den = den * r + 6.89767334985100004550e-1
        den = den * r + 1.67638483018380384940e0
        den = den * r + 2.05319162663775882187e0
        return num / (den * r + 1.0)
    r -= 5.0
    num = 2.01033439929228813265e-7
    num = num * r + 2.71155556874348757815e-5
    num = num * r + 1.24266094738807843860e-3
    num = num * r + 2.65321895265761230930e-2
    num = num * r + 2.96560571828504891230e-1
    num = num * r + 1.78482653991729133580e0
    num = num * r + 5.46378491116411436990e0
    num = num * r + 6.65790464350110377720e0
    den = 2.04426310338993978564e-15
    den = den * r + 1.42151175831644588870e-7
    den = den * r + 1.84631831751005468180e-5
    den = den * r + 7.86869131145613259100e-4
    den = den * r + 1.48753612908506148525e-2
    den = den * r + 1.36929880922735805310e-1
    den = den * r + 5.99832206555887937690e-1
    return num / (den * r + 1.0)


cdef inline double normal(double u) noexcept nogil:
    """The standard normal quantile of u in (0, 1): AS 241, see jitter.normal."""
    cdef double d = u - 0.5, r, num, den
    if -0.425 <= d <= 0.425:
        r = 0.180625 - d * d
        num = 2.5090809287301226727e3
        num = num * r + 3.3430575583588128105e4
        num = num * r + 6.7265770927008700853e4
        num = num * r + 4.5921953931549871457e4
        num = num * r + 1.3731693765509461125e4
        num = num * r + 1.9715909503065514427e3
        num = num * r + 1.3314166789178437745e2
        num = num * r + 3.3871328727963666080e0
        den = 5.2264952788528545610e3
        den = den * r + 2.8729085735721942674e4
        den = den * r + 3.9307895800092710610e4
        den = den * r + 2.1213794301586595867e4
        den = den * r + 5.3941960214247511077e3
        den = den * r + 6.8718700749205790830e2
        den = den * r + 4.2313330701600911252e1
        return d * num / (den * r + 1.0)
    if d < 0.0:
        return -tail(u)
    return tail(1.0 - u)
