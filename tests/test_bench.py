"""The benchmark suite, every part of it in a tiny size: it runs, and what it writes has the shape that is promised."""

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spare_mc import gpu

BENCH = Path(__file__).parent.parent / "bench"
ROW = {
    "part": str, "setting": str, "contender": str, "baseline": str, "ratio": float, "low": float, "high": float,
    "seconds": float, "unit": str, "clock": str, "note": str,
}  # fmt: skip
MAY_LACK = {"ratio", "low", "high", "seconds"}


@pytest.fixture
def bench(monkeypatch):
    """The suite's folder first on the path, as when its script is run."""
    monkeypatch.syspath_prepend(str(BENCH))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == BENCH:
            del sys.modules[name]


def checked(told):
    """The rows of a JSON object as ``--json`` writes it, checked against the schema."""
    assert set(told) == {"schema", "environment", "rows"} and told["schema"] == 1
    environment = told["environment"]
    assert set(environment) == {
        "processor", "cores", "system", "python", "packages", "git", "load", "simd", "command",
    }  # fmt: skip
    assert environment["cores"] >= 1 and environment["packages"]["numpy"]
    for row in told["rows"]:
        assert set(row) == set(ROW)
        for key, kind in ROW.items():
            assert isinstance(row[key], kind) or (key in MAY_LACK and row[key] is None), (key, row)
        if row["ratio"] is None:
            assert row["note"]
        else:
            assert math.isfinite(row["ratio"]) and row["ratio"] > 0 and row["seconds"] > 0
        if row["contender"] == row["baseline"]:
            assert row["ratio"] == 1
    for row in told["rows"]:
        firsts = [r for r in told["rows"] if r["contender"] == row["baseline"] and r["part"] == row["part"]]
        assert firsts or row["ratio"] is None, row
    return told["rows"]


@pytest.mark.slow
def test_the_whole_suite(tmp_path):
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import run, picture\n"
        "from common import save\n"
        "rows = run.rows_of(run.PARTS, run.TINY)\n"
        "save(sys.argv[2], run.results_of(rows)); picture.draw(rows, sys.argv[3])\n"
    )
    files = [tmp_path / "rows.json", tmp_path / "rows.png"]
    subprocess.run([sys.executable, "-c", program, BENCH, *files], check=True)
    rows = checked(json.loads(files[0].read_text()))
    assert {row["part"] for row in rows} >= {
        "survival", "stacks", "controller", "training", "threads", "over N", "over r", "sweep",
        "start, warm", "start, cold",
    }  # fmt: skip
    for rival in (
        "NumPy",
        "scipy",
        "networkx",
        "OR-tools",
        "SimPy",
        "SimGrid",
        "AIReSim",
        "bound",
        "plain Python",
    ):
        if rival != "AIReSim" or importlib.util.find_spec("simpy"):  # its loop runs on SimPy
            assert any(rival in row["contender"] for row in rows), rival
    assert files[1].stat().st_size > 20_000


def test_the_command_line_tells_its_parts(tmp_path):
    done = subprocess.run([sys.executable, BENCH / "run.py", "--only", "x"], capture_output=True, text=True)
    assert done.returncode == 2 and "no such part; there are survival" in done.stderr


def test_ratios_and_their_spread(bench):
    import rows

    clock = {"slow": 0}

    def slow():
        clock["slow"] += 1
        sum(range(200_000))

    found = rows.measured(
        "p", "s", "a call", {"fast": lambda: sum(range(20_000)), "slow": slow}, 0.05, {"slow": 2}
    )
    assert [row.contender for row in found] == ["fast", "slow"] and found[0].ratio == 1
    assert 2 < found[1].ratio < 12  # ten times the work, per half of it
    assert found[1].low <= found[1].high and clock["slow"] >= 4
    text = rows.lines([*found, rows.missing("p", "s", "other", "fast", "not installed: pip install other")])
    assert text[0][0] == "p: s" and text[1][0] == text[2][0] == "" and text[2][-1].startswith("not installed")


def test_the_rewritten_loop_handles_as_many_failures_as_its_rate_says(bench):
    pytest.importorskip("simpy")
    import rivals_training

    # 400 expected; Poisson: beyond five deviations in 6e-7 of the seeds
    handled = rivals_training.airesim_loop(50, 5, 400 * 300.0, 300.0, 60.0, 60.0, 3600.0)
    assert abs(handled - 400) < 5 * 20


def run_gpu(*arguments, **environment):
    return subprocess.run(
        [sys.executable, str(BENCH / "gpu.py"), *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.skipif(gpu.missing() is None, reason="there is a GPU")
def test_the_gpu_script_without_a_gpu():
    done = run_gpu()
    assert done.returncode == 2 and not done.stdout
    assert done.stderr == f"bench/gpu.py: {gpu.missing()}\n"


@pytest.mark.slow
def test_the_gpu_script_in_the_simulator(tmp_path):
    done = run_gpu("--quick", "--json", str(tmp_path / "x.json"), NUMBA_ENABLE_CUDASIM="1")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads((tmp_path / "x.json").read_text())
    assert not told["failed"] and not any(row["differ"] for row in told["rows"])
    assert {row["measure"] for row in told["rows"]} == {"survival", "stacks", "reordering", "training"}
    assert all(row["rate"] > 0 and row["cpu"] > 0 for row in told["rows"])
