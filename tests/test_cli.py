"""The command line as a stranger uses it: what it prints, what it refuses, and with which exit status."""

import json
import os
import subprocess
import sys

import pytest
from ahead_tools import ahead
from cli_tools import run_verb as spare_mc

from spare_mc.backends import BACKENDS
from spare_mc.cli import VERBS


@pytest.fixture
def results(tmp_path, capsys):
    """A results file of two contiguous points and one golomb point."""
    path = tmp_path / "three.h5"
    status, _, _ = spare_mc(
        capsys,
        *("run", "-N", 31, "-r", "3,4", "--layout", "contiguous,golomb", "--trials", 2000, "--seed", 5),
        *("--system-mtbf", "5 min", "-o", path, "--quiet"),
    )
    assert status == 0
    return path


def test_help_is_instant_and_light():
    probe = (
        "import sys, spare_mc.cli\n"
        "try: spare_mc.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numba', 'h5py', 'matplotlib', 'scipy', 'numpy', 'rich', 'msgspec'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    for verb in VERBS:
        assert verb in done.stdout


def test_import_is_light():
    probe = (
        "import sys, spare_mc\n"
        "assert spare_mc.Layout.contiguous(7, 3).redundancy == 3\n"
        "heavy = {'numba', 'h5py', 'matplotlib', 'msgspec'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", probe], check=True)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(capsys, verb):
    status, out, _ = spare_mc(capsys, verb, "--help")
    assert status == 0 and "Usage: spare-mc " + verb in out


def test_run_prints_estimate_interval_exact_and_closed_form(tmp_path, capsys):
    path = tmp_path / "one.h5"
    status, out, _ = spare_mc(
        capsys,
        *("run", "--groups", 31, "--redundancy", 3, "--layout", "contiguous", "--trials", "4e3", "-o", path),
    )
    assert status == 0 and path.exists()
    for word in ("endurable failures", "wipe-out index", "95 %", "exact", "mu", "4,000 trials", str(path)):
        assert word in out, word


def test_run_json_is_what_show_prints(tmp_path, capsys):
    path = tmp_path / "one.h5"
    arguments = ("run", "-N", 31, "-r", 3, "--trials", 500, "-o", path, "--json")
    status, out, _ = spare_mc(capsys, *arguments)
    assert status == 0
    (point,) = json.loads(out)
    assert set(point) >= {"id", "parameters", "trials", "runs", "seed", "estimates", "curves"}
    assert point["trials"] == 500 and point["parameters"]["cluster.groups"] == 31
    assert set(point["estimates"]["endurable_failures"]) == {"mean", "low", "high", "std"}
    assert len(point["curves"]["survival"]) == 32
    status, shown, _ = spare_mc(capsys, "show", path, "--json")
    assert status == 0 and json.loads(shown) == [point]


def test_run_again_adds_what_is_missing(tmp_path, capsys):
    path, whole = tmp_path / "parts.h5", tmp_path / "whole.h5"
    flags = ("-N", 31, "-r", 3, "--seed", 9)
    for trials in (100, 900, 900, 50):
        assert spare_mc(capsys, "run", *flags, "--trials", trials, "-o", path, "--quiet")[0] == 0
    assert spare_mc(capsys, "run", *flags, "--trials", 900, "-o", whole, "--quiet")[0] == 0
    parts, once = (json.loads(spare_mc(capsys, "show", p, "--json")[1]) for p in (path, whole))
    assert parts == once and parts[0]["trials"] == 900


def test_dry_run_lists_points_and_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, _ = spare_mc(capsys, "run", "-N", 31, "-r", "3,4,5", "--trials", 10, "--dry-run")
    assert status == 0 and "3 points" in out
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_of_a_shard_tells_of_the_shard(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ("run", "-N", 31, "-r", "3,4,5", "--layout", "contiguous", "--dry-run", "--backend", "reference")
    status, out, _ = spare_mc(capsys, *asked, "--trials", 10, "--shard", "2/3")
    assert status == 0 and "survival: 3 trials a point" in out and out.count("contiguous, 31 groups") == 3
    told = json.loads(spare_mc(capsys, *asked, "--trials", 10, "--shard", "3/3", "--json")[1])
    assert [point["trials"] for point in told["points"]] == [4, 4, 4]
    by_points = ("--trials", 10, "--target", "endurable_failures=0.1", "--max-trials", 100, "--shard", "2/3")
    status, out, _ = spare_mc(capsys, *asked, *by_points)
    assert (
        status == 0
        and "shard 2 of 3: 1 points" in out
        and "redundancy 4" in out
        and "redundancy 5" not in out
    )


def test_trials_are_told_by_measure_where_they_differ(tmp_path, capsys):
    path = tmp_path / "two.h5"
    asked = ("run", "-N", 31, "-r", "2,3,4,5", "--backend", "reference", "-o", path, "--quiet")
    assert spare_mc(capsys, *asked, "--trials", 20)[0] == 0
    assert spare_mc(capsys, *asked, "--trials", 10, "--measure", "stacks")[0] == 0
    out = spare_mc(capsys, "show", path)[1]
    assert out.count("survival 20, stacks 10") == 4


def test_show_lists_points_with_intervals(results, capsys):
    status, out, _ = spare_mc(capsys, "show", results)
    assert status == 0
    rows = [line.split() for line in out.splitlines()]
    assert [row[0] for row in rows if "2,000" in row] == ["contiguous", "golomb"] * 2
    assert "endurable failures" in out and "seed 5" in out


def test_check_agrees_with_exact_values(results, capsys):
    status, out, _ = spare_mc(capsys, "check", results)
    assert status == 0 and "passed; --verbose" in out and out.count("\n") == 1
    status, out, _ = spare_mc(capsys, "check", results, "--verbose")
    assert status == 0 and "contiguous" in out and "mu" in out and "ok  " in out and out.count("\n") > 9


def test_check_fails_on_a_wrong_tally(results, capsys):
    import h5py
    import numpy as np

    with h5py.File(results, "r+") as file:
        counted = file["groups_31/survival_endurable_failures"]
        counted[...] = np.roll(counted[...], 1, axis=-1)  # every trial endures one failure more
    status, out, _ = spare_mc(capsys, "check", results)
    assert status == 1 and "contiguous" in out and "FAIL" in out and "ok  " not in out


def test_theory_prints_the_papers_figures(capsys):
    status, out, _ = spare_mc(capsys, "theory", "-N", 600, "-r", 9)
    assert status == 0 and "279.13" in out
    status, out, _ = spare_mc(capsys, "theory", "-N", 600, "-r", 9, "--layout", "contiguous", "--json")
    told = json.loads(out)
    assert told["mu"] == pytest.approx(279.13, abs=0.005)
    assert told["exact_wipeout_index"] == pytest.approx(302.678, abs=0.0005)


def test_plot_writes_pictures(results, tmp_path, capsys):
    for name in ("survival.png", "survival.svg"):
        status, out, _ = spare_mc(capsys, "plot", results, "-o", tmp_path / name)
        assert status == 0 and (tmp_path / name).stat().st_size > 5000 and name in out


REFUSED = [
    (("run", "-N", 31, "-r", 32), "layout.redundancy"),
    (("run", "-N", 31, "-r", 0), "layout.redundancy"),
    (("run", "-N", 31, "-r", 3, "--trials", -1), "sampling.trials"),
    (("run", "-N", 31, "-r", 3, "--layout", "golumb"), "golomb"),
    (("run", "-N", 31, "--offsets", "0,1,1"), "layout.offsets"),
    (("run", "-N", 31, "--offsets", "0,,1"), "empty"),
    (("run", "-N", 30, "-r", 8), "golomb"),
    (("run", "-N", 31, "-r", 3, "--backend", "fortran"), "backend"),
    (("run", "-N", 31, "-r", 3, "--threads", 0), "threads"),
    (("run", "-N", 31, "-r", 3, "-o", "no/such/folder/x.h5"), "no/such/folder"),
    (("run", "-N", 31, "-r", 3, "--layout-file", "nowhere.csv"), "nowhere.csv"),
    (("run", "nothing.toml"), "nothing.toml"),
    (("run", "-N", 31, "-r", 3, "--redundency", 4), "--redundancy"),
    (("show", "nowhere.h5"), "nowhere.h5"),
    (("theory", "-N", 10, "-r", 11), "redundancy"),
    (("plot", "nowhere.h5"), "nowhere.h5"),
    (("rum",), "rum"),
]


@pytest.mark.parametrize(("arguments", "named"), REFUSED, ids=lambda v: " ".join(map(str, v)) if v else v)
def test_bad_input_is_one_line_and_status_2(arguments, named, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, err = spare_mc(capsys, *arguments)
    assert status == 2 and out == ""
    assert err.count("\n") == 1 and err.startswith("spare-mc: error: ") and named in err
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_not_ours_are_left_alone(results, tmp_path, capsys):
    good = results.read_bytes()
    contents = {
        "empty.h5": b"",
        "text.h5": b"these are not results\n" * 50,
        "cut.h5": good[: len(good) // 2],
    }
    for name, content in contents.items():
        path = tmp_path / name
        path.write_bytes(content)
        for verb in (("show", path), ("check", path), ("run", "-N", 31, "-r", 3, "--trials", 5, "-o", path)):
            status, _, err = spare_mc(capsys, *verb)
            assert status == 2 and err.count("\n") == 1 and name in err
            assert path.read_bytes() == content
    status, _, err = spare_mc(capsys, "run", "-N", 31, "-r", 5, "--trials", 5, "-o", results)
    assert status == 2 and err.count("\n") == 1 and "three.h5" in err
    assert results.read_bytes() == good
    left = {p.name for p in tmp_path.iterdir() if not p.name.endswith(".lock")}
    assert left == {"three.h5", *contents}


@pytest.mark.parametrize(
    "asked",
    [
        "run --backend cython --trials 100",
        "run --backend cython --trials 100 --measure stacks",
        "run --backend cython --trials 100 --measure reordering",
        "run --backend cython --trials 100 --measure reordering --layout random",
        "run --backend cython --runs 2 --measure training --system-mtbf 3000 --steps 50",
        "run --backend cython --runs 2 --measure training --system-mtbf 3000 --steps 50 --scheme replication",
        "timeline --system-mtbf 3000 --steps 50",
    ],
)
def test_cython_runs_without_numba(tmp_path, asked):
    for module in set(BACKENDS["cython"].modules.values()):
        ahead(module)
    arguments = [*asked.split(), "-N", "31", "-r", "3"]
    if arguments[0] == "run":
        arguments += ["-o", str(tmp_path / "a.h5")]
    probe = (
        "import sys, spare_mc.cli\n"
        f"try: spare_mc.cli.main({arguments})\n"
        "except SystemExit as stop: assert not stop.code, stop.code\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", probe], check=True)


@pytest.mark.parametrize("arguments", [["theory", "-N", "20", "-r", "3"], ["run", "--help"]])
def test_a_full_standard_output_is_one_line(arguments):

    command = [sys.executable, "-c", "from spare_mc.cli import main; main()", *arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "spare-mc: error: standard output: cannot be written: No space left on device\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_who_leaves_ends_a_verb_quietly(results, unbuffered):
    command = [sys.executable, "-c", "from spare_mc.cli import main; main()", "show", str(results), "--json"]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    verb = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    verb.stdout.close()
    assert (verb.wait(), verb.stderr.read()) == (141, b"")
    verb.stderr.close()
