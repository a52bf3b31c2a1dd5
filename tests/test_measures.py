"""Tallies made of kernel outputs, recounted the long way."""

import numpy as np
import pytest

from spare_mc import measures


def bound(k, n):
    return -(-n // (n - k))


@pytest.mark.parametrize(("n", "r"), [(2, 1), (5, 5), (13, 4), (30, 3)])
def test_stacks_are_counted_state_by_state(n, r):
    rng = np.random.default_rng(20)
    last = np.sort(rng.integers(0, n, (50, r)), axis=1).astype(np.int32)
    found = measures.stacks(last, n)
    counts, sums = found["counts"], found["sums"]
    at_depth = np.zeros((n + 1, r), int)
    stack, states, above, failures = [], [], [], []
    for row in last:
        depths = [next(d for d in range(1, r + 1) if row[d - 1] >= k) for k in range(row[-1] + 1)]
        for k, d in enumerate(depths):
            at_depth[k, d - 1] += 1
        stack.append(sum(depths))
        states.append(len(depths))
        failures.append(len(depths) - 1)
        above.append(sum(d > bound(k, n) for k, d in enumerate(depths)))
    np.testing.assert_array_equal(counts["trials_at_depth"], at_depth)
    np.testing.assert_array_equal(counts["endurable_failures"], np.bincount(failures, minlength=n + 1))
    for a, b, x, y in (("stack", "states", stack, states), ("above", "failures", above, failures)):
        assert sums[a] == sum(x) and sums[b] == sum(y)
        assert sums[f"{a}_squared"] == sum(v * v for v in x) and sums[f"{b}_squared"] == sum(v * v for v in y)
        assert sums[f"{a}_{b}"] == sum(v * w for v, w in zip(x, y, strict=True))


def test_reordering_sums_rows():
    columns = ("failures", "fixed", "deeper", "reorders", "moves", "patch")
    rows = np.array([[4, 1, 1, 2, 3, 2], [5, 3, 1, 1, 1, 1]])
    by_failures = np.arange(7 * 6).reshape(7, 6)
    moves = np.array([0, 2, 1, 0, 0, 0, 0])
    found = measures.reordering(rows, columns, by_failures, moves)
    counts, sums = found["counts"], found["sums"]
    assert counts["endurable_failures"].tolist() == [0, 0, 0, 0, 1, 1, 0]
    assert counts["phase_at_failure"].tolist() == by_failures[:, :3].tolist()
    assert counts["moves_at_failure"].tolist() == by_failures[:, 4].tolist()
    assert (sums["moves"], sums["reorders"], sums["moves_reorders"], sums["patch"]) == (4, 3, 7, 3)
    assert (sums["failures"], sums["failures_squared"], sums["reorders_failures"]) == (9, 41, 13)
    assert (sums["fixed"], sums["deeper"]) == (4, 2)
