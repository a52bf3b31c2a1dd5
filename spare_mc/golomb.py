"""Offsets whose differences are all distinct modulo N, so that two groups share at most one shard type.

``offsets(N, r)`` takes the first of these that is distinct modulo N; the answer for an (N, r) is part of the
results' meaning and does not change between versions:

1. the optimal Golomb ruler of r marks (``rulers``): any N above twice its length will do, and many below;
2. beyond the orders known, the shortest ruler of r marks found in the families of ``modular`` (unless
   N < 1.2 r^2, where it is too long);
3. a family with modulus N itself, marks left out to make it short;
4. up to 10,000 groups, windows of the families that are longer than N/2, shortest first, until the allowance
   is spent;
5. marks of a dense ruler found by search for this N (``data/modular_rulers.txt``): last, so that a new line in
   that table changes no answer given before.

None of it draws random numbers or looks at the clock: the allowances are counts.
"""

from functools import lru_cache

import numpy as np

from . import data, modular
from .errors import UserError
from .rulers import OPTIMAL, exists

_DIFFERENCES = 2**21  # computed in step 4; with redundancy 30 that is 2,330 windows
_MARKS = 2**21  # multiplied marks sorted in a search through a family: some 0.2 s


def offsets(groups, redundancy):
    """The offsets of the golomb layout: a tuple of ``redundancy`` ints, 0 first, ascending, below ``groups``.

    Raises UserError where r(r-1) > N-1 or an exhaustive search has shown that none exist, or where none is known.
    """
    found = _find(groups, redundancy)
    if found is None:
        raise UserError(_refusal(groups, redundancy))
    return found


def is_golomb(marks, groups):
    """Whether all differences of two of the ``marks`` (ints) are distinct modulo ``groups``."""
    marks = np.asarray(marks, dtype=np.int64)
    differences = (marks[:, None] - marks) % groups
    differences = np.sort(
        differences[differences != 0]
    )  # np.unique would load numpy.ma, a tenth of a short run
    distinct = len(differences) - np.count_nonzero(differences[1:] == differences[:-1])
    return distinct == len(marks) * (len(marks) - 1)


def _are_golomb(rulers, groups):
    """The same for each row of ``rulers``, int64[count, r]; faster for many rulers and few groups."""
    count, redundancy = rulers.shape
    pairs = ~np.eye(redundancy, dtype=bool)
    differences = ((rulers[:, :, None] - rulers[:, None, :]) % groups)[:, pairs]
    differences += groups * np.arange(count)[:, None]
    times = np.bincount(differences.reshape(-1), minlength=count * groups).reshape(count, groups)
    return (times[:, 0] == 0) & (times.max(axis=1) <= 1)


@lru_cache(maxsize=4096)
def _find(groups, redundancy):
    """The offsets, or None where none is known."""
    if exists(groups, redundancy) is False:
        return None
    for step in (_short_or_exact, _long_window, _searched):
        found = step(groups, redundancy)
        if found is not None:
            return found
    return None


def _short_or_exact(groups, redundancy):
    """Steps 1 to 3."""
    if redundancy in OPTIMAL or 5 * groups >= 6 * redundancy**2:
        ruler = short_ruler(redundancy)
        if is_golomb(ruler, groups):
            return ruler
    for family, q in _families(redundancy, groups, groups):
        return _shortest(family, q, redundancy)[1]
    return None


@lru_cache(maxsize=1024)
def short_ruler(redundancy):
    """The optimal ruler, or beyond the orders known the shortest one that the families give."""
    if redundancy in OPTIMAL:
        return OPTIMAL[redundancy]
    top = redundancy + 8
    while True:
        candidates = [_shortest(f, q, redundancy) for f, q in _families(redundancy, 0, top * top)]
        if candidates:
            return min(candidates)[1]
        top += 8


def _families(redundancy, low, high):
    """(family, q) with at least ``redundancy`` marks and a modulus from ``low`` to ``high``."""
    for q in range(redundancy - 1, int(high**0.5) + 2):
        for family in modular.FAMILIES:
            v = modular.modulus(family, q)
            if v is not None and low <= v <= high and modular.size(family, q) >= redundancy:
                yield family, q


@lru_cache(maxsize=256)
def _shortest(family, q, redundancy):
    """(length, ruler): the shortest ``redundancy`` marks in a row of a family over all its multiples."""
    v = modular.modulus(family, q)
    best = None
    for multiples in _multiples(family, q, _MARKS):
        widths = _widths(multiples, v, redundancy)
        row, start = divmod(int(np.argmin(widths)), widths.shape[1])
        if best is None or widths[row, start] < best[0]:
            best = int(widths[row, start]), _window(multiples[row], v, start, redundancy)
    return best


def _multiples(family, q, allowance):
    """int64[some, size] at a time: the marks times each unit modulo v, sorted; one unit of each class."""
    v = modular.modulus(family, q)
    marks = np.array(modular.marks(family, q), dtype=np.int64)
    units = modular.units(family, q)[: max(1, allowance // len(marks))]
    step = max(1, 2**20 // len(marks))
    for first in range(0, len(units), step):
        yield np.sort(units[first : first + step, None] * marks % v, axis=1)


def _widths(marks, v, redundancy):
    """From each mark to the ``redundancy - 1``-th after it, modulo v."""
    ends = np.roll(marks, 1 - redundancy, axis=-1)
    return (ends - marks) % v


def _window(marks, v, start, redundancy):
    """``redundancy`` marks in a row moved to 0, or their mirror image, whichever is less."""
    ruler = np.roll(marks, -start)[:redundancy]
    ruler = tuple(((ruler - ruler[0]) % v).tolist())
    return min(ruler, tuple(ruler[-1] - mark for mark in reversed(ruler)))


def _long_window(groups, redundancy):
    """The shortest window between N/2 and N that happens to be distinct modulo N, or None."""
    if groups > 10_000:
        return None
    limit = groups * 3 // 4  # a longer one has too many pairs of differences that may add up to N
    tries = max(1, _DIFFERENCES // redundancy**2)
    families = list(_families(redundancy, groups // 2, 2 * groups))
    found = []
    for family, q in families:
        v = modular.modulus(family, q)
        for multiples in _multiples(family, q, _MARKS // len(families)):
            widths = _widths(multiples, v, redundancy)
            for row, start in _least(widths, tries, limit):
                found.append((int(widths[row, start]), v, multiples[row], start))
    found.sort(key=lambda window: window[0])
    found = found[:tries]
    for first in range(0, len(found), 64):
        rulers = [_window(marks, v, start, redundancy) for _, v, marks, start in found[first : first + 64]]
        good = np.flatnonzero(_are_golomb(np.array(rulers), groups))
        if len(good):
            return rulers[good[0]]
    return None


def _least(widths, count, limit):
    """(row, column) of the ``count`` least entries up to ``limit``, least first, then in reading order."""
    flat = widths.reshape(-1)
    if len(flat) > count:
        # Sorting only what may be wanted; the value is unique though which entry has it is not.
        limit = min(limit, np.partition(flat, count)[count])
    at = np.flatnonzero(flat <= limit)
    at = at[np.argsort(flat[at], kind="stable")][:count]
    return [divmod(index, widths.shape[1]) for index in at.tolist()]


def _searched(groups, redundancy):
    """The shortest marks in a row of the table's ruler for N, or None."""
    marks = np.array(_dense_rulers().get(groups, ()), dtype=np.int64)
    if len(marks) < redundancy:
        return None
    return _window(marks, groups, int(np.argmin(_widths(marks, groups, redundancy))), redundancy)


@lru_cache(maxsize=1)
def _dense_rulers():
    text = data.text("modular_rulers.txt")
    rulers = (line.partition(":") for line in text.splitlines() if line and line[0] != "#")
    return {int(groups): tuple(map(int, marks.split())) for groups, _, marks in rulers}


def _refusal(groups, redundancy):
    largest = _largest(groups, redundancy)
    instead = f"use layout.redundancy = {largest} or less"
    if redundancy * (redundancy - 1) > groups - 1:
        why = f"a golomb layout of {groups} groups is impossible, r(r-1) <= N-1 is needed"
    else:
        known = exists(groups, redundancy)
        if known is False:
            why = f"no golomb layout of {groups} groups exists (exhaustive search)"
        elif known:
            why = f"golomb layouts of {groups} groups exist, but none is known here"
        else:
            why = (
                f"no golomb layout of {groups} groups is known (none was found; it is not proven impossible)"
            )
        instead += f", or cluster.groups = {_next_groups(groups, redundancy)}"
    return f"layout.redundancy = {redundancy}: {why}; {instead}, or layout.kind = contiguous, partition or random"


def _largest(groups, redundancy):
    """The largest smaller redundancy known to work; beyond some thousand groups, without the slowest step."""
    top = next(r for r in range(min(redundancy, int(groups**0.5) + 1), 0, -1) if r * (r - 1) < groups)
    if groups <= 2000:
        return next(r for r in range(top, 0, -1) if _find(groups, r) is not None)
    at_this_size = max((modular.size(f, q) for f, q in _families(1, groups, groups)), default=0)
    low, high = 1, top + 1  # short rulers grow with their marks: halve the interval
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_golomb(short_ruler(middle), groups) else (low, middle)
    return max(low, min(top, at_this_size))


def _next_groups(groups, redundancy):
    """The next larger number of groups known to work."""
    reach = 2 * short_ruler(redundancy)[-1] + 1
    moduli = (modular.modulus(f, q) for f, q in _families(redundancy, groups, reach))
    least = min((v for v in moduli if v > groups), default=reach)
    near = range(groups + 1, min(least, groups + 200))
    return next((n for n in near if _short_or_exact(n, redundancy) or _searched(n, redundancy)), least)
