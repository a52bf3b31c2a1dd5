"""Results files: what goes in comes out; resuming; refusals that change nothing; crashes; merging."""

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from store_tools import assert_same_tally, data_of, point, study, tally

from spare_mc import store, store_schema
from spare_mc.errors import UserError
from spare_mc.study import Point, load, tomllib
from spare_mc.tallies import MEASURES, Tally

SEED = 2**64 - 1
SHAPES = [(2, 1), (2, 2), (7, 3), (7, 5), (7, 4)]  # groups N, redundancy r


def write(path, asked, tallies):
    with store.Writer(path, asked) as writer:
        for item in tallies:
            writer.add(item)


def everything(points, measures, first=0, count=50):
    return [tally(p, m, first, count) for p in points for m in measures]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out.h5"


@pytest.fixture
def points():
    return [point(n, r) for n, r in SHAPES]


# What goes in comes out


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


# Resuming


def test_resuming_adds_up_to_the_same_as_one_run(path, tmp_path, points):
    measures = MEASURES
    for first, count in [(100, 20), (0, 60), (60, 40)]:
        write(path, study(points, measures), everything(points, measures, first, count))
    write(tmp_path / "once.h5", study(points, measures), everything(points, measures, 0, 120))
    assert data_of(path) == data_of(tmp_path / "once.h5")


def test_writer_tells_what_is_there(path, points):
    asked = study(points)
    write(path, asked, [tally(points[0], "survival", 10, 5)])
    with store.Writer(path, asked) as writer:
        assert writer.tally(points[1].id, "survival") is None
        held = writer.tally(points[0].id, "survival")
        assert held.spans == ((10, 15),)
        writer.add(tally(points[0], "survival", 15, 5))
        assert writer.tally(points[0].id, "survival").spans == ((10, 20),)
        held.add(tally(points[0], "survival", 50, 5))  # the caller's copy: no part of the file
        assert writer.tally(points[0].id, "survival").spans == ((10, 20),)
    assert store.read(path).points[0].tallies["survival"].spans == ((10, 20),)


def test_what_was_added_does_not_follow_the_callers_array(path, points):
    mine = tally(points[0], "survival", 0, 5)
    with store.Writer(path, study(points)) as writer:
        writer.add(mine)
        mine.counts["endurable_failures"][:] = 0
    assert store.read(path).points[0].tallies["survival"].counts["endurable_failures"].sum() == 5


def test_nothing_new_leaves_the_file_alone(path, points):
    write(path, study(points), everything(points, ["survival"]))
    before = path.read_bytes(), path.stat().st_mtime_ns
    write(path, study(points, text="trials = 3", confidence=0.5), [])
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_measure_may_join_and_the_newest_text_stays(path, points):
    write(path, study(points, ["survival"]), everything(points, ["survival"]))
    later = study(points[::-1], ["stacks"], text="new", name="renamed", confidence=0.8)
    write(path, later, everything(points, ["stacks"], count=5))
    file = store.read(path)
    assert file.attributes["measures"] == "survival,stacks"
    assert (file.study_text, file.attributes["study_name"]) == ("new", "renamed")
    assert [p.id for p in file.points] == [p.id for p in points[::-1]]
    assert {(m, t.total) for p in file.points for m, t in p.tallies.items()} == {
        ("survival", 50),
        ("stacks", 5),
    }


def test_a_trial_is_never_counted_twice(path, points):
    with store.Writer(path, study(points)) as writer:
        writer.add(tally(points[0], "survival", 0, 10))
        with pytest.raises(UserError, match="trials 9 to 9 are counted twice"):
            writer.add(tally(points[0], "survival", 9, 10))
        with pytest.raises(UserError, match="seed"):
            writer.add(tally(points[1], "survival", 0, 10, seed=1))
        with pytest.raises(UserError, match="has no point"):
            writer.add(tally(point(99, 3), "survival", 0, 10))
    assert [p.trials for p in store.read(path).points] == [10, 0, 0, 0, 0]


def test_work_before_an_error_is_kept(path, points):
    with pytest.raises(KeyboardInterrupt), store.Writer(path, study(points)) as writer:
        writer.add(tally(points[0], "survival", 0, 10))
        raise KeyboardInterrupt
    assert store.read(path).points[0].trials == 10
    with store.Writer(path, study(points)):
        pass  # the lock is free again


def test_an_error_before_any_work_makes_no_file(path, points):
    with pytest.raises(ZeroDivisionError), store.Writer(path, study(points)):
        1 / 0  # noqa: B018
    assert not path.exists()


def test_published_through_a_link_keeps_the_link_and_the_mode(tmp_path, points):
    real, link = tmp_path / "real.h5", tmp_path / "link.h5"
    write(real, study(points), [])
    real.chmod(0o640)
    link.symlink_to(real)
    write(link, study(points), [tally(points[0], "survival", 0, 10)])
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert store.read(real).points[0].trials == 10


# Refusals change nothing


def contents_of_folder(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


OTHER_STUDIES = {
    "seed": (lambda p: study(p, seed=1), "seed 18446744073709551615, asked 1"),
    "random numbers": (
        lambda p: study(p, common_random_numbers=False),
        "common_random_numbers true, asked false",
    ),
    "fewer points": (lambda p: study(p[:2]), r"cluster.groups 2\|7, asked 2"),
    "more points": (lambda p: study([*p, point(7, 1)]), "other combinations"),
    "redundancy": (
        lambda p: study([*p, point(7, 6)]),
        r"layout.redundancy 1\|2\|3\|5\|4, asked 1\|2\|3\|5\|4\|6",
    ),
    "a new key": (
        lambda p: study([point(n, r, failures__shape=0.78) for n, r in SHAPES]),
        r"failures.shape \(none\), asked 0.78",
    ),
}


@pytest.mark.parametrize("case", OTHER_STUDIES)
def test_another_study_is_refused_with_the_difference(path, points, case):
    other, message = OTHER_STUDIES[case]
    write(path, study(points), everything(points, ["survival"]))
    before = contents_of_folder(path.parent)
    with pytest.raises(UserError, match=f"out.h5: holds study 'by-hand' with {message}") as caught:
        store.Writer(path, other(points))
    assert "choose another -o" in str(caught.value)
    assert contents_of_folder(path.parent) == before


def test_another_generator_is_refused(path, points, monkeypatch):
    write(path, study(points), [])
    from spare_mc.kernels import philox

    monkeypatch.setattr(philox, "GENERATOR_VERSION", philox.GENERATOR_VERSION + 1)
    with pytest.raises(UserError, match="generator_version"):
        store.Writer(path, study(points))


def _foreign(path):
    with h5py.File(path, "w") as file:
        file["data"] = np.arange(5)


def _with_version(version):
    def make(path):
        write(path, study([point(5, 1)]), [])
        with h5py.File(path, "r+") as file:
            file.attrs["schema_version"] = version

    return make


def _half(path):
    write(path, study([point(5, 1)]), [])
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _miscounted(path):
    write(path, study([point(5, 1)]), [tally(point(5, 1), "survival", 0, 10)])
    with h5py.File(path, "r+") as file:
        file["groups_5/survival_endurable_failures"][0, 0] += 1


def _lost_row(path):
    write(path, study([point(5, 1)], ["training"]), [tally(point(5, 1), "training", 0, 10)])
    with h5py.File(path, "r+") as file:
        file["groups_5/training_row_run"][3] = 4


NOT_OURS = {
    "empty": (lambda p: p.write_bytes(b""), "is empty"),
    "text": (lambda p: p.write_text("results of last week\n"), "not an HDF5 file"),
    "foreign": (_foreign, "not a spare-mc results file"),
    "cut short": (_half, "is cut short"),
    "newer major": (_with_version("2.0"), r"has schema 2\.0, this spare-mc reads 1\.x: update"),
    "older major": (_with_version("0.9"), r"has schema 0\.9"),
    "no version": (_with_version("soon"), "schema_version 'soon'"),
    "miscounted": (_miscounted, r"is damaged.*: 11|is damaged.*11 trials counted, 10 in the spans"),
    "lost row": (_lost_row, "is damaged.*runs are not those in the spans"),
    "a folder": (lambda p: p.mkdir(), "is a folder"),
}


@pytest.mark.parametrize("case", NOT_OURS)
def test_what_is_not_ours_is_refused_and_left_alone(path, case):
    make, message = NOT_OURS[case]
    make(path)
    (path.parent / "out.h5.lock").unlink(missing_ok=True)
    before = contents_of_folder(path.parent)
    for refused in (lambda: store.Writer(path, study([point(5, 1)])), lambda: store.read(path)):
        with pytest.raises(UserError, match=f"out.h5: .*{message}") as caught:
            refused()
        assert "\n" not in str(caught.value)
    assert contents_of_folder(path.parent) == before


def test_a_newer_minor_is_read_but_not_written(path):
    _with_version("1.7")(path)
    with h5py.File(path, "r+") as file:
        file["summary/later"] = np.arange(3)
        file["groups_5/later"] = np.arange(3)
        file["later"] = 1
    assert len(store.read(path).points) == 1
    assert store.summary(path)["trials"] == [0]
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"has schema 1\.7, this spare-mc writes 1\.0"):
        store.Writer(path, study([point(5, 1)]))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/out.h5", "no such folder"),
        ("file/out.h5", "no such folder"),
        (".", "is a folder"),
        ("pipe", "not a regular file"),
    ],
)
def test_paths_that_cannot_be_written(tmp_path, name, message):
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(UserError, match=message):
        store.Writer(tmp_path / name, study([point(5, 1)]))
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_without_permission(path, points):
    write(path, study(points), [])
    path.chmod(0o400)
    with pytest.raises(UserError, match="write-protected"):
        store.Writer(path, study(points))
    path.parent.chmod(0o500)
    with pytest.raises(UserError, match="no permission"):
        store.Writer(path.parent / "new.h5", study(points))
    path.parent.chmod(0o700)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that nobody can write")
def test_a_file_system_that_takes_no_files():
    with pytest.raises(UserError, match="^/proc/out.h5: cannot be"):
        store.Writer("/proc/out.h5", study([point(5, 1)]))


def test_reading_what_is_not_there(path):
    with pytest.raises(UserError, match="no such file"):
        store.read(path)
    with pytest.raises(UserError, match="no such file"):
        store.summary(path)


def test_a_second_writer_is_refused(path, points):
    with store.Writer(path, study(points)) as writer:
        writer.add(tally(points[0], "survival", 0, 10))
        writer.publish()
        before = contents_of_folder(path.parent)
        with pytest.raises(UserError, match="another process is writing this file"):
            store.Writer(path, study(points))
        assert contents_of_folder(path.parent) == before
        writer.add(tally(points[0], "survival", 10, 10))
    assert store.read(path).points[0].trials == 20


@pytest.mark.parametrize("flips", [80, pytest.param(2_000, marks=pytest.mark.slow)])
def test_every_flipped_byte_is_found_or_harmless(path, flips):
    """The file is refused as damaged, or reads as before."""
    where, measures = point(30, 3, failures__law="weibull"), ("stacks", "training")
    write(path, study([where], measures), everything([where], measures))
    whole, expected = path.read_bytes(), store.read(path)
    refused = 0
    for place in np.random.default_rng(3).integers(0, len(whole), flips):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        try:
            found = store.read(path)
        except UserError as error:
            assert str(path) in str(error)
            refused += 1
            continue
        assert (found.attributes, found.study_text) == (expected.attributes, expected.study_text)
        assert found.points[0].parameters == where.parameters
        for measure in measures:
            assert_same_tally(found.points[0].tallies[measure], expected.points[0].tallies[measure])
    assert refused > flips / 4


# Crashes and full disks

_KILLED = """
    import os, signal, sys, time
    sys.path.insert(0, sys.argv[2])
    from pathlib import Path
    from store_tools import point, study, tally
    from spare_mc import store
    from spare_mc.kernels import philox  # loaded once, before the forks

    path, where = Path(sys.argv[1]), point(600, 9)
    asked = study([where, point(600, 8)], ["stacks"])
    published = 0
    for number in range(int(sys.argv[3])):
        told, tell = os.pipe()
        child = os.fork()
        if not child:
            with store.Writer(path, asked) as writer:
                while True:
                    held = writer.tally(where.id, "stacks")
                    writer.add(tally(where, "stacks", held.total if held else 0, 100))
                    writer.publish()
                    os.write(tell, b"x")
        os.close(tell)
        os.read(told, 1)
        published += 1
        time.sleep(0.007 * (number * 7 % 11))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        published += len(os.read(told, 10**6))
        os.close(told)
        found = store.read(path).points[0].trials
        assert found in (100 * published, 100 * published + 100), (found, published)
        published = found // 100  # a kill between the renaming and the telling
    with store.Writer(path, asked):
        pass
    assert sorted(os.listdir(path.parent)) == [path.name, path.name + ".lock"], os.listdir(path.parent)
    print("published", published)
"""


def _script(text, *arguments):
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", textwrap.dedent(text), arguments[0], here, *arguments[1:]]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_kill_9_loses_what_was_not_published_and_nothing_else(path, kills):
    done = _script(_KILLED, str(path), str(kills))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("published")


def test_what_a_dead_writer_left_is_removed(path, points):
    left = path.with_name(".out.h5.123456.tmp")
    others = [path.with_name(".out.h5.abc.tmp"), path.with_name(".other.h5.1.tmp")]
    for file in (left, *others):
        file.write_bytes(b"half a file")
    write(path, study(points), [])
    assert not left.exists()
    assert all(file.exists() for file in others)


_FULL = """
    import os, resource, sys
    sys.path.insert(0, sys.argv[2])
    from pathlib import Path
    from store_tools import point, study, tally
    from spare_mc import store
    from spare_mc.errors import UserError
from spare_mc.study import Point, load, tomllib

    path, points = Path(sys.argv[1]), [point(50, 3, failures__shape=float(i)) for i in range(300)]
    with store.Writer(path, study(points)) as writer:
        writer.add(tally(points[0], "survival", 0, 10))
    before = path.read_bytes()
    writer = store.Writer(path, study(points))
    for p in points:
        writer.add(tally(p, "survival", 10, 100))
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.RLIM_INFINITY))
    for attempt in (writer.publish, writer.close):
        try:
            attempt()
        except UserError as error:
            print(error)
        else:
            raise SystemExit("published beyond the limit")
        assert path.read_bytes() == before
        assert sorted(os.listdir(path.parent)) == [path.name, path.name + ".lock"]
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    writer = store.Writer(path, study(points))  # the lock was released all the same
    writer.add(tally(points[0], "survival", 10, 100))
    writer.close()
    assert store.read(path).points[0].trials == 110
"""


def test_a_full_disk_leaves_the_old_file(path):
    done = _script(_FULL, str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{path}: cannot be written: File too large"] * 2


def test_after_a_failed_publication_the_next_one_has_everything(path, points, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    with store.Writer(path, study(points)) as writer:
        writer.add(tally(points[0], "survival", 0, 10))
        with monkeypatch.context() as broken:
            broken.setattr(os, "fsync", full)
            with pytest.raises(UserError, match="out.h5: cannot be written: No space left on device"):
                writer.publish()
        assert [p.name for p in path.parent.iterdir()] == ["out.h5.lock"]
        writer.add(tally(points[0], "survival", 10, 10))
    assert store.read(path).points[0].trials == 20


def test_reading_while_a_writer_publishes(path):
    """What is read is always one publication, whole; and it never goes back."""
    text = """
        import sys
        sys.path.insert(0, sys.argv[2])
        from store_tools import point, study, tally
        from spare_mc import store

        points = [point(30, 3), point(40, 3)]
        with store.Writer(sys.argv[1], study(points, ["stacks"])) as writer:
            for i in range(25):
                for p in points:
                    writer.add(tally(p, "stacks", 10 * i, 10))
                writer.publish()
    """
    here = str(Path(__file__).parent)
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(text), str(path), here])
    seen, reads = 0, 0
    while process.poll() is None:
        if path.exists():
            one, two = (p.trials for p in store.read(path).points)
            assert one == two and one % 10 == 0 and one >= seen
            seen, reads = one, reads + 1
        time.sleep(0.02)
    assert process.returncode == 0
    assert reads > 2
    assert [p.trials for p in store.read(path).points] == [250, 250]


def test_h5py_may_hold_the_file_open(path, points):
    write(path, study(points), [])
    with h5py.File(path, "r"):  # takes HDF5's own lock
        write(path, study(points), [tally(points[0], "survival", 0, 10)])
        assert store.read(path).points[0].trials == 10


# Merging


SHARED = ("survival", "training")  # sums of trials, and rows that must be put in order


def shards(tmp_path, points):
    """Four files whose trials, points and measures interlock."""
    names = [tmp_path / f"part{i}.h5" for i in range(4)]
    write(names[0], study(points, SHARED), everything(points, SHARED, 0, 40))
    write(names[1], study(points, ["survival"], text="later"), everything(points, ["survival"], 60, 40))
    write(names[2], study(points, SHARED), everything(points[1:4], SHARED, 40, 20))
    write(names[3], study(points, SHARED), everything([points[0], points[4]], SHARED, 40, 20))
    return names


def test_merging_gives_the_same_in_any_order(tmp_path, points):
    names = shards(tmp_path, points)
    found = []
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        out = tmp_path / f"merged{order[0]}.h5"
        store.merge([names[i] for i in order], out)
        found.append(data_of(out, leave_out=("updated", "host")))
    assert found[0] == found[1] == found[2]
    left, right = tmp_path / "left.h5", tmp_path / "right.h5"
    store.merge(names[:2], left)
    store.merge(names[2:], right)
    store.merge([right, left], tmp_path / "tree.h5")
    assert data_of(tmp_path / "tree.h5") == data_of(tmp_path / "merged0.h5")
    whole = tmp_path / "whole.h5"
    write(whole, study(points, SHARED), everything(points, SHARED, 0, 60))
    write(whole, study(points, SHARED), everything(points, ["survival"], 60, 40))
    assert data_of(whole) == data_of(tmp_path / "merged0.h5")


def test_merging_into_one_of_the_files(tmp_path, points):
    names = shards(tmp_path, points)
    store.merge(names, names[0])
    assert {p.trials for p in store.read(names[0]).points} == {100}


def test_merging_one_file_copies_it(tmp_path, points):
    names = shards(tmp_path, points)
    store.merge([names[0]], tmp_path / "copy.h5")
    assert data_of(names[0], ("updated", "host")) == data_of(tmp_path / "copy.h5", ("updated", "host"))


def test_merging_refuses_and_names_the_files(tmp_path, points):
    names = shards(tmp_path, points)
    out, overlap, other = tmp_path / "out.h5", tmp_path / "overlap.h5", tmp_path / "other.h5"
    write(overlap, study(points), [tally(points[1], "survival", 75, 1)])
    write(other, study(points, seed=3), [])
    _with_version("2.0")(tmp_path / "newer.h5")
    for paths, message in [
        ([*names, overlap], r"overlap.h5: shares trials .* with .*part1.h5: .*trials 75 to 75"),
        ([overlap, *names], r"overlap.h5: shares trials .* with .*part1.h5: .*trials 75 to 75"),
        ([names[0], other], "other.h5: holds another study than .*part0.h5: seed"),
        ([names[0], tmp_path / "newer.h5"], "newer.h5: has schema 2.0"),
        ([names[0], tmp_path / "gone.h5"], "gone.h5: no such file"),
        ([names[0], names[1], names[0]], "part0.h5: given twice"),
        ([], "no files"),
    ]:
        with pytest.raises(UserError, match=message):
            store.merge(paths, out)
        assert not out.exists()
    before = names[1].read_bytes()
    with pytest.raises(UserError, match="part1.h5: exists and is not among the files"):
        store.merge([names[0], names[2]], names[1])
    with store.Writer(names[1], study(points)), pytest.raises(UserError, match="another process is writing"):
        store.merge(names, names[1])
    assert names[1].read_bytes() == before


# The schema's small rules


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
