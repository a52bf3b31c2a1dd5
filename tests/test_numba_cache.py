"""The cache of compiled kernels: what is truncated, unwritable, lost or raced costs a compilation, never a run.

Small kernels of a module of its own stand for ours: what is cached, and how, is the same.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
import sys
from spare_mc.kernels.jit import njit

@njit
def double(x):
    return x + x

@njit
def total(n):
    found = 0
    for i in range(n):
        found += double(i)
    return found

if __name__ == "__main__":
    if len(sys.argv) > 1:
        exec(sys.argv[1])
    assert total(1000) == 999_000
    print(sum(total.stats.cache_hits.values()), sum(total.stats.cache_misses.values()))
"""

LOADED, COMPILED = (1, 0), (0, 1)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Starts a process that uses the kernels; its output tells (loaded from the cache, compiled)."""
    script = tmp_path_factory.mktemp("source") / "kernels_of_a_test.py"
    script.write_text(MODULE)
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}

    def begin(cache, *arguments):
        return subprocess.Popen(
            [sys.executable, "-W", "error", str(script), *arguments],
            env={**environment, "SPARE_MC_CACHE_DIR": str(cache)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin


@pytest.fixture(scope="module")
def filled(start, tmp_path_factory):
    """A cache that a first process has filled."""
    folder = tmp_path_factory.mktemp("filled")
    assert outcome(start(folder)) == COMPILED
    return folder


@pytest.fixture
def cache(filled, tmp_path):
    """A copy of it to be damaged."""
    return Path(shutil.copytree(filled, tmp_path / "cache"))


def outcome(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert err == ""
    return tuple(map(int, out.split()))


def files(cache, ending):
    found = sorted(cache.rglob(f"*{ending}"))
    assert found
    return found


def test_a_second_process_compiles_nothing(start, cache):
    assert outcome(start(cache)) == LOADED
    assert {path.parents[2].name for path in files(cache, ".nbi")} == {"numba"}


@pytest.mark.parametrize("ending", [".nbi", ".nbc"], ids=["index", "code"])
def test_a_truncated_file_costs_a_compilation(start, cache, ending):
    for path in files(cache, ending):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
    assert outcome(start(cache)) == COMPILED


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".nbi", ".nbc", ""], ids=["index", "code", "all"])
@pytest.mark.parametrize(
    "damage", [lambda b: b"", lambda b: b[: len(b) * 98 // 100], lambda b: b"rubbish\n" * 99]
)
def test_damage_is_mended(start, cache, ending, damage):
    for path in files(cache, ending):
        if path.is_file():
            path.write_bytes(damage(path.read_bytes()))
    assert outcome(start(cache)) == COMPILED
    assert outcome(start(cache)) == LOADED


def test_a_cache_that_cannot_be_written_costs_a_compilation(start, tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    assert outcome(start(in_the_way)) == COMPILED
    assert in_the_way.read_text() == ""


def test_a_cache_that_vanishes_under_a_process(start, cache):
    replaced = f"import shutil; shutil.rmtree({str(cache)!r}); open({str(cache)!r}, 'w').close()"
    assert outcome(start(cache, replaced)) == COMPILED


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [False, True])
def test_sixteen_first_runs_at_once(start, cache, damaged):
    """On nothing, or on damaged files: whoever wins, all have the right answer, and what they leave is whole."""
    if damaged:
        for path in files(cache, ".nbi") + files(cache, ".nbc"):
            path.write_bytes(path.read_bytes()[:100])
    else:
        shutil.rmtree(cache)
    for finished in [start(cache) for _ in range(16)]:
        assert sum(outcome(finished)) == 1
    assert outcome(start(cache)) == LOADED
