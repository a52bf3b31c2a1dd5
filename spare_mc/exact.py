"""Exact values that sampling is checked against: survival curves, means, small layouts, rigorous bounds.

P(k) = Pr[K_w > k] is the chance that a layout still covers every shard type after k failures in random order.
It is known exactly for

- contiguous and partition layouts, and for circulant ones whose offsets form, in any order and up to a common shift,
  an arithmetic progression modulo N (hence all of redundancy 1 or 2): integers up to ``MOST_GROUPS_COUNTS``
  groups, floats at any size;
- every other layout of up to ``MOST_GROUPS_ENUMERATED`` groups, by complete enumeration.

``loss_bounds`` brackets the rare loss of any layout.
"""

import numpy as np

from . import exact_enumerate
from .arguments import size
from .exact_binomial import log_all_failed
from .exact_bounds import loss_bounds
from .exact_contiguous import contiguous_pair
from .exact_counts import (
    circles_of,
    contiguous_count,
    contiguous_counts,
    curve_from_counts,
    mean_from_counts,
    partition_counts,
    progression_counts,
)
from .exact_enumerate import MOST_GROUPS as MOST_GROUPS_ENUMERATED
from .exact_products import circles_pair, partition_pair

__all__ = [
    "MOST_GROUPS_COUNTS",
    "MOST_GROUPS_ENUMERATED",
    "contiguous_count",
    "contiguous_counts",
    "contiguous_curve",
    "enumerate_least_stack",
    "enumerate_survival",
    "independent_types_curve",
    "loss_bounds",
    "loss_curve",
    "mean_endurable",
    "mean_endurable_exact",
    "mean_from_counts",
    "partition_counts",
    "partition_curve",
    "progression_counts",
    "survival_counts",
    "survival_curve",
]

MOST_GROUPS_COUNTS = 2000  # beyond, integers of thousands of bits take seconds to minutes
_INTEGERS_UP_TO = 1000  # curves are made from integers up to here


def survival_counts(layout):
    """How many k-subsets of failed groups ``layout`` survives: list of N + 1 ints for k = 0..N, or None.

    None where no exact count is known (see the module), and beyond ``MOST_GROUPS_COUNTS`` groups.
    """
    kind, *numbers = _structure(layout)
    groups = layout.groups
    if kind == "other":
        return enumerate_survival(layout) if groups <= MOST_GROUPS_ENUMERATED else None
    if groups > MOST_GROUPS_COUNTS:
        return None
    if kind == "partition":
        return partition_counts(groups, *numbers)
    return progression_counts(groups, *numbers)


def survival_curve(layout):
    """P(k) for k = 0..N, float64[N+1], or None where no exact value is known.

    Correctly rounded up to 1000 groups; relative error below 1e-11 up to 600,000, where a curve takes 1 to 5 s, and 0
    for values below 1e-300.
    """
    pair = _pair(layout)
    return None if pair is None else pair[0]


def loss_curve(layout):
    """1 - P(k) for k = 0..N, float64[N+1] with the same relative accuracy where loss is rare, or None."""
    pair = _pair(layout)
    return None if pair is None else pair[1]


def mean_endurable(layout):
    """E[K], the mean endurable failures (wipe-out index less 1), as a float; None where not exactly known."""
    curve = survival_curve(layout)
    return None if curve is None else float(curve[1:].sum())


def mean_endurable_exact(layout):
    """E[K] as a Fraction, or None where ``survival_counts`` has none."""
    counts = survival_counts(layout)
    return None if counts is None else mean_from_counts(counts)


def contiguous_curve(groups, redundancy):
    """P(k) of the contiguous layout, float64[N+1]; see ``exact_contiguous`` for its accuracy."""
    return contiguous_pair(*size(groups, redundancy))[0]


def partition_curve(groups, block):
    """P(k) of blocks of ``block`` groups, the last one smaller, float64[N+1]; see ``exact_products``."""
    return partition_pair(*size(groups, block, "block"))[0]


def independent_types_curve(groups, redundancy):
    """(1 - C(N-r, k-r)/C(N, k))^N for k = 0..N, float64[N+1]: shard types treated as independent.

    An approximation to the golomb layout (0.13 % high in the mean at N=600, r=9), exact for none with r > 1.
    """
    groups, redundancy = size(groups, redundancy)
    lost = np.exp(log_all_failed(np.arange(groups + 1), groups, redundancy))
    with np.errstate(divide="ignore"):
        return np.exp(groups * np.log1p(-lost))


def enumerate_survival(layout):
    """Surviving subsets by number of failures, list of N + 1 ints, by enumeration: N <= 24, else UserError."""
    return exact_enumerate.enumerate_survival(layout.host_table()).tolist()


def enumerate_least_stack(layout):
    """int64[N+1, r+1]: [k, S] counts the k-subsets of failed groups of least depth S*(k) = S; column 0 is empty.

    By enumeration: N <= 20, else UserError. A row sums to the surviving subsets.
    """
    return exact_enumerate.enumerate_least_stack_table(layout.host_table())


def _pair(layout):
    """P and 1 - P, or None."""
    groups = layout.groups
    kind, *numbers = _structure(layout)
    if kind == "other" or groups <= _INTEGERS_UP_TO:
        counts = survival_counts(layout)
        return None if counts is None else curve_from_counts(counts)
    if kind == "partition":
        return partition_pair(groups, *numbers)
    redundancy, step = numbers
    circles, length = circles_of(groups, redundancy, step)
    if circles == 1:
        return contiguous_pair(groups, redundancy)
    if redundancy == length:
        return partition_pair(groups, length)
    return circles_pair(length, redundancy, circles)


def _structure(layout):
    """("partition", block), ("progression", redundancy, step) or ("other",): how the layout's curve is found."""
    if layout.block is not None:
        return "partition", layout.block
    if layout.offsets is not None:
        step = _progression_step(layout.groups, layout.offsets)
        if step is not None:
            return "progression", layout.redundancy, step
    return ("other",)


def _progression_step(groups, offsets):
    """d such that the offsets are a, a + d, a + 2d, .. modulo N in some order; None if there is no such d."""
    if len(offsets) == 1:
        return 1
    hosted = set(offsets)
    # The first offset has a neighbour at +d or -d, and -d serves as well as d.
    for step in (offset - offsets[0] for offset in offsets[1:]):
        circle = circles_of(groups, 1, step % groups)[1]
        if len(hosted) > circle:
            continue
        ends = 0
        for offset in hosted:
            ends += (offset + step) % groups not in hosted
            if ends > 1:
                break
        # One end: one run (a whole circle beside it would be too long). None: once around a circle, if just one.
        if ends == 1 or len(hosted) == circle and ends == 0:
            return step % groups
    return None
