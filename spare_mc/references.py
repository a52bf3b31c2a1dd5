"""What a point is held against: exact curves where its layout has them, closed forms everywhere. No sampling."""

from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np

from . import exact
from .errors import UserError
from .exact_enumerate import MOST_GROUPS_STACKS
from .study import layout_of


class References(NamedTuple):
    """Curves over k = 0..N, float64[N+1]; not to be written to, they are shared.

    Attributes
    ----------
    exact : probability to be alive after k failures, None where no exact value is known
    loss : its complement, with digits of its own where loss is rare; None likewise
    independent : the approximation by independent types
    """

    exact: np.ndarray | None
    loss: np.ndarray | None
    independent: np.ndarray


def references(result):
    """The References of a point (spare_mc.results.PointResult)."""
    parameters = result.parameters
    curve, loss = _exact(_key(parameters))
    return References(
        curve, loss, independent_curve(parameters["cluster.groups"], parameters["layout.redundancy"])
    )


def exact_stack_curves(result):
    """Exact probabilities to be alive at a depth of d or less after k failures, for small layouts.

    Returns
    -------
    list of (d, float64[N+1]), d = 1 .. r-1 (depth r or less is being alive at all); empty where none are
    known: more than 20 groups, or a host table, which results hold only by its hash
    """
    if result.parameters["cluster.groups"] > MOST_GROUPS_STACKS:
        return []
    return _stack_curves(_key(result.parameters))


@lru_cache(64)
def independent_curve(groups, redundancy):
    """P(k) with types taken as independent, float64[N+1]."""
    return exact.independent_types_curve(groups, redundancy)


def _key(parameters):
    """The parameters a layout is made of, hashable: points that differ in others share their curves."""
    names = ("cluster.groups", "layout.kind", "layout.redundancy", "layout.offsets", "layout.seed")
    held = ((name, parameters[name]) for name in names if name in parameters)
    return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in held)


def _layout(key):
    """The layout, None for a host table."""
    try:
        return layout_of(dict(key))
    except UserError:
        return None


@lru_cache(64)
def _exact(key):
    layout = _layout(key)
    curve = None if layout is None else exact.survival_curve(layout)
    return (None, None) if curve is None else (curve, exact.loss_curve(layout))


@lru_cache(64)
def _stack_curves(key):
    layout = _layout(key)
    if layout is None:
        return []
    table = np.cumsum(exact.enumerate_least_stack(layout), axis=1)
    groups, redundancy = table.shape[0] - 1, table.shape[1] - 1
    subsets = [comb(groups, k) for k in range(groups + 1)]
    return [
        (d, np.array([int(n) / c for n, c in zip(table[:, d], subsets, strict=True)]))
        for d in range(1, redundancy)
    ]
