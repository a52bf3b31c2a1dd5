"""``spare-mc check``: a results file against exact values."""

import click

from .common import json_option, print_json


@click.command("check", short_help="test results against exact values")
@click.argument("files", metavar="FILE.h5...", nargs=-1, required=True)
@click.option(
    "--verbose", is_flag=True, help="List tests that pass and comparisons with approximations, too."
)
@json_option
def command(files, verbose, as_json):
    """Test the curves of results files against the values that hold exactly for their layouts.

    One test a curve, with an overall false-alarm rate of 1e-4; exit status 1 where one disagrees. Layouts without an
    exact value (golomb and random beyond about 20 groups) are set beside the approximations and fail nothing; --verbose
    tells the distances, and every test that passes.
    """
    from spare_mc import report, store
    from spare_mc.check import check_all

    results = [point for file in files for point in store.read(file).points]
    verdicts = check_all(results)
    if as_json:
        print_json([verdict._asdict() for verdict in verdicts])
    else:
        report.print_verdicts(verdicts, results, verbose)
    return 0 if all(verdict.passed for verdict in verdicts) else 1
