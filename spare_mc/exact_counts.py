"""Surviving subsets counted in exact integers: how many sets of k failed groups leave every type a host.

Entry k of a count, divided by C(N, k), is the survival curve P(k) = Pr[K_w > k].
"""

from fractions import Fraction
from itertools import accumulate
from math import comb, gcd, prod

import numpy as np

from .arguments import size, whole
from .errors import UserError


def contiguous_counts(groups, redundancy):
    """Counts of the contiguous layout: k failed on a circle of N, no r of them in a row. List of N + 1 ints.

    Seen from one of the n = N - k survivors, the runs of failures between survivors compose k into n parts below
    r: [x^k] (1 + x + .. + x^(r-1))^n ways, and N/n ways to choose who is first. All terms are positive; N = 1000
    takes a fraction of a second, the time grows as N**3.
    """
    n_groups, r = size(groups, redundancy)
    counts = [1] + [0] * n_groups
    row = [1]  # coefficients of (1 + .. + x^(r-1))^n up to x^(N-n), for n = 0, then 1, ..
    for n in range(1, n_groups + 1):
        length = min(n_groups - n, n * (r - 1)) + 1
        sums = list(accumulate(row))
        sums += [sums[-1]] * (length - len(sums))
        row = sums[:r] + [high - low for high, low in zip(sums[r:length], sums, strict=False)]
        row = row[:length]
        k = n_groups - n
        if k < len(row):
            counts[k] = row[k] * n_groups // n
    return counts


def contiguous_count(groups, redundancy, failures):
    """One entry of ``contiguous_counts``, by inclusion and exclusion: cheap where k/r or N - k is small."""
    groups, r = size(groups, redundancy)
    k = whole("failures", failures, 0, groups, f"groups = {groups}")
    n = groups - k
    if n == 0:
        return 0
    terms = (comb(n, j) * comb(groups - 1 - r * j, n - 1) * (-1) ** j for j in range(min(n, k // r) + 1))
    return sum(terms) * groups // n


def partition_counts(groups, block):
    """Counts of the partition: prod over blocks of ((1+x)^b - x^b), the last block smaller. List of N + 1 ints."""
    groups, block = size(groups, block, "block")
    full, rest = divmod(groups, block)
    factors = [([comb(block, k) for k in range(block)], full)]
    if rest:
        factors.append(([comb(rest, k) for k in range(rest)], 1))
    return product_counts(groups, factors)


def progression_counts(groups, redundancy, step):
    """Counts of the circulant layout with offsets 0, d, 2d, .. modulo N: gcd(d, N) circles, each contiguous.

    Offsets that go once around their circle (r = N / gcd) make it one block of a partition.
    """
    circles, length = circles_of(groups, redundancy, step)
    if redundancy == length:
        return partition_counts(groups, length)
    return product_counts(groups, [(contiguous_counts(length, redundancy), circles)])


def circles_of(groups, redundancy, step):
    """Number and length of the circles that offsets 0, d, 2d, .. modulo N step around; UserError if they repeat."""
    groups, redundancy = size(groups, redundancy)
    circles = gcd(whole("step", step, 0), groups)
    length = groups // circles
    if redundancy > length:
        raise UserError(
            f"redundancy = {redundancy}: steps of {step} repeat after {length} among {groups} groups"
        )
    return circles, length


def product_counts(groups, factors):
    """Coefficients of x^0..x^N of a product of powers; ``factors``: (list of non-negative ints, exponent) pairs.

    Coefficients of the product sum to at most 2^N, so fields of N + 1 bits hold them: polynomials are multiplied as
    integers (Kronecker's substitution).
    """
    width = groups // 8 + 1  # bytes
    packed = prod(_pack(coefficients, width) ** exponent for coefficients, exponent in factors)
    data = packed.to_bytes(width * (groups + 1), "little")
    return [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)]


def _pack(coefficients, width):
    return int.from_bytes(b"".join(c.to_bytes(width, "little") for c in coefficients), "little")


def mean_from_counts(counts):
    """E[K], the mean endurable failures, as a Fraction: sum over k >= 1 of counts[k] / C(N, k)."""
    groups = len(counts) - 1
    # Over the common denominator N!: counts[k] k! (N-k)!, from both ends.
    rising = list(accumulate(range(1, groups + 1), lambda a, b: a * b, initial=1))
    total = sum(counts[k] * rising[k] * rising[groups - k] for k in range(1, groups + 1))
    return Fraction(total, rising[groups])


def curve_from_counts(counts):
    """P(k) and 1 - P(k) for k = 0..N, two float64[N+1], each value rounded once."""
    groups = len(counts) - 1
    totals = [comb(groups, k) for k in range(groups + 1)]
    survive = [count / total for count, total in zip(counts, totals, strict=True)]
    lose = [(total - count) / total for count, total in zip(counts, totals, strict=True)]
    return np.array(survive), np.array(lose)
