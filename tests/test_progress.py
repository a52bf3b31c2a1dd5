"""Progress: what is told, to whom, and that a run that is asked to end stores what it has."""

import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from spare_mc import progress, store
from spare_mc.engine import Progress
from spare_mc.study import load

MAIN = "from spare_mc.cli import main; main()"
POINT = load({"cluster": {"groups": 40}, "layout": {"kind": "contiguous", "redundancy": 3}}).points[0]


def at(done, elapsed, **others):
    told = {"before": 0, "total": 1000, "points": 8, "points_done": 2, "widest": None} | others
    return Progress(done=done, elapsed=elapsed, **told)


def figures(now, rate):
    return dict(progress.told(now, rate))


def test_the_time_left_follows_from_the_rate_since_the_first_block():
    rate = progress._Rate()
    assert rate(at(100, 30.0)) is None  # compiling, most likely
    speed = rate(at(300, 32.0))
    assert speed == 100.0
    found = figures(at(300, 32.0), speed)
    assert found["left"] == "7 s" and found["points done"] == "2 of 8" and found["trials"] == "300 of 1,000"


def test_the_widest_interval_and_a_target():
    found = figures(at(300, 32.0, widest=(0.0123, "mean_stack", POINT), open_ended=True), 100.0)
    assert found["widest interval"] == "+/- 1.2 % (mean_stack, contiguous N = 40, r = 3)"
    assert found["left"] == "the intervals decide"
    found = figures(
        at(300, 32.0, widest=(float("inf"), "mean_stack", POINT), open_ended=True, time_limit=100.0), 1.0
    )
    assert found["widest interval"].startswith("too few for one") and found["left"] == "1 min 08 s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0.4, "0 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (7379, "2 h 02 min")],
)
def test_durations(seconds, text):
    assert progress.duration(seconds) == text


def test_a_log_gets_a_plain_line_about_every_minute(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    show = progress._plain()
    for second in range(0, 200):
        clock[0] = float(second)
        show(at(5 * second, float(second)))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("spare-mc: 300 of 1,000 trials, 5 a second, points done 2 of 8")


def _command(out, *more):
    flags = ["--groups", "60", "--redundancy", "2..6", "--layout", "contiguous", "--trials", "1e9"]
    return [sys.executable, "-c", MAIN, "run", *flags, "-o", str(out), *more]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_a_run_that_is_asked_to_end_stores_what_it_has(tmp_path, number, status):
    out = tmp_path / "out.h5"
    child = subprocess.Popen(_command(out, "--quiet"), stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not out.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    child.send_signal(number)
    _, error = child.communicate(timeout=60)
    expected = f"spare-mc: interrupted; what was counted is in {out}, the same command goes on from there"
    assert (child.returncode, error.strip()) == (status, expected)
    found = store.read(out).points
    assert found[0].trials > 0 and all(p.stopped == "" for p in found if p.trials < 10**9)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.h5", "out.h5.lock"]


def test_a_terminal_gets_a_live_table(tmp_path):
    mine, theirs = pty.openpty()
    command = _command(tmp_path / "out.h5", "--time-limit", "4", "--threads", "1")
    child = subprocess.Popen(
        command, stderr=theirs, stdout=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    told = b""
    while True:
        try:
            part = os.read(mine, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        told += part
    assert child.wait(timeout=60) == 0
    for label in (b"points done", b"a second", b"widest interval", b"left"):
        assert label in told
