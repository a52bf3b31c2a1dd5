"""What least stacks are compared with: matchings of scipy and networkx after every failure, plain Python."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from spare_mc.kernels import reference, stacks

SEED = 1


def kernel(layout, trials, module=stacks):
    """A function that computes S*(k) of so many trials."""
    plan = module.plan(layout.host_table(), layout.stack_table())
    out = np.empty((trials, layout.redundancy), np.int32)
    return lambda: module.capacity(plan, SEED, 0, out)


def scipy_every_failure(layout):
    """One trial with scipy's matching after every failure, slots of a group expanded to its depth."""
    n, r = layout.groups, layout.redundancy
    hosts, order = layout.host_table(), reference.failure_order(n, SEED, 0)
    types = np.repeat(np.arange(n), r)

    def run():
        alive, depth = np.ones(n, bool), 1
        for g in order:
            alive[g] = False
            while depth <= r:
                keep = np.repeat(alive[hosts.ravel()], depth)
                rows = np.repeat(types, depth)[keep]
                slots = (hosts.ravel()[:, None] * depth + np.arange(depth)).ravel()[keep]
                graph = csr_array((np.ones(len(rows), np.int8), (rows, slots)), shape=(n, n * depth))
                if (maximum_bipartite_matching(graph, perm_type="column") >= 0).all():
                    break
                depth += 1
            if depth > r:
                return

    return run


def networkx_some_failures(layout, every):
    """(function, share): networkx's Hopcroft-Karp matching after every so many failures of a trial, at the known depth.

    The share of the failures of the trial that it looks at; all of them would take minutes.
    """
    import networkx

    n, r = layout.groups, layout.redundancy
    hosts, order = layout.host_table().tolist(), reference.failure_order(n, SEED, 0)
    plan = stacks.plan(layout.host_table(), layout.stack_table())
    last = np.empty((1, r), np.int32)
    stacks.capacity(plan, SEED, 0, last)
    looks = range(every, int(last[0, -1]) + 1, every)

    def run():
        for failures in looks:
            depth = 1 + int((last[0] < failures).sum())
            dead = set(order[:failures])
            graph = networkx.Graph()
            graph.add_nodes_from(range(n))
            graph.add_edges_from(
                (t, (g, place)) for t in range(n) for g in hosts[t] if g not in dead for place in range(depth)
            )
            matched = networkx.bipartite.hopcroft_karp_matching(graph, range(n))
            if any(t not in matched for t in range(n)):
                raise AssertionError("networkx finds no matching at the kernel's depth")

    return run, len(looks) / int(last[0, -1])


def python_incremental(layout):
    """One trial in plain Python: the types of a failed group are augmented, the depth grows when that fails."""
    n, r = layout.groups, layout.redundancy
    hosts = [layout.hosts(t).tolist() for t in range(n)]
    order = reference.failure_order(n, SEED, 0)

    def run():
        held, alive, depth = [{t} for t in range(n)], [True] * n, 1

        def place(t):
            """Breadth-first search for a group with a free slot, then everything on the way moves along."""
            queue, came, reached = [t], {t: None}, {}
            for u in queue:
                for g in hosts[u]:
                    if not alive[g] or g in reached:
                        continue
                    reached[g] = u
                    if len(held[g]) < depth:
                        while True:
                            mover = reached[g]
                            held[g].add(mover)
                            left = came[mover]
                            if left is None:
                                return True
                            held[left].discard(mover)
                            g = left
                    for other in held[g]:
                        came[other] = g
                        queue.append(other)
            return False

        for g in order:
            alive[g] = False
            loose, held[g] = held[g], set()
            for t in loose:
                while not place(t):
                    depth += 1
                    if depth > r:
                        return

    return run
