"""Conditions on the rows of a ``selection.Table``, as a user writes them: ``layout.redundancy >= 9``."""

import math
import operator
import re

from .errors import UserError

_OPERATORS = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_CONDITION = re.compile(r"\s*([\w.]+)\s*(?:(<=|>=|!=|==|=|<|>)|\s(in)\s)\s*(.*?)\s*", re.DOTALL)
_NONE = "none"  # what a condition says for a value that a point does not have


def meets(table, text):
    """Which rows of a table meet a condition, list of bool; UserError for one that cannot be read."""
    what = f"--where {text!r}"
    found = _CONDITION.fullmatch(text)
    if not found:
        raise UserError(
            f"{what}: must be KEY, one of = != < <= > >= or in, and a value, as in 'redundancy >= 9'"
        )
    name, sign, among, given = found.groups()
    key = table.resolve(name, what)
    values = table.column(key)
    if among:
        wanted = [value(table, key, part.strip(), what) for part in given.split(",")]
        return [comparable(v) in wanted for v in values]
    wanted, compare = value(table, key, given, what), _OPERATORS[sign]
    if sign in ("=", "==", "!="):
        return [compare(comparable(v), wanted) for v in values]
    if wanted is None or isinstance(wanted, (str, bool)):
        raise UserError(f"{what}: {key} holds no numbers; it allows =, != and in")
    return [isinstance(v, (int, float)) and compare(v, wanted) for v in values]


def value(table, key, text, what):
    """A value of a resolved column as a user writes it: a number, a duration in words, a word, none for a missing one.

    Raises UserError, beginning with ``what``, where the column holds values of another type.
    """
    if text.lower() == _NONE:
        return None
    given = [v for v in table.column(key) if v is not None]
    if given and all(isinstance(v, bool) for v in given):
        if text.lower() not in ("true", "false"):
            raise UserError(f"{what}: {key} is true or false, not {text!r}")
        return text.lower() == "true"
    if not all(isinstance(v, (int, float)) for v in given):
        return comparable(text.strip("'\""))
    duration = table.unit(key) == "s"
    number = _number(text, duration)
    if number is None:
        words = ' or a duration such as "5 min"' if duration else ""
        raise UserError(f"{what}: {key} is a number{words}, not {text!r}")
    return number


def _number(text, duration):
    try:
        found = float(text.replace("_", ""))
    except ValueError:
        if not duration:
            return None
        from .spellings import seconds

        try:
            found = seconds(text.strip("'\""))
        except ValueError:
            return None
    return found if math.isfinite(found) else None


def comparable(value):
    """A value of a column that can be compared and hashed: lists as text."""
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    return value
