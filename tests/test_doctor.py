"""``spare-mc doctor``: what it tells, that it finds a broken kernel, and that nothing broken breaks it."""

import json
import os
import stat

import pytest

from spare_mc import cores, doctor, selftest
from spare_mc.backends import BACKENDS
from spare_mc.cli import main
from spare_mc.kernels import ahead_levels


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["doctor", *arguments])
    return stop.value.code, capsys.readouterr().out


@pytest.fixture
def cold(tmp_path, monkeypatch):
    """No compiled Numba kernels, so that none are tested, and a folder of its own."""
    monkeypatch.setenv("SPARE_MC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def no_tests(monkeypatch):
    """Without the self-test, where it is not the subject."""
    monkeypatch.setattr(selftest, "run", lambda names, quick: iter(()))


def test_all_is_well(capsys, cold):
    status, out = run(capsys, "--json")
    told = json.loads(out)
    assert status == 0
    assert set(told) == {
        "versions",
        "cores",
        "vectors",
        "backends",
        "numba_cache",
        "gpu",
        "folder",
        "self_test",
    }
    assert told["versions"]["packages"]["numpy"] and told["cores"]["allowed"] == cores.allowed()
    assert told["folder"]["locking"] is None
    assert told["numba_cache"]["kernels"] == 0 and told["numba_cache"]["folder"].startswith(str(os.getcwd()))
    tested = {(verdict["backend"], verdict["measure"]) for verdict in told["self_test"]}
    here = [name for name in BACKENDS if name != "numba" and not told["backends"][name]["missing"]]
    assert tested == {(name, measure) for name in here for measure in BACKENDS[name].measures}
    assert all(verdict["passed"] and verdict["compared"] > 0 for verdict in told["self_test"])


def test_lines_for_people(capsys, cold, no_tests):
    status, out = run(capsys)
    assert status == 0
    for word in (
        "cores",
        "vectors",
        "backend    cython",
        "cache",
        "GPU",
        "file locking works",
        "left out",
        "numpy",
    ):
        assert word in out


def test_a_kernel_that_is_off_by_one_is_found(capsys, cold, monkeypatch):
    """In one trial of twelve."""

    class Wrong(type(BACKENDS["reference"])):
        name = "wrong"
        measures = ("survival",)

        def block(self, measure, plan, point, key, first, count):
            found = super().block(measure, plan, point, key, first, count)
            if first == selftest.FIRST + 5:
                counted = found["counts"]["endurable_failures"]
                counted[:] = counted.tolist()[-1:] + counted.tolist()[:-1]
            return found

    monkeypatch.setitem(BACKENDS, "wrong", Wrong())
    monkeypatch.setattr(selftest, "_rate", lambda backend, measure: None)
    status, out = run(capsys)
    assert status == 1 and "DIFFERS  4 of 48" in out


def test_a_kernel_that_raises_is_a_verdict(monkeypatch):
    def broken(measure, plan, point, key, first, count):
        raise RuntimeError("no such device")

    monkeypatch.setattr(BACKENDS["reference"], "block", broken)
    verdicts = list(selftest.run(["reference"]))
    assert verdicts and not any(verdict.passed for verdict in verdicts)
    assert verdicts[0].error == "RuntimeError: no such device"


def test_a_level_that_is_not_here_is_told_and_fails(capsys, cold, monkeypatch):
    monkeypatch.setenv(ahead_levels.VARIABLE, "v9")
    status, out = run(capsys)
    assert status == (1 if ahead_levels.built("ahead") else 0)
    assert "SPARE_MC_SIMD" in out


@pytest.mark.parametrize(
    ("script", "devices"),
    [
        ("echo 'NVIDIA H200, 143771 MiB, 570.1'", ["NVIDIA H200, 143771 MiB"]),
        ("echo broken; exit 9", []),
        ("echo 'no devices were found'", []),
        ("sleep 5", []),
    ],
)
def test_tools_of_a_gpu(tmp_path, monkeypatch, script, devices):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\n" + script + "\n")
    tool.chmod(tool.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(doctor, "_PATIENCE", 0.5)
    found = doctor.gpus()
    assert found["devices"] == devices
    assert found["driver"] == ("570.1" if devices else None)


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setenv("SPARE_MC_CACHE_DIR", str(blocked))
    found = doctor.numba_cache()
    assert found["folder"] is None and "cannot be written" in found["reason"]


def test_a_folder_where_no_lock_can_be_taken(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "_answer", lambda command: "")
    monkeypatch.chdir(tmp_path)
    assert "not kept out" in doctor.locking()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("job", "affinity", "quota", "rule", "allowed"),
    [
        (None, 8, None, "affinity", 8),
        (None, 8, 16.0, "affinity", 8),
        (None, 8, 2.5, "cgroup", 3),
        (None, 1, 0.5, "affinity", 1),
        (4, 8, 2.0, "job", 4),
    ],
)
def test_which_limit_rules(job, affinity, quota, rule, allowed):
    limits = cores.Limits(16, job, affinity, quota)
    assert (limits.rule, limits.allowed) == (rule, allowed)


def test_older_caches_are_removed_when_asked(capsys, cold, no_tests):
    from spare_mc.kernels import jit

    ours = jit.cache_folder()
    (ours / "kernel.nbi").write_text("ours")
    for name in ("0" * 20, "1" * 20):
        (ours.parent / name).mkdir()
        (ours.parent / name / "kernel.nbi").write_bytes(b"x" * 2**19)
    assert "2 older folders, 1.0 MiB (--clear-caches removes them)" in run(capsys)[1]
    status, out = run(capsys, "--clear-caches")
    assert (
        status == 0
        and out.startswith("removed 2 older cache folders, 1.0 MiB\n")
        and "older folders" not in out
    )
    assert [path.name for path in ours.parent.iterdir()] == [ours.name] and (ours / "kernel.nbi").exists()
