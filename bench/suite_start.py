"""Part of the suite about start-up: from the prompt to the end of a command, warm and cold."""

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rows import Row

SMALL = ("run", "-N", "600", "-r", "9", "--trials", "1000", "--system-mtbf", "5 min", "--quiet")
COMMANDS = {
    "survival, cython": (*SMALL, "--backend", "cython"),
    "stacks, cython": (*SMALL, "--measure", "stacks", "--backend", "cython"),
    "training run, cython": (*SMALL, "--measure", "training", "--runs", "1", "--backend", "cython"),
    "survival, numba": (*SMALL, "--backend", "numba"),
}
SETTING = "spare-mc run, N=600 r=9"
BOUND = "bound: import numpy, h5py"
MAIN = "import sys; from spare_mc.cli import main; main(sys.argv[1:])"
# What a command reads: files of its modules, what is mapped.
FILES = """
import atexit, sys
def told():
    names = {getattr(m, name, None) for m in list(sys.modules.values()) for name in ("__file__", "__cached__")}
    names |= {line.split()[-1] for line in open("/proc/self/maps") if "/" in line}
    print("\\n".join(sorted(n for n in names if n)), file=sys.stderr)
atexit.register(told)
"""


def _environment(folder):
    """As a user's shell, byte code written; kernels cached in ``folder``."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return kept | {"SPARE_MC_CACHE_DIR": str(folder)}


def _taken(command, folder, cache):
    """(wall, CPU) seconds of a command in a process of its own."""
    for old in Path(folder).glob("*.h5*"):
        old.unlink()
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, env=_environment(cache), check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _program(arguments):
    return [sys.executable, "-c", MAIN, *arguments]


def _files_of(arguments, folder, cache):
    """Files that a command reads, as far as modules and maps tell."""
    command = [sys.executable, "-c", FILES + MAIN, *arguments]
    done = subprocess.run(command, cwd=folder, env=_environment(cache), capture_output=True, text=True)
    return [name for name in done.stderr.splitlines() if re.match("/.", name) and os.path.isfile(name)]


def evict(files):
    """Ask the system to forget files' contents; it keeps what another process has mapped."""
    for name in files:
        try:
            handle = os.open(name, os.O_RDONLY)
        except OSError:
            continue
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)


def start_rows(sizes):
    """Warm: the least of several in turn; cold: the least of few, before each of which its files are forgotten."""
    rows = []
    wanted = {name: COMMANDS[name] for name in sizes.commands}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        programs = {BOUND: [sys.executable, "-c", "import numpy, h5py"]}
        programs |= {name: _program(arguments) for name, arguments in wanted.items()}
        compiling = {}
        for name, program in programs.items():  # byte code written; Numba's cache filled
            compiling[name] = _taken(program, folder, cache)
        warm = {name: [] for name in programs}
        for _ in range(sizes.starts):
            for name, program in programs.items():
                warm[name].append(_taken(program, folder, cache))
        rows += _rows("start, warm", warm)
        if "survival, numba" in wanted:
            wall, cpu = compiling["survival, numba"]
            ratio = cpu / min(cpu for _, cpu in warm[BOUND])
            note = f"{wall:.1f} s of wall time, once on a machine"
            name = "survival, numba, empty cache"
            rows.append(Row("start, warm", SETTING, name, BOUND, ratio, seconds=cpu, unit="CPU", note=note))
        cold = {name: [] for name in programs if name != "survival, numba"}
        files = {file for name in set(cold) - {BOUND} for file in _files_of(wanted[name], folder, cache)}
        for _ in range(sizes.cold_starts):
            for name in cold:
                evict(files)
                cold[name].append(_taken(programs[name], folder, cache))
        rows += _rows("start, cold", cold)
    return rows


def _rows(part, taken):
    """A row a command: CPU seconds over the bound's, wall seconds in the note."""
    best = {name: min(cpu for _, cpu in times) for name, times in taken.items()}
    rows = []
    for name, times in taken.items():
        wall = min(wall for wall, _ in times)
        ratio, note = best[name] / best[BOUND], f"{wall:.2f} s of wall time"
        rows.append(Row(part, SETTING, name, BOUND, ratio, seconds=best[name], unit="CPU", note=note))
    return rows
