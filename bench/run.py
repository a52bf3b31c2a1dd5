"""The benchmark suite: one table, every row a ratio of two that took turns in this run.

    python bench/run.py [--quick] [--only PART[,PART]] [--json FILE] [--picture FILE]

Needs the extra [bench]; what is not installed has a row that says so. Times are CPU time of one core unless the part
is about threads, sweeps or waiting. docs/performance.md holds a table and what limits each kernel.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy on one core, as everything else

import argparse
import sys
import time
from dataclasses import dataclass

import environment
import suite_patterns
import suite_scaling
import suite_start
import suite_training
from common import save, table
from rows import HEAD, lines

SCHEMA = 1
PARTS = {
    "survival": suite_patterns.survival_rows,
    "stacks": suite_patterns.stacks_rows,
    "controller": suite_patterns.controller_rows,
    "training": suite_training.training_rows,
    "devices": suite_scaling.device_rows,
    "threads": suite_scaling.thread_rows,
    "groups": suite_scaling.groups_rows,
    "redundancy": suite_scaling.redundancy_rows,
    "sweep": suite_scaling.sweep_rows,
    "start": suite_start.start_rows,
}


@dataclass
class Sizes:
    """How much of everything."""

    groups: int = 600  # N
    trials: int = 4096  # of survival in a call
    seconds: float = 6.0  # of turns for the contenders of one setting
    least: int = 3  # turns of slow contenders
    rounds: int = 7  # where pieces keep their best
    copied: int = 2**26  # bytes through memory
    every: int = 10  # failures between the matchings of networkx
    slow: bool = True  # the slowest oracles
    networkx: int = 2  # reorders that networkx solves
    steps: int = 50  # of plain Python; a fifth of them in event-driven simulators
    failures: int = 400  # of AIReSim's loop
    device_trials: int = 4_000_000  # of survival on a GPU, through the Python interface
    largest: int = 20_000  # N
    points: int = 2000  # of a sweep
    starts: int = 9
    cold_starts: int = 3
    commands: tuple = tuple(suite_start.COMMANDS)


QUICK = Sizes(
    trials=1024, seconds=1.5, least=1, rounds=3, every=60, slow=False, networkx=0, steps=20, failures=100, largest=5000,
    device_trials=400_000, points=200, starts=3, cold_starts=1, commands=("survival, cython", "training run, cython"),
)  # fmt: skip
# Every path once, for the tests
TINY = Sizes(
    groups=100, trials=64, seconds=0.01, least=2, rounds=1, copied=2**16, every=15, slow=True, networkx=1, steps=5,
    failures=10, device_trials=1000, largest=200, points=10, starts=1, cold_starts=1, commands=("survival, cython",),
)  # fmt: skip


def rows_of(parts, sizes, tell=lambda text: None):
    """The rows of the parts, one after the other."""
    rows = []
    for name in parts:
        begin = time.perf_counter()
        rows += PARTS[name](sizes)
        tell(f"{name}: {time.perf_counter() - begin:.0f} s")
    return rows


def results_of(rows):
    """What --json writes."""
    return {"schema": SCHEMA, "environment": environment.facts(), "rows": [row.as_json() for row in rows]}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="about a minute, with more noise")
    parser.add_argument("--only", metavar="PART", help="some of: " + ", ".join(PARTS))
    parser.add_argument(
        "--json", metavar="FILE", help="also write environment and rows there (- for standard output)"
    )
    parser.add_argument("--picture", metavar="FILE", help="also draw the ratios: .png, .svg or .pdf")
    options = parser.parse_args()
    parts = options.only.split(",") if options.only else list(PARTS)
    unknown = [name for name in parts if name not in PARTS]
    if unknown:
        parser.error(f"--only {unknown[0]}: no such part; there are {', '.join(PARTS)}")
    rows = rows_of(parts, QUICK if options.quick else Sizes(), lambda text: print(text, file=sys.stderr))
    if options.json != "-":
        table("Time over that of the first contender (below 1: faster)", HEAD, lines(rows))
    if options.json:
        save(options.json, results_of(rows))
    if options.picture:
        from picture import draw

        draw(rows, options.picture)


if __name__ == "__main__":
    main()
