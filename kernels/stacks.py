"""All-reduce stack depth of failure patterns (MODEL section 3), without walking through the failures.

For each depth only the last failure count that it survives is looked for, from the count bound downwards, in sixteen
trials side by side; the methods and their proofs are in docs/stacks.md.
"""

from typing import NamedTuple

import numpy as np

from .matching import lower_by_matching, new_work
from .philox import pattern_keys, split64
from .stacks_rows import ARCS, BLOCKS, RING, TABLE, rows_by_lanes, rows_of_blocks
from .stacks_single import lowering, rows_of_keys
from .stacks_sweep import MAX_REDUNDANCY

_MAX_GROUPS = 0xFFFE  # places in a failure order that 16 bits can tell apart, with one to spare


class Plan(NamedTuple):
    """A layout prepared for :func:`capacity`; immutable, to be used from any number of threads at once."""

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
    starts = np.append(np.unique(low), groups)
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


def capacity(plan, seed, first, out):
    """Fill ``out`` (int32[count, r]) for trials first, first + 1, ...; no GIL.

    out[i, d-1] is the largest k such that depth d still suffices after the first k failures of the trial; so
    out[i, r-1] is the number of endurable failures.
    """
    k0, k1 = split64(seed)
    groups = plan.hosts.shape[0]
    if plan.hosts16.shape[0] == 0:
        rows_of_keys(plan, (_keys(groups, k0, k1, first + i) for i in range(out.shape[0])), out)
    elif plan.kind == BLOCKS:
        rows_of_blocks(plan.starts, groups, np.uint64(k0), np.uint64(k1), np.uint64(first), out)
    else:
        key = np.uint64(k0), np.uint64(k1)
        rows_by_lanes(plan.kind, plan.hosts16, plan.stacks16, *key, np.uint64(first), out)


def _keys(groups, k0, k1, trial):
    keys = np.empty(groups, np.uint32)
    pattern_keys(keys, k0, k1, np.uint64(trial))
    return keys


def capacity_of_keys(plan, keys):
    """The rows of :func:`capacity` (int32[count, r]) for given failure-order keys (uint32[count, N])."""
    keys = np.asarray(keys, np.uint32)
    out = np.empty((keys.shape[0], plan.hosts.shape[1]), np.int32)
    rows_of_keys(plan, keys, out)
    return out


def least_depth(plan, alive):
    """The smallest depth at which the alive groups can share out all types, or 0 when some type has no host.

    ``alive``: bool[N].
    """
    values = np.append(alive, False).astype(np.uint32)
    if not values[plan.hosts].any(axis=1).all():
        return 0
    lower = lowering(plan)
    depth = -(-plan.hosts.shape[0] // int(values.sum()))
    while lower(values, np.int64(1), depth) < 1:
        depth += 1
    return depth


def assignment(plan, alive, depth):
    """A group for every type, alive and with at most ``depth`` types in all: int32[N], or None if there is none.

    ``alive``: bool[N].
    """
    groups, redundancy = plan.hosts.shape
    values = np.append(alive, False).astype(np.uint32)
    work = new_work(groups, redundancy)
    lower = lower_by_matching(plan.stacks, plan.hosts, values, np.int64(1), depth, work)
    return work.host[:groups] if lower == 1 else None
