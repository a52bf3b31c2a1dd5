"""Groups that come back during a run: repairs, and spare groups that step in.

Looked at when a step begins. What was found failed since the last look is entered by the time of its finding: without
spares its place is ready again after the repair; with spares the first free one takes the place, or the first one
repaired once somebody is waiting. Places that are ready by then, and whose failure has been handled, come back.
Every time is known when the failure is entered, so three short queues in order of time are all there is.
"""

import numpy as np

from .clocks import NEVER, add, draw, extend, rewind
from .ledger import note, spend
from .training_jit import device, hot
from .training_settings import (
    OUT_STEPS,
    REJOINS,
    RETURN,
    RETURNS,
    SHRINK,
    SHRINK_TOTAL,
    SPARES_LACKING,
    SPARES_USED,
    SYSTEM,
)
from .training_state import (
    ALIVE,
    BACK,
    CLOCKS,
    COMING,
    COMING_COUNT,
    DUE,
    FIRST_ALIVE,
    FREE,
    GROUPS,
    KNOWN,
    NOW,
    OUT,
    OUT_COUNT,
    PENDING,
    READY,
    REJOIN_TIME,
    REPAIR_TIME,
    REPAIRS,
    REPAIRS_COUNT,
    REPAIRS_FIRST,
    REPAIRS_ROOM,
    SPARES,
    STATUS,
    SWAP_TIME,
    WAITING,
    WAITING_COUNT,
    WAITING_FIRST,
)


@hot
def restock(reg):
    """All spares free, nothing under repair: the state at the start and after a restart."""
    reg[KNOWN] = 0
    reg[COMING_COUNT] = 0
    reg[WAITING_COUNT] = 0
    reg[REPAIRS_COUNT] = 0
    reg[FREE] = reg[SPARES]


@device
def _promise(reg, group, g, time):
    """Place g will be taken at ``time`` [us]; promises are made in order of time."""
    group[READY, g] = time
    group[COMING, reg[COMING_COUNT]] = g
    reg[COMING_COUNT] += 1


@device
def _mend(reg, group, now):
    """Repairs that are over by ``now`` [us]: each takes the place that has waited longest, or is a free spare."""
    while reg[REPAIRS_COUNT] > 0:
        mended = reg[reg[REPAIRS] + reg[REPAIRS_FIRST]]
        if mended > now:
            break
        reg[REPAIRS_FIRST] = (reg[REPAIRS_FIRST] + 1) % reg[REPAIRS_ROOM]
        reg[REPAIRS_COUNT] -= 1
        if reg[WAITING_COUNT] > 0:
            g = group[WAITING, reg[WAITING_FIRST]]
            reg[WAITING_FIRST] = (reg[WAITING_FIRST] + 1) % reg[GROUPS]
            reg[WAITING_COUNT] -= 1
            _promise(reg, group, g, mended + reg[SWAP_TIME])
        else:
            reg[FREE] += 1


@device
def _enter(reg, group, g):
    """The failure of g, found at READY, reaches the spares and the repairs."""
    time = group[READY, g]
    if reg[SPARES] == 0:
        _promise(reg, group, g, time + reg[REPAIR_TIME])
        return
    _mend(reg, group, time)
    if reg[REPAIR_TIME] >= 0:
        last = (reg[REPAIRS_FIRST] + reg[REPAIRS_COUNT]) % reg[REPAIRS_ROOM]
        reg[reg[REPAIRS] + last] = time + reg[REPAIR_TIME]
        reg[REPAIRS_COUNT] += 1
    if reg[FREE] > 0:
        reg[FREE] -= 1
        reg[SPARES_USED] = max(reg[SPARES_USED], reg[SPARES] - reg[FREE])
        _promise(reg, group, g, time + reg[SWAP_TIME])
    else:
        reg[SPARES_LACKING] += 1
        group[WAITING, (reg[WAITING_FIRST] + reg[WAITING_COUNT]) % reg[GROUPS]] = g
        reg[WAITING_COUNT] += 1


@device
def _learn(reg, group):
    """Enter the failures found since the last look, by the time of their finding, then by number."""
    count = 0
    for i in range(reg[KNOWN], reg[OUT_COUNT]):
        g = group[OUT, i]
        at = count
        while at > 0:
            before = group[BACK, at - 1]
            if group[READY, before] < group[READY, g] or (
                group[READY, before] == group[READY, g] and before < g
            ):
                break
            group[BACK, at] = before
            at -= 1
        group[BACK, at] = g
        count += 1
    for i in range(count):
        _enter(reg, group, group[BACK, i])
    if reg[SPARES] > 0:
        _mend(reg, group, reg[NOW])
    reg[KNOWN] = reg[OUT_COUNT]


@device
def come_back(reg, real, group, unhandled):
    """A step begins: groups that are ready come back, their clocks new; how many, the first so many of row BACK.

    ``unhandled``: a group whose failure has not been handled yet, or -1 (those of status PENDING are none either).
    """
    _learn(reg, group)
    now = reg[NOW]
    back = np.int64(0)
    kept = 0
    looked = 0
    while looked < reg[COMING_COUNT] and group[READY, group[COMING, looked]] <= now:
        g = group[COMING, looked]
        looked += 1
        if g == unhandled or group[STATUS, g] == PENDING:
            group[COMING, kept] = g
            kept += 1
        else:
            group[BACK, back] = g
            back += 1
    if back > 0:
        for i in range(looked, reg[COMING_COUNT]):
            group[COMING, i - back] = group[COMING, i]
        reg[COMING_COUNT] -= back
        _take_in(reg, real, group, back)
        reg[RETURNS] += back
        reg[REJOINS] += 1
        spend(reg, SHRINK, reg[REJOIN_TIME])
        reg[SHRINK_TOTAL] += reg[REJOIN_TIME]
    reg[OUT_STEPS] += reg[OUT_COUNT]
    return back


@device
def _take_in(reg, real, group, back):
    """The first ``back`` groups of row BACK are alive from now on."""
    now = reg[NOW]
    if reg[CLOCKS] >= SYSTEM:
        extend(reg, real, group, now)
        rewind(reg, group)  # from now on its events may hit those who are back
    for i in range(back):
        g = group[BACK, i]
        group[STATUS, g] = ALIVE
        if reg[CLOCKS] >= SYSTEM:
            group[DUE, g] = NEVER
        else:
            group[DUE, g] = now + draw(reg, real, group, g)
            add(reg, group, g)
        reg[FIRST_ALIVE] = min(reg[FIRST_ALIVE], g)
        note(reg, RETURN, now, g, 0)
    kept = 0
    for i in range(reg[OUT_COUNT]):
        g = group[OUT, i]
        if group[STATUS, g] != ALIVE:
            group[OUT, kept] = g
            kept += 1
    reg[OUT_COUNT] = kept
    reg[KNOWN] = kept
