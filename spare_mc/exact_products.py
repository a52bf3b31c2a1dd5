"""Survival curves, in floats and for any N, of layouts that split into independent parts: blocks or circles.

Let every group have failed with probability p. Part i then survives with probability R_i(p), and

    P(k) = Pr[all parts survive and k groups failed] / Pr[k groups failed],

whatever p is. The upper probability is a coefficient of the generating function prod R_i(z) (1 - p + p z)^N, read
off by Cauchy's integral over the unit circle; p is chosen so that its terms centre near k, where they are far from
cancelling and the trapezoid rule is exact but for aliases 13 standard deviations away. 1 - P(k) comes in the same way
from the losing sets, 1 - prod R_i, so both ends of the curve keep their relative accuracy.

One circle of points serves all k within a deviation of its centre. Angles t, y = ln(p / (1 - p)).
"""

import numpy as np

from .exact_binomial import log_all_failed, log_binomial
from .exact_contiguous import contiguous_pair
from .exact_counts import contiguous_counts, curve_from_counts

_LEAST_LOG = -700.0  # P or 1 - P below e^-700 is told as 0
_RARE = -36.0  # ln of a chance of loss below which two losses at once are beyond the last digit
_INTEGERS_UP_TO = 500


def partition_pair(groups, block):
    """P(k) and 1 - P(k), k = 0..N, two float64[N+1], of blocks of ``block`` groups and a smaller last one."""
    full, rest = divmod(groups, block)
    parts = [(full, _Block(block))]
    if rest:
        parts.append((1, _Block(rest)))
    return _pair(groups, parts, groups - full - (rest > 0))


def circles_pair(length, redundancy, circles):
    """The same of ``circles`` circles of ``length`` groups, each a contiguous layout of redundancy r < length."""
    groups = length * circles
    if redundancy == 1:
        return contiguous_pair(groups, 1)
    part = _Circle(length, redundancy)
    return _pair(groups, [(circles, part)], groups - circles * -(-length // redundancy))


class _Block:
    """A block of b groups, lost when all have failed: R = 1 - p^b.

    A part tells ln R, or ln(1 - R) if ``losing``: ``at`` p (s = 1 - p) with its first two derivatives by y, and
    ``around`` the circle, complex[angles], up to multiples of 2 pi i. Angles are the first multiples of 2 pi / points.
    """

    def __init__(self, size):
        self.size = size

    def log_bound(self, groups, failures):
        """ln of the chance that this part is lost after k failures, float64[k], or of a bound above it."""
        return log_all_failed(failures, groups, self.size)

    def at(self, p, s, losing):
        b = self.size
        log_lost = b * _log(p, s)
        if losing:
            return log_lost, b * s, -b * p * s
        lost, left = np.exp(log_lost), -np.expm1(log_lost)
        slope = b * s * lost / left
        return _log(left, lost), -slope, -slope * (b * s - p) - slope * slope

    def around(self, p, s, angles, points, losing):
        log_lost = self.size * (_log(p, s) - _log1p(s * np.expm1(-1j * angles)))
        if losing:
            return log_lost
        return _log_rest(log_lost)


class _Circle:
    """A contiguous layout on L groups, one of several: R = sum over j of P_L(j) C(L, j) p^j s^(L-j)."""

    def __init__(self, length, redundancy):
        self.length, self.redundancy = length, redundancy
        if length <= _INTEGERS_UP_TO:
            pair = curve_from_counts(contiguous_counts(length, redundancy))
        else:
            pair = contiguous_pair(length, redundancy)
        with np.errstate(divide="ignore"):
            self.logs = np.log(pair)
        # Good enough to find where the weights are: ln of C(L, j), then of surviving and of losing sets.
        self.rough = self.logs + log_binomial(np.arange(length + 1), length, 0.5, 0.5)
        self.cached = {}

    def log_bound(self, groups, failures):
        return np.log(self.length) + log_all_failed(failures, groups, self.redundancy)

    def at(self, p, s, losing):
        j, weight, scale, lost = self._weights(p, s, losing)
        off = j - self.length * p
        total, first, second = weight.sum(), weight @ off, weight @ (off * off - self.length * p * s)
        if lost and not losing:
            left = 1.0 - np.exp(scale) * total
            value, share = np.log1p(-np.exp(scale) * total), -np.exp(scale) / left
        else:
            value, share = scale + np.log(total), 1.0 / total
        return value, share * first, share * second - (share * first) ** 2

    def around(self, p, s, angles, points, losing):
        j, weight, scale, lost = self._weights(p, s, losing)
        middle = int(round(self.length * p))
        folded = np.bincount((j - middle) % points, weight, points)
        turned = np.conj(np.fft.rfft(folded)[1 : angles.size + 1])
        turned[turned == 0.0] = 1e-300  # an honest value far from the centre, but without a logarithm
        value = np.log(turned) + scale - _free(self.length, middle, p, s, angles)
        return _log_rest(value) if lost and not losing else value

    def _weights(self, p, s, losing):
        """Failures j, the chance of each together with loss (or survival) over e^scale, the scale, and which it is.

        Loss is summed where losing is asked, and where it is the rarer.
        """
        if (p, losing) not in self.cached:
            lost = self._window(p, s, 1)
            if not losing and np.exp(lost[2]) * lost[1].sum() > 0.5:
                found = (*self._window(p, s, 0), False)
            else:
                found = (*lost, True)
            self.cached = {(p, losing): found}
        return self.cached[p, losing]

    def _window(self, p, s, which):
        rough = self.rough[which] + np.arange(self.length + 1) * (_log(p, s) - _log(s, p))
        heavy = np.flatnonzero(rough > rough.max() - 50.0)
        j = np.arange(heavy[0], heavy[-1] + 1)
        value = log_binomial(j, self.length, p, s) + self.logs[which, j]
        scale = value.max()
        return j, np.exp(value - scale), scale


def _pair(groups, parts, last):
    """Both ends of the curve; ``last`` is the most failures that can be survived."""
    survive, lose = np.ones(groups + 1), np.zeros(groups + 1)
    survive[last + 1 :], lose[last + 1 :] = 0.0, 1.0
    # The mean number of lost parts bounds the chance of any; below e^-700 it is told as 0.
    k = np.arange(last + 1)
    bound = np.logaddexp.reduce([part.log_bound(groups, k) + np.log(times) for times, part in parts], axis=0)
    start = int(np.searchsorted(bound, _LEAST_LOG))
    for at, values in _march(groups, parts, True, start, last):
        lose[at], survive[at] = values, 1.0 - values
        start = at.stop
        if values[-1] > 0.5:
            break
    survive[start : last + 1], lose[start : last + 1] = 0.0, 1.0
    for at, values in _march(groups, parts, False, start, last):
        survive[at], lose[at] = values, 1.0 - values
        if values[-1] == 0.0:
            break
    return survive, lose


def _march(groups, parts, losing, first, last):
    """Yield (slice of k, P or 1 - P there) from k = first to last, a circle of points at a time."""
    k = first
    y = np.log((first + 0.5) / (groups - first + 0.5))
    while k <= last:
        y, p, s, mean, deviation, height = _centre(groups, parts, losing, k, y)
        width = max(deviation, 1.0)
        stop = min(last, max(k, int(mean + width))) + 1
        ks = np.arange(k, stop)
        share = _circle(groups, parts, losing, p, s, ks, int(round(mean)), deviation)
        value = height + np.log(share) - log_binomial(ks, groups, p, s)
        yield slice(k, stop), np.where(value < _LEAST_LOG, 0.0, np.exp(np.minimum(value, 0.0)))
        y += (stop - mean + 0.6 * width) / max(deviation * deviation, 1.0)
        k = stop


def _centre(groups, parts, losing, k, y):
    """The y whose centre lies from half a deviation (or failure) below k to one above it."""
    low, high = -np.inf, np.inf
    for _ in range(200):
        p, s = 1.0 / (1.0 + np.exp(-y)), 1.0 / (1.0 + np.exp(y))
        height, mean, variance = _moments(groups, parts, losing, p, s)
        deviation = np.sqrt(max(variance, 0.0))
        width = max(deviation, 1.0)
        if -0.5 * width <= mean - k <= width:
            return y, p, s, mean, deviation, height
        low, high = (low, y) if mean > k else (y, high)
        step = (k + 0.4 * width - mean) / max(variance, 1e-9)
        y += min(max(step, -2.0), 2.0)
        if not low < y < high:
            y = 0.5 * (low + high)
    raise ArithmeticError(f"no saddle point for {k} of {groups} failures")


def _moments(groups, parts, losing, p, s):
    """ln of the chance of survival (or loss) with every group failed with chance p; mean and variance of k then."""
    value, first, second = _sum(parts, p, s, losing)
    if losing and value > _RARE:
        alive, slope, bend = _sum(parts, p, s, False)
        chance, lost = np.exp(alive), -np.expm1(alive)
        value, first = _log(lost, chance), -chance * slope / lost
        second = -chance * (bend + slope * slope) / lost - first * first
    return value, groups * p + first, groups * p * s + second


def _sum(parts, p, s, losing):
    """ln of the product of R and its derivatives, or of the sum of 1 - R, to which rare losses add up."""
    values = [(times, *part.at(p, s, losing)) for times, part in parts]
    if not losing:
        return tuple(sum(row[0] * row[i] for row in values) for i in (1, 2, 3))
    total = np.logaddexp.reduce([np.log(row[0]) + row[1] for row in values])
    shares = [row[0] * np.exp(row[1] - total) for row in values]
    first = sum(share * row[2] for share, row in zip(shares, values, strict=True))
    second = sum(share * (row[3] + row[2] ** 2) for share, row in zip(shares, values, strict=True))
    return total, first, second - first * first


def _circle(groups, parts, losing, p, s, ks, middle, deviation):
    """Share of each k among the surviving (or losing) sets: float64[ks], a trapezoid rule over the circle."""
    points = int(15.0 * deviation) + 32
    grain = 1 << max(0, points.bit_length() - 4)  # a length that Fourier transforms like
    points = -(-points // grain) * grain
    steps = points // 2
    if deviation >= 7.0:  # below that a sum is no bell yet, and its function need not fade
        steps = min(steps, int(12.0 / deviation * points / (2.0 * np.pi)) + 1)
    angles = np.arange(1, steps + 1) * (2.0 * np.pi / points)
    free = _free(groups, middle, p, s, angles)
    rare = losing and _sum(parts, p, s, True)[0] <= _RARE
    own = _sum(parts, p, s, rare)[0]
    if rare:
        chances = [np.log(times) - own + part.around(p, s, angles, points, True) for times, part in parts]
        value = sum(np.exp(free + chance) for chance in chances)
    else:
        chance = sum(times * part.around(p, s, angles, points, False) for times, part in parts)
        if losing:
            small = np.where(chance.real < 1.0, chance, 0.0)  # the other form, not to overflow
            lost = np.where(
                chance.real < 1.0, -np.exp(free) * np.expm1(small), np.exp(free) - np.exp(free + chance)
            )
            value = lost / -np.expm1(own)
        else:
            value = np.exp(free + chance - own)
    spectrum = np.zeros(points // 2 + 1, dtype=np.complex128)
    spectrum[0] = 1.0
    spectrum[1 : steps + 1] = np.conj(value)
    return np.fft.irfft(spectrum, points)[(ks - middle) % points]


def _free(count, middle, p, s, angles):
    """ln of (1 - p + p e^it)^count e^(-i middle t), from whichever of failures and survivors are fewer."""
    if p <= 0.5:
        return count * _log1p(p * np.expm1(1j * angles)) - 1j * middle * angles
    return count * _log1p(s * np.expm1(-1j * angles)) + 1j * (count - middle) * angles


def _log(p, s):
    """ln p, by way of s = 1 - p where p is near 1."""
    return np.log(p) if p < 0.5 else np.log1p(-s)


def _log_rest(value):
    """ln(1 - e^value) of complex values, up to multiples of 2 pi i."""
    large = value.real > 0.0
    inner = np.where(large, -value, value)  # 1 - e^v = -e^v (1 - e^-v)
    rest = np.where(inner.real < -0.7, _log1p(-np.exp(inner)), np.log(-np.expm1(inner)))
    return np.where(large, rest + value + 1j * np.pi, rest)


def _log1p(z):
    """ln(1 + z) of complex z; its error is a few last digits of |z| (numpy's is of 1). No less than ln 1e-8."""
    square = 2.0 * z.real + (z.real * z.real + z.imag * z.imag)
    return 0.5 * np.log1p(np.maximum(square, -1.0 + 1e-16)) + 1j * np.arctan2(z.imag, 1.0 + z.real)
