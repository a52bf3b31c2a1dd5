"""Results files: what goes in comes out, whatever its type, size and number."""

import json
import sys
import time

import h5py
import numpy as np
import pytest
from store_tools import SEED, assert_same_tally, everything, point, study, tally, write

from spare_mc import store, store_schema
from spare_mc.study import Point, load
from spare_mc.tallies import MEASURES, Tally

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.mark.parametrize("measure", MEASURES)
def test_tallies_come_back_to_the_bit(path, points, measure):
    put = everything(points, [measure])
    write(path, study(points, [measure]), put)
    found = store.read(path).points
    assert [p.id for p in found] == [p.id for p in points]
    for result, expected in zip(found, put, strict=True):
        assert list(result.tallies) == [measure]
        assert_same_tally(result.tallies[measure], expected)
        assert (result.runs if measure == "training" else result.trials) == 50


def test_all_measures_together_with_different_trials(path, points):
    put = [tally(p, m, 3 * i, 10 + i) for i, p in enumerate(points) for m in MEASURES]
    write(path, study(points, MEASURES), put)
    found = {(t.point, m): t for p in store.read(path).points for m, t in p.tallies.items()}
    assert len(found) == len(put)
    for expected in put:
        assert_same_tally(found[expected.point, expected.measure], expected)


def test_estimates_of_a_file_are_those_of_memory(path, points):
    asked = study(points, MEASURES[:3])
    with store.Writer(path, asked) as writer:
        for item in everything(points, MEASURES[:3]):
            writer.add(item)
        memory = writer.results()
    table = store.summary(path)
    for row, (mine, theirs) in enumerate(zip(store.read(path).points, memory, strict=True)):
        assert mine.estimates == theirs.estimates
        assert json.dumps(mine.as_json()) == json.dumps(theirs.as_json())  # text, because NaN is not itself
        assert set(mine.estimates) >= {"endurable_failures", "mean_stack", "moves_per_reorder"}
        for name, estimate in mine.estimates.items():
            assert table[name][row] == estimate.mean
            assert table[f"{name}_std"][row] == estimate.std


def test_attributes_and_study(path, points):
    asked = study(points, confidence=0.9, common_random_numbers=False)
    write(path, asked, [])
    file = store.read(path)
    assert file.study_text == asked.text
    assert file.attributes["seed"] == SEED
    assert file.attributes["common_random_numbers"] is False
    assert file.attributes["file_type"] == "spare-mc results"
    assert file.attributes["created"].endswith("+00:00")
    assert {p.confidence for p in file.points} == {0.9}


def test_zero_trials(path, points):
    write(path, study(points, MEASURES), [])
    found = store.read(path).points
    assert [(p.trials, p.runs, p.tallies) for p in found] == [(0, 0, {})] * len(points)
    assert [p.parameters for p in found] == [p.parameters for p in points]
    table = store.summary(path)
    assert table["trials"] == [0] * len(points)
    write(path, study(points, MEASURES), [tally(points[2], "survival", 0, 4)])
    assert [p.trials for p in store.read(path).points] == [0, 0, 4, 0, 0]


def test_a_tally_of_no_trials_leaves_nothing(path, points):
    write(path, study(points), [tally(points[0], "survival", 5, 0)])
    assert store.read(path).points[0].tallies == {}


@pytest.mark.parametrize(
    "values",
    [
        [3, -4, None, 0],
        [2**63, 1, None, 2**64 - 1],
        [0.1, 1e-300, None, -2.5],
        [300, 300.0, "young", True],
        [True, None, False, True],
        ["weibull", "Ünïcode Σ", None, "a,b"],
        ["", "x", None, "y"],
        [[0, 1, 5], [0, 2], None, []],
        [1.0, 2, None, 3.0],
    ],
    ids=str,
)
def test_parameters_of_any_type_come_back_with_their_type(path, values):
    keys = [{} if v is None else {"some__key": v} for v in values]
    points = [point(5, 1, other__key=i, **key) for i, key in enumerate(keys)]
    write(path, study(points), [])
    for mine, theirs in zip(store.read(path).points, points, strict=True):
        assert mine.parameters == theirs.parameters
        assert type(mine.parameters.get("some.key")) is type(theirs.parameters.get("some.key"))
    assert store.summary(path)["some.key"] == values


@pytest.mark.parametrize("big", [2**63 - 1, 2**64 + 1, -(2**64), -1, 2**126 + 3, -(2**127), 2**127, 3**200])
def test_sums_of_any_size(path, big):
    points = [point(5, 1), point(5, 2), point(5, 3)]
    put = [tally(p, "survival", 0, 3) for p in points]
    put[0].sums = {"stack": big, "states": 7}
    put[1].sums = {"stack": -big, "states": -8}
    put[2].sums = {"stack": 0, "states": 2**70}
    write(path, study(points), put)
    for result, expected in zip(store.read(path).points, put, strict=True):
        assert result.tallies["survival"].sums == expected.sums
    with h5py.File(path) as file:  # as docs/store.md tells a reader to do it
        words = file["groups_5/survival_sums"][0, 0]
        power = file["groups_5/survival_word"][:]
    value = sum(int(w) << (64 * int(p)) for w, p in zip(words, power, strict=True))
    assert value - (int(words[0] >> np.uint64(63)) << (64 * len(words))) == big


def test_one_large_point(path):
    where = point(600_000, 9)
    histogram = np.zeros(600_001, np.int64)
    histogram[[0, 131_072, 599_999]] = 5, 2**40, 1
    depths = np.zeros((600_001, 9), np.int64)
    depths[131_073, 8] = 1
    counts = {"endurable_failures": histogram, "trials_at_depth": depths}
    put = Tally("stacks", where.id, SEED, ((0, 2**40 + 6),), counts)
    names = ("stack", "states", "above", "failures")
    put.sums = dict.fromkeys(
        [*names, *(f"{n}_squared" for n in names), "stack_states", "above_failures"], 2**70
    )
    write(path, study([where], ["stacks"]), [put])
    assert path.stat().st_size < 1_000_000
    assert_same_tally(store.read(path).points[0].tallies["stacks"], put)


def test_many_sizes_share_hdf5_groups(path):
    points = [point(n, 1 + n % 2) for n in range(2, 40)]
    put = everything(points, ["stacks"], count=20)
    write(path, study(points, ["stacks"]), put)
    with h5py.File(path) as file:
        names = set(file) - {"summary"}
    ranges = [(2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64)]
    assert names == {f"groups_{low}_to_{high}" for low, high in ranges}
    for result, expected in zip(store.read(path).points, put, strict=True):
        assert_same_tally(result.tallies["stacks"], expected)


def test_arrays_the_schema_does_not_name(path):
    points = [point(5, 1), point(5, 2)]
    put = [tally(p, "survival", 0, 3) for p in points]
    put[0].counts["odd"] = np.arange(12).reshape(3, 4)
    put[1].counts["odd"] = -np.arange(10).reshape(5, 2)
    write(path, study(points), put)
    for result, expected in zip(store.read(path).points, put, strict=True):
        assert_same_tally(result.tallies["survival"], expected)


def test_a_study_comes_back_from_its_file(path):
    asked = load(
        {
            "study": {"measure": ["survival"], "seed": 5},
            "cluster": {"groups": [30, 43]},
            "layout": {
                "kind": ["golomb", "partition", "random", "contiguous"],
                "redundancy": [2, 3],
                "seed": 2**63,
            },
            "failures": {"law": "weibull", "shape": 0.78, "group_mtbf": "5 min"},
        }
    )
    write(path, asked, [tally(p, "survival", 0, 7, seed=5) for p in asked.points])
    file = store.read(path)
    assert [p.id for p in load(tomllib.loads(file.study_text)).points] == [p.id for p in asked.points]
    for mine, theirs in zip(file.points, asked.points, strict=True):
        assert mine.parameters == theirs.parameters
        assert Point(mine.parameters, None).id == theirs.id
        np.testing.assert_array_equal(mine.layout.stack_table(), theirs.layout.stack_table())


@pytest.mark.parametrize("count", [1_500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_points(path, count):
    points = [point(40, 2, failures__system_mtbf=float(i)) for i in range(count)]
    write(path, study(points), [tally(p, "survival", 0, 1 + i % 5) for i, p in enumerate(points)])
    started = time.process_time()
    table = store.summary(path)
    assert time.process_time() - started < 3
    assert table["id"] == [p.id for p in points]
    assert table["trials"] == [1 + i % 5 for i in range(count)]
    with h5py.File(path) as file:
        datasets = []
        file.visititems(lambda name, item: datasets.append(name) if isinstance(item, h5py.Dataset) else None)
    assert len(datasets) < 60  # a dataset per point would take minutes


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("stack", "stacks"),
        ("stack_squared", "stacks2"),
        ("stack_states", "stacks states"),
        ("above_failures", "failures2"),
        ("patch_reorders", "stacks reorders"),
        ("unheard_of", "1"),
    ],
)
def test_units_of_sums(name, unit):
    assert store_schema.sum_unit(name) == unit


def test_shared_groups_hold_their_range():
    sizes = range(2, 5000)
    for name, indices in store_schema.stacks(sizes).items():
        low, high = (int(part) for part in name.removeprefix("groups_").split("_to_"))
        assert [sizes[i] for i in indices] == list(range(low, min(high, 4999) + 1))
