"""Least stacks of whole trials against library matchings and plain Python, and over N and r.

    python bench/bench_stacks.py [--quick] [--json FILE]

One core. Ratios are the figures to trust: what is compared took turns in one run.
"""

import argparse

import numpy as np
from common import ahead, interleaved, save, table, words
from rivals_stacks import SEED, kernel, python_incremental, scipy_every_failure

from spare_mc.kernels import stacks, stacks_lanes, stacks_paths, stacks_sweep
from spare_mc.layouts import Layout

AHEAD = ahead("ahead_stacks")


def stages(layout, seconds, batches=32):
    """Microseconds a trial of the steps of a layout that needs matchings, each called from Python batch by batch.

    The depths and the lanes that need them are found out first, so that every step has the work of a real run.
    """
    n, r = layout.groups, layout.redundancy
    plan = stacks.plan(layout.host_table(), layout.stack_table())
    rows = np.empty((stacks_lanes.LANES * batches, r), np.int32)
    stacks.capacity(plan, SEED, 0, rows)
    key = words(SEED)
    lanes = np.uint16(0) * np.arange(stacks_lanes.LANES, dtype=np.uint16)
    wipe, bounds, alive, edge = lanes.copy(), lanes.copy(), lanes.copy(), lanes.copy()
    scratch = np.empty(32, np.uint64)
    types, free = np.empty(stacks_lanes.LANES * (n + 1), np.uint16), np.zeros(n + 1, np.uint16)
    places = np.empty(stacks_lanes.LANES * r, np.uint16)
    box, marks = stacks_paths.new_box(n)
    ages = [np.empty(stacks_lanes.LANES * (n + 4), np.uint16) for _ in range(batches)]
    depths = []  # (ages, count of groups alive at the bound or None, start bounds, depth, lanes)
    for batch, drawn in enumerate(ages):
        stacks_lanes.draw_ages(drawn, n, *key, np.uint64(stacks_lanes.LANES * batch), scratch)
        stacks_lanes.wipe_out_bounds(plan.hosts16, drawn, wipe)
        known = rows[stacks_lanes.LANES * batch :][: stacks_lanes.LANES]
        for depth in range(2, r + 1):
            active = np.flatnonzero(known[:, depth - 2] < known[:, -1])
            if not active.size:
                break
            fewest = -(-n // depth)
            tight = (known[:, -1] > n - fewest).any()
            if tight:
                stacks_lanes.bounds_of_count(drawn, n, fewest, bounds)
            start = np.maximum(bounds, wipe) if tight else wipe.copy()
            depths.append((drawn, fewest if tight else None, start, np.int64(depth), int(sum(1 << active))))

    def draw():
        for batch, drawn in enumerate(ages):
            stacks_lanes.draw_ages(drawn, n, *key, np.uint64(stacks_lanes.LANES * batch), scratch)

    def wipe_out():
        for drawn in ages:
            stacks_lanes.wipe_out_bounds(plan.hosts16, drawn, wipe)
            stacks_lanes.count_alive(drawn, n, wipe, alive, edge)

    def count():
        for drawn, fewest, start, _, _ in depths:
            if fewest is not None:
                stacks_lanes.bounds_of_count(drawn, n, fewest, bounds)
            stacks_lanes.count_alive(drawn, n, start, alive, edge)

    def sweep():
        for drawn, _, start, depth, _ in depths:
            stacks_sweep.sweep16(plan.hosts16, plan.stacks16, drawn, start, depth, types, free, places)

    def sweep_and_paths():
        ring = plan.kind == stacks.RING
        for drawn, _, start, depth, active in depths:
            table, bounds[:] = (plan.hosts16, plan.stacks16), start
            stacks_sweep.sweep16(*table, drawn, bounds, depth, types, free, places)
            stacks_paths.complete16(*table, ring, drawn, bounds, depth, types, free, active, box, marks)

    def whole():
        stacks.capacity(plan, SEED, 0, rows)

    steps = {
        "draw keys": draw, "wipe-out": wipe_out, "bounds": count, "sweep": sweep, "paths": sweep_and_paths,
        "whole": whole,
    }  # fmt: skip
    found = {name: 1e6 * time / len(rows) for name, time in interleaved(steps, seconds).items()}
    found["paths"] -= found["sweep"]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes, with more noise")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON; - for standard output")
    options = parser.parse_args()
    seconds = 1.0 if options.quick else 6.0

    columns = ("layout", "N", "r", "us a trial", "scipy / ours", "Python / ours")
    rows = []
    for layout in (
        Layout.golomb(600, 9),
        Layout.contiguous(600, 9),
        Layout.golomb(600, 20),
        Layout.contiguous(600, 20),
    ):
        trials = 256
        times = interleaved(
            {
                "ours": kernel(layout, trials),
                "scipy": scipy_every_failure(layout),
                "python": python_incremental(layout),
            },
            seconds,
        )
        ours = times["ours"] / trials
        rows.append(
            [layout.kind, 600, layout.redundancy, 1e6 * ours, times["scipy"] / ours, times["python"] / ours]
        )
    table(
        "The whole S* curve of a trial against matchings after every failure (targets: 60 and 30 us at r = 9)",
        columns,
        rows,
    )
    found = {"against": [dict(zip(columns, row, strict=True)) for row in rows]}

    rows = []
    for layout in (
        Layout.golomb(600, 9),
        Layout.golomb(1000, 9),
        Layout.random(600, 9),
        Layout.golomb(600, 20),
        Layout.golomb(5000, 20),
    ):
        found_here = stages(layout, seconds)
        rows.append([layout.kind, layout.groups, layout.redundancy, *found_here.values()])
    columns = ("layout", "N", "r", *found_here)
    table("Where the time goes: us a trial", columns, rows)
    found["stages"] = [dict(zip(columns, row, strict=True)) for row in rows]

    columns, rows = ("layout", "N", "r", "us a trial", "ns a group", "cython / numba"), []
    for n, r in ((200, 9), (600, 3), (600, 9), (600, 20), (1000, 9), (2000, 9), (5000, 9), (10_000, 9)):
        for layout in (
            Layout.golomb(n, r),
            Layout.contiguous(n, r),
            Layout.partition(n, r),
            Layout.random(n, r),
        ):
            trials = max(16, 60_000 // n)
            contenders = {"numba": kernel(layout, trials)}
            if AHEAD:
                contenders["cython"] = kernel(layout, trials, AHEAD)
            times = interleaved(contenders, seconds / 6)
            time = times["numba"] / trials
            ratio = times["cython"] / times["numba"] if AHEAD else "not built"
            rows.append([layout.kind, n, r, 1e6 * time, 1e9 * time / n, ratio])
    table("Over N and r", columns, rows)
    found["sizes"] = [dict(zip(columns, row, strict=True)) for row in rows]
    if options.json:
        save(options.json, found)


if __name__ == "__main__":
    main()
