"""Reading and cleaning failure logs: spellings, zones, duplicates, overlaps, what is told and what is refused."""

import bz2
import gzip
import json
import lzma
from datetime import datetime, timezone

import numpy as np
import pytest
from trace_tools import same, write

from spare_mc import traces
from spare_mc.errors import UserError
from spare_mc.trace_cleaning import clean
from spare_mc.trace_exposure import availability, checked_units, most_down, system_gaps, unit_gaps
from spare_mc.trace_records import Options
from spare_mc.trace_times import LocalTime, guess_spelling, header_unit


def utc(*parts):
    return datetime(*parts, tzinfo=timezone.utc).timestamp()


ROWS = [
    ("2024-01-01 00:00", "2024-01-01 01:00", "a", "gpu"),
    ("2024-01-03 00:00", "2024-01-03 04:00", "b", "nic"),
    ("2024-01-03 02:00", "2024-01-03 06:00", "a", "gpu"),
    ("2024-01-05 00:00", "2024-01-05 00:00", "a", "disk"),
]
HEADER = ("start", "end", "node", "cause")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_compression_is_told_from_the_content(tmp_path, pack):
    path = write(tmp_path / "plain.csv", HEADER, ROWS)
    packed = tmp_path / "log.anything"
    packed.write_bytes(pack(path.read_bytes()))
    assert traces.read(packed).outages == traces.read(path).outages


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_and_byte_order_marks(tmp_path, separator):
    path = tmp_path / "log.csv"
    path.write_text("\ufeff" + "\r\n".join(separator.join(row) for row in [HEADER, *ROWS]), encoding="utf-8")
    records = traces.read(path)
    assert len(records.outages) == 4 and records.outages[0].start == utc(2024, 1, 1)
    path.write_text("\n".join(separator.join(row) for row in [HEADER, *ROWS]), encoding="utf-16")
    assert len(traces.read(path).outages) == 4


def test_a_clean_log_by_hand(tmp_path):
    records = traces.read(write(tmp_path / "log.csv", HEADER, ROWS))
    assert records.reading["time"] == "column 'start' (guessed from its name), as ISO 8601"
    assert records.reading["time zone"].startswith("UTC (assumed")
    log = clean(records)
    hour = 3600.0
    assert log.length == 96 * hour and len(log.starts) == 4
    assert log.done == {"outages of no length: the failure counts": 1}
    assert most_down(log) == 2  # a and b from 2:00 to 4:00 on the third
    assert availability(log, 2) == pytest.approx(1 - 9 / 192)
    assert availability(log, 4) == pytest.approx(1 - 9 / 384)
    assert list(system_gaps(log).whole) == [48 * hour, 2 * hour, 46 * hour]
    gaps = unit_gaps(log, 3)
    assert sorted(gaps.whole) == [42 * hour, 49 * hour]  # up times of a; its 96 h less 5 h down
    assert sorted(gaps.first) == [0.0, 48 * hour] and list(gaps.never) == [96 * hour]
    assert sorted(gaps.cut) == [44 * hour]  # b; the window ends with a's last failure
    assert gaps.exposure == pytest.approx((91 + 92 + 96) * hour)
    assert gaps.exposure == pytest.approx(
        gaps.whole.sum() + gaps.cut.sum() + gaps.first.sum() + gaps.never.sum()
    )


def test_times_are_guessed_in_many_spellings():
    moment = datetime(2024, 12, 31, 23, 59)
    for text in ("2024-12-31T23:59", "2024-12-31 23:59:00", "12/31/2024 23:59", "31.12.2024 23:59", "31/12/2024 23:59",
                 "2024/12/31 23:59", "12/31/2024 11:59 PM", "31 Dec 2024 23:59"):  # fmt: skip
        name, parse, share, doubtful = guess_spelling([text, text])
        assert parse(text) == moment and share == 1.0 and not doubtful, name
    assert guess_spelling(["2024-01-01T00:00:00Z"])[1]("2024-01-01T00:00:00Z").timestamp() == utc(2024, 1, 1)
    assert guess_spelling(["1/2/2024 3:00", "5/6/2024 3:00"])[3]  # day or month first?
    assert not guess_spelling(["1/2/2024 3:00", "5/16/2024 3:00"])[3]
    assert guess_spelling(["5/1/2024 3:00", "16/5/2024 3:00"])[1]("5/1/2024 3:00").month == 1


@pytest.mark.parametrize(
    ("header", "value", "options", "seconds", "told"),
    [
        ("time_h", "2", {}, 7200.0, "h (from the column's name)"),
        ("time (days)", "2", {}, 172800.0, "day (from the column's name)"),
        ("time", "2", {"time_unit": "min"}, 120.0, "min (as given)"),
        ("time", "2", {}, 2.0, "s (assumed"),
        ("time", "1700000000", {}, 1.7e9, "s (guessed from their size"),
        ("time", "1700000000000", {}, 1.7e9, "ms (guessed from their size"),
    ],
)
def test_units_of_numbers(tmp_path, header, value, options, seconds, told):
    path = write(tmp_path / "log.csv", (header, "node"), [(value, "a"), (value, "b")])
    records = traces.read(path, Options(**options))
    assert {o.start for o in records.outages} == {seconds}
    assert told in records.reading["time"]
    assert records.calendar == (seconds > 1e8)


def test_header_units():
    assert (
        header_unit("Down Time (min)") == "min"
        and header_unit("t_ms") == "ms"
        and header_unit("days") is None
    )


def test_durations_take_their_own_unit(tmp_path):
    rows = [("2024-01-01 00:00", "a", "90"), ("2024-01-02 00:00", "a", ""), ("2024-01-03 00:00", "a", "x")]
    path = write(tmp_path / "log.csv", ("time", "host", "downtime_min"), rows)
    records = traces.read(path)
    assert [o.end and o.end - o.start for o in records.outages] == [5400.0, None, None]
    assert records.noted == {"durations that cannot be read, taken as missing": 1}
    assert clean(records).done == {"failures without an end: counted, with no down time": 2}
    rows = [("2024-01-01 00:00", "a", "1:30"), ("2024-01-02 00:00", "a", "0:00:05")]
    records = traces.read(write(path, ("time", "host", "downtime"), rows))
    assert [o.end - o.start for o in records.outages] == [5400.0, 5.0]


# ---- daylight saving: in Denver the clock went back at 2:00 on 31 October 2004, forward at 2:00 on 4 April 2004 ---


def minutes(start, end, zone="America/Denver", duration=None):
    form = "%m/%d/%Y %H:%M"
    local = LocalTime(zone)
    a, b = local.pair(datetime.strptime(start, form), datetime.strptime(end, form), duration)
    return (b - a) / 60, local


def test_outages_over_a_change_of_the_clock():
    assert minutes("10/31/2004 0:16", "10/31/2004 2:35")[0] == 199
    assert minutes("4/4/2004 1:29", "4/4/2004 3:01")[0] == 32
    assert minutes("10/31/2004 0:16", "10/31/2004 2:35", "UTC")[0] == 139
    assert minutes("10/31/2004 0:16", "10/31/2004 2:35", "Europe/Berlin")[0] == 139  # theirs was at 3:00


def test_hours_that_occur_twice_are_told_apart_by_the_duration():
    found, local = minutes("10/30/2004 23:35", "10/31/2004 1:02", duration=147 * 60)
    assert (found, local.settled, local.twice) == (147, 1, 0)
    found, local = minutes("10/30/2004 23:35", "10/31/2004 1:02", duration=87 * 60)
    assert (found, local.settled) == (87, 1)
    found, local = minutes("10/30/2004 23:35", "10/31/2004 1:02")
    assert (found, local.settled, local.twice) == (87, 0, 1)  # the first of the two
    found, local = minutes("10/31/2004 1:50", "10/31/2004 1:10")
    assert found == 20  # the end can only be the second


def test_hours_that_never_were_are_counted(tmp_path):
    rows = [("2004-04-04 02:30", "a"), ("2004-10-31 01:30", "a"), ("2004-12-01 00:00", "b")]
    path = write(tmp_path / "log.csv", ("time", "node"), rows)
    records = traces.read(path, Options(time_zone="America/Denver"))
    assert [o.start for o in records.outages] == [
        utc(2004, 4, 4, 9, 30),
        utc(2004, 10, 31, 7, 30),
        utc(2004, 12, 1, 7),
    ]
    assert sorted(records.noted.values()) == [1, 1] and any("skipped" in text for text in records.noted)
    assert records.reading["time zone"] == "America/Denver"


def test_offsets_in_the_log_need_no_zone(tmp_path):
    rows = [("2004-10-31T01:30:00-06:00", "a"), ("2004-10-31T01:30:00-07:00", "a")]
    records = traces.read(
        write(tmp_path / "log.csv", ("time", "node"), rows), Options(time_zone="Asia/Tokyo")
    )
    assert [o.start for o in records.outages] == [utc(2004, 10, 31, 7, 30), utc(2004, 10, 31, 8, 30)]
    assert not records.noted and "time zone" not in records.reading


# ---- cleaning --------------------------------------------------------------------------------------------------


def test_overlaps_are_merged_and_counted_once(tmp_path):
    rows = [
        (0, 100, "a"),
        (50, 120, "a"),
        (60, 70, "a"),
        (120, 130, "a"),
        (200, 200, "b"),
        (200, 210, "b"),
        (90, 95, ""),
    ]
    records = traces.read(write(tmp_path / "log.csv", ("start", "end", "unit"), rows))
    log = clean(records)
    assert log.outages["a"].tolist() == [[0, 120], [120, 130]] and log.outages["b"].tolist() == [[200, 210]]
    assert log.starts.tolist() == [0, 90, 120, 200] and log.listed == 7
    assert log.done["outages within another of their unit: merged, counted once"] == 3
    assert log.done["failures without a unit: in the system's gaps, in no unit's"] == 1
    assert clean(records, keep_overlaps=True).starts.tolist() == [0, 50, 60, 90, 120, 200, 200]
    assert most_down(log) == 1 and availability(log, 2) == 1 - 140 / 420


def test_impossible_and_missing_ends(tmp_path):
    rows = [(10, 5, "a"), (20, "", "a"), (30, "soon", "a"), ("x", 40, "a"), (50, 60, "a"), (1e300, 7, "a")]
    rows += [(70, 1e300, "a"), ("nan", "inf", "a")]
    records = traces.read(write(tmp_path / "log.csv", ("start", "end", "unit"), rows))
    assert records.left_out == {"no readable time": 3}
    assert records.noted == {"ends that cannot be read, taken as missing": 2}
    log = clean(records)
    assert log.starts.tolist() == [10, 20, 30, 50, 70]
    assert log.done["ends before their start: the failure counts, with no down time"] == 1
    assert log.done["failures without an end: counted, with no down time"] == 3


def test_windows_cut_outages_and_count_only_failures_within(tmp_path):
    rows = [(0, 10, "a"), (90, 120, "a"), (150, 160, "b"), (190, 250, "b"), (300, 310, "b")]
    log = clean(traces.read(write(tmp_path / "log.csv", ("start", "end", "unit"), rows)), 100.0, 200.0)
    assert log.starts.tolist() == [150, 190] and log.window == (100.0, 200.0)
    assert log.outages["a"].tolist() == [[100, 120]] and log.outages["b"].tolist() == [[150, 160], [190, 200]]
    assert log.done == {
        "outages before the window: left out": 1,
        "outages after the window: left out": 1,
        "outages that began before the window: down time only": 1,
    }
    gaps = unit_gaps(log, 2)
    assert gaps.whole.tolist() == [30] and gaps.first.tolist() == [50]
    assert gaps.cut.tolist() == [80]  # a after its repair, an age that is known
    assert gaps.exposure == 80 + 80


def test_order_and_repetition_of_rows_do_not_matter(tmp_path):
    rng = np.random.default_rng(11)
    for trial in range(20):
        starts = rng.integers(0, 500, 60)
        rows = [(int(s), int(s + rng.integers(-3, 40)), f"u{rng.integers(6)}") for s in starts]
        rows = list(dict.fromkeys(rows))
        first = clean(traces.read(write(tmp_path / "a.csv", ("start", "end", "unit"), rows)))
        mixed = [rows[i] for i in rng.permutation(len(rows))] + [
            rows[i] for i in rng.integers(0, len(rows), 15)
        ]
        records = traces.read(write(tmp_path / "b.csv", ("start", "end", "unit"), mixed))
        assert same(first, clean(records)), trial
        assert records.left_out == {"exact duplicates of another row": 15} and records.duplicates == 15
        kept = traces.read(tmp_path / "b.csv", Options(keep_duplicates=True))
        assert len(kept.outages) == len(mixed)


def test_down_together_against_counting_every_moment():
    from spare_mc.trace_records import Outage, Records

    rng = np.random.default_rng(5)
    for _ in range(20):
        outages = []
        for _ in range(80):
            start = float(rng.integers(0, 300))
            outages.append(Outage(start, start + float(rng.integers(0, 30)), f"u{rng.integers(25)}"))
        log = clean(Records("csv", outages))
        down = [len({o.unit for o in outages if o.start <= t < o.end}) for t in range(340)]
        assert most_down(log) == max(down)
        assert availability(log, 40) == pytest.approx(1 - sum(down) / (40 * log.length), abs=1e-12)


def test_selections(tmp_path):
    path = write(tmp_path / "log.csv", HEADER, ROWS)
    assert len(traces.read(path, Options(where={"NODE": "A"})).outages) == 3
    records = traces.read(path, Options(causes=("GPU", "nic")))
    assert len(records.outages) == 3 and records.left_out == {"other causes": 1}
    assert len(traces.read(path, Options(where={"node": "a"}, causes=("disk",))).outages) == 1


def test_units_that_exist(tmp_path):
    log = clean(traces.read(write(tmp_path / "log.csv", HEADER, ROWS)))
    assert checked_units(log, 10, None) == (10, "as stated")
    assert checked_units(log, None, 5) == (5, "according to the log")
    assert checked_units(log, None, None)[0] == 2
    with pytest.raises(UserError, match="--units = 1: 2 units appear"):
        checked_units(log, 1, None)


# ---- look-alikes of the two releases, written by hand ----------------------------------------------------------

_LANL_HEADER = (
    "System,machine type,nodes,procstot,procsinnode,nodenum,nodenumz,node install,node prod,node decom,fru type,mem,"
    "cputype,memtype,num intercon,purpose,Prob Started,Prob Fixed,Down Time,Facilities,Hardware,Human Error,Network,"
    "Undetermined,Software,Same Event"
)
LANL_HEADER = _LANL_HEADER.split(",")


def lanl_row(system, node, start, end, down, cause="Hardware", what="CPU", nodes=4):
    filled = {"System": system, "nodes": nodes, "nodenum": node + 1, "nodenumz": node, cause: what}
    filled.update({"Prob Started": start, "Prob Fixed": end, "Down Time": down, "Same Event": "No"})
    return tuple(filled.get(name, "") for name in LANL_HEADER)


def test_lanl_rows(tmp_path):
    rows = [
        lanl_row(7, 0, "10/30/2004 23:35", "10/31/2004 1:02", 147),
        lanl_row(7, 1, "10/31/2004 1:30", "10/31/2004 1:40", 10, "Network", "Switch"),
        lanl_row(7, 1, "10/31/2004 1:30", "10/31/2004 1:40", 10, "Network", "Switch"),
        lanl_row(8, 2, "1/5/2004 10:00", "1/5/2004 11:00", 60, nodes=2),
    ]
    path = write(tmp_path / "lanl.csv", LANL_HEADER, rows)
    records = traces.read(path)
    assert (records.kind, records.rows, records.units, records.zone) == ("lanl", 4, 6, "America/Denver")
    assert records.left_out == {"exact duplicates of another row": 1} and len(records.warnings) == 1
    assert {o.unit for o in records.outages} == {"7:0", "7:1", "8:2"}
    assert [(o.end - o.start) / 60 for o in records.outages] == [147, 10, 60]
    assert sum("told apart" in text for text in records.noted) == 1
    one = traces.read(path, Options(where={"System": "7"}, causes=("switch",)))
    assert (len(one.outages), one.units, one.warnings) == (1, 4, [])
    assert traces.read(path, Options(where={"System": "7", "nodenumz": "1"})).units is None
    # naming a column makes it a plain CSV
    assert traces.read(path, Options(time="Prob Started")).kind == "csv"


def event(node, time, what, fault="GPU lost"):
    return {
        "node_id": node,
        "event_time": time,
        "event_type": what,
        "fault_type": {"Level": "Hardware", "Desc": fault},
    }


def test_infinitehbd_events(tmp_path):
    events = [
        event("a", 3.0, "fault_end"),
        event("a", 1.0, "fault_start"),
        event("a", 2.0, "fault_start", "NIC"),
        event("a", 4.0, "fault_end", "NIC"),
        event("a", 4.0, "fault_end", "NIC"),
        event("b", 5.0, "fault_start"),
        event("b", 5.0, "fault_end"),
        event("b", 6.0, "fault_end"),
        event("b", 7.0, "fault_start"),
        event("c", "soon", "fault_start"),
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(events))
    records = traces.read(path)
    assert records.left_out == {
        "exact duplicates of another row": 1,
        "ends without a start": 1,
        "no readable time": 1,
    }
    day = 86400.0
    found = sorted((o.unit, o.start / day, None if o.end is None else o.end / day) for o in records.outages)
    assert found == [("a", 1.0, 3.0), ("a", 2.0, 4.0), ("b", 5.0, 5.0), ("b", 7.0, None)]
    log = clean(records)
    assert log.window == (0.0, 7 * day) and log.outages["a"].tolist() == [[day, 4 * day]]
    assert traces.read(path, Options(causes=("nic",))).left_out["events of other causes"] == 7


# ---- refusals: one line each that names what is wrong -----------------------------------------------------------

BAD = [
    (b"", {}, "is empty"),
    (b"start,node\n", {}, "no rows under its header"),
    (b"1,2\n3,4\n", {}, "no header"),
    (b"\x00\x01\x02" * 99, {}, "binary"),
    (b"\x1f\x8bnothing", {}, "damaged"),
    (b"\xfd7zXZ\x00nothing", {}, "damaged"),
    (b"BZhnothing", {}, "damaged"),
    (b"[{]", {}, "not valid JSON"),
    (b'[{"a": 1}]', {}, "no failure log"),
    (b"[]", {}, "no failure log"),
    (b'{"a": 1}', {}, "no failure log"),
    (b"a,b\nx,y\n", {}, "--time"),
    (b"time,node\nnever,a\nsoon,b\n", {}, "'never'"),
    (b"time,node\n1,a\n", {"time": "when"}, "--time = 'when'"),
    (b"time,node\n1,a\n", {"unit": "host"}, "--unit = 'host'"),
    (b"time,node\n1,a\n", {"time_unit": "weeks"}, "--time-unit = 'weeks'"),
    (b"time,node\n2024-01-01,a\n", {"time_zone": "America/Denverr"}, "America/Denver'"),
    (b"time,node\n2024-01-01,a\n", {"time_zone": "../etc"}, "--time-zone"),
    (b"time,node\n1,a\n", {"where": {"system": "2"}}, "--where system"),
    (b"time,node\n1,a\n", {"where": {"node": "b"}}, "the column holds a"),
    (b"time,node\n1,a\n", {"causes": ("gpu",)}, "--cause-column"),
]


@pytest.mark.parametrize(("content", "options", "told"), BAD)
def test_what_is_no_log_is_refused_in_a_line(tmp_path, content, options, told):
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        traces.read(path, Options(**options))
    assert told in str(caught.value) and "\n" not in str(caught.value)


def test_nothing_left_is_refused(tmp_path):
    path = write(tmp_path / "log.csv", HEADER, ROWS)
    with pytest.raises(UserError, match="no failure is left to look at: 4 other causes"):
        clean(traces.read(path, Options(causes=("fan",))))
    with pytest.raises(UserError, match="no failure lies in the window"):
        clean(traces.read(path), utc(2024, 1, 3, 7), utc(2024, 1, 4))
    with pytest.raises(UserError, match="window of observation is empty"):
        clean(traces.read(path), utc(2025, 1, 1))
    with pytest.raises(UserError, match="cannot be read"):
        traces.read(tmp_path / "missing.csv")
    with pytest.raises(UserError, match="is a folder"):
        traces.read(tmp_path)
    records = traces.read(path)
    with pytest.raises(UserError, match="--from = 'soon'"):
        traces.moment("soon", records, "--from")
