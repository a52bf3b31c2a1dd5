"""docs/store.md against a written file, in both directions; xarray and pandas open it with names and units."""

import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from store_tools import point, study, tally

from spare_mc import estimates, store
from spare_mc.tallies import MEASURES

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "store.md"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A file with every measure, points of different redundancy, and every kind of parameter."""
    found = tmp_path_factory.mktemp("schema") / "full.h5"
    points = [
        point(
            6, 2, failures__system_mtbf=300.0, failures__law="weibull", failures__shape=0.78, some__flag=True
        ),
        point(6, 3, failures__system_mtbf=600.0, layout__offsets=[0, 1, 3]),
        point(9, 2, failures__system_mtbf=600.0, failures__law="exponential"),
    ]
    with store.Writer(found, study(points, MEASURES)) as writer:
        for p in points:
            for measure in MEASURES:
                writer.add(tally(p, measure, 0, 20))
    return found


def tables():
    """Section title -> rows of its table, as lists of cells without backticks."""
    found, title = {}, None
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("#"):
            title = line.lstrip("# ")
        elif line.startswith("| `"):
            found.setdefault(title, []).append(
                [c.strip().replace("`", "") for c in line.strip("|").split("|")]
            )
    return found


def pattern(text):
    """A documented name as a regular expression."""
    text = re.escape(text)
    for name, values in (("parameter", None), ("estimate", estimates.UNITS), ("measure", MEASURES)):
        choice = r"[a-z_]+\.[a-z_]+" if values is None else "|".join(values)
        text = text.replace(f"<{name}>", f"(?:{choice})")
    return re.compile(text)


def kind_of(dataset):
    return "text" if dataset.dtype.kind == "S" else str(dataset.dtype)


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def axes_of(dataset):
    if dataset.attrs.get("CLASS") == b"DIMENSION_SCALE":
        return [dataset.name.rpartition("/")[2]]
    return [axis[0].name.rpartition("/")[2] for axis in dataset.dims]


def check(group, rows):
    """Every dataset fits exactly one row of the document, and every row some dataset."""
    used = set()
    for name, dataset in group.items():
        fitting = [row for row in rows if pattern(row[0]).fullmatch(name)]
        exact = [row for row in fitting if row[0] == name] or fitting
        assert len(exact) == 1, f"{group.name}/{name} fits {[row[0] for row in exact]}"
        documented, kind, axes, units, _ = exact[0]
        used.add(documented)
        assert kind in ("any", kind_of(dataset)), name
        measure = name.split("_")[0]
        assert axes.replace("<measure>", measure).split(", ") == axes_of(dataset), name
        written = text(dataset.attrs["units"])
        assert written
        allowed = re.split(", | or ", units.replace("<measure>", measure))
        assert units == "any" or written in allowed, (name, written)
    return used


def test_attributes(path):
    documented = {row[0]: row[1] for row in tables()["Root attributes"]}
    with h5py.File(path) as file:
        written = {
            key: "text" if isinstance(value, bytes) else str(value.dtype) for key, value in file.attrs.items()
        }
        assert set(file) == {"summary", "groups_6", "groups_9"}
    assert written == documented


def test_summary(path):
    rows = tables()["/summary"]
    with h5py.File(path) as file:
        assert check(file["summary"], rows) == {row[0] for row in rows}


def test_groups(path):
    rows = tables()["/groups_N"]
    with h5py.File(path) as file:
        used = [check(file[name], rows) for name in ("groups_6", "groups_9")]
    assert used == [{row[0] for row in rows}] * 2


def test_attributes_of_datasets(path):
    documented = {name for row in tables()["Attributes of datasets"] for name in row[0].split(", ")}
    written = set()
    with h5py.File(path) as file:
        for group in file.values():
            for dataset in group.values():
                written |= set(dataset.attrs)
                assert "units" in dataset.attrs
    assert written == documented


def test_contents_and_kinds(path):
    described = next(row[1] for row in tables()["Attributes of datasets"] if row[0] == "content")
    kinds = {row[0]: row[1].split(" ")[0] for row in tables()["Parameters"]}
    contents, seen = set(), set()
    with h5py.File(path) as file:
        for group in file.values():
            for dataset in group.values():
                contents.add(text(dataset.attrs["content"]))
                if "kind" in dataset.attrs:
                    kind = text(dataset.attrs["kind"])
                    seen.add(kind)
                    assert kinds[kind] == kind_of(dataset)
    assert contents == set(described.split(": ")[1].split(", "))
    assert seen == set(kinds)


def test_every_dataset_is_checksummed(path):
    with h5py.File(path) as file:
        for group in file.values():
            for dataset in group.values():
                assert dataset.fletcher32 or not dataset.size, dataset.name


def test_xarray_opens_it_with_names_and_units(path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    points = store.read(path).points
    with xarray.open_dataset(path, group="groups_6", engine="h5netcdf") as found:
        assert found["stacks_trials_at_depth"].dims == ("point", "failures", "depth")
        assert found["depth"].values.tolist() == [1, 2, 3]
        assert found["phase"].values.tolist() == ["fixed", "depth", "reorder"]
        assert found["stacks_trials_at_depth"].attrs["units"] == "trials"
        assert found["failures.system_mtbf"].attrs["units"] == "s"
        assert found["failures.system_mtbf"].values.tolist() == [300.0, 600.0]
        assert found["training_rows"].dims == ("training_row", "training_column")
        assert "wall" in found["training_column"].values
        assert found["id"].values.tolist() == [p.id for p in points[:2]]
        mean = found["estimate_mean_stack"].sel(statistic="mean").values
        assert mean.tolist() == [p.estimates["mean_stack"].mean for p in points[:2]]
        array = found["stacks_trials_at_depth"].values[0, :, :2]
        np.testing.assert_array_equal(array, points[0].tallies["stacks"].counts["trials_at_depth"])
        stacks = found["stacks_sums"].sel(stacks_sum="stack", stacks_word=0)
        assert stacks.values.tolist() == [p.tallies["stacks"].sums["stack"] for p in points[:2]]
    with xarray.open_dataset(path, engine="h5netcdf") as root:
        assert root.attrs["study_name"] == "by-hand"
        assert root.attrs["seed"] == 2**64 - 1


def test_xarray_opens_a_file_without_trials(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    with store.Writer(tmp_path / "none.h5", study([point(6, 2)])):
        pass
    with xarray.open_dataset(tmp_path / "none.h5", group="groups_6", engine="h5netcdf") as found:
        assert found.sizes["span"] == 0
        assert found["trials"].values.tolist() == [0]


def test_xarray_may_hold_the_file_open(path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    with xarray.open_dataset(path, group="summary", engine="h5netcdf") as found:
        assert len(store.read(path).points) == found.sizes["point"]


def test_summary_as_a_data_frame(path):
    pandas = pytest.importorskip("pandas")
    mine = store.summary(path).to_dataframe()
    assert mine["layout.redundancy"].tolist() == [2, 3, 2]
    assert mine["stored_in"].tolist() == ["groups_6", "groups_6", "groups_9"]
    assert mine["failures.shape"].isna().tolist() == [False, True, True]
    with h5py.File(path) as file:  # as docs/store.md shows
        plain = pandas.DataFrame({name: column[:] for name, column in file["summary"].items()})
    assert plain["endurable_failures"].tolist() == mine["endurable_failures"].tolist()


def test_importing_spare_mc_loads_no_h5py():
    import subprocess
    import sys

    code = "import sys, spare_mc; sys.exit('h5py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
