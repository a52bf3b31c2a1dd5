"""What a point is held against: exact curves where its layout has them, closed forms everywhere. No sampling."""

from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np

from . import exact
from .errors import UserError
from .exact_enumerate import MOST_GROUPS_STACKS
from .study import layout_of

_MOST_OVERLAPS = 10**7  # pairs of types that share a host, counted one by one where a layout has no offsets


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


def rare_loss(result, trials, places=12):
    """Rigorous bounds on the rare loss of a layout that has no exact curve, at a few fixed k.

    The k are chosen by the loss of independent types, evenly on a logarithmic scale from a tenth of an event
    in so many trials to 0.1, beyond which the bounds drift apart.

    Parameters
    ----------
    result : PointResult
    trials : how many trials there are to see it
    places : how many k at most

    Returns
    -------
    (k int64[m], low float64[m], high float64[m]); None for a host table, and for a layout without offsets
    whose overlaps would take long to count
    """
    groups, redundancy = result.parameters["cluster.groups"], result.parameters["layout.redundancy"]
    if result.parameters.get("layout.offsets") is None and groups * redundancy**2 > _MOST_OVERLAPS:
        return None
    return _rare_loss(_key(result.parameters), int(trials), places)


@lru_cache(64)
def _rare_loss(key, trials, places):
    layout = _layout(key)
    if layout is None:
        return None
    loss = 1 - independent_curve(layout.groups, layout.redundancy)
    levels = np.geomspace(max(1e-13, min(0.1 / trials, 0.05)), 0.1, places)
    k = np.unique(np.searchsorted(loss, levels))
    low, high = exact.loss_bounds(layout, [int(x) for x in k])
    return k, low, high


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
