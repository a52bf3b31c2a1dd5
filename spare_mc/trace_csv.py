"""Failure logs as CSV with a header: columns named by the user, or guessed and told."""

import csv
import io
import re

from .errors import UserError
from .trace_records import Outage, Records, distinct, note_local
from .trace_times import (
    LocalTime,
    duration_seconds,
    guess_number_unit,
    guess_spelling,
    header_unit,
    in_seconds,
    number,
    unit_seconds,
)

# Names that columns go by, the surest first; compared without case, blanks and a unit at the end
_NAMES = {
    "time": "failuretime failtime faulttime starttime start started begin failedat eventtime timestamp time datetime "
    "date occurred",
    "unit": "unit node nodeid nodename host hostname server serverid machine machineid gpu gpuid device deviceid "
    "component",
    "end": "endtime end ended finish fixed repaired repairedat recovered recoveredat restored resolved stop stoptime",
    "duration": "duration downtime outage repairtime timetorepair ttr",
    "cause": "cause reason type faulttype failuretype category rootcause error",
}


def parse_csv(text, path):
    """(header, rows): list of str and list of tuples of str, blank lines left out; UserError if there is no table."""
    try:
        dialect = csv.Sniffer().sniff(text[:20_000].split("\n", 1)[0], ",;\t|")
        separator = dialect.delimiter
    except csv.Error:
        separator = ","
    try:
        rows = [
            tuple(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if any(row)
        ]
    except csv.Error as error:
        raise UserError(f"{path}: not readable as CSV: {error}") from None
    if len(rows) < 2:
        raise UserError(
            f"{path}: holds no rows under its header; a failure log needs a header and a row a failure"
        )
    return [name.strip() for name in rows[0]], rows[1:]


def selected(header, rows, where, path):
    """The rows whose columns hold the values asked for; UserError for an unknown column or a value no row has."""
    for name, value in where.items():
        at = column(header, name, f"--where {name}", path)
        found = [row for row in rows if len(row) > at and row[at].strip().lower() == value.strip().lower()]
        if not found:
            known = sorted({row[at].strip() for row in rows if len(row) > at})
            told = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
            raise UserError(f"--where {name}={value}: no row has it; the column holds {told}")
        rows = found
    return rows


def column(header, name, option, path):
    """Index of a named column (case ignored); UserError naming the option and the columns there are."""
    plain = [h.lower() for h in header]
    if name.strip().lower() not in plain:
        raise UserError(f"{option} = {name!r}: {path} has no such column; it has {', '.join(header)}")
    return plain.index(name.strip().lower())


def _plain(name):
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]
    if header_unit(name):
        words = words[:-1]
    return "".join(words)


def _guess(header, what):
    plain = [_plain(name) for name in header]
    return next((plain.index(name) for name in _NAMES[what].split() if name in plain), None)


def _columns(header, rows, options, path, reading):
    """{what: index or None}; tells in ``reading`` where each came from."""
    at = {}
    for what in _NAMES:
        named = getattr(options, what)
        if named is not None:
            at[what] = column(header, named, f"--{what.replace('cause', 'cause-column')}", path)
            reading[what] = f"column {header[at[what]]!r}"
            continue
        found = _guess(header, what)
        told = "guessed from its name"
        if found is None and what == "time":
            found, told = _guess_time_by_content(header, rows), "guessed: its values read as times"
        if found in [index for index in at.values() if index is not None]:
            found = None
        at[what] = found
        if found is not None:
            reading[what] = f"column {header[found]!r} ({told})"
    if at["time"] is None:
        raise UserError(
            f"{path}: no column of times found: name it with --time; columns are {', '.join(header)}"
        )
    if at["end"] is not None and at["duration"] is not None and options.duration and not options.end:
        at["end"] = None  # the one that was named decides
        reading.pop("end", None)
    if not options.causes:
        reading.pop("cause", None)
    elif at["cause"] is None:
        raise UserError(
            f"--cause = {options.causes[0]!r}: {path} has no column of causes to be found: name it with "
            f"--cause-column; columns are {', '.join(header)}"
        )
    return at


def _guess_time_by_content(header, rows):
    for index in range(len(header)):
        texts = [row[index] for row in rows[:500] if len(row) > index]
        name, _, share, _ = guess_spelling(texts)
        if name != "number" and share > 0.9:
            return index
    return None


def read_csv(header, rows, options, path):
    """Records of a CSV log.

    Parameters
    ----------
    header : list of str
    rows : list of tuples of str
    options : trace_records.Options
    path : named in errors

    Returns Records; UserError if a column is not there, or most of the times cannot be read.
    """
    if any(number(name) is not None for name in header):
        raise UserError(
            f"{path}: the first line, {', '.join(header)!r:.60}, is no header: columns need names"
        )
    records = Records("csv")
    at = _columns(header, rows, options, path, records.reading)
    rows = distinct(rows, records, options.keep_duplicates)
    texts = [row[at["time"]] if len(row) > at["time"] else "" for row in rows]
    spelling, parse, share, doubtful = guess_spelling(texts)
    if share < 0.5:
        example = next((text for text in texts if text.strip() and parse(text) is None), "")
        raise UserError(
            f"{path}: column {header[at['time']]!r} holds no times that can be read, e.g. {example!r}: allowed are "
            "ISO 8601, dates such as 12/31/2024 23:59, or numbers with --time-unit"
        )
    if doubtful:
        records.warnings.append("day and month cannot be told apart in these dates: read as month/day/year")
    if spelling == "number":
        _read_numbers(records, rows, at, header, options)
    else:
        _read_dates(records, rows, at, header, options, spelling, parse)
    return records


def _cells(row, at, what):
    index = at[what]
    return row[index].strip() if index is not None and index < len(row) else ""


def _wanted(records, rows, at, options):
    for row in rows:
        if options.wants(_cells(row, at, "cause")):
            yield row
        else:
            records.left_out["other causes"] += 1


def _duration_unit(header, at, options, records):
    unit = header_unit(header[at["duration"]])
    told = "from the column's name"
    if unit is None:
        unit, told = (
            (options.time_unit, "as given") if options.time_unit else ("s", "assumed; say --time-unit")
        )
    records.reading["duration"] += f", in {unit} ({told})"
    return unit_seconds(unit, "--time-unit")


def _end(records, row, at, start, length):
    """The end by the row's duration, or None; what is no duration is counted."""
    text = _cells(row, at, "duration")
    if not text:
        return None
    duration = duration_seconds(text, length)
    if duration is None:
        records.noted["durations that cannot be read, taken as missing"] += 1
        return None
    return start + duration


def _read_numbers(records, rows, at, header, options):
    values = [v for v in (number(_cells(row, at, "time")) for row in rows) if v is not None]
    guessed, calendar = guess_number_unit(values)
    unit, told = header_unit(header[at["time"]]), "from the column's name"
    if options.time_unit:
        unit, told = options.time_unit, "as given"
    elif calendar and unit is None:
        unit, told = guessed, "guessed from their size: since 1970"
    elif unit is None:
        unit, told = "s", "assumed; say --time-unit"
    length = unit_seconds(unit, "--time-unit")
    records.calendar = calendar and 1e8 <= sorted(values)[len(values) // 2] * length < 1e10
    records.reading["time"] += f", numbers in {unit} ({told})"
    if at["end"] is not None:
        records.reading.pop("duration", None)  # exact numbers need no second opinion
    elif at["duration"] is not None:
        # a duration without a unit of its own is in that of the times
        own = header_unit(header[at["duration"]]) or unit
        records.reading["duration"] += f", in {own}"
        lasting = unit_seconds(own, "--time-unit")
    for row in _wanted(records, rows, at, options):
        start = in_seconds(_cells(row, at, "time"), length)
        if start is None:
            records.left_out["no readable time"] += 1
            continue
        end = None
        if at["end"] is not None:
            text = _cells(row, at, "end")
            end = in_seconds(text, length)
            if text and end is None:
                records.noted["ends that cannot be read, taken as missing"] += 1
        elif at["duration"] is not None:
            end = _end(records, row, at, start, lasting)
        records.outages.append(Outage(start, end, _cells(row, at, "unit") or None))


def _read_dates(records, rows, at, header, options, spelling, parse):
    local = LocalTime(options.time_zone or "UTC")
    records.zone = local.name
    records.reading["time"] += f", as {spelling}"
    lasting = None
    if at["duration"] is not None:
        lasting = _duration_unit(header, at, options, records)
    end_parse = parse
    if at["end"] is not None:
        end_parse = guess_spelling([_cells(row, at, "end") for row in rows])[1]
        if end_parse is number:
            end_parse = parse  # an empty column, or numbers: nothing that dates can be paired with
    naive = False
    for row in _wanted(records, rows, at, options):
        when = parse(_cells(row, at, "time"))
        if when is None:
            records.left_out["no readable time"] += 1
            continue
        naive = naive or when.tzinfo is None
        text = _cells(row, at, "end")
        until = end_parse(text) if text else None
        if text and until is None:
            records.noted["ends that cannot be read, taken as missing"] += 1
        try:
            if until is not None:
                stated = None if lasting is None else duration_seconds(_cells(row, at, "duration"), lasting)
                start, end = local.pair(when, until, stated)
            else:
                start = local.one(when)
                end = None if lasting is None else _end(records, row, at, start, lasting)
        except (OverflowError, ValueError, OSError):
            records.left_out["times outside the calendar"] += 1
            continue
        records.outages.append(Outage(start, end, _cells(row, at, "unit") or None))
    if naive:
        told = "" if options.time_zone else " (assumed: the times state none; say --time-zone)"
        records.reading["time zone"] = local.name + told
    note_local(records, local)
