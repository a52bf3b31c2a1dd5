"""Failure patterns of a stream: how the groups are lost, event by event, until some type has no host left."""

import numpy as np

from .stream_plan import (
    GROUPS,
    HEAP,
    KEY_0,
    KEY_1,
    LONGEST,
    NEVER,
    REPLAYS,
    SOURCES,
    TRIAL_0,
    TRIAL_1,
    blank_pattern,
    memory,
)
from .streams import begin, finish, next_event, replace, set_up
from .training_jit import device, entry

_LOW, _32 = np.uint64(0xFFFFFFFF), np.uint64(32)


def pattern(plan, hosting, seed, trial):
    """How the groups of one trial fail; nothing is repaired.

    plan: of ``streams.plan``; hosting: of ``stream_plan.hosting``; seed, trial: below 2**64.

    Returns (order, ends, times, wiped): int32, the groups as they are lost; int32, how many are lost after each event
    that lost any; int64, when [us]; and whether the last of these events wipes out: False where the stream never
    reaches all hosts of a type.
    """
    drawn, held = memory(plan), blank_pattern(int(plan.numbers[GROUPS]))
    set_up(drawn, seed, trial)
    events, wiped = follow(plan, drawn, hosting, held)
    lost = held.ends[events - 1] if events else 0
    return held.order[:lost].copy(), held.ends[:events].copy(), held.times[:events].copy(), bool(wiped)


@device
def enter_trial(memory, k0, k1, trial):
    """Key and trial (uint64) of what is drawn next."""
    reg = memory.reg
    reg[KEY_0], reg[KEY_1] = np.int64(k0), np.int64(k1)
    reg[TRIAL_0], reg[TRIAL_1] = np.int64(trial & _LOW), np.int64(trial >> _32)


@entry
def follow(plan, memory, hosting, held):
    """Fill ``held`` with the pattern of the trial entered; returns (events that lost groups, whether one wiped out)."""
    left, out = held.left, held.out
    hopes = np.int64(0)  # groups not lost yet that some log hits sooner or later
    for t in range(left.shape[0]):
        left[t] = hosting.hosts[t]
    for g in range(plan.reach.shape[0]):
        hopes += plan.reach[g]
    first_log = plan.numbers[SOURCES]
    logs_end = first_log + plan.numbers[REPLAYS]
    lost = events = np.int64(0)
    wiped = False
    begin(plan, memory, np.int64(LONGEST), np.int64(0))
    while memory.reg[HEAP] > 0 and not wiped:
        if hopes == 0 and first_log <= memory.heap[0, 1] < logs_end:
            replace(memory, np.int64(NEVER), np.int64(0))  # this log has nothing left to hit
            continue
        time, entity = next_event(plan, memory)
        before = lost
        for i in range(plan.starts[entity], plan.starts[entity + 1]):
            g = plan.members[i]
            if out[g] == 0:
                out[g] = 1
                held.order[lost] = g
                lost += 1
                hopes -= plan.reach[g]
                for place in range(hosting.types.shape[1]):
                    t = hosting.types[g, place]
                    left[t] -= 1
                    wiped |= left[t] == 0
        if lost > before:
            held.ends[events] = lost
            held.times[events] = time
            events += 1
    finish(plan, memory)
    for i in range(lost):
        out[held.order[i]] = 0
    return events, wiped


@device
def enter_life(held, events, wiped, row):
    """Write SURVIVAL_COLUMNS into ``row``; returns the events endured."""
    endured = events - 1 if wiped else events
    row[0] = held.ends[endured - 1] if endured > 0 else 0
    row[1] = endured
    row[2] = held.times[endured] if wiped else -1
    return endured
