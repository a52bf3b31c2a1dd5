"""What the reordering controller is compared with: whole lives in plain Python, one reorder by general solvers."""

import itertools
from functools import partial

import numpy as np
from common import best_of
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from spare_mc.kernels import controller, reference_reorder, reorder
from spare_mc.kernels.controller_jit import device
from spare_mc.kernels.controller_state import LABEL, OUT
from spare_mc.kernels.philox import pattern_keys, split64

SEED = 1


def lives_of(kernel, layout, count):
    """Functions that run ``count`` whole lives between them, and the rows they fill."""
    plan = reorder.plan(layout.host_table(), layout.stack_table())
    rows = np.zeros((count, len(reorder.COLUMNS)), np.int64)
    cuts = np.linspace(0, count, count // 5 + 1).astype(int).tolist()  # short pieces, see best_of
    return [
        partial(kernel.lives, plan, SEED, begin, rows[begin:end]) for begin, end in itertools.pairwise(cuts)
    ], rows


def python_life(layout):
    """One life in plain Python: the oracle of the tests."""
    hosts, stacks = layout.host_table(), layout.stack_table()
    return lambda: reference_reorder.lives_row(hosts, stacks, SEED, 0, 1)


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


def network_of(stack, alive, depth):
    """The same problem as a networkx graph for its network simplex."""
    import networkx

    n, r = stack.shape
    graph = networkx.DiGraph()
    graph.add_node("sink", demand=n)
    graph.add_nodes_from(range(n), demand=-1)
    for g in np.flatnonzero(alive).tolist():
        graph.add_edge(n + g, "sink", capacity=depth, weight=0)
        for place in range(r):
            graph.add_edge(int(stack[g, place]), n + g, capacity=1, weight=int(place >= depth))
    return graph


def one_reorder(layout, failures, rounds, count=40, span=20, lives=200, networkx=0):
    """Seconds of one reorder around ``failures`` failures: {"ours", "scipy", "ortools", "networkx"}, None if missing.

    Ours: all that ``2 * span`` failures take, those that need no reorder too, divided by the reorders among them.
    networkx : problems that it solves
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
    found = {"ours": (best["more"] - best["less"]) / (reorders[1] - reorders[0])}
    found["scipy"] = best["scipy"] / len(problems)
    found["ortools"] = best["ortools"] / len(problems) if flows[0] else None
    if networkx:
        from networkx import network_simplex

        graphs = [partial(network_simplex, network_of(*problem)) for problem in problems[:networkx]]
        found["networkx"] = best_of(1, {"networkx": graphs})["networkx"] / len(graphs)
    return found
