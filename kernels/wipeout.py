"""Steps of the survival kernels: the least over the types of the greatest host key, counts, ties.

A key array is flat uint16, ``stride`` trials side by side: element ``g * stride + lane`` is the high half of group
g's key in trial ``lane``. So shifting by whole groups keeps the lanes, and any layout is a stream of vector
maxima; ``stride`` is 16 (a vector spans the trials) or 1 (a vector spans 16 groups of one trial).

Flat arrays and plain numbers only: Numba compiles tuples of arrays several times slower. Indices of inner loops are
unsigned: signed ones cost three instructions each to allow for negative ones.
"""

import numpy as np

from .jit import njit
from .lanes import load16, mask_below, mask_equal, splat16, store, tally_below, tally_equal, umax, umin
from .patterns import group_key
from .survival_plan import CIRCULANT, GROUPS, KIND, PARTITION, SPAN, TABLE, WIDTH

_TOP, _ZERO, _ONE = np.uint16(65535), np.uint16(0), np.uint16(1)
_32 = np.uint64(32)
_NEVER = np.uint64(0xFFFFFFFFFFFFFFFF)
_FLUSH = 32768  # rows after which 16-bit tallies are emptied, before they can wrap


@njit
def wrap(keys, length, end):
    """Continue a ring of ``length`` (16 or more) elements up to ``end``, so that no window has to wrap."""
    for x in range(length, end, 16):
        store(keys, x, load16(keys, x - length))


@njit
def fold(target, keys, shift, length):
    """``target[x] = max(keys[x + i * shift], i = 0..3)`` for x below ``length``; both may be one array."""
    for x in range(0, length, 16):
        a = umax(load16(keys, x), load16(keys, x + shift))
        b = umax(load16(keys, x + 2 * shift), load16(keys, x + 3 * shift))
        store(target, x, umax(a, b))


@njit
def least_window(keys, length, stride, shifts, best):
    """Least over x < ``length`` (multiple of 64) of the greatest key at x + stride * shifts, lane by lane.

    Into ``best`` (uint16[16]). A window is given up when no lane can improve any more.
    """
    count = shifts.shape[0]
    least = splat16(_TOP)
    for x in range(0, length, 64):
        at = x + stride * shifts[0]
        a, b = load16(keys, at), load16(keys, at + 16)
        c, d = load16(keys, at + 32), load16(keys, at + 48)
        place = 1
        while place < count:
            for j in range(place, min(place + 8, count)):
                at = x + stride * shifts[np.uint64(j)]
                a, b = umax(a, load16(keys, at)), umax(b, load16(keys, at + 16))
                c, d = umax(c, load16(keys, at + 32)), umax(d, load16(keys, at + 48))
            place += 8
            if place + 8 <= count and mask_below(umin(umin(a, b), umin(c, d)), least) == 0:
                break
        least = umin(least, umin(umin(a, b), umin(c, d)))
    store(best, 0, least)


@njit
def least_row(keys, hosts, width, best, at):
    """The same for a table, 16 trials side by side; ``hosts``: uint32[rows * width]; into ``best[at : at + 16]``."""
    least = splat16(_TOP)
    for row in range(0, hosts.shape[0], width):
        a = load16(keys, np.int64(hosts[np.uint64(row)]) << 4)
        place = 1
        while place < width:
            for j in range(row + place, row + min(place + 8, width)):
                a = umax(a, load16(keys, np.int64(hosts[np.uint64(j)]) << 4))
            place += 8
            if place + 8 <= width and mask_below(a, least) == 0:
                break
        least = umin(least, a)
    store(best, at, least)


@njit
def flag_early(keys, groups, bound, flags, at, step):
    """Bit i of ``flags[at + g * step]`` (uint16): whether group g's key in trial i is below ``bound``."""
    level = splat16(bound)
    for g in range(groups):
        flags[at + g * step] = mask_below(load16(keys, g << 4), level)


@njit
def lost_rows(words, hosts, width, look, rows, masks):
    """Rows of ``hosts`` whose hosts share a set bit in ``words`` (unsigned[N], a bit per trial): how many.

    Their starts go into ``rows`` (int32), the shared bits into ``masks``; both need room for one more. After
    ``look`` hosts a row with no bit left is given up.
    """
    none = words[0] ^ words[0]
    many = 0
    for row in range(0, hosts.shape[0], width):
        word = words[hosts[np.uint64(row)]]
        for place in range(row + 1, row + look):
            word &= words[hosts[np.uint64(place)]]
        if look < width and word != none:
            for place in range(row + look, row + width):
                word &= words[hosts[np.uint64(place)]]
        rows[many] = row
        masks[many] = word
        many += np.int64(word != none)  # not a branch: it would be guessed wrong too often
    return many


@njit
def least_listed(keys, hosts, width, rows, flags, at, step, many, best, start):
    """:func:`least_row` over the ``many`` listed rows that have a bit in ``flags[at + i * step]`` (uint16)."""
    least = splat16(_TOP)
    found = 0
    mine = np.empty(many + 1, np.int32)
    for i in range(many):
        mine[found] = rows[i]
        found += np.int64(flags[at + i * step] != _ZERO)
    for i in range(found):
        row = np.int64(mine[i])
        a = load16(keys, np.int64(hosts[np.uint64(row)]) << 4)
        for place in range(row + 1, row + width):
            a = umax(a, load16(keys, np.int64(hosts[np.uint64(place)]) << 4))
        least = umin(least, a)
    store(best, start, least)


@njit
def count16(keys, groups, best, at, counts):
    """Count groups below ``best[at + lane]`` into ``counts[lane]`` and groups at it into ``counts[16 + lane]``."""
    bound = load16(best, at)
    part = np.empty(32, np.uint16)
    for lane in range(32):
        counts[lane] = 0
    for start in range(0, groups, _FLUSH):
        less = splat16(_ZERO)
        same = splat16(_ZERO)
        for g in range(start, min(start + _FLUSH, groups)):
            key = load16(keys, g << 4)
            less = tally_below(less, key, bound)
            same = tally_equal(same, key, bound)
        store(part, 0, less)
        store(part, 16, same)
        for lane in range(32):
            counts[lane] += np.int64(part[lane])


@njit
def find_ties(keys, groups, best, at, counts, tied):
    """List the groups at ``best`` in the lanes that have several: lane's from ``tied[lane * groups]`` on."""
    bound = load16(best, at)
    lanes = _ZERO
    for lane in range(16):
        counts[32 + lane] = lane * groups
        if counts[16 + lane] > 1:
            lanes |= np.uint16(1 << lane)
    for g in range(groups):
        mask = mask_equal(load16(keys, g << 4), bound) & lanes
        lane = 32
        while mask != _ZERO:
            if mask & _ONE != _ZERO:
                tied[counts[lane]] = g
                counts[lane] += 1
            mask >>= _ONE
            lane += 1


@njit
def count1(keys, groups, best, tied):
    """(groups of one trial below ``best``, groups at it); the latter's indices go into ``tied`` (int32)."""
    bound = splat16(best)
    part = np.empty(16, np.uint16)
    below = 0
    many = 0
    for start in range(0, groups, 16 * _FLUSH):
        less = splat16(_ZERO)
        for x in range(start, min(start + 16 * _FLUSH, groups - 15), 16):
            key = load16(keys, x)
            less = tally_below(less, key, bound)
            if mask_equal(key, bound) != _ZERO:
                for g in range(x, x + 16):
                    if keys[g] == best:
                        tied[many] = g
                        many += 1
        store(part, 0, less)
        for lane in range(16):
            below += np.int64(part[lane])
    for g in range(groups & ~15, groups):
        if keys[g] < best:
            below += 1
        elif keys[g] == best:
            tied[many] = g
            many += 1
    return below, many


@njit(error_model="numpy")
def _first_window(keys, stride, lane, groups, width, best, tied, start, ranks, tie):
    """The least, over the contiguous windows with a tied group and no key above ``best``, of the last rank in them."""
    group, before, after = np.int64(tied[start + tie]), 0, 0
    while before < width - 1 and keys[(group - before - 1) % groups * stride + lane] <= best:
        before += 1
    while after < width - 1 and keys[(group + after + 1) % groups * stride + lane] <= best:
        after += 1
    first = _NEVER
    for x in range(group - before, group + after + 2 - width):
        last = np.uint64(0)
        for other in range(ranks.shape[0]):
            if (np.int64(tied[start + other]) - x) % groups < width:
                last = max(last, ranks[other])
        first = min(first, last)
    return first


@njit(error_model="numpy")
def settle_tie(
    numbers, places, hosts, rows, many_rows, keys, stride, lane, best, tied, start, many, full, offset, k0, k1, trial
):  # fmt: skip
    """How many of the groups tied at ``best`` fail before the one that wipes out; these fail by (full key, group).

    Tied groups: ``tied[start : start + many]``. ``rows[:many_rows]`` (int32, tables only): starts in ``hosts`` of
    all types that may be the first to be wiped out; empty for all types. ``full`` (uint32): the key of group g at
    ``offset + g * stride + lane``, or empty to draw those needed.
    """
    groups, kind, width = numbers[GROUPS], numbers[KIND], numbers[WIDTH]
    ranks = np.empty(many, np.uint64)
    for tie in range(many):
        group = np.int64(tied[start + tie])
        at = offset + group * stride + lane
        key = full[at] if full.shape[0] > 0 else group_key(group, k0, k1, trial)
        ranks[tie] = np.uint64(key) << _32 | np.uint64(group)
    wiping = _NEVER
    for tie in range(1 if kind == TABLE else many):
        if kind == CIRCULANT and numbers[SPAN] + 1 == width:
            wiping = min(
                wiping, _first_window(keys, stride, lane, groups, width, best, tied, start, ranks, tie)
            )
            continue
        for i in range(many_rows if kind == TABLE else 1 if kind == PARTITION else width):
            if kind == TABLE:
                row = np.int64(rows[i]) if rows.shape[0] > 0 else i * width
            elif kind == PARTITION:
                row = np.int64(tied[start + tie]) // width * width
            else:
                row = np.int64(tied[start + tie]) - places[i]
            last = np.uint64(0)
            for place in range(width):
                if kind == CIRCULANT:
                    host = row + places[place]
                    host += groups if host < 0 else -groups if host >= groups else 0
                else:
                    host = np.int64(hosts[row + place])
                key16 = keys[host * stride + lane]
                if key16 > best:
                    last = _NEVER
                    break
                if key16 == best:
                    for other in range(many):
                        if np.int64(tied[start + other]) == host:
                            last = max(last, ranks[other])
            wiping = min(wiping, last)
    before = 0
    for tie in range(many):
        before += np.int64(ranks[tie] < wiping)
    return before
