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
BASE = 7  # every label of an earlier search lies above it
REGISTERS = 8

_FAR = np.int64(1) << np.int64(62)  # above every label


class Plan(NamedTuple):
    """A layout as the controller reads it; nothing in it changes, threads share it."""

    hosts: np.ndarray  # int32[N, r], row t: groups that host type t, -1 padded at the end
    stacks: np.ndarray  # int32[N, r], row g: types of group g in first order, -1 padded at the end
    width: np.ndarray  # int32[N], types of every group (r, but for short rows)
    first: np.ndarray  # int32[N], first places that hold each type: its cover at depth 1


class State(NamedTuple):
    """A life so far: the first six fields; the others are scratch memory of ``decide``. One a thread."""

    reg: np.ndarray  # int64[REGISTERS], see the names above
    alive: np.ndarray  # uint8[N]
    stack: np.ndarray  # int32[N, r], row g: types of group g in present order (a dead group's: as it died)
    cover: np.ndarray  # int32[N], places of alive prefixes that hold each type
    uncovered: np.ndarray  # int32[N], types with cover 0, the first reg[UNCOVERED]
    touched: np.ndarray  # int32[N], groups whose prefix the last decision changed, the first reg[TOUCHED]
    again: np.ndarray  # int64[N], read it through controller.places_again()
    mark: np.ndarray  # int32[N], where a group being changed lies in touched, else -1
    saved: np.ndarray  # int32[N, r], row i: prefix of touched[i] before the decision
    flag: np.ndarray  # uint8[2N], marks of the running decision on types (t) and groups (N + g)
    pi: np.ndarray  # int32[2N], potentials of types and groups, 0 between decisions
    dirty: np.ndarray  # int32[2N], nodes whose flag and potential are to be cleared
    label: np.ndarray  # int64[2N], base + distance in the last search that saw the node
    parent: np.ndarray  # int32[2N], node it was reached from
    queue: np.ndarray  # int32[2N + 2 N r], nodes in the order of discovery
    link: np.ndarray  # int32[2N + 2 N r], next queue entry at the same distance, or -1
    bucket: np.ndarray  # int32[4N + 8, 2], first and last queue entry of each distance
    settled: np.ndarray  # int32[2N], nodes whose distance is final, in that order


def plan(hosts, stacks):
    """The Plan of a layout.

    hosts int32[N, r]: row t, groups that host type t; stacks int32[N, r]: row g, types of group g in stack
    order; short rows of both padded with -1 at the end. The order within rows of ``hosts`` decides ties only.
    """
    hosts = np.ascontiguousarray(hosts, np.int32)
    stacks = np.ascontiguousarray(stacks, np.int32)
    width = (stacks >= 0).sum(axis=1).astype(np.int32)
    first = np.bincount(stacks[:, 0], minlength=stacks.shape[0]).astype(np.int32)
    return Plan(hosts, stacks, width, first)


@njit
def new_state(plan):
    """A fresh State for a Plan (all groups alive, depth 1), 24 N r + 120 N bytes; also for compiled callers."""
    n, r = plan.stacks.shape
    state = State(
        np.zeros(REGISTERS, np.int64),
        np.ones(n, np.uint8),
        plan.stacks.copy(),
        plan.first.copy(),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int64),
        np.full(n, np.int32(-1), np.int32),
        np.zeros((n, r), np.int32),
        np.zeros(2 * n, np.uint8),
        np.zeros(2 * n, np.int32),
        np.zeros(2 * n, np.int32),
        np.full(2 * n, _FAR, np.int64),
        np.zeros(2 * n, np.int32),
        np.zeros(2 * n + 2 * n * r, np.int32),
        np.zeros(2 * n + 2 * n * r, np.int32),
        np.zeros((4 * n + 8, 2), np.int32),
        np.zeros(2 * n, np.int32),
    )
    state.reg[DEPTH] = 1
    state.reg[ALIVE] = n
    state.reg[BEFORE] = 1
    state.reg[BASE] = _FAR
    return state


@njit
def reset(plan, state):
    """All groups alive, stacks in first order, depth 1: the state after a restart. Copies N r + 2 N numbers."""
    state.alive[:] = 1
    state.stack[:, :] = plan.stacks
    state.cover[:] = plan.first
    reg = state.reg
    reg[DEPTH] = 1
    reg[ALIVE] = plan.stacks.shape[0]
    reg[UNCOVERED] = 0
    reg[BEFORE] = 1
    reg[FOUND] = 0
    reg[TOUCHED] = 0
    reg[EVENT] += 1  # forgets what places_again() told
