"""Sections of checked keys."""

import math

import numpy as np
import pytest

from spare_mc.fields import (
    COUNT,
    FLAG,
    NUMBER,
    SECONDS,
    TEXT,
    Refused,
    Section,
    key,
    list_of,
    one_of,
    table_of,
)


class Example(Section):
    count = key(COUNT, required=True, ge=1, lt=100, help="")
    share = key(NUMBER, 0.5, gt=0, le=1, help="")
    time = key(SECONDS, help="")
    told = key(FLAG, False, help="")
    name = key(TEXT, help="")
    kind = key(one_of(("round", "square")), "round", help="")
    many = key(list_of(COUNT, 1), [1], help="")
    table = key(table_of(NUMBER), help="", before=lambda v: {v: 1} if isinstance(v, str) else v)


TAKEN = [
    ("count", "1e1", 10),
    ("count", "9_0", 90),
    ("count", 7.0, 7),
    ("count", np.int32(8), 8),
    ("share", "0.25", 0.25),
    ("share", 1, 1.0),
    ("time", "5 min", 300.0),
    ("time", "2 h", 7200.0),
    ("time", "64", 64.0),
    ("time", 3, 3.0),
    ("time", None, None),
    ("told", "yes", True),
    ("told", 0, False),
    ("name", "a", "a"),
    ("kind", "square", "square"),
    ("many", [1, "2", 3.0], [1, 2, 3]),
    ("table", {"a": "0.5"}, {"a": 0.5}),
    ("table", "a", {"a": 1.0}),
]


@pytest.mark.parametrize(("name", "given", "held"), TAKEN)
def test_values_taken(name, given, held):
    found = getattr(Example(**{"count": 1, name: given}), name)
    assert found == held and type(found) is type(held)


REFUSED = [
    ("count", 0, "greater than or equal to 1"),
    ("count", 100, "less than 100"),
    ("count", 1.5, "whole number"),
    ("count", True, "whole number"),
    ("count", "many", "whole number"),
    ("count", math.inf, "whole number"),
    ("count", None, "whole number"),
    ("share", 0, "greater than 0"),
    ("share", 1.01, "less than or equal to 1"),
    ("share", math.nan, "finite"),
    ("share", True, "a number"),
    ("share", None, "a number"),
    ("time", "5 bananas", "seconds or words"),
    ("time", "5 meters", "seconds or words"),
    ("time", 1e12, "less than or equal to 100000000000"),
    ("time", False, "seconds or words"),
    ("told", "perhaps", "true or false"),
    ("told", 2, "true or false"),
    ("name", 3, "text"),
    ("kind", "oval", "round or square"),
    ("many", [], "1 or more"),
    ("many", 3, "list"),
    ("many", [1, "x"], "whole number"),
    ("table", [1], "table"),
    ("table", {"a": "x"}, "a number"),
    ("colour", "red", "no such key"),
]


@pytest.mark.parametrize(("name", "given", "told"), REFUSED)
def test_values_refused(name, given, told):
    with pytest.raises(Refused, match=told) as caught:
        Example(**{"count": 1, name: given})
    assert caught.value.key == name and not caught.value.missing


def test_missing_keys_choices_and_limits_are_told_apart():
    with pytest.raises(Refused) as caught:
        Example()
    assert caught.value.missing and caught.value.key == "count"
    with pytest.raises(Refused) as caught:
        Example(count=1, kind="oval")
    assert caught.value.choices == ("round", "square") and caught.value.given == "oval"
    with pytest.raises(TypeError, match="about"):
        key(COUNT, help="", about=3)


def test_sections_do_not_change_and_share_nothing():
    one, other = Example(count=1), Example(count=2)
    with pytest.raises(AttributeError):
        one.count = 3
    one.many.append(9)
    assert other.many == [1] == Example(count=1).many
    assert one.replaced(count=5).count == 5 and one.count == 1
    with pytest.raises(Refused):
        one.replaced(count=500)
