"""Augmenting paths for the types that the sweep over sixteen trials left open, lane by lane (see stacks_sweep)."""

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


# Rows of a box (uint16[11, N+1]): one lane of a layout of N groups, and scratch of the searches in it. Of every group:
_SHARD, _PLACE = 0, 1  # the type that would come into it, and the place that the type has there
_AWAY, _THERE = 2, 3  # the type that would leave it for a group nearer to a free one, and its place there
_GROUPS = 4  # a list: groups met coming from the free ones
_FREE = 5  # a list: free groups
_STATE = 6  # of every type: its state, as in stacks_sweep
_QUEUE = 7  # a list: types met
_NEXT = 8  # a stack: those still to look at, on a ring
_OPEN, _LANES = 9, 10  # a list: types open in some lane, and in which (bit mask)
# Rows of the marks (uint32[2, N+1]): the number of the last search that met a group
_SEEN = 0  # coming from the open type; _ALWAYS: the group is not alive
_BACK = 1  # coming from the free groups; _ALWAYS: the group is free itself


@njit
def new_box(groups):
    """Scratch for :func:`complete16`: (box, marks)."""
    return np.empty((11, groups + 1), np.uint16), np.empty((2, groups + 1), np.uint32)


@njit
def _enter_lane(ages, bound, types, free, lane, box, marks):
    """Take one lane out of the sixteen; returns the number of free groups, listed in the box."""
    groups = box.shape[1] - 1
    frees = 0
    for g in range(groups):
        is_free = (np.int64(free[g]) >> lane) & 1
        box[_FREE, frees] = g
        frees += is_free
        marks[_BACK, g] = _ALWAYS if is_free else np.uint32(0)
        marks[_SEEN, g] = np.uint32(0) if ages[LANES * g + lane] < bound else _ALWAYS
        box[_STATE, g] = types[LANES * g + lane]
    marks[_SEEN, groups] = _ALWAYS
    box[_STATE, groups] = np.uint16(0)
    return frees


@njit
def _meet(hosts, stacks, depth, start, meeting, frees, box, marks):
    """Move types along the path from ``start`` over group ``meeting`` to a free one; returns how many remain free."""
    apart()
    redundancy = hosts.shape[1]
    end = meeting
    if marks[_BACK, meeting]:
        while marks[_BACK, end] != _ALWAYS:
            t = box[_AWAY, end]
            place = box[_THERE, end]
            box[_STATE, t] = np.uint16(_DONE + np.int64(place))
            end = hosts[t, place]
    h = meeting
    while True:
        t = box[_SHARD, h]
        before = np.int64(box[_STATE, t]) & 127
        box[_STATE, t] = np.uint16(_DONE + np.int64(box[_PLACE, h]))
        if t == start:
            break
        h = hosts[t, before]
    load = 0
    for place in range(redundancy):
        load += np.int64(np.int64(box[_STATE, stacks[end, place]]) & _HELD == _DONE + place)
    if load < depth:
        return frees
    marks[_BACK, end] = np.uint32(0)
    at = 0
    while box[_FREE, at] != end:
        at += 1
    box[_FREE, at] = box[_FREE, frees - 1]
    return frees - 1


@njit
def _away(a, b, groups):
    """How far two numbers are from each other on a ring of so many."""
    distance = abs(np.int64(a) - np.int64(b))
    return min(distance, groups - distance)


@njit
def _start_at_free(ring, groups, start, frees, box):
    """Enter the free groups into the box; on a ring the one nearest to ``start`` first, which is returned."""
    nearest = groups
    for i in range(frees):
        g = box[_FREE, i]
        box[_GROUPS, i] = g
        if ring and _away(g, start, groups) < nearest:
            nearest = _away(g, start, groups)
            box[_GROUPS, i] = box[_GROUPS, 0]
            box[_GROUPS, 0] = g
    return np.int64(box[_GROUPS, 0])


@njit
def _push(target, groups, first, tail, top, box):
    """Stack the types ``box[_QUEUE, first:tail]`` on the stack, the one nearest to ``target`` last."""
    nearest = groups
    for i in range(first, tail):
        t = box[_QUEUE, i]
        if _away(t, target, groups) <= nearest:
            nearest = _away(t, target, groups)
            box[_NEXT, top] = t
        else:
            box[_NEXT, top] = box[_NEXT, top - 1]
            box[_NEXT, top - 1] = t
        top += 1
    return top


@njit
def _augment(hosts, stacks, ring, depth, start, frees, number, box, marks):
    """Give type ``start`` a group, moving others along an alternating path if need be.

    Returns (types met, free groups left); none met stands for success. Otherwise the queue holds the types met,
    which overfill their alive hosts. The search goes from the open type and from the free groups, about the same
    work each: breadth first, or, on a ring, straight towards the nearest free group. ``number``: of this search in
    the lane, uint32.
    """
    apart()
    groups, redundancy = hosts.shape
    box[_QUEUE, 0] = start
    box[_NEXT, 0] = start
    head, tail, top = np.int64(0), np.int64(1), np.int64(1)  # of the queue, and on a ring of the stack
    back_head, back_tail = np.int64(0), np.int64(frees)
    target = np.int64(-1)
    work = 0
    while head < tail:
        if ring and top == 0:
            break
        if ring:
            top -= 1
            t = box[_NEXT, top]
        else:
            t = box[_QUEUE, head]
            head += 1
        work += redundancy
        first = tail
        for entry in range(redundancy):
            h = hosts[t, entry]
            if marks[_SEEN, h] >= number:
                continue
            marks[_SEEN, h] = number
            box[_SHARD, h] = t
            box[_PLACE, h] = entry
            if marks[_BACK, h] >= number:
                return 0, _meet(hosts, stacks, depth, start, h, frees, box, marks)
            work += redundancy
            for place in range(redundancy):
                other = stacks[h, place]
                box[_QUEUE, tail] = other
                tail += np.int64(np.int64(box[_STATE, other]) & _HELD == _DONE + place)
        if target < 0:
            target = _start_at_free(ring, groups, start, frees, box)
        if ring:
            top = _push(target, groups, first, tail, top, box)
        while work > 0 and back_head < back_tail and (not ring or back_head < _AROUND):
            g = box[_GROUPS, back_head]
            back_head += 1
            work -= redundancy
            for place in range(redundancy):
                t = stacks[g, place]
                state = np.int64(box[_STATE, t])
                h = hosts[t if state >= _DONE else 0, state & 127]
                if state >= _DONE and marks[_BACK, h] < number:
                    marks[_BACK, h] = number
                    box[_AWAY, h] = t
                    box[_THERE, h] = place
                    if marks[_SEEN, h] == number:
                        return 0, _meet(hosts, stacks, depth, start, h, frees, box, marks)
                    box[_GROUPS, back_tail] = h
                    back_tail += 1
    return tail, frees


@njit
def _raise(hosts, stacks, ages, bound, lane, depth, start, met, frees, box, marks):
    """Let one more host of the ``met`` types in the queue live, and give ``start`` a group by way of it.

    Returns (the least bound at which one does, free groups).
    """
    raised = np.int64(0x10000)
    revived = hosts[0, 0]
    for i in range(met):
        t = box[_QUEUE, i]
        for entry in range(hosts.shape[1]):
            h = hosts[t, entry]
            age = np.int64(ages[LANES * np.int64(h) + lane])
            if bound <= age < raised - 1:
                raised = age + 1
                revived = h
                box[_SHARD, h] = t
                box[_PLACE, h] = entry
    for g in range(hosts.shape[0]):
        if bound <= np.int64(ages[LANES * g + lane]) < raised:
            marks[_SEEN, g] = np.uint32(0)
            marks[_BACK, g] = _ALWAYS
            box[_FREE, frees] = g
            frees += 1
    return raised, _meet(hosts, stacks, depth, start, revived, frees, box, marks)


@njit
def complete16(hosts, stacks, ring, ages, bounds, depth, types, free, lanes, box, marks):
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
            box[_OPEN, waiting] = t
            box[_LANES, waiting] = open_lanes
            some |= open_lanes
            waiting += 1
    for lane in range(LANES):
        if (some >> lane) & 1 == 0:
            continue
        bound = np.int64(bounds[lane])
        frees = _enter_lane(ages, bound, types, free, lane, box, marks)
        number = 0
        for i in range(waiting):
            if (np.int64(box[_LANES, i]) >> lane) & 1 == 0:
                continue
            number += 1
            start = np.int64(box[_OPEN, i])
            met, frees = _augment(hosts, stacks, ring, depth, start, frees, np.uint32(number), box, marks)
            if met > 0:
                # They overfill their alive hosts at this bound and at all up to their next dead host.
                bound, frees = _raise(hosts, stacks, ages, bound, lane, depth, start, met, frees, box, marks)
        bounds[lane] = np.uint16(bound)
