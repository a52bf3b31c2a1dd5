"""Rigorous bounds on the chance of loss, for any layout, tight where loss is rare: a check on rare events.

A type is lost after k failures when its h hosts are among them, which has the chance C(N-h, k-h)/C(N, k); two types
are lost together when the u hosts of either are. From the sums S1 over types and S2 over pairs of types (types with the
same hosts counted once):

upper  Hunter 1976, Worsley 1982: S1 less the pair chances along a spanning tree of the types, here the largest
lower  Dawson and Sankoff 1967: 2 S1/(m+1) - 2 S2/(m (m+1)) with m = 1 + floor(2 S2/S1), the best S1 and S2 give;
       while loss is rare it is S1 - S2

Pair chances fall with u alone, so counts of pairs by u, and of tree edges by u, say all that is needed at every k.
"""

import math
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .arguments import whole
from .exact_binomial import log_all_failed

_MOST_PAIRS = 10**8  # of types that share a host in a table; beyond, a part of the types is looked at
_EXACT_HOSTS = 128  # hosts of a pair up to which chances are integers
_MARGIN = 1e-12  # relative, of a chance from logarithms: 200 times the error they were found to have


class Overlaps(NamedTuple):
    """Numbers of hosts and how many types, pairs of types, and edges of the largest spanning tree have them.

    Where too many pairs share a host, ``pairs`` speaks of the first ``paired`` types and ``tree`` is empty; else
    ``paired`` is the number of all types.
    """

    singles: dict
    pairs: dict
    tree: dict
    paired: int


def loss_bounds(layout, failures):
    """Bounds (low, high) on Pr[K_w <= k], the chance that ``failures`` = k random failures lose a type.

    ``failures``: an int from 0 to N (returns two floats), or a sequence of them (two float64 arrays). The truth
    lies within, rounding included, at any k; both are exactly 0 where k is less than the hosts of a type. As loss gets
    rare, the relative gap falls to that of S2/S1.
    """
    groups = layout.groups
    name = f"groups = {groups}"
    many = np.ndim(failures) > 0
    ks = [whole("failures", k, 0, groups, name) for k in (failures if many else [failures])]
    overlaps = overlaps_of(layout)
    exact = max([*overlaps.singles, *overlaps.pairs]) <= _EXACT_HOSTS
    bounds = [(_integer_bounds if exact else _float_bounds)(groups, overlaps, k) for k in ks]
    if not many:
        return bounds[0]
    return np.array([low for low, _ in bounds]), np.array([high for _, high in bounds])


@lru_cache(maxsize=16)  # a table of 600,000 groups takes seconds, and is asked at many k
def overlaps_of(layout):
    """The ``Overlaps`` of a layout."""
    if layout.block is not None:
        return _of_blocks(layout.groups, layout.block)
    if layout.offsets is not None:
        return _of_circulant(layout.groups, layout.offsets)
    return _of_table(layout.groups, layout.host_table())


def _of_blocks(groups, block):
    full, rest = divmod(groups, block)
    singles, pairs = Counter({block: full}), Counter({2 * block: full * (full - 1) // 2})
    tree = Counter({2 * block: full - 1})
    if rest:
        singles[rest] += 1
        pairs[block + rest] += full
        tree = Counter({block + rest: full})  # a star around the small block
    return Overlaps(dict(singles), +pairs, +tree, full + (rest > 0))


def _of_circulant(groups, offsets):
    hosts = len(offsets)
    shared = _shared_by_difference(groups, np.array(offsets, dtype=np.int64))
    # Types a period apart have the same hosts.
    types = min((d for d, count in shared.items() if count == hosts), default=groups)
    classes = sorted((-count, d) for d, count in shared.items() if 2 * d <= types and count < hosts)
    pairs, tree = Counter(), Counter()
    parts, sharing = types, 0
    for negative, d in classes:
        number = types // 2 if 2 * d == types else types
        pairs[2 * hosts + negative] += number
        sharing += number
        joined = math.gcd(parts, d)
        tree[2 * hosts + negative] += parts - joined
        parts = joined
    pairs[2 * hosts] += types * (types - 1) // 2 - sharing
    tree[2 * hosts] += parts - 1
    return Overlaps({hosts: types}, +pairs, +tree, types)


def _shared_by_difference(groups, offsets):
    """{d: hosts shared by types d apart} for 0 < d < N, where there are any."""
    if offsets.size <= 2048:
        differences, counts = np.unique((offsets[:, None] - offsets).ravel() % groups, return_counts=True)
    else:  # N * r is bounded, so N is small here; entries are whole and far below the transform's last digit
        marks = np.zeros(groups)
        marks[offsets] = 1.0
        spectrum = np.fft.rfft(marks)
        counts = np.rint(np.fft.irfft(spectrum * np.conj(spectrum), groups)).astype(np.int64)
        differences = np.flatnonzero(counts)
        counts = counts[differences]
    return {d: count for d, count in zip(differences.tolist(), counts.tolist(), strict=True) if d}


def _of_table(groups, table):
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    rows = np.unique(np.sort(table, axis=1), axis=0)
    types, hosts = rows.shape
    paired = min(types, max(1, _MOST_PAIRS // hosts**2))

    def incidence(rows):
        data, ends = np.ones(rows.size, dtype=np.int32), np.arange(0, rows.size + 1, hosts)
        return csr_array((data, rows.ravel(), ends), shape=(rows.shape[0], groups))

    among = incidence(rows[:paired])
    across = among.T.tocsr()
    by_shared = np.zeros(hosts + 1, dtype=np.int64)
    close = []  # pairs that share two hosts or more
    step = max(1, 2_000_000 // hosts**2)
    for start in range(0, paired, step):
        product = (among[start : start + step] @ across).tocoo()
        one, other = product.row + start, product.col
        later = other > one
        one, other, count = one[later], other[later], product.data[later]
        by_shared += np.bincount(count, minlength=hosts + 1)
        keep = count > 1
        close.append((one[keep], other[keep], count[keep]))
    by_shared[0] = paired * (paired - 1) // 2 - by_shared.sum()
    pairs = +Counter({2 * hosts - shared: int(number) for shared, number in enumerate(by_shared)})
    if paired < types:
        return Overlaps({hosts: types}, pairs, {}, paired)

    one, other, count = (np.concatenate(part) for part in zip(*close, strict=True))
    tree, parts = Counter(), types
    for shared in range(hosts - 1, 0, -1):
        if not by_shared[shared]:
            continue
        if shared > 1:
            chosen = count >= shared
            links = csr_array((np.ones(chosen.sum()), (one[chosen], other[chosen])), shape=(types, types))
            joined = int(connected_components(links, directed=False)[0])
        else:  # joined by any common host: through the groups, each of which hosts something
            everyone = incidence(rows)
            links = csr_array(
                (everyone.data, everyone.indices + types, np.r_[everyone.indptr, [rows.size] * groups]),
                shape=(types + groups, types + groups),
            )
            joined = int(connected_components(links, directed=False)[0])
        tree[2 * hosts - shared] += parts - joined
        parts = joined
    tree[2 * hosts] += parts - 1
    return Overlaps({hosts: types}, pairs, +tree, types)


def _integer_bounds(groups, overlaps, k):
    """In integers over the common denominator N (N-1) .. (N-u+1), u the most hosts; rounded outward at the end."""
    most = max([*overlaps.singles, *overlaps.pairs])

    def total(counts):
        return sum(number * math.perm(k, u) * math.perm(groups - u, most - u) for u, number in counts.items())

    whole_sum, denominator = total(overlaps.singles), math.perm(groups, most)
    if whole_sum == 0:
        return 0.0, 0.0
    types = sum(overlaps.singles.values())
    high = whole_sum - total(overlaps.tree)
    ones, twos = (whole_sum * overlaps.paired) // types, total(overlaps.pairs)
    m = 1 + 2 * twos // ones
    low = 2 * (m * ones - twos), m * (m + 1) * denominator
    return (
        max(0.0, math.nextafter(low[0] / low[1], 0.0)) if low[0] < low[1] else 1.0,
        math.nextafter(high / denominator, 1.0) if high < denominator else 1.0,
    )


def _float_bounds(groups, overlaps, k):
    """The same from logarithms, each chance widened by more than their error."""

    def total(counts):
        if not counts:
            return 0.0, 0.0
        hosts, numbers = np.array(list(counts)), np.array(list(counts.values()), dtype=np.float64)
        logs = log_all_failed(k, groups, hosts)
        with np.errstate(invalid="ignore"):
            margin = np.where(logs == -np.inf, 0.0, _MARGIN * (1.0 - logs))
            terms = numbers * np.exp(logs)
        low, high = np.sum(terms * (1.0 - margin)), np.sum(terms * (1.0 + margin))
        # Below the normal numbers digits are lost: 0 is a lower bound there, and 1e-290 covers it above.
        possible = bool(np.any(logs > -np.inf))
        return (low if low > 1e-290 else 0.0), high + (1e-290 if possible else 0.0)

    one_low, one_high = total(overlaps.singles)
    if one_high == 0.0:
        return 0.0, 0.0
    share = overlaps.paired / sum(overlaps.singles.values()) * (1.0 - _MARGIN)
    two_low, two_high = total(overlaps.pairs)
    m = 1.0 + math.floor(min(1e15, 2.0 * two_high / max(one_low * share, 1e-300)))
    low = 2.0 / (m + 1.0) * (one_low * share * (1.0 - _MARGIN) - two_high / m * (1.0 + _MARGIN))
    high = one_high * (1.0 + _MARGIN) - total(overlaps.tree)[0] * (1.0 - _MARGIN)
    return min(1.0, max(0.0, low)), min(1.0, high)
