"""Times of failure logs: numbers with a unit, dates in many spellings, local times with daylight saving.

A clock that is set back shows one hour twice, and one that is set forward skips an hour. ``LocalTime`` counts the times
that fall into either, so that a report can state what was made of them.
"""

import math
import re
from datetime import datetime, timedelta, timezone

from .errors import UserError

UNITS = {  # seconds
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "day": 86400.0,
}
_SPELLINGS = {
    "ns": "ns nanosecond nanoseconds",
    "us": "us usec microsecond microseconds",
    "ms": "ms msec millisecond milliseconds",
    "s": "s sec secs second seconds",
    "min": "min mins minute minutes",
    "h": "h hr hrs hour hours",
    "day": "d day days",
}
_UNIT_OF = {word: unit for unit, words in _SPELLINGS.items() for word in words.split()}

_DATES = ("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%m/%d/%y", "%d-%b-%Y", "%d %b %Y", "%b %d %Y")
_CLOCKS = (" %H:%M:%S", " %H:%M", " %H:%M:%S.%f", " %I:%M:%S %p", " %I:%M %p", "")
_LONGEST = 1e12  # seconds, 30,000 years
_SAMPLE = 2000  # rows a spelling is guessed from

# Numbers this large count from 1970: 1973 in seconds, milliseconds, microseconds, nanoseconds.
_EPOCH = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"), (1e8, "s"))


def unit_seconds(text, option):
    """Length [s] of a unit of time such as "min" or "days"; UserError names ``option`` and what is allowed."""
    unit = _UNIT_OF.get(str(text).strip().lower())
    if unit is None:
        raise UserError(f"{option} = {text!r}: must be one of {', '.join(UNITS)}")
    return UNITS[unit]


def header_unit(header):
    """The unit a column's name ends in ("time_days", "Down Time (min)"), one of ``UNITS``, or None."""
    words = [word for word in re.split(r"[^a-z0-9]+", header.lower()) if word]
    return _UNIT_OF.get(words[-1]) if len(words) > 1 else None


def number(text):
    """The text as a finite float, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def in_seconds(text, length):
    """A number of units of ``length`` seconds as seconds, or None if it is none or longer than any calendar."""
    value = number(text)
    return None if value is None or abs(value * length) > _LONGEST else value * length


def parse_iso(text):
    """A datetime from ISO 8601, or None; Python 3.10 knows neither "Z" nor one-digit hours."""
    text = text.strip()
    if text[-1:] in "Zz":
        text = text[:-1] + "+00:00"
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _by_format(form):
    def parse(text):
        try:
            return datetime.strptime(text.strip(), form)
        except ValueError:
            return None

    return parse


def guess_spelling(texts):
    """How the times of a column are written.

    Returns
    -------
    (name, parse, share, doubtful): the spelling's name ("number", "ISO 8601" or a strptime format), its function from
    text to float, datetime or None, the share of a sample that it reads, and whether day and month may be exchanged
    (both orders read the same share, and some dates differ between them).
    """
    sample = [text for text in texts if text.strip()][:_SAMPLE]
    if not sample:
        return "ISO 8601", parse_iso, 0.0, False

    def share(parse):
        return sum(parse(text) is not None for text in sample) / len(sample)

    best = ("ISO 8601", parse_iso, share(parse_iso))
    for name, parse in [("number", number)] + [(d + c, _by_format(d + c)) for d in _DATES for c in _CLOCKS]:
        if best[2] == 1.0:
            break
        # a spelling must read the first rows to be tried on all of them, but one bad row must not decide
        if not any(parse(text) is not None for text in sample[:20]):
            continue
        found = share(parse)
        if found > best[2]:
            best = (name, parse, found)
    name, parse, found = best
    doubtful = False
    if name.startswith("%m/%d/%Y"):
        other = _by_format("%d/%m/%Y" + name[len("%m/%d/%Y") :])
        doubtful = share(other) == found and any(parse(t) != other(t) for t in sample)
    return name, parse, found, doubtful


def guess_number_unit(values):
    """(unit, calendar): the unit of numeric times from their size; calendar if they count from 1970."""
    middle = sorted(values)[len(values) // 2] if values else 0.0
    for least, unit in _EPOCH:
        if middle >= least:
            return unit, True
    return "s", False


class LocalTime:
    """Local times of one zone as seconds since 1970, with counts of those that occur twice or never.

    Parameters
    ----------
    zone : name of a time zone such as "America/Denver", or "UTC"

    Attributes
    ----------
    twice : times that occurred twice (the clock was set back) and were taken as the first of the two
    settled : times that occurred twice, told apart by the outage's stated duration
    never : times that the clock skipped, read as if it had not been set forward: 2:30 is 3:30 then
    """

    def __init__(self, zone):
        self.name = zone
        self.zone = _zone(zone)
        self.twice = self.settled = self.never = 0

    def moments(self, when):
        """The moments [s] of a datetime by its own offset or the zone: (as its first occurrence, as its second).

        They differ only by a change of the clock: set back over it (the second is later) or forward (earlier).
        """
        if when.tzinfo is not None:
            first = when.timestamp()
            return first, first
        first = when.replace(tzinfo=self.zone).timestamp()
        if self.zone is timezone.utc:
            return first, first
        return first, when.replace(tzinfo=self.zone, fold=1).timestamp()

    def one(self, when):
        """Seconds since 1970 of a datetime on its own; doubtful ones are counted."""
        first, second = self.moments(when)
        self.twice += second > first
        self.never += second < first
        return first

    def pair(self, start, end, duration=None):
        """Start and end [s] of an outage; a stated duration [s] tells apart times that occurred twice.

        Without one, the end is the first of its two moments that is not before the start.
        """
        starts, ends = self.moments(start), self.moments(end)
        if starts[0] == starts[1] and ends[0] == ends[1]:
            return starts[0], ends[0]
        self.never += (starts[1] < starts[0]) + (ends[1] < ends[0])
        again = (starts[1] > starts[0]) + (ends[1] > ends[0])
        begins = starts if starts[1] > starts[0] else starts[:1]
        finishes = ends if ends[1] > ends[0] else ends[:1]
        if duration is None:
            self.twice += again
            late = len(finishes) == 2 and finishes[0] < begins[0]
            return begins[0], finishes[1] if late else finishes[0]
        self.settled += again
        # least misfit; the earlier of equals
        every = ((a, b) for a in begins for b in finishes)
        return min(every, key=lambda p: (abs(p[1] - p[0] - duration), p))


def _zone(name):
    if name.upper() == "UTC":
        return timezone.utc
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = available_timezones()
        if not known:
            raise UserError(
                f"--time-zone = {name!r}: this machine has no time zone data; pip install tzdata, or --time-zone UTC"
            ) from None
        import difflib

        close = difflib.get_close_matches(name, known, 1)
        told = f"did you mean {close[0]!r}?" if close else "must be a name such as 'America/Denver' or 'UTC'"
        raise UserError(f"--time-zone = {name!r}: unknown; {told}") from None


def duration_seconds(text, unit):
    """A duration [s] from a number of ``unit`` seconds or from "h:mm" or "h:mm:ss"; None if it is neither."""
    if number(text) is not None:
        return in_seconds(text, unit)
    found = re.fullmatch(r"\s*(\d+):([0-5]\d)(?::([0-5]\d))?\s*", text)
    if not found:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds).total_seconds()
