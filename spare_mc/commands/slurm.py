"""``spare-mc slurm``: the script of a job array that runs a study in shards."""

import os
import re
import shlex

import click

from spare_mc.study_model import flags_of, keys

from .run import default_path, overrides_of, study_flags


@click.command("slurm", short_help="write a job-array script for a study")
@click.argument("study", required=False, metavar="[STUDY]")
@click.option(
    "--shards", type=click.IntRange(1, 100_000), required=True, metavar="N", help="Tasks of the array."
)
@click.option(
    "-o", "--output", metavar="FILE.h5", help="Merged results file; default: the study's name with .h5."
)
@click.option(
    "--script", metavar="FILE.sh", help="Script to write, must not exist; default: standard output."
)
@click.option("--cpus", type=click.IntRange(1), default=8, show_default=True, help="Cores of a task.")
@click.option(
    "--time", "wall", metavar="TIME", default="04:00:00", show_default=True, help="Wall time of a task."
)
@click.option("--at-once", type=click.IntRange(1), help="Tasks that run at the same time at most.")
@click.option("--partition", help="Partition to run in.")
@click.option("--account", help="Account to charge.")
@click.option(
    "--sbatch", multiple=True, metavar="OPTION", help="A further #SBATCH option, e.g. --sbatch=--mem=8G."
)
@click.option(
    "--setup", multiple=True, metavar="COMMAND", help="Shell command to run first, e.g. 'module load python'."
)
@click.option("--backend", metavar="NAME", help="As of 'spare-mc run'.")
@study_flags()
def command(
    study, shards, output, script, cpus, wall, at_once, partition, account, sbatch, setup, backend, **flags
):
    """Write a SLURM script that runs STUDY as an array of N shards, and say how to submit and merge it.

    Every task counts its share into a file of its own, with as many threads as the job gives it cores; submitted again,
    tasks go on from what they have. Study keys are flags, as of 'spare-mc run'.

    \b
    spare-mc slurm sweep.toml --shards 64 --cpus 16 --script sweep.sh
    """
    from spare_mc import study as studies

    _check(wall, partition, account, sbatch, setup, backend)
    asked = studies.load(study, overrides_of(flags))  # refuses here what every task would refuse
    if study is not None and study not in studies.presets():
        study = os.path.abspath(study)
    run = ["spare-mc", "run", *([study] if study else []), *_given(flags)]
    run += ["--backend", backend] if backend else []
    stem = (output or default_path(asked, None)).removesuffix(".h5")
    text = _script(
        asked.name,
        run,
        stem,
        shards,
        setup,
        _options(cpus, wall, at_once, shards, partition, account, sbatch),
    )
    if script is None:
        print(text, end="")
        return
    try:
        with open(script, "x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except OSError:  # half a script is worse than none
                os.unlink(script)
                raise
    except FileExistsError:
        raise click.UsageError(f"--script {script}: exists; choose another name or remove it") from None
    except OSError as error:
        raise click.UsageError(f"--script {script}: cannot be written: {error.strerror}") from None
    submit, merge = _afterwards(script, stem, shards)
    print(
        f"{script}: {len(asked.points):,} points in {shards} shards; submit it, and the merging after it, with"
    )
    print(f"  {submit}\n  {merge}")


def _check(wall, partition, account, sbatch, setup, backend):
    """Refuse what the batch system, or every task, would refuse, and what would break a line of the script."""
    if not re.fullmatch(r"\d+(-\d+(:\d+){0,2})?|\d+(:\d+){1,2}", wall):
        raise click.UsageError(
            f"--time {wall!r}: must be minutes, [hours:]minutes:seconds or days-hours[:minutes[:seconds]]"
        )
    for option, value in (("--partition", partition), ("--account", account)):
        if value is not None and not re.fullmatch(r"[\w.,@+][\w.,@+-]*", value):
            raise click.UsageError(
                f"{option} {value!r}: must be a name, without spaces, quotes or a '-' first"
            )
    for value in setup:
        if not value.isprintable() or not value.strip():
            raise click.UsageError(f"--setup {value!r}: must be one line, a shell command")
    for value in sbatch:
        if not value.isprintable() or not re.match(r"-[a-zA-Z]|--[a-z]", value):
            raise click.UsageError(f"--sbatch {value!r}: must be one line, an option of sbatch")
        if ours := _clash(value):
            raise click.UsageError(f"--sbatch {value!r}: {ours}")
    if backend is not None:
        from spare_mc.backends import BACKENDS
        from spare_mc.errors import nearest

        if backend not in ("auto", *BACKENDS):
            raise click.UsageError(f"--backend {backend!r}: {nearest(backend, ['auto', *BACKENDS])}")


# Options of sbatch that the script has already -> what sets them here
_OURS = {
    "--array": "the array follows from --shards and --at-once",
    "--cpus-per-task": "give --cpus",
    "--ntasks": "a task of the array is one process",
    "--time": "give --time",
    "--signal": "the script asks for a signal in time to store what there is",
    "--open-mode": "output is appended, for tasks submitted again",
    "--job-name": "the job is named after the study; give --name",
    "--partition": "give --partition",
    "--account": "give --account",
    "--wrap": "the script is what runs",
}
_SHORT = {
    "-a": "--array", "-c": "--cpus-per-task", "-n": "--ntasks", "-t": "--time", "-J": "--job-name", "-p": "--partition",
    "-A": "--account",
}  # fmt: skip


def _clash(option):
    """What to do instead of an option of sbatch that the script has already; None for any other."""
    name = re.match(r"--[a-z-]+|-.", option)[0]
    if not name.startswith("--"):
        return _OURS.get(_SHORT.get(name))
    exact = [long for long in _OURS if long == name]
    begun = [long for long in _OURS if long.startswith(name)]  # sbatch takes beginnings that are clear
    return _OURS[(exact or begun)[0]] if begun else None


def _given(flags):
    """The study flags as they were given."""
    words = []
    for dotted, field in keys():
        value = flags.get(dotted.replace(".", "__"))
        name = flags_of(dotted, field)[0]
        if isinstance(value, bool):
            words.append(name if value else "--no-" + name.removeprefix("--"))
        elif value is not None:
            words += [name, str(value)]
    return words


def _options(cpus, wall, at_once, shards, partition, account, more):
    array = f"1-{shards}" + (f"%{at_once}" if at_once else "")
    options = [f"--array={array}", f"--cpus-per-task={cpus}", "--ntasks=1", f"--time={wall}"]
    # Two minutes before the time is over the run is asked to end: it stores what it has.
    options += ["--signal=B:TERM@120", "--open-mode=append"]
    options += [f"--partition={partition}"] if partition else []
    options += [f"--account={account}"] if account else []
    return options + list(more)


def _script(name, run, stem, shards, setup, options):
    submit, merge = _afterwards("THIS_SCRIPT", stem, shards)
    shard = f"$SLURM_ARRAY_TASK_ID/{shards}"
    out = f"{shlex.quote(stem)}.$SLURM_ARRAY_TASK_ID-of-{shards}.h5"
    return (
        "#!/bin/bash\n"
        + "".join(f"#SBATCH {option}\n" for option in [f"--job-name={shlex.quote(name)}", *options])
        + "#\n# Submit it, and the merging after it, with\n"
        + f"#   {submit}\n#   {merge}\n"
        + "# Submitted again, tasks that were cut off go on, and those that are done end at once.\n"
        + "set -euo pipefail\n"
        + "".join(f"{line}\n" for line in setup)
        + "# The number of threads follows from SLURM_CPUS_PER_TASK. exec: the signal reaches the run itself.\n"
        + f'exec {shlex.join(run)} --shard "{shard}" --output {out} --quiet\n'
    )


def _afterwards(script, stem, shards):
    merge = f"spare-mc merge {shlex.quote(stem)}.*-of-{shards}.h5 -o {shlex.quote(stem)}.h5"
    return (
        f"job=$(sbatch --parsable {shlex.quote(script)})",
        f"sbatch --dependency=afterok:$job --wrap {shlex.quote(merge)}",
    )
