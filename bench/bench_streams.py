"""Time of failure streams: events of a run, clocks of GPUs against clocks of groups, lives of failure patterns.

    python bench/bench_streams.py [--quick]

Every figure is the least CPU time of contenders that take turns, so that a busy machine slows them alike; ratios are
the figures to trust. Prints the tables of docs/performance.md.
"""

import sys

import numpy as np
from common import SEED, ahead, interleaved
from rivals_streams import heap_of_clocks, simpy_clocks, sorted_lifetimes

from spare_mc.kernels import (
    reorder,
    stacks,
    stream_reorder,
    stream_stacks,
    stream_survival,
    streams,
    survival,
)
from spare_mc.kernels.reorder_columns import STREAM_COLUMNS
from spare_mc.kernels.stream_plan import (
    STACK_COLUMNS,
    SURVIVAL_COLUMNS,
    WEIBULL,
    Law,
    Pool,
    Source,
    memory,
    plan,
)
from spare_mc.layouts import Layout

GROUPS, GPUS = 600, 1000
SHAPE, MEAN = 0.78, 180_000e6  # of a group's clock [us]: system MTBF 300 s
SCALE = MEAN / 1.1542645  # gamma(1 + 1 / 0.78)
HORIZON = 10**12  # us: some 3,500 failures of 600 groups
KERNELS = {"numba": streams} | ({"cython": ahead("ahead_streams")} if ahead("ahead_streams") else {})
LIVES = {
    "survival": {"numba": stream_survival, "cython": ahead("ahead_streams")},
    "stacks": {"numba": stream_stacks, "cython": ahead("ahead_stacks")},
    "reordering": {"numba": stream_reorder, "cython": ahead("ahead_reorder")},
}


def clocks(per_group, racks=0):
    """A stream of clocks, so many a group at the same rate of the system, and of racks of 8 groups."""
    units = GROUPS * per_group
    pools = [Pool(np.arange(units + 1), np.arange(units) // per_group)]
    sources = [Source(Law(WEIBULL, SCALE * per_group, SHAPE), units, 0)]
    if racks:
        pools.append(Pool(np.arange(0, GROUPS + 1, 8), np.arange(GROUPS)))
        sources.append(Source(Law(WEIBULL, 20 * SCALE, 1.0), racks, 1))
    return plan(GROUPS, pools, sources)


def drawn(kernel, stream, trials, horizon=HORIZON):
    """A function that draws so many trials, and the events of all."""
    held, times, groups = memory(stream), np.empty(10**5, np.int64), np.empty(10**5, np.int32)

    def run():
        return sum(kernel.hits(stream, SEED, i, horizon, times, groups, held) for i in range(trials))

    return run, run()


def events_of_a_run(seconds):
    print(f"\nEvents of a run, {GROUPS} groups with a Weibull clock each, renewed at their failures\n")
    rng = np.random.default_rng(1)
    law = (SHAPE, SCALE, float(HORIZON))
    ours = {name: drawn(kernel, clocks(1), 20) for name, kernel in KERNELS.items()}
    contenders = {name: run for name, (run, _) in ours.items()}
    events = {name: count for name, (_, count) in ours.items()}
    rivals = {"NumPy draws, heapq": heap_of_clocks, "SimPy": simpy_clocks}
    for name, rival in rivals.items():
        try:
            events[name] = len(rival(rng, GROUPS, 1, *law))
        except ImportError:
            print(f"{name} is not installed")
            continue
        contenders[name] = lambda rival=rival: rival(rng, GROUPS, 1, *law)
    best = interleaved(contenders, seconds)
    print("| contender | ns an event | events a second | times as long as Cython, or Numba |")
    print("|---|---|---|---|")
    each = {name: best[name] / events[name] for name in best}
    fastest = each.get("cython", each["numba"])
    for name, time in each.items():
        print(f"| {name} | {time * 1e9:,.0f} | {1 / time:,.0f} | {time / fastest:.2f} |")


def gpus_against_groups(seconds):
    print("\nClocks of 600,000 GPUs against clocks of 600 groups, about as many events\n")
    made = {"groups": (clocks(1), HORIZON), "GPUs": (clocks(GPUS), HORIZON // 4)}
    contenders, events = {}, {}
    for level, (stream, horizon) in made.items():
        for name, kernel in KERNELS.items():
            run, count = drawn(kernel, stream, 20, horizon)
            contenders[name, level], events[name, level] = run, count
    rng = np.random.default_rng(1)
    rival = lambda: heap_of_clocks(rng, GROUPS * GPUS, GPUS, SHAPE, SCALE * GPUS, HORIZON / 4.0)  # noqa: E731
    best = interleaved(contenders, seconds)
    naive = interleaved({"heap": rival}, 0)["heap"]
    print(
        "| backend | events of a trial, groups / GPUs | ns an event, groups | ns an event, GPUs | GPUs / groups |"
    )
    print("|---|---|---|---|---|")
    for name in KERNELS:
        group, gpu = (best[name, level] / events[name, level] * 1e9 for level in made)
        counts = " / ".join(f"{events[name, level] / 20:,.0f}" for level in made)
        print(f"| {name} | {counts} | {group:,.0f} | {gpu:,.0f} | {gpu / group:.2f} |")
    trial = best["numba", "GPUs"] / 20
    print(
        f"\nA heap of all 600,000 clocks takes {naive * 1e3:,.0f} ms a trial: {naive / trial:,.0f} times Numba's"
    )


def lives(seconds, trials=320):
    print(f"\nLives of failure patterns, golomb N = {GROUPS}, r = 9, us a trial\n")
    layout = Layout.golomb(GROUPS, 9)
    tables = layout.host_table(), layout.stack_table()
    contenders = {}
    out, last = np.empty(trials, np.int32), np.empty((trials, 9), np.int32)
    plain = np.empty((trials, len(reorder.COLUMNS)), np.int64)
    plans = (survival.plan(GROUPS, 9, offsets=layout.offsets), stacks.plan(*tables), reorder.plan(*tables))
    fast = {
        "survival": {"numba": survival, "cython": ahead("ahead")},
        "stacks": {"numba": stacks, "cython": ahead("ahead_stacks")},
        "reordering": {"numba": reorder, "cython": ahead("ahead_reorder")},
    }
    for name in KERNELS:
        of = {measure: kernels[name] for measure, kernels in fast.items()}
        contenders["survival", name, "fast"] = lambda k=of["survival"]: k.endurable(plans[0], SEED, 0, out)
        contenders["stacks", name, "fast"] = lambda k=of["stacks"]: k.capacity(plans[1], SEED, 0, last)
        contenders["reordering", name, "fast"] = lambda k=of["reordering"]: k.lives(plans[2], SEED, 0, plain)
    made = {"groups": clocks(1), "GPUs": clocks(GPUS), "groups and racks": clocks(1, racks=75)}
    rows = {
        "survival": (np.empty((trials, len(SURVIVAL_COLUMNS)), np.int64),),
        "stacks": (np.empty((trials, len(STACK_COLUMNS)), np.int64), np.zeros((GROUPS + 1, 9), np.int64)),
        "reordering": (
            np.empty((trials, len(STREAM_COLUMNS)), np.int64),
            np.zeros((GROUPS + 1, 7), np.int64),
            np.zeros(GROUPS + 1, np.int64),
        ),
    }
    for measure, kernels in LIVES.items():
        for name in KERNELS:
            kernel = kernels[name]
            prepared = kernel.stream_layout(*tables)
            for what, stream in made.items():
                contenders[measure, name, what] = lambda k=kernel, p=prepared, s=stream, r=rows[measure]: (
                    k.stream_lives(s, p, SEED, 0, *r)
                )
    best = interleaved(contenders, 2 * seconds)
    ways = ("fast", *made)
    print(
        "| measure | backend | fast path, independent groups | "
        + " | ".join(f"stream: {w}" for w in made)
        + " |"
    )
    print("|---|---|---|" + "---|" * len(made))
    for measure in LIVES:
        for name in KERNELS:
            cells = [best[measure, name, way] / trials * 1e6 for way in ways]
            print(f"| {measure} | {name} | " + " | ".join(f"{c:,.2f}" for c in cells) + " |")
    rng = np.random.default_rng(1)
    few = interleaved(
        {"numpy": lambda: sorted_lifetimes(rng, tables[0], SHAPE, SCALE, 20)}, seconds / 2
    )["numpy"] / 20  # fmt: skip
    stream = best["survival", "numba", "groups"] / trials
    print(
        f"\nNumPy, all lifetimes drawn and compared: {few * 1e6:,.0f} us a trial, {few / stream:.1f} times Numba's"
    )


def main():
    seconds = 1.0 if "--quick" in sys.argv else 8.0
    events_of_a_run(seconds)
    gpus_against_groups(seconds)
    lives(seconds)


if __name__ == "__main__":
    main()
