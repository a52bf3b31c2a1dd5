"""Failure clocks of a training run: drawing them, and handing out the next failures in time order.

A group's clock does not change while the group is alive, so the groups wait in a ring of time buckets (a calendar
queue: Brown, CACM 31, 1988) and only those about to fail are kept sorted, in row SOON. A failure costs one draw and
one insertion; a restart costs those groups that are out or fail within it, not all N.

Draws are addressed, not streamed: purpose CLOCK, element group, repetition renewal. The one clock of the SYSTEM rule
takes the last element for its intervals, repetition event, and elements below it for the victims. Under the STREAM rule
nothing is drawn here: the hits of a failure stream stand behind the registers, in time order.
"""

import math

import numpy as np

from .jitter import normal
from .philox import PURPOSE_CLOCK, philox, uniform
from .stream_laws import of_table
from .training_jit import device, hot
from .training_settings import EXPONENTIAL, LOGNORMAL, STREAM, SYSTEM, WEIBULL
from .training_state import (
    ALIVE,
    BUCKETS,
    CLOCKS,
    DRAWN,
    DUE,
    EDGE,
    EVENT_INDEX,
    FOUND,
    GROUPS,
    HEAD,
    HIT,
    HITS,
    HITS_COUNT,
    HITS_ROOM,
    HORIZON,
    KEY_0,
    KEY_1,
    LAW,
    LAW_SIZE,
    LAW_TABLE,
    LINK,
    NOW,
    OUT,
    OUT_COUNT,
    RUN_0,
    RUN_1,
    SCALE,
    SHAPE,
    SHIFT,
    SHORT,
    SOON,
    SOON_COUNT,
    SPENT,
    STATUS,
)

NEVER = 1 << 62
LAST_RENEWAL = 2**24 - 1  # the counter's repetition has 24 bits
_LONGEST = 2.0**60  # a drawn duration is cut here, so that sums stay within int64
_PURPOSE = PURPOSE_CLOCK << 24
_SYSTEM = 0xFFFFFFFF  # the element of the system clock; group numbers stay below 2**24


@device
def _words(reg, element, renewal):
    """The four words of a clock draw."""
    return philox(
        np.uint32(element),
        np.uint32(_PURPOSE | renewal),
        np.uint32(reg[RUN_0]),
        np.uint32(reg[RUN_1]),
        np.uint32(reg[KEY_0]),
        np.uint32(reg[KEY_1]),
    )


@device
def _duration(reg, real, g, u):
    """Group g's interval at the uniform u [us]: rounded to whole microseconds, at least 1."""
    scale = real[SCALE + g]
    if reg[LAW] == EXPONENTIAL:
        time = -math.log(u) * scale
    elif reg[LAW] == WEIBULL:
        time = math.pow(-math.log(u), 1.0 / real[SHAPE]) * scale
    elif reg[LAW] == LOGNORMAL:
        time = math.exp(normal(u) * real[SHAPE]) * scale
    else:
        time = of_table(real, reg[LAW], reg[LAW_TABLE], reg[LAW_SIZE], -math.log(u)) * scale
    return np.int64(max(1.0, math.floor(min(time, _LONGEST) + 0.5)))


@device
def draw(reg, real, group, g):
    """The next interval of group g's clock [us]."""
    renewal = group[DRAWN, g]
    group[DRAWN, g] = renewal + 1
    if renewal >= LAST_RENEWAL:
        reg[SPENT] = 1
        return np.int64(_LONGEST)
    a, b, _, _ = _words(reg, g, renewal)
    return _duration(reg, real, g, uniform(a, b))


@device
def _insert(reg, group, g):
    """Put g in its place in SOON."""
    at = reg[SOON_COUNT]
    due = group[DUE, g]
    while at > 0:
        before = group[SOON, at - 1]
        if group[DUE, before] < due or (group[DUE, before] == due and before < g):
            break
        group[SOON, at] = before
        at -= 1
    group[SOON, at] = g
    reg[SOON_COUNT] += 1


@device
def add(reg, group, g):
    """Queue the alive group g by its due time."""
    due = group[DUE, g]
    if due < reg[EDGE]:
        _insert(reg, group, g)
    else:
        bucket = (due >> reg[SHIFT]) & (reg[BUCKETS] - 1)
        group[LINK, g] = group[HEAD, bucket]
        group[HEAD, bucket] = g


@hot
def next_event(reg, real):
    """Move EDGE on to the event after it: the stream's next hit, or a draw of the system clock's."""
    if reg[CLOCKS] == STREAM:
        _to_hit(reg, reg[EVENT_INDEX] + 1)
    else:
        _strike(reg, real, reg[EDGE])


@device
def _to_hit(reg, index):
    """The stream's hit of that number is next; beyond the last, all that is known is that it comes after HORIZON."""
    reg[EVENT_INDEX] = index
    reg[EDGE] = reg[reg[HITS] + index] if index < reg[HITS_COUNT] else reg[HORIZON] + 1


@hot
def comes(reg, upto):
    """Whether the next event comes by ``upto`` [us]; where the hits do not tell, the run ends and SHORT is set."""
    return reg[EDGE] <= upto and _known(reg)


@device
def _known(reg):
    if reg[CLOCKS] == STREAM and reg[EVENT_INDEX] >= reg[HITS_COUNT]:
        reg[SHORT] = 1
        reg[SPENT] = 1
        reg[EDGE] = NEVER
        return False
    return True


@device
def _strike(reg, real, now):
    """Draw the system clock's next event from ``now`` [us]."""
    reg[EVENT_INDEX] += 1
    if reg[EVENT_INDEX] > LAST_RENEWAL:
        reg[SPENT] = 1
        reg[EDGE] = NEVER
    else:
        a, b, _, _ = _words(reg, np.int64(_SYSTEM), reg[EVENT_INDEX])
        reg[EDGE] = now + _duration(reg, real, 0, uniform(a, b))


@device
def victim(reg, attempt):
    """Whom the present event hits: the stream's group, or a uniformly random one; ``attempt`` from 1."""
    if reg[CLOCKS] == STREAM:
        return reg[reg[HITS] + reg[HITS_ROOM] + reg[EVENT_INDEX]]
    _, _, c, d = _words(reg, _SYSTEM - attempt, reg[EVENT_INDEX])
    return np.int64(uniform(c, d) * reg[GROUPS])


@device
def mark_hit(reg, group, g):
    """The present event makes g due; events come in order, so SOON stays sorted."""
    group[STATUS, g] = HIT
    group[DUE, g] = reg[EDGE]
    group[SOON, reg[SOON_COUNT]] = g
    reg[SOON_COUNT] += 1


@hot
def extend(reg, real, group, upto):
    """Bring every alive group due at or before ``upto`` [us] into SOON."""
    if reg[EDGE] <= upto:
        _extend(reg, real, group, upto)


@device
def _extend(reg, real, group, upto):
    if reg[CLOCKS] == SYSTEM:
        # Every event hits a uniformly random group among those alive; with none alive, events wait.
        while reg[EDGE] <= upto and reg[OUT_COUNT] + reg[SOON_COUNT] < reg[GROUPS]:
            attempt = np.int64(1)
            g = victim(reg, attempt)
            while group[STATUS, g] != ALIVE:
                attempt += 1
                g = victim(reg, attempt)
            mark_hit(reg, group, g)
            next_event(reg, real)
        return
    if reg[CLOCKS] == STREAM:
        while comes(reg, upto):
            g = victim(reg, np.int64(1))
            if group[STATUS, g] == ALIVE:  # a hit on a group that is out does nothing
                mark_hit(reg, group, g)
            next_event(reg, real)
        return
    while reg[EDGE] <= upto:
        bucket = (reg[EDGE] >> reg[SHIFT]) & (reg[BUCKETS] - 1)
        reg[EDGE] += 1 << reg[SHIFT]
        g = group[HEAD, bucket]
        group[HEAD, bucket] = -1
        while g >= 0:
            following = group[LINK, g]
            add(reg, group, g)
            g = following


@device
def found(reg, real, group, g, now):
    """Group g is found failed by its own check at ``now``: it is out, and its clock runs on unobserved."""
    group[STATUS, g] = FOUND
    group[OUT, reg[OUT_COUNT]] = g
    reg[OUT_COUNT] += 1
    if reg[CLOCKS] < SYSTEM:  # a clock of its own
        group[DUE, g] = now + draw(reg, real, group, g)


@device
def rewind(reg, group):
    """Take the system clock or the stream back to now: what was looked ahead of has not happened."""
    ahead = 0
    while ahead < reg[SOON_COUNT] and group[DUE, group[SOON, reg[SOON_COUNT] - 1 - ahead]] > reg[NOW]:
        ahead += 1
    if ahead:
        reg[SOON_COUNT] -= ahead
        if reg[CLOCKS] == SYSTEM:
            reg[EVENT_INDEX] -= ahead
            reg[EDGE] = group[DUE, group[SOON, reg[SOON_COUNT]]]
        for i in range(reg[SOON_COUNT], reg[SOON_COUNT] + ahead):
            g = group[SOON, i]
            group[STATUS, g] = ALIVE
            group[DUE, g] = NEVER
    if reg[CLOCKS] == STREAM:  # hits on groups that are out were passed over as well
        index = reg[EVENT_INDEX]
        while index > 0 and reg[reg[HITS] + index - 1] > reg[NOW]:
            index -= 1
        _to_hit(reg, index)


@hot
def drop(reg, group, begin, end):
    """Take the places begin <= i < end off SOON."""
    count = end - begin
    if count > 0:
        for i in range(end, reg[SOON_COUNT]):
            group[SOON, i - count] = group[SOON, i]
        reg[SOON_COUNT] -= count


@device
def take(reg, group, g):
    """Take group g off SOON."""
    kept = 0
    for i in range(reg[SOON_COUNT]):
        if group[SOON, i] != g:
            group[SOON, kept] = group[SOON, i]
            kept += 1
    reg[SOON_COUNT] = kept


@device
def all_fresh(reg, real, group, now):
    """Every group alive with a new clock from ``now`` [us]."""
    reg[SOON_COUNT] = 0
    reg[OUT_COUNT] = 0
    reg[EDGE] = (now >> reg[SHIFT]) << reg[SHIFT]
    for bucket in range(reg[BUCKETS]):
        group[HEAD, bucket] = -1
    for g in range(reg[GROUPS]):
        group[STATUS, g] = ALIVE
        group[DUE, g] = now + draw(reg, real, group, g)
        add(reg, group, g)


@device
def start(reg, real, group):
    """All groups alive at time 0, their first failures drawn; the registers are zero already."""
    for g in range(reg[GROUPS]):
        group[DRAWN, g] = 0
        group[STATUS, g] = ALIVE
        group[DUE, g] = NEVER
    if reg[CLOCKS] >= SYSTEM:
        reg[EVENT_INDEX] = -1
        next_event(reg, real)
    else:
        all_fresh(reg, real, group, reg[NOW])
