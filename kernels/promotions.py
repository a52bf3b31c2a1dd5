"""The fewest promotions into prefixes that cover every type: successive shortest paths, exact and local.

Nodes are types (t) and groups (N + g). Arcs, with the prefix as it stands at that moment of the decision:

- type -> alive host that does not hold it in the prefix: cost 1, or 0 where it stood before the decision;
- group -> every type in its prefix, to be displaced: cost 0, or -1 if this decision promoted it there
  (the promotion is undone);
- a type that another prefix holds as well (cover >= 2) ends a path.

The cheapest path from every uncovered type in turn keeps the whole the cheapest; docs/reordering.md has the proof and
the rule for ties that ``reference_reorder`` repeats. Potentials ``pi`` <= 0 keep the reduced costs
``cost + pi[from] - pi[to]`` at or above 0, so that a search may stop at the first end it meets.
"""

import numpy as np

from .controller_state import BASE, TOUCHED, UNCOVERED
from .jit import njit

_PROMOTED = np.uint8(1)  # its only place in a prefix is one this decision promoted it to
_SHED = np.uint8(2)  # this decision displaced it somewhere: it may go back at cost 0
_LISTED = np.uint8(4)  # stands in state.dirty


@njit
def promote(plan, state, depth):
    """Cover the uncovered types at ``depth``; False where that cannot be done (the caller undoes the changes).

    Changed prefixes are left in ``state.stack``: types that stay keep their places, promoted ones take vacated
    places. The groups stand in ``state.touched``, their old prefixes in ``state.saved``.
    """
    reg, uncovered, cover = state.reg, state.uncovered, state.cover
    # A path of one promotion is always a shortest: no type can be added to a cheapest cover for less.
    left = 0
    for i in range(reg[UNCOVERED]):
        if not _direct(plan, state, depth, uncovered[i]):
            left += 1
    if left == 0:
        return True
    listed = 0
    if reg[TOUCHED] > 0:
        listed = _prices_of_direct(state, depth)
    step = np.int64(4 * plan.hosts.shape[0] + 8)  # above every distance, see docs/reordering.md
    done = True
    for i in range(reg[UNCOVERED]):
        start = uncovered[i]
        if cover[start] > 0:
            continue
        reg[BASE] -= step
        if reg[TOUCHED] == 0:
            end, distance, settled = _search_first(plan, state, depth, start)
            order = state.queue
        else:
            end, distance, settled = _search(plan, state, depth, start)
            order = state.settled
        if end < 0:
            done = False
            break
        left -= 1
        if left > 0:
            listed = _lower(state, order, settled, distance, listed)
        listed = _apply(state, depth, start, end, listed)
    for i in range(listed):
        v = state.dirty[i]
        state.flag[v] = np.uint8(0)
        state.pi[v] = np.int32(0)
    return done


@njit
def _direct(plan, state, depth, t):
    """Promote t to the first alive host with a type to spare in its prefix; False if there is none."""
    hosts, alive, stack, cover = plan.hosts, state.alive, state.stack, state.cover
    for j in range(hosts.shape[1]):
        g = hosts[t, j]
        if g < 0:
            break
        if alive[g]:
            for place in range(depth):
                x = stack[g, place]
                if cover[x] >= 2:
                    _touch(state, g, depth)
                    stack[g, place] = t
                    cover[t] = 1
                    cover[x] -= 1
                    return True
    return False


@njit
def _touch(state, g, depth):
    """Keep the prefix of g before its first change in this decision."""
    if state.mark[g] < 0:
        i = state.reg[TOUCHED]
        state.reg[TOUCHED] = i + 1
        state.mark[g] = i
        state.touched[i] = g
        for place in range(depth):
            state.saved[i, place] = state.stack[g, place]


@njit
def _list(state, v, listed):
    """Note that node v has a flag or potential to clear; returns the length of the list."""
    if not state.flag[v] & _LISTED:
        state.flag[v] |= _LISTED
        state.dirty[listed] = v
        return listed + 1
    return listed


@njit
def _prices_of_direct(state, depth):
    """Flags and potentials after direct promotions alone: -1 for the promoted types, 0 elsewhere."""
    listed = 0
    for i in range(state.reg[TOUCHED]):
        g = state.touched[i]
        for place in range(depth):
            old, new = state.saved[i, place], state.stack[g, place]
            if old != new:
                listed = _list(state, old, listed)
                listed = _list(state, new, listed)
                state.flag[old] |= _SHED
                state.flag[new] |= _PROMOTED
                state.pi[new] = -1
    return listed


@njit
def _search_first(plan, state, depth, start):
    """Shortest path while nothing is promoted yet, where _search comes down to breadth first: same order, same path.

    Returns (type at the end or -1, distance, nodes settled, which are the first of ``state.queue``).
    """
    hosts, alive, stack, cover = plan.hosts, state.alive, state.stack, state.cover
    label, parent, queue = state.label, state.parent, state.queue
    n, r = hosts.shape
    base = state.reg[BASE]
    label[start] = base
    queue[0] = start
    head = 0
    tail = 1
    while head < tail:
        v = queue[head]
        head += 1
        if v < n:
            to = label[v] + 1
            for j in range(r):
                g = hosts[v, j]
                if g < 0:
                    break
                if alive[g] and to < label[n + g]:
                    label[n + g] = to
                    parent[n + g] = v
                    queue[tail] = n + g
                    tail += 1
        else:
            to = label[v]
            for place in range(depth):
                x = stack[v - n, place]
                if to < label[x]:
                    label[x] = to
                    parent[x] = v
                    if cover[x] >= 2:
                        return np.int64(x), to - base, head
                    queue[tail] = x
                    tail += 1
    return np.int64(-1), np.int64(0), head


@njit
def _search(plan, state, depth, start):
    """Shortest path by reduced costs, nodes in the order of (distance, discovery).

    Returns (type at the end or -1, distance, nodes settled, which are the first of ``state.settled``).
    """
    hosts, alive, stack, cover = plan.hosts, state.alive, state.stack, state.cover
    label, parent, queue, settled = state.label, state.parent, state.queue, state.settled
    link, bucket, pi, flag = state.link, state.bucket, state.pi, state.flag
    n, r = hosts.shape
    base = state.reg[BASE]
    label[start] = base
    queue[0] = start
    link[0] = -1
    bucket[0, 0] = 0
    bucket[0, 1] = 0
    top = np.int64(0)  # buckets up to here are in use
    tail = 1
    count = 0
    d = np.int64(0)
    while d <= top:
        entry = np.int64(bucket[d, 0])
        while entry >= 0:
            v = np.int64(queue[entry])
            if label[v] == base + d:  # else it was reached cheaper since
                settled[count] = v
                count += 1
                price = d + pi[v]
                if v < n:
                    if cover[v] >= 2:
                        return v, d, count
                    for j in range(r):
                        g = np.int64(hosts[v, j])
                        if g < 0:
                            break
                        if not alive[g]:
                            continue
                        to = price - pi[n + g]
                        if not (flag[v] & _SHED and _stood(state, g, depth, v)):
                            to += 1
                        if base + to < label[n + g]:
                            label[n + g] = base + to
                            parent[n + g] = v
                            top = _push(queue, link, bucket, tail, n + g, to, top)
                            tail += 1
                else:
                    for place in range(depth):
                        x = np.int64(stack[v - n, place])
                        to = price - pi[x]
                        if flag[x] & _PROMOTED:
                            to -= 1
                        if base + to < label[x]:
                            label[x] = base + to
                            parent[x] = v
                            if to == d and cover[x] >= 2:
                                return x, d, count
                            top = _push(queue, link, bucket, tail, x, to, top)
                            tail += 1
            entry = np.int64(link[entry])
        d += 1
    return np.int64(-1), np.int64(0), count


@njit
def _push(queue, link, bucket, tail, v, distance, top):
    """Queue node v behind all others of its distance; returns the largest distance in use."""
    queue[tail] = v
    link[tail] = -1
    while top < distance:
        top += 1
        bucket[top, 0] = -1
        bucket[top, 1] = -1
    last = bucket[distance, 1]
    if last < 0:
        bucket[distance, 0] = tail
    else:
        link[last] = tail
    bucket[distance, 1] = tail
    return top


@njit
def _stood(state, g, depth, t):
    """Whether t stood in the prefix of g before this decision, if g was touched by it."""
    i = state.mark[g]
    if i < 0:
        return False
    for place in range(depth):
        if state.saved[i, place] == t:
            return True
    return False


@njit
def _lower(state, order, settled, distance, listed):
    """Potentials after a search: every node nearer than the end comes down by what it is nearer."""
    base = state.reg[BASE]
    for i in range(settled):
        v = order[i]
        nearer = state.label[v] - base - distance
        if nearer < 0:
            listed = _list(state, v, listed)
            state.pi[v] += nearer
    return listed


@njit
def _apply(state, depth, start, end, listed):
    """Walk the path back from its end: each group on it takes the type before it for the type after it."""
    n = state.alive.shape[0]
    state.cover[start] = 1
    state.cover[end] -= 1
    x = np.int64(end)
    while x != start:
        g = np.int64(state.parent[x]) - n
        t = np.int64(state.parent[n + g])
        _touch(state, g, depth)
        listed = _list(state, x, _list(state, t, listed))
        place = _find(state.stack, g, depth, x)
        home = _find(state.saved, np.int64(state.mark[g]), depth, t)
        if home >= 0:
            # It stood here: back to its own place, whose promoted holder moves to the vacated one.
            state.stack[g, place] = state.stack[g, home]
            state.stack[g, home] = t
            state.flag[t] &= ~_PROMOTED
        else:
            state.stack[g, place] = t
            state.flag[t] |= _PROMOTED
        state.flag[x] |= _SHED
        x = t
    return listed


@njit
def _find(table, row, depth, t):
    """Place of t among the first ``depth`` of a row, or -1."""
    for place in range(depth):
        if table[row, place] == t:
            return place
    return -1
