"""The figures of the two published traces; skipped where the traces are not at hand."""

import csv
import lzma
from datetime import datetime

import pytest
from trace_tools import HBD, LANL, published

from spare_mc import fits, traces
from spare_mc.trace_cleaning import clean
from spare_mc.trace_exposure import availability, most_down, system_gaps, unit_gaps
from spare_mc.trace_records import Options

pytestmark = published


def lanl(zone=None, keep=False):
    options = Options(where={"System": "2"}, keep_duplicates=keep, time_zone=zone)
    records = traces.read(LANL, options)
    return records, clean(records, traces.moment("2000-01-01", records, "--from"), keep_overlaps=keep)


def test_lanl_system_2_as_listed():
    """Weibull shape 0.787 with zero gaps floored at a second, 0.823 without: naive clock; the true one to 1e-3."""
    records, log = lanl("UTC", keep=True)
    assert (len(log.starts), len(log.outages), records.units) == (3117, 49, 49)
    shapes = fits.shapes_as_listed(log, 1.0)
    assert shapes["weibull_shape_floor"] == pytest.approx(0.787, abs=5e-4)
    assert shapes["weibull_shape_drop"] == pytest.approx(0.823, abs=5e-4)
    true = fits.shapes_as_listed(lanl(keep=True)[1], 1.0)
    assert true["weibull_shape_floor"] == pytest.approx(0.787, abs=1e-3)
    assert true["weibull_shape_drop"] == pytest.approx(0.823, abs=1e-3)
    assert true["zero_gaps"] == shapes["zero_gaps"] == 30


def test_lanl_system_2_cleaned():
    records, log = lanl()
    assert records.left_out["exact duplicates of another row"] == 6  # of the system, of all years
    assert (log.listed, len(log.starts)) == (3115, 3109)
    report = fits.fit_log(log, records, fits.Choices(repeats=0))
    assert report.levels["system"].fits["weibull"].shape == pytest.approx(0.79, abs=0.005)
    assert report.levels["system"].zero_gaps == 28
    told = " ".join(report.warnings)
    assert "bursts" in told and "rarer" in told and "different rates" in told


def test_lanl_durations_over_changes_of_the_clock():
    """24 rows of the release differ by 60 minutes from naive subtraction; with the zone, none does."""
    with lzma.open(LANL, "rt") as file:
        rows = list(csv.DictReader(file))
    form = "%m/%d/%Y %H:%M"

    def naive(row):
        return datetime.strptime(row["Prob Fixed"], form) - datetime.strptime(row["Prob Started"], form)

    changed = [row for row in rows if abs(naive(row).total_seconds() / 60 - float(row["Down Time"])) == 60]
    assert len(changed) == 24
    records = traces.read(LANL, Options(keep_duplicates=True))
    assert len(records.outages) == len(rows) == 23_739
    off = [
        (o.end - o.start) / 60 - float(row["Down Time"]) for o, row in zip(records.outages, rows, strict=True)
    ]
    assert max(abs(x) for x in off) <= 1  # some rows are a minute off
    (found,) = (
        o
        for o, row in zip(records.outages, rows, strict=True)
        if (row["Prob Started"], row["Prob Fixed"]) == ("10/31/2004 0:16", "10/31/2004 2:35")
    )
    assert found.end - found.start == 199 * 60


def test_infinitehbd():
    records = traces.read(HBD)
    assert len(records.outages) == 584 and not records.left_out
    log = clean(records)
    assert (log.listed, len(log.starts), len(log.outages)) == (584, 582, 231)
    assert log.done["outages within another of their unit: merged, counted once"] == 2
    assert log.length / 86400 == pytest.approx(348.98, abs=0.005)
    assert availability(log, 400) == pytest.approx(0.97684, abs=2e-5)
    assert most_down(log) == 35
    gaps = unit_gaps(log, 400)
    assert len(gaps.never) == 169 and gaps.failures == 582
    assert gaps.exposure == pytest.approx(availability(log, 400) * 400 * log.length)
    assert len(system_gaps(log).whole) == 581
