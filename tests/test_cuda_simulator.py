"""The CUDA kernels in numba's simulator: the matrix on small sizes, and what test_cuda.py has.

In processes of their own: the simulator replaces ``numba.cuda`` for the whole of a process.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spare_mc import backends

TESTS = Path(__file__).parent


@pytest.mark.parametrize(
    ("file", "least"), [("test_backends_matrix.py", 60), ("test_cuda.py", 25)], ids=["matrix", "more"]
)
def test_in_the_simulator(file, least):
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-o",
        "addopts=",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*command, str(TESTS / file), "-k", "cuda"],
        env=environment,
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed >= least, done.stdout[-1000:]  # not skipped


def test_the_simulator_has_every_measure():
    assert set(backends.BACKENDS["cuda"].measures) == set(backends.BACKENDS["numba"].measures)
