"""Exact counts against enumeration and printed formulas; float curves against integers and closed forms.

Stated accuracy of float curves: relative 1e-11, of survival and of loss; up to 1000 groups they keep 2e-12.
"""

import json
import math
from fractions import Fraction
from itertools import combinations
from math import comb, perm
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from spare_mc import exact, theory
from spare_mc.errors import UserError
from spare_mc.exact_contiguous import contiguous_pair
from spare_mc.exact_counts import circles_of, curve_from_counts
from spare_mc.exact_products import circles_pair, partition_pair
from spare_mc.layouts import Layout

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


# Small layouts, by plain Python


def least_depth(hosts, failed):
    """S* by maximum flow, raising the depth until all types have a place; None after a wipe-out."""
    groups = len(hosts)
    for depth in range(1, groups + 1):
        graph = nx.DiGraph()
        for kind, members in enumerate(hosts):
            graph.add_edge("source", ("type", kind), capacity=1)
            for group in members:
                if group not in failed:
                    graph.add_edge(("type", kind), ("group", group), capacity=1)
                    graph.add_edge(("group", group), "sink", capacity=depth)
        if "sink" in graph and nx.maximum_flow_value(graph, "source", "sink") == groups:
            return depth
    return None


@pytest.mark.parametrize(
    "layout",
    [
        Layout.golomb(7, 3),
        Layout.contiguous(6, 3),
        Layout.partition(7, 3),
        Layout.random(6, 2, seed=3),
        Layout.custom(6, [0, 1, 3, 4]),
        Layout.contiguous(4, 1),
    ],
    ids=repr,
)
def test_enumeration_meets_maximum_flow_on_every_subset(layout):
    groups = layout.groups
    hosts = [[int(group) for group in layout.hosts(kind)] for kind in range(groups)]
    table = np.zeros((groups + 1, layout.redundancy + 1), dtype=np.int64)
    for k in range(groups + 1):
        for failed in combinations(range(groups), k):
            depth = least_depth(hosts, set(failed))
            if depth is not None:
                table[k, depth] += 1
    assert exact.enumerate_least_stack(layout).tolist() == table.tolist()
    assert exact.enumerate_survival(layout) == table.sum(axis=1).tolist()


@pytest.mark.skipif(
    not (DATA / "enumerated.json").exists(), reason="reference data not beside the repository"
)
def test_enumeration_reproduces_the_reference_data():
    entries = json.loads((DATA / "enumerated.json").read_text())
    assert len(entries) >= 7
    for entry in entries:
        layout = Layout.custom(entry["groups"], entry["offsets"])
        table = exact.enumerate_least_stack(layout)
        found = {
            str(k): {str(depth): int(count) for depth, count in enumerate(row) if count}
            for k, row in enumerate(table)
            if row.any()
        }
        assert found == entry["least_stack_counts_by_failures"]
        assert exact.enumerate_survival(layout) == entry["surviving_subsets_by_failures"]
        assert exact.survival_counts(layout) == entry["surviving_subsets_by_failures"]
        assert str(exact.mean_endurable_exact(layout)) == entry["mean_endurable_failures_exact"]
        assert exact.mean_endurable(layout) == pytest.approx(entry["mean_endurable_failures"], rel=1e-14)


# Counts


def test_contiguous_and_partition_counts_meet_enumeration():
    for groups in range(2, 13):
        for r in range(1, groups + 1):
            contiguous, partition = Layout.contiguous(groups, r), Layout.partition(groups, r)
            counts = exact.contiguous_counts(groups, r)
            assert counts == exact.enumerate_survival(contiguous)
            assert counts == [exact.contiguous_count(groups, r, k) for k in range(groups + 1)]
            assert exact.partition_counts(groups, r) == exact.enumerate_survival(partition)


def test_progressions_are_found_exactly_and_counted_right():
    """All sets of offsets of up to 8 groups: the closed count where one is claimed, and none missed."""
    claimed = 0
    for groups in range(2, 9):
        for size in range(1, groups + 1):
            progressions = {
                frozenset((start + i * step) % groups for i in range(size))
                for start in range(groups)
                for step in range(1, groups + 1)
            }
            for others in combinations(range(1, groups), size - 1):
                layout = Layout.custom(groups, [0, *reversed(others)])
                kind, *numbers = exact._structure(layout)
                assert (kind == "progression") == (frozenset(layout.offsets) in progressions)
                if kind == "progression":
                    claimed += 1
                    assert exact.progression_counts(groups, *numbers) == exact.enumerate_survival(layout)
    assert claimed > 100


def test_contiguous_counts_meet_the_alternating_sum():
    groups, r = 200, 9
    counts = exact.contiguous_counts(groups, r)
    for k in range(groups):
        n = groups - k
        total = sum(
            (-1) ** j * comb(n, j) * comb(groups - 1 - r * j, n - 1) for j in range(min(n, k // r) + 1)
        )
        assert counts[k] == Fraction(groups * total, n)
    assert counts[groups] == 0


@pytest.mark.parametrize(("redundancy", "index"), [(9, 302.678), (20, 456.338)])
def test_contiguous_mean_meets_the_reference(redundancy, index):
    layout = Layout.contiguous(600, redundancy)
    mean = exact.mean_endurable_exact(layout)
    assert isinstance(mean, Fraction)
    assert float(mean) + 1 == pytest.approx(index, abs=5e-4)
    assert exact.mean_endurable(layout) == pytest.approx(float(mean), rel=1e-13)


def test_layouts_without_an_exact_value_say_so():
    layout = Layout.golomb(600, 9)
    assert exact.survival_counts(layout) is None and exact.mean_endurable_exact(layout) is None
    assert exact.survival_curve(layout) is None and exact.loss_curve(layout) is None
    assert exact.mean_endurable(layout) is None
    many = Layout.contiguous(exact.MOST_GROUPS_COUNTS + 1, 3)
    assert exact.survival_counts(many) is None and exact.survival_curve(many) is not None


def test_table_of_a_circulant_layout_is_enumerated_to_the_same():
    layout = Layout.golomb(13, 4)
    assert exact.survival_counts(Layout.from_table(layout.stack_table())) == exact.survival_counts(layout)


# Float curves


def worst_errors(counts, pair):
    """Largest relative errors of P and of 1 - P, where they are at least 1e-300."""
    groups = len(counts) - 1
    survive, lose = pair
    assert survive.shape == lose.shape == (groups + 1,)
    errors = []
    for found, wanted in (
        (survive, counts),
        (lose, [comb(groups, k) - c for k, c in enumerate(counts)]),
    ):
        exactly = np.array([value / comb(groups, k) for k, value in enumerate(wanted)])
        told = exactly >= 1e-300
        assert np.all(found[~told] <= 1e-299)
        errors.append(np.max(np.abs(found[told] / exactly[told] - 1)))
    return errors


CONTIGUOUS = [(66, 2), (70, 3), (100, 50), (200, 2), (200, 9), (600, 2), (600, 3), (600, 9), (600, 20)]
CONTIGUOUS += [(600, 599), (1000, 1), (1000, 2), (1000, 4), (1000, 9), (1000, 100), (1000, 1000)]


@pytest.mark.parametrize(("groups", "redundancy"), CONTIGUOUS)
def test_contiguous_curve_meets_integers(groups, redundancy):
    errors = worst_errors(exact.contiguous_counts(groups, redundancy), contiguous_pair(groups, redundancy))
    assert max(errors) < 2e-12


PARTITIONS = [
    (2, 1),
    (7, 3),
    (10, 9),
    (100, 2),
    (100, 51),
    (200, 9),
    (600, 2),
    (600, 7),
    (600, 8),
    (600, 300),
]
PARTITIONS += [(601, 300), (1000, 1), (1000, 3), (1000, 9), (1000, 500), (1000, 999), (1000, 1000)]


@pytest.mark.parametrize(("groups", "block"), PARTITIONS)
def test_partition_curve_meets_integers(groups, block):
    errors = worst_errors(exact.partition_counts(groups, block), partition_pair(groups, block))
    assert max(errors) < 2e-12


CIRCLES = [
    (3, 2, 2),
    (5, 3, 10),
    (50, 3, 2),
    (4, 2, 150),
    (8, 7, 75),
    (100, 9, 6),
    (600, 3, 2),
    (200, 199, 3),
]


@pytest.mark.parametrize(("length", "redundancy", "circles"), CIRCLES)
def test_curve_of_circles_meets_integers(length, redundancy, circles):
    counts = exact.progression_counts(length * circles, redundancy, circles)
    assert max(worst_errors(counts, circles_pair(length, redundancy, circles))) < 2e-12


@pytest.mark.parametrize(
    "layout",
    [
        Layout.contiguous(1100, 4),
        Layout.partition(1100, 9),
        Layout.custom(1100, [0, 10, 20, 30]),
        Layout.custom(1100, [0, 275, 550, 825]),
        Layout.golomb(1101, 2),
    ],
    ids=repr,
)
def test_layouts_beyond_integers_take_the_float_curve_of_their_kind(layout):
    counts = exact.survival_counts(layout)
    assert max(worst_errors(counts, (exact.survival_curve(layout), exact.loss_curve(layout)))) < 2e-12


def test_curves_of_up_to_1000_groups_are_rounded_once():
    counts = exact.contiguous_counts(1000, 9)
    assert exact.survival_curve(Layout.contiguous(1000, 9)).tolist() == curve_from_counts(counts)[0].tolist()


def bracketed_survival(groups, r, k):
    """P(k) of the contiguous layout as exact Bonferroni bounds: the alternating sum in rationals, cut when small."""
    n, low, high, total, j = groups - k, None, None, Fraction(0), 0
    while True:
        term = Fraction(comb(n, j) * perm(k, r * j), perm(groups - 1, r * j))
        total += (-1) ** j * term
        low, high = (total, high) if j % 2 else (low, total)
        if low is not None and high is not None and low > 0 and high - low < high / 10**13:
            return float(low), float(high)
        j += 1


@pytest.fixture(scope="module")
def contiguous_600000():
    return contiguous_pair(600_000, 9)


@pytest.mark.parametrize("k", [9, 10, 1000, 50_000, 130_000, 137_000, 145_000, 180_000])
def test_contiguous_curve_of_600000_groups_meets_rational_sums(contiguous_600000, k):
    survive, lose = contiguous_600000
    low, high = bracketed_survival(600_000, 9, k)
    assert low * (1 - 1e-12) <= survive[k] <= high * (1 + 1e-12)
    if low > 0.999999:  # the first term, less the second, to more digits than they leave
        first, second = (
            float(Fraction(comb(600_000 - k, j) * perm(k, 9 * j), perm(599_999, 9 * j))) for j in (1, 2)
        )
        assert lose[k] == pytest.approx(first - second, rel=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("k", [220_000, 240_000])
def test_contiguous_curve_of_600000_groups_far_down(contiguous_600000, k):
    low, high = bracketed_survival(600_000, 9, k)
    assert high < 1e-19
    assert low * (1 - 2e-12) <= contiguous_600000[0][k] <= high * (1 + 2e-12)


def test_contiguous_curve_of_600000_groups_is_a_curve(contiguous_600000):
    survive, lose = contiguous_600000
    assert survive[0] == 1.0 and survive[-1] == 0.0
    assert np.all(np.diff(survive) <= 0.0) and np.all(np.diff(lose) >= 0.0)
    assert np.max(np.abs(survive + lose - 1.0)) < 1e-15


@pytest.mark.parametrize("block", [3, 300_000, pytest.param(8, marks=pytest.mark.slow)])
def test_partition_curve_of_600000_groups_meets_its_closed_mean(block):
    survive, _ = partition_pair(600_000, block)
    closed = theory.replication_failures_to_interruption(600_000, block)
    assert survive.sum() == pytest.approx(closed, rel=1e-12)
    assert np.all(np.diff(survive) <= 0.0)


@pytest.mark.parametrize("rest", [1, 3])
@pytest.mark.parametrize("whole", [30_000, pytest.param(600_000, marks=pytest.mark.slow)])
def test_smaller_last_block_by_conditioning(whole, rest):
    """Of k failures j < rest fall on the last block, as in a draw without replacement, and k - j on the others."""
    block, groups = 1_200, whole + rest
    survive, _ = partition_pair(groups, block)
    others, _ = partition_pair(whole, block)
    k = np.arange(groups + 1, dtype=np.float64)
    wanted = np.zeros(groups + 1)
    for j in range(rest):
        chance = np.full(groups + 1, comb(rest, j) / perm(groups, rest))
        for i in range(j):
            chance *= np.maximum(k - i, 0)
        for i in range(rest - j):
            chance *= np.maximum(groups - k - i, 0)
        wanted[j : j + whole + 1] += chance[j : j + whole + 1] * others
    assert np.all(np.abs(survive - wanted) <= 1e-11 * wanted + 1e-300)


@pytest.mark.slow
@pytest.mark.parametrize(("length", "redundancy"), [(300_000, 9), (60_000, 3), (600, 9)])
def test_many_circles_come_near_one(length, redundancy):
    """Windows of r overlap alike in one circle and in several long ones; only the seams differ."""
    survive, _ = circles_pair(length, redundancy, 600_000 // length)
    assert survive.sum() == pytest.approx(contiguous_pair(600_000, redundancy)[0].sum(), rel=1e-9)


# The independent-type approximation


def test_independent_types_curve_meets_rationals():
    for groups, r in [(1, 1), (2, 2), (13, 4), (600, 9), (600, 600)]:
        curve = exact.independent_types_curve(groups, r)
        assert curve.shape == (groups + 1,)
        for k in range(0, groups + 1, max(1, groups // 40)):
            lost = Fraction(comb(groups - r, k - r), comb(groups, k)) if k >= r else Fraction(0)
            wanted = float((1 - lost) ** groups)
            assert curve[k] == pytest.approx(wanted, rel=1e-11, abs=1e-300)
    assert exact.independent_types_curve(600, 9).sum() == pytest.approx(281.75, abs=0.005)


# Bad input

REFUSED = [
    (lambda: exact.contiguous_counts(5, 6), "redundancy = 6"),
    (lambda: exact.contiguous_count(5, 2, 6), "failures = 6"),
    (lambda: exact.contiguous_curve(0, 1), "groups = 0"),
    (lambda: exact.partition_counts(5, 0), "block = 0"),
    (lambda: exact.partition_curve(5, 1.5), "block = 1.5"),
    (lambda: exact.progression_counts(12, 4, 6), "steps of 6"),
    (lambda: exact.independent_types_curve(5, 6), "redundancy = 6"),
    (lambda: exact.enumerate_survival(Layout.golomb(25, 3)), "groups = 25"),
    (lambda: exact.enumerate_least_stack(Layout.golomb(21, 3)), "groups = 21"),
    (lambda: exact.loss_bounds(Layout.golomb(13, 3), 14), "failures = 14"),
    (lambda: exact.loss_bounds(Layout.golomb(13, 3), [1, -1]), "failures = -1"),
]


@pytest.mark.parametrize(("call", "named"), REFUSED, ids=[named for _, named in REFUSED])
def test_bad_arguments_are_named_in_one_line(call, named):
    with pytest.raises(UserError) as told:
        call()
    assert named in str(told.value) and "\n" not in str(told.value)


def test_circles_of_a_step():
    assert circles_of(12, 3, 8) == (4, 3) and circles_of(12, 5, 7) == (1, 12)
    assert math.gcd(8, 12) == 4
