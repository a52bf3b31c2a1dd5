"""The examples run as they stand, cut short; those that need a cluster, with a stand-in for its commands."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from store_tools import data_of

from spare_mc import store

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LEFT_OUT = ("created", "updated", "host", "publication", "study", "study_name")
CUT = ["--max-trials", "2000", "--trials", "500", "--exclude", "groups > 200 or redundancy > 4"]

SBATCH = """#!/usr/bin/env bash
# Stands in for SLURM: runs the tasks of an array one after the other.
set -euo pipefail
case "$1" in
--parsable)
    count=$(sed -n 's/^#SBATCH --array=1-//p' "$2")
    for i in $(seq "$count"); do SLURM_ARRAY_TASK_ID=$i SLURM_CPUS_PER_TASK=1 bash "$2" >&2; done
    echo 1 ;;
*) [ "$1" = --dependency=afterok:1 ] && bash -c "$3" ;;
esac
"""


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    return tmp_path / "examples"


def bash(folder, script, *arguments):
    path = [str(folder), os.path.dirname(sys.executable), os.environ["PATH"]]
    command = ["bash", str(folder / script), *arguments]
    env = {**os.environ, "PATH": os.pathsep.join(path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples") / "examples"
    shutil.copytree(EXAMPLES, folder)
    told = bash(folder, "laptop.sh", *CUT)
    return told, data_of(folder / "laptop.h5", LEFT_OUT), store.read(folder / "laptop.h5")


def test_a_laptop_sweep(whole):
    told, _, found = whole
    assert "6 points" in told and "calibrated" in told and "failed" not in told
    assert {p.stopped for p in found.points} <= {"survival: target, stacks: target", "target", "maximum"} | {
        "survival: maximum, stacks: target",
        "survival: target, stacks: maximum",
    }


@pytest.mark.slow
def test_an_mpi_job(folder, whole):
    pytest.importorskip("mpi4py")
    if not (shutil.which("mpiexec") or Path(sys.executable).with_name("mpiexec").exists()):
        pytest.skip("mpiexec missing")
    bash(folder, "mpi.sh", "3", *CUT)
    assert data_of(folder / "mpi.h5", LEFT_OUT) == whole[1]


@pytest.mark.slow
def test_a_dask_cluster(folder, whole):
    pytest.importorskip("distributed")
    text = "import dask_sweep\nif __name__ == '__main__':\n    dask_sweep.main(max_trials=2000, trials=500)\n"
    study = (folder / "sweep.toml").read_text()
    (folder / "sweep.toml").write_text(study + '[sweep]\nexclude = "groups > 200 or redundancy > 4"\n')
    (folder / "cut.py").write_text(text)
    subprocess.run([sys.executable, "cut.py"], cwd=folder, check=True, timeout=600, capture_output=True)
    assert data_of(folder / "dask.h5", LEFT_OUT) == whole[1]


@pytest.mark.slow
def test_a_slurm_array(folder, whole):
    (folder / "sbatch").write_text(SBATCH)
    (folder / "sbatch").chmod(0o755)
    bash(folder, "slurm.sh", *CUT)
    assert data_of(folder / "sweep.h5", LEFT_OUT) == whole[1]
    assert len(list(folder.glob("sweep.*-of-16.h5"))) == 16
