"""Results files: adding to what is there, and never twice."""

import pytest
from store_tools import data_of, everything, point, study, tally, write

from spare_mc import store
from spare_mc.errors import UserError
from spare_mc.tallies import MEASURES


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
