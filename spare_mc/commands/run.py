"""``spare-mc run``: simulate a study, or what is missing of it."""

import os
from contextlib import contextmanager

import click

from spare_mc.study_model import flags_of, is_list, keys

from .common import flag_value, json_option

# keys whose text a comma does not make a list
_WHOLE = ("layout.file", "study.name", "sweep.exclude", "failures.gaps", "failures.group_rates",
          "domains.table", "domains.columns", "domains.placement_file", "replay.log", "replay.options")  # fmt: skip


def study_flags(wanted=None):
    """Decorator that gives a command one option per study key; values arrive as ``section__key``.

    ``wanted``: sections or dotted keys to offer; None offers all.
    """

    def decorate(function):
        for dotted, field in reversed(list(keys())):
            if wanted is None or dotted in wanted or dotted.split(".")[0] in wanted:
                function = _option(dotted, field)(function)
        return function

    return decorate


def _option(dotted, field):
    names, parameter = flags_of(dotted, field), dotted.replace(".", "__")
    if field.type is bool:
        positive = names[0].removeprefix("--")
        return click.option(f"--{positive}/--no-{positive}", parameter, default=None, help=field.description)
    metavar = dotted.split(".")[1].upper()
    return click.option(*names, parameter, metavar=metavar, default=None, help=field.description)


def overrides_of(values):
    """Dotted overrides from the options of ``study_flags``."""
    given = {
        name.replace("__", "."): value for name, value in values.items() if "__" in name and value is not None
    }
    overrides = {}
    for dotted, value in given.items():
        value = value if dotted in _WHOLE or str(value).startswith("=") else flag_value(value)
        if is_list(dotted) and not dotted.startswith("sweep.") and not isinstance(value, list):
            value = [value]
        overrides[dotted] = value
    return overrides


def _share(ctx, parameter, text):
    """``"I/N"`` as (I, N)."""
    if text is None:
        return None
    at, _, of = text.partition("/")
    if not (at.isdigit() and of.isdigit() and 1 <= int(at) <= int(of)):
        raise click.BadParameter(f"{text!r}: must be I/N, the I-th of N shards, I from 1 to N")
    return int(at), int(of)


@click.command("run", short_help="simulate a study")
@click.argument("study", required=False, metavar="[STUDY]")
@click.option("-o", "--output", metavar="FILE.h5", help="Results file; default: the study's name with .h5.")
@study_flags()
@click.option(
    "--backend", default="auto", metavar="NAME", help="auto, cython, numba, cuda or reference; same counts."
)
@click.option("--threads", type=int, help="Workers; default: the cores this job may use.")
@click.option(
    "--executor",
    default="threads",
    metavar="NAME",
    help="Who computes: threads, processes, mpi (under mpiexec), dask; same counts.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Dask: its scheduler, or scheduler file; default: workers on this machine.",
)
@click.option(
    "--shard", metavar="I/N", callback=_share, help="Count the I-th of N shards; 'spare-mc merge' joins them."
)
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="List the points and estimate the time by a short calibration; write nothing.",
)
@json_option
def command(study, output, backend, threads, executor, scheduler, shard, quiet, dry_run, as_json, **flags):
    """Simulate STUDY: a TOML file, a preset (paper-200, paper-600, paper-1000, llama3, rsc1), or flags alone.

    Results go to an HDF5 file. Running the same command again resumes it: totals asked for are totals in the file, and
    no trial is counted twice. Any study key is also a flag. A comma-separated list sweeps it (not --offsets), so does
    a range: 8..20, 2..20 by 3, "1 min..1 h log 7"; "= 600000 / groups" works it out from other keys.

    \b
    spare-mc run paper-600
    spare-mc run --groups 600 --redundancy 8..10 --layout golomb --trials 1e6 -o sweep.h5
    spare-mc run sweep.toml --target mean_stack=0.001 --time-limit "10 min"
    """
    from spare_mc import executors

    executors.check_ranks(executor)
    with executors.opened(executor, threads, scheduler) as workers:
        if workers is not None:  # None: an MPI rank that was a worker
            _run(study, output, backend, *workers, executor, shard, quiet, dry_run, as_json, flags)


def _run(study, output, backend, pool, workers, executor, shard, quiet, dry_run, as_json, flags):
    from spare_mc import api, backends, report
    from spare_mc import study as studies
    from spare_mc.engine import check_threads
    from spare_mc.progress import reporter

    asked = studies.load(study, overrides_of(flags))
    local = executor in ("threads", "processes")  # of other machines it is not known whether they have a GPU
    chosen = backends.choose(backend, asked.measures, asked if local else None, asked.points)
    workers = check_threads(workers)
    if executor == "threads":
        workers = chosen.workers(workers)
    path = output or default_path(asked, shard)
    who = f"{workers} {executor}" if executor in ("threads", "processes") else f"{workers} {executor} workers"
    if dry_run:
        from spare_mc import store, store_files

        store_files.target_of(path)
        if os.path.exists(path):
            store.check_study(path, asked)
        return report.print_plan(asked, path, chosen.name, who, workers, shard, as_json)
    with reporter(quiet or as_json, chosen.name in ("numba", "cuda")) as progress, _telling_where(path):
        results = api.run(
            asked,
            path,
            backend=chosen.name,
            threads=workers,
            progress=progress,
            executor=pool,
            workers=workers,
            share=shard,
        )
    if as_json:
        report.print_results_json(results)
    elif not quiet:
        report.print_results(results)
        report.print_footer(asked, results, path, chosen.name, who, progress)
    return None


@contextmanager
def _telling_where(path):
    """An interrupt that says where the work is."""
    try:
        yield
    except KeyboardInterrupt as error:
        error.stored = path
        raise


def default_path(study, shard):
    """The results file of a study without -o, one of its own for each shard."""
    return f"{study.name}.h5" if shard is None else f"{study.name}.{shard[0]}-of-{shard[1]}.h5"
