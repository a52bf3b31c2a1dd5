"""Results files: merging, in any order."""

import pytest
from store_tools import data_of, everything, study, tally, with_version, write

from spare_mc import store
from spare_mc.errors import UserError

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
        found.append(data_of(out, leave_out=("updated", "host", "publication")))
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
    left_out = ("updated", "host", "publication")
    assert data_of(names[0], left_out) == data_of(tmp_path / "copy.h5", left_out)


def test_merging_refuses_and_names_the_files(tmp_path, points):
    names = shards(tmp_path, points)
    out, overlap, other = tmp_path / "out.h5", tmp_path / "overlap.h5", tmp_path / "other.h5"
    write(overlap, study(points), [tally(points[1], "survival", 75, 1)])
    write(other, study(points, seed=3), [])
    with_version("2.0")(tmp_path / "newer.h5")
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
