"""Who computes shows nowhere: processes, Dask workers, MPI ranks, job arrays, dying workers; all to the bit."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from store_tools import data_of

from spare_mc import api, executors, store
from spare_mc.errors import UserError, WorkerError

RAW = {
    "study": {"name": "who", "seed": 3, "measure": ["survival", "stacks"]},
    "cluster": {"groups": [40, 60]},
    "layout": {"kind": ["contiguous", "golomb"], "redundancy": "2..5"},
    "sampling": {"trials": 3000},
}
TOML = textwrap.dedent(
    """
    [study]
    name = "who"
    seed = 3
    measure = ["survival", "stacks"]
    [cluster]
    groups = [40, 60]
    [layout]
    kind = ["contiguous", "golomb"]
    redundancy = "2..5"
    [sampling]
    trials = 3000
    """
)
LEFT_OUT = ("created", "updated", "host", "publication", "study")
MAIN = "from spare_mc.cli import main; main()"

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="dask.distributed missing"
)
needs_mpi = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py missing")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "whole.h5"
    api.run(RAW, path, threads=1)
    return data_of(path, LEFT_OUT)


def test_processes_count_the_same(path, expected):
    with executors.opened("processes", 2) as (pool, workers):
        assert workers == 2
        api.run(RAW, path, executor=pool, workers=workers)
    assert data_of(path, LEFT_OUT) == expected


def test_any_executor_will_do(path, expected):
    from concurrent.futures import Executor, Future

    class Inline(Executor):
        """Works when asked for the result's being ready: at once."""

        def submit(self, function, *arguments):
            future = Future()
            future.set_result(function(*arguments))
            return future

    api.run(RAW, path, executor=Inline(), workers=1)
    assert data_of(path, LEFT_OUT) == expected


def _processes(*words, parent=None):
    """Process numbers whose command line holds all the words, of a parent if given. Of Linux's /proc."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            told = (entry / "cmdline").read_text().replace("\0", " ") if entry.name.isdigit() else ""
            if all(word in told for word in words) and told:
                own = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                found += [int(entry.name)] if parent in (None, own) else []
        except (OSError, ValueError):
            continue  # it ended meanwhile
    return sorted(found)


@pytest.mark.slow
def test_a_process_that_dies_is_told_and_the_same_command_finishes(tmp_path, path, expected):
    (tmp_path / "who.toml").write_text(TOML)
    command = [sys.executable, "-c", MAIN, "run", str(tmp_path / "who.toml"), "-o", str(path), "--quiet"]
    command += ["--executor", "processes", "--threads", "2", "--trials", "100000"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (workers := _processes("spawn_main", parent=child.pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(workers[0], signal.SIGKILL)
    _, error = child.communicate(timeout=120)
    assert child.returncode == 3 and "a worker died" in error and error.count("\n") == 1, error
    subprocess.run(command, check=True, timeout=300)
    api.run({**RAW, "sampling": {"trials": 100_000}}, tmp_path / "again.h5")
    assert data_of(path, LEFT_OUT) == data_of(tmp_path / "again.h5", LEFT_OUT)


@pytest.mark.slow
@needs_dask
def test_dask_workers_count_the_same_and_a_dead_one_is_replaced(tmp_path, path, expected):
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        executor = client.get_executor(pure=False, retries=3)
        api.run(RAW, path, executor=executor, workers=2)
        assert data_of(path, LEFT_OUT) == expected

        killed = []

        def kill(progress):
            if not killed and progress.done > progress.total // 10:
                killed.extend(client.run(os.getpid).values())
                os.kill(killed[0], signal.SIGKILL)

        many = {**RAW, "sampling": {"trials": 200_000}}
        api.run(many, tmp_path / "killed.h5", executor=executor, workers=2, progress=kill)
        assert killed and killed[0] not in client.run(os.getpid).values()
    api.run(many, tmp_path / "whole.h5", threads=2)
    assert data_of(tmp_path / "killed.h5", LEFT_OUT) == data_of(tmp_path / "whole.h5", LEFT_OUT)


@pytest.mark.slow
@needs_dask
def test_dask_from_the_command_line_and_at_an_address(tmp_path, expected):
    (tmp_path / "who.toml").write_text(TOML)
    command = [sys.executable, "-c", MAIN, "run", str(tmp_path / "who.toml"), "--quiet", "--executor", "dask"]
    subprocess.run([*command, "--threads", "2", "-o", str(tmp_path / "a.h5")], check=True, timeout=300)
    assert data_of(tmp_path / "a.h5", LEFT_OUT) == expected
    from dask.distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        at = ["--scheduler", cluster.scheduler_address, "-o", str(tmp_path / "b.h5")]
        subprocess.run([*command, *at], check=True, timeout=300)
    assert data_of(tmp_path / "b.h5", LEFT_OUT) == expected
    nobody = [*command, "--scheduler", "tcp://127.0.0.1:9", "-o", str(tmp_path / "c.h5")]
    done = subprocess.run(nobody, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and "no Dask scheduler answers" in done.stderr
    assert not (tmp_path / "c.h5").exists()


def _mpiexec(ranks, *command):
    mpiexec = shutil.which("mpiexec", path=os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    if mpiexec is None:
        pytest.skip("mpiexec missing")
    return [mpiexec, "-n", str(ranks), sys.executable, "-c", MAIN, *command]


@pytest.mark.slow
@needs_mpi
def test_mpi_ranks_count_the_same(tmp_path, path, expected):
    (tmp_path / "who.toml").write_text(TOML)
    run = ["run", str(tmp_path / "who.toml"), "--quiet", "--executor", "mpi", "-o", str(path)]
    subprocess.run(_mpiexec(3, *run), check=True, timeout=300)
    assert data_of(path, LEFT_OUT) == expected
    wrong = subprocess.run(_mpiexec(3, *run, "--groups", "1"), capture_output=True, text=True, timeout=300)
    assert wrong.returncode != 0 and wrong.stderr.count("cluster.groups = '1'") == 1
    alone = subprocess.run(_mpiexec(1, *run), capture_output=True, text=True, timeout=300)
    assert alone.returncode != 0 and "this is the only rank" in alone.stderr


@pytest.mark.slow
@needs_mpi
def test_an_mpi_job_that_loses_a_rank_is_finished_by_the_same_command(tmp_path, path):
    (tmp_path / "who.toml").write_text(TOML)
    run = [
        "run",
        str(tmp_path / "who.toml"),
        "--quiet",
        "--executor",
        "mpi",
        "-o",
        str(path),
        "--trials",
        "400000",
    ]
    child = subprocess.Popen(_mpiexec(3, *run), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    journal, deadline = path.with_name("out.h5.journal"), time.monotonic() + 120
    while not path.exists() and not journal.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    ranks = [
        pid
        for pid in _processes(str(path), MAIN)
        if "mpiexec" not in Path(f"/proc/{pid}/cmdline").read_text()
    ]
    os.kill(ranks[-1], signal.SIGKILL)
    child.communicate(timeout=120)
    assert child.returncode != 0
    assert store.read(path).points
    subprocess.run(_mpiexec(3, *run), check=True, timeout=600)
    api.run({**RAW, "sampling": {"trials": 400_000}}, tmp_path / "whole.h5", threads=2)
    assert data_of(path, LEFT_OUT) == data_of(tmp_path / "whole.h5", LEFT_OUT)


def test_shards_merge_into_what_one_run_writes(tmp_path, expected, capsys):
    names = [tmp_path / f"{at}.h5" for at in (3, 1, 2)]
    for name in names:
        results = api.run(RAW, name, share=(int(name.stem), 3))
        assert {r.stopped for r in results} == {"share"}
        assert store.read(name).attributes["shares"] == f"{name.stem}/3"
    store.merge(names[:2], tmp_path / "two.h5")
    assert store.read(tmp_path / "two.h5").attributes["shares"] == "1/3,3/3"
    from spare_mc.commands.merge import command

    command.main([str(names[2]), "-o", str(tmp_path / "one.h5")], standalone_mode=False)
    assert "only shards 2/3; missing: 1/3, 3/3" in capsys.readouterr().out
    store.merge([tmp_path / "two.h5", names[2]], tmp_path / "all.h5")
    assert data_of(tmp_path / "all.h5", LEFT_OUT) == expected


def test_shards_of_different_totals_are_no_whole(tmp_path):
    for at, trials in ((1, 1000), (2, 2000)):
        api.run({**RAW, "sampling": {"trials": trials}}, tmp_path / f"{at}.h5", share=(at, 2))
    store.merge([tmp_path / "1.h5", tmp_path / "2.h5"], tmp_path / "all.h5")
    found = store.read(tmp_path / "all.h5")
    assert found.attributes["shares"] == "1/2,2/2"
    assert {p.stopped for p in found.points} == {"share"}
    assert found.points[0].tallies["survival"].spans == ((0, 500), (1000, 2000))


def test_ranks_without_the_mpi_executor_are_refused(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    with pytest.raises(UserError, match="one of 4 MPI ranks.*--executor mpi"):
        executors.check_ranks("threads")
    executors.check_ranks("mpi")


def test_shards_of_a_target_merge_into_what_one_run_writes(tmp_path):
    asked = {**RAW, "sampling": {"trials": 100, "target": {"endurable_failures": 0.02}}}
    api.run(asked, tmp_path / "whole.h5")
    names = [tmp_path / f"{at}.h5" for at in range(1, 6)]
    for name in names:
        api.run(asked, name, share=(int(name.stem), 5))
    store.merge(names, tmp_path / "all.h5")
    assert data_of(tmp_path / "all.h5", LEFT_OUT) == data_of(tmp_path / "whole.h5", LEFT_OUT)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("thread", {}, "executor = 'thread': did you mean 'threads'"),
        ("processes", {"scheduler": "x"}, "only executor 'dask' has one"),
        ("mpi", {"workers": 3}, "one worker a rank"),
        ("processes", {"workers": 0}, "must be a whole number, 1 or more"),
    ],
)
def test_wrong_executors_are_refused(name, options, message):
    with pytest.raises(UserError, match=message), executors.opened(name, **options):
        pass


@pytest.mark.parametrize("share", [(0, 3), (4, 3), (1,), "1/3", (1, 0), (1.5, 2)])
def test_wrong_shares_are_refused(share, path):
    with pytest.raises(UserError, match="share"):
        api.run(RAW, path, share=share)
    assert not path.exists()


def test_a_worker_that_dies_under_any_executor_is_a_worker_error():
    from concurrent.futures import BrokenExecutor, Executor, Future

    class Broken(Executor):
        def submit(self, function, *arguments):
            future = Future()
            future.set_exception(BrokenExecutor("gone"))
            return future

    with pytest.raises(WorkerError, match="gone"):
        api.run(RAW, executor=Broken(), workers=1)
