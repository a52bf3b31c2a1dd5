"""Failure logs: reading them, whatever their format; ``spare_mc.fits`` fits laws to what comes out.

The steps, each a module of its own: ``trace_files`` (compression, text), ``trace_csv``, ``trace_lanl`` and
``trace_infinitehbd`` (formats), ``trace_times`` (spellings, time zones), ``trace_cleaning`` (overlaps, window) and
``trace_exposure`` (up time, gaps).
"""

from .errors import UserError
from .trace_csv import column, parse_csv, read_csv, selected
from .trace_files import parse_json, read_text
from .trace_infinitehbd import is_infinitehbd, read_infinitehbd, refuse
from .trace_lanl import is_lanl, read_lanl
from .trace_records import Options, Records
from .trace_times import LocalTime, number, parse_iso

__all__ = ["Options", "Records", "moment", "read"]


def read(path, options=None):
    """Read a failure log; its format is told from its content.

    Parameters
    ----------
    path : CSV or JSON, plain or compressed by gzip, xz or bzip2
    options : Options; naming a column makes any CSV a generic one

    Returns Records; UserError, one line, for a file that is no log of failures.
    """
    options = options or Options()
    text = read_text(path)
    if text.lstrip()[:1] in "[{":
        value = parse_json(text, path)
        if not is_infinitehbd(value):
            raise UserError(
                f"{path}: this JSON is no failure log: a list of events with node_id, event_time, event_type"
            )
        refuse(options)
        return read_infinitehbd(value, options)
    header, rows = parse_csv(text, path)
    for name in options.where:
        column(header, name, f"--where {name}", path)
    kept = selected(header, rows, options.where, path)
    lanl = is_lanl(header) and not options.names_columns()
    records = read_lanl(header, kept, options) if lanl else read_csv(header, kept, options, path)
    records.rows += len(rows) - len(kept)
    if len(kept) < len(rows):
        told = ", ".join(f"{name} = {value}" for name, value in options.where.items())
        records.left_out[f"not of {told}"] = len(rows) - len(kept)
    return records


def moment(text, records, option):
    """A moment [s] on the log's own time scale: a date in its zone, or a number in seconds or "so many days".

    UserError names ``option``.
    """
    if records.calendar:
        when = parse_iso(text)
        if when is not None:
            return LocalTime(records.zone).one(when)
        if number(text) is not None:
            return number(text)
        raise UserError(f"{option} = {text!r}: must be a date such as 2000-01-01 or '2000-01-01 12:30'")
    from .spellings import seconds

    try:
        return seconds(text)
    except ValueError as error:
        raise UserError(f"{option} = {text!r}: this log's times have no dates; {error}") from None
