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


class Search(NamedTuple):
    """One lane of a layout of N groups, small enough for the fastest cache, and scratch of the searches in it.

    Unsigned throughout: Numba looks whether a signed index is negative. A search marks what it meets with its number.
    """

    state: np.ndarray  # uint16[N+1]: the types' states
    seen: np.ndarray  # uint32[N+1]: last search that met the group coming from the open type; _ALWAYS: not alive
    back: np.ndarray  # uint32[N+1]: last search that met the group coming from the free ones; _ALWAYS: it is free
    shard: np.ndarray  # uint16[N+1]: the type that would come into the group, ...
    place: np.ndarray  # uint16[N+1]: ... and the place that it has there
    away: np.ndarray  # uint16[N+1]: the type that would leave the group for one nearer to a free one, ...
    there: np.ndarray  # uint16[N+1]: ... and the place that it has there
    queue: np.ndarray  # uint16[N+1]: types met
    groups: np.ndarray  # uint16[N+1]: groups met coming from the free ones
    free: np.ndarray  # uint16[N+1]: free groups
    fresh: np.ndarray  # uint16[N+1]: hosts of one type that the search has not met before
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
def _augment(hosts, stacks, depth, start, frees, number, s):
    """Give type ``start`` a group, moving others along an alternating path if need be.

    Returns (types met, free groups left); none met stands for success. Otherwise ``s.queue`` holds the types met,
    which overfill their alive hosts. The search goes from the open type and from the free groups, about the same
    work each. ``number``: of this search in the lane, uint32.
    """
    apart()
    redundancy = hosts.shape[1]
    s.queue[0] = start
    head = 0
    tail = 1
    back_head = 0
    back_tail = frees
    listed = False
    work = 0
    while head < tail:
        # No branches on whether a host is alive or met before: every second one would be mispredicted.
        t = s.queue[head]
        head += 1
        fresh = 0
        for entry in range(redundancy):
            h = hosts[t, entry]
            s.place[h] = entry if s.seen[h] < number else s.place[h]
            s.fresh[fresh] = h
            fresh += np.int64(s.seen[h] < number)
        work += redundancy * (fresh + 1)
        for i in range(fresh):
            h = s.fresh[i]
            s.seen[h] = number
            s.shard[h] = t
            if s.back[h] >= number:
                return 0, _meet(hosts, stacks, depth, start, h, frees, s)
            for place in range(redundancy):
                other = stacks[h, place]
                s.queue[tail] = other
                tail += np.int64(np.int64(s.state[other]) & _HELD == _DONE + place)
        if not listed:
            for i in range(frees):
                s.groups[i] = s.free[i]
            listed = True
        while work > 0 and back_head < back_tail:
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
def _raise(hosts, ages, bound, lane, met, frees, s):
    """The least bound at which one more host of the ``met`` types in ``s.queue`` is alive; and the free groups."""
    raised = np.int64(0xFFFF)
    for i in range(met):
        for entry in range(hosts.shape[1]):
            age = np.int64(ages[LANES * np.int64(hosts[s.queue[i], entry]) + lane])
            if age >= bound:
                raised = min(raised, age + 1)
    for g in range(hosts.shape[0]):
        if bound <= np.int64(ages[LANES * g + lane]) < raised:
            s.seen[g] = np.uint32(0)
            s.back[g] = _ALWAYS
            s.free[frees] = g
            frees += 1
    return raised, frees


@njit
def complete16(hosts, stacks, ages, bounds, depth, types, free, lanes, s):
    """Assign the types that the sweep left open, in the ``lanes`` (bit mask).

    ``bounds`` (uint16[16]) are raised, in lanes without an assignment, to the least at which there is one.
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
            while True:
                number += 1
                met, frees = _augment(hosts, stacks, depth, s.open[0, i], frees, np.uint32(number), s)
                if met == 0:
                    break
                # These types overfill their alive hosts at this bound and at all up to the next dead host.
                bound, frees = _raise(hosts, ages, bound, lane, met, frees, s)
        bounds[lane] = np.uint16(bound)
