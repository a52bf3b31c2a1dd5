"""The reordering controller: which shard types every alive group computes, failure after failure.

Each group hosts up to r shard types in an order of its own, its stack; a step computes the first S places of every
alive stack (the *prefix*) and is complete when every type stands in some alive prefix. ``fail`` takes groups out,
``decide`` repairs: nothing (fixed), a deeper prefix (depth), or the fewest promotions into prefixes (reorder).
The method, its proof and the rule for ties are in docs/reordering.md.

Use, all of it compiled or interpreted, in many threads with a state each::

    p = plan(hosts, stacks)              # once a layout, shared
    s = new_state(p)                     # once a thread; also inside compiled code
    reset(p, s)                          # after a restart
    fail(p, s, group)                    # for every failed group found together ...
    phase, moves, patch, changed = decide(p, s)   # ... then one decision for all of them
    places_again(p, s, group)            # what that decision left an alive group to compute again
    s.reg[DEPTH], s.reg[ALIVE], s.stack[group, :s.reg[DEPTH]]

The outcome depends on the set of failed groups, not on the order of the ``fail`` calls before a ``decide``.
"""

import numpy as np

from .controller_state import (
    ALIVE,
    BEFORE,
    DEPTH,
    EVENT,
    FOUND,
    TOUCHED,
    UNCOVERED,
    Plan,
    State,
    new_state,
    plan,
    reset,
)
from .jit import njit
from .promotions import promote

__all__ = [
    "ALIVE", "BEFORE", "DEEPER", "DEPTH", "EVENT", "FIXED", "FOUND", "Plan", "REORDER", "State", "TOUCHED",
    "UNCOVERED", "WIPED", "decide", "fail", "new_state", "places_again", "plan", "reset",
]  # fmt: skip

# Phases of decide()
FIXED = 0  # every type still stands in some alive prefix: nothing moves
DEEPER = 1  # a deeper prefix covers every type with no move
REORDER = 2  # at least one promotion, at the old depth or a deeper one
WIPED = 3  # some type has no alive host

_COUNT = np.int64(1 << 24)  # State.again packs (event, places) as event * _COUNT + places


@njit
def fail(plan, state, group):
    """Take ``group`` out, O(S); one that is out already stays out. After the last of a batch call decide()."""
    reg, cover = state.reg, state.cover
    if not state.alive[group]:
        return
    state.alive[group] = 0
    reg[ALIVE] -= 1
    for place in range(min(reg[DEPTH], np.int64(plan.width[group]))):
        t = state.stack[group, place]
        cover[t] -= 1
        if cover[t] == 0:
            state.uncovered[reg[UNCOVERED]] = t
            reg[UNCOVERED] += 1


@njit
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


@njit
def places_again(plan, state, group):
    """Places of an alive group that the last decision changed in, or added to, its prefix (int64)."""
    width = np.int64(plan.width[group])
    grown = min(state.reg[DEPTH], width) - min(state.reg[BEFORE], width)
    return grown + max(state.again[group] - state.reg[EVENT] * _COUNT, np.int64(0))


@njit
def _repair(plan, state):
    if not _sort_uncovered(plan, state):
        return np.int64(WIPED), np.int64(0), np.int64(0), np.int64(0)
    reg = state.reg
    n = plan.stacks.shape[0]
    before = reg[BEFORE]
    # No group takes more than S types, so S < N / alive cannot do; beyond that, a failed search tells.
    depth = max(before, (n + reg[ALIVE] - 1) // reg[ALIVE])
    while True:
        if depth > reg[DEPTH]:
            _deepen(plan, state, depth)
        if promote(plan, state, depth):
            break
        _undo(state, depth)
        depth += 1
    moves = np.int64(0)
    changed = np.int64(0)
    kept = np.int64(0)
    for i in range(reg[TOUCHED]):
        promoted, below = _settle(plan, state, i, depth, before)
        if promoted > 0:
            g = state.touched[i]
            state.touched[kept] = g
            kept += 1
            moves += promoted
            changed += below
            state.again[g] = reg[EVENT] * _COUNT + below
    reg[TOUCHED] = kept
    reg[UNCOVERED] = 0
    patch = kept
    if depth > before:
        patch = np.int64(0)
        for g in range(n):
            width = np.int64(plan.width[g])
            if state.alive[g] and width > before:
                patch += 1
                changed += min(depth, width) - before
    return np.int64(REORDER if moves > 0 else DEEPER), moves, patch, changed


@njit
def _sort_uncovered(plan, state):
    """Sort the uncovered types, so that the order of fail() calls does not matter; False if one has no host."""
    hosts, uncovered = plan.hosts, state.uncovered
    for i in range(state.reg[UNCOVERED]):
        t = uncovered[i]
        hosted = False
        for j in range(hosts.shape[1]):
            g = hosts[t, j]
            if g >= 0 and state.alive[g]:
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


@njit
def _deepen(plan, state, depth):
    """Let alive prefixes reach ``depth`` places; types that this covers are uncovered no more."""
    reg, cover, uncovered = state.reg, state.cover, state.uncovered
    for g in range(plan.stacks.shape[0]):
        if state.alive[g]:
            for place in range(reg[DEPTH], min(depth, np.int64(plan.width[g]))):
                cover[state.stack[g, place]] += 1
    reg[DEPTH] = depth
    kept = np.int64(0)
    for i in range(reg[UNCOVERED]):
        t = uncovered[i]
        if cover[t] == 0:
            uncovered[kept] = t
            kept += 1
    reg[UNCOVERED] = kept


@njit
def _undo(state, depth):
    """Take back what promote() changed before it found ``depth`` too small."""
    for i in range(state.reg[TOUCHED]):
        g = state.touched[i]
        state.mark[g] = -1
        for place in range(depth):
            old, new = state.saved[i, place], state.stack[g, place]
            if old != new:
                state.cover[new] -= 1
                state.cover[old] += 1
                state.stack[g, place] = old
    state.reg[TOUCHED] = 0


@njit
def _settle(plan, state, i, depth, before):
    """Give the i-th touched group its final order; returns (promotions, those to places < before).

    promote() left promoted types in vacated places of the prefix and the rest of the stack as it was. Here the
    promoted types take the vacated places in their old order, and the displaced types open the rest.
    """
    stack, saved = state.stack, state.saved
    g = state.touched[i]
    state.mark[g] = -1
    new = state.settled  # scratch: promoted types, then the same in their old order
    promoted = 0
    below = 0
    for place in range(depth):
        if stack[g, place] != saved[i, place]:
            new[promoted] = stack[g, place]
            promoted += 1
            if place < before:
                below += 1
    if promoted == 0:
        return promoted, below
    # Backwards through the rest: promoted types leave, the others close up at the end of the row.
    write = np.int64(plan.width[g])
    found = promoted
    for place in range(write - 1, depth - 1, -1):
        t = stack[g, place]
        leaves = False
        if found > 0:
            for k in range(promoted):
                if new[k] == t:
                    leaves = True
                    break
        if leaves:
            found -= 1
            new[promoted + found] = t
        else:
            write -= 1
            stack[g, write] = t
    k = 0
    for place in range(depth):
        if stack[g, place] != saved[i, place]:
            stack[g, place] = new[promoted + k]
            stack[g, depth + k] = saved[i, place]
            k += 1
    return promoted, below
