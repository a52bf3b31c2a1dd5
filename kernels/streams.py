"""Failure streams: when which groups are hit, drawn in time order at a cost that grows with the failures.

The method, and why it is exact, is in docs/failures.md. In short: the first failures of n units with one law come, by
Renyi's representation of order statistics, at cumulated hazards that are sums of exponentials over n, n - 1, ...; which
unit fails is dealt from its pool as it fails; and a unit that has failed goes on with a clock of its own in a heap, in
which every source, every log and every such unit has its next failure.
"""

import math

import numpy as np

from .fetch import fetch_ahead
from .philox import PURPOSE_EVENT, PURPOSE_UNIT, split64, uniform
from .stream_laws import interval
from .stream_logs import deal, end_log, gather, play, start_log, words
from .stream_plan import (
    CARD,
    COUNT,
    DRAWS,
    HEAP,
    HITS,
    HORIZON,
    KEY_0,
    KEY_1,
    NEVER,
    POOL,
    POOLS,
    RENEW,
    RENEWALS,
    REPLAYS,
    SOURCE_OF,
    SOURCES,
    TRIAL_0,
    TRIAL_1,
    memory,
    plan,
)
from .training_jit import device, entry

__all__ = ["hits", "memory", "plan"]

_EVENT, _UNIT = PURPOSE_EVENT << 24, PURPOSE_UNIT << 24
_LAST_RENEWAL = 2**24 - 1  # the counter's repetition has 24 bits; a unit that gets so far fails no more


def hits(plan, seed, trial, horizon, times, groups, memory):
    """Every hit of a trial up to ``horizon`` [us, below 2**62], in time order; failed units are renewed at once.

    plan: of :func:`plan`; seed, trial: below 2**64; memory: of :func:`memory`, one a thread, as new afterwards.
    Written: times int64[room] [us] and groups int32[room], C-contiguous, as far as they have room.

    Returns the number of hits, which may be more than there is room for: then call again with more. What one event
    hits has one time, its groups ascending. The answer is a pure function of (plan, seed, trial): a later horizon
    only adds to it. Drops the GIL.
    """
    set_up(memory, seed, trial)
    return int(_hits(plan, memory, np.int64(horizon), times, groups))


def set_up(memory, seed, trial):
    """Enter seed and trial (ints below 2**64) into a memory."""
    reg = memory.reg
    reg[KEY_0], reg[KEY_1] = split64(seed)
    reg[TRIAL_0], reg[TRIAL_1] = split64(trial)


@entry
def _hits(plan, memory, horizon, times, groups):
    begin(plan, memory, horizon, np.int64(1))
    count = np.int64(0)
    while memory.reg[HEAP] > 0:
        time, entity = next_event(plan, memory)
        for i in range(plan.starts[entity], plan.starts[entity + 1]):
            if count < times.shape[0]:
                times[count] = time
                groups[count] = plan.members[i]
            count += 1
    finish(plan, memory)
    return count


@device
def begin(plan, memory, horizon, renew):
    """Before the first event of a trial; ``renew``: 1 where failed units fail again, 0 where first failures do."""
    reg = memory.reg
    reg[HEAP] = reg[DRAWS] = reg[HITS] = 0
    reg[HORIZON] = horizon
    reg[RENEW] = renew
    for pool in range(plan.numbers[POOLS]):
        memory.dealt[pool] = 0
    for source in range(plan.numbers[SOURCES]):
        memory.failed[source] = memory.reached[source] = 0
        memory.hazard[source, 0] = 0.0
        time = _first_failure(plan, memory, source)
        if time <= horizon:
            _push(memory, time, np.int64(source))
    for replay in range(plan.numbers[REPLAYS]):
        time = start_log(plan, memory, replay)
        if time <= horizon:
            _push(memory, time, plan.numbers[SOURCES] + replay)


@device
def next_event(plan, memory):
    """The next event, of which there must be one in the heap: (time [us], entity through all pools)."""
    reg = memory.reg
    reg[HITS] += 1
    time, whose = memory.heap[0, 0], memory.heap[0, 1]
    sources, replays = plan.numbers[SOURCES], plan.numbers[REPLAYS]
    if whose < sources:
        pool = plan.sources[whose, POOL]
        base = plan.pools[pool]
        dealt = memory.dealt[pool]
        entity = deal(memory.deck, base, dealt, plan.pools[pool + 1] - base, memory.hazard[whose, 1])
        memory.dealt[pool] = dealt + 1
        memory.deck[entity, SOURCE_OF] = whose
        memory.failed[whose] += 1
        memory.reached[whose] = time
        replace(memory, _first_failure(plan, memory, whose), whose)
        if reg[RENEW] != 0:
            later = time + _renewal(plan, memory, entity)
            if later <= reg[HORIZON]:
                _push(memory, later, sources + replays + entity)
    elif whose < sources + replays:
        entity, later = play(plan, memory, whose - sources)
        replace(memory, later, whose)
    else:
        entity = whose - sources - replays
        replace(memory, time + _renewal(plan, memory, entity), whose)
    return time, entity


@device
def finish(plan, memory):
    """After the last event of a trial: the memory is as new, at the cost of what was touched."""
    for pool in range(plan.numbers[POOLS]):
        base, dealt = plan.pools[pool], memory.dealt[pool]
        for at in range(base, base + dealt):
            memory.deck[at + np.int64(memory.deck[at, CARD]), RENEWALS] = 0
        gather(memory.deck, base, dealt)
    for replay in range(plan.numbers[REPLAYS]):
        end_log(plan, memory, replay)


@device
def _first_failure(plan, memory, source):
    """When the source's next unit fails for the first time [us], NEVER when all have; draws what deals its entity."""
    failed, count = memory.failed[source], plan.sources[source, COUNT]
    if failed == count:
        return np.int64(NEVER)
    a, b, c, d = words(memory.reg, source, _EVENT | failed)
    memory.hazard[source, 0] += -math.log(uniform(a, b)) / np.float64(count - failed)
    u = uniform(c, d)
    memory.hazard[source, 1] = u
    # what the next deal of the pool will most likely read: a large pool lies outside the caches
    pool = plan.sources[source, POOL]
    base = plan.pools[pool]
    place = base + memory.dealt[pool]
    place += np.int64(u * np.float64(plan.pools[pool + 1] - place))
    fetch_ahead(memory.deck, place)
    fetch_ahead(plan.starts, place)
    fetch_ahead(plan.members, plan.starts[base] + place - base)  # where every entity hits one group
    # a rounding in the C library's pow cannot bring a later unit forward
    return max(memory.reached[source], interval(plan, source, memory.hazard[source, 0]))


@device
def _renewal(plan, memory, entity):
    """The next interval of a unit that has failed [us]."""
    renewal = np.int64(memory.deck[entity, RENEWALS])
    if renewal >= _LAST_RENEWAL:
        return np.int64(NEVER)
    memory.deck[entity, RENEWALS] = renewal + 1
    a, b, _, _ = words(memory.reg, entity, _UNIT | renewal)
    return interval(plan, np.int64(memory.deck[entity, SOURCE_OF]), -math.log(uniform(a, b)))


@device
def _push(memory, time, whose):
    """Put a failure into the heap."""
    heap = memory.heap
    at = memory.reg[HEAP]
    memory.reg[HEAP] = at + 1
    while at > 0:
        above = (at - 1) >> 1
        if heap[above, 0] < time or (heap[above, 0] == time and heap[above, 1] < whose):
            break
        heap[at, 0] = heap[above, 0]
        heap[at, 1] = heap[above, 1]
        at = above
    heap[at, 0] = time
    heap[at, 1] = whose


@device
def replace(memory, time, whose):
    """Put a failure into the heap in the place of its first; one beyond the horizon takes no place."""
    heap, reg = memory.heap, memory.reg
    if time > reg[HORIZON]:
        reg[HEAP] -= 1
        time, whose = heap[reg[HEAP], 0], heap[reg[HEAP], 1]
    size = reg[HEAP]
    at = np.int64(0)
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and (
            heap[below + 1, 0] < heap[below, 0]
            or (heap[below + 1, 0] == heap[below, 0] and heap[below + 1, 1] < heap[below, 1])
        ):
            below += 1
        if time < heap[below, 0] or (time == heap[below, 0] and whose < heap[below, 1]):
            break
        heap[at, 0] = heap[below, 0]
        heap[at, 1] = heap[below, 1]
        at = below
    if size > 0:
        heap[at, 0] = time
        heap[at, 1] = whose
