"""``spare-mc run``: simulate a study, or what is missing of it."""

import click

from spare_mc.study_model import flags_of, keys

from .common import flag_value, json_option


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
    if field.annotation is bool:
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
        value = value if dotted in ("layout.file", "study.name") else flag_value(value)
        if dotted in ("study.measure", "layout.offsets") and not isinstance(value, list):
            value = [value]
        overrides[dotted] = value
    return overrides


@click.command("run", short_help="simulate a study")
@click.argument("study", required=False, metavar="[STUDY]")
@click.option("-o", "--output", metavar="FILE.h5", help="Results file; default: the study's name with .h5.")
@study_flags()
@click.option(
    "--backend", default="auto", metavar="NAME", help="auto, numba, cython or reference; same counts."
)
@click.option("--threads", type=int, help="Worker threads; default: the cores this job may use.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("--dry-run", is_flag=True, help="List the points and what would be computed; write nothing.")
@json_option
def command(study, output, backend, threads, quiet, dry_run, as_json, **flags):
    """Simulate STUDY: a TOML file, a preset (paper-200, paper-600, paper-1000), or flags alone.

    Results go to an HDF5 file. Running the same command again resumes it: totals asked for are totals in the file, and
    no trial is counted twice. Any study key is also a flag; a comma-separated list sweeps it, but for --offsets.

    \b
    spare-mc run paper-600
    spare-mc run --groups 600 --redundancy 8,9,10 --layout golomb --trials 1e6 -o sweep.h5
    """
    from spare_mc import api, backends, report
    from spare_mc import study as studies
    from spare_mc.engine import check_threads
    from spare_mc.progress import reporter

    asked = studies.load(study, overrides_of(flags))
    chosen = backends.choose(backend, asked.measures)
    threads = check_threads(threads)
    path = output or f"{asked.name}.h5"
    if dry_run:
        return report.print_plan(asked, path, chosen.name, threads, as_json)
    with reporter(quiet or as_json, chosen.name == "numba") as progress:
        results = api.run(asked, path, backend=chosen.name, threads=threads, progress=progress)
    if as_json:
        report.print_results_json(results)
    elif not quiet:
        report.print_results(results)
        report.print_footer(asked, path, chosen.name, threads, progress)
