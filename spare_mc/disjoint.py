"""Disjoint random permutations: the tables of the random layouts.

Place 0 is the identity. Place j is a random permutation that gives no group a type it already holds. While j is
small beside N it is drawn freely and its clashes are swapped away; after that, types are matched by random
walks: what is left to give after j places is an (N-j)-regular bipartite graph, which has a perfect matching, and
random alternating walks find one in O(N log N) expected steps (Goel, Kapralov, Khanna, "Perfect matchings in
O(n log n) time in regular bipartite graphs", 2009). So every redundancy up to N works. The places of a smaller
redundancy are the first places of a larger one with the same seed.

Numbers come from Philox4x32-10 (see ``kernels/philox.py``), here over whole arrays: key = seed, counter =
(draw, purpose and place, round, 0). Everything is integer arithmetic and stable sorting, so a table depends on
the groups, the redundancy and the seed alone, not on the machine or the version of numpy. A number below n is
``word * n >> 32``; its bias, below n / 2**32, is of no account here.
"""

import numpy as np

PURPOSE_LAYOUT = 3  # the layouts' share of the counter space, as listed in kernels/philox.py

_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_SWAP_ROUNDS = 256  # a swap succeeds with probability (1 - j/N)^2 or so: far more rounds than needed
_WALK = 1 << 31  # counter word 2 of the walks' draws, apart from the swap rounds'


def philox_words(count, seed, place, stage, first=0):
    """``count`` words, uint64 below 2**32, of the draws numbered from ``first`` (four words a draw)."""
    draws = (count + 3) // 4
    c0 = np.arange(first, first + draws, dtype=np.uint64)
    c1 = np.full(draws, (PURPOSE_LAYOUT << 24) | place, dtype=np.uint64)
    c2 = np.full(draws, stage, dtype=np.uint64)
    c3 = np.zeros(draws, dtype=np.uint64)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0 = c0 * np.uint64(0xD2511F53)
        p1 = c2 * np.uint64(0xCD9E8D57)
        c0, c1 = (p1 >> _32) ^ c1 ^ np.uint64(k0), p1 & _LOW
        c2, c3 = (p0 >> _32) ^ c3 ^ np.uint64(k1), p0 & _LOW
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack((c0, c1, c2, c3), axis=1).reshape(-1)[:count]


def disjoint_permutations(groups, redundancy, seed):
    """int32[redundancy, groups]: row j gives each group the type at place j; no column repeats a type."""
    places = np.empty((redundancy, groups), dtype=np.int32)
    places[0] = np.arange(groups, dtype=np.int32)
    free, everyone = None, np.arange(groups)
    for place in range(1, redundancy):
        # The walks need an N x N table, which beyond some N is worth its memory only when most places are taken.
        if free is None and place * (8 if groups <= 8192 else 2) <= groups:
            places[place] = np.argsort(philox_words(groups, seed, place, 0), kind="stable")
            if _clashes_left_by_swaps(places, place, seed) == 0:
                continue
        if free is None:
            free = _types_free(places[:place])
        width = groups - place
        at = _match_by_walks(free, width, seed, place)
        places[place] = free[everyone, at]
        free[everyone, at] = free[:, width - 1]
    return places


def _held(places, place, at, types):
    """Whether group ``at[i]`` holds ``types[i]`` in a place before ``place``."""
    return (places[:place, at] == types).any(axis=0)


def _clashes_left_by_swaps(places, place, seed):
    """Swap clashing types with random partners' where both then fit; return how many clashes are left."""
    groups = places.shape[1]
    new = places[place]
    clash = np.zeros(groups, dtype=bool)
    for earlier in places[:place]:
        clash |= earlier == new
    bad = np.flatnonzero(clash)
    for stage in range(1, _SWAP_ROUNDS + 1):
        if not len(bad):
            break
        partner = ((philox_words(len(bad), seed, place, stage) * np.uint64(groups)) >> _32).astype(np.int64)
        # A group takes part in one swap a round: a pair stands where it is the first to name both its groups.
        named = np.stack((bad, partner), axis=1).reshape(-1)
        stands = np.zeros(len(named), dtype=bool)
        stands[np.unique(named, return_index=True)[1]] = True
        fits = stands.reshape(-1, 2).all(axis=1)
        fits &= ~_held(places, place, bad, new[partner]) & ~_held(places, place, partner, new[bad])
        a, b = bad[fits], partner[fits]
        new[a], new[b] = new[b], new[a]
        bad = bad[_held(places, place, bad, new[bad])]
    return len(bad)


def _types_free(places):
    """int32[groups, groups - places]: the types each group does not hold yet."""
    held, groups = places.shape
    free = np.empty((groups, groups - held), dtype=np.int32)
    open_ = np.ones(groups, dtype=bool)
    for group in range(groups):
        open_[places[:, group]] = False
        free[group] = np.flatnonzero(open_)
        open_[places[:, group]] = True
    return free


def _match_by_walks(free, width, seed, place):
    """For every group, where in its row of ``free[:, :width]`` its new type stands; no type is given twice.

    From each group in turn: take one of its free types at random and, if another group has it, go on from that
    group, until a type is met that nobody has.
    """
    groups, stride = free.shape
    choices = memoryview(free).cast("B").cast("i")
    owner = [-1] * groups
    at = [0] * groups
    words = _stream(seed, place)
    for start in range(groups):
        group = start
        while group >= 0:
            at[group] = index = next(words) * width >> 32
            kind = choices[group * stride + index]
            group, owner[kind] = owner[kind], group
    return np.array(at)


def _stream(seed, place):
    """Words without end."""
    first = 0
    while True:
        yield from philox_words(4096, seed, place, _WALK, first).tolist()
        first += 1024
