"""What a value may be written as, beyond what a validation library reads: 1e6 for a whole number, "5 min" for 300.

Each function returns the plain value, or raises ValueError with what is allowed; ``SPELLED`` has the one of each type.
"""

import math
import re
from typing import NewType

Seconds = NewType("Seconds", float)  # a duration
Seed = NewType("Seed", int)  # a whole number of 64 bits
_LONGEST = 1e11  # seconds, 3,000 years
_YEAR = 365.25 * 86400.0  # Julian, as astronomers count
_UNITS = {
    name: length
    for length, names in (
        (1e-9, "ns nanosecond nanoseconds"),
        (1e-6, "us µs μs microsecond microseconds"),
        (1e-3, "ms millisecond milliseconds"),
        (1.0, "s sec secs second seconds"),
        (60.0, "min mins minute minutes"),
        (3600.0, "h hr hrs hour hours"),
        (86400.0, "d day days"),
        (7 * 86400.0, "week weeks"),
        (_YEAR / 12, "month months"),
        (_YEAR, "a yr year years"),
    )
    for name in names.split()
}
_DURATION = re.compile(r"(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)\s*([^\W\d_]+)")
_WORDS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


def whole(value):
    """A whole number; 1e6 and "1_000_000" are accepted, true and 1.5 are not."""
    if isinstance(value, str):
        text = value.strip().replace("_", "")
        try:
            value = int(text) if text.lstrip("+-").isdigit() else float(text)
        except ValueError:
            raise ValueError("must be a whole number") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        try:
            value = None if isinstance(value, bool) else value.__index__()  # NumPy's
        except (AttributeError, TypeError):
            value = None
    if value is None or not math.isfinite(value) or value != int(value):
        raise ValueError("must be a whole number")
    return int(value)


def seed(value):
    """A whole number below 2**64, a limit that msgspec has not: its own are of 63 bits."""
    value = whole(value)
    if value >= 2**64:
        raise ValueError(f"must be less than {2**64}")
    return value


def number(value):
    """A finite number, from text too."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise ValueError("must be a number") from None
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


def seconds(value):
    """A duration in seconds from a number or from words such as "5 min", "64 s", "2 h", "3 days"."""
    told = 'must be a number of seconds or words such as "5 min"'
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = _in_words(value, told + ' or "1 h 30 min"')
    if isinstance(value, bool):
        raise ValueError(told)
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise ValueError(told) from None
    if not value <= _LONGEST:  # NaN neither
        raise ValueError(f"must be less than or equal to {_LONGEST:.0f}")
    return value


def _in_words(text, told):
    """Numbers with units, added up: "2 h", "1 h 30 min"."""
    parts = _DURATION.findall(text)
    known = all(unit in _UNITS for _, unit in parts)
    if not parts or not known or "".join(f"{n}{u}" for n, u in parts) != re.sub(r"\s+", "", text):
        raise ValueError(told)
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def flag(value):
    """True or False, from yes, on, 1 and their opposites too."""
    if isinstance(value, str):
        value = _WORDS.get(value.strip().lower())
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise ValueError("must be true or false")


SPELLED = {int: whole, Seed: seed, float: number, Seconds: seconds, bool: flag}
