"""Results files: kill -9, full disks, reading while writing."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import h5py
import pytest
from store_tools import study, tally, write

from spare_mc import store
from spare_mc.errors import UserError

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
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("kills", [5, pytest.param(40, marks=pytest.mark.slow)])
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
