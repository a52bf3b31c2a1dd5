"""What sweeping costs beside the kernels, and what two workers of each kind reach.

    python bench/bench_sweep.py [--quick]

Overhead: the share of a sweep's time, start-up aside, that its workers spend in blocks; 10,000 points of 10,000 trials
at N = 200, written to a file. Efficiency: speed of two workers over one thread, against what two processes that know
nothing of each other reach in the same run; rounds take turns, the best of each counts. Prints the tables of
docs/performance.md.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from common import table

from spare_mc import engine, executors, store, study

SWEEP = {
    "cluster": {"groups": 200},
    "layout": {"kind": "golomb", "redundancy": "2..11"},
    "failures": {"system_mtbf": "1 min..1 h log 1000"},
    "sampling": {"trials": 10_000},
}
WORK = {
    "cluster": {"groups": 600},
    "layout": {"kind": ["golomb", "contiguous"], "redundancy": "6..15"},
    "sampling": {"trials": 400_000},
}

ALONE = """
import sys, time
sys.path.insert(0, sys.argv[1])
from bench_sweep import WORK, seconds
from spare_mc import study
seconds(WORK, 1)
print("ready", flush=True)
for line in sys.stdin:
    print(seconds(WORK, int(line)), flush=True)
"""


def seconds(raw, trials, **options):
    """Wall time of a study in memory, kernels loaded, from the first block to the last."""
    memory, loaded = engine.Memory(), study.load({**raw, "sampling": {"trials": trials}})
    begin = perf_counter()
    engine.run(loaded, have=memory.tally, keep=memory.add, **({"threads": 1} | options))
    return perf_counter() - begin


def overhead_of(count, threads, told=None):
    """(wall seconds, seconds in kernels, points) of a sweep of about so many points, written to a file.

    told : a dict that receives what building the study and opening the summary took
    """
    raw = {**SWEEP, "failures": {"system_mtbf": f"1 min..1 h log {max(2, count // 10)}"}}
    seconds(SWEEP | {"failures": {}}, 100)
    told = {} if told is None else told
    with tempfile.TemporaryDirectory() as folder:
        begin = perf_counter()
        loaded = study.load(raw)
        told["study"] = perf_counter() - begin
        begin = perf_counter()
        with store.Writer(Path(folder) / "sweep.h5", loaded) as writer:
            outcome = engine.run(loaded, have=writer.tally, keep=engine.Storing(writer), threads=threads)
            writer.stopped(outcome.stopped)
        wall = perf_counter() - begin
        begin = perf_counter()
        found = store.summary(Path(folder) / "sweep.h5")
        told["summary"] = perf_counter() - begin
    return wall, outcome.kernel_seconds, len(found["id"])


def overhead(quick):
    rows = []
    for threads in (1, 2):
        told = {}
        wall, kernels, points = overhead_of(1000 if quick else 10_000, threads, told)
        share, rest = kernels / (threads * wall), (threads * wall - kernels) / points
        rows.append(
            (threads, points, told["study"], wall, f"{100 * share:.1f} %", 1e6 * rest, told["summary"])
        )
    head = ("threads", "points", "study s", "run and store s", "in kernels", "else, us a point", "summary s")
    table("A sweep, N = 200, 10,000 trials a point", head, rows)


class Alone:
    """A process that works by itself when told to."""

    def __init__(self):
        command = [sys.executable, "-c", ALONE, str(Path(__file__).parent)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout.readline() == "ready\n"

    def start(self, trials):
        print(trials, file=self._process.stdin, flush=True)

    def seconds(self):
        return float(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def two_alone(pair, trials):
    """Seconds in which two processes together do twice the work, per work."""
    for each in pair:
        each.start(trials)
    return max(each.seconds() for each in pair) / 2


def efficiency(quick):
    trials, rounds = (40_000, 2) if quick else (1_000_000, 3)
    pair = [Alone(), Alone()]
    ways = {
        "one thread": lambda: seconds(WORK, trials),
        "two processes alone": lambda: two_alone(pair, trials),
        "threads": lambda: seconds(WORK, trials, threads=2),
    }
    opened = []
    for name in ("processes", "dask"):
        try:
            context = executors.opened(name, 2)
            pool, workers = context.__enter__()
        except executors.UserError as error:
            print(f"{name}: left out: {error}")
            continue
        opened.append(context)
        options = {"executor": pool, "workers": workers}
        seconds(WORK, 2000, **options)  # kernels loaded in every worker
        ways[name] = lambda options=options: seconds(WORK, trials, **options)
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            best[name] = min(best[name], way())
    for context in opened:
        context.__exit__(None, None, None)
    for each in pair:
        each.close()
    reach = best["one thread"] / best["two processes alone"]
    rows = []
    for name, wall in best.items():
        speed = best["one thread"] / wall
        rows.append((name, wall, speed, f"{100 * speed / reach:.1f} %"))
    table("Two workers, N = 600", ("workers", "s", "over one thread", "of two processes alone"), rows)


if __name__ == "__main__":
    quick = "--quick" in sys.argv
    overhead(quick)
    efficiency(quick)
