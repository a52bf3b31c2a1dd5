"""How a layout is prepared for the stack kernels; shared by all backends, so it imports no compiler."""

from typing import NamedTuple

import numpy as np

TABLE, RING, ARCS, BLOCKS = 0, 1, 2, 3  # which method finds the least depth; RING: a table of short offsets
MAX_REDUNDANCY = 128  # what a place of 7 bits and a count of 8 bits can tell apart
_MAX_GROUPS = 0xFFFE  # places in a failure order that 16 bits can tell apart, with one to spare


class Plan(NamedTuple):
    """A layout prepared for :func:`stacks.capacity`; immutable, to be used from any number of threads at once."""

    hosts: np.ndarray  # uint32[N, r]: hosts[t, j] = the group that hosts type t at stack place j, or N
    stacks: np.ndarray  # uint32[N, r]: stacks[g, j] = the type at place j of group g's stack, or N
    hosts16: np.ndarray  # the same as uint16, or without rows if the layout does not fit into lanes
    stacks16: np.ndarray
    kind: int  # which method finds the least depth
    starts: np.ndarray  # int64[blocks + 1], first group of every block of a partition, then N


def plan(hosts, stacks):
    """Prepare a layout.

    ``hosts``: int32[N, r], row t = groups that host type t; ``stacks``: int32[N, r], row g = types that group g
    hosts; both padded with -1 at the end. ValueError if they are not each other's inverse, or a stack place holds a
    type twice, or the first place does not hold every type.
    """
    hosts, stacks = np.asarray(hosts), np.asarray(stacks)
    groups, redundancy = stacks.shape
    group, place = np.nonzero(stacks >= 0)
    shard = stacks[group, place]
    by_place = np.full((groups, redundancy), groups, np.uint32)
    by_place[shard, place] = group
    pairs = np.sort(shard.astype(np.int64) * groups + group)
    hosted = np.sort((np.arange(groups)[:, None] * np.int64(groups) + hosts)[hosts >= 0])
    if not np.array_equal(pairs, hosted):
        raise ValueError("hosts and stacks are not each other's inverse")
    if (by_place < groups).sum() < shard.size or (by_place[:, 0] == groups).any():
        raise ValueError("every stack place must hold a type at most once, the first place every type")
    kind, starts = _family(stacks)
    by_group = np.where(stacks < 0, groups, stacks).astype(np.uint32)
    in_lanes = groups <= _MAX_GROUPS and redundancy <= MAX_REDUNDANCY
    narrow = [table[: groups if in_lanes else 0].astype(np.uint16) for table in (by_place, by_group)]
    tables = [_read_only(table) for table in (by_place, by_group, *narrow)]
    return Plan(*tables, kind, _read_only(starts))


def _read_only(array):
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def _family(stacks):
    """Which method fits a layout, and the first group of every block of a partition, then N."""
    groups, redundancy = stacks.shape
    numbers = np.arange(groups)
    width = (stacks >= 0).sum(axis=1)
    low = np.where(stacks < 0, groups, stacks).min(axis=1)
    starts = np.append(np.flatnonzero(np.bincount(low)), groups)
    block = np.searchsorted(starts, numbers, side="right") - 1
    size = np.diff(starts)[block]
    # r types of a group that lie in its own block of so many: a partition
    if (
        (low == starts[block]).all()
        and (width == size).all()
        and (stacks.max(axis=1) < starts[block] + size).all()
    ):
        return BLOCKS, starts.astype(np.int64)
    if (width == redundancy).all():
        shifts = np.sort((stacks - numbers[:, None]) % groups, axis=1)
        gaps = np.diff(shifts[0], append=shifts[0, 0] + groups)
        if (shifts == shifts[0]).all() and (gaps == 1).sum() >= redundancy - 1:
            return ARCS, starts[:0].astype(np.int64)
        if (shifts == shifts[0]).all() and groups - gaps.max() <= groups // 4:
            return RING, starts[:0].astype(np.int64)
    return TABLE, starts[:0].astype(np.int64)
