"""The failure data of Los Alamos National Laboratory, LA-UR-05-7318: 23 systems, 1996 to 2005.

Times are local, to the minute, without a zone; the laboratory keeps Mountain time. The column Down Time [min] is the
true duration: where it differs by an hour from the difference of the clock readings, the clock was changed in between.
"""

from datetime import datetime

from .trace_records import Outage, Records, distinct, note_local
from .trace_times import LocalTime, number

ZONE = "America/Denver"
CAUSES = ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software")
_NEEDED = {"system", "nodes", "nodenumz", "prob started", "prob fixed", "down time"}


def is_lanl(header):
    """Whether a CSV header (list of str) is that of the LANL release."""
    return {name.strip().lower() for name in header} >= _NEEDED


def read_lanl(header, rows, options):
    """Records of the LANL release.

    Parameters
    ----------
    header : list of str
    rows : list of tuples of str
    options : trace_records.Options; columns are known, so only zone, where, causes and duplicates are read
    """
    place = {name.strip().lower(): i for i, name in enumerate(header)}
    local = LocalTime(options.time_zone or ZONE)
    records = Records("lanl", zone=local.name)
    records.reading = {
        "time": "column 'Prob Started', month/day/year, local time",
        "end": "column 'Prob Fixed'; an hour that occurred twice is told apart by column 'Down Time' [min]",
        "unit": "columns 'System' and 'nodenumz'",
        "time zone": local.name
        + ("" if options.time_zone else " (assumed: the laboratory keeps Mountain time)"),
    }
    whole = [row for row in rows if len(row) >= len(header)]
    if len(whole) < len(rows):
        records.left_out["rows with too few columns"] += len(rows) - len(whole)
    records.rows = len(rows) - len(whole)
    whole = distinct(whole, records, options.keep_duplicates)
    nodes = {}
    for row in whole:
        cause = " ".join(
            f"{name} {row[place[name.lower()]]}" for name in CAUSES if row[place[name.lower()]].strip()
        )
        if not options.wants(cause):
            records.left_out["other causes"] += 1
            continue
        outage = _outage(row, place, local, records)
        if outage is None:
            continue
        records.outages.append(outage)
        nodes.setdefault(row[place["system"]], set()).add(row[place["nodes"]].strip())
    note_local(records, local)
    counts = [max((int(n) for n in found if n.isdigit()), default=None) for found in nodes.values()]
    # a selection by anything but the system may leave out nodes, and how many it leaves in is not in the file
    whole_systems = all(name.strip().lower() == "system" for name in options.where)
    if counts and None not in counts and whole_systems:
        records.units = sum(counts)
    if len(nodes) > 1:
        records.warnings.append(
            f"{len(nodes)} systems of different age and kind are pooled: choose one, e.g. --system 2"
        )
    return records


def _time(text):
    try:
        return datetime.strptime(text.strip(), "%m/%d/%Y %H:%M")
    except ValueError:
        return None


def _outage(row, place, local, records):
    start, end = _time(row[place["prob started"]]), _time(row[place["prob fixed"]])
    if start is None:
        records.left_out["no readable start"] += 1
        return None
    minutes = number(row[place["down time"]])
    if end is None:
        begin, finish = local.one(start), None
    else:
        begin, finish = local.pair(start, end, None if minutes is None else 60 * minutes)
    node = row[place["nodenumz"]].strip() or row[place.get("nodenum", place["nodenumz"])].strip()
    return Outage(begin, finish, f"{row[place['system']].strip()}:{node}" if node else None)
