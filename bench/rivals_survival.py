"""What survival is compared with: drawing its keys alone, its memory traffic, vectorised NumPy, plain Python."""

import numpy as np
from common import SEED, words

from spare_mc.kernels import patterns, philox, reference, survival
from spare_mc.kernels.jit import njit

K0, K1 = words(SEED)


def plan_of(layout):
    if layout.block is not None:
        return survival.plan(layout.groups, layout.redundancy, block=layout.block)
    if layout.offsets is not None:
        return survival.plan(layout.groups, layout.redundancy, offsets=layout.offsets)
    return survival.plan(layout.groups, layout.redundancy, hosts=layout.host_table())


def run(kernel, plan, trials):
    out = np.empty(trials, np.int32)
    return lambda: kernel.endurable(plan, SEED, 0, out)


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


def memory_traffic(groups, size=2**26):
    """(function, trials): 16-bit keys of so many trials written to main memory and read from it once."""
    here, there = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    return lambda: np.copyto(there, here), size // (2 * groups)


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


def plain_python(layout, trials):
    hosts = layout.host_table().tolist()
    return lambda: [reference.endurable(hosts, layout.groups, SEED, i) for i in range(trials)]
