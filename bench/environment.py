"""What a run of the suite was measured on: processor, versions, git revision."""

import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path

PACKAGES = ("numpy", "numba", "llvmlite", "cython", "scipy", "networkx", "simpy", "ortools", "h5py")


def facts():
    """A dict that JSON can hold."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("spare-mc", *PACKAGES)},
        "git": _revision(),
        "load": _load(),
        "simd": os.environ.get("SPARE_MC_SIMD") or "highest",
        "command": " ".join(["bench/run.py", *sys.argv[1:]]),
    }


def _processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _revision():
    """Commit and whether files differ from it; None outside a repository."""
    here = Path(__file__).parent

    def git(*arguments):
        done = subprocess.run(["git", "-C", str(here), *arguments], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    try:
        commit = git("rev-parse", "HEAD")
        return commit and {"commit": commit, "changed": bool(git("status", "--porcelain", "-uno"))}
    except OSError:
        return None


def _load():
    """Load of the last minute at the begin: others' work beside."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None
