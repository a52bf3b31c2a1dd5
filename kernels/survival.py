"""Endurable failures of failure patterns (MODEL section 2), without sorting.

The wipe-out key W is the least over the types of the greatest key among the type's hosts; K is the number of groups
that fail before W's group. The upper 16 bits of the keys settle both unless several groups share W's; then their
full keys are drawn again.

PLACEHOLDER
"""

from typing import NamedTuple

import numpy as np

from .jit import njit
from .patterns import trial1, trials16
from .philox import split64
from .wipeout import (
    CIRCULANT,
    GROUPS,
    KIND,
    LOOK,
    NUMBERS,
    PARTITION,
    ROWS,
    SPAN,
    TABLE,
    THRESHOLD,
    WIDTH,
    count1,
    count16,
    find_ties,
    flag_early,
    fold,
    least_listed,
    least_row,
    least_window,
    lost_rows,
    settle_tie,
    wrap,
)

LANES, SINGLE, BITS = range(3)  # ways to compute: see _lanes, _single, _bits
_SINGLE_FROM = 8192  # groups; measured: below, 16 trials side by side stay in the level-2 cache
_BITS_FROM = 256
_BITS64_TO = 131072  # 64 trials at a time take 128 bytes a group
_EXPECTED = 8  # types expected to be lost below a plan's threshold: none is in one trial of 3,000

_TOP = np.uint16(65535)
_LOW = np.uint64(0xFFFFFFFF)
_NO_KEYS = np.empty(0, np.uint32)


class Plan(NamedTuple):
    """A layout prepared for :func:`endurable`; read-only arrays, to be used from any number of threads at once."""

    way: int  # LANES, SINGLE or BITS
    numbers: np.ndarray  # int64[NUMBERS]
    places: np.ndarray  # int64[r], circulant: a type's hosts lie at x + places, ascending from 0
    steps: np.ndarray  # int64[...]: maxima of four groups each this far apart, taken before the windows
    shifts: np.ndarray  # int64[...]: what the windows then cover
    hosts: np.ndarray  # uint32[rows * width], partition and table; short rows repeat a host


def _places(groups, offsets):
    """Where a type's hosts lie from the one that makes the farthest nearest (a window of the ring)."""
    places = np.unique(-np.asarray(offsets, np.int64) % groups)
    gaps = np.diff(places, append=places[0] + groups)
    first = (int(np.argmax(gaps)) + 1) % places.size
    return np.sort((places - places[first]) % groups)


def _cover(places):
    """(steps, shifts) whose maxima cover ``places``: contiguous ones in about log4 of their number."""
    steps, reach = [], 1
    if places.size == places[-1] + 1:
        while -(-places.size // reach) > 6:
            steps.append(reach)
            reach *= 4
        places = [*range(0, places.size - reach, reach), places.size - reach]
    return np.array(steps, np.int64), np.array(places, np.int64)


def _threshold(sizes):
    """The least 16-bit level below which ``_EXPECTED`` types of these sizes are expected to have lost all hosts."""
    sizes, types = np.unique(sizes, return_counts=True)
    low, high = 1, 65535
    while low < high:
        middle = (low + high) // 2
        if (types * (middle / 65536.0) ** sizes).sum() >= _EXPECTED:
            high = middle
        else:
            low = middle + 1
    return low


def plan(groups, redundancy, offsets=None, block=None, hosts=None, way=None):
    """Prepare a layout of ``groups`` groups for :func:`endurable`; exactly one of three describes it.

    offsets : sequence of ints, a circulant layout: groups (t - o) mod N host type t
    block : int, a partition: blocks of so many consecutive groups host the same types, the last may be short
    hosts : int32[N, r], row t the groups that host type t, short rows padded with -1 at the end

    ``redundancy`` is r, the most hosts a type has. ``way`` forces one of the ways to compute (for tests and
    measurements; not every way knows every layout). Raises ValueError on anything else.
    """
    if (offsets is not None) + (block is not None) + (hosts is not None) != 1:
        raise ValueError("give exactly one of offsets, block, hosts")
    none = np.zeros(0, np.int64)
    numbers = np.zeros(NUMBERS, np.int64)
    numbers[GROUPS] = groups
    places, steps, shifts, table = none, none, none, np.zeros((0, 1), np.uint32)
    if offsets is not None:
        places = _places(groups, offsets)
        steps, shifts = _cover(places)
        numbers[KIND], numbers[SPAN], numbers[WIDTH] = CIRCULANT, places[-1], places.size
        fitting = SINGLE if groups >= _SINGLE_FROM else LANES
    elif block is not None:
        first = np.arange(0, groups, block)[:, None]
        table = np.minimum(first + np.arange(block), groups - 1)
        numbers[KIND], fitting = PARTITION, LANES
    else:
        table = np.asarray(hosts)
        sizes = (table >= 0).sum(axis=1)
        if sizes.min() < 1 or table.max() >= groups:
            raise ValueError(f"hosts: every type needs a host, and hosts are 0..{groups - 1}")
        numbers[KIND], numbers[THRESHOLD] = TABLE, _threshold(sizes)
        # looking whether a trial is left pays where few are, and enough of the row is saved
        look = int(np.ceil(np.log(64 / 0.3) / -np.log(numbers[THRESHOLD] / 65536)))
        numbers[LOOK] = look if look + 4 <= table.shape[1] else table.shape[1]
        table = np.where(table < 0, table[:, :1], table)
        fitting = BITS if groups >= _BITS_FROM else LANES
        if fitting == BITS:
            table = table[np.argsort(table[:, 0], kind="stable")]  # its first column is then read in order
    if offsets is None:
        numbers[ROWS], numbers[WIDTH] = table.shape
    if way is None:
        way = fitting
    elif (numbers[KIND], way) in ((CIRCULANT, BITS), (PARTITION, SINGLE), (PARTITION, BITS), (TABLE, SINGLE)):
        raise ValueError(f"way: {way} cannot compute this kind of layout")
    arrays = numbers, places, steps, shifts, np.ascontiguousarray(table, np.uint32).reshape(-1)
    for array in arrays:
        array.flags.writeable = False
    return Plan(way, *arrays)


@njit
def _side_by_side(trial, left):
    """How many of the next 16 trials can be drawn side by side: those that share their high 32 bits."""
    room = np.uint64(0x100000000) - (trial & _LOW)
    return min(16, left) if room >= np.uint64(16) else min(np.int64(room), left)


@njit
def _draw(keys, groups, stride, k0, k1, trial, full, done, scratch):
    """High halves of one trial's keys, or of 16 trials'; from ``full`` (uint32, laid out alike) if given."""
    if full.shape[0] > 0:
        for x in range(groups * stride):
            keys[x] = np.uint16(full[done * groups + x] >> np.uint32(16))
    elif stride == 16:
        trials16(keys, (groups + 3) >> 2, k0, k1, trial, scratch)
    else:
        trial1(keys, ((groups + 63) >> 6) << 4, k0, k1, trial)


@njit
def _fold_all(folded, keys, stride, steps, end):
    """Take the maxima of ``steps`` one after another; returns what the windows then run over."""
    source = keys
    for step in steps:
        end -= 3 * stride * step
        fold(folded, source, stride * step, end)
        source = folded
    return source


@njit
def _finish(
    numbers, places, hosts, rows, many_rows, keys, best, at, counts, tied, full, k0, k1, trial, out, done, lanes
):  # fmt: skip
    """Endurable failures of trials side by side, from their wipe-out keys ``best[at + lane]``, into ``out``."""
    groups = numbers[GROUPS]
    count16(keys, groups, best, at, counts)
    several = False
    for lane in range(lanes):
        out[done + lane] = counts[lane]
        several |= counts[16 + lane] > 1
    if several:
        find_ties(keys, groups, best, at, counts, tied)
        for lane in range(lanes):
            if counts[16 + lane] > 1:
                out[done + lane] += settle_tie(
                    numbers, places, hosts, rows, many_rows, keys, 16, lane, best[at + lane], tied,
                    lane * groups, counts[16 + lane], full, done * groups, k0, k1, trial + np.uint64(lane),
                )  # fmt: skip


@njit
def _every_row(numbers):
    rows = np.empty(numbers[ROWS], np.int32)
    for row in range(rows.shape[0]):
        rows[row] = row * numbers[WIDTH]
    return rows


@njit
def _lanes(numbers, places, steps, shifts, hosts, k0, k1, first, full, out):
    """16 trials at a time, side by side."""
    groups = numbers[GROUPS]
    length = (groups * 16 + 63) & ~63
    end = length + 16 * numbers[SPAN]
    keys = np.empty(end + 64, np.uint16)
    folded = np.empty(end + 64 if steps.shape[0] > 0 else 1, np.uint16)
    scratch = np.empty(32, np.uint64)
    best = np.empty(16, np.uint16)
    counts = np.empty(48, np.int64)
    tied = np.empty(16 * groups, np.int32)
    rows = _every_row(numbers)
    done = 0
    while done < out.shape[0]:
        trial = first + np.uint64(done)
        lanes = _side_by_side(trial, out.shape[0] - done)
        _draw(keys, groups, 16, k0, k1, trial, full, done, scratch)
        if numbers[KIND] == CIRCULANT:
            wrap(keys, 16 * groups, end)
            least_window(_fold_all(folded, keys, 16, steps, end), length, 16, shifts, best)
        else:
            least_row(keys, hosts, numbers[WIDTH], best, 0)
        _finish(
            numbers, places, hosts, rows, rows.shape[0], keys, best, 0, counts, tied, full, k0, k1, trial,
            out, done, lanes,
        )  # fmt: skip
        done += lanes


@njit
def _single(numbers, places, steps, shifts, hosts, k0, k1, first, full, out):
    """One trial at a time: circulant layouts too large to hold 16 trials in the cache."""
    groups = numbers[GROUPS]
    length = (groups + 63) & ~63
    end = length + numbers[SPAN]
    keys = np.empty(end + 64, np.uint16)
    folded = np.empty(end + 64 if steps.shape[0] > 0 else 1, np.uint16)
    scratch = np.empty(1, np.uint64)
    part = np.empty(16, np.uint16)
    tied = np.empty(groups, np.int32)
    rows = np.empty(1, np.int32)
    for done in range(out.shape[0]):
        trial = first + np.uint64(done)
        _draw(keys, groups, 1, k0, k1, trial, full, done, scratch)
        wrap(keys, groups, end)
        least_window(_fold_all(folded, keys, 1, steps, end), length, 1, shifts, part)
        best = _TOP
        for lane in range(16):
            best = min(best, part[lane])
        below, many = count1(keys, groups, best, tied)
        if many > 1:
            below += settle_tie(
                numbers,
                places,
                hosts,
                rows,
                0,
                keys,
                1,
                0,
                best,
                tied,
                0,
                many,
                full,
                done * groups,
                k0,
                k1,
                trial,
            )
        out[done] = below


@njit
def _bits(numbers, hosts, k0, k1, first, full, out, words):
    """Tables: as many trials at a time as ``words`` (uint64[N] or uint16[N], scratch) has bits.

    A bit per group and trial says whether the key lies below a threshold that nearly every trial's wipe-out lies
    below. Only types whose hosts share a bit are then looked at; a trial without one looks at all types.
    """
    groups, width, bound = numbers[GROUPS], numbers[WIDTH], np.uint16(numbers[THRESHOLD])
    flags = words.view(np.uint16)
    parts = flags.shape[0] // groups
    keys = np.empty((parts, 64 * ((groups + 3) >> 2)), np.uint16)
    scratch = np.empty(32, np.uint64)
    best = np.empty(16, np.uint16)
    counts = np.empty(48, np.int64)
    lanes = np.empty(parts, np.int64)
    tied = np.empty(16 * groups, np.int32)
    every = _every_row(numbers)
    rows = np.empty(numbers[ROWS] + 1, np.int32)
    masks = np.empty(numbers[ROWS] + 1, words.dtype)
    shares = masks.view(np.uint16)
    done = 0
    while done < out.shape[0]:
        start = done
        for b in range(parts):
            trial = first + np.uint64(done)
            lanes[b] = _side_by_side(trial, out.shape[0] - done)
            if lanes[b] > 0:
                _draw(keys[b], groups, 16, k0, k1, trial, full, done, scratch)
            flag_early(keys[b], groups, bound if lanes[b] > 0 else np.uint16(0), flags, b, parts)
            done += lanes[b]
        many = lost_rows(words, hosts, width, numbers[LOOK], rows, masks)
        for b in range(parts):
            least_listed(keys[b], hosts, width, rows, shares, b, parts, many, best, 0)
            missed = False
            for lane in range(lanes[b]):
                missed |= best[lane] >= bound
            if missed:
                least_row(keys[b], hosts, width, best, 0)
            _finish(
                numbers, scratch.view(np.int64), hosts, every if missed else rows, every.shape[0] if missed else many,
                keys[b], best, 0, counts, tied, full, k0, k1, first + np.uint64(start), out, start, lanes[b],
            )  # fmt: skip
            start += lanes[b]


def _run(plan, k0, k1, first, full, out):
    way, numbers, places, steps, shifts, hosts = plan
    k0, k1, first = np.uint64(k0), np.uint64(k1), np.uint64(first)
    if way == BITS:
        words = np.empty(numbers[GROUPS], np.uint64 if numbers[GROUPS] <= _BITS64_TO else np.uint16)
        _bits(numbers, hosts, k0, k1, first, full, out, words)
    else:
        kernel = _lanes if way == LANES else _single
        kernel(numbers, places, steps, shifts, hosts, k0, k1, first, full, out)


def endurable(plan, seed, first, out):
    """Fill ``out`` (int32[count], C-contiguous) with the endurable failures K of trials first, first + 1, ...

    ``seed`` and trial numbers: ints below 2**64. Drops the GIL; scratch is allocated for the call: up to about
    100 bytes a group, 200 for tables of at most 131,072 groups.
    """
    _run(plan, *split64(seed), first, _NO_KEYS, out)


def endurable_of_keys(plan, keys, out):
    """The same for given 32-bit keys (uint32[count, N]) instead of drawn ones: puts ties where a test wants them."""
    if plan.way != SINGLE:
        count, groups = keys.shape
        padded = np.zeros((-(-count // 16) * 16, groups), np.uint32)
        padded[:count] = keys
        keys = padded.reshape(-1, 16, groups).transpose(0, 2, 1)
    _run(plan, 0, 0, 0, np.ascontiguousarray(keys, np.uint32).reshape(-1), out)
