"""Parts of the suite about growth: on devices, with threads, N and r; and what a sweep costs beside the kernels."""

import functools

import bench_sweep
import numpy as np
import rivals_reorder
import rivals_stacks
import rivals_survival
from common import SEED, ahead, arithmetic, in_threads
from rows import Row, measured, missing

from spare_mc import api
from spare_mc.backends import BACKENDS
from spare_mc.kernels import reorder, stacks, survival
from spare_mc.layouts import Layout

ARITHMETIC_ROUNDS = 4_000_000


def device_rows(sizes):
    """Backends of other devices than the processor, through the Python interface, beside one thread of it."""
    host = "cython" if BACKENDS["cython"].missing() is None else "numba"
    layout, rows = Layout.golomb(sizes.groups, 9), []
    shares = {"survival": 1, "stacks": 20, "reordering": 400}
    for name in sorted(set(BACKENDS) - {"cython", "numba", "reference"}):
        for measure in BACKENDS[name].measures:
            setting, reason = f"{measure}, golomb N={sizes.groups} r=9", BACKENDS[name].missing((measure,))
            if reason is not None or measure not in shares:
                rows.append(missing("devices", setting, name, host, reason or "measured by bench/gpu.py"))
                continue
            trials = max(64, sizes.device_trials // shares[measure])
            call = functools.partial(getattr(api, measure), layout, trials=trials, threads=1)
            contenders = {f"{host}, one thread": functools.partial(call, backend=host)}
            contenders[name] = functools.partial(call, backend=name)
            work = dict.fromkeys(contenders, trials)
            rows += measured("devices", setting, "a trial", contenders, sizes.seconds, work, clock="wall")
    return rows


def thread_rows(sizes):
    """Two threads over one: arithmetic alone tells what the machine gives, survival what the kernel takes of it."""
    plan, trials = rivals_survival.plan_of(Layout.golomb(sizes.groups, 9)), 10 * sizes.trials
    outs = [np.empty(trials, np.int32) for _ in range(2)]
    kernel = ahead("ahead") or survival
    work = {
        "arithmetic": [functools.partial(arithmetic, ARITHMETIC_ROUNDS)] * 2,
        "survival": [functools.partial(kernel.endurable, plan, SEED, 0, out) for out in outs],
    }
    rows = []
    for name, pair in work.items():
        contenders = {
            "one thread": functools.partial(in_threads, pair[:1]),
            "two threads": functools.partial(in_threads, pair),
        }
        halves = {"two threads": 2}
        unit = "a million trials" if name == "survival" else "a call"
        per = {key: halves.get(key, 1) * (trials / 1e6 if name == "survival" else 1) for key in contenders}
        rows += measured("threads", name, unit, contenders, sizes.seconds, per, clock="wall")
    return rows


def _run(measure, layout, trials):
    """A function that takes so many trials of a measure."""
    if measure == "survival":
        return rivals_survival.run(ahead("ahead") or survival, rivals_survival.plan_of(layout), trials)
    if measure == "stacks":
        return rivals_stacks.kernel(layout, trials, ahead("ahead_stacks") or stacks)
    pieces, _ = rivals_reorder.lives_of(ahead("ahead_reorder") or reorder, layout, trials)
    return lambda: [piece() for piece in pieces]


def _growth(part, sizes, layouts, unit, names):
    """Rows of every measure over layouts (the first the baseline), per group."""
    rows = []
    for measure, share in (("survival", 1.0), ("stacks", 0.25), ("controller", 0.02)):
        contenders, work = {}, {}
        for name, layout in zip(names, layouts, strict=True):
            trials = max(16, int(share * sizes.trials * sizes.groups / layout.groups) // 16 * 16)
            contenders[name] = _run(measure, layout, trials)
            work[name] = trials * layout.groups
        rows += measured(part, measure, unit, contenders, sizes.seconds / 2, work)
    return rows


def groups_rows(sizes):
    """Time a group over N."""
    counts = [
        sizes.groups,
        *(n for n in (200, 1000, 5000, 20_000) if n <= sizes.largest and n != sizes.groups),
    ]
    layouts = [Layout.golomb(n, 9) for n in counts]
    names = [f"N={n:,}" for n in counts]
    return _growth("over N", sizes, layouts, "a group", names)


def redundancy_rows(sizes):
    """Time a group over r."""
    values = [r for r in (9, 3, 6, 12, 20) if r * (r - 1) < sizes.groups]
    layouts = [Layout.golomb(sizes.groups, r) for r in values]
    return _growth("over r", sizes, layouts, "a group", [f"r={r}" for r in values])


def sweep_rows(sizes):
    """A sweep's time beside its kernels', a file written."""
    wall, kernel, points = bench_sweep.overhead_of(sizes.points, 1)
    setting = f"{points:,} points of 10,000 trials, N=200, one thread"
    return [
        Row("sweep", setting, "in kernels", "in kernels", 1.0, None, None, kernel / points, "a point", "wall"),
        Row(
            "sweep", setting, "whole run, file written", "in kernels", wall / kernel, None, None, wall / points,
            "a point", "wall",
        ),
    ]  # fmt: skip
