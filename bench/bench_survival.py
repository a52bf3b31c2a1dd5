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
from common import in_threads, interleaved, save, table

from spare_mc.kernels import ahead_levels, patterns, philox, reference, survival
from spare_mc.kernels.jit import njit
from spare_mc.layouts import Layout

SEED = 0x0123456789ABCDEF
K0, K1 = (np.uint64(half) for half in philox.split64(SEED))
try:
    ahead = ahead_levels.load("ahead")
except ImportError:
    ahead = None


def plan_of(layout):
    if layout.block is not None:
        return survival.plan(layout.groups, layout.redundancy, block=layout.block)
    if layout.offsets is not None:
        return survival.plan(layout.groups, layout.redundancy, offsets=layout.offsets)
    return survival.plan(layout.groups, layout.redundancy, hosts=layout.host_table())


# ---- what is timed ----------------------------------------------------------------------------------------------


@njit
def _full_keys(keys, trials):
    for trial in range(trials):
        philox.pattern_keys(keys, K0, K1, np.uint64(trial))


@njit
def _halves_side_by_side(keys, draws, trials, scratch):
    for trial in range(0, trials, 16):
        patterns.trials16(keys, draws, K0, K1, np.uint64(trial), scratch)


def keys_alone(groups, trials):
    """Contenders that only draw the keys of the trials: all 32 bits, and the upper halves that survival needs."""
    draws = (groups + 3) // 4
    full, halves = np.empty(groups, np.uint32), np.empty(64 * draws, np.uint16)
    scratch = np.empty(32, np.uint64)
    return {
        "full keys": lambda: _full_keys(full, trials),
        "key halves": lambda: _halves_side_by_side(halves, draws, trials, scratch),
    }


def run(backend, plan, trials):
    out = np.empty(trials, np.int32)
    return lambda: backend.endurable(plan, SEED, 0, out)


def numpy_rolled(groups, offsets, trials):
    """Any offsets in NumPy: batches of 64 trials, rolled maxima, count."""
    rng = np.random.default_rng(1)

    def once():
        for _ in range(0, trials, 64):
            keys = rng.random((64, groups))
            latest = keys.copy()
            for offset in offsets[1:]:
                latest[:, offset:] = np.maximum(latest[:, offset:], keys[:, : groups - offset])
                latest[:, :offset] = np.maximum(latest[:, :offset], keys[:, groups - offset :])
            (keys < latest.min(axis=1)[:, None]).sum(axis=1)

    return once


def numpy_doubling(groups, redundancy, trials):
    """Contiguous layouts in NumPy: 64 trials along the last axis, windows of 1, 2, 4... groups."""
    rng = np.random.default_rng(1)

    def once():
        for _ in range(0, trials, 64):
            keys = rng.random((groups, 64), dtype=np.float32)
            latest, reach = np.concatenate([keys, keys[: redundancy - 1]]), 1
            while 2 * reach <= redundancy:
                latest = np.maximum(latest[:-reach], latest[reach:])
                reach *= 2
            rest = redundancy - reach
            least = (np.maximum(latest[:-rest], latest[rest:]) if rest else latest).min(axis=0)
            (keys < least).sum(axis=0)

    return once


@njit
def _arithmetic(rounds):
    """Arithmetic in registers alone: what two threads can gain at best on this machine, now."""
    a, b = np.uint64(88172645463325252), np.uint64(362436069)
    for _ in range(rounds):
        a ^= a << np.uint64(13)
        a ^= a >> np.uint64(7)
        a ^= a << np.uint64(17)
        b = b * np.uint64(6364136223846793005) + a
    return b


# ---- tables -----------------------------------------------------------------------------------------------------


def trials_for(groups, microseconds=2000.0):
    """Trials that take about so long, a multiple of 64."""
    return max(64, int(microseconds / (groups * 0.0012)) // 64 * 64)


def against_keys(layouts, seconds):
    """Rows: one layout each."""
    rows, results = [], []
    for layout in layouts:
        trials, plan = trials_for(layout.groups), plan_of(layout)
        contenders = keys_alone(layout.groups, trials) | {"numba": run(survival, plan, trials)}
        if ahead is not None:
            contenders["cython"] = run(ahead, plan, trials)
        best = interleaved(contenders, seconds)
        result = {
            "layout": layout.kind,
            "groups": layout.groups,
            "redundancy": layout.redundancy,
            "us_per_trial": best["numba"] / trials * 1e6,
            "trials_per_s": trials / best["numba"],
            "over_full_keys": best["numba"] / best["full keys"],
            "over_key_halves": best["numba"] / best["key halves"],
            "cython_over_numba": best["cython"] / best["numba"] if ahead else None,
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
    rows = [[row] for row in golomb.host_table().tolist()]
    hosts = [hosts for (hosts,) in rows]
    contenders = {
        "golomb, numba": run(survival, plan_of(golomb), trials),
        "golomb, NumPy rolled": numpy_rolled(600, golomb.offsets, trials),
        "contiguous, numba": run(survival, plan_of(contiguous), trials),
        "contiguous, NumPy rolled": numpy_rolled(600, contiguous.offsets, trials),
        "contiguous, NumPy doubling": numpy_doubling(600, 9, trials),
    }
    best = {name: time_ / trials for name, time_ in interleaved(contenders, seconds).items()}
    few = {"golomb, plain Python": lambda: [reference.endurable(hosts, 600, SEED, i) for i in range(4)]}
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
        "arithmetic": [functools.partial(_arithmetic, rounds)] * 2,
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
