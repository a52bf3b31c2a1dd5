"""Plain-Python reordering controller: slow, obviously right; the oracle of controller, promotions and reorder.

Depth and coverage are found from nothing at every decision, the prefixes are lists, and the rule for ties of
docs/reordering.md is written out as it stands. ``least_cost`` finds the least cost in yet another way, on the slots
themselves, knowing nothing of paths over groups.
"""

from .reference import endurable_in_order, failure_order
from .reference_stacks import least_depth


class Controller:
    """Stacks of the alive groups and what is done to them.

    host_rows[t]: groups that host type t, stack_rows[g]: types of group g in first order; negative entries are
    padding. ``order``: dict group -> list of its types in present order; ``alive``: set of groups; ``depth``.
    """

    def __init__(self, host_rows, stack_rows):
        self.hosts = [[int(g) for g in row if g >= 0] for row in host_rows]
        self.first = {g: [int(t) for t in row if t >= 0] for g, row in enumerate(stack_rows)}
        self.order = {g: list(types) for g, types in self.first.items()}
        self.alive = set(self.order)
        self.depth = 1
        self.redundancy = max(len(types) for types in self.order.values())

    def prefixes(self):
        """The types that every alive group computes: dict group -> list."""
        return {g: self.order[g][: self.depth] for g in self.alive}

    def fail(self, groups):
        """Take groups out and repair the stacks; returns a dict of what was done.

        phase (0 fixed, 1 depth, 2 reorder, 3 wipe-out), moves, patch (groups with places to compute again), changed
        (such places), uncovered (types left without a prefix by the failures), before and after (depths).
        """
        self.alive -= set(groups)
        before = self.depth
        lost = _uncovered(self.hosts, self.prefixes())
        told = {"phase": 0, "moves": 0, "patch": 0, "changed": 0, "uncovered": len(lost), "before": before}
        if lost:
            depth = least_depth(self.hosts, self.alive, self.redundancy)
            if depth == 0:
                return told | {"phase": 3, "after": before}
            self.depth = max(before, depth)
            old = {g: self.order[g] for g in self.alive}
            told["moves"] = self._reorder()
            told["phase"] = 2 if told["moves"] else 1
            again = [
                sum(p >= before or new != old[g][p] for p, new in enumerate(prefix))
                for g, prefix in self.prefixes().items()
            ]
            told["patch"], told["changed"] = sum(n > 0 for n in again), sum(again)
        return told | {"after": self.depth}

    def rejoin(self, groups, keep_depth=False):
        """Take groups in again, in their first order, and unless told to keep it bring the depth down to the least.

        Returns the number of promotions.
        """
        self.alive |= set(groups)
        for g in groups:
            self.order[g] = list(self.first[g])
        if keep_depth:
            return 0
        self.depth = min(self.depth, least_depth(self.hosts, self.alive, self.redundancy))
        return self._reorder()

    def _reorder(self):
        """Cover every type by successive shortest paths; returns the number of promotions."""
        old, new = self.prefixes(), self.prefixes()
        price = dict.fromkeys(self.alive, 0)
        for start in _uncovered(self.hosts, old):
            end, distance, came = self._path(start, old, new, price)
            for g in distance:
                price[g] += min(0, distance[g] - distance[end])
            out = next(x for x in new[end] if _held(x, new) > 1)
            g = end
            while g is not None:
                arriving, previous = came[g]
                _swap(new[g], old[g], out, arriving)
                out, g = arriving, previous
        return sum(self._settle(g, old[g], new[g]) for g in self.alive)

    def _path(self, start, old, new, price):
        """Dijkstra from an uncovered type: (last group, distances of groups, group -> (type brought in, from))."""
        distance, came = {}, {}
        waiting = {}  # distance -> groups, the last discovered last
        end, bound = None, float("inf")
        here, d = None, 0
        while True:
            for x in [start] if here is None else new[here]:
                for h in self.hosts[x]:
                    if h not in self.alive or x in new[h]:
                        continue
                    cost = (x not in old[h]) - (here is not None and x not in old[here])
                    to = d + cost + (0 if here is None else price[here]) - price[h]
                    if to < bound and to < distance.get(h, bound):
                        distance[h] = to
                        came[h] = (x, here)
                        waiting.setdefault(to, []).append(h)
                        if any(_held(y, new) > 1 for y in new[h]):
                            end, bound = h, to
            here = None
            while here is None:
                d = min((at for at, groups in waiting.items() if groups), default=bound)
                if d >= bound:
                    return end, distance, came
                g = waiting[d].pop()
                here = g if distance[g] == d else None

    def _settle(self, g, old, new):
        """Final order of group g: promoted types into vacated places, displaced ones first into the rest."""
        stack = self.order[g]
        promoted = [t for t in stack if t in new and t not in old]
        displaced = [t for t in old if t not in new]
        arriving = iter(promoted)
        prefix = [t if t in new else next(arriving) for t in old]
        rest = [t for t in stack[len(old) :] if t not in promoted]
        self.order[g] = prefix + displaced + rest
        return len(promoted)


def _uncovered(hosts, prefixes):
    held = {t for types in prefixes.values() for t in types}
    return [t for t in range(len(hosts)) if t not in held]


def _held(t, prefixes):
    return sum(t in types for types in prefixes.values())


def _swap(now, old, out, arriving):
    """``arriving`` takes the place of ``out``; one that stood here before returns to its own place."""
    vacated = now.index(out)
    if arriving in old:
        own = old.index(arriving)
        now[vacated] = now[own]
        now[own] = arriving
    else:
        now[vacated] = arriving


def life(host_rows, stack_rows, order, batch=1):
    """One life under the failure ``order`` (list of groups): yields (Controller, groups, what fail() told)."""
    controller = Controller(host_rows, stack_rows)
    told = {"phase": 0}
    for begin in range(0, len(order), batch):
        groups = order[begin : begin + batch]
        told = controller.fail(groups)
        yield controller, groups, told
        if told["phase"] == 3:
            return


def lives_row(host_rows, stack_rows, seed, trial, batch=1):
    """The row of ``reorder.lives`` for one trial, as a list of integers in the order of ``reorder.COLUMNS``."""
    order = failure_order(len(host_rows), seed, trial)
    events = [told for _, _, told in life(host_rows, stack_rows, order, batch)]
    wipeout = events.pop()

    def total(what, *phases):
        return sum(told[what] for told in events if told["phase"] in phases)

    return [
        endurable_in_order(host_rows, order),
        *(sum(told["phase"] == phase for told in events) for phase in (0, 1, 2)),
        total("moves", 2),
        *(total("patch", phase) for phase in (1, 2)),
        *(total("changed", phase) for phase in (1, 2)),
        total("uncovered", 0, 1, 2),
        1 + total("after", 0, 1, 2),
        wipeout["after"],
    ]


def least_cost(host_rows, order, alive, depth):
    """Least cost of an assignment of all types to slots (alive group, place < depth), or None where there is none.

    A type costs 0 in the exact slot it holds in ``order`` (dict group -> list of types), 1 in any other slot of a
    group that hosts it. Successive shortest paths by Bellman and Ford's method on the slots.
    """
    slots = {
        t: {
            (g, place): int(order[g][place] != t)
            for g in row
            if g in alive
            for place in range(min(depth, len(order[g])))
        }
        for t, row in enumerate(host_rows)
    }
    holder, place_of, cost = {}, {}, 0
    for start in slots:
        distance, came = {start: 0}, {}
        improved = True
        while improved:
            improved = False
            for t in slots:
                if t not in distance:
                    continue
                for slot, price in slots[t].items():
                    if place_of.get(t) != slot and distance[t] + price < distance.get(slot, float("inf")):
                        distance[slot], came[slot] = distance[t] + price, t
                        improved = True
                        other = holder.get(slot)
                        if other is not None:
                            distance[other] = distance[slot] - slots[other][slot]
        free = [slot for slot in came if slot not in holder]
        if not free:
            return None
        slot = min(free, key=distance.get)
        cost += distance[slot]
        while slot is not None:
            t = came[slot]
            previous = place_of.get(t)
            holder[slot], place_of[t] = t, slot
            slot = previous
    return cost
