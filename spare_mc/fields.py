"""Sections of typed, bounded keys: what a study file is checked by.

A section is a class whose attributes are made by :func:`key`; an instance holds the checked values::

    class Cluster(Section):
        groups = key(COUNT, required=True, ge=2, help="data-parallel groups N")

    Cluster(groups="1e3").groups    # 1000

A validation library would do as well, but takes a third of the time that a short run takes from the prompt to its
result.
"""

import math
from dataclasses import dataclass, field


class Refused(ValueError):
    """A value that a section does not take: ``key``, the value ``given`` (or an entry of it) and what is ``allowed``.

    ``choices``: what a name may be, where it may be one of some only; ``missing``: nothing was given for the key.
    """

    def __init__(self, message, key=None, given=None, choices=None, missing=False):
        super().__init__(message)
        self.key, self.given, self.choices, self.missing = key, given, choices, missing


@dataclass(frozen=True)
class Kind:
    """A type of values: ``check`` returns a value made fit, or raises ValueError with what is allowed."""

    name: str
    check: callable


@dataclass
class Field:
    """A key of a section; ``name`` is set by the class that has it."""

    kind: Kind
    default: object
    required: bool
    description: str
    flags: list | None  # on the command line; None for --name-of-the-key
    limits: dict = field(default_factory=dict)
    before: callable = None  # makes other spellings into what the kind takes
    name: str = ""

    def __set_name__(self, owner, name):
        self.name = name

    def check(self, value):
        """The value as the section holds it; raises Refused."""
        if value is None and not self.required and self.default is None:
            return None
        try:
            value = self.kind.check(self.before(value) if self.before else value)
            for limit, bound in self.limits.items():
                within, told = _LIMITS[limit]
                if not within(value, bound):
                    raise ValueError(f"must be {told} {bound}")
        except Refused as error:
            error.key = self.name
            raise
        except ValueError as error:
            raise Refused(str(error), self.name, value) from None
        return value


_LIMITS = {
    "ge": (lambda value, bound: value >= bound, "greater than or equal to"),
    "gt": (lambda value, bound: value > bound, "greater than"),
    "le": (lambda value, bound: value <= bound, "less than or equal to"),
    "lt": (lambda value, bound: value < bound, "less than"),
}


def key(kind, default=None, *, help, required=False, flags=None, before=None, **limits):
    """A key of a section: its kind, default, help text, flags, and limits ``ge``, ``gt``, ``le``, ``lt``."""
    unknown = set(limits) - set(_LIMITS)
    if unknown:
        raise TypeError(f"unknown limits: {', '.join(sorted(unknown))}")
    return Field(kind, default, required, help, flags, limits, before)


class Section:
    """Base of sections; instances do not change."""

    fields = {}

    def __init_subclass__(cls):
        cls.fields = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}

    def __init__(self, **values):
        for name in values:
            if name not in self.fields:
                raise Refused("no such key", name, values[name])
        for name, known in self.fields.items():
            if name in values:
                self.__dict__[name] = known.check(values[name])
            elif known.required:
                raise Refused("is missing", name, missing=True)
            else:
                default = known.default
                self.__dict__[name] = list(default) if isinstance(default, list) else default

    def __setattr__(self, name, value):
        raise AttributeError(f"{name}: a section does not change; see replaced")

    def replaced(self, **values):
        """A copy with other values."""
        return type(self)(**{**self.__dict__, **values})


# ---- kinds ------------------------------------------------------------------------------------------------------


def _count(value):
    """A whole number; 1e6 and "1_000_000" are accepted, true and 1.5 are not."""
    if isinstance(value, str):
        text = value.strip().replace("_", "")
        try:
            value = int(text) if text.lstrip("+-").isdigit() else float(text)
        except ValueError:
            raise ValueError("must be a whole number") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise ValueError("must be a whole number")
        value = value.__index__()  # NumPy's
    if not math.isfinite(value) or value != int(value):
        raise ValueError("must be a whole number")
    return int(value)


def _number(value):
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
            import pint

            try:
                value = float(pint.get_application_registry().Quantity(value).m_as("second"))
            except Exception:  # pint raises errors of many kinds, tokenizer errors among them
                raise ValueError(told + ' or "2 h"') from None
    if isinstance(value, bool):
        raise ValueError(told)
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise ValueError(told) from None
    if not value <= _LONGEST:  # NaN neither
        raise ValueError(f"must be less than or equal to {_LONGEST:.0f}")
    return value


_LONGEST = 1e11  # seconds, 3,000 years
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


def _flag(value):
    if isinstance(value, str):
        value = _WORDS.get(value.strip().lower())
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise ValueError("must be true or false")


def _text(value):
    if not isinstance(value, str):
        raise ValueError("must be text")
    return value


COUNT = Kind("count", _count)
NUMBER = Kind("number", _number)
SECONDS = Kind("seconds", seconds)
FLAG = Kind("flag", _flag)
TEXT = Kind("text", _text)


def one_of(names):
    """The kind of names of which one is taken."""

    def check(value):
        if value not in names:
            raise Refused(f"must be {' or '.join(names)}", given=value, choices=names)
        return value

    return Kind("choice", check)


def list_of(kind, least=0):
    """The kind of lists of at least so many values of a kind."""

    def check(value):
        if not isinstance(value, (list, tuple)):
            raise ValueError("must be a list")
        if len(value) < least:
            raise ValueError(f"must be a list of {least} or more")
        return [kind.check(entry) for entry in value]

    return Kind("list", check)


def table_of(kind):
    """The kind of tables, name -> value of a kind."""

    def check(value):
        if not isinstance(value, dict):
            raise ValueError("must be a table")
        return {_text(name): kind.check(entry) for name, entry in value.items()}

    return Kind("table", check)
