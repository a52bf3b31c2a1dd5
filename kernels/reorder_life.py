"""One life told decision by decision; shared by all backends, so it imports no compiler."""

from typing import NamedTuple

import numpy as np

from .controller_state import LABEL, OUT
from .reorder_columns import PHASES


class Promotion(NamedTuple):
    """One type that a reorder brought into a prefix: places count from 0."""

    type: int
    group: int
    old_place: int
    new_place: int


class Event(NamedTuple):
    """One decision of a life: what failed, what the controller did, and the stacks before and after."""

    failures: int  # groups out so far, this batch included
    groups: tuple  # those of this batch, in failure order
    phase: int  # index into PHASES
    moves: int
    promotions: tuple  # of Promotion, by (group, new place)
    depth_before: int
    depth_after: int
    uncovered: int  # types that the failures left uncovered at the depth before
    patch: int  # groups with places to compute again
    changed: int  # places to compute again
    before: np.ndarray  # int32[N, r], stacks before the decision, -1 padded; dead groups': as they died
    after: np.ndarray  # int32[N, r], stacks after it
    alive: np.ndarray  # bool[N], after the failures
    time: int | None  # when the groups failed [us]; None where orders are drawn without times


class Decision(NamedTuple):
    """What a kernel's controller tells of a decision, int each; named as in Event."""

    phase: int
    moves: int
    patch: int
    changed: int
    depth_before: int
    depth_after: int
    uncovered: int


def batches(groups, batch):
    """How many groups are out after each batch of so many, up to all of them."""
    return [*range(batch, groups, batch), groups]


def events(plan, state, order, decided, ends, times=None):
    """A generator of Event, the last one the wipe-out, unless the failures end before.

    plan, state : of ``controller_state``; the kernel works on the state's arrays
    order : int32[...], groups in failure order
    decided : callable (tuple of groups) -> Decision; takes them out and decides
    ends : how many groups are out after each batch of failures that are found together and decided on at once
    times : of these batches [us], or None
    """
    k = 0
    for place, end in enumerate(ends):
        groups, k = tuple(int(g) for g in order[k:end]), int(end)
        before = _padded(plan, state)
        made = decided(groups)
        phase = made.phase
        after = _padded(plan, state)
        moved = phase == PHASES.index("reorder")
        promotions = _promotions(before, after, made.depth_after) if moved else ()
        yield Event(
            k, groups, phase, made.moves, promotions, made.depth_before, made.depth_after, made.uncovered,
            made.patch, made.changed, before, after, state.table[LABEL] != OUT,
            None if times is None else int(times[place]),
        )  # fmt: skip
        if phase == PHASES.index("wipe-out"):
            return


def _padded(plan, state):
    """The stacks, int32[N, r], short rows padded with -1."""
    inside = np.arange(state.stack.shape[1]) < plan.width[:, None]
    return np.where(inside, state.stack.astype(np.int32), np.int32(-1))


def _promotions(before, after, depth):
    found = []
    for g in np.flatnonzero((before != after).any(axis=1)):
        old = list(before[g])
        for place, t in enumerate(after[g, :depth]):
            if old.index(t) >= depth:  # a short row never changes, so t is a type
                found.append(Promotion(int(t), int(g), old.index(t), place))
    return tuple(found)
