"""Augmenting paths for the types that the sweep over sixteen trials left open, lane by lane (see stacks_sweep)."""

from typing import NamedTuple

import numpy as np

from .apart import apart
from .jit import njit
from .lanes import load16, mask_below, splat16
from .stacks_lanes import LANES
from .stacks_sweep import DONE

_DONE = np.int64(DONE)
_HELD = np.int64(DONE | 127)
_ALWAYS = np.uint32(0xFFFFFFFF)
_AROUND = 24  # groups around the free ones of a ring that make them a target hard to miss


class Search(NamedTuple):
    """One lane of a layout of N groups, small enough for the fastest cache, and scratch of the searches in it.

    Unsigned throughout: Numba looks whether a signed index is negative. A search marks what it meets with its number.
    """

    state: np.ndarray  # uint16[N+1]: the types' states
    seen: (
        np.ndarray
    )  # uint32[N+1]: last search that met the group coming from the open type; _ALWAYS: not alive
    back: (
        np.ndarray
    )  # uint32[N+1]: last search that met the group coming from the free ones; _ALWAYS: it is free
    shard: np.ndarray  # uint16[N+1]: the type that would come into the group, ...
    place: np.ndarray  # uint16[N+1]: ... and the place that it has there
    away: np.ndarray  # uint16[N+1]: the type that would leave the group for one nearer to a free one, ...
    there: np.ndarray  # uint16[N+1]: ... and the place that it has there
    queue: np.ndarray  # uint16[N+1]: types met
    next: np.ndarray  # uint16[N+1]: those still to look at, on a ring
    groups: np.ndarray  # uint16[N+1]: groups met coming from the free ones
    free: np.ndarray  # uint16[N+1]: free groups
    open: np.ndarray  # uint16[2, N+1]: types open in some lane, and in which (bit mask)


@njit
def new_search(groups):
    """Scratch for :func:`complete16`."""
    apart()
    n = groups + 1
    return Search(
        np.empty(n, np.uint16),
        np.empty(n, np.uint32),
        np.empty(n, np.uint32),
        np.empty(n, np.uint16),
        np.empty(n, np.uint16),
        np.empty(n, np.uint16),
        np.empty(n, np.uint16),
        np.empty(n, np.uint16),
        np.empty(n, np.uint16),
        np.empty(n, np.uint16),
        np.empty(n, np.uint16),
        np.empty((2, n), np.uint16),
    )


@njit
def _enter_lane(ages, bound, types, free, lane, s):
    """Take one lane out of the sixteen; returns the number of free groups, listed in ``s.free``."""
    groups = s.state.shape[0] - 1
    frees = 0
    for g in range(groups):
        is_free = (np.int64(free[g]) >> lane) & 1
        s.free[frees] = g
        frees += is_free
        s.back[g] = _ALWAYS if is_free else np.uint32(0)
        s.seen[g] = np.uint32(0) if ages[LANES * g + lane] < bound else _ALWAYS
        s.state[g] = types[LANES * g + lane]
    s.seen[groups] = _ALWAYS
    s.state[groups] = np.uint16(0)
    return frees


@njit
def _meet(hosts, stacks, depth, start, meeting, frees, s):
    """Move types along the path from ``start`` over group ``meeting`` to a free one; returns how many remain free."""
    redundancy = hosts.shape[1]
    end = meeting
    if s.back[meeting]:
        while s.back[end] != _ALWAYS:
            t = s.away[end]
            place = s.there[end]
            s.state[t] = np.uint16(_DONE + np.int64(place))
            end = hosts[t, place]
    h = meeting
    while True:
        t = s.shard[h]
        before = np.int64(s.state[t]) & 127
        s.state[t] = np.uint16(_DONE + np.int64(s.place[h]))
        if t == start:
            break
        h = hosts[t, before]
    load = 0
    for place in range(redundancy):
        load += np.int64(np.int64(s.state[stacks[end, place]]) & _HELD == _DONE + place)
    if load < depth:
        return frees
    s.back[end] = np.uint32(0)
    at = 0
    while s.free[at] != end:
        at += 1
    s.free[at] = s.free[frees - 1]
    return frees - 1


@njit
def _away(a, b, groups):
    """How far two numbers are apart on a ring of so many."""
    apart_by = abs(np.int64(a) - np.int64(b))
    return min(apart_by, groups - apart_by)


@njit
def _start_at_free(ring, groups, start, frees, s):
    """Enter the free groups into ``s.groups``; on a ring the one nearest to ``start`` first, which is returned."""
    nearest = groups
    for i in range(frees):
        g = s.free[i]
        s.groups[i] = g
        if ring and _away(g, start, groups) < nearest:
            nearest = _away(g, start, groups)
            s.groups[i] = s.groups[0]
            s.groups[0] = g
    return np.int64(s.groups[0])


@njit
def _push(target, groups, first, tail, top, s):
    """Stack the types ``s.queue[first:tail]`` on ``s.next``, the one nearest to ``target`` last."""
    nearest = groups
    for i in range(first, tail):
        t = s.queue[i]
        if _away(t, target, groups) <= nearest:
            nearest = _away(t, target, groups)
            s.next[top] = t
        else:
            s.next[top] = s.next[top - 1]
            s.next[top - 1] = t
        top += 1
    return top


@njit
def _augment(hosts, stacks, ring, depth, start, frees, number, s):
    """Give type ``start`` a group, moving others along an alternating path if need be.

    Returns (types met, free groups left); none met stands for success. Otherwise ``s.queue`` holds the types met,
    which overfill their alive hosts. The search goes from the open type and from the free groups, about the same
    work each: breadth first, or, on a ring, straight towards the nearest free group. ``number``: of this search in
    the lane, uint32.
    """
    apart()
    groups, redundancy = hosts.shape
    s.queue[0] = start
    s.next[0] = start
    head, tail, top = 0, 1, 1  # in s.queue, and on a ring the top of s.next
    back_head, back_tail = 0, frees
    target = np.int64(-1)
    work = 0
    while head < tail:
        if ring and top == 0:
            break
        if ring:
            top -= 1
            t = s.next[top]
        else:
            t = s.queue[head]
            head += 1
        work += redundancy
        first = tail
        for entry in range(redundancy):
            h = hosts[t, entry]
            if s.seen[h] >= number:
                continue
            s.seen[h] = number
            s.shard[h] = t
            s.place[h] = entry
            if s.back[h] >= number:
                return 0, _meet(hosts, stacks, depth, start, h, frees, s)
            work += redundancy
            for place in range(redundancy):
                other = stacks[h, place]
                s.queue[tail] = other
                tail += np.int64(np.int64(s.state[other]) & _HELD == _DONE + place)
        if target < 0:
            target = _start_at_free(ring, groups, start, frees, s)
        if ring:
            top = _push(target, groups, first, tail, top, s)
        while work > 0 and back_head < back_tail and (not ring or back_head < _AROUND):
            g = s.groups[back_head]
            back_head += 1
            work -= redundancy
            for place in range(redundancy):
                t = stacks[g, place]
                state = np.int64(s.state[t])
                h = hosts[t if state >= _DONE else 0, state & 127]
                if state >= _DONE and s.back[h] < number:
                    s.back[h] = number
                    s.away[h] = t
                    s.there[h] = place
                    if s.seen[h] == number:
                        return 0, _meet(hosts, stacks, depth, start, h, frees, s)
                    s.groups[back_tail] = h
                    back_tail += 1
    return tail, frees


@njit
def _raise(hosts, stacks, ages, bound, lane, depth, start, met, frees, s):
    """Let one more host of the ``met`` types in ``s.queue`` live, and give ``start`` a group by way of it.

    Returns (the least bound at which one does, free groups).
    """
    raised = np.int64(0x10000)
    revived = np.int64(0)
    for i in range(met):
        t = s.queue[i]
        for entry in range(hosts.shape[1]):
            h = np.int64(hosts[t, entry])
            age = np.int64(ages[LANES * h + lane])
            if bound <= age < raised - 1:
                raised = age + 1
                revived = h
                s.shard[h] = t
                s.place[h] = entry
    for g in range(hosts.shape[0]):
        if bound <= np.int64(ages[LANES * g + lane]) < raised:
            s.seen[g] = np.uint32(0)
            s.back[g] = _ALWAYS
            s.free[frees] = g
            frees += 1
    return raised, _meet(hosts, stacks, depth, start, revived, frees, s)


@njit
def complete16(hosts, stacks, ring, ages, bounds, depth, types, free, lanes, s):
    """Assign the types that the sweep left open, in the ``lanes`` (bit mask).

    ``bounds`` (uint16[16]) are raised, in lanes without an assignment, to the least at which there is one.
    ``ring``: types and the groups that host them have numbers close to each other, 0 next to N - 1.
    """
    apart()
    done = splat16(DONE)
    waiting = 0
    some = 0
    for t in range(hosts.shape[0]):
        open_lanes = np.int64(mask_below(load16(types, LANES * t), done)) & lanes
        if open_lanes:
            s.open[0, waiting] = t
            s.open[1, waiting] = open_lanes
            some |= open_lanes
            waiting += 1
    for lane in range(LANES):
        if (some >> lane) & 1 == 0:
            continue
        bound = np.int64(bounds[lane])
        frees = _enter_lane(ages, bound, types, free, lane, s)
        number = 0
        for i in range(waiting):
            if (np.int64(s.open[1, i]) >> lane) & 1 == 0:
                continue
            number += 1
            start = np.int64(s.open[0, i])
            met, frees = _augment(hosts, stacks, ring, depth, start, frees, np.uint32(number), s)
            if met > 0:
                # They overfill their alive hosts at this bound and at all up to their next dead host.
                bound, frees = _raise(hosts, stacks, ages, bound, lane, depth, start, met, frees, s)
        bounds[lane] = np.uint16(bound)
