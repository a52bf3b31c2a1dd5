"""The script of a job array: what it asks the batch system for, what its tasks run, what is refused."""

import shlex
import subprocess

import pytest

from spare_mc import cli


def spare_mc(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main(["slurm", *arguments])
    out, error = capsys.readouterr()
    return ended.value.code, out, error


STUDY = ["--groups", "40", "--redundancy", "2..4", "--layout", "contiguous", "--name", "it's mine"]


def test_the_script_is_valid_and_asks_for_what_was_said(tmp_path, capsys):
    script = tmp_path / "array.sh"
    options = ["--shards", "12", "--cpus", "3", "--time", "00:20:00", "--at-once", "4", "--partition", "long"]
    options += [
        "--account",
        "me",
        "--sbatch",
        "--mem=8G",
        "--setup",
        "module load python",
        "--script",
        str(script),
    ]
    status, out, error = spare_mc(capsys, *STUDY, *options, "--exclude", "redundancy == 3", "--trials", "1e5")
    assert (status, error) == (0, "")
    assert "2 points in 12 shards" in out and f"sbatch --parsable {script}" in out
    text = script.read_text()
    subprocess.run(["bash", "-n", str(script)], check=True)
    asked = [line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SBATCH")]
    expected = [
        "--array=1-12%4",
        "--cpus-per-task=3",
        "--time=00:20:00",
        "--partition=long",
        "--account=me",
        "--mem=8G",
    ]
    assert set(expected) <= set(asked)
    assert "\nmodule load python\n" in text
    words = shlex.split(text.splitlines()[-1])
    assert words[:3] == ["exec", "spare-mc", "run"]
    assert words[words.index("--exclude") + 1] == "redundancy == 3"
    assert words[words.index("--shard") + 1] == "$SLURM_ARRAY_TASK_ID/12"
    assert words[words.index("--output") + 1] == "it's mine.$SLURM_ARRAY_TASK_ID-of-12.h5"


def test_without_a_file_the_script_is_printed(capsys):
    status, out, _ = spare_mc(capsys, *STUDY, "--shards", "2", "--no-common-random-numbers")
    assert status == 0 and out.startswith("#!/bin/bash\n")
    assert "--no-common-random-numbers" in out.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--groups", "40", "--shards", "2"], "layout.redundancy"),
        ([*STUDY], "--shards"),
        ([*STUDY, "--shards", "0"], "--shards"),
        (["none.toml", "--shards", "2"], "none.toml: no such study file"),
    ],
)
def test_what_every_task_would_refuse_is_refused_at_once(arguments, message, capsys):
    status, out, error = spare_mc(capsys, *arguments)
    assert (status, out) == (2, "") and message in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--sbatch=--array=1-4", "--shards"),
        ("--sbatch=--arr=1-4", "--shards"),
        ("--sbatch=-a 1-4", "--shards"),
        ("--sbatch=-t5", "--time"),
        ("--sbatch=--time=5", "--time"),
        ("--sbatch=--cpus-per-task 4", "--cpus"),
        ("--sbatch=-plong", "--partition"),
        ("--sbatch=---", "option of sbatch"),
        ("--partition=-long", "--partition"),
        ("--account=-", "--account"),
        ("--setup=", "--setup"),
        ("--setup=  ", "--setup"),
    ],
)
def test_options_that_would_break_the_script_are_refused(option, message, capsys):
    status, out, error = spare_mc(capsys, *STUDY, "--shards", "2", option)
    assert (status, out) == (2, "") and message in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "option", ["--mem=8G", "--time-min=5", "--nodes=1", "-d afterok:1", "-N1", "--exclusive"]
)
def test_other_options_of_sbatch_are_taken(option, capsys):
    status, out, _ = spare_mc(capsys, *STUDY, "--shards", "2", f"--sbatch={option}")
    assert status == 0 and f"#SBATCH {option}\n" in out


def test_a_script_is_never_overwritten(tmp_path, capsys):
    script = tmp_path / "array.sh"
    script.write_text("mine")
    status, _, error = spare_mc(capsys, *STUDY, "--shards", "2", "--script", str(script))
    assert status == 2 and "exists" in error and script.read_text() == "mine"
