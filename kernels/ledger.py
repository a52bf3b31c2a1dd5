"""Bookkeeping of a training run: time and its parts, committed steps, saves and rollbacks.

All times are int64 microseconds, so the parts of a row add up to its wall time exactly. The bins of steps
(``BINS``) are only provisional until a save: a rollback moves what they gained since the resume point to rework.
Time spent on saves is never moved: a save is no part of the step it follows.
"""

import numpy as np

from .clocks import drop, extend, found
from .training_jit import device, hot
from .training_settings import (
    ALLREDUCE,
    BACKGROUND,
    BINS,
    BLOCKING,
    CHECKPOINT,
    COMMITTED,
    DETECTION,
    EXECUTED,
    FAILURE,
    FAILURES,
    FINISHED,
    RESTART,
    RESTARTING,
    RESTARTS,
    REWORK,
    ROLLED_BACK,
    SAVE,
    SAVES,
    SHRINK,
    SHRINK_TOTAL,
    STEP_END,
    USEFUL,
    WALL,
)
from .training_state import (
    BEGUN,
    DELAY,
    DEPTH_STEPS,
    DETECTION_TIME,
    DONE,
    DUE,
    ELASTIC,
    EVENT_LIMIT,
    FOUND_ALLREDUCE_TIME,
    LAST_SAVE,
    LATER,
    LIFE,
    MARK,
    MAX_WALL,
    NEXT_SAVE,
    NOTED,
    NOW,
    READY,
    REDUNDANCY,
    RESUME,
    RESUME_AFTER,
    RUN_0,
    RUN_1,
    SAVE_BLOCKING,
    SAVE_KIND,
    SAVE_STEPS,
    SAVE_TIME,
    SAVING,
    SAVING_DONE,
    SCHEME,
    SHRINK_TIME,
    SOON,
    SOON_COUNT,
    SPENT,
    STEPS,
)

_BINS = len(BINS)


@device
def open_book(reg, run):
    """Run number ``run`` begins: row, registers and marks at zero; seed and settings stay."""
    reg[RUN_0] = run & 0xFFFFFFFF
    reg[RUN_1] = run >> 32
    noted_keys = NOTED + 1  # the keys follow NOTED
    for i in range(noted_keys):
        reg[i] = 0
    for i in range(MARK, SCHEME):
        reg[i] = 0
    for i in range(DEPTH_STEPS, DEPTH_STEPS + reg[REDUNDANCY]):
        reg[i] = 0
    _plan_save(reg)


@device
def _plan_save(reg):
    """Where saves go by steps: the next multiple beyond the committed steps, or the last step."""
    every = reg[SAVE_STEPS]
    if every > 0:
        reg[NEXT_SAVE] = min((reg[DONE] // every + 1) * every, reg[STEPS])


@hot
def note(reg, kind, time, a, b):
    """Keep an event, if there is room."""
    if reg[NOTED] < reg[EVENT_LIMIT]:
        _note(reg, np.int64(kind), time, np.int64(a), np.int64(b))


@device
def _note(reg, kind, time, a, b):
    at = DEPTH_STEPS + reg[REDUNDANCY] + 4 * reg[NOTED]
    reg[at] = kind
    reg[at + 1] = time
    reg[at + 2] = a
    reg[at + 3] = b
    reg[NOTED] += 1


@hot
def goes_on(reg):
    """Whether there are steps to do, and time and random numbers to do them."""
    return reg[DONE] < reg[STEPS] and reg[NOW] < reg[MAX_WALL] and reg[SPENT] == 0


@hot
def begin_step(reg):
    """A step begins; bins are marked where a save may follow it."""
    reg[EXECUTED] += 1
    if reg[NEXT_SAVE] <= reg[DONE] + 1:
        for b in range(_BINS):
            reg[BEGUN + b] = reg[b]


@hot
def spend(reg, column, time):
    """Let ``time`` [us] pass on account of ``column``."""
    reg[column] += time
    reg[NOW] += time


@hot
def found_allreduce(reg):
    """The all-reduce of an attempt that found failures, and the delay until they are known."""
    spend(reg, ALLREDUCE, reg[FOUND_ALLREDUCE_TIME])
    spend(reg, DETECTION, reg[DETECTION_TIME])


@hot
def shrink(reg):
    """The communicator is shrunk."""
    spend(reg, SHRINK, reg[SHRINK_TIME])
    reg[SHRINK_TOTAL] += reg[SHRINK_TIME]


@device
def fail(reg, real, group, g, time):
    """Group g is found failed at ``time`` [us]."""
    found(reg, real, group, g, time)
    if reg[ELASTIC]:
        group[READY, g] = time
    reg[FAILURES] += 1
    note(reg, FAILURE, time, g, 0)


@hot
def fail_due(reg, real, group, time):
    """At the barrier's release every alive group checks its clock: all due by ``time`` are found."""
    extend(reg, real, group, time)
    count = 0
    while count < reg[SOON_COUNT] and group[DUE, group[SOON, count]] <= time:
        fail(reg, real, group, group[SOON, count], time)
        count += 1
    drop(reg, group, 0, count)


@hot
def commit(reg, intervals, width, depth):
    """The step commits; returns whether a save is due, by steps or else by ``intervals`` of bins of ``width`` [us]."""
    reg[DONE] += 1
    note(reg, STEP_END, reg[NOW], reg[DONE], depth)
    if reg[NEXT_SAVE] > 0:
        if reg[DONE] < reg[NEXT_SAVE]:
            return False
        _plan_save(reg)
        return True
    if reg[DONE] == reg[STEPS]:
        return True
    age = (reg[NOW] - reg[LIFE]) // width
    return reg[NOW] - reg[LAST_SAVE] >= intervals[min(age, intervals.shape[0] - 1)]


@device
def _adopt(reg):
    """A background save has been written: it is the resume point."""
    for b in range(_BINS):
        reg[MARK + b] = reg[LATER + b]
    reg[RESUME] = reg[SAVING_DONE]
    reg[SAVING] = 0


@device
def save(reg):
    """A checkpoint after the step just committed."""
    if reg[SAVING] > 0:
        if reg[SAVING] > reg[NOW]:  # one write at a time: wait for the one before
            spend(reg, CHECKPOINT, reg[SAVING] - reg[NOW])
        _adopt(reg)
    reg[SAVES] += 1
    if reg[SAVE_KIND] == BLOCKING:
        spend(reg, CHECKPOINT, reg[SAVE_TIME])
    elif reg[SAVE_KIND] == BACKGROUND:
        spend(reg, CHECKPOINT, reg[SAVE_BLOCKING])
        reg[SAVING] = reg[NOW] + reg[SAVE_TIME] - reg[SAVE_BLOCKING]
    else:
        reg[DELAY] = reg[SAVE_TIME]
    point = 0 if reg[RESUME_AFTER] else BEGUN
    for b in range(_BINS):
        reg[LATER + b] = reg[point + b]
    reg[SAVING_DONE] = reg[DONE] - 1 + reg[RESUME_AFTER]
    if reg[SAVING] == 0:
        _adopt(reg)
    reg[LAST_SAVE] = reg[NOW]
    note(reg, SAVE, reg[NOW], reg[DONE], 0)


@device
def roll_back(reg, end):
    """A restart until ``end`` [us]: steps since the resume point become rework."""
    if 0 < reg[SAVING] <= reg[NOW]:
        _adopt(reg)
    reg[SAVING] = 0
    for b in range(_BINS):
        reg[REWORK] += reg[b] - reg[MARK + b]
        reg[b] = reg[MARK + b]
    reg[RESTARTS] += 1
    note(reg, RESTART, reg[NOW], end, reg[DONE] - reg[RESUME])
    spend(reg, RESTARTING, end - reg[NOW])
    reg[DONE] = reg[RESUME]
    _plan_save(reg)
    reg[LAST_SAVE] = end
    reg[LIFE] = end
    reg[DELAY] = 0


@device
def close_book(reg, row):
    """The run is over: wait for the last save, fill in the totals, copy the results to ``row``."""
    if reg[DONE] >= reg[STEPS]:
        reg[FINISHED] = 1
        spend(reg, CHECKPOINT, reg[DELAY])
        if reg[SAVING] > reg[NOW]:
            spend(reg, CHECKPOINT, reg[SAVING] - reg[NOW])
    reg[WALL] = reg[NOW]
    for b in range(_BINS):
        reg[USEFUL] += reg[b]
    reg[COMMITTED] = reg[DONE]
    reg[ROLLED_BACK] = reg[EXECUTED] - reg[DONE]
    named = row.shape[0] - reg[REDUNDANCY]
    for c in range(named):
        row[c] = reg[c]
    for d in range(reg[REDUNDANCY]):
        row[named + d] = reg[DEPTH_STEPS + d]
