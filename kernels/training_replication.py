"""One training run of the replication scheme: blocks of r groups that host the same r types."""

import numpy as np

from .clocks import drop, extend, start, take
from .jitter import reach, single_time, slowest_time
from .ledger import (
    begin_step,
    close_book,
    commit,
    fail,
    found_allreduce,
    goes_on,
    open_book,
    roll_back,
    save,
    shrink,
    spend,
)
from .restarts import restart
from .returns import come_back, restock
from .training_jit import device, entry, hot
from .training_settings import ALLREDUCE, CHECKPOINT, CONSECUTIVE, NEEDED, REDUNDANT, WAITING
from .training_state import (
    ALLREDUCE_TIME,
    BACK,
    DELAY,
    DEPTH_STEPS,
    DUE,
    ELASTIC,
    FIRST_ALIVE,
    FOUND,
    GROUPS,
    LOWEST,
    LOWEST_ONLY,
    NOW,
    OUT,
    OUT_COUNT,
    PENDING,
    PENDING_COUNT,
    PLACEMENT,
    QUEUE,
    REDUNDANCY,
    SOON,
    SOON_COUNT,
    STACK_TIME,
    STATUS,
)


@hot
def _compute(reg, real, group, saver):
    """Every alive group computes its block, checking its clock before it and on its own arrival.

    Only groups that may fail by then are drawn one by one; the slowest of all others is one draw. The saver (or -1)
    starts T_s late; what that adds to the barrier is the cost of the save.
    """
    now = reg[NOW]
    delay = reg[DELAY]
    r = reg[REDUNDANCY]
    horizon = now + delay + reach(reg, real, r)
    extend(reg, real, group, horizon)
    others = reg[GROUPS] - reg[OUT_COUNT]
    release = now
    undelayed = now
    held = delay > 0
    kept = 0
    drawn = 0
    while drawn < reg[SOON_COUNT] and group[DUE, group[SOON, drawn]] <= horizon:
        g = group[SOON, drawn]
        drawn += 1
        others -= 1
        late = np.int64(0)
        if held and g == saver:
            late = delay
            held = False
        arrival = now + late
        if group[DUE, g] > arrival:
            arrival += single_time(reg, real, r)
        if group[DUE, g] <= arrival:
            fail(reg, real, group, g, arrival)
        else:
            group[SOON, kept] = g
            kept += 1
        release = max(release, arrival)
        undelayed = max(undelayed, arrival - late)
    drop(reg, group, kept, drawn)
    if held:
        others -= 1
        arrival = now + delay + single_time(reg, real, r)
        release = max(release, arrival)
        undelayed = max(undelayed, arrival - delay)
    if others > 0:
        arrival = now + slowest_time(reg, real, others, r)
        release = max(release, arrival)
        undelayed = max(undelayed, arrival)
    reg[DELAY] = 0
    spend(reg, NEEDED, reg[STACK_TIME])
    spend(reg, REDUNDANT, (r - 1) * reg[STACK_TIME])
    spend(reg, WAITING, undelayed - now - r * reg[STACK_TIME])
    spend(reg, CHECKPOINT, release - undelayed)


@hot
def _enqueue(reg, group, g):
    """Group g has been found and waits to be handled; QUEUE counts those who wait among 32 groups each."""
    group[STATUS, g] = PENDING
    group[QUEUE, g >> 5] += 1
    reg[PENDING_COUNT] += 1
    reg[LOWEST] = min(reg[LOWEST], g)


@hot
def _block(reg, living, g):
    return g // reg[REDUNDANCY] if reg[PLACEMENT] == CONSECUTIVE else g % living.shape[0]


@device
def _handle_lowest(reg, group, living):
    """Take the lowest-numbered pending group out of its block; returns whether the block still lives."""
    g = reg[LOWEST]
    group[STATUS, g] = FOUND
    chunk = g >> 5
    group[QUEUE, chunk] -= 1
    reg[PENDING_COUNT] -= 1
    following = reg[GROUPS]
    if reg[PENDING_COUNT] > 0:
        following = g + 1
        if group[QUEUE, chunk] == 0:
            while group[QUEUE, chunk] == 0:
                chunk += 1
            following = chunk << 5
        while group[STATUS, following] != PENDING:
            following += 1
    reg[LOWEST] = following
    block = _block(reg, living, g)
    living[block] -= 1
    return living[block] > 0


@hot
def _settle(reg, group, living):
    """All-reduce; handle the lowest-numbered pending group, or all; returns whether the step can commit."""
    if reg[PENDING_COUNT] == 0:
        spend(reg, ALLREDUCE, reg[ALLREDUCE_TIME])
        return True
    found_allreduce(reg)
    alive = _handle_lowest(reg, group, living)
    while reg[LOWEST_ONLY] == 0 and alive and reg[PENDING_COUNT] > 0:
        alive = _handle_lowest(reg, group, living)
    if alive:
        shrink(reg)
    return alive


@device
def _begin_life(reg, group, living):
    """All groups of every block alive, none pending."""
    n, r, blocks = reg[GROUPS], reg[REDUNDANCY], living.shape[0]
    for block in range(blocks):
        if reg[PLACEMENT] == CONSECUTIVE:
            living[block] = min(r, n - block * r)
        else:
            living[block] = (n - block + blocks - 1) // blocks
    for chunk in range((n + 31) >> 5):
        group[QUEUE, chunk] = 0
    reg[PENDING_COUNT] = 0
    reg[LOWEST] = n
    reg[FIRST_ALIVE] = 0


@device
def _save_by_first(reg, real, group):
    """The lowest-numbered alive group saves unless it has failed; returns it, or -1.

    Pending groups count as alive; only a pending lowest one cannot save either.
    """
    g = reg[FIRST_ALIVE]
    while group[STATUS, g] == FOUND:  # ends: every block has a member that is not FOUND
        g += 1
    reg[FIRST_ALIVE] = g
    if group[STATUS, g] == PENDING:
        return np.int64(-1)
    extend(reg, real, group, reg[NOW])
    if group[DUE, g] <= reg[NOW]:
        take(reg, group, g)
        fail(reg, real, group, g, reg[NOW])
        _enqueue(reg, group, g)
        return np.int64(-1)
    save(reg)
    return g


@entry
def run_replication(reg, real, group, living, intervals, width, first, rows):
    """Runs first, first + 1, ..., a row each; the seed is set in ``reg``, ``living`` int64[blocks] is workspace."""
    r = reg[REDUNDANCY]
    elastic = reg[ELASTIC] > 0
    for i in range(rows.shape[0]):
        open_book(reg, first + i)
        start(reg, real, group)
        restock(reg)
        _begin_life(reg, group, living)
        saver = np.int64(-1)
        while goes_on(reg):
            begin_step(reg)
            reg[DEPTH_STEPS + r - 1] += 1
            if elastic:
                for k in range(come_back(reg, real, group, np.int64(-1))):
                    living[_block(reg, living, group[BACK, k])] += 1
            seen = reg[OUT_COUNT]
            _compute(reg, real, group, saver)
            saver = np.int64(-1)
            for found in range(seen, reg[OUT_COUNT]):
                _enqueue(reg, group, group[OUT, found])
            if not _settle(reg, group, living):
                roll_back(reg, restart(reg, real, group))
                restock(reg)
                _begin_life(reg, group, living)
            elif commit(reg, intervals, width, r):
                saver = _save_by_first(reg, real, group)
        close_book(reg, rows[i])
