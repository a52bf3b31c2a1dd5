"""What a reader makes of a failure log, before anything is cleaned."""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class Outage(NamedTuple):
    """One failure: its start [s], its end [s] or None, and the unit that failed, or None."""

    start: float
    end: float | None
    unit: str | None


@dataclass
class Records:
    """A log as read.

    Attributes
    ----------
    kind : "csv", "lanl" or "infinitehbd"
    outages : list of Outage, in any order
    rows : rows read, before any was left out
    duplicates : rows left out because they repeat another in every column
    reading : what was read how, {what: how}; guesses say that they are
    left_out : Counter, why rows were left out -> how many
    noted : Counter, what was peculiar but kept -> how many
    warnings : list of str
    units : units that exist according to the file, or None
    origin : start of observation [s] according to the format, or None
    calendar : whether times count from 1970 (else from a start of their own)
    zone : name of the zone of local times
    """

    kind: str
    outages: list = field(default_factory=list)
    rows: int = 0
    duplicates: int = 0
    reading: dict = field(default_factory=dict)
    left_out: Counter = field(default_factory=Counter)
    noted: Counter = field(default_factory=Counter)
    warnings: list = field(default_factory=list)
    units: int | None = None
    origin: float | None = None
    calendar: bool = True
    zone: str = "UTC"


@dataclass
class Options:
    """How to read a log; everything may be left to guessing.

    Attributes
    ----------
    time, unit, end, duration, cause : names of columns of a CSV file
    time_unit : unit of numeric times and durations, e.g. "min"
    time_zone : zone of local times, e.g. "America/Denver"
    where : {column: value}: only rows with that value (case and outer blanks ignored)
    causes : only rows whose cause holds one of these texts (case ignored)
    keep_duplicates : whether rows that repeat another in every column are kept
    """

    time: str | None = None
    unit: str | None = None
    end: str | None = None
    duration: str | None = None
    cause: str | None = None
    time_unit: str | None = None
    time_zone: str | None = None
    where: dict = field(default_factory=dict)
    causes: tuple = ()
    keep_duplicates: bool = False

    def names_columns(self):
        """Whether a column was named, so that the file is to be read as plain CSV."""
        return any((self.time, self.unit, self.end, self.duration))

    def wants(self, cause):
        """Whether a failure of this cause is asked for."""
        return not self.causes or any(text.lower() in cause.lower() for text in self.causes)


def distinct(rows, records, keep):
    """Rows (hashable) without those that repeat an earlier one in every column; how many is counted."""
    records.rows += len(rows)
    if keep:
        return rows
    kept = list(dict.fromkeys(rows))
    if len(kept) < len(rows):
        records.duplicates = len(rows) - len(kept)
        records.left_out["exact duplicates of another row"] = records.duplicates
    return kept


def note_local(records, local):
    """Tell in the records what daylight saving made of the times read with a LocalTime."""
    for count, told in (
        (local.settled, "times in an hour that occurred twice (clock set back), told apart by the duration"),
        (local.twice, "times in an hour that occurred twice (clock set back), taken as the first"),
        (local.never, "times in an hour that the clock skipped, taken as an hour later on the clock"),
    ):
        if count:
            records.noted[told] += count
