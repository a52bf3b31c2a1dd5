"""Documents held against the code."""

from pathlib import Path

import pytest

from spare_mc.study_model import flags_of, keys

DOCS = Path(__file__).resolve().parent.parent / "docs"


def row(dotted, field):
    """A study key's row in docs/study.md."""
    default = "required" if field.required else "" if field.default is None else f"`{field.default}`"
    flags = ", ".join(f"`{flag}`" for flag in flags_of(dotted, field))
    return f"| `{dotted}` | {flags} | {default} | {field.description} |"


@pytest.mark.parametrize(("dotted", "field"), list(keys()), ids=lambda v: v if isinstance(v, str) else "")
def test_every_study_key_is_documented_as_it_is(dotted, field):
    assert row(dotted, field) in (DOCS / "study.md").read_text().splitlines()


def test_no_key_is_documented_that_is_not_there():
    rows = [line for line in (DOCS / "study.md").read_text().splitlines() if line.startswith("| `")]
    assert len(rows) == len(list(keys()))
