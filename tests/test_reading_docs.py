"""docs/reading.md: its commands and its Python run as they are written."""

import re
import shlex
from pathlib import Path

import pytest
from cli_tools import run_verb

import spare_mc

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "reading.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    for line in block.replace("\\\n", " ").splitlines()
]
SHOWN = [c for c in COMMANDS if c.split()[1] in ("show", "plot")]
COMPARED = [c for c in COMMANDS if c.split()[1] == "diff"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The page's sweep and its parts, of few trials."""
    folder = tmp_path_factory.mktemp("docs")
    kinds = {"sweep": ["golomb", "contiguous"], "golomb": ["golomb"], "contiguous": ["contiguous"]}
    for name, kind in kinds.items():
        study = {
            "study": {"measure": ["survival", "stacks"], "seed": 1},
            "cluster": {"groups": 200},
            "layout": {"kind": kind, "redundancy": [6, 8, 10]},
            "failures": {"system_mtbf": "5 min"},
            "sampling": {"trials": 2},
        }
        spare_mc.run(study, folder / f"{name}.h5", backend="reference")
    for name, other in (("first", "golomb"), ("second", "contiguous")):
        (folder / f"{name}.h5").write_bytes((folder / f"{other}.h5").read_bytes())
    return folder


def run(capsys, command):
    status, _, error = run_verb(capsys, *shlex.split(command.partition(" > ")[0])[1:])
    assert status == 0, error


def test_the_page_shows_every_verb():
    assert {c.split()[1] for c in COMMANDS} == {"run", "show", "plot", "diff"} and len(COMMANDS) > 10


@pytest.mark.parametrize("command", SHOWN)
def test_show_and_plot(folder, monkeypatch, capsys, command):
    if " plot " in command:
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(folder)
    run(capsys, command)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMPARED)
def test_diff(folder, monkeypatch, capsys, command):
    monkeypatch.chdir(folder)
    run(capsys, command)


def test_python(folder, monkeypatch):
    pytest.importorskip("xarray")
    monkeypatch.chdir(folder)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, names)
    assert names["data"].mean_stack.sizes == {"kind": 2, "redundancy": 3, "statistic": 4}
