"""One training run of SPARe, or with checkpoints only (where every failure restarts)."""

import numpy as np

from . import controller
from .clocks import drop, extend, start, take
from .controller import BEFORE, DEPTH, TOUCHED, WIPED, places_again
from .jitter import reach, single_time, slowest_time
from .ledger import (
    begin_step,
    close_book,
    commit,
    fail,
    fail_due,
    found_allreduce,
    goes_on,
    note,
    open_book,
    roll_back,
    save,
    shrink,
    spend,
)
from .restarts import restart
from .returns import come_back, restock
from .training_jit import device, entry, hot
from .training_settings import (
    ALLREDUCE,
    CHECKPOINT,
    DEEPER,
    FIXED,
    MOVES,
    NEEDED,
    PATCH,
    PATCH_STACKS,
    PATCH_TIME,
    PER_BLOCK,
    REDUNDANT,
    REJOIN,
    REJOIN_MOVES,
    REORDER,
    REORDERS,
    SPARE,
    WAITING,
)
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
    JITTER,
    KEEP_DEPTH,
    NOW,
    OUT,
    OUT_COUNT,
    PATCH_ALL,
    SCHEME,
    SOON,
    SOON_COUNT,
    STACK_TIME,
    STATUS,
)


@device
def _walk(reg, real, group, g, begin, depth):
    """Group g computes ``depth`` stacks from ``begin`` [us], checking its clock before each.

    Returns when it arrives at the barrier, or -1 - time if it found itself failed at that time.
    """
    due = group[DUE, g]
    if due <= begin:
        return -1 - begin
    time = begin
    if reg[JITTER] == PER_BLOCK:
        block = single_time(reg, real, depth)
        for place in range(1, depth):
            time = begin + block * place // depth
            if due <= time:
                return -1 - time
        return begin + block
    for _ in range(depth - 1):
        time += single_time(reg, real, 1)
        if due <= time:
            return -1 - time
    return time + single_time(reg, real, 1)


@hot
def _compute(reg, real, group, depth, saver):
    """Every alive group computes its first ``depth`` stacks; failures are found before a stack or at the release.

    Only groups that may fail before their last stack are walked one by one; the slowest of all others is one
    draw. The saver (or -1) starts T_s late; what that adds to the barrier is the cost of the save.
    """
    now = reg[NOW]
    delay = reg[DELAY]
    horizon = now + delay + reach(reg, real, depth - 1)
    extend(reg, real, group, horizon)
    others = reg[GROUPS] - reg[OUT_COUNT]
    release = now
    undelayed = now
    held = delay > 0
    kept = 0
    walked = 0
    while walked < reg[SOON_COUNT] and group[DUE, group[SOON, walked]] <= horizon:
        g = group[SOON, walked]
        walked += 1
        others -= 1
        late = np.int64(0)
        if held and g == saver:
            late = delay
            held = False
        arrival = _walk(reg, real, group, g, now + late, depth)
        if arrival < 0:
            arrival = -1 - arrival
            fail(reg, real, group, g, arrival)
        else:
            group[SOON, kept] = g
            kept += 1
        release = max(release, arrival)
        undelayed = max(undelayed, arrival - late)
    drop(reg, group, kept, walked)
    if held:  # its clock lies beyond the horizon
        others -= 1
        arrival = abs(_walk(reg, real, group, saver, now + delay, depth))
        release = max(release, arrival)
        undelayed = max(undelayed, arrival - delay)
    if others > 0:
        arrival = now + slowest_time(reg, real, others, depth)
        release = max(release, arrival)
        undelayed = max(undelayed, arrival)
    reg[DELAY] = 0
    spend(reg, NEEDED, reg[STACK_TIME])
    spend(reg, REDUNDANT, (depth - 1) * reg[STACK_TIME])
    spend(reg, WAITING, undelayed - now - depth * reg[STACK_TIME])
    spend(reg, CHECKPOINT, release - undelayed)
    fail_due(reg, real, group, release)


@hot
def _to_patch(reg, group, plan, stacks, groups, counts):
    """Fill ``counts`` (int64[r + 1]) with the groups that patch 1, 2, ... stacks; returns the most of any group."""
    if reg[PATCH_ALL] == 0:
        counts[1] = groups
        reg[PATCH_STACKS] += groups
        return 1
    for places in range(counts.shape[0]):
        counts[places] = 0
    if stacks.reg[DEPTH] > stacks.reg[BEFORE]:
        for g in range(reg[GROUPS]):
            if group[STATUS, g] != FOUND:
                counts[places_again(plan, stacks, g)] += 1
    else:
        for i in range(stacks.reg[TOUCHED]):
            counts[places_again(plan, stacks, stacks.touched[i])] += 1
    most = 0
    for places in range(1, counts.shape[0]):
        reg[PATCH_STACKS] += places * counts[places]
        if counts[places] > 0:
            most = places
    return most


@hot
def _patch(reg, real, group, plan, stacks, groups, counts):
    """The ``groups`` whose prefix changed or grew compute again: one stack, or every changed place."""
    now = reg[NOW]
    most = _to_patch(reg, group, plan, stacks, groups, counts)
    horizon = now + reach(reg, real, most - 1)
    extend(reg, real, group, horizon)
    release = now
    kept = 0
    walked = 0
    while walked < reg[SOON_COUNT] and group[DUE, group[SOON, walked]] <= horizon:
        g = group[SOON, walked]
        walked += 1
        places = min(places_again(plan, stacks, g), most)
        arrival = now
        if places > 0:
            counts[places] -= 1
            arrival = _walk(reg, real, group, g, now, places)
        if arrival < 0:
            arrival = -1 - arrival
            fail(reg, real, group, g, arrival)
        else:
            group[SOON, kept] = g
            kept += 1
        release = max(release, arrival)
    drop(reg, group, kept, walked)
    for places in range(1, most + 1):
        if counts[places] > 0:
            release = max(release, now + slowest_time(reg, real, counts[places], places))
    spend(reg, PATCH_TIME, release - now)
    note(reg, PATCH, release, groups, 0)
    fail_due(reg, real, group, release)


@hot
def _settle(reg, real, group, plan, stacks, counts, seen):
    """All-reduce, and what follows while failures are found; returns whether the step can commit.

    ``seen``: how many of the groups that are out the controller knows already.
    """
    if reg[OUT_COUNT] > seen:
        return _recover(reg, real, group, plan, stacks, counts, seen)
    spend(reg, ALLREDUCE, reg[ALLREDUCE_TIME])
    return True


@hot
def _recover(reg, real, group, plan, stacks, counts, seen):
    """``_settle`` where failures were found."""
    while reg[OUT_COUNT] > seen:
        found_allreduce(reg)
        if reg[SCHEME] != SPARE:
            return False
        for i in range(seen, reg[OUT_COUNT]):
            controller.fail(plan, stacks, group[OUT, i])
        seen = reg[OUT_COUNT]
        phase, moves, groups, _ = controller.decide(plan, stacks)
        if phase == WIPED:
            return False
        shrink(reg)
        if phase == controller.FIXED:
            reg[FIXED] += 1
            return True
        if phase == controller.DEEPER:
            reg[DEEPER] += 1
        else:
            reg[REORDERS] += 1
            reg[MOVES] += moves
        note(reg, REORDER, reg[NOW], moves, stacks.reg[DEPTH])
        _patch(reg, real, group, plan, stacks, groups, counts)
    spend(reg, ALLREDUCE, reg[ALLREDUCE_TIME])
    return True


@device
def _save_by_first(reg, real, group):
    """The lowest-numbered alive group saves unless it has failed; returns it, or -1."""
    g = reg[FIRST_ALIVE]
    while g < reg[GROUPS] and group[STATUS, g] == FOUND:
        g += 1
    reg[FIRST_ALIVE] = g
    if g == reg[GROUPS]:
        return np.int64(-1)
    extend(reg, real, group, reg[NOW])
    if group[DUE, g] <= reg[NOW]:
        take(reg, group, g)
        fail(reg, real, group, g, reg[NOW])
        return np.int64(-1)
    save(reg)
    return g


@device
def _rejoin(reg, real, group, plan, stacks, seen):
    """A step begins where groups can come back; returns how many do. The depth is then as the rule says."""
    back = come_back(reg, real, group, group[OUT, seen] if reg[OUT_COUNT] > seen else np.int64(-1))
    if back > 0:
        for i in range(back):
            controller.rejoin(plan, stacks, group[BACK, i])
        if reg[KEEP_DEPTH] == 0:
            moves = controller.relax(plan, stacks)
            reg[REJOIN_MOVES] += moves
            if stacks.reg[DEPTH] < stacks.reg[BEFORE]:
                note(reg, REJOIN, reg[NOW], moves, stacks.reg[DEPTH])
    return back


@entry
def run_spare(reg, real, group, plan, stacks, counts, intervals, width, first, rows):
    """Runs first, first + 1, ..., a row each; the seed is set in ``reg``.

    ``plan``, ``stacks``: the controller's Plan and State; ``counts`` int64[r + 1]: workspace.
    """
    elastic = reg[ELASTIC] > 0
    for i in range(rows.shape[0]):
        open_book(reg, first + i)
        start(reg, real, group)
        restock(reg)
        controller.reset(plan, stacks)
        seen = np.int64(0)
        saver = np.int64(-1)
        while goes_on(reg):
            begin_step(reg)
            if elastic:
                seen -= _rejoin(reg, real, group, plan, stacks, seen)
            _compute(reg, real, group, stacks.reg[DEPTH], saver)
            saver = np.int64(-1)
            alive = _settle(reg, real, group, plan, stacks, counts, seen)
            reg[DEPTH_STEPS + stacks.reg[DEPTH] - 1] += 1
            if alive:
                seen = reg[OUT_COUNT]
                if commit(reg, intervals, width, stacks.reg[DEPTH]):
                    saver = _save_by_first(reg, real, group)
            else:
                roll_back(reg, restart(reg, real, group))
                restock(reg)
                controller.reset(plan, stacks)
                reg[FIRST_ALIVE] = 0
                seen = np.int64(0)
        close_book(reg, rows[i])
