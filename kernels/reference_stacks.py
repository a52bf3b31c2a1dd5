"""Plain-Python stack depth: slow, obviously right; the oracle of :mod:`spare_mc.kernels.stacks`.

Nothing is shared with the fast kernels: after every failure, every type is given to an alive host by the textbook
augmenting-path search (Kuhn, "The Hungarian method for the assignment problem", 1955), from nothing each time.
"""

from .reference import failure_order


def can_share_out(host_rows, alive, depth):
    """Whether every type can be given to an alive host with no group taking more than ``depth``.

    ``host_rows[t]``: the groups that host type t, negative entries are padding. ``alive``: set of groups.
    """
    taken = {group: [] for group in alive}

    def place(shard, tried):
        for group in host_rows[shard]:
            if group in taken and group not in tried:
                tried.add(group)
                if len(taken[group]) < depth:
                    taken[group].append(shard)
                    return True
                for slot, other in enumerate(taken[group]):
                    if place(other, tried):
                        taken[group][slot] = shard
                        return True
        return False

    return all(place(shard, set()) for shard in range(len(host_rows)))


def least_depth(host_rows, alive, redundancy):
    """The smallest depth up to ``redundancy`` at which the ``alive`` groups can share out all types, else 0."""
    alive = set(alive)
    for depth in range(1, redundancy + 1):
        if can_share_out(host_rows, alive, depth):
            return depth
    return 0


def depths_in_order(host_rows, order, redundancy):
    """Least depth after 0, 1, ..., K failures when the groups fail in the given ``order`` (list of K + 1 ints)."""
    depths = []
    for failures in range(len(order) + 1):
        depth = least_depth(host_rows, order[failures:], redundancy)
        if depth == 0:
            break
        depths.append(depth)
    return depths


def capacity_in_order(host_rows, order, redundancy):
    """For each depth 1..redundancy the largest k such that it suffices after the first k failures, or -1."""
    depths = depths_in_order(host_rows, order, redundancy)
    return [sum(least <= depth for least in depths) - 1 for depth in range(1, redundancy + 1)]


def capacity(host_rows, n, redundancy, seed, trial):
    """:func:`capacity_in_order` for the failure order of one trial of ``n`` groups."""
    return capacity_in_order(host_rows, failure_order(n, seed, trial), redundancy)
