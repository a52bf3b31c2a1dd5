"""The fewest promotions into prefixes that cover every type: successive shortest paths, exact and local.

A path starts at an uncovered type and walks over alive groups: into the first group goes the uncovered type, a type
of that group's prefix moves on into the next group, and so on; the last group has a type to spare, one that
another prefix holds as well (cover >= 2), which is displaced. Going on from group g to group h with type x costs

    (0 if x stood in the prefix of h before this decision, else 1) - (1 if this decision promoted x into g, else 0):

the second term undoes a promotion. The cheapest path from every uncovered type in turn keeps the whole the cheapest;
docs/reordering.md has the proof and the rule for ties that ``reference_reorder`` repeats. Potentials (row PI, all
<= 0) keep the reduced costs ``cost + pi[g] - pi[h]`` at or above 0, so a search may stop at the first end it meets.

The functions take arrays, not the State, and the hot ones call no other: Numba then counts no references.
"""

import numpy as np

from .controller_state import (
    BASE,
    COVER,
    FAR,
    FLAG,
    FROM,
    LABEL,
    OPEN,
    OUT,
    PI,
    PRICED,
    SLOT,
    TOUCHED,
    UNCOVERED,
    VIA,
)
from .jit import njit

_PROMOTED = 1  # its only place in a prefix is one this decision promoted it to
_SHED = 2  # this decision displaced it somewhere: it may go back at cost 0


@njit
def promote(hosts, stack, touched, saved, table, queue, bucket, reg, depth):
    """Cover the uncovered types at ``depth``; False where that cannot be done (the caller undoes the changes).

    Changed prefixes are left in ``stack``: types that stay keep their places, promoted ones take vacated places.
    The groups stand in ``touched``, their old prefixes in ``saved``, flags of types in ``table``.
    """
    n = hosts.shape[0]
    step = 4 * n + 8  # above every distance, see docs/reordering.md
    priced = np.int64(0)
    i = _direct(hosts, stack, touched, saved, table, reg, depth, np.int64(0))
    while i < reg[UNCOVERED]:
        start = np.int64(table[OPEN, i])
        if reg[BASE] < 2 * step:
            for g in range(n):
                if table[LABEL, g] != OUT:
                    table[LABEL, g] = FAR
            reg[BASE] = np.int64(FAR)
        reg[BASE] -= step
        base = reg[BASE]
        if reg[TOUCHED] == 0:
            end, distance, seen = _search_first(hosts, stack, table, queue, base, depth, start)
        else:
            end, distance, seen = _search(hosts, stack, saved, table, queue, bucket, base, depth, start)
        if end < 0:
            break
        i += 1
        if i < reg[UNCOVERED]:
            priced = _lower(table, queue, seen, base + distance, priced)
        _apply(stack, touched, saved, table, reg, depth, end)
        i = _direct(hosts, stack, touched, saved, table, reg, depth, i)
    for k in range(priced):
        table[PI, table[PRICED, k]] = 0
    return i == reg[UNCOVERED]


@njit
def _direct(hosts, stack, touched, saved, table, reg, depth, i):
    """Promote the uncovered types from the i-th on while a host has a type to spare; returns where that ends.

    A path of one promotion is always a shortest (no type joins a cheapest cover for less), it is the one that a
    search would find, and it leaves the potentials as they are.
    """
    r = hosts.shape[1]
    while i < reg[UNCOVERED]:
        t = table[OPEN, i]
        done = False
        for j in range(r):
            g = np.int64(hosts[t, j])
            if g < 0 or done:
                break
            if table[LABEL, g] == OUT:
                continue
            for place in range(depth):
                x = np.int64(stack[g, place])
                if table[COVER, x] >= 2:
                    if table[SLOT, g] < 0:
                        count = reg[TOUCHED]
                        reg[TOUCHED] = count + 1
                        table[SLOT, g] = count
                        touched[count] = g
                        for k in range(depth):
                            saved[count, k] = stack[g, k]
                    stack[g, place] = t
                    table[COVER, t] = 1
                    table[FLAG, t] = _PROMOTED
                    table[COVER, x] -= 1
                    table[FLAG, x] |= _SHED
                    done = True
                    break
        if not done:
            break
        i += 1
    return i


@njit
def _search_first(hosts, stack, table, queue, base, depth, start):
    """Shortest path while nothing is promoted yet, where _search comes down to breadth first: same order, same path.

    Returns (last group or -1, distance, queue entries used); the path is in rows VIA and FROM.
    """
    r = hosts.shape[1]
    head = np.int64(-1)
    tail = np.int64(0)
    to = base + 1
    while head < tail:
        places = depth
        if head < 0:
            places = np.int64(1)
        else:
            g = np.int64(queue[0, head])
            to = table[LABEL, g] + 1
        for place in range(places):
            x = start if head < 0 else np.int64(stack[g, place])
            known = tail
            for j in range(r):
                h = np.int64(hosts[x, j])
                if h < 0:
                    break
                label = table[LABEL, h]
                queue[0, tail] = h  # stays if h is new, else is overwritten: no branch to mispredict
                table[LABEL, h] = min(label, to)
                tail += to < label
            for entry in range(known, tail):
                h = np.int64(queue[0, entry])
                table[VIA, h] = x
                table[FROM, h] = -1 if head < 0 else g
                for k in range(depth):
                    if table[COVER, stack[h, k]] >= 2:
                        return h, to - base, tail
        head += 1
    return np.int64(-1), np.int64(0), tail


@njit
def _search(hosts, stack, saved, table, queue, bucket, base, depth, start):
    """Shortest path by reduced costs: groups in the order of (distance, discovery), the first with a type to spare.

    Returns (last group or -1, distance, queue entries used); the path is in rows VIA and FROM.
    """
    r = hosts.shape[1]
    end = np.int64(-1)
    bound = np.int64(FAR)  # distance of end; nothing at or beyond it matters
    top = np.int64(0)  # buckets up to here are in use
    bucket[0, 0] = -1
    tail = np.int64(0)
    d = np.int64(0)
    entry = np.int64(-1)
    g = np.int64(-1)  # the start, then the group being expanded
    while True:
        if g < 0 or table[LABEL, g] == base + d:  # else it was reached cheaper since
            for place in range(depth if g >= 0 else np.int64(1)):
                x = start
                price = d + 1
                if g >= 0:
                    x = np.int64(stack[g, place])
                    price += table[PI, g] - (table[FLAG, x] & _PROMOTED)
                shed = table[FLAG, x] & _SHED
                for j in range(r):
                    h = np.int64(hosts[x, j])
                    if h < 0:
                        break
                    to = price - table[PI, h]
                    if shed and table[SLOT, h] >= 0:
                        i = table[SLOT, h]
                        for k in range(depth):
                            if saved[i, k] == x:
                                to -= 1
                                break
                    if to >= bound or base + to >= table[LABEL, h]:
                        continue
                    table[LABEL, h] = base + to
                    table[VIA, h] = x
                    table[FROM, h] = g
                    while top < to:
                        top += 1
                        bucket[0, top] = -1
                    if bucket[0, to] < 0:
                        bucket[0, to] = tail
                    else:
                        queue[1, bucket[1, to]] = tail
                    bucket[1, to] = tail
                    queue[0, tail] = h
                    queue[1, tail] = -1
                    tail += 1
                    for k in range(depth):
                        if table[COVER, stack[h, k]] >= 2:
                            end = h
                            bound = to
                            break
        if entry >= 0:
            entry = np.int64(queue[1, entry])
        while entry < 0:
            d += 1
            if d > top or d >= bound:
                return end, bound, tail
            entry = np.int64(bucket[0, d])
        if d >= bound:
            return end, bound, tail
        g = np.int64(queue[0, entry])


@njit
def _lower(table, queue, seen, goal, priced):
    """Potentials after a search: every group nearer than the end comes down by what it is nearer."""
    for entry in range(seen):
        g = queue[0, entry]
        nearer = table[LABEL, g] - goal
        if nearer < 0:
            if table[PI, g] == 0:
                table[PRICED, priced] = g
                priced += 1
            table[PI, g] += nearer
            table[LABEL, g] = FAR  # once, however often it was queued
    return priced


@njit
def _apply(stack, touched, saved, table, reg, depth, end):
    """Walk the path back from its last group: each displaces what goes on and takes in what arrives."""
    g = end
    out = np.int64(-1)  # the type that leaves g
    for place in range(depth):
        x = np.int64(stack[g, place])
        if table[COVER, x] >= 2:
            out = x
            break
    table[COVER, out] -= 1
    while g >= 0:
        t = np.int64(table[VIA, g])
        i = np.int64(table[SLOT, g])
        if i < 0:
            i = reg[TOUCHED]
            reg[TOUCHED] = i + 1
            table[SLOT, g] = i
            touched[i] = g
            for place in range(depth):
                saved[i, place] = stack[g, place]
        vacated = np.int64(0)
        own = np.int64(-1)
        for place in range(depth):
            if stack[g, place] == out:
                vacated = place
            if saved[i, place] == t:
                own = place
        if own >= 0:
            # It stood here: back to its own place, whose promoted holder moves to the vacated one.
            stack[g, vacated] = stack[g, own]
            stack[g, own] = t
            table[FLAG, t] &= ~_PROMOTED
        else:
            stack[g, vacated] = t
            table[FLAG, t] |= _PROMOTED
        table[FLAG, out] |= _SHED
        out = t
        g = np.int64(table[FROM, g])
    table[COVER, out] = 1
