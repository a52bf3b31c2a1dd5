"""Every CUDA kernel compiled to PTX, which needs no GPU: a type error in one cannot hide."""

import functools
import importlib.util
import os
import re
import subprocess
import sys

import pytest

from spare_mc.kernels.cuda_ptx import MODULES


@functools.cache
def lacking():
    """Why nothing can be compiled here, or None."""
    if importlib.util.find_spec("numba_cuda") is None:
        return "numba-cuda is not installed: pip install 'spare-mc[cuda]'"
    program = "from numba import cuda; from numba.cuda.cudadrv import nvvm; nvvm.NVVM()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return f"NVVM cannot be loaded: {done.stderr[-200:]}" if done.returncode else None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "kernels"), [("survival", 3), ("stacks", 5), ("reordering", 2), ("training", 4)]
)
def test_every_kernel_compiles(measure, kernels):
    if reason := lacking():
        pytest.skip(reason)
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"}
    done = subprocess.run(
        [sys.executable, "-m", "spare_mc.kernels.cuda_ptx", "8.0,9.0", measure],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    sizes = [int(size) for size in re.findall(r"(\d+) bytes of PTX", done.stdout)]
    assert len(sizes) == 2 * kernels and min(sizes) > 5000, done.stdout
    assert done.stdout.count("cc 8.0") == done.stdout.count("cc 9.0") == kernels


def test_every_measure_is_compiled():
    from spare_mc.backends import BACKENDS

    assert {name: MODULES[name] for name in BACKENDS["cuda"].measures} == BACKENDS["cuda"].modules
