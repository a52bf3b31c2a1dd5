"""What a plain command imports: time before the first result is imports, so a heavy one must not slip in."""

import json
import subprocess
import sys

import pytest
from ahead_tools import ahead

# Libraries that a plain run needs. msgspec imports typing_extensions where it is there; tomli is for Python 3.10.
NEEDED = {"click", "h5py", "msgspec", "numpy", "tomli", "tomli_w", "typing_extensions"}
# Parts of the standard library and of NumPy that cost as much as a library.
HEAVY = {
    "asyncio", "ctypes.util", "email", "importlib.metadata", "importlib.resources", "multiprocessing", "numpy.f2py",
    "numpy.ma", "numpy.testing", "pydoc", "tempfile", "unittest", "unittest.mock", "xml", "zipfile",
}  # fmt: skip
PROBE = """
import json, sys
before = set(sys.modules)
from spare_mc.cli import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    status = stop.code
loaded = {name: getattr(sys.modules[name], "__file__", None) or "" for name in set(sys.modules) - before}
print(json.dumps({"status": status, "loaded": loaded}), file=sys.stderr)
"""


def loaded_by(*arguments):
    """(libraries, every module) that a command loads in a process of its own."""
    command = [sys.executable, "-c", PROBE, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stderr.splitlines()[-1])
    assert told["status"] == 0, done.stderr
    libraries = {name.partition(".")[0] for name, file in told["loaded"].items() if "-packages" in file} - {
        "spare_mc"
    }
    return libraries, set(told["loaded"])


@pytest.mark.parametrize("measure", ["survival", "stacks", "reordering", "training"])
def test_a_plain_run_imports_little(tmp_path, measure):
    ahead("ahead")
    libraries, modules = loaded_by(
        *("run", "-N", 31, "-r", 4, "--measure", measure, "--trials", 64, "--runs", 2, "--steps", 100),
        *("--system-mtbf", "5 min", "--backend", "cython", "-o", tmp_path / "out.h5"),
    )
    assert libraries <= NEEDED and {"numpy", "h5py"} <= libraries
    assert not modules & HEAVY


def test_show_imports_little(tmp_path):
    path = tmp_path / "out.h5"
    arguments = ("run", "-N", 31, "-r", 4, "--trials", 64, "--backend", "reference", "-o", path, "--quiet")
    loaded_by(*arguments)
    libraries, modules = loaded_by("show", path)
    assert libraries <= NEEDED and not modules & HEAVY


@pytest.mark.parametrize(
    "arguments",
    [("life", "-N", 13, "-r", 4), ("timeline", "-N", 13, "-r", 4, "--steps", 50, "--system-mtbf", 300)],
)
def test_single_trials_need_no_compiler(arguments):
    ahead("ahead_reorder")
    libraries, modules = loaded_by(*arguments)
    assert libraries <= NEEDED and not modules & HEAVY
