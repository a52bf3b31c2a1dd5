"""Points of results files as CSV and JSON, for machines."""

from .commands.common import print_json


def print_csv(table, columns=None, units=False):
    """Print points as CSV (RFC 4180): a heading, then a line a point; an empty field where a point has no value.

    Parameters
    ----------
    table : selection.Table
    columns : resolved columns; all of them if None
    units : whether headings name units, as ``name [unit]``
    """
    import csv
    import sys

    columns = columns or table.columns
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(
        f"{key} [{table.unit(key)}]" if units and table.unit(key) not in ("1", key) else key
        for key in columns
    )
    writer.writerows(zip(*(map(_field, table.column(key)) for key in columns), strict=True))


def _field(value):
    """A value as CSV text: numbers in full, truth in small letters, lists with blanks between."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, list) else value


def print_points_json(table, curves=True):
    """Print the points of a selection.Table as JSON objects, each with its file where there are several."""
    records = [point.as_json(curves) for point in table.points]
    if table.files:
        records = [{"file": file, **record} for file, record in zip(table.files, records, strict=True)]
    print_json(records)
