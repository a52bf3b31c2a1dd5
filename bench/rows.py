"""Rows of the suite's table: how long a contender takes beside a baseline that took turns with it."""

import statistics
import time
from dataclasses import asdict, dataclass

from common import cell, turns

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


@dataclass
class Row:
    """One ratio.

    part, setting : what is measured, and on what
    contender, baseline : names; ``baseline`` takes 1
    ratio : least time of the contender over least time of the baseline, the same work; None: not measured, see ``note``
    low, high : quartiles of the ratio over the rounds
    seconds : the contender's least time, of one ``unit``
    clock : "cpu" or "wall"
    note : what else there is to say
    """

    part: str
    setting: str
    contender: str
    baseline: str
    ratio: float | None
    low: float | None = None
    high: float | None = None
    seconds: float | None = None
    unit: str = ""
    clock: str = "cpu"
    note: str = ""

    def as_json(self):
        return asdict(self)


def missing(part, setting, contender, baseline, note):
    """A row for what cannot be measured here."""
    return Row(part, setting, contender, baseline, None, note=note)


def measured(part, setting, unit, contenders, seconds, work=None, clock="cpu", notes=None, least=3):
    """Rows of contenders (name -> function) that take turns, the first of them the baseline.

    work : name -> units of work in a call, 1 where not given
    notes : name -> note
    least : turns of every contender, slow ones included
    """
    work, notes = work or {}, notes or {}
    timer = time.thread_time if clock == "cpu" else time.perf_counter
    taken = {
        name: [each / work.get(name, 1) for each in times]
        for name, times in turns(contenders, seconds, timer, least).items()
    }
    baseline = next(iter(contenders))
    rows = []
    for name, times in taken.items():
        ratios = [each / base for each, base in zip(times, taken[baseline], strict=False)]  # round by round
        low, _, high = (
            statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else (None,) * 3
        )
        ratio, note = min(times) / min(taken[baseline]), notes.get(name, "")
        rows.append(Row(part, setting, name, baseline, ratio, low, high, min(times), unit, clock, note))
    return rows


def told(seconds):
    """A time with a unit that suits it."""
    if seconds is None:
        return "-"
    scale, unit = next(((s, u) for s, u in UNITS if seconds >= s), UNITS[-1])
    return f"{cell(seconds / scale)} {unit}"


HEAD = ("measured", "contender", "time", "over the first", "quartiles", "note")


def lines(rows):
    """The cells of rows, as in HEAD; what is measured is told once, in the row of its baseline."""
    cells, before = [], None
    for row in rows:
        what = row.part if row.setting == row.part else f"{row.part}: {row.setting}"
        time_ = "-" if row.seconds is None else f"{told(row.seconds)} {row.unit}".strip()
        first = row.contender == row.baseline
        ratio = "-" if row.ratio is None else "1" if first else cell(row.ratio)
        spread = "-" if row.low is None or first else f"{cell(row.low)} .. {cell(row.high)}"
        cells.append(["" if what == before else what, row.contender, time_, ratio, spread, row.note])
        before = what
    return cells
