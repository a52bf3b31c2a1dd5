"""All-reduce stack depth of failure patterns (MODEL section 3), without walking through the failures.

For each depth only the last failure count that it survives is looked for, from the count bound downwards, in sixteen
trials side by side; the methods and their proofs are in docs/stacks.md.
"""

import numpy as np

from .matching import lower_by_matching, new_work
from .philox import pattern_keys, split64
from .stacks_plan import BLOCKS, plan
from .stacks_rows import rows_by_lanes, rows_of_blocks
from .stacks_single import lowering, rows_of_keys

__all__ = ["assignment", "capacity", "capacity_of_keys", "least_depth", "plan"]


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
