"""The journal beside a results file: what a killed or failing writer leaves is there for the next one."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from store_tools import data_of, everything, point, study, tally, write

from spare_mc import store
from spare_mc.errors import UserError
from spare_mc.store_journal import Journal, path_of, replay
from spare_mc.tallies import MEASURES

POINTS = [point(7, 3), point(7, 5), point(2, 1)]


def abandoned(path, spans, asked=None):
    """A writer that flushed these spans of every measure and died, as its lock and its journal tell."""
    asked = asked or study(POINTS, MEASURES)
    writer = store.Writer(path, asked)
    for first, count in spans:
        for each in everything(POINTS, MEASURES, first, count):
            writer.add(each)
        writer.flush()
    writer._let_go()  # what the system does for a process that dies


def test_what_was_flushed_is_there_for_the_next_writer(path, tmp_path):
    write(path, study(POINTS, MEASURES), [])
    abandoned(path, [(0, 20), (20, 30), (90, 10)])
    assert path_of(path).exists() and store.read(path).points[0].trials == 0
    with store.Writer(path, study(POINTS, MEASURES)) as writer:
        assert writer.tally(POINTS[0].id, "stacks").spans == ((0, 50), (90, 100))
        for each in everything(POINTS, MEASURES, 50, 40):
            writer.add(each)
    assert not path_of(path).exists()
    write(tmp_path / "once.h5", study(POINTS, MEASURES), everything(POINTS, MEASURES, 0, 100))
    assert data_of(path) == data_of(tmp_path / "once.h5")


def test_the_first_flush_makes_the_file(path):
    abandoned(path, [(0, 20)])
    assert store.read(path).points[0].trials == 20
    assert not path_of(path).exists()


def test_values_come_back_as_they_were(path):
    write(path, study(POINTS, MEASURES), [])
    wide = tally(POINTS[0], "stacks", 0, 10)
    wide.sums["stack_squared"] = 2**200 + 7
    journal = Journal(path, "out.h5", "base")
    tallies = [wide, *everything(POINTS, MEASURES, 10, 5)]
    journal.append(tallies)
    journal.close()
    found = list(replay(path, "out.h5", "base"))
    assert len(found) == len(tallies)
    for mine, theirs in zip(tallies, found, strict=True):
        assert (mine.measure, mine.point, mine.seed) == (theirs.measure, theirs.point, theirs.seed)
        assert (mine.spans, mine.sums) == (theirs.spans, theirs.sums)
        assert all(np.array_equal(mine.counts[name], theirs.counts[name]) for name in mine.counts)
        assert (mine.rows is None and theirs.rows is None) or np.array_equal(mine.rows, theirs.rows)


def test_every_way_to_cut_a_journal_leaves_whole_records(path):
    write(path, study(POINTS, MEASURES), [])
    publication = store.read(path).attributes["publication"]
    abandoned(path, [(0, 20)])
    first = path_of(path).stat().st_size
    path_of(path).unlink()
    abandoned(path, [(0, 20), (20, 30)])
    data = path_of(path).read_bytes()
    rng = np.random.default_rng(1)
    for cut in [
        0,
        1,
        30,
        first - 1,
        first,
        first + 1,
        len(data) - 1,
        *rng.integers(0, len(data), 40).tolist(),
    ]:
        path_of(path).write_bytes(data[:cut])
        totals = {sum(b - a for a, b in t.spans) for t in replay(path, "out.h5", publication)}
        assert totals == (set() if cut < first else {20} if cut < len(data) else {20, 30})
    for at in rng.integers(60, first, 40).tolist():  # a flipped bit in the first record hides both
        damaged = bytearray(data)
        damaged[at] ^= 1 << int(rng.integers(8))
        path_of(path).write_bytes(damaged)
        assert list(replay(path, "out.h5", publication)) == []


def test_a_journal_of_another_publication_is_ignored(path):
    write(path, study(POINTS, MEASURES), [])
    abandoned(path, [(0, 20)])
    stale = path_of(path).read_bytes()
    with store.Writer(path, study(POINTS, MEASURES)):
        pass
    path_of(path).write_bytes(stale)  # as after a crash between the renaming and the removal
    with store.Writer(path, study(POINTS, MEASURES)) as writer:
        assert writer.tally(POINTS[0].id, "survival").spans == ((0, 20),)
        writer.add(tally(POINTS[0], "survival", 20, 5))
        writer.flush()
    assert not path_of(path).exists()
    assert store.read(path).points[0].tallies["survival"].spans == ((0, 25),)


def test_a_journal_that_counts_twice_is_named(path):
    write(path, study(POINTS, MEASURES), [])
    abandoned(path, [(0, 20)])
    data = path_of(path).read_bytes()
    path_of(path).write_bytes(data + data.partition(b"\n")[2])
    with pytest.raises(
        UserError, match=r"its journal out\.h5\.journal does not fit it.*remove out\.h5\.journal"
    ):
        store.Writer(path, study(POINTS, MEASURES))
    path_of(path).unlink()
    store.Writer(path, study(POINTS, MEASURES)).close()


def test_a_slow_first_publication_does_not_hold_the_journal_back(monkeypatch):
    from spare_mc import engine

    clock, done = [0.0], []
    monkeypatch.setattr(engine.time, "monotonic", lambda: clock[0])

    class Writer:
        def add(self, tally):
            pass

        def publish(self):
            clock[0] += 2.0
            done.append(("publish", clock[0]))

        def flush(self):
            if not done:
                self.publish()
                return True
            clock[0] += 0.01
            done.append(("flush", clock[0]))
            return False

    storing = engine.Storing(Writer())
    for _ in range(200):
        clock[0] += 0.1
        storing(None)
    assert done[0][0] == "publish" and len(done) > 10
    assert {name for name, _ in done[1:]} == {"flush"}
    assert all(b[1] - a[1] < 1.3 for a, b in zip(done, done[1:], strict=False))


def test_a_journal_of_a_later_format_is_refused_and_kept(path):
    write(path, study(POINTS, MEASURES), [])
    abandoned(path, [(0, 20)])
    data = path_of(path).read_bytes().replace(b"spare-mc journal 2 ", b"spare-mc journal 3 ", 1)
    path_of(path).write_bytes(data)
    with pytest.raises(UserError, match="journal out.h5.journal is not of this version"):
        store.Writer(path, study(POINTS, MEASURES))
    assert path_of(path).read_bytes() == data
    path_of(path).unlink()
    store.Writer(path, study(POINTS, MEASURES)).close()  # the lock was let go


def test_merging_counts_what_a_killed_shard_left_in_its_journal(path, tmp_path):
    write(path, study(POINTS, MEASURES), [])
    abandoned(path, [(0, 20)])
    write(tmp_path / "b.h5", study(POINTS, MEASURES), everything(POINTS, MEASURES, 20, 80))
    store.merge([path, tmp_path / "b.h5"], path)
    assert not path_of(path).exists()
    write(tmp_path / "once.h5", study(POINTS, MEASURES), everything(POINTS, MEASURES, 0, 100))
    assert data_of(path) == data_of(tmp_path / "once.h5")


def test_show_tells_of_a_journal_and_of_shares(path, capsys):
    from spare_mc import report

    with store.Writer(path, study(POINTS, MEASURES), share=(2, 3)) as writer:
        writer.stopped({POINTS[0].id: {"survival": "share"}})
    report.print_provenance(str(path), store.read(path).attributes)
    told = capsys.readouterr().out
    assert "only shards 2/3 of the study" in told and ".journal" not in told
    abandoned(path, [(0, 20)])
    report.print_provenance(str(path), store.read(path).attributes)
    assert "out.h5.journal holds what was counted since" in capsys.readouterr().out


def test_a_full_disk_costs_no_record_before_it(path):
    write(path, study(POINTS, MEASURES), [])
    writer = store.Writer(path, study(POINTS, MEASURES))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for each in everything(POINTS, MEASURES, 0, 20):
            writer.add(each)
        writer.flush()
        size = path_of(path).stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, before[1]))
        for each in everything(POINTS, MEASURES, 20, 30):
            writer.add(each)
        for _ in range(2):
            with pytest.raises(UserError, match=r"out\.h5: cannot be written: .*File too large"):
                writer.flush()
        assert path_of(path).stat().st_size == size
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    writer.flush()  # there is room again
    writer._let_go()
    with store.Writer(path, study(POINTS, MEASURES)) as again:
        assert again.tally(POINTS[0].id, "survival").spans == ((0, 50),)


_KILLED = """
import sys
from spare_mc import engine
engine.Storing._LEAST = {"flush": float(sys.argv.pop(1)), "publish": float(sys.argv.pop(1))}
from spare_mc.cli import main
main()
"""


def _command(tmp_path, out, pauses):
    flags = [
        "--groups",
        "40,60",
        "--redundancy",
        "2..5",
        "--layout",
        "contiguous",
        "--measure",
        "survival,stacks",
    ]
    flags += ["--trials", "40000", "--threads", "2", "--quiet", "-o", str(tmp_path / out)]
    return [sys.executable, "-c", _KILLED, *map(str, pauses), "run", *flags]


@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_kill_9_at_random_times_and_the_same_command_again(tmp_path, kills):
    """The file always opens, and the final one equals that of an undisturbed run, tally for tally."""
    import time

    begin = time.monotonic()
    subprocess.run(_command(tmp_path, "whole.h5", (0.01, 0.1)), check=True)
    whole = time.monotonic() - begin
    expected = data_of(tmp_path / "whole.h5")
    rng, killed, finished, out = np.random.default_rng(kills), 0, 0, tmp_path / "out.h5"
    while killed < kills or finished == 0:
        child = subprocess.Popen(_command(tmp_path, out.name, (0.01, 0.1)), stderr=subprocess.PIPE)
        if killed < kills:
            # Most of a run is start-up; the kills are to hit what comes after it.
            time.sleep(whole * float(rng.uniform(0.3, 1.0)))
            child.kill()
            killed += 1
        _, error = child.communicate()
        assert child.returncode in (0, -signal.SIGKILL), error
        if out.exists():
            store.read(out)
        if child.returncode == 0:
            assert data_of(out) == expected
            finished += 1
            for left in Path(tmp_path).glob("out.h5*"):
                assert left.name in ("out.h5", "out.h5.lock")
                left.unlink()


def test_a_folder_that_becomes_read_only_is_survived(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "out.h5"
    write(path, study(POINTS, MEASURES), everything(POINTS, MEASURES, 0, 10))
    before = path.read_bytes()
    writer = store.Writer(path, study(POINTS, MEASURES))
    writer.add(tally(POINTS[0], "survival", 10, 5))
    folder.chmod(0o555)
    try:
        with pytest.raises(UserError, match="cannot be written"):
            writer.close()
        with pytest.raises(UserError, match="no permission to write"):
            store.Writer(path, study(POINTS, MEASURES))
        assert path.read_bytes() == before
    finally:
        folder.chmod(0o755)
    with store.Writer(path, study(POINTS, MEASURES)) as writer:
        writer.add(tally(POINTS[0], "survival", 10, 5))
    assert store.read(path).points[0].tallies["survival"].total == 15
