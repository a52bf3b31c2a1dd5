"""``spare-mc show``: what results files hold."""

import click

from .common import json_option
from .selecting import where_option


@click.command("show", short_help="table of results files")
@click.argument("files", metavar="FILE.h5...", nargs=-1, required=True)
@where_option
@click.option(
    "--sort",
    "keys",
    metavar="KEY",
    multiple=True,
    help="Order of the points; -KEY from high to low; repeat for more.",
)
@click.option(
    "--columns", metavar="KEY,KEY,...", help="Columns of the table or CSV, instead of the usual ones."
)
@click.option(
    "--limit", type=click.IntRange(0), help="Points printed at most, 0 for all; default: 40 in a table."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV: every parameter and statistic a column.")
@click.option("--units", is_flag=True, help="With --csv: the unit of a column in its heading, 'name [unit]'.")
@click.option("--curves/--no-curves", default=True, help="With --json: whether to print the curves as well.")
@json_option
def command(files, conditions, keys, columns, limit, as_csv, units, curves, as_json):
    """Print the points of results files with their estimates, their intervals, and closed forms and exact values
    beside: a table a point for up to three points, one table of all for more.

    Keys are parameters (layout.redundancy, or redundancy where that is clear), estimates and their statistics
    (mean_stack, mean_stack_low), trials, runs, stopped, id, seed, and file where several are given.

    \b
    spare-mc show sweep.h5 --where 'redundancy >= 9' --where 'kind in golomb,random' --sort -mean_stack
    spare-mc show sweep.h5 --columns kind,redundancy,mean_stack,trials
    spare-mc show a.h5 b.h5 --csv > both.csv
    """
    from spare_mc import records, report, selection
    from spare_mc.errors import UserError

    if as_csv and as_json:
        raise UserError("--csv, --json: give one of the two")
    if units and not as_csv:
        raise UserError("--units: goes with --csv; tables show units anyway")
    if columns and as_json:
        raise UserError("--columns: chooses columns of a table or of --csv; --json prints whole points")
    table, opened = selection.of_files(files)
    table = table.where(conditions).sort(keys)
    if not len(table):
        raise UserError(f"--where {' '.join(map(repr, conditions))}: no point of {', '.join(files)} meets it")
    chosen = None
    if columns is not None:
        chosen = [table.resolve(name.strip(), "--columns") for name in columns.split(",")]
    if as_csv:
        return records.print_csv(table.take(range(min(limit or len(table), len(table)))), chosen, units)
    if as_json:
        return records.print_points_json(table.take(range(min(limit or len(table), len(table)))), curves)
    for file in opened:
        report.print_provenance(file.path, file.attributes)
    report.print_results(table.points, table.files, chosen, report.MANY if limit is None else limit)
    return None
