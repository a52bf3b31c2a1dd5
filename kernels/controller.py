"""The reordering controller: which shard types every alive group computes, failure after failure.

Each group hosts up to r shard types in an order of its own, its stack; a step computes the first S places of every
alive stack (the *prefix*) and is complete when every type stands in some alive prefix. ``fail`` takes groups out,
``decide`` repairs: nothing (fixed), a deeper prefix (depth), or the fewest promotions into prefixes (reorder).
The method, its proof and the rule for ties are in docs/reordering.md.

Use, all of it compiled or interpreted, in many threads with a state each::

    p = plan(hosts, stacks)              # once a layout, shared
    s = plain_state(p)                   # once a thread; inside compiled code, new_state(p)
    reset(p, s)                          # after a restart
    fail(p, s, group)                    # for every failed group found together ...
    phase, moves, patch, changed = decide(p, s)   # ... then one decision for all of them
    places_again(p, s, group)            # what that decision left an alive group to compute again
    s.reg[DEPTH], s.reg[ALIVE], s.stack[group, :s.reg[DEPTH]]
    rejoin(p, s, group)                  # between decisions, for every group that comes back in its first order ...
    moves = relax(p, s)                  # ... then, where the depth may fall, the least feasible one again

The outcome depends on the set of failed groups, not on the order of the ``fail`` calls before a ``decide``.
"""

import numpy as np

from .controller_jit import device, inner, new_state, plain_state, reset
from .controller_state import (
    AGAIN,
    ALIVE,
    BEFORE,
    COVER,
    DEPTH,
    EVENT,
    FAR,
    FLAG,
    FOUND,
    LABEL,
    OUT,
    SCRATCH,
    SLOT,
    TOUCHED,
    UNCOVERED,
    WHEN,
    Plan,
    State,
    plan,
)
from .promotions import promote

__all__ = [
    "ALIVE", "BEFORE", "DEEPER", "DEPTH", "EVENT", "FIXED", "FOUND", "REORDER", "TOUCHED", "UNCOVERED", "WIPED",
    "Plan", "State", "decide", "fail", "new_state", "places_again", "plain_state", "plan", "rejoin", "relax", "reset",
]  # fmt: skip

# Phases of decide()
FIXED = 0  # every type still stands in some alive prefix: nothing moves
DEEPER = 1  # a deeper prefix covers every type with no move
REORDER = 2  # at least one promotion, at the old depth or a deeper one
WIPED = 3  # some type has no alive host

_EVENTS = np.int64(2**31 - 1)  # State.table holds this many low bits of the event number


@device
def fail(plan, state, group):
    """Take ``group`` out, O(S); one that is out already stays out. After the last of a batch call decide()."""
    reg, table = state.reg, state.table
    if table[LABEL, group] == OUT:
        return
    table[LABEL, group] = OUT
    reg[ALIVE] -= 1
    for place in range(min(reg[DEPTH], np.int64(plan.width[group]))):
        t = state.stack[group, place]
        table[COVER, t] -= 1
        if table[COVER, t] == 0:
            state.uncovered[reg[UNCOVERED]] = t
            reg[UNCOVERED] += 1


@device
def decide(plan, state):
    """Repair the stacks after one or several fail() calls.

    Returns (phase, moves, patch, changed), int64 each:

    - phase: FIXED, DEEPER, REORDER or WIPED. After WIPED only reset() may follow.
    - moves: promotions into prefixes: the least number at the least feasible depth; 0 unless REORDER.
    - patch: alive groups with at least one place to compute again, because their prefix changed or grew.
    - changed: places to compute again, over all alive groups; see places_again().

    Also told: ``state.reg[BEFORE]`` and ``state.reg[DEPTH]``, the depths before and after; ``state.reg[FOUND]``,
    types uncovered by the failures at the depth before; ``state.touched[:state.reg[TOUCHED]]``, groups with
    promotions (when the depth grew, all other alive groups have new places besides).
    """
    reg = state.reg
    reg[EVENT] += 1
    reg[TOUCHED] = 0
    reg[BEFORE] = reg[DEPTH]
    reg[FOUND] = reg[UNCOVERED]
    if reg[UNCOVERED] == 0:
        return np.int64(FIXED), np.int64(0), np.int64(0), np.int64(0)
    return _repair(plan, state)


@device
def rejoin(plan, state, group):
    """Take ``group`` in again, alive and in its first order, O(r); the depth stays. Not between fail() and decide()."""
    reg, table = state.reg, state.table
    if table[LABEL, group] != OUT:
        return
    table[LABEL, group] = FAR
    reg[ALIVE] += 1
    width = np.int64(plan.width[group])
    for place in range(width):
        state.stack[group, place] = plan.stacks[group, place]
    for place in range(min(reg[DEPTH], width)):
        table[COVER, state.stack[group, place]] += 1


@device
def relax(plan, state):
    """After rejoin() calls, bring the depth down to the least feasible one; returns the moves (int64).

    Types that stood deeper are promoted into the prefixes that are left: the least number of promotions, as in
    decide(). 0 moves where the depth stays. ``state.reg[BEFORE]``, ``state.reg[DEPTH]``: the depths before and after.
    """
    reg = state.reg
    reg[EVENT] += 1
    reg[TOUCHED] = 0
    reg[BEFORE] = reg[DEPTH]
    reg[FOUND] = 0
    depth = (state.stack.shape[0] + reg[ALIVE] - 1) // reg[ALIVE]
    if depth >= reg[BEFORE]:
        return np.int64(0)
    return _relax(plan, state, depth)


@device
def places_again(plan, state, group):
    """Places of an alive group that the last decision changed in, or added to, its prefix (int64)."""
    reg, table = state.reg, state.table
    width = np.int64(plan.width[group])
    places = min(reg[DEPTH], width) - min(reg[BEFORE], width)
    if table[WHEN, group] == reg[EVENT] & _EVENTS:
        places += table[AGAIN, group]
    return places


@inner
def _repair(plan, state):
    reg, table, stack = state.reg, state.table, state.stack
    if not _sort_uncovered(plan.hosts, state.uncovered, table, reg):
        return np.int64(WIPED), np.int64(0), np.int64(0), np.int64(0)
    # No group takes more than S types, so S < N / alive cannot do; beyond that, a failed search tells.
    depth = reg[BEFORE]
    while depth * reg[ALIVE] < stack.shape[0]:
        depth += 1
    moves, changed = _cover(plan, state, depth)
    patch = reg[TOUCHED]
    if reg[DEPTH] > reg[BEFORE]:
        patch, grown = _grown(plan.width, table, reg)
        changed += grown
    return np.int64(REORDER if moves > 0 else DEEPER), moves, patch, changed


@inner
def _cover(plan, state, depth):
    """Cover the uncovered types, at the least depth from ``depth`` on that can; returns (moves, changed places)."""
    reg, table, stack, uncovered = state.reg, state.table, state.stack, state.uncovered
    touched, saved, widths = state.touched, state.saved, plan.width
    while True:
        if depth > reg[DEPTH]:
            _deepen(widths, stack, uncovered, table, reg, depth)
        if promote(
            plan.hosts, stack, uncovered, touched, saved, table, state.queue, state.bucket, reg, depth
        ):
            break
        _undo(stack, touched, saved, table, reg, depth)
        depth += 1
    reg[UNCOVERED] = 0
    return _settle(widths, stack, touched, saved, table, reg)


@inner
def _relax(plan, state, depth):
    reg, table = state.reg, state.table
    _shallow(plan.width, state.stack, table, reg, depth)
    for t in range(state.stack.shape[0]):
        if table[COVER, t] == 0:
            state.uncovered[reg[UNCOVERED]] = t
            reg[UNCOVERED] += 1
    moves, _ = _cover(plan, state, depth)
    return moves


@inner
def _shallow(widths, stack, table, reg, depth):
    """Let alive prefixes reach ``depth`` places only, less than they do."""
    for g in range(stack.shape[0]):
        if table[LABEL, g] != OUT:
            for place in range(depth, min(reg[DEPTH], np.int64(widths[g]))):
                table[COVER, stack[g, place]] -= 1
    reg[DEPTH] = depth


@inner
def _sort_uncovered(hosts, uncovered, table, reg):
    """Sort the uncovered types, so that the order of fail() calls does not matter; False if one has no host."""
    for i in range(reg[UNCOVERED]):
        t = uncovered[i]
        hosted = False
        for j in range(hosts.shape[1]):
            if table[LABEL, hosts[t, j]] != OUT:
                hosted = True
                break
        if not hosted:
            return False
        k = i
        while k > 0 and uncovered[k - 1] > t:
            uncovered[k] = uncovered[k - 1]
            k -= 1
        uncovered[k] = t
    return True


@inner
def _deepen(widths, stack, uncovered, table, reg, depth):
    """Let alive prefixes reach ``depth`` places; types that this covers are uncovered no more."""
    for g in range(stack.shape[0]):
        if table[LABEL, g] != OUT:
            for place in range(reg[DEPTH], min(depth, np.int64(widths[g]))):
                table[COVER, stack[g, place]] += 1
    reg[DEPTH] = depth
    kept = np.int64(0)
    for i in range(reg[UNCOVERED]):
        t = uncovered[i]
        if table[COVER, t] == 0:
            uncovered[kept] = t
            kept += 1
    reg[UNCOVERED] = kept


@inner
def _grown(widths, table, reg):
    """Alive groups with new places in the prefix after the depth grew, and those places."""
    groups = np.int64(0)
    places = np.int64(0)
    for g in range(widths.shape[0]):
        width = np.int64(widths[g])
        if table[LABEL, g] != OUT and width > reg[BEFORE]:
            groups += 1
            places += min(reg[DEPTH], width) - reg[BEFORE]
    return groups, places


@inner
def _undo(stack, touched, saved, table, reg, depth):
    """Take back what promotions changed before ``depth`` was found too small."""
    for i in range(reg[TOUCHED]):
        g = touched[i]
        table[SLOT, g] = -1
        for place in range(depth):
            old, new = saved[i, place], stack[g, place]
            table[FLAG, old] = 0
            table[FLAG, new] = 0
            if old != new:
                table[COVER, new] -= 1
                table[COVER, old] += 1
                stack[g, place] = old
    reg[TOUCHED] = 0


@inner
def _settle(widths, stack, touched, saved, table, reg):
    """Give every touched group its final order; returns (promotions, those to places below the old depth).

    The promotions are in vacated places of the prefix already; the rest of the stack is as it was. Here the promoted
    types take the vacated places in their old order, and the displaced types open the rest.
    """
    depth = reg[DEPTH]
    moves = np.int64(0)
    changed = np.int64(0)
    kept = np.int64(0)
    for i in range(reg[TOUCHED]):
        g = touched[i]
        table[SLOT, g] = -1
        promoted = np.int64(0)
        below = np.int64(0)
        for place in range(depth):
            old, new = saved[i, place], stack[g, place]
            table[FLAG, old] = 0
            table[FLAG, new] = 0
            if old != new:
                table[SCRATCH, promoted] = new
                promoted += 1
                if place < reg[BEFORE]:
                    below += 1
        if promoted == 0:
            continue  # its promotions were all undone
        # Backwards through the rest: promoted types leave, the others close up at the end of the row.
        write = np.int64(widths[g])
        missing = promoted
        for place in range(write - 1, depth - 1, -1):
            t = stack[g, place]
            leaves = False
            for k in range(promoted):
                if table[SCRATCH, k] == t:
                    leaves = True
                    break
            if leaves:
                missing -= 1
                table[SCRATCH, promoted + missing] = t  # the promoted types once more, in their old order
            else:
                write -= 1
                stack[g, write] = t
        k = np.int64(0)
        for place in range(depth):
            if stack[g, place] != saved[i, place]:
                stack[g, place] = table[SCRATCH, promoted + k]
                stack[g, depth + k] = saved[i, place]
                k += 1
        moves += promoted
        changed += below
        touched[kept] = g
        kept += 1
        table[AGAIN, g] = below
        table[WHEN, g] = reg[EVENT] & _EVENTS
    reg[TOUCHED] = kept
    return moves, changed
