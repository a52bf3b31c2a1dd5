"""The fewest promotions into prefixes that cover every type: successive shortest paths, exact and local.

A path starts at an uncovered type and walks over alive groups: into the first group goes the uncovered type, a type
of that group's prefix moves on into the next group, and so on; the last group has a type to spare, one that
another prefix holds as well (cover >= 2), which is displaced. Going on from group g to group h with type x costs

    (0 if x stood in the prefix of h before this decision, else 1) - (1 if this decision promoted x into g, else 0):

the second term undoes a promotion. The cheapest path from every uncovered type in turn keeps the whole the cheapest;
docs/reordering.md has the proof and the rule for ties that ``reference_reorder`` repeats. Potentials (row PI, all
<= 0) keep the reduced costs ``cost + pi[g] - pi[h]`` at or above 0, so a search may stop at the nearest end.
"""

import numpy as np

from .controller_jit import inner
from .controller_state import (
    BASE,
    COVER,
    FAR,
    FLAG,
    FROM,
    LABEL,
    OUT,
    PI,
    PRICED,
    SLOT,
    TOUCHED,
    UNCOVERED,
    VIA,
)

_PROMOTED = 1  # its only place in a prefix is one this decision promoted it to
_SHED = 2  # this decision displaced it somewhere: it may go back at cost 0


@inner
def promote(hosts, stack, uncovered, touched, saved, table, queue, bucket, reg, depth):
    """Cover the uncovered types at ``depth``; False where that cannot be done (the caller undoes the changes).

    Changed prefixes are left in ``stack``: types that stay keep their places, promoted ones take vacated places.
    The groups stand in ``touched``, their old prefixes in ``saved``, flags of types in ``table``.
    """
    n = hosts.shape[0]
    step = 4 * n + 8  # above every distance
    priced = np.int64(0)
    i = _promote_directly(hosts, stack, uncovered, touched, saved, table, reg, depth, np.int64(0))
    while i < reg[UNCOVERED]:
        if reg[BASE] < 2 * step:
            for g in range(n):
                if table[LABEL, g] != OUT:
                    table[LABEL, g] = FAR
            reg[BASE] = np.int64(FAR)
        reg[BASE] -= step
        end, distance, seen = _search(
            hosts, stack, saved, table, queue, bucket, reg[BASE], depth, uncovered[i]
        )
        if end < 0:
            break
        i += 1
        if i < reg[UNCOVERED]:
            priced = _lower(table, queue, seen, reg[BASE] + distance, priced)
        _apply(stack, touched, saved, table, reg, depth, end)
        i = _promote_directly(hosts, stack, uncovered, touched, saved, table, reg, depth, i)
    for k in range(priced):
        table[PI, table[PRICED, k]] = 0
    return i == reg[UNCOVERED]


@inner
def _promote_directly(hosts, stack, uncovered, touched, saved, table, reg, depth, i):
    """Promote the uncovered types from the i-th on while a host has a type to spare; returns where that ends.

    A path of one promotion is always a shortest (no type joins a cheapest cover for less), it is the one that
    _search would find, and it leaves the potentials as they are.
    """
    r = hosts.shape[1]
    while i < reg[UNCOVERED]:
        t = uncovered[i]
        done = False
        for j in range(r):
            g = hosts[t, j]
            if table[LABEL, g] == OUT:
                continue
            for place in range(depth):
                x = stack[g, place]
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
            if done:
                break
        if not done:
            break
        i += 1
    return i


@inner
def _search(hosts, stack, saved, table, queue, bucket, base, depth, start):
    """Cheapest path from the uncovered type ``start`` by reduced costs: Dijkstra with a stack for every distance.

    Groups are expanded nearest first, among equals the last discovered first; of the nearest groups with a type to
    spare the first discovered is the end. Returns (end or -1, its distance, queue entries used); the path is in
    rows VIA and FROM.
    """
    r = hosts.shape[1]
    end = np.int64(-1)
    bound = np.int64(FAR)  # distance of the end; nothing at or beyond it matters
    top = np.int64(0)  # buckets up to here are in use
    bucket[0] = -1
    tail = np.int64(0)
    d = np.int64(0)
    g = np.int64(-1)  # at first there is only the start, in no group
    while True:
        for which in range(depth if g >= 0 else np.int64(1)):
            x = start
            price = d + 1
            if g >= 0:
                x = stack[g, which]
                price += table[PI, g] - (table[FLAG, x] & _PROMOTED)
            shed = table[FLAG, x] & _SHED
            for j in range(r):
                h = hosts[x, j]
                to = price - table[PI, h]
                if shed and table[SLOT, h] >= 0:
                    slot = table[SLOT, h]
                    for place in range(depth):
                        if saved[slot, place] == x:
                            to -= 1
                            break
                # The group that holds x now is no exception: it was reached at no greater distance.
                if to >= bound or base + to >= table[LABEL, h]:
                    continue
                table[LABEL, h] = base + to
                table[VIA, h] = x
                table[FROM, h] = g
                while top < to:
                    top += 1
                    bucket[top] = -1
                queue[0, tail] = h
                queue[1, tail] = bucket[to]
                bucket[to] = tail
                tail += 1
                for place in range(depth):
                    if table[COVER, stack[h, place]] >= 2:
                        end = np.int64(h)
                        bound = to
                        break
        while True:
            if d > top or d >= bound:
                return end, bound, tail
            entry = bucket[d]
            if entry < 0:
                d += 1
                continue
            bucket[d] = queue[1, entry]
            g = np.int64(queue[0, entry])
            if table[LABEL, g] == base + d:  # else it was reached cheaper since, and expanded
                break


@inner
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


@inner
def _apply(stack, touched, saved, table, reg, depth, end):
    """Walk the path back from its last group: each displaces what goes on and takes in what arrives."""
    g = end
    out = np.int64(-1)  # the type that leaves g
    for place in range(depth):
        x = stack[g, place]
        if table[COVER, x] >= 2:
            out = np.int64(x)
            break
    table[COVER, out] -= 1
    while g >= 0:
        t = np.int64(table[VIA, g])
        slot = table[SLOT, g]
        if slot < 0:
            slot = reg[TOUCHED]
            reg[TOUCHED] = slot + 1
            table[SLOT, g] = slot
            touched[slot] = g
            for place in range(depth):
                saved[slot, place] = stack[g, place]
        vacated = np.int64(0)
        own = np.int64(-1)
        for place in range(depth):
            if stack[g, place] == out:
                vacated = place
            if saved[slot, place] == t:
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
