"""Time of training runs: the kernels of Numba and Cython, a compiled walk over all groups, plain Python and SimPy.

    python bench/bench_training.py [--quick] [--table]

Every figure is CPU time, the best of several rounds in which all contenders take turns, so that a busy machine slows
them alike; ratios are the figures to trust. ``--table`` adds the whole published table, 220 points of 16 runs, on two
threads. Prints the tables of docs/training.md.
"""

import contextlib
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter, process_time

import numpy as np
import simpy

from spare_mc import training_setup
from spare_mc.kernels import ahead_levels, training
from spare_mc.kernels.jit import njit
from spare_mc.kernels.reference_training import training_row
from spare_mc.layouts import Layout
from spare_mc.study import load

SEED = 1
KERNELS = {"numba": training}
with contextlib.suppress(ImportError):
    KERNELS["cython"] = ahead_levels.load("ahead_training")
POINTS = [
    ("spare", 600, 8), ("spare", 600, 20), ("spare", 200, 9), ("spare", 1000, 9), ("replication", 600, 3),
    ("replication", 600, 20), ("replication", 200, 3), ("replication", 1000, 3),
]  # fmt: skip
# Checkpoint intervals near the best: steps between saves.
SAVE_STEPS = {"spare": 23, "replication": 8}


def point(scheme, groups, redundancy, law="weibull", steps=10_000):
    """The kernel plan of the published setting."""
    layout = Layout.golomb(groups, redundancy) if scheme == "spare" else Layout.partition(groups, redundancy)
    failures = {"law": law, "system_mtbf": 300.0} | ({"shape": 0.78} if law == "weibull" else {})
    study = load(
        {
            "study": {"measure": ["training"]},
            "cluster": {"groups": groups},
            "layout": {"kind": layout.kind, "redundancy": redundancy},
            "failures": failures,
            "training": {"scheme": scheme, "steps": steps, "checkpoint_steps": SAVE_STEPS[scheme]},
        }
    )
    return training_setup.kernel_plan(study.points[0].parameters, study.points[0].layout)


def best_of(rounds, contenders):
    """Least CPU seconds of each contender, functions of no argument taking turns."""
    best = dict.fromkeys(contenders, math.inf)
    for _ in range(rounds):
        for name, run in contenders.items():
            begin = process_time()
            run()
            best[name] = min(best[name], process_time() - begin)
    return best


def runs(plan, count, first=0, kernel=training):
    rows = np.empty((count, len(training.columns(plan.settings.redundancy))), np.int64)
    kernel.run(plan, SEED, first, rows)
    return rows


@njit
def walk(seed, groups, r, steps, stack, allreduce, save, save_steps, restart, scale, exponent):
    """Replication as published, all groups walked through every step with a draw each; returns the wall time [s]."""
    np.random.seed(seed)
    due = np.empty(groups)
    for g in range(groups):
        due[g] = scale * (-math.log(np.random.random())) ** exponent
    out = np.zeros(groups, np.uint8)  # 1 pending, 2 handled
    now, delay, saver, done, resume = 0.0, 0.0, -1, 0, 0
    while done < steps:
        release = now
        lowest = groups
        for g in range(groups):
            if out[g] == 0:
                arrival = now + (delay if g == saver else 0.0)
                if due[g] > arrival:
                    arrival += r * stack * max(0.1, 1.0 + 0.05 * np.random.normal())
                if due[g] <= arrival:
                    out[g] = 1
                    due[g] = arrival + scale * (-math.log(np.random.random())) ** exponent
                release = max(release, arrival)
            if out[g] == 1:
                lowest = min(lowest, g)
        now, delay = release, 0.0
        if lowest == groups:
            now += allreduce
        else:
            now += allreduce / 2
            out[lowest] = 2
            begin = lowest // r * r
            dead = True
            for g in range(begin, min(groups, begin + r)):
                dead = dead and out[g] == 2
            if dead:
                end = now + restart
                for g in range(groups):
                    window = now
                    while due[g] < window + restart:
                        window = max(window, due[g])
                        due[g] += scale * (-math.log(np.random.random())) ** exponent
                    end = max(end, window + restart)
                    out[g] = 0
                now, done = end, resume
                continue
            now += 0.1
        done += 1
        if done % save_steps == 0:
            saver = 0
            while out[saver] == 2:
                saver += 1
            if out[saver] == 0 and due[saver] > now:
                delay, resume = save, done - 1
    return now


def walk_of(plan, seed):
    s = plan.settings
    return walk(
        seed, s.groups, s.redundancy, s.steps, s.stack / 1e6, s.allreduce / 1e6, s.save / 1e6, s.save_steps,
        s.restart / 1e6, plan.scale[0] / 1e6, 1 / s.shape,
    )  # fmt: skip


def simpy_steps(plan, steps):
    """The least of a SimPy model: a process a group that computes, waits at the barrier, all-reduces; no failures."""
    s = plan.settings
    env = simpy.Environment()
    rng = np.random.default_rng(SEED)
    barrier = {"waiting": s.groups, "event": env.event()}

    def group():
        for _ in range(steps):
            yield env.timeout(s.redundancy * s.stack / 1e6 * max(0.1, 1 + 0.05 * rng.standard_normal()))
            event = barrier["event"]
            barrier["waiting"] -= 1
            if barrier["waiting"] == 0:
                barrier["waiting"], barrier["event"] = s.groups, env.event()
                event.succeed()
            yield event
            yield env.timeout(s.allreduce / 1e6)

    for _ in range(s.groups):
        env.process(group())
    env.run()
    return env.now


def python_steps(plan, steps):
    """Plain Python: the oracle of the tests, the same rules in full."""
    rng = np.random.default_rng(SEED)
    settings = plan.settings._replace(steps=steps)
    return training_row(settings, SEED, 0, lambda: max(0.1, 1 + 0.05 * rng.standard_normal()))


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
            (key, i, name): partial(runs, plans[key], 1, i, kernel)
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
            "kernel": partial(runs, plan, 1),
            "compiled walk over all groups": partial(walk_of, plan, 0),
            "plain Python": partial(python_steps, plan, few),
            "SimPy, no failures": partial(simpy_steps, plan, few),
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
