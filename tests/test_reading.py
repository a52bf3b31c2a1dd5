"""Reading back: files opened without their tallies, rows chosen and sorted, CSV, labelled arrays, data frames."""

import csv
import io
import json
import pickle

import numpy as np
import pytest
from cli_tools import refused, run_verb
from store_tools import SHAPES, assert_same_tally, everything, point, study, tally, write

import spare_mc
from spare_mc import store, store_view
from spare_mc.errors import UserError
from spare_mc.selection import Table, of_files
from spare_mc.tallies import MEASURES


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out.h5"


@pytest.fixture
def mixed(path):
    """Every measure of points of several sizes; trials differ from point to point, the last has none."""
    points = [point(n, r, failures__law="exponential", failures__system_mtbf=300.0) for n, r in SHAPES]
    put = [tally(p, m, 3 * i, 10 + i) for i, p in enumerate(points[:-1]) for m in MEASURES]
    write(path, study(points, MEASURES), put)
    return path, points, put


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """A real sweep: two families by three redundancies, survival and stacks."""
    path = tmp_path_factory.mktemp("grid") / "grid.h5"
    asked = {
        "study": {"measure": ["survival", "stacks"], "seed": 5},
        "cluster": {"groups": 31},
        "layout": {"kind": ["golomb", "contiguous"], "redundancy": [5, 3, 4]},
        "failures": {"system_mtbf": "5 min"},
        "sampling": {"trials": 200},
    }
    spare_mc.run(asked, path, backend="reference")
    return path


def test_a_view_is_what_reading_whole_gives(mixed):
    path, _, put = mixed
    viewed, whole = spare_mc.open(path), store.read(path)
    assert (viewed.attributes, viewed.study_text) == (whole.attributes, whole.study_text)
    for mine, theirs in zip(viewed.points, whole.points, strict=True):
        assert (mine.id, mine.parameters, mine.seed) == (theirs.id, theirs.parameters, theirs.seed)
        assert (mine.trials, mine.runs, mine.confidence) == (theirs.trials, theirs.runs, theirs.confidence)
        assert mine.estimates == theirs.estimates
        assert json.dumps(mine.as_json()) == json.dumps(theirs.as_json())
    found = {(t.point, m): t for p in viewed.points for m, t in p.tallies.items()}
    assert len(found) == len(put)
    for expected in put:
        assert_same_tally(found[expected.point, expected.measure], expected)


@pytest.mark.parametrize("cells", [1, 150, 10**9])
def test_tallies_in_pieces_of_any_size_and_order(path, monkeypatch, cells):
    points = [point(7, r, some__key=i) for i in range(9) for r in (2, 3)]
    put = everything(points, MEASURES, 5, 12)
    write(path, study(points, MEASURES), put)
    monkeypatch.setattr(store_view, "_CELLS", cells)
    found = spare_mc.open(path).points
    expected = {(t.point, t.measure): t for t in put}
    for row in np.random.default_rng(1).permutation(len(points)):
        for measure, mine in found[row].tallies.items():
            assert_same_tally(mine, expected[points[row].id, measure])


def test_opening_reads_no_tallies(mixed, monkeypatch):
    path, _, _ = mixed

    def refuse(*arguments):
        raise AssertionError("tallies were read")

    monkeypatch.setattr(store_view.Stack, "tallies", refuse)
    file = spare_mc.open(path)
    assert len(Table(file.points).where(["trials > 0"]).sort(["-mean_stack"])) == len(SHAPES) - 1
    assert [p.trials for p in file.points] == [10, 11, 12, 13, 0]


def test_a_view_goes_on_showing_what_it_opened(path):
    points = [point(7, 3)]
    write(path, study(points), [tally(points[0], "survival", 0, 10)])
    (viewed,) = spare_mc.open(path).points
    write(path, study(points), [tally(points[0], "survival", 10, 90)])
    assert viewed.tallies["survival"].total == viewed.trials == 10
    assert spare_mc.open(path).points[0].tallies["survival"].total == 100


def test_a_point_of_a_file_can_be_sent_elsewhere(mixed):
    (first, *_) = spare_mc.open(mixed[0]).points
    copy = pickle.loads(pickle.dumps(first))
    assert json.dumps(copy.as_json()) == json.dumps(first.as_json())


def test_damage_of_tallies_is_found_when_they_are_read(mixed):
    import h5py

    path, _, _ = mixed
    with h5py.File(path, "r+") as file:
        file["groups_7/survival_endurable_failures"][0, 0] += 1
    file = spare_mc.open(path)
    with pytest.raises(UserError, match="out.h5: is damaged.*trials counted"):
        _ = file.points[2].tallies


CONDITIONS = {
    "layout.redundancy >= 4": lambda p: p["layout.redundancy"] >= 4,
    "redundancy<4": lambda p: p["layout.redundancy"] < 4,
    "r = 5": lambda p: p["layout.redundancy"] == 5,
    "N==7": lambda p: p["cluster.groups"] == 7,
    "groups != 7": lambda p: p["cluster.groups"] != 7,
    "redundancy in 1, 3,5": lambda p: p["layout.redundancy"] in (1, 3, 5),
    "redundancy <= 2.5": lambda p: p["layout.redundancy"] <= 2,
    "redundancy > 4": lambda p: p["layout.redundancy"] > 4,
    "kind = contiguous": lambda p: True,
    "kind != contiguous": lambda p: False,
    "kind in golomb,contiguous": lambda p: True,
    "some.word = none": lambda p: "some.word" not in p,
    "some.word != none": lambda p: "some.word" in p,
    "some.word != b": lambda p: p.get("some.word") != "b",
    "system_mtbf = 5 min": lambda p: True,
    "system_mtbf < 0.05 h": lambda p: False,
    "flag = true": lambda p: p["some.flag"],
    "flag != true": lambda p: not p["some.flag"],
}


@pytest.fixture(scope="module")
def worded(tmp_path_factory):
    path = tmp_path_factory.mktemp("worded") / "out.h5"
    words = {r: {} if r == 2 else {"some__word": "abc"[r % 3]} for _, r in SHAPES}
    failures = {"failures__law": "exponential", "failures__system_mtbf": 300.0}
    points = [point(n, r, **failures, some__flag=r % 2 == 1, **words[r]) for n, r in SHAPES]
    write(path, study(points), everything(points, ["survival"]))
    return path


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions(worded, condition):
    table, _ = of_files([worded])
    kept = [p.parameters for p in table.where([condition]).points]
    assert kept == [p.parameters for p in table.points if CONDITIONS[condition](p.parameters)]


def test_conditions_on_estimates_and_totals(mixed):
    table, _ = of_files([mixed[0]])
    kept = table.where(["endurable_failures > 1", "trials < 13", "mean_stack_std >= 0"]).points
    expected = [
        p
        for p in table.points
        if p.estimates and p.estimates["endurable_failures"].mean > 1 and p.trials < 13
    ]
    assert [p.id for p in kept] == [p.id for p in expected] and 0 < len(kept) < len(table)


def test_sorting_by_several_keys_missing_last(mixed):
    table, _ = of_files([mixed[0]])
    found = table.sort(["-groups", "redundancy"]).points
    sizes = [(p.parameters["cluster.groups"], p.parameters["layout.redundancy"]) for p in found]
    assert sizes == sorted(SHAPES, key=lambda s: (-s[0], s[1]))
    for key in ("endurable_failures", "-endurable_failures"):
        values = table.sort([key]).column("endurable_failures")
        assert values[-1] is None
        assert values[:-1] == sorted(values[:-1], reverse=key.startswith("-"))


REFUSED = {
    ("--where", "redundncy = 3"): "did you mean 'redundancy'",
    ("--where", "redundancy ~ 3"): "must be KEY, one of",
    ("--where", "redundancy = three"): "is a number, not 'three'",
    ("--where", "system_mtbf = 5 apples"): 'or a duration such as "5 min"',
    ("--where", "kind > golomb"): "holds no numbers",
    ("--where", "flag = maybe"): "is true or false",
    (
        "--where",
        "availability > 0.9",
    ): "no point has estimate 'availability'; estimates there are: endurable_failures",
    ("--where", "redundancy = 99"): "no point of",
    ("--sort", "-mean_stak"): "--sort -mean_stak: no column 'mean_stak'",
    ("--columns", "kind,idd"): "did you mean 'id'",
    ("--columns", "kind", "--json"): "--json prints whole points",
    ("--csv", "--json"): "give one of the two",
    ("--units",): "goes with --csv",
}


@pytest.mark.parametrize("arguments", REFUSED)
def test_refusals(worded, capsys, arguments):
    assert REFUSED[arguments] in refused(capsys, "show", worded, *arguments)


def test_a_short_name_that_may_be_two(path, capsys):
    write(path, study([point(5, 1, layout__word=1, other__word=2)]), [])
    assert "'word' may be layout.word or other.word" in refused(capsys, "show", path, "--where", "word = 1")
    assert run_verb(capsys, "show", path, "--where", "other.word = 2")[0] == 0


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_holds_every_number(grid, capsys):
    status, out, _ = run_verb(capsys, "show", grid, "--csv")
    rows, points = read_csv(out), spare_mc.open(grid).points
    assert status == 0 and len(rows) == len(points) == 6
    for row, found in zip(rows, points, strict=True):
        assert row["id"] == found.id and int(row["trials"]) == found.trials and int(row["seed"]) == 5
        assert row["layout.kind"] == found.parameters["layout.kind"]
        assert float(row["failures.system_mtbf"]) == 300.0
        offsets = found.parameters.get("layout.offsets", [])
        assert [int(o) for o in row["layout.offsets"].split()] == offsets
        for name, estimate in found.estimates.items():
            values = [row[name], *(row[f"{name}_{s}"] for s in ("low", "high", "std"))]
            assert tuple(map(float, values)) == tuple(estimate)


def test_csv_columns_rows_and_units(grid, capsys):
    arguments = (
        "--columns",
        "redundancy,kind,time_to_interruption_s,mean_stack_high",
        "--units",
        "--limit",
        2,
    )
    _, out, _ = run_verb(capsys, "show", grid, "--csv", "--sort", "redundancy", "--sort", "-kind", *arguments)
    rows = read_csv(out)
    assert list(rows[0]) == [
        "layout.redundancy",
        "layout.kind",
        "time_to_interruption_s [s]",
        "mean_stack_high [stacks]",
    ]
    assert [(r["layout.redundancy"], r["layout.kind"]) for r in rows] == [
        ("3", "golomb"),
        ("3", "contiguous"),
    ]


def test_csv_leaves_what_is_missing_empty(mixed, capsys):
    _, out, _ = run_verb(capsys, "show", mixed[0], "--csv")
    last = read_csv(out)[-1]
    assert last["trials"] == "0" and last["endurable_failures"] == last["mean_stack_low"] == ""


def test_json_of_chosen_points(grid, capsys):
    status, out, _ = run_verb(
        capsys, "show", grid, "--json", "--where", "kind=golomb", "--sort", "-redundancy"
    )
    found = json.loads(out)
    assert status == 0 and [p["parameters"]["layout.redundancy"] for p in found] == [5, 4, 3]
    assert set(found[0]) >= {"id", "parameters", "trials", "runs", "seed", "estimates", "curves"}
    assert found[0]["curves"]["survival"] == store.read(grid).points[0].curves["survival"].tolist()


def test_several_files_are_told_apart(grid, worded, capsys):
    _, out, _ = run_verb(capsys, "show", grid, worded, "--csv", "--where", f"file = {worded}")
    assert {row["file"] for row in read_csv(out)} == {str(worded)}
    _, out, _ = run_verb(capsys, "show", grid, worded, "--json", "--no-curves")
    assert [p["file"] for p in json.loads(out)] == [str(grid)] * 6 + [str(worded)] * len(SHAPES)
    _, out, _ = run_verb(capsys, "show", grid, worded)
    assert out.count("\ngrid.h5 ") == 6 and out.count("\n out.h5 ") == len(SHAPES)


def test_tables_of_many_end_with_how_to_see_the_rest(path, capsys):
    points = [point(5, 2, some__key=i) for i in range(50)]
    write(path, study(points), everything(points, ["survival"]))
    _, out, _ = run_verb(capsys, "show", path)
    assert "10 more of 50 points" in out and "--limit 0" in out
    keys = [line.split()[0] for line in out.splitlines() if " 50 " in line and line.strip()[0].isdigit()]
    assert keys[:40] == [str(i) for i in range(40)]
    _, out, _ = run_verb(capsys, "show", path, "--limit", 0, "--columns", "key,trials")
    assert "more of" not in out and [w for w in out.split() if w == "49"]


@pytest.mark.slow
def test_ten_thousand_points_are_told_in_three_seconds(path, capsys):
    """Processor time, which other work on the machine does not count to."""
    import time

    points = [point(200, 2 + i % 10, some__key=i) for i in range(10_000)]
    write(path, study(points), everything(points, ["survival"]))
    started = time.process_time()
    status, out, _ = run_verb(capsys, "show", path)
    assert status == 0 and "9,960 more of 10,000 points" in out
    assert time.process_time() - started < 3.0


def test_chosen_columns_with_units_and_widths(grid, capsys):
    _, out, _ = run_verb(
        capsys, "show", grid, "--columns", "kind,r,time_to_interruption_s,system_mtbf,mean_stack"
    )
    heading = next(line for line in out.splitlines() if "kind" in line)
    for text in (
        "redundancy",
        "time to interruption [s]",
        "system_mtbf [s]",
        "mean all-reduce stack [stacks]",
    ):
        assert text in heading
    assert out.count(" ± ") == 12 and "95 % interval" in out


def test_three_points_are_still_shown_in_detail(grid, capsys):
    _, out, _ = run_verb(capsys, "show", grid, "--where", "kind = contiguous")
    assert out.count("closed form mu") == 3 and out.count("exact") == 3 and "interval" in out


def test_labelled_arrays_of_a_grid(grid):
    pytest.importorskip("xarray")
    file = spare_mc.open(grid)
    found = file.to_xarray()
    assert dict(found.sizes) == {"kind": 2, "redundancy": 3, "statistic": 4, "failures": 32}
    assert found.redundancy.values.tolist() == [3, 4, 5]  # in order, though swept otherwise
    for p in store.read(grid).points:
        at = {"kind": p.parameters["layout.kind"], "redundancy": p.parameters["layout.redundancy"]}
        here = found.sel(at)
        assert here.id.item() == p.id and here.trials.item() == 200
        for name, estimate in p.estimates.items():
            assert tuple(here[name].sel(statistic=list(estimate._fields)).values) == tuple(estimate)
        for name, curve in p.curves.items():
            np.testing.assert_array_equal(here[name].values, curve)
    assert found.mean_stack.attrs["units"] == "stacks" and "depth" in found.mean_stack.attrs["long_name"]
    assert found.survival.attrs["long_name"] and found.failures.attrs["units"] == "failures"
    assert found.redundancy.attrs["parameter"] == "layout.redundancy"
    assert found.attrs["failures.system_mtbf"] == 300.0 and found.attrs["seed"] == 5
    assert "survival" not in file.to_xarray(curves=False)


def test_labelled_arrays_are_written_and_read_again(grid, tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    found = spare_mc.open(grid).to_xarray()
    found.to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    with xarray.open_dataset(tmp_path / "x.nc", engine="h5netcdf") as again:
        np.testing.assert_array_equal(again.mean_stack.values, found.mean_stack.values)


def test_labelled_arrays_without_a_full_grid(mixed):
    pytest.importorskip("xarray")
    path, points, _ = mixed
    found = spare_mc.open(path).to_xarray()
    assert found.sizes["point"] == len(points) and found.sizes["failures"] == 8
    assert found.groups.values.tolist() == [n for n, _ in SHAPES]
    assert found.redundancy.values.tolist() == [r for _, r in SHAPES]
    for row, p in enumerate(store.read(path).points):
        assert tuple(found.id.values)[row] == p.id
        for name, estimate in p.estimates.items():
            values = found[{"failures": "failures_found"}.get(name, name)].isel(point=row).values
            np.testing.assert_array_equal(values, np.array(estimate, float))
        for name, curve in p.curves.items():
            values = found[{"moves": "moves_at_failure"}.get(name, name)].isel(point=row).values
            np.testing.assert_array_equal(values[: len(curve)], curve)
            assert np.isnan(values[len(curve) :]).all()


def test_xarray_opens_every_group(mixed):
    xarray = pytest.importorskip("xarray")
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("h5netcdf")
    path, points, _ = mixed
    with h5py.File(path) as file:
        groups = list(file)
    assert groups == ["groups_2", "groups_7", "summary"]
    ids = []
    for group in groups:
        with xarray.open_dataset(path, group=group, engine="h5netcdf") as found:
            assert all("units" in v.attrs or v.dtype.kind == "M" for v in found.variables.values())
            ids += [] if group == "summary" else found.id.values.tolist()
            assert found.sizes["point"] == {"summary": 5, "groups_2": 2, "groups_7": 3}[group]
    assert ids == [p.id for p in points]


def test_what_follows_from_an_axis_is_no_axis(path):
    pytest.importorskip("xarray")
    points = [point(n, r, cluster__gpus_per_group=1200 // n) for n in (6, 4) for r in (1, 2)]
    write(path, study(points), everything(points, ["survival"]))
    found = spare_mc.open(path).to_xarray()
    assert found.endurable_failures.dims == ("groups", "redundancy", "statistic")
    assert found.gpus_per_group.sel(groups=6).item() == 200
    np.testing.assert_allclose(found.allreduce_time.sel(groups=4), 0.04)


def test_custom_layouts_are_told_apart_by_their_offsets(path):
    points = [
        point(7, 2, layout__kind="custom", layout__offsets=o, layout__digest=str(o)) for o in ([0, 1], [0, 3])
    ]
    write(path, study(points), [])
    assert Table(spare_mc.open(path).points).swept == ["layout.offsets"]


def test_a_data_frame_with_units(grid):
    pytest.importorskip("pandas")
    frame = spare_mc.open(grid).to_dataframe()
    assert frame.attrs["units"]["time_to_interruption_s"] == "s"
    table = store.summary(grid)
    assert list(frame["mean_stack"]) == table["mean_stack"] and list(frame["id"]) == table["id"]


@pytest.mark.parametrize(("module", "what"), [("xarray", "to_xarray"), ("pandas", "to_dataframe")])
def test_a_missing_extra_is_told_in_one_line(grid, monkeypatch, module, what):
    import sys

    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=rf"needs? {module}, which is not installed: pip install"):
        getattr(spare_mc.open(grid), what)()


def test_a_parameter_that_follows_from_another_lies_along_it(tmp_path):
    pytest.importorskip("xarray")
    import spare_mc

    asked = {
        "cluster": {"groups": [10, 20], "gpus": 600},
        "layout": {"kind": ["contiguous", "partition"], "redundancy": [2, 3]},
        "sampling": {"trials": 10},
    }
    spare_mc.run(asked, tmp_path / "out.h5")
    data = spare_mc.open(tmp_path / "out.h5").to_xarray(curves=False)
    assert data.gpus_per_group.dims == ("groups",)
    assert data.gpus_per_group.sel(groups=20).item() == 30
    assert data.trials.dims == ("groups", "kind", "redundancy")
