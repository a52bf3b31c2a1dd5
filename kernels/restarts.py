"""Global restarts: how long one takes, and what the failure clocks do meanwhile."""

import numpy as np

from .clocks import NEVER, add, all_fresh, comes, draw, extend, mark_hit, next_event, rewind, victim
from .training_jit import device, hot
from .training_settings import FRESH, RENEWAL, SYSTEM
from .training_state import (
    ALIVE,
    CLOCKS,
    DUE,
    EDGE,
    EXTENDED,
    GROUPS,
    MAX_WALL,
    NOW,
    OUT,
    OUT_COUNT,
    RESTART_TIME,
    SOON,
    SOON_COUNT,
    SPENT,
    STATUS,
)


@device
def restart(reg, real, group):
    """All groups alive again, their clocks as the rules say; returns when the restart begun now ends [us]."""
    if reg[CLOCKS] >= SYSTEM:
        return _by_events(reg, real, group)
    end = reg[NOW] + reg[RESTART_TIME]
    if reg[EXTENDED] or reg[CLOCKS] == RENEWAL:
        end = _renewal(reg, real, group)
    if reg[CLOCKS] == FRESH:
        all_fresh(reg, real, group, end)
    return end


@hot
def _renewal(reg, real, group):
    """Every group's own window; only those out or due within T_r have work to do."""
    first_end = reg[NOW] + reg[RESTART_TIME]
    end = first_end
    extend(reg, real, group, first_end)
    for i in range(reg[OUT_COUNT]):
        end = max(end, _window(reg, real, group, group[OUT, i]))
    soon = reg[SOON_COUNT]
    for i in range(soon):
        g = group[SOON, i]
        if group[DUE, g] >= first_end:
            break
        end = max(end, _window(reg, real, group, g))
    reg[SOON_COUNT] = 0
    for i in range(soon):
        add(reg, group, group[SOON, i])
    for i in range(reg[OUT_COUNT]):
        g = group[OUT, i]
        group[STATUS, g] = ALIVE
        add(reg, group, g)
    reg[OUT_COUNT] = 0
    return end


@device
def _window(reg, real, group, g):
    """End of group g's restart window begun now [us]; its clock is drawn on until it lies past that end.

    A failure inside the window starts the window again from the failure (at once if the failure is past).
    """
    due = group[DUE, g]
    begin = reg[NOW]
    while due < begin + reg[RESTART_TIME]:
        if reg[EXTENDED] and due > begin:
            begin = due
        due += draw(reg, real, group, g)
        if begin >= reg[MAX_WALL] or reg[SPENT]:
            break
    group[DUE, g] = due
    return begin + reg[RESTART_TIME]


@device
def _by_events(reg, real, group):
    """Restart under the one system clock or a stream; if failures extend it, an event hits any of the N groups."""
    rewind(reg, group)
    while comes(reg, reg[NOW]):  # nobody was left to be hit, or nobody looked
        next_event(reg, real)
    reg[SOON_COUNT] = 0
    reg[OUT_COUNT] = 0
    end = reg[NOW] + reg[RESTART_TIME]
    if not reg[EXTENDED]:
        while comes(reg, end):
            next_event(reg, real)
    for g in range(reg[GROUPS]):
        group[STATUS, g] = ALIVE
        group[DUE, g] = end if reg[EXTENDED] else NEVER  # extended: when the group's own window ends
    if not reg[EXTENDED]:
        return end
    while end < reg[MAX_WALL] and comes(reg, end):
        g = victim(reg, np.int64(1))
        if group[STATUS, g] == ALIVE:
            if reg[EDGE] < group[DUE, g]:
                group[DUE, g] = reg[EDGE] + reg[RESTART_TIME]
                end = max(end, group[DUE, g])
            else:  # ready early, and failed again: the first step finds it
                mark_hit(reg, group, g)
        next_event(reg, real)
    for g in range(reg[GROUPS]):
        if group[STATUS, g] == ALIVE:
            group[DUE, g] = NEVER
    return end
