"""What the reordering controller remembers: the plan of a layout, the state of a life, and their making.

Shared by all backends, so it imports no compiler.
"""

from typing import NamedTuple

import numpy as np

# Places of State.reg
DEPTH = 0  # S, places of every alive stack that a step computes
ALIVE = 1  # alive groups
UNCOVERED = 2  # types no alive prefix holds since the last decision: state.uncovered[:reg[UNCOVERED]]
BEFORE = 3  # depth before the last decision
FOUND = 4  # uncovered types the last decision started from, at the depth before it
TOUCHED = 5  # groups whose prefix the last decision changed: state.touched[:reg[TOUCHED]]
EVENT = 6  # decisions and resets since the state was made
BASE = 7  # every label of an earlier search lies above base + its distances
REGISTERS = 8

# Rows of State.table, N entries each: one array of rows, so that calls pass, and Numba compiles, few arguments
COVER = 0  # type: places of alive prefixes that hold it
FLAG = 1  # type: what the running decision did to it (see promotions), 0 between decisions
LABEL = 2  # group: base + distance in the last search that saw it; OUT if it has failed
PI = 3  # group: potential, 0 between decisions
PRICED = 4  # list: groups with a potential
VIA = 5  # group: type that the path to it brings into it ...
FROM = 6  # ... and the group that type leaves, -1 none
SLOT = 7  # group: where it stands in touched while a decision changes it, else -1
AGAIN = 8  # group: changed places that a decision left to compute again ...
WHEN = 9  # ... and the low 31 bits of that decision's EVENT, -1 none
SCRATCH = 10
ROWS = 11

OUT = np.int32(-1)  # label of a failed group: no distance is less, so no search enters it
FAR = np.int32(2**31 - 1)  # above every label


class Plan(NamedTuple):
    """A layout as the controller reads it; nothing in it changes, threads share it.

    ``id`` is uint16 where group numbers fit, else uint32: a search at N = 600 then stays in the first-level cache,
    and Numba, which tests every signed index for counting from the end, need not.
    """

    hosts: (
        np.ndarray
    )  # id[N, r], row t: groups that host type t; short rows repeat a host, which changes nothing
    stacks: np.ndarray  # id[N, r], row g: types of group g in first order, the first width[g] of them
    width: np.ndarray  # int32[N], types of every group (r, but for short rows)
    first: np.ndarray  # int32[N], first places that hold each type: its cover at depth 1


class State(NamedTuple):
    """A life so far. One a thread."""

    reg: np.ndarray  # int64[REGISTERS], see the names above
    stack: np.ndarray  # id[N, r], row g: types of group g in present order (a failed group's: as it died)
    uncovered: np.ndarray  # id[N], the uncovered types, first reg[UNCOVERED]
    touched: np.ndarray  # int32[N], groups whose prefix the last decision changed, first reg[TOUCHED]
    saved: np.ndarray  # id[N, r], row i: prefix of touched[i] before the running decision
    table: np.ndarray  # int32[ROWS, N], see the rows above
    queue: (
        np.ndarray
    )  # int32[2, N r + r], groups in the order of discovery; next entry at the same distance or -1
    bucket: np.ndarray  # int32[4N + 8], last queue entry of each distance, -1 none


def plan(hosts, stacks):
    """The Plan of a layout.

    hosts int32[N, r]: row t, groups that host type t; stacks int32[N, r]: row g, types of group g in stack
    order; short rows of both padded with -1 at the end. The order within rows of ``hosts`` decides ties only.
    """
    hosts, stacks = np.array(hosts, np.int64), np.array(stacks, np.int64)
    n = stacks.shape[0]
    small = np.uint16 if n < 2**16 else np.uint32
    width = (stacks >= 0).sum(axis=1).astype(np.int32)
    first = np.bincount(stacks[:, 0], minlength=n).astype(np.int32)
    hosts = np.where(hosts < 0, hosts[:, :1], hosts).astype(small)
    return Plan(hosts, np.maximum(stacks, 0).astype(small), width, first)


def blank_state(plan):
    """The memory of a State for a Plan, to be reset before use. 12 to 16 N r + 70 N bytes."""
    n, r = plan.stacks.shape
    small = plan.stacks.dtype
    state = State(
        np.zeros(REGISTERS, np.int64),
        np.zeros((n, r), small),
        np.zeros(n, small),
        np.zeros(n, np.int32),
        np.zeros((n, r), small),
        np.zeros((ROWS, n), np.int32),
        np.zeros((2, n * r + r), np.int32),
        np.zeros(4 * n + 8, np.int32),
    )
    state.table[SLOT, :] = -1
    state.table[WHEN, :] = -1
    return state
