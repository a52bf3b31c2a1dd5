"""What the reordering controller remembers: the plan of a layout, the state of a life, and their making."""

from typing import NamedTuple

import numpy as np

from .jit import njit

# Places of State.reg
DEPTH = 0  # S, places of every alive stack that a step computes
ALIVE = 1  # alive groups
UNCOVERED = 2  # types that stand in no alive prefix since the last decision
BEFORE = 3  # depth before the last decision
FOUND = 4  # uncovered types the last decision started from, at the depth before it
TOUCHED = 5  # groups whose prefix the last decision changed: state.touched[:reg[TOUCHED]]
EVENT = 6  # decisions and resets since the state was made
BASE = 7  # every label of an earlier search lies at or above it
REGISTERS = 8

# Rows of State.table, N entries each. One array of rows: calls pass, and Numba compiles, few arguments, and what a
# search reads of many groups stays close together.
COVER = 0  # type: places of alive prefixes that hold it
FLAG = 1  # type: what the running decision did to it (see promotions), 0 between decisions
OPEN = 2  # list: the uncovered types, the first reg[UNCOVERED]
LABEL = 3  # group: base + distance in the last search that saw it, OUT if it has failed
PI = 4  # group: potential, 0 between decisions
PRICED = 5  # list: groups with a potential
VIA = 6  # group: type that a path brings into it ...
FROM = 7  # ... and the group that type leaves, -1 none
SLOT = 8  # group: where it stands in touched while a decision changes it, else -1
AGAIN = 9  # group: changed places that a decision left to compute again ...
WHEN = 10  # ... and the low 31 bits of that decision's EVENT, -1 none
SCRATCH = 11
ROWS = 12

OUT = np.int32(-1)  # label of a failed group: no distance is less
FAR = np.int32(2**31 - 1)  # above every distance


class Plan(NamedTuple):
    """A layout as the controller reads it; nothing in it changes, threads share it.

    ``id`` is int16 where group numbers fit (a search then stays within the first-level cache), else int32.
    """

    hosts: np.ndarray  # id[N, r], row t: groups that host type t, -1 padded at the end
    stacks: np.ndarray  # id[N, r], row g: types of group g in first order, -1 padded at the end
    width: np.ndarray  # int32[N], types of every group (r, but for short rows)
    first: np.ndarray  # int32[N], first places that hold each type: its cover at depth 1


class State(NamedTuple):
    """A life so far. One a thread."""

    reg: np.ndarray  # int64[REGISTERS], see the names above
    stack: np.ndarray  # id[N, r], row g: types of group g in present order (a failed group's: as it died)
    touched: np.ndarray  # int32[N], groups whose prefix the last decision changed, the first reg[TOUCHED]
    saved: np.ndarray  # id[N, r], row i: prefix of touched[i] before the running decision
    table: np.ndarray  # int32[ROWS, N], see the rows above
    queue: np.ndarray  # int32[2, N + N r], groups in the order of discovery; next entry at the same distance
    bucket: np.ndarray  # int32[2, 4N + 8], first and last queue entry of each distance


def plan(hosts, stacks):
    """The Plan of a layout.

    hosts int32[N, r]: row t, groups that host type t; stacks int32[N, r]: row g, types of group g in stack
    order; short rows of both padded with -1 at the end. The order within rows of ``hosts`` decides ties only.
    """
    stacks = np.asarray(stacks)
    n = stacks.shape[0]
    small = np.int16 if n <= 2**15 else np.int32
    width = (stacks >= 0).sum(axis=1).astype(np.int32)
    first = np.bincount(stacks[:, 0], minlength=n).astype(np.int32)
    return Plan(np.array(hosts, small, order="C"), np.array(stacks, small, order="C"), width, first)


@njit
def new_state(plan):
    """A fresh State for a Plan: all groups alive, depth 1. 12 to 16 N r + 96 N bytes; also for compiled callers."""
    n, r = plan.stacks.shape
    state = State(
        np.zeros(REGISTERS, np.int64),
        plan.stacks.copy(),
        np.zeros(n, np.int32),
        plan.stacks.copy(),
        np.zeros((ROWS, n), np.int32),
        np.zeros((2, n + n * r), np.int32),
        np.zeros((2, 4 * n + 8), np.int32),
    )
    state.table[SLOT, :] = -1
    state.table[WHEN, :] = -1
    reset(plan, state)
    return state


@njit
def reset(plan, state):
    """All groups alive, stacks in first order, depth 1: the state after a restart. Copies N r + 2 N numbers."""
    n = plan.stacks.shape[0]
    table, reg = state.table, state.reg
    state.stack[:, :] = plan.stacks
    for i in range(n):
        table[COVER, i] = plan.first[i]
        table[LABEL, i] = FAR
    reg[DEPTH] = 1
    reg[ALIVE] = n
    reg[UNCOVERED] = 0
    reg[BEFORE] = 1
    reg[FOUND] = 0
    reg[TOUCHED] = 0
    reg[EVENT] += 1  # forgets what places_again() told
    reg[BASE] = np.int64(FAR)
