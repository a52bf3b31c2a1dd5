"""``spare-mc show``: what a results file holds."""

import click

from .common import json_option


@click.command("show", short_help="table of a results file")
@click.argument("file", metavar="FILE.h5")
@click.option("--curves/--no-curves", default=True, help="With --json: whether to print the curves as well.")
@json_option
def command(file, curves, as_json):
    """Print every point of FILE.h5 with its estimates, their intervals, and closed forms and exact values beside."""
    from spare_mc import report, store

    found = store.read(file)
    if as_json:
        return report.print_results_json(found.points, curves)
    report.print_provenance(file, found.attributes)
    report.print_results(found.points)
    return None
