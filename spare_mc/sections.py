"""Sections of a study as msgspec structs: their keys, and how a refused value is told.

Types and limits are msgspec's. Before it checks them, values are put as it takes them (``spellings``).
"""

from functools import lru_cache, partial
from typing import Annotated, Literal, NamedTuple, get_args, get_origin

import msgspec

from .spellings import SPELLED


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of sections; their annotations are made by ``key`` and ``optional``."""


def key(kind, help, *, flags=None, before=None, **limits):
    """The annotation of a key: its type, help text, flags and limits as of ``msgspec.Meta``.

    flags : on the command line, in place of --name-of-the-key
    before : a function that puts further spellings right, before those that every value of the type may have
    """
    return Annotated[kind, msgspec.Meta(description=help, extra={"flags": flags, "before": before}, **limits)]


def optional(*arguments, **options):
    """The annotation of a key that may be left out."""
    return key(*arguments, **options) | None


class Refused(ValueError):
    """A value that a section does not take: ``key``, the value ``given`` (or an entry of it) and what is allowed.

    ``choices``: what a name may be, where it may be one of some only; ``missing``: nothing was given for the key.
    """

    def __init__(self, message, key, given=None, choices=None, missing=False):
        super().__init__(message)
        self.key, self.given, self.choices, self.missing = key, given, choices, missing


class Key(NamedTuple):
    """A key of a section."""

    name: str
    annotation: object  # type, limits, whether None is taken
    type: object  # the type alone
    meta: msgspec.Meta
    required: bool
    default: object
    spelled: callable  # value -> the value as msgspec takes it; ValueError with what is allowed

    @property
    def description(self):
        return self.meta.description

    @property
    def flags(self):
        return self.meta.extra["flags"]


@lru_cache
def keys_of(section):
    """name -> Key of a section."""
    return {field.name: _key(field) for field in msgspec.structs.fields(section)}


def made(section, values):
    """An instance of a section from a dict of raw values; raises Refused."""
    keys = keys_of(section)
    try:
        return msgspec.convert(
            {name: keys[name].spelled(v) if name in keys else v for name, v in values.items()}, section
        )
    except (ValueError, msgspec.ValidationError):  # one kind in later msgspec only
        raise _refusal(keys, values) from None


def _key(field):
    optional = type(None) in get_args(field.type)
    kind, meta = get_args(get_args(field.type)[0] if optional else field.type)
    default = None if field.required else field.default
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    steps = [step for step in (meta.extra["before"], _spelling(kind)) if step]
    spelled = _in_turn(steps, optional)
    return Key(field.name, field.type, kind, meta, field.required, default, spelled)


def _in_turn(steps, optional):
    def spelled(value):
        if value is None and optional:
            return None
        for step in steps:
            value = step(value)
        return value

    return spelled


def _spelling(kind):
    """What puts values of a type as msgspec takes them, entries of lists and tables too; None: nothing to do."""
    of, inner = get_origin(kind), get_args(kind)
    if of in (list, dict):
        return partial(_entries if of is list else _table, _spelling(inner[-1]) or (lambda value: value))
    return SPELLED.get(kind)


def _entries(spelled, values):
    if not isinstance(values, (list, tuple)):
        raise msgspec.ValidationError("not a list: a set, which msgspec would take, has no order")
    return [spelled(value) for value in values]


def _table(spelled, values):
    if not isinstance(values, dict):
        raise msgspec.ValidationError("not a table")
    return {name: spelled(value) for name, value in values.items()}


# ---- how a refused value is told --------------------------------------------------------------------------------

_LIMITS = {
    "ge": "greater than or equal to",
    "gt": "greater than",
    "le": "less than or equal to",
    "lt": "less than",
}
_MANY = {int: "whole numbers", float: "numbers", str: "text"}


def _refusal(keys, values):
    """The Refused of the first key that is at fault: msgspec's message would name it in a notation of its own."""
    for name in values:
        if name not in keys:
            return Refused("no such key", name, values[name])
    for key in keys.values():
        if key.name not in values:
            if key.required:
                return Refused("is missing", key.name, missing=True)
            continue
        value = values[key.name]
        try:
            msgspec.convert(key.spelled(value), key.annotation)
        except msgspec.ValidationError:
            return _told(key, value)
        except ValueError as error:
            return Refused(str(error), key.name, value)
    raise AssertionError("every key is taken alone, but not all of them together")


def _told(key, value):
    entry = get_args(key.type)[0] if get_origin(key.type) is list else key.type
    if get_origin(entry) is Literal and (entry is key.type or isinstance(value, (list, tuple)) and value):
        choices = get_args(entry)
        entries = [value] if entry is key.type else value
        wrong = next(v for v in entries if not (isinstance(v, str) and v in choices))
        return Refused(f"must be {' or '.join(choices)}", key.name, wrong, choices)
    limits = {told: getattr(key.meta, limit) for limit, told in _LIMITS.items()}
    bounds = [f"{told} {bound}" for told, bound in limits.items() if bound is not None]
    return Refused("must be " + (" and ".join(bounds) or _described(key)), key.name, value)


def _described(key):
    of, inner = get_origin(key.type), get_args(key.type)
    if of is dict:
        return f"a table of {_many(inner[1])}"
    if of is list and key.meta.min_length:
        return f"a list of {key.meta.min_length} or more"
    return f"a list of {_many(inner[0])}" if of is list else "text"


def _many(kind):
    return _MANY[kind] if kind in _MANY else f"lists of {_many(get_args(kind)[0])}"
