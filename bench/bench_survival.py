"""Survival of failure patterns against key generation alone, against NumPy, and over N, r and threads.

    python bench/bench_survival.py [--quick] [--json FILE]

One core unless said otherwise. Ratios are the figures to trust: everything in a table took turns in one run.
"""

import argparse
import functools
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from common import SEED, ahead, arithmetic, in_threads, interleaved, save, table
from rivals_survival import keys_alone, numpy_doubling, numpy_rolled, plain_python, plan_of, run

from spare_mc.kernels import survival
from spare_mc.layouts import Layout

AHEAD = ahead("ahead")


def trials_for(groups, microseconds=2000.0):
    """Trials that take about so long, a multiple of 64."""
    return max(64, int(microseconds / (groups * 0.0012)) // 64 * 64)


def against_keys(layouts, seconds):
    """Rows: one layout each."""
    rows, results = [], []
    for layout in layouts:
        trials, plan = trials_for(layout.groups), plan_of(layout)
        contenders = keys_alone(layout.groups, trials) | {"numba": run(survival, plan, trials)}
        if AHEAD is not None:
            contenders["cython"] = run(AHEAD, plan, trials)
        best = interleaved(contenders, seconds)
        result = {
            "layout": layout.kind,
            "groups": layout.groups,
            "redundancy": layout.redundancy,
            "us_per_trial": best["numba"] / trials * 1e6,
            "trials_per_s": trials / best["numba"],
            "over_full_keys": best["numba"] / best["full keys"],
            "over_key_halves": best["numba"] / best["key halves"],
            "cython_over_numba": best["cython"] / best["numba"] if AHEAD else None,
        }
        results.append(result)
        rows.append(["-" if value is None else value for value in result.values()])
    columns = ["layout", "N", "r", "us a trial", "trials/s", "/ full keys", "/ key halves", "cython / numba"]
    return columns, rows, results


def paper_sizes(seconds):
    made = [
        Layout.golomb(600, 9),
        Layout.golomb(600, 20),
        Layout.contiguous(600, 9),
        Layout.contiguous(600, 20),
        Layout.partition(600, 9),
        Layout.random(600, 9),
        Layout.random(600, 20),
        Layout.golomb(200, 9),
        Layout.golomb(1000, 9),
    ]
    columns, rows, results = against_keys(made, seconds)
    table(
        "Survival over drawing the same keys (target: golomb N=600 r=9 at most 2.5 / full keys)",
        columns,
        rows,
    )
    return results


def over_groups(seconds, most):
    sizes = [size for size in (200, 1000, 10_000, 100_000, 600_000) if size <= most]
    makers = (Layout.golomb, Layout.contiguous, Layout.partition, Layout.random)
    columns, rows, results = against_keys([make(size, 9) for make in makers for size in sizes], seconds)
    for row, result in zip(rows, results, strict=True):
        result["ns_per_group"] = result["us_per_trial"] / result["groups"] * 1e3
        row.append(result["ns_per_group"])
    table("Over N, r = 9", [*columns, "ns a group"], rows)
    return results


def over_redundancy(seconds):
    rng = np.random.default_rng(3)
    scattered = sorted(rng.choice(np.arange(1, 600), 299, replace=False).tolist())
    made = []
    for r in (3, 9, 20, 60, 300):
        made += [Layout.contiguous(600, r), Layout.partition(600, r), Layout.random(600, r)]
        made.append(Layout.custom(600, [0, *scattered[: r - 1]]))
    columns, rows, results = against_keys(made, seconds)
    table("Over r, N = 600", columns, rows)
    return results


def against_numpy(seconds):
    trials = 1024
    golomb, contiguous = Layout.golomb(600, 9), Layout.contiguous(600, 9)
    contenders = {
        "golomb, numba": run(survival, plan_of(golomb), trials),
        "golomb, NumPy rolled": numpy_rolled(600, golomb.offsets, trials),
        "contiguous, numba": run(survival, plan_of(contiguous), trials),
        "contiguous, NumPy rolled": numpy_rolled(600, contiguous.offsets, trials),
        "contiguous, NumPy doubling": numpy_doubling(600, 9, trials),
    }
    best = {name: time_ / trials for name, time_ in interleaved(contenders, seconds).items()}
    few = {"golomb, plain Python": plain_python(golomb, 4)}
    best |= {name: time_ / 4 for name, time_ in interleaved(few, seconds / 4).items()}
    results = []
    for name, each in best.items():
        results.append(
            {
                "what": name,
                "trials_per_s": 1 / each,
                "numba_is_faster_by": each / best[f"{name.split(',')[0]}, numba"],
            }
        )
    columns = ["N = 600, r = 9", "trials/s", "numba is faster by"]
    table("Against NumPy and plain Python", columns, [list(r.values()) for r in results])
    return results


def over_threads(seconds):
    plan, trials = plan_of(Layout.golomb(600, 9)), 40_000
    outs = [np.empty(trials, np.int32) for _ in range(2)]
    rounds = 4_000_000
    work = {
        "arithmetic": [functools.partial(arithmetic, rounds)] * 2,
        "survival": [functools.partial(survival.endurable, plan, SEED, 0, out) for out in outs],
    }
    contenders = {}
    for name, pair in work.items():
        contenders[f"{name}, one thread"] = lambda pair=pair: in_threads(pair[:1])
        contenders[f"{name}, two threads"] = lambda pair=pair: in_threads(pair)
    best = interleaved(contenders, seconds, time.perf_counter)
    gain = {name: 2 * best[f"{name}, one thread"] / best[f"{name}, two threads"] for name in work}
    result = {**{f"{name}_gain": value for name, value in gain.items()}}
    result["survival_over_arithmetic"] = gain["survival"] / gain["arithmetic"]
    table(
        "Two threads over one (target: survival at least 0.95 of arithmetic)",
        ["arithmetic", "survival", "survival / arithmetic"],
        [list(result.values())],
    )
    return result


_START = """
import time; import numpy as np
from spare_mc.kernels import survival
plan = survival.plan(600, 9, **{arguments})
begin = time.process_time()
survival.endurable(plan, 1, 0, np.empty(16, np.int32))
print(time.process_time() - begin)
"""


def start_up():
    """CPU seconds of the first call, with an empty cache and with a full one."""
    hosts = "{'hosts': np.stack([np.arange(600)] * 9, axis=1).astype(np.int32)}"
    rows, results = [], []
    for name, arguments in (("circulant, partition", "{'offsets': range(9)}"), ("table", hosts)):
        with tempfile.TemporaryDirectory() as folder:
            taken = [
                float(
                    subprocess.run(
                        [sys.executable, "-c", _START.format(arguments=arguments)],
                        env={**os.environ, "SPARE_MC_CACHE_DIR": folder},
                        check=True,
                        capture_output=True,
                        text=True,
                    ).stdout
                )
                for _ in range(2)
            ]
        results.append({"kernel": name, "empty_cache_s": taken[0], "full_cache_s": taken[1]})
        rows.append(list(results[-1].values()))
    table("First call, CPU seconds", ["kernel", "empty cache", "full cache"], rows)
    return results


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="less time a row, N up to 10,000")
    parser.add_argument("--json", metavar="FILE", help="also write the figures there (- for standard output)")
    options = parser.parse_args()
    seconds = 0.4 if options.quick else 2.0
    results = {
        "paper_sizes": paper_sizes(seconds),
        "over_groups": over_groups(seconds, 10_000 if options.quick else 600_000),
        "over_redundancy": over_redundancy(seconds),
        "against_numpy": against_numpy(4 * seconds),
        "over_threads": over_threads(4 * seconds),
        "start_up": start_up(),
    }
    if options.json:
        save(options.json, results)


if __name__ == "__main__":
    main()
