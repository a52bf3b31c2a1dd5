"""Layouts for the tests of the reordering controller, every family, short blocks; and scipy's least cost."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching, min_weight_full_bipartite_matching

from spare_mc.kernels import reorder
from spare_mc.layouts import Layout

LAYOUTS = {
    "golomb 31/5": Layout.golomb(31, 5),
    "golomb 13/4, perfect": Layout.golomb(13, 4),
    "contiguous 20/4": Layout.contiguous(20, 4),
    "partition 17/4, short block": Layout.partition(17, 4),
    "partition 9/4, block of one": Layout.partition(9, 4),
    "random 24/3": Layout.random(24, 3, seed=5),
    "random 12/6": Layout.random(12, 6, seed=1),
    "custom 15/4": Layout.custom(15, (0, 4, 5, 11)),
    "everything everywhere": Layout.contiguous(6, 6),
    "no redundancy": Layout.contiguous(5, 1),
    "two groups": Layout.contiguous(2, 2),
}


def make_plan(layout):
    return reorder.plan(layout.host_table(), layout.stack_table())


def slots(rows, alive, depth):
    """Sparse matrix types x slots: 1 where the type stands in that very slot, 2 in another slot of a host's."""
    cells = [(g, p) for g in np.flatnonzero(alive) for p in range(min(depth, len(rows[g])))]
    entries = [(t, s, 1 + (t != rows[g][p])) for s, (g, p) in enumerate(cells) for t in rows[g]]
    types, places, weights = zip(*entries, strict=True)
    return csr_array((weights, (types, places)), shape=(len(rows), len(cells)))


def library_cost(rows, alive, depth):
    """Least cost of an assignment of types to slots by scipy (LAPJVsp), None where there is none."""
    if not alive.any():
        return None
    matrix = slots(rows, alive, depth)
    if (maximum_bipartite_matching(matrix, perm_type="column") < 0).any():
        return None
    types, places = min_weight_full_bipartite_matching(matrix)
    return int(matrix[types, places].sum()) - len(rows)


def some_layout(rng):
    n = int(rng.integers(8, 48))
    r = int(rng.integers(2, min(n, 9)))
    kind = rng.integers(4)
    if kind == 0:
        return Layout.contiguous(n, r)
    if kind == 1:
        return Layout.partition(n, r)
    if kind == 2:
        return Layout.random(n, min(r, n // 4), seed=int(rng.integers(99)))
    return Layout.custom(n, (0, *(int(o) for o in np.sort(rng.choice(n - 1, r - 1, replace=False)) + 1)))
