"""Endurable failures of failure patterns (MODEL section 2), without sorting.

The wipe-out key W is the least over the types of the greatest key among the type's hosts; K is the number of groups
that fail before W's group. The upper 16 bits of the keys settle both unless several groups share W's (one trial in
a hundred at N=600, every trial at N=600,000); then their full keys are drawn again.

What limits it, from the machine code for AVX2 at N=600, r=9 golomb: drawing 64 keys takes 64 vpmuludq, 68 shifts,
133 vpxor and 28 instructions that pack (16 trials side by side save two rounds of ten); the windows take one
vpmaxuw from the level-1 cache per 16 keys and host (36 for the same 64 keys), the count 5 per 16 keys. So two
thirds of the time goes into Philox, bound by the four vector units, and most of the rest into loads; nothing
branches on keys. Contiguous windows take log4(r) passes instead of r. Large random tables are bound by fetching
hosts' bits from outside the level-2 cache.
"""

import numpy as np

from .jit import njit
from .patterns import trial1, trials16
from .philox import split64
from .survival_plan import (
    BITS,
    CIRCULANT,
    GROUPS,
    KIND,
    LANES,
    LOOK,
    ROWS,
    SINGLE,
    SPAN,
    THRESHOLD,
    WIDTH,
    plan,
)
from .wipeout import (
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

__all__ = ["endurable", "endurable_of_keys", "plan"]

_BITS64_TO = 131072  # groups; 64 trials at a time take 128 bytes each

# typed: Numba compiles a function anew for each plain integer constant it is called with
_0, _1, _16 = np.int64(0), np.int64(1), np.int64(16)
_TOP = np.uint16(65535)
_LOW = np.uint64(0xFFFFFFFF)
_NO_KEYS = np.empty(0, np.uint32)


@njit
def _side_by_side(trial, left):
    """How many of the next 16 trials can be drawn side by side: those that share their high 32 bits."""
    room = np.uint64(0x100000000) - (trial & _LOW)
    return min(16, left) if room >= np.uint64(16) else min(np.int64(room), left)


@njit
def _given(keys, length, full, at):
    """High halves of given keys."""
    for x in range(length):
        keys[x] = np.uint16(full[at + x] >> np.uint32(16))


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
                    numbers, places, hosts, rows, many_rows, keys, _16, lane, best[at + lane],
                    tied, lane * groups, counts[16 + lane], full, done * groups, k0, k1, trial + np.uint64(lane),
                )  # fmt: skip


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
    rows = np.empty(0, np.int32)
    done = _0
    while done < out.shape[0]:
        trial = first + np.uint64(done)
        lanes = _side_by_side(trial, out.shape[0] - done)
        if full.shape[0] > 0:
            _given(keys, groups * 16, full, done * groups)
        else:
            trials16(keys, (groups + 3) >> 2, k0, k1, trial, scratch)
        if numbers[KIND] == CIRCULANT:
            wrap(keys, 16 * groups, end)
            least_window(_fold_all(folded, keys, _16, steps, end), length, _16, shifts, best)
        else:
            least_row(keys, hosts, numbers[WIDTH], best, _0)
        _finish(
            numbers, places, hosts, rows, numbers[ROWS], keys, best, _0, counts, tied, full, k0, k1, trial,
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
    part = np.empty(16, np.uint16)
    tied = np.empty(groups, np.int32)
    rows = np.empty(1, np.int32)
    for done in range(out.shape[0]):
        trial = first + np.uint64(done)
        if full.shape[0] > 0:
            _given(keys, groups, full, done * groups)
        else:
            trial1(keys, ((groups + 63) >> 6) << 4, k0, k1, trial)
        wrap(keys, groups, end)
        least_window(_fold_all(folded, keys, _1, steps, end), length, _1, shifts, part)
        best = _TOP
        for lane in range(16):
            best = min(best, part[lane])
        below, many = count1(keys, groups, best, tied)
        if many > 1:
            below += settle_tie(
                numbers, places, hosts, rows, _0, keys, _1, _0, best, tied, _0, many, full, done * groups, k0, k1, trial
            )  # fmt: skip
        out[done] = below


@njit
def _bits(numbers, places, hosts, k0, k1, first, full, out, words):
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
    every = np.empty(0, np.int32)
    rows = np.empty(numbers[ROWS] + 1, np.int32)
    masks = np.empty(numbers[ROWS] + 1, words.dtype)
    shares = masks.view(np.uint16)
    done = _0
    while done < out.shape[0]:
        start = done
        for b in range(parts):
            trial = first + np.uint64(done)
            lanes[b] = _side_by_side(trial, out.shape[0] - done)
            if lanes[b] == 0:
                flag_early(keys[b], groups, np.uint16(0), flags, b, parts)
                continue
            if full.shape[0] > 0:
                _given(keys[b], groups * 16, full, done * groups)
            else:
                trials16(keys[b], (groups + 3) >> 2, k0, k1, trial, scratch)
            flag_early(keys[b], groups, bound, flags, b, parts)
            done += lanes[b]
        many = lost_rows(words, hosts, width, numbers[LOOK], rows, masks)
        for b in range(parts):
            if lanes[b] == 0:
                break
            least_listed(keys[b], hosts, width, rows, shares, b, parts, many, best, _0)
            missed = False
            for lane in range(lanes[b]):
                missed |= best[lane] >= bound
            if missed:
                least_row(keys[b], hosts, width, best, _0)
            _finish(
                numbers, places, hosts, every if missed else rows, numbers[ROWS] if missed else many,
                keys[b], best, _0, counts, tied, full, k0, k1, first + np.uint64(start), out, start, lanes[b],
            )  # fmt: skip
            start += lanes[b]


def _run(plan, k0, k1, first, full, out):
    way, numbers, places, steps, shifts, hosts = plan
    k0, k1, first = np.uint64(k0), np.uint64(k1), np.uint64(first)
    if way == BITS:
        words = np.empty(numbers[GROUPS], np.uint64 if numbers[GROUPS] <= _BITS64_TO else np.uint16)
        _bits(numbers, places, hosts, k0, k1, first, full, out, words)
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
