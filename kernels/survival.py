"""Endurable failures of failure patterns (MODEL section 2), without sorting."""

from typing import NamedTuple

import numpy as np

from .jit import njit
from .philox import pattern_keys, split64


class Plan(NamedTuple):
    """A layout prepared for :func:`endurable`; immutable, to be used from any number of threads at once."""

    groups: int
    hosts: np.ndarray  # int32[rows, width]: the distinct host sets, short rows padded by repeating a host


def plan(groups, redundancy, offsets=None, block=None, hosts=None):
    """Prepare a layout; give exactly one of ``offsets``, ``block``, ``hosts``.

    ``offsets``: the r offsets of a circulant layout (groups (t - o) mod N host type t). ``block``: the
    block size of a partition. ``hosts``: int32[N, r], row t = groups that host type t, padded with -1 at the end.
    """
    if offsets is not None:
        shifts = np.asarray(offsets, np.int64)
        table = (np.arange(groups)[:, None] - shifts[None, :]) % groups
    elif block is not None:
        first = np.arange(0, groups, block)[:, None]
        table = np.minimum(first + np.arange(block)[None, :], groups - 1)
    else:
        table = np.where(hosts < 0, hosts[:, :1], hosts)
    return Plan(groups, np.ascontiguousarray(table, np.int32))


@njit
def _endurable(hosts, keys, k0, k1, first, out):
    for i in range(out.shape[0]):
        pattern_keys(keys, k0, k1, first + np.uint64(i))
        out[i] = endurable_of_keys(hosts, keys)


@njit
def endurable_of_keys(hosts, keys):
    """Endurable failures when the groups have the given keys (uint32[N]); ties are broken by group index."""
    wipe = np.int64(-1)
    for row in range(hosts.shape[0]):
        last = np.int64(0)
        for place in range(hosts.shape[1]):
            group = np.int64(hosts[row, place])
            last = max(last, (np.int64(keys[group]) << np.int64(31)) | group)
        if wipe < 0 or last < wipe:
            wipe = last
    key = wipe >> np.int64(31)
    wiping = wipe & np.int64(0x7FFFFFFF)
    below = 0
    for group in range(keys.shape[0]):
        here = np.int64(keys[group])
        if here < key or (here == key and group < wiping):
            below += 1
    return below


def endurable(plan, seed, first, out):
    """Fill ``out`` (int32[count]) with the endurable failures of trials first, first + 1, ...; no GIL."""
    k0, k1 = split64(seed)
    _endurable(plan.hosts, np.empty(plan.groups, np.uint32), k0, k1, np.uint64(first), out)
