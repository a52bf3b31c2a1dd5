"""Sections of checked keys: what values may be written as, what is refused and how it is told."""

import math
import subprocess
import sys
from typing import Literal

import msgspec
import numpy as np
import pytest

from spare_mc.sections import Refused, Section, key, keys_of, made, optional
from spare_mc.spellings import Seconds, Seed


class Example(Section):
    count: key(int, "how many", ge=1, lt=100, flags=["--count", "-c"])
    seed: key(Seed, "", ge=0) = 0
    share: key(float, "", gt=0, le=1) = 0.5
    time: optional(Seconds, "") = None
    told: key(bool, "") = False
    name: optional(str, "") = None
    kind: key(Literal["round", "square"], "") = "round"
    many: key(list[int], "", min_length=1) = msgspec.field(default_factory=lambda: [1])
    kinds: optional(list[Literal["round", "square"]], "", min_length=1) = None
    table: optional(dict[str, float], "", before=lambda v: {v: 1} if isinstance(v, str) else v) = None
    lists: optional(list[list[str]], "") = None


TAKEN = [
    ("count", "1e1", 10),
    ("count", "9_0", 90),
    ("count", 7.0, 7),
    ("count", np.int32(8), 8),
    ("seed", 2**64 - 1, 2**64 - 1),
    ("share", "0.25", 0.25),
    ("share", 1, 1.0),
    ("share", np.float32(0.25), 0.25),
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
    ("many", (4, 5), [4, 5]),
    ("kinds", ["square"], ["square"]),
    ("table", {"a": "0.5"}, {"a": 0.5}),
    ("table", "a", {"a": 1.0}),
    ("lists", [["a"], []], [["a"], []]),
]


@pytest.mark.parametrize(("name", "given", "held"), TAKEN)
def test_values_taken(name, given, held):
    found = getattr(made(Example, {"count": 1, name: given}), name)
    assert found == held and type(found) is type(held)


REFUSED = [
    ("count", 0, "greater than or equal to 1"),
    ("count", 100, "less than 100"),
    ("count", 1.5, "whole number"),
    ("count", True, "whole number"),
    ("count", "many", "whole number"),
    ("count", math.inf, "whole number"),
    ("count", None, "whole number"),
    ("count", np.array([1, 2]), "whole number"),
    ("seed", -1, "greater than or equal to 0"),
    ("seed", 2**64, "less than 18446744073709551616"),
    ("share", 0, "greater than 0"),
    ("share", 1.01, "less than or equal to 1"),
    ("share", math.nan, "finite"),
    ("share", True, "a number"),
    ("share", None, "a number"),
    ("time", "5 bananas", "seconds or words"),
    ("time", "5 meters", "seconds or words"),
    ("time", 1e12, "less than or equal to 100000000000"),
    ("time", math.inf, "less than or equal to 100000000000"),
    ("time", math.nan, "less than or equal to 100000000000"),
    ("time", "inf s", "number of seconds"),
    ("time", "nan s", "number of seconds"),
    ("time", False, "seconds or words"),
    ("told", "perhaps", "true or false"),
    ("told", 2, "true or false"),
    ("name", 3, "must be text"),
    ("kind", "oval", "round or square"),
    ("kind", 3, "round or square"),
    ("kind", None, "round or square"),
    ("many", [], "1 or more"),
    ("many", 3, "list"),
    ("many", {1, 2}, "list"),
    ("many", "12", "list"),
    ("many", [1, "x"], "whole number"),
    ("many", [1, None], "whole number"),
    ("kinds", [], "list of 1 or more"),
    ("kinds", "round", "list of 1 or more"),
    ("kinds", {"round"}, "list of 1 or more"),
    ("table", [1], "table of numbers"),
    ("table", {"a": "x"}, "a number"),
    ("table", {3: 1.0}, "table of numbers"),
    ("lists", [["a", 3]], "list of lists of text"),
    ("colour", "red", "no such key"),
]


@pytest.mark.parametrize(("name", "given", "told"), REFUSED)
def test_values_refused(name, given, told):
    with pytest.raises(Refused, match=told) as caught:
        made(Example, {"count": 1, name: given})
    assert caught.value.key == name and caught.value.given is given and not caught.value.missing


def test_missing_keys_choices_and_limits_are_told_apart():
    with pytest.raises(Refused) as caught:
        made(Example, {})
    assert caught.value.missing and caught.value.key == "count"
    for values, wrong in (({"kind": "oval"}, "oval"), ({"kinds": ["round", "flat", "oval"]}, "flat")):
        with pytest.raises(Refused) as caught:
            made(Example, {"count": 1, **values})
        assert caught.value.choices == ("round", "square") and caught.value.given == wrong
    with pytest.raises(Refused) as caught:
        made(Example, {"count": 0})
    assert caught.value.choices is None
    with pytest.raises(TypeError, match="about"):
        key(int, "", about=3)


def test_sections_do_not_change_and_share_nothing():
    one, other = made(Example, {"count": 1}), made(Example, {"count": 2})
    with pytest.raises(AttributeError):
        one.count = 3
    one.many.append(9)
    assert other.many == [1] == made(Example, {"count": 1}).many


def test_keys_tell_their_types_defaults_and_flags():
    keys = keys_of(Example)
    count, many = keys["count"], keys["many"]
    assert list(keys) == list(Example.__struct_fields__)
    assert (count.required, count.default, count.description) == (True, None, "how many")
    assert (count.type, count.flags, keys["share"].flags) == (int, ["--count", "-c"], None)
    assert not many.required and many.default == [1] and many.type == list[int]
    assert keys["time"].type is Seconds and keys["time"].default is None
    assert keys["time"].spelled("1 min") == 60.0


def test_the_library_is_loaded_only_where_a_study_is_read():
    probe = (
        "import sys, spare_mc, spare_mc.cli, spare_mc.spellings\n"
        "assert spare_mc.Layout.contiguous(7, 3).redundancy == 3\n"
        "assert spare_mc.spellings.seconds('64') == 64\n"
        "assert 'msgspec' not in sys.modules\n"
        "import spare_mc.study_model\n"
        "assert 'msgspec' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", probe], check=True)
