"""What this machine offers: facts for ``spare-mc doctor``. Nothing here fails where something is missing or broken."""

import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from . import __version__, backends, cores
from .errors import UserError
from .kernels import ahead_levels
from .store_files import Lock

_PATIENCE = 20  # seconds for a GPU's tools to answer


def versions():
    """Versions of the package, Python, the system, and of every package it depends on (None: not installed)."""
    return {
        "spare-mc": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": _processor(),
        "packages": {
            name: _version(name)
            for name in (*_dependencies(), "numba-cuda", "cuda-bindings", "mpi4py", "matplotlib")
        },
    }


def _dependencies():
    try:
        required = importlib.metadata.requires("spare-mc") or []
    except importlib.metadata.PackageNotFoundError:  # a checkout on the path, not installed
        return []
    return [
        re.match(r"[\w.-]+", line)[0]
        for line in required
        if "extra ==" not in line and "python_version" not in line
    ]


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def core_limits():
    """Cores of the machine, what limits them, which limit rules, and how many are used."""
    found = cores.limits()
    return {
        "allowed": found.allowed,
        "rule": found.rule,
        "machine": found.machine,
        "job": found.job,
        "affinity": found.affinity,
        "cgroup": found.quota,
    }


def vectors():
    """Vector levels: those of the processor, and of every ahead-of-time kernel those built and the one used."""
    kernels = {}
    for stem in sorted(set(backends.BACKENDS["cython"].modules.values())):
        try:
            used, reason = ahead_levels.level(stem), None
        except (ImportError, ValueError) as error:
            used, reason = None, str(error)
        kernels[stem] = {"used": used, "built": list(ahead_levels.built(stem)), "reason": reason}
    return {
        "processor": list(ahead_levels.supported()),
        "asked": os.environ.get(ahead_levels.VARIABLE) or None,
        "kernels": kernels,
    }


def numba_cache():
    """Where Numba keeps compiled kernels and what is there; ``kernels``: functions compiled from today's sources."""
    try:
        from .kernels import jit
    except Exception as error:  # a broken LLVM raises all sorts of things
        return {"folder": None, "reason": f"Numba cannot be imported: {error}"}
    folder = jit.cache_folder()
    if folder is None:
        root = jit.cache_root()
        return {
            "folder": None,
            "reason": f"{root} cannot be written: every process compiles anew; set SPARE_MC_CACHE_DIR",
        }
    ours, others = _files(folder), [path for path in folder.parent.iterdir() if path != folder]
    return {
        "folder": str(folder),
        "reason": None,
        "kernels": sum(name.endswith(".nbi") for name, _ in ours),
        "bytes": sum(size for _, size in ours),
        "older": len(others),
        "older_bytes": sum(size for other in others for _, size in _files(other)),
    }


def clear_caches():
    """Remove the cache folders of other sources, versions and processors: ``(folders, bytes)`` that were removed.

    Processes that use them compile anew at worst.
    """
    try:
        from .kernels import jit
    except Exception:  # without Numba no cache is in use, and which are old cannot be told
        return 0, 0
    folder, removed, size = jit.cache_folder(), 0, 0
    if folder is None:
        return 0, 0
    for other in folder.parent.iterdir():
        if other != folder and other.is_dir() and not other.is_symlink():
            bytes_there = sum(size for _, size in _files(other))
            shutil.rmtree(other, ignore_errors=True)
            if not other.exists():
                removed, size = removed + 1, size + bytes_there
    return removed, size


def _files(folder):
    """(name, bytes) of all files below a folder; those that vanish meanwhile are left out."""
    found = []
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found.append((name, os.stat(os.path.join(parent, name)).st_size))
    return found


def backend_states():
    """Of every backend the measures it has, and why it cannot be used, with how to get it, or None."""
    states = {}
    for name, backend in backends.BACKENDS.items():
        try:
            missing = backend.missing()
        except UserError as error:
            missing = str(error)
        except Exception as error:  # a broken installation is a reason, not a traceback
            missing = f"{type(error).__name__}: {error}"
        states[name] = {"measures": list(backend.measures), "missing": missing}
    return states


def gpus():
    """NVIDIA GPUs and driver as nvidia-smi tells them, and what numba-cuda says of CUDA; asked in other processes."""
    found = {"devices": [], "driver": None, "numba_cuda": None}
    smi = shutil.which("nvidia-smi")
    if smi:
        fields = "name,memory.total,driver_version"
        told = _answer([smi, f"--query-gpu={fields}", "--format=csv,noheader"])
        rows = [[part.strip() for part in line.split(",")] for line in (told or "").splitlines()]
        found["devices"] = [f"{row[0]}, {row[1]}" for row in rows if len(row) == 3]
        found["driver"] = next((row[2] for row in rows if len(row) == 3), None)
    if importlib.util.find_spec("numba_cuda"):
        told = _answer(
            [sys.executable, "-c", "from spare_mc import gpu; print(gpu.missing() or gpu.count())"]
        )
        told = (told or "").strip()
        found["numba_cuda"] = f"sees {told} GPUs" if told.isdigit() else told or "does not answer"
    return found


def _answer(command):
    """Standard output of a command, or None where it fails or does not answer."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def locking():
    """Whether a lock taken in the current folder holds against another process: None if so, otherwise what is wrong."""
    program = (
        "import sys; from spare_mc.store_files import Lock\n"
        "try: Lock(sys.argv[1])\n"
        "except BlockingIOError: print('refused')\n"
    )

    try:
        with tempfile.TemporaryDirectory(prefix=".spare-mc-doctor-", dir=".") as folder:
            path = str(Path(folder) / "lock")
            held = Lock(path)
            try:
                told = _answer([sys.executable, "-c", program, path])
            finally:
                held.release()
    except OSError as error:
        return f"cannot be tried: {error.strerror or error}"
    return (
        None
        if (told or "").strip() == "refused"
        else "a second process was not kept out: write results elsewhere"
    )


def facts():
    """All of it, as a dict that JSON can hold."""
    return {
        "versions": versions(),
        "cores": core_limits(),
        "vectors": vectors(),
        "backends": backend_states(),
        "numba_cache": numba_cache(),
        "gpu": gpus(),
        "folder": {"path": os.getcwd(), "locking": locking()},
    }


def as_json(found, verdicts):
    """Facts and self-test for machines."""
    tests = [verdict.__dict__ | {"passed": verdict.passed} for verdict in verdicts]
    return json.loads(json.dumps({**found, "self_test": tests}))
