"""How a layout is prepared for the survival kernels; shared by all backends, so it imports no compiler."""

from typing import NamedTuple

import numpy as np

# Entries of a plan's ``numbers``; WIDTH is the number of hosts of a type, THRESHOLD and LOOK are for BITS
GROUPS, KIND, SPAN, WIDTH, ROWS, THRESHOLD, LOOK, NUMBERS = range(8)
CIRCULANT, PARTITION, TABLE = range(3)  # the values of KIND
LANES, SINGLE, BITS = range(3)  # ways to compute: 16 trials side by side; one; a bit per group and trial

_SINGLE_FROM = 6000  # groups; measured: below, 16 trials side by side stay in the level-2 cache
_BITS_FROM = 256
_EXPECTED = 8  # types expected to be lost below a plan's threshold: none is in one trial of 3,000


class Plan(NamedTuple):
    """A layout prepared for :func:`endurable`; read-only arrays, to be used from any number of threads at once."""

    way: int  # LANES, SINGLE or BITS
    numbers: np.ndarray  # int64[NUMBERS]
    places: np.ndarray  # int64[r], circulant: a type's hosts lie at x + places, ascending from 0
    steps: np.ndarray  # int64[...]: maxima of four groups each this far apart, taken before the windows
    shifts: np.ndarray  # int64[...]: what the windows then cover
    hosts: np.ndarray  # uint32[rows * width], partition and table; short rows repeat a host


def _places(groups, offsets):
    """Where a type's hosts lie from the one that makes the farthest nearest (a window of the ring)."""
    places = np.array(sorted({-int(offset) % groups for offset in offsets}), np.int64)
    gaps = np.diff(places, append=places[0] + groups)
    first = (int(np.argmax(gaps)) + 1) % places.size
    return np.sort((places - places[first]) % groups)


def _cover(places):
    """(steps, shifts) whose maxima cover ``places``: contiguous ones in about log4 of their number."""
    steps, reach = [], 1
    if places.size == places[-1] + 1:
        while -(-places.size // reach) > 6:
            steps.append(reach)
            reach *= 4
        places = [*range(0, places.size - reach, reach), places.size - reach]
    return np.array(steps, np.int64), np.array(places, np.int64)


def _threshold(sizes):
    """The least 16-bit level below which ``_EXPECTED`` types of these sizes are expected to have lost all hosts."""
    sizes, types = np.unique(sizes, return_counts=True)
    low, high = 1, 65535
    while low < high:
        middle = (low + high) // 2
        if (types * (middle / 65536.0) ** sizes).sum() >= _EXPECTED:
            high = middle
        else:
            low = middle + 1
    return low


def plan(groups, redundancy, offsets=None, block=None, hosts=None, way=None):
    """Prepare a layout of ``groups`` groups for :func:`endurable`; exactly one of three describes it.

    offsets : sequence of ints, a circulant layout: groups (t - o) mod N host type t
    block : int, a partition: blocks of so many consecutive groups host the same types, the last may be short
    hosts : int32[N, r], row t the groups that host type t, short rows padded with -1 at the end

    ``redundancy`` is r, the most hosts a type has. ``way`` forces one of the ways to compute (for tests and
    measurements; not every way knows every layout). Raises ValueError on anything else.
    """
    if (offsets is not None) + (block is not None) + (hosts is not None) != 1:
        raise ValueError("give exactly one of offsets, block, hosts")
    none = np.zeros(0, np.int64)
    numbers = np.zeros(NUMBERS, np.int64)
    numbers[GROUPS] = groups
    places, steps, shifts, table = none, none, none, np.zeros((0, 1), np.uint32)
    if offsets is not None:
        places = _places(groups, offsets)
        steps, shifts = _cover(places)
        numbers[KIND], numbers[SPAN], numbers[WIDTH] = CIRCULANT, places[-1], places.size
        fitting = SINGLE if groups >= _SINGLE_FROM else LANES
    elif block is not None:
        first = np.arange(0, groups, block)[:, None]
        table = np.minimum(first + np.arange(block), groups - 1)
        numbers[KIND], fitting = PARTITION, LANES
    else:
        table = np.asarray(hosts)
        sizes = (table >= 0).sum(axis=1)
        if sizes.min() < 1 or table.max() >= groups:
            raise ValueError(f"hosts: every type needs a host, and hosts are 0..{groups - 1}")
        numbers[KIND], numbers[THRESHOLD] = TABLE, _threshold(sizes)
        # looking whether a trial is left pays where few are, and enough of the row is saved
        look = int(np.ceil(np.log(64 / 0.3) / -np.log(numbers[THRESHOLD] / 65536)))
        numbers[LOOK] = look if look + 4 <= table.shape[1] else table.shape[1]
        table = np.where(table < 0, table[:, :1], table)
        fitting = BITS if groups >= _BITS_FROM else LANES
        if fitting == BITS:
            table = table[np.argsort(table[:, 0], kind="stable")]  # its first column is then read in order
    if offsets is None:
        numbers[ROWS], numbers[WIDTH] = table.shape
    if way is None:
        way = fitting
    elif (numbers[KIND], way) in ((CIRCULANT, BITS), (PARTITION, SINGLE), (PARTITION, BITS), (TABLE, SINGLE)):
        raise ValueError(f"way: {way} cannot compute this kind of layout")
    arrays = numbers, places, steps, shifts, np.ascontiguousarray(table, np.uint32).reshape(-1)
    for array in arrays:
        array.flags.writeable = False
    return Plan(way, *arrays)
