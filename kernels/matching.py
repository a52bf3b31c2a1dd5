"""Shard types assigned to alive groups, none taking more than ``depth``: greedy sweep, then augmenting paths.

The groups of a state are given as *values* and a threshold: group g is alive when ``values[g] >= threshold``. With
the failure-order keys of a trial as values, lowering the threshold runs the failures backwards, which is what
:func:`lower_by_matching` does as far as an assignment needs it. The method is in docs/stacks.md.

Tables are padded with N (``hosts``: a group that is never alive; ``stacks``: a type that needs no host), so that no
loop asks whether a place exists; ``values`` and the arrays of :class:`Work` have that one more element.
"""

from typing import NamedTuple

import numpy as np

from .apart import apart
from .jit import njit

_DONE = np.int32(1 << 30)  # in Work.left: the type has its group; far above any redundancy
_OUT = np.int32(2**31 - 1)  # in Work.seen: the group is not alive
_PLACE = np.int64(0xFFFF)  # stack places are below 2**16, as N * r is capped (layouts.MAX_CELLS)
_TAKEN = np.int64(1) << np.int64(60)
_LIMIT = np.int64(1) << np.int64(44)  # between a type still open and one that is done, both shifted by 16


class Work(NamedTuple):
    """Scratch of one thread for a layout of N groups and redundancy r; see :func:`new_work`."""

    left: np.ndarray  # int32[N+1]: alive hosts of the type that the sweep has still to pass, or _DONE
    host: np.ndarray  # int32[N+1]: the group that computes the type (of types that have one)
    load: np.ndarray  # int32[N+1]: types taken by the group
    held: np.ndarray  # int32[N*r]: which; group g's are held[g*depth : g*depth + load[g]]
    seen: np.ndarray  # int32[N+1]: last search that met the group, or _OUT
    via: np.ndarray  # int32[N+1]: type through which that search met the group
    queue: np.ndarray  # int32[N+1]: types met by a search, in order
    list: np.ndarray  # int32[N+1]: alive groups, or types without a host
    places: np.ndarray  # int64[r]: one group's stack, urgency first


@njit
def new_work(groups, redundancy):
    """Scratch for :func:`lower_by_matching`."""
    apart()
    n = groups + 1
    return Work(
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(groups * redundancy, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(redundancy, np.int64),
    )


@njit
def _enter(stacks, values, threshold, w):
    """List the alive groups and count every type's alive hosts; returns how many groups are alive."""
    groups = stacks.shape[0]
    alive = 0
    for g in range(groups):
        w.list[alive] = g  # no branch: half of them would be mispredicted
        alive += np.int64(values[g] >= threshold)
        w.seen[g] = np.int32(0) if values[g] >= threshold else _OUT
    w.seen[groups] = _OUT
    for t in range(groups):
        w.left[t] = np.int32(0)
    for i in range(alive):
        row = stacks[np.int64(w.list[i])]
        for place in range(row.shape[0]):
            w.left[row[place]] += np.int32(1)
    w.left[groups] = _DONE
    return alive


@njit
def sweep(stacks, values, threshold, depth, w):
    """Greedy assignment: the groups in turn each take the ``depth`` types with the fewest hosts still to come.

    Returns the number of types left without a group; they stand first in ``w.list``.
    """
    apart()
    groups, redundancy = stacks.shape
    alive = _enter(stacks, values, threshold, w)
    for i in range(alive):
        g = np.int64(w.list[i])
        row = stacks[g]
        for place in range(redundancy):
            left = w.left[row[place]]
            w.left[row[place]] = left - np.int32(1)
            w.places[place] = (np.int64(left) << np.int64(16)) | place
        load = 0
        while load < depth:
            best = _TAKEN
            for place in range(redundancy):
                best = min(best, w.places[place])
            if best >= _LIMIT:
                break
            place = best & _PLACE
            w.places[place] = _TAKEN
            t = row[place]
            w.left[t] = _DONE
            w.host[t] = g
            w.held[g * depth + load] = t
            load += 1
        w.load[g] = load
    open_types = 0
    for t in range(groups):
        if w.left[t] <= 0:
            w.list[open_types] = t
            open_types += 1
    return open_types


@njit
def augment(hosts, start, depth, search, w):
    """Give type ``start`` a group, moving others along a shortest alternating path if need be.

    ``search``: a number above all in ``w.seen`` but _OUT. Returns 0 when done. Otherwise how many types stand in
    ``w.queue``: their alive hosts take ``depth`` types each and all of them are in the queue, one type too many.
    """
    apart()
    w.queue[0] = start
    head = 0
    tail = 1
    while head < tail:
        t = w.queue[head]
        head += 1
        for place in range(hosts.shape[1]):
            h = np.int64(hosts[t, place])
            if w.seen[h] >= search:
                continue
            w.seen[h] = search
            w.via[h] = t
            first = h * depth
            if w.load[h] < depth:
                slot = first + w.load[h]
                w.load[h] += np.int32(1)
                t = w.via[h]
                while t != start:
                    w.held[slot] = t
                    g = np.int64(w.host[t])
                    w.host[t] = h
                    slot = g * depth
                    while w.held[slot] != t:
                        slot += 1
                    h = g
                    t = w.via[h]
                w.held[slot] = start
                w.host[start] = h
                return 0
            for slot in range(first, first + depth):
                w.queue[tail] = w.held[slot]
                tail += 1
    return tail


@njit
def _revive(hosts, values, threshold, met, w):
    """The largest threshold that makes one more host of the first ``met`` types in ``w.queue`` alive, or -1.

    The groups it brings back enter with nothing taken.
    """
    apart()
    groups = hosts.shape[0]
    lower = np.int64(-1)
    for i in range(met):
        t = w.queue[i]
        for place in range(hosts.shape[1]):
            h = hosts[t, place]
            value = np.int64(values[h])
            if value < threshold and h < groups:
                lower = max(lower, value)
    for g in range(groups):
        if lower <= np.int64(values[g]) < threshold:
            w.seen[g] = np.int32(0)
            w.load[g] = np.int32(0)
    return lower


@njit
def lower_by_matching(stacks, hosts, values, threshold, depth, w):
    """The greatest threshold, at most ``threshold``, at which the alive groups can share out all types.

    ``stacks``, ``hosts``: uint32[N, r], padded with N. ``values``: uint32[N+1], the last one 0. ``threshold``:
    int64. No group takes more than ``depth`` types. Returns -1 when all groups alive are not enough. Then
    w.host[t] is a valid assignment, unless -1.
    """
    apart()
    open_types = sweep(stacks, values, threshold, depth, w)
    search = np.int32(0)
    for i in range(open_types):
        start = np.int64(w.list[i])
        while True:
            search += np.int32(1)
            met = augment(hosts, start, depth, search, w)
            if met == 0:
                break
            # These types overfill their alive hosts at this threshold and at all down to the next dead host.
            threshold = _revive(hosts, values, threshold, met, w)
            if threshold < 0:
                return threshold
    return threshold
