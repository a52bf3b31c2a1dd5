"""Checks of numbers a user passes to a formula; each names the argument in its one-line UserError."""

import math

import numpy as np

from .errors import UserError


def whole(name, value, low, high=None, high_name=None):
    """``value`` as an int from ``low`` to ``high`` (no upper end by default)."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise UserError(f"{name} = {value!r}: must be an integer")
    value = int(value)
    if value < low or high is not None and value > high:
        allowed = f"at least {low}" if high is None else f"from {low} to {high_name or high}"
        raise UserError(f"{name} = {value}: must be {allowed}")
    return value


def size(groups, redundancy, name="redundancy"):
    """Groups N >= 1 and redundancy 1..N as ints."""
    groups = whole("groups", groups, 1)
    return groups, whole(name, redundancy, 1, groups, f"groups = {groups}")


def positive(name, value):
    """``value`` as a finite float above 0."""
    number = _number(value)
    if not 0.0 < number < math.inf:
        raise UserError(f"{name} = {value!r}: must be a positive number")
    return number


def not_negative(name, value):
    """``value`` as a finite float of at least 0."""
    number = _number(value)
    if not 0.0 <= number < math.inf:
        raise UserError(f"{name} = {value!r}: must be a number of at least 0")
    return number


def _number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
