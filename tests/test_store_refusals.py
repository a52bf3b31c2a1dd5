"""Results files: what cannot be used is refused in one line, and nothing is changed."""

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
from store_tools import SHAPES, assert_same_tally, everything, point, study, tally, with_version, write

from spare_mc import store
from spare_mc.errors import UserError


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
    from spare_mc.kernels import generator

    monkeypatch.setattr(generator, "GENERATOR_VERSION", generator.GENERATOR_VERSION + 1)
    with pytest.raises(UserError, match="generator_version"):
        store.Writer(path, study(points))


def _foreign(path):
    with h5py.File(path, "w") as file:
        file["data"] = np.arange(5)


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
    "newer major": (with_version("2.0"), r"has schema 2\.0, this spare-mc reads 1\.x: update"),
    "older major": (with_version("0.9"), r"has schema 0\.9"),
    "no version": (with_version("soon"), "schema_version 'soon'"),
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
    with_version("1.7")(path)
    with h5py.File(path, "r+") as file:
        file["summary/later"] = np.arange(3)
        file["groups_5/later"] = np.arange(3)
        file["later"] = 1
    assert len(store.read(path).points) == 1
    assert store.summary(path)["trials"] == [0]
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"has schema 1\.7, this spare-mc writes 1\.2"):
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


@pytest.mark.parametrize("flips", [30, pytest.param(2_000, marks=pytest.mark.slow)])
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
