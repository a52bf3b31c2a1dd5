"""How the reordering controller is compiled, and the start of a life."""

from functools import partial

import numpy as np

from .controller_state import (
    ALIVE,
    BASE,
    BEFORE,
    COVER,
    DEPTH,
    EVENT,
    FAR,
    FOUND,
    LABEL,
    TOUCHED,
    UNCOVERED,
    blank_state,
)
from .jit import njit

# Nothing in the controller allocates, so it can do without Numba's reference counts: counting the arrays of every call
# took half of the time. Wrappers for callers in Python (inner functions have none) and in C took a third of the
# compilation.
device = partial(njit, _nrt=False, no_cfunc_wrapper=True)
inner = partial(device, no_cpython_wrapper=True)

_blank = njit(blank_state)


@device
def reset(plan, state):
    """All groups alive, stacks in first order, depth 1: the state after a restart. Copies N r + 2 N numbers."""
    n, r = plan.stacks.shape
    table, reg = state.table, state.reg
    for i in range(n):
        for place in range(r):
            state.stack[i, place] = plan.stacks[i, place]
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


def plain_state(plan):
    """A fresh State for a Plan: all groups alive, depth 1. Interpreted, which saves compiling new_state."""
    state = blank_state(plan)
    reset(plan, state)
    return state


@njit
def new_state(plan):
    """plain_state for compiled callers."""
    state = _blank(plan)
    reset(plan, state)
    return state
