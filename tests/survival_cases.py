"""Layouts for the survival tests, as host rows in plain Python, and the ways to compute on them.

Run as a script (by a test, with NUMBA_DISABLE_JIT=1) it checks a few small cases of every way.
"""

import numpy as np

from spare_mc.kernels import reference, survival
from spare_mc.kernels.survival_plan import BITS, LANES, SINGLE

SEED = 0x9E3779B97F4A7C15
GOLOMB9 = (0, 1, 5, 12, 25, 27, 35, 41, 44)  # the optimal ruler of nine marks
GOLOMB20 = (0, 1, 8, 11, 68, 77, 94, 116, 121, 156, 158, 179, 194, 208, 212, 228, 240, 253, 259, 283)


def circulant(groups, offsets):
    """(host rows, arguments of plan, ways that know the layout)."""
    rows = [sorted({(t - o) % groups for o in offsets}) for t in range(groups)]
    ways = (LANES, SINGLE) if groups >= 16 else (LANES,)
    return rows, {"redundancy": len(offsets), "offsets": offsets}, ways


def contiguous(groups, redundancy):
    return circulant(groups, range(redundancy))


def partition(groups, block):
    starts = [group // block * block for group in range(groups)]
    rows = [list(range(start, min(start + block, groups))) for start in starts]
    return rows, {"redundancy": block, "block": block}, (LANES,)


def table(groups, redundancy, seed=1, short=False):
    """Random hosts, each place a permutation; ``short`` cuts every third row to half, padded with -1."""
    rng = np.random.default_rng(seed)
    hosts = np.stack([rng.permutation(groups) for _ in range(redundancy)], axis=1).astype(np.int32)
    if short:
        hosts[::3, (redundancy + 1) // 2 :] = -1
    rows = [[int(host) for host in row if host >= 0] for row in hosts]
    return rows, {"redundancy": redundancy, "hosts": hosts}, (LANES, BITS)


def plans(groups, case):
    """One plan for every way that knows the layout."""
    _, arguments, ways = case
    return [survival.plan(groups, way=way, **arguments) for way in ways]


def expected(groups, rows, first, count, seed=SEED):
    return [reference.endurable(rows, groups, seed, first + i) for i in range(count)]


def computed(backend, plan, first, count, seed=SEED):
    out = np.full(count, -1, np.int32)
    backend.endurable(plan, seed, first, out)
    return out.tolist()


def _check_small():
    for groups in (2, 5, 18):
        r = min(3, groups)
        for case in (
            contiguous(groups, r),
            partition(groups, r),
            table(groups, r),
            table(groups, r, short=True),
        ):
            for first in (0, 2**32 - 2):
                wanted = expected(groups, case[0], first, 4)
                for plan in plans(groups, case):
                    assert computed(survival, plan, first, 4) == wanted, (groups, case, plan)
    groups, case = 48, circulant(48, (0, 1, 4, 9))
    keys = np.random.default_rng(5).integers(0, 9, (3, groups)).astype(np.uint32)
    wanted = [reference.endurable_in_order(case[0], np.argsort(row, kind="stable").tolist()) for row in keys]
    for plan in plans(groups, case):
        out = np.empty(3, np.int32)
        survival.endurable_of_keys(plan, keys, out)
        assert out.tolist() == wanted


if __name__ == "__main__":
    import numba

    assert numba.config.DISABLE_JIT
    _check_small()
    print("all equal")
