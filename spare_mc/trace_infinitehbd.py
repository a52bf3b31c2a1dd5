"""The fault trace of InfiniteHBD (StepFun): a JSON list of fault starts and ends, in days from the trace's start."""

from collections import deque

from .errors import UserError
from .trace_records import Outage, Records, distinct
from .trace_times import unit_seconds

_KEYS = {"node_id", "event_time", "event_type"}


def is_infinitehbd(value):
    """Whether a JSON value is a list of events of this format."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(e, dict) for e in value)
        and set(value[0]) >= _KEYS
    )


def read_infinitehbd(value, options):
    """Records of the trace; a start is matched with the next end of the same node and fault, in order of time."""
    length = unit_seconds(options.time_unit, "--time-unit") if options.time_unit else 86400.0
    records = Records("infinitehbd", origin=0.0, calendar=False)
    records.reading = {
        "time": "event_time, in "
        + (options.time_unit or "days (the format's unit)")
        + " from the start of the trace",
        "end": "the next fault_end of the same node and fault",
        "unit": "node_id",
    }
    rows = distinct([_row(event) for event in value], records, options.keep_duplicates)
    # a start goes before an end of the same moment, so that a fault of no length finds its own end
    rows.sort(key=lambda row: (row[1] is None, row[1] or 0.0, row[2] != "fault_start", row))
    open_faults = {}
    for node, time, what, fault in rows:
        if not options.wants(fault):
            records.left_out["events of other causes"] += 1
            continue
        if time is None:
            records.left_out["no readable time"] += 1
        elif what == "fault_start":
            open_faults.setdefault((node, fault), deque()).append(time * length)
        elif what == "fault_end":
            waiting = open_faults.get((node, fault))
            if waiting:
                records.outages.append(Outage(waiting.popleft(), time * length, node or None))
            else:
                records.left_out["ends without a start"] += 1
        else:
            records.left_out["neither fault_start nor fault_end"] += 1
    for (node, _), waiting in open_faults.items():
        records.outages.extend(Outage(time, None, node or None) for time in waiting)
    return records


def _row(event):
    time = event.get("event_time")
    if isinstance(time, bool) or not isinstance(time, (int, float)) or not abs(time) < 1e9:
        time = None
    fault = event.get("fault_type") or {}
    text = (
        " / ".join(str(fault[k]) for k in ("Level", "Class", "Desc") if k in fault)
        if isinstance(fault, dict)
        else str(fault)
    )
    return (str(event.get("node_id") or ""), time, str(event.get("event_type")), text)


def refuse(options):
    """UserError for options that this format has no columns for."""
    if options.where:
        name = next(iter(options.where))
        raise UserError(f"--where {name}: the InfiniteHBD trace has no columns; --cause selects its faults")
