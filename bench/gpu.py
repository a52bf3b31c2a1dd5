"""The CUDA kernels on this machine's GPU: are they right, and how fast against one core?

    python bench/gpu.py [--quick] [--json FILE]

Under four minutes on a data-centre GPU, most of it to compile. Every kind of kernel is a process of its own, so that
they compile side by side; they compute in turns. Patterns must be the CPU's to the bit; of training runs it is told
how many are, and how far the others are off. Exit status 1 if a pattern differs, 2 where there is no GPU.
"""

import argparse
import contextlib
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from common import SEED, save, table

from spare_mc import backends, gpu, study
from spare_mc.layouts import Layout

PATIENCE = 225  # seconds for all of it
FIRST = 2**32 - 1000  # trial numbers cross the low word's end
QUICK = {"groups": 31, "redundancy": 5}


def layouts(quick):
    if quick:
        return [
            Layout.golomb(31, 5),
            Layout.contiguous(31, 5),
            Layout.partition(31, 5),
            Layout.random(31, 5, seed=1),
        ]
    return [
        Layout.golomb(600, 9),
        Layout.golomb(600, 20),
        Layout.contiguous(600, 9),
        Layout.partition(600, 9),
        Layout.random(600, 9, seed=1),
        Layout.golomb(200, 9),
        Layout.golomb(1000, 9),
        Layout.golomb(10_000, 9),
    ]


def point_of(layout, measure, **training):
    """A study's point of that layout."""
    asked = {
        "study": {"measure": [measure]},
        "cluster": {"groups": layout.groups},
        "layout": {"kind": layout.kind, "redundancy": layout.redundancy}
        | ({"seed": 1} if layout.kind == "random" else {}),
    }
    if measure == "training":
        asked["failures"] = {"law": "weibull", "shape": 0.78, "system_mtbf": 300}
        asked["training"] = {"checkpoint_steps": 20, **training}
    (point,) = study.load(asked).points
    return point


def pattern_rows(measure, compared, quick, only=None):
    """Parity and speed of a measure of failure patterns: one row a layout."""
    cuda, cpu = backends.BACKENDS["cuda"], cpu_backend()
    points = [point_of(layout, measure) for layout in layouts(quick)[:only]]
    plans = [(cuda.plan(measure, point), cpu.plan(measure, point)) for point in points]
    for point, (plan, _) in zip(points, plans, strict=True):
        cuda.block(measure, plan, point, SEED, 0, 1)  # compiles
    rows = []
    with turn():
        for point, (plan, other) in zip(points, plans, strict=True):
            count = max(1, compared * 600 // max(600, point.layout.groups)) if not quick else 5
            found = cuda.lives(measure, plan, point, SEED, FIRST, count)
            wanted = cpu.lives(measure, other, point, SEED, FIRST, count)
            differ = int(
                np.any([np.asarray(found[name]) != np.asarray(wanted[name]) for name in wanted], axis=0).sum()
            )
            differ += not same_block(
                cuda.block(measure, plan, point, SEED, FIRST, count),
                cpu.block(measure, other, point, SEED, FIRST, count),
            )
            row = {"measure": measure, "layout": point.layout.kind, "compared": count, "differ": differ}
            rows.append(row | timed(measure, point, plan, other, 0.5, quick))
    return rows


def training_rows(scheme, quick):
    """The same of training runs: how many rows are the CPU's, and how far the others are off."""
    cuda, cpu = backends.BACKENDS["cuda"], cpu_backend()
    redundancies = (5,) if quick else (8, 20) if scheme == "spare" else (3,)
    points = [
        point_of(
            Layout.golomb(31 if quick else 600, r), "training", scheme=scheme, steps=20 if quick else 10_000
        )
        for r in redundancies
    ]
    plans = [(cuda.plan("training", point), cpu.plan("training", point)) for point in points]
    cuda.block("training", plans[0][0], points[0], SEED, 0, 1)  # compiles
    rows = []
    with turn():
        for point, (plan, other) in zip(points, plans, strict=True):
            count = 2 if quick else 256
            found = cuda.block("training", plan, point, SEED, FIRST, count)["rows"]
            wanted = cpu.block("training", other, point, SEED, FIRST, count)["rows"]
            wall = cpu.kernel("training").COLUMNS.index("wall")
            off = np.abs(found[:, wall] - wanted[:, wall]) / wanted[:, wall]
            mean = found[:, wall].mean() / wanted[:, wall].mean() - 1.0
            row = {"measure": "training", "layout": scheme, "compared": count}
            row["differ"] = int((found != wanted).any(axis=1).sum())
            row |= {
                "median off": float(np.median(off)),
                "largest off": float(off.max()),
                "mean off": float(mean),
            }
            rows.append(row | timed("training", point, plan, other, 2.0, quick))
    return rows


def same_block(found, wanted):
    return found.get("sums") == wanted.get("sums") and all(
        np.array_equal(found["counts"][name], counts) for name, counts in wanted["counts"].items()
    )


def timed(measure, point, plan, other, seconds, quick):
    """Trials a second: ``rate`` of the GPU, ``cpu`` of one core, at counts that take about so many seconds."""
    cuda, cpu = backends.BACKENDS["cuda"], cpu_backend()
    return {
        "N": point.layout.groups,
        "r": point.layout.redundancy,
        "rate": rate(
            lambda n: cuda.block(measure, plan, point, SEED, 0, n), seconds, quick, time.perf_counter
        ),
        "cpu": rate(lambda n: cpu.block(measure, other, point, SEED, 0, n), 0.3, quick, time.thread_time),
    }


def rate(run, seconds, quick, clock):
    """Counts a second of the clock of ``run(count)``, for a count that takes about so many seconds."""
    count = 1
    while True:
        begin = clock()
        run(count)
        spent = clock() - begin
        if spent >= seconds or quick:
            return count / max(spent, 1e-9)
        count = max(
            2 * count, int(count * 1.2 * seconds / max(spent, 1e-6)) if spent > seconds / 50 else 8 * count
        )


def cpu_backend():
    """What is compared with: compiled at install, if it could be."""
    return backends.BACKENDS["numba" if backends.BACKENDS["cython"].missing() else "cython"]


@contextlib.contextmanager
def turn():
    """The GPU, and a quiet core, for this process alone."""
    with open(os.environ["SPARE_MC_BENCH_LOCK"], "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
        yield


SECTIONS = {
    "survival": lambda quick: pattern_rows("survival", 100_000, quick),
    "stacks": lambda quick: pattern_rows("stacks", 5_000, quick, only=7),
    "reordering": lambda quick: pattern_rows("reordering", 200, quick, only=3),
    "replication": lambda quick: training_rows("replication", quick),
    "spare": lambda quick: training_rows("spare", quick),
}


def device():
    """What the GPU is."""
    from numba import cuda

    if gpu.simulated():
        return {"name": "numba's simulator: speeds mean nothing"}
    with cuda.gpus[0] as _:
        found = cuda.get_current_device()
        name = found.name.decode() if isinstance(found.name, bytes) else found.name
        return {
            "name": name,
            "compute_capability": list(found.compute_capability),
            "multiprocessors": found.MULTIPROCESSOR_COUNT,
            "gpus": gpu.count(),
        }


def run_all(quick):
    """(rows of all sections, what went wrong: section -> text)."""
    rows, wrong = [], {}
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"SPARE_MC_BENCH_LOCK": os.path.join(folder, "lock")}
        command = [sys.executable, __file__, *(["--quick"] if quick else []), "--section"]
        started = {
            name: subprocess.Popen(
                [*command, name], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for name in SECTIONS
        }
        end = time.monotonic() + PATIENCE
        for name, process in started.items():
            try:
                told, error = process.communicate(timeout=max(1.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                wrong[name] = f"not done after {PATIENCE} s"
                continue
            if process.returncode:
                wrong[name] = error.strip()[-2000:] or f"exit status {process.returncode}"
            else:
                rows += json.loads(told.splitlines()[-1])
    return rows, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny layouts: does the script itself work?")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--section", choices=SECTIONS, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if reason := gpu.missing():
        print(f"bench/gpu.py: {reason}", file=sys.stderr)
        return 2
    if told.section:
        print(json.dumps(SECTIONS[told.section](told.quick)))
        return 0
    begin = time.monotonic()
    rows, wrong = run_all(told.quick)
    for row in rows:
        row["ratio"] = row["rate"] / row["cpu"]
    columns = ["measure", "layout", "N", "r", "compared", "differ", "a second", "one core", "GPU / core"]
    names = ["measure", "layout", "N", "r", "compared", "differ", "rate", "cpu", "ratio"]
    found = device()
    title = (
        f"{found['name']} against one core ({cpu_backend().name}), {time.monotonic() - begin:.0f} s in all"
    )
    table(title, columns, [[row[name] for name in names] for row in rows])
    for row in rows:
        if "median off" in row:
            print(
                f"{row['layout']}, r = {row['r']}: wall time of a run off by {row['median off']:.1e} (median), "
                f"{row['largest off']:.1e} (most), the mean of all by {row['mean off']:+.1e}"
            )
    for name, text in wrong.items():
        print(f"{name}: FAILED: {text}", file=sys.stderr)
    if told.json:
        save(told.json, {"device": found, "rows": rows, "failed": wrong})
    return int(bool(wrong) or any(row["differ"] and row["measure"] != "training" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
