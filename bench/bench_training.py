"""Time of training runs: the kernels of Numba and Cython, a compiled walk over all groups, plain Python and SimPy.

    python bench/bench_training.py [--quick] [--table]

Every figure is CPU time, the best of several rounds in which all contenders take turns, so that a busy machine slows
them alike; ratios are the figures to trust. ``--table`` adds the whole published table, 220 points of 16 runs, on two
threads. Prints the tables of docs/training.md.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter, process_time

import numpy as np
from common import ahead, best_of
from rivals_training import point, python_steps, runs, simpy_steps, walk_of

from spare_mc.kernels import training

KERNELS = {"numba": training} | ({"cython": ahead("ahead_training")} if ahead("ahead_training") else {})
POINTS = [
    ("spare", 600, 8), ("spare", 600, 20), ("spare", 200, 9), ("spare", 1000, 9), ("replication", 600, 3),
    ("replication", 600, 20), ("replication", 200, 3), ("replication", 1000, 3),
]  # fmt: skip


def kernel_table(rounds, count):
    print(
        "| scheme | N | r | ms a run | us a step | steps | failures | reorders | restarts | Cython over Numba |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    plans = {key: point(*key) for key in POINTS}
    rows = {key: runs(plan, count) for key, plan in plans.items()}
    best = best_of(
        rounds,
        {
            (key, i, name): [partial(runs, plans[key], 1, i, kernel)]
            for key in POINTS
            for i in range(count)
            for name, kernel in KERNELS.items()
        },
    )
    for key in POINTS:
        seconds = {name: sum(best[key, i, name] for i in range(count)) / count for name in KERNELS}
        of = dict(zip(training.COLUMNS, rows[key].mean(axis=0), strict=False))
        ratio = f"{seconds['cython'] / seconds['numba']:.2f}" if "cython" in KERNELS else "not built"
        print(
            f"| {' | '.join(map(str, key))} | {seconds['numba'] * 1e3:.2f} "
            f"| {seconds['numba'] / of['executed'] * 1e6:.2f} "
            f"| {of['executed']:.0f} | {of['failures']:.0f} | {of['reorders']:.0f} | {of['restarts']:.1f} | {ratio} |"
        )


def ratios(rounds):
    plan = point("replication", 600, 3)
    few = 50
    walk_of(plan, 0)
    runs(plan, 1)
    ours, theirs = runs(plan, 16)[:, training.COLUMNS.index("wall")].mean() / 1e6, 0.0
    if rounds > 3:
        theirs = np.mean([walk_of(plan, seed) for seed in range(16)])
        print(f"\nMean wall time over 16 runs: kernel {ours:.4g} s, compiled walk {theirs:.4g} s.")
    best = best_of(
        rounds,
        {
            "kernel": [partial(runs, plan, 1)],
            "compiled walk over all groups": [partial(walk_of, plan, 0)],
            "plain Python": [partial(python_steps, plan, few)],
            "SimPy, no failures": [partial(simpy_steps, plan, few)],
        },
    )
    print("\n| replication, N = 600, r = 3, 10,000 steps | ms a run | times the kernel |")
    print("|---|---|---|")
    for name, seconds in best.items():
        scaled = seconds * (1 if name in ("kernel", "compiled walk over all groups") else 10_000 / few)
        print(f"| {name} | {scaled * 1e3:.3g} | {scaled / best['kernel']:.3g} |")


def whole_table():
    largest = {200: 12, 600: 20, 1000: 26}
    plans = [
        point(scheme, groups, r, law)
        for groups, top in largest.items()
        for r in range(2, top + 1)
        for scheme in ("spare", "replication")
        for law in ("exponential", "weibull")
    ]
    runs(plans[0], 1)
    begin, busy = perf_counter(), process_time()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda plan: runs(plan, 16), plans))
    seconds = f"{perf_counter() - begin:.1f} s on two threads, {process_time() - busy:.1f} s of one core"
    print(f"\nPublished table, {len(plans)} points of 16 runs: {seconds}")


if __name__ == "__main__":
    quick = "--quick" in sys.argv
    kernel_table(3 if quick else 15, 4 if quick else 16)
    ratios(3 if quick else 7)
    if "--table" in sys.argv:
        whole_table()
