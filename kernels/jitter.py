"""Compute jitter: the normal quantile, and the slowest of n groups in one draw.

A stack takes T_comp times a draw of N(1, sigma^2) floored at 0.1, so S stacks in a row take a sum of S of them, and
a barrier waits for the largest sum of n groups. The largest of n independent normals is the normal quantile of
``U**(1/n)``: one draw instead of n * S. The floor is left out of the sum where S > 1 (where S = 1 it is exact): at
sigma 0.2 it lies 4.5 deviations down and raises a stack's mean by 1e-6 of it, at sigma 0.3 by 1e-4.
"""

import functools
import math

import numpy as np

from .philox import PURPOSE_JITTER, philox, uniform
from .training_jit import device, entry, hot
from .training_state import (
    BLOCK,
    GROUPS,
    KEY_0,
    KEY_1,
    REDUNDANCY,
    RUN_0,
    RUN_1,
    SCALE,
    SINGLE_KEPT,
    SINGLE_LEFT,
    SLOWEST_BLOCKS,
    SLOWEST_KEPT,
    SLOWEST_LEFT,
)

LOWEST_T, STEP = -40.0, 1.0 / 64.0  # t = log(x / n) of the table of slowest(); below it lies one draw in 1e14
_PURPOSE = PURPOSE_JITTER << 24

FLOOR = 0.1  # least multiple of T_comp that a stack takes (the published simulator's)


@entry
def _tail(q):
    """The z with upper tail probability q, for q < 0.075: the two outer branches of AS 241."""
    r = math.sqrt(-math.log(q))
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


@entry
def normal(u):
    """The standard normal quantile of u in (0, 1), to about 1e-15.

    Source: Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37
    (1988), the routine PPND16.
    """
    d = u - 0.5
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
        return -_tail(u)
    return _tail(1.0 - u)


@entry
def slowest(w):
    """The largest of n independent standard normals by inversion, w = x / n with x a unit exponential.

    The normal with lower tail u**(1/n) for u = exp(-x), that is exp(-w); the upper tail is taken through expm1,
    because u**(1/n) lies so close to 1 that its rounding would show.
    """
    lower = math.exp(-w)
    if lower < 0.5:
        return normal(lower)
    return -normal(-math.expm1(-w))


@functools.cache
def slowest_table():
    """``slowest(exp(t))`` at t = LOWEST_T - STEP, LOWEST_T, ... to 4 + STEP and beyond (float64)."""
    count = int((4.0 - LOWEST_T) / STEP) + 4
    return np.array([slowest(math.exp(LOWEST_T + (i - 1) * STEP)) for i in range(count)])


@device
def _pair(reg, stream, count):
    """Two uniforms: purpose JITTER, stream in the repetition, element ``count``."""
    a, b, c, d = philox(
        np.uint32(count & 0xFFFFFFFF),
        np.uint32(_PURPOSE | stream),
        np.uint32(reg[RUN_0]),
        np.uint32(reg[RUN_1]),
        np.uint32(reg[KEY_0]),
        np.uint32(reg[KEY_1]),
    )
    return uniform(a, b), uniform(c, d)


@device
def _refill(reg, real, stream):
    """Draw the next block of a stream, 0 slowest (kept as log(-log u)) or 1 single (normals)."""
    block = reg[SLOWEST_BLOCKS + 2 * stream]
    reg[SLOWEST_BLOCKS + 2 * stream] = block + 1
    begin = SLOWEST_KEPT + BLOCK * stream
    for i in range(BLOCK // 2):
        u, v = _pair(reg, stream, BLOCK // 2 * block + i)
        if stream == 0:
            real[begin + 2 * i] = math.log(-math.log(u))
            real[begin + 2 * i + 1] = math.log(-math.log(v))
        else:
            real[begin + 2 * i] = normal(u)
            real[begin + 2 * i + 1] = normal(v)
    reg[SLOWEST_LEFT + 2 * stream] = BLOCK


@hot
def _rounded(base, spread, z):
    """Time of stacks of that mean and deviation at deviate z [us], floored and whole."""
    return np.int64(max(base + spread * z, FLOOR * base) + 0.5)


@hot
def slowest_time(reg, real, n, depth):
    """How long the slowest of n >= 1 groups takes over ``depth`` stacks in a row [us]."""
    at = SCALE + reg[GROUPS] + depth
    spread = real[at + reg[REDUNDANCY] + 1]
    z = 0.0
    if spread > 0.0:
        if reg[SLOWEST_LEFT] == 0:
            _refill(reg, real, np.int64(0))
        left = reg[SLOWEST_LEFT] - 1
        reg[SLOWEST_LEFT] = left
        # The table of slowest(exp(t)), by cubics through four points: exact to 1e-9, in a fifth of the time.
        n_log = real[SCALE + reg[GROUPS] + 3 * reg[REDUNDANCY] + 2 + n]
        place = max((real[SLOWEST_KEPT + left] - n_log - LOWEST_T) / STEP, 0.0)
        i = np.int64(place)
        f = place - i
        i += SCALE + 2 * reg[GROUPS] + 3 * reg[REDUNDANCY] + 3
        inner = f * (f - 1.0)
        z = (
            inner * ((f + 1.0) * real[i + 3] - (f - 2.0) * real[i]) / 6.0
            + (f + 1.0) * (f - 2.0) * ((f - 1.0) * real[i + 1] - f * real[i + 2]) / 2.0
        )
    return _rounded(real[at], spread, z)


@hot
def single_time(reg, real, depth):
    """How long one group takes over ``depth`` stacks under one draw [us]."""
    at = SCALE + reg[GROUPS] + depth
    spread = real[at + reg[REDUNDANCY] + 1]
    z = 0.0
    if spread > 0.0:
        if reg[SINGLE_LEFT] == 0:
            _refill(reg, real, np.int64(1))
        left = reg[SINGLE_LEFT] - 1
        reg[SINGLE_LEFT] = left
        z = real[SINGLE_KEPT + left]
    return _rounded(real[at], spread, z)


@hot
def reach(reg, real, depth):
    """No group takes longer over ``depth`` stacks, but for one in 1e16 [us]."""
    return np.int64(real[SCALE + reg[GROUPS] + 2 * reg[REDUNDANCY] + 2 + depth])
