"""Bounds on rare loss: they must hold the exact chance, in rationals, and close on it as it gets rare."""

from fractions import Fraction
from itertools import combinations
from math import comb

import networkx as nx
import numpy as np
import pytest

from spare_mc import exact, exact_bounds
from spare_mc.layouts import Layout


def some_layouts():
    rng = np.random.default_rng(20)
    for groups in (2, 5, 8, 10):
        for r in range(1, groups + 1):
            yield Layout.contiguous(groups, r)
            yield Layout.partition(groups, r)
            yield Layout.random(groups, r, seed=1)
            offsets = [0, *(1 + rng.permutation(groups - 1)[: r - 1]).tolist()]
            yield Layout.custom(groups, offsets)
            yield Layout.from_table(Layout.custom(groups, offsets).stack_table())
    yield Layout.golomb(13, 4)


def test_loss_bounds_bracket_enumeration():
    for layout in some_layouts():
        groups, counts = layout.groups, exact.enumerate_survival(layout)
        overlaps = exact_bounds.overlaps_of(layout)
        for k in range(groups + 1):
            truth = 1 - Fraction(counts[k], comb(groups, k))
            for bounds in (
                exact.loss_bounds(layout, k),
                exact_bounds._float_bounds(groups, overlaps, k),
            ):
                assert Fraction(bounds[0]) <= truth <= Fraction(bounds[1]), (layout, k, bounds, truth)
                assert truth > 0 or bounds == (0.0, 0.0)


def test_overlaps_are_those_of_all_pairs_of_types():
    for layout in some_layouts():
        hosts = {frozenset(layout.hosts(kind).tolist()) for kind in range(layout.groups)}
        graph = nx.Graph()
        graph.add_nodes_from(hosts)
        graph.add_weighted_edges_from((a, b, len(a | b)) for a, b in combinations(hosts, 2))
        tree = nx.minimum_spanning_edges(graph, data=True)
        found = exact_bounds.overlaps_of(layout)
        assert tally(map(len, hosts)) == dict(found.singles)
        assert tally(data["weight"] for _, _, data in graph.edges(data=True)) == dict(found.pairs)
        assert tally(data["weight"] for _, _, data in tree) == dict(found.tree)


def tally(values):
    values = list(values)
    return {value: values.count(value) for value in set(values)}


def test_loss_bounds_of_a_table_with_too_many_pairs_still_hold(monkeypatch):
    monkeypatch.setattr(exact_bounds, "_MOST_PAIRS", 60)
    exact_bounds.overlaps_of.cache_clear()
    layout = Layout.from_table(Layout.contiguous(12, 3).stack_table())
    overlaps, counts = exact_bounds.overlaps_of(layout), exact.contiguous_counts(12, 3)
    exact_bounds.overlaps_of.cache_clear()
    assert overlaps.paired == 6 and overlaps.tree == {}
    for k in range(13):
        truth = 1 - Fraction(counts[k], comb(12, k))
        for bounds in (exact_bounds._integer_bounds, exact_bounds._float_bounds):
            low, high = bounds(12, overlaps, k)
            assert Fraction(low) <= truth <= Fraction(high)
    assert exact_bounds._integer_bounds(12, overlaps, 3)[0] > 0.0


@pytest.mark.parametrize(
    ("layout", "gap"),
    [
        (Layout.contiguous(600, 9), 0.04),
        (Layout.partition(600, 8), 1e-5),
        (Layout.partition(600, 7), 1e-5),
        (Layout.contiguous(1000, 100), 0.5),
    ],
    ids=repr,
)
def test_loss_bounds_bracket_large_layouts_and_tighten_as_loss_gets_rare(layout, gap):
    groups, loss, counts = layout.groups, exact.loss_curve(layout), exact.survival_counts(layout)
    ks = [k for k in range(0, groups + 1, 7) if loss[k] == 0.0 or loss[k] > 1e-280]
    low, high = exact.loss_bounds(layout, ks)
    for k, below, above in zip(ks, low, high, strict=True):
        truth = 1 - Fraction(counts[k], comb(groups, k))
        assert Fraction(below) <= truth <= Fraction(above)
        if 0 < loss[k] < 3e-5:
            assert above - below < gap * above
    assert np.all(np.diff(low) >= -1e-12) and np.all(np.diff(high) >= 0.0) and high[-1] <= 1.0


def test_golomb_loss_is_known_to_many_digits_where_it_is_rare():
    layout = Layout.golomb(600, 9)
    low, high = exact.loss_bounds(layout, [9, 15, 30, 60, 100])
    assert np.all(low > 0.0)
    assert low[1] < 1e-12 and np.all((high - low)[:3] < 1e-10 * high[:3])
    assert np.all(high - low < 2e-5 * high)
    assert low[0] == pytest.approx(
        600 / comb(600, 9), rel=1e-14
    )  # 600 of the 9-subsets are the hosts of a type


def test_golomb_loss_bounds_at_600000_groups_are_quick_and_tight():
    layout = Layout.golomb(600_000, 9)
    low, high = exact.loss_bounds(layout, [8, 1_000, 20_000])
    assert low[0] == high[0] == 0.0
    assert np.all(high[1:] - low[1:] < 2e-8 * high[1:]) and high[1] < 1e-15
