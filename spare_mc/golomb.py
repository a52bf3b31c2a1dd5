"""Offsets whose differences are all distinct modulo N, so that two groups share at most one shard type."""

from .errors import UserError
from .rulers import OPTIMAL


def is_golomb(offsets, groups):
    """Whether all differences of two of the ``offsets`` are distinct modulo ``groups``."""
    differences = {(a - b) % groups for a in offsets for b in offsets if a != b}
    return len(differences) == len(offsets) * (len(offsets) - 1)


def offsets(groups, redundancy):
    """The offsets of the golomb layout, a tuple of ``redundancy`` ints starting with 0."""
    if redundancy * (redundancy - 1) > groups - 1:
        raise UserError(
            f"layout.redundancy = {redundancy}: no golomb layout of {groups} groups exists: r(r-1) > N-1"
        )
    ruler = OPTIMAL.get(redundancy)
    if ruler is None or not is_golomb(ruler, groups):
        raise UserError(f"layout.redundancy = {redundancy}: no golomb layout of {groups} groups was found")
    return ruler
