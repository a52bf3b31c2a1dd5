"""Playing logs of failures: from a random moment on, round and round, or block by block."""

import numpy as np

from .philox import PURPOSE_DEAL, PURPOSE_REPLAY, philox, uniform
from .stream_plan import (
    AT,
    BLOCK,
    CARD,
    CARD_AT,
    CARDS,
    DRAWS,
    END,
    EPOCH,
    EVENTS,
    EXCHANGED,
    FIRST,
    FIXED,
    HORIZON,
    KEY_0,
    KEY_1,
    MET,
    NEVER,
    PASS,
    PASSES,
    REPLAY_POOL,
    SHIFT,
    TRIAL_0,
    TRIAL_1,
    UNIT_AT,
    WINDOW,
    WRAPPED,
)
from .training_jit import device

_LAST_PASS = 2**24 - 1  # the counter's repetition has 24 bits; the log is silent after it
_REPLAY, _DEAL = PURPOSE_REPLAY << 24, PURPOSE_DEAL << 24


@device
def words(reg, element, second):
    """The four words of a draw; ``second``: purpose in the top 8 bits, repetition."""
    reg[DRAWS] += 1
    return philox(
        np.uint32(element),
        np.uint32(second),
        np.uint32(reg[TRIAL_0]),
        np.uint32(reg[TRIAL_1]),
        np.uint32(reg[KEY_0]),
        np.uint32(reg[KEY_1]),
    )


@device
def deal(deck, base, dealt, size, u):
    """Deal one of the cards base .. base + size - 1 that are not dealt yet, of which ``dealt`` are (a place).

    Fisher and Yates, one step; a deck holds cards less their places, so that zeros are a whole one.
    """
    at = base + dealt
    other = at + np.int64(u * np.float64(size - dealt))
    card = other + np.int64(deck[other, CARD])
    deck[other, CARD] = at + np.int64(deck[at, CARD]) - other
    deck[at, CARD] = card - at
    deck[at, EXCHANGED] = other
    return card


@device
def gather(deck, base, dealt):
    """Put the ``dealt`` first cards back: the deck is whole."""
    for at in range(base, base + dealt):
        deck[at, CARD] = 0
        deck[np.int64(deck[at, EXCHANGED]), CARD] = 0


@device
def start_log(plan, memory, replay):
    """The first pass; returns the time of the first failure [us], NEVER where none comes."""
    log = memory.logs[replay]
    log[PASS] = -1
    log[SHIFT] = log[MET] = log[CARDS] = 0
    return _next_pass(plan, memory, replay)


@device
def _next_pass(plan, memory, replay):
    """Go on to the next pass that has a failure; returns its time, NEVER beyond the horizon."""
    reg, log, row = memory.reg, memory.logs[replay], plan.replays[replay]
    window, block = row[WINDOW], row[BLOCK]
    while log[PASS] < _LAST_PASS:
        gather(memory.log_deck, row[CARD_AT], log[CARDS])
        reg[PASSES] += 1
        log[PASS] += 1
        log[EPOCH] = reg[PASSES]
        log[MET] = log[CARDS] = log[WRAPPED] = 0
        if block > 0 or log[PASS] == 0:
            a, b, _, _ = words(reg, replay, _REPLAY | log[PASS])
            moment = np.int64(uniform(a, b) * np.float64(window))
            log[SHIFT] = log[PASS] * block - moment
            log[END] = (log[PASS] + 1) * block if block > 0 else NEVER
            log[AT] = _after(plan.times, row[FIRST], row[FIRST] + row[EVENTS], moment)
            begins = log[PASS] * block
        else:
            log[SHIFT] += window
            log[AT] = row[FIRST]
            begins = log[SHIFT]
        if begins > reg[HORIZON]:
            break
        time = next_in_log(plan, memory, replay)
        if time >= 0:
            return time
    return np.int64(NEVER)


@device
def _after(times, low, high, moment):
    """The first place in times[low:high] whose time is later than ``moment``, else ``high``."""
    while low < high:
        middle = (low + high) >> 1
        if times[middle] > moment:
            high = middle
        else:
            low = middle + 1
    return low


@device
def next_in_log(plan, memory, replay):
    """The time of the pass's next failure [us], or -1 when it is over."""
    log, row = memory.logs[replay], plan.replays[replay]
    if log[AT] == row[FIRST] + row[EVENTS] and row[BLOCK] > 0 and log[WRAPPED] == 0:
        log[WRAPPED] = 1
        log[AT] = row[FIRST]
        log[SHIFT] += row[WINDOW]
    if log[AT] < row[FIRST] + row[EVENTS]:
        time = plan.times[log[AT]] + log[SHIFT]
        if time <= log[END]:
            return time
    return np.int64(-1)


@device
def play(plan, memory, replay):
    """The entity that fails now, and the time of the next failure: (entity, time)."""
    log, row = memory.logs[replay], plan.replays[replay]
    unit = np.int64(plan.units[log[AT]])
    begin = plan.pools[row[REPLAY_POOL]]
    size = plan.pools[row[REPLAY_POOL] + 1] - begin
    if row[FIXED] != 0:
        entity = begin + unit % size
    else:
        place = row[UNIT_AT] + unit
        if memory.map_epoch[place] != log[EPOCH]:
            memory.map_epoch[place] = log[EPOCH]
            memory.map_entity[place] = begin + _meet(memory, replay, row[CARD_AT], size)
        entity = np.int64(memory.map_entity[place])
    log[AT] += 1
    time = next_in_log(plan, memory, replay)
    if time < 0:
        time = _next_pass(plan, memory, replay)
    return entity, time


@device
def _meet(memory, replay, base, size):
    """The entity (from 0) of a unit that this pass meets for the first time; after all of them they are dealt anew."""
    log = memory.logs[replay]
    if log[CARDS] == size:
        gather(memory.log_deck, base, size)
        log[CARDS] = 0
    a, b, _, _ = words(memory.reg, (replay << 24) | log[MET], _DEAL | log[PASS])
    card = deal(memory.log_deck, base, log[CARDS], size, uniform(a, b))
    log[CARDS] += 1
    log[MET] += 1
    return card - base


@device
def end_log(plan, memory, replay):
    """Leave the memory as new."""
    gather(memory.log_deck, plan.replays[replay, CARD_AT], memory.logs[replay, CARDS])
    memory.logs[replay, CARDS] = 0
