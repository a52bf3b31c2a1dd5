"""Plain-Python survival: slow, obviously right; the oracle that every backend must match to the bit.

Nothing here is shared with the fast kernels: Python integers only, the whole failure order is sorted, and the
definition of the wipe-out index is written out as it stands.
"""

_MASK = 0xFFFFFFFF


def philox(counter, key):
    """Philox4x32-10 (Salmon et al., SC11): four 32-bit words from ``counter`` (four) and ``key`` (two)."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0 = 0xD2511F53 * c0
        p1 = 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & _MASK, (p0 >> 32) ^ c3 ^ k1, p0 & _MASK
        k0 = (k0 + 0x9E3779B9) & _MASK
        k1 = (k1 + 0xBB67AE85) & _MASK
    return c0, c1, c2, c3


def pattern_keys(n, seed, trial):
    """The 32-bit failure-order keys of the ``n`` groups in one trial (list of int); seed, trial < 2**64."""
    key = (seed & _MASK, seed >> 32)
    keys = []
    for draw in range((n + 3) // 4):
        keys.extend(philox((draw, 0, trial & _MASK, trial >> 32), key))
    return keys[:n]


def failure_order(n, seed, trial):
    """The groups of one trial in the order in which they fail (list of int): by key, ties by group index."""
    keys = pattern_keys(n, seed, trial)
    return sorted(range(n), key=lambda group: (keys[group], group))


def endurable(host_rows, n, seed, trial):
    """Endurable failures K = K_w - 1 of one trial.

    ``host_rows[t]``: the groups (of ``n``) that host type t, any order; negative entries are padding.
    K_w is the least over the types of the greatest failure index (1-based) over the type's hosts.
    """
    return endurable_in_order(host_rows, failure_order(n, seed, trial))


def endurable_in_order(host_rows, order):
    """Endurable failures when the groups fail in the given ``order``; rows as in :func:`endurable`."""
    index = {group: place for place, group in enumerate(order, start=1)}
    return min(max(index[group] for group in row if group >= 0) for row in host_rows) - 1
