"""Whether this machine can run the CUDA kernels, asked without importing Numba: the driver by its own library.

Every answer is kept for the life of the process: a GPU does not come and go.
"""

import ctypes
import functools
import importlib.util
import os
import sys

from . import cores

# What a study must be for a GPU to pay: trials a point (runs, of training), which fill it, and seconds that the cores
# here would take, against the 10 to 100 that compiling takes.
_LEAST = {"survival": 2**18, "stacks": 2**16, "reordering": 2**14, "training": 2**13}
_SECONDS = 60.0
_SECONDS_A_KEY = 0.85e-9  # survival on one core (docs/performance.md)

GET = "pip install 'spare-mc[cuda]'"
_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


def simulated():
    """Whether numba's CUDA simulator takes the place of a GPU (for tests: it is thousands of times slower)."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


@functools.cache
def driver():
    """(GPUs, None) as NVIDIA's driver counts them, or (0, what is wrong)."""
    try:
        library = ctypes.CDLL(_DRIVER)
    except OSError:
        return (
            0,
            f"there is no NVIDIA driver here ({_DRIVER} cannot be loaded): run on a machine with an NVIDIA GPU",
        )
    found = ctypes.c_int(0)
    for name, arguments in (("cuInit", (0,)), ("cuDeviceGetCount", (ctypes.byref(found),))):
        status = getattr(library, name)(*arguments)
        if status:
            return 0, (
                f"the NVIDIA driver finds no usable GPU ({name} answers {status}): see nvidia-smi, and whether the job "
                "asked for a GPU and CUDA_VISIBLE_DEVICES shows one"
            )
    if not found.value:
        return (
            0,
            "the NVIDIA driver finds no GPU: ask for one (Slurm: --gpus=1), and see CUDA_VISIBLE_DEVICES",
        )
    return found.value, None


@functools.cache
def missing():
    """Why the CUDA kernels cannot run here, and how to get what they need; None when they can."""
    if importlib.util.find_spec("numba") is None:
        return "Numba is not installed: pip install numba"
    if simulated():
        return None
    if importlib.util.find_spec("numba_cuda") is None:
        return f"numba-cuda is not installed: {GET}"
    count, reason = driver()
    if not count:
        return reason
    try:
        from numba import cuda
        from numba.cuda.cudadrv import nvvm

        nvvm.NVVM()
    except Exception as error:  # a missing library, or one of another version, is told in many ways
        return f"NVVM, the compiler of CUDA, cannot be loaded ({' '.join(str(error).split())}): {GET}"
    if not cuda.is_available():
        return f"numba-cuda finds no usable GPU, though the driver does ('numba -s' says more): {GET}"
    return None


def count():
    """How many GPUs the CUDA kernels have; the simulator counts as one."""
    return 1 if simulated() else driver()[0]


def pays(study):
    """Whether a GPU is here, and a study large enough to be worth compiling kernels for."""
    from . import schedule, stopping

    rules = stopping.rules_of(study)
    if simulated() or any(rules[measure].maximum < _LEAST[measure] for measure in study.measures):
        return False
    keys = sum(
        rules[measure].maximum * schedule.rough_cost(measure, point)
        for measure in study.measures
        for point in study.points
    )
    return keys * _SECONDS_A_KEY / cores.allowed() > _SECONDS and missing() is None
