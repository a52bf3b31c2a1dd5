"""Time of the reordering controller: whole lives, and one reorder against general solvers.

    python bench/bench_reorder.py [--quick]

Every figure is CPU time, the best of several rounds in which all contenders take turns, so that a busy machine slows
them alike; ratios are the figures to trust. Lives are run by Numba's kernel and, where it is built, by Cython's. Prints
the tables of docs/reordering.md.
"""

import contextlib
import itertools
import sys
from functools import partial
from time import thread_time

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from spare_mc.kernels import ahead_levels, controller, reorder
from spare_mc.kernels.controller_jit import device
from spare_mc.kernels.controller_state import LABEL, OUT
from spare_mc.kernels.philox import pattern_keys, split64
from spare_mc.layouts import Layout

SEED = 1
KERNELS = {"numba": reorder}
with contextlib.suppress(ImportError):
    KERNELS["cython"] = ahead_levels.load("ahead_reorder")


def best_of(rounds, contenders):
    """Seconds of each contender (a list of functions of no argument): the sum over its functions of their least time.

    Contenders take turns within a round, and every short piece keeps its own best, so that a busy machine hides
    little: it need only be quiet once for each piece.
    """
    best = {name: [float("inf")] * len(pieces) for name, pieces in contenders.items()}
    for _ in range(rounds):
        for name, pieces in contenders.items():
            for i, run in enumerate(pieces):
                begin = thread_time()
                run()
                best[name][i] = min(best[name][i], thread_time() - begin)
    return {name: sum(times) for name, times in best.items()}


def lives_of(kernel, layout, count):
    """Functions that run ``count`` whole lives between them, and the rows they fill."""
    plan = reorder.plan(layout.host_table(), layout.stack_table())
    rows = np.zeros((count, len(reorder.COLUMNS)), np.int64)
    cuts = np.linspace(0, count, count // 5 + 1).astype(int).tolist()  # short pieces, see best_of
    return [
        partial(kernel.lives, plan, SEED, begin, rows[begin:end]) for begin, end in itertools.pairwise(cuts)
    ], rows


def table_of_lives(title, layouts, rounds):
    print(f"\n{title}\n")
    print(
        "| layout | N | r | failures | us a life | us a failure | reorders | moves a reorder | mean depth "
        "| Cython over Numba |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    pieces, rows = {}, {}
    for i, layout in enumerate(layouts):
        for name, kernel in KERNELS.items():
            pieces[i, name], rows[i] = lives_of(kernel, layout, max(20, 60_000 // layout.groups))
    best = best_of(rounds, pieces)
    for i, layout in enumerate(layouts):
        count = rows[i].shape[0]
        of = dict(zip(reorder.COLUMNS, rows[i].sum(axis=0).tolist(), strict=True))
        life = best[i, "numba"] / count * 1e6
        failure = best[i, "numba"] / max(1, of["failures"]) * 1e6
        ratio = f"{best[i, 'cython'] / best[i, 'numba']:.2f}" if "cython" in KERNELS else "not built"
        print(
            f"| {layout.kind} | {layout.groups} | {layout.redundancy} | {of['failures'] / count:.1f} "
            f"| {life:.0f} | {failure:.2f} | {of['reorders'] / count:.1f} "
            f"| {of['moves'] / max(1, of['reorders']):.2f} "
            f"| {of['depth_sum'] / (of['failures'] + count):.3f} | {ratio} |"
        )


@device
def _beginnings(plan, state, orders, failures):
    """The first ``failures`` failures of every order; returns the reorders."""
    reorders = 0
    for i in range(orders.shape[0]):
        controller.reset(plan, state)
        for k in range(failures):
            controller.fail(plan, state, orders[i, k])
            phase = controller.decide(plan, state)[0]
            reorders += phase == controller.REORDER
            if phase == controller.WIPED:
                break
    return reorders


def failure_orders(n, count):
    """Failure orders of the first trials, int32[count, n]."""
    orders = np.empty((count, n), np.int32)
    keys = np.empty(n, np.uint32)
    for trial in range(count):
        pattern_keys(keys, *split64(SEED), np.uint64(trial))
        orders[trial] = np.lexsort((np.arange(n), keys))
    return orders


def kept_states(plan, failures, count):
    """Problems of ``count`` trials at their first reorder after ``failures`` failures: (stack, alive, depth)."""
    kept = []
    for order in failure_orders(plan.stacks.shape[0], 4 * count):
        state = controller.plain_state(plan)
        for k, g in enumerate(order.tolist(), start=1):
            stack = state.stack.copy()
            controller.fail(plan, state, g)
            phase = controller.decide(plan, state)[0]
            if k > failures and phase == controller.REORDER:
                kept.append((stack, state.table[LABEL] != OUT, int(state.reg[controller.DEPTH])))
            if (k > failures and phase == controller.REORDER) or phase == controller.WIPED:
                break
        if len(kept) == count:
            break
    return kept


def matrix_of(stack, alive, depth):
    """Types x slots, 1 in the slot a type holds, 2 in any other slot of a host's (a 0 would be no entry)."""
    groups = np.flatnonzero(alive)
    r = stack.shape[1]
    types = np.repeat(stack[groups].astype(np.int64), depth, axis=1).ravel()
    place = np.tile(np.arange(depth), groups.size * r)
    own = np.repeat(np.tile(np.arange(r), groups.size), depth)
    slot = np.repeat(np.arange(groups.size), r * depth) * depth + place
    weight = np.where(place == own, 1.0, 2.0)
    return csr_array((weight, (types, slot)), shape=(stack.shape[0], groups.size * depth))


def flow_of(stack, alive, depth):
    """An OR-tools solver loaded with the same problem by groups, or None where OR-tools is missing."""
    try:
        from ortools.graph.python import min_cost_flow
    except ImportError:
        return None
    n, r = stack.shape
    groups = np.flatnonzero(alive)
    solver = min_cost_flow.SimpleMinCostFlow()
    cost = np.tile(np.arange(r) >= depth, groups.size).astype(int)
    solver.add_arcs_with_capacity_and_unit_cost(
        stack[groups].astype(np.int64).ravel(), n + np.repeat(groups, r), np.ones(groups.size * r, int), cost
    )
    solver.add_arcs_with_capacity_and_unit_cost(
        n + groups, np.full(groups.size, 2 * n), np.full(groups.size, depth), np.zeros(groups.size, int)
    )
    solver.set_nodes_supplies(np.arange(n), np.ones(n, int))
    solver.set_node_supply(2 * n, -n)
    return solver


def one_reorder(layout, failures, rounds, count=40, span=20, lives=200):
    """Mean time of one reorder around ``failures`` failures: this controller, scipy, OR-tools.

    Ours: all that ``2 * span`` failures take, those that need no reorder too, divided by the reorders among them.
    """
    plan = reorder.plan(layout.host_table(), layout.stack_table())
    problems = kept_states(plan, failures, count)
    matrices = [matrix_of(*problem) for problem in problems]
    flows = [flow_of(*problem) for problem in problems]
    state, orders = controller.plain_state(plan), failure_orders(layout.groups, lives)
    reorders = [_beginnings(plan, state, orders, failures + by) for by in (-span, span)]
    parts = [orders[begin : begin + 10] for begin in range(0, lives, 10)]
    contenders = {
        "less": [partial(_beginnings, plan, state, part, failures - span) for part in parts],
        "more": [partial(_beginnings, plan, state, part, failures + span) for part in parts],
        "scipy": [partial(min_weight_full_bipartite_matching, matrix) for matrix in matrices],
        "ortools": [flow.solve for flow in flows if flow],
    }
    best = best_of(rounds, contenders)
    ours = (best["more"] - best["less"]) / (reorders[1] - reorders[0]) * 1e6
    line = f"| {layout.groups} | {layout.redundancy} | {failures} | {ours:.2f} "
    for name in ("scipy", "ortools"):
        time = best[name] / len(problems) * 1e6  # 0 where OR-tools is missing
        line += f"| {time:.0f} | {time / ours:.0f} "
    print(line + "|")


def main():
    rounds = 3 if "--quick" in sys.argv else 15
    print(
        "\nOne reorder, with its share of failures that need none (solvers: the problem built beforehand)\n"
    )
    print("| N | r | at failures | us | scipy us | ratio | OR-tools us | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for layout, failures in (
        ((600, 9), 100),
        ((600, 9), 200),
        ((600, 9), 280),
        ((600, 20), 200),
        ((600, 20), 400),
    ):
        one_reorder(Layout.golomb(*layout), failures, rounds)
    table_of_lives(
        "Whole lives by N", [Layout.golomb(n, 9) for n in (200, 600, 1000, 2000, 5000, 10_000)], rounds
    )
    table_of_lives("Whole lives by r", [Layout.golomb(600, r) for r in (3, 6, 9, 12, 16, 20)], rounds)
    others = [Layout.contiguous(600, 9), Layout.partition(600, 9), Layout.random(600, 9)]
    table_of_lives("Other layouts", others, rounds)


if __name__ == "__main__":
    main()
