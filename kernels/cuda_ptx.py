"""CUDA kernels compiled without a GPU: ``python -m spare_mc.kernels.cuda_ptx 8.0,9.0 survival stacks``.

Prints what each kernel takes, as far as ``ptxas`` is there to tell; a type error in a kernel is an error here.
Needs NVVM (the extra ``cuda``), no driver.
"""

import importlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import types as python_types

MODULES = {
    "survival": "cuda_survival",
    "stacks": "cuda_stacks",
    "reordering": "cuda_reorder",
    "training": "cuda_training",
}


def ptx(kernel, capability):
    """PTX of a ``cuda_device.Kernel`` for a compute capability such as (9, 0): str."""
    import numba.cuda.dispatcher
    from numba import cuda, types

    # Device functions ask the present GPU for its capability, and for nothing else.
    there = python_types.SimpleNamespace(compute_capability=capability)
    before = numba.cuda.dispatcher.get_current_device
    numba.cuda.dispatcher.get_current_device = lambda: there
    try:
        text, _ = cuda.compile(
            kernel.function,
            types.void(*kernel.types),
            device=False,
            abi="numba",
            cc=capability,
            launch_bounds=kernel.options.get("launch_bounds"),
        )
    finally:
        numba.cuda.dispatcher.get_current_device = before
    return text


def assembled(text, capability):
    """What ptxas says of PTX: "registers", "stack", "spills", "shared" in bytes; {} where there is no ptxas."""
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        return {}
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(text)
        file.flush()
        architecture = "sm_{}{}".format(*capability)
        done = subprocess.run(
            [ptxas, "-v", f"-arch={architecture}", file.name, "-o", "/dev/null"],
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise RuntimeError(done.stderr)
    patterns = {
        "registers": r"Used (\d+) registers",
        "stack": r"(\d+) bytes stack frame",
        "spills": r"(\d+) bytes spill stores",
        "shared": r"(\d+) bytes smem",
    }
    return {
        name: max(map(int, re.findall(pattern, done.stderr)), default=0) for name, pattern in patterns.items()
    }


def main(arguments):
    capabilities = [tuple(map(int, text.split("."))) for text in arguments[0].split(",")]
    for name in arguments[1:] or MODULES:
        module = importlib.import_module(f"spare_mc.kernels.{MODULES[name]}")
        for title, kernel in module.examples().items():
            for capability in capabilities:  # device functions are typed once for all
                started = time.perf_counter()
                text = ptx(kernel, capability)
                spent = time.perf_counter() - started
                told = ", ".join(f"{key} {value}" for key, value in assembled(text, capability).items())
                print(
                    f"{title:<34} cc {capability[0]}.{capability[1]}: {len(text):>9} bytes of PTX "
                    f"in {spent:5.1f} s; {told}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
