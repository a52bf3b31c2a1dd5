"""How a failure stream is prepared for the kernels; shared by all backends, so it imports no compiler.

A stream is made of *pools*, *sources* and *replays*. An entity of a pool (a GPU, a node, a rack) hits a set of groups
when it fails. A source is a number of exchangeable units of one law, each of which is one entity of a pool; which one
is random, so that a share of bad nodes is a second source on the same pool. A replay plays a log of failures on a pool.
The method is in docs/failures.md.
"""

from typing import NamedTuple

import numpy as np

# Law.kind: the time at the cumulated hazard h, before it is rounded to whole microseconds, at least 1
EXPONENTIAL = 0  # h * scale
WEIBULL = 1  # h ** (1 / shape) * scale
LOGNORMAL = 2  # scale * exp(shape * z(1 - exp(-h))), z the standard normal quantile
LINEAR = 3  # table float64[2, k]: h knots from 0, t knots; scale * (interpolated t), the last slope goes on
LOGLOG = 4  # table float64[2 + m]: x0, dx, then y[m] = ln t at x = ln h = x0 + i * dx; both end slopes go on
STEPS = 5  # table float64[m], ascending: scale * table[min(m - 1, floor((1 - exp(-h)) * m))]

# Plan.numbers
GROUPS, POOLS, SOURCES, REPLAYS, ENTITIES, UNITS, NUMBERS = range(7)
# columns of Plan.sources: TABLE and SIZE say where a law's table lies in Plan.tables
KIND, COUNT, POOL, TABLE, SIZE, SOURCE_COLUMNS = range(6)
# columns of Plan.reals; POWER is 1 / shape for WEIBULL and the shape for LOGNORMAL
SCALE, POWER, REAL_COLUMNS = range(3)
# columns of Plan.replays: EVENTS of them from FIRST in Plan.times; LOG_UNITS places from UNIT_AT in a memory's maps,
# as many as the replay's pool has entities from CARD_AT in its decks
(
    WINDOW,
    BLOCK,
    REPLAY_POOL,
    FIXED,
    FIRST,
    EVENTS,
    LOG_UNITS,
    UNIT_AT,
    CARD_AT,
    REPLAY_COLUMNS,
) = range(10)

MOST_UNITS = 2**24  # of a pool or a log: the counter's repetition has 24 bits
MOST_REPLAYS = 2**8
LONGEST_WINDOW = 2**52  # us: a uniform has 52 bits


class Law(NamedTuple):
    """When a unit fails, as a function of its cumulated hazard."""

    kind: int
    scale: float  # [us]; where a table holds times in us, 1
    shape: float = 0.0
    table: np.ndarray | None = None


class Pool(NamedTuple):
    """What hits what: entity e hits groups members[starts[e]:starts[e + 1]], ascending; it may hit none."""

    starts: np.ndarray  # int64[E + 1]
    members: np.ndarray  # int32[...]


class Source(NamedTuple):
    """``count`` exchangeable units of one law, each of which is one entity of the pool (an index into the pools)."""

    law: Law
    count: int
    pool: int


class Replay(NamedTuple):
    """A log played on a pool: over again from a random moment on, or in blocks that each start at a random moment."""

    times: np.ndarray  # int64[n], ascending, in [0, window) [us]
    units: np.ndarray  # int32[n], from 0: the unit of the log that fails
    window: int  # [us]
    block: int  # length of a block [us]; 0: the log is played on and wrapped
    pool: int
    fixed: int  # 1: unit u is entity u mod E; 0: every pass deals the entities to the units afresh


class Plan(NamedTuple):
    """A failure stream prepared for the kernels; read-only arrays, to be used from any number of threads at once."""

    numbers: np.ndarray  # int64[NUMBERS]
    pools: (
        np.ndarray
    )  # int64[POOLS + 1], the first entity of each pool; entities are numbered through all pools
    starts: np.ndarray  # int64[ENTITIES + 1]
    members: np.ndarray  # int32[...], groups
    sources: np.ndarray  # int64[SOURCES, SOURCE_COLUMNS]
    reals: np.ndarray  # float64[SOURCES, REAL_COLUMNS]
    tables: np.ndarray  # float64[...], of all laws
    replays: np.ndarray  # int64[REPLAYS, REPLAY_COLUMNS]
    times: np.ndarray  # int64[...], of all replays [us]
    units: np.ndarray  # int32[...], of all replays
    reach: np.ndarray  # uint8[GROUPS], 1 where some replay hits the group sooner or later


# Memory.reg: entries of the heap, halves of key and trial, last moment of interest, whether units are renewed, passes
# through logs so far (over all trials), draws made in the last trial, entities hit in it
HEAP, KEY_0, KEY_1, TRIAL_0, TRIAL_1, HORIZON, RENEW, PASSES, DRAWS, HITS, REGISTERS = range(11)
# columns of Memory.logs: the pass, the place of the next failure in the log, what is added to its time, the end of a
# block, whether it has gone round the window's end, units met in this pass, cards dealt of the deck, the number of the
# pass through all trials
PASS, AT, SHIFT, END, WRAPPED, MET, CARDS, EPOCH, LOG_COLUMNS = range(9)
# columns of Memory.deck: the card at this place of the shuffled pool, less the place (0: not moved); the place that it
# was exchanged with; of the entity of this number: its source, once it has failed; its intervals after the first
CARD, EXCHANGED, SOURCE_OF, RENEWALS, CARD_COLUMNS = range(5)

NEVER = 2**62
LONGEST = 2**60  # us: a drawn interval is cut here, and patterns are not followed beyond it


class Memory(NamedTuple):
    """What one thread writes while it draws a stream; between two trials as new. Most of it is never touched."""

    reg: np.ndarray  # int64[REGISTERS]
    heap: (
        np.ndarray
    )  # int64[..., 2]: time [us], and whose: a source, a replay, then an entity that has failed
    failed: np.ndarray  # int64[SOURCES], units that have failed
    reached: np.ndarray  # int64[SOURCES], when the last of them did [us]
    hazard: (
        np.ndarray
    )  # float64[SOURCES, 2]: cumulated hazard at the next failure, uniform that deals its entity
    dealt: np.ndarray  # int64[POOLS], entities dealt to units
    deck: np.ndarray  # int32[ENTITIES, CARD_COLUMNS], what is known of an entity, in one cache line
    logs: np.ndarray  # int64[REPLAYS, LOG_COLUMNS]
    map_entity: np.ndarray  # int32[...], the entity that a log's unit is ...
    map_epoch: np.ndarray  # int64[...], ... in the pass of this number
    log_deck: np.ndarray  # int32[..., 2], as deck, one a replay


class Pattern(NamedTuple):
    """The pattern of one trial, and what it takes to follow it: written by one thread."""

    order: np.ndarray  # int32[N]: groups as they are lost
    ends: np.ndarray  # int32[N]: groups lost after each event that lost any
    times: np.ndarray  # int64[N]: when [us]
    left: np.ndarray  # int32[N + 1]: hosts of each type that are left
    out: np.ndarray  # uint8[N]: whether a group is lost


# What is told of the life of a trial: groups lost before the event that wipes out, events before it, when it comes [us,
# -1 where it never does]; for stacks the sums over all states between events, and events after which S* exceeds c(k)
SURVIVAL_COLUMNS = ("failures", "events", "time")
STACK_COLUMNS = (*SURVIVAL_COLUMNS, "stack", "states", "above")


def blank_pattern(groups):
    """Memory for the patterns of one thread: a :class:`Pattern`."""
    return Pattern(
        np.empty(groups, np.int32),
        np.empty(groups, np.int32),
        np.empty(groups, np.int64),
        np.empty(groups + 1, np.int32),
        np.zeros(groups, np.uint8),
    )


def plan(groups, pools, sources, replays=()):
    """Prepare a stream over ``groups`` groups: a :class:`Plan`.

    ``pools``, ``sources``, ``replays``: sequences of :class:`Pool`, :class:`Source`, :class:`Replay`. The counts of the
    sources of one pool add up to its entities at most: an entity is one unit. Raises ValueError, in one line, on
    anything else that cannot be.
    """
    pools, sources, replays = list(pools), list(sources), list(replays)
    if not sources and not replays:
        raise ValueError("a failure stream needs a source or a replay")
    if len(replays) > MOST_REPLAYS:
        raise ValueError(f"{len(replays)} replays: at most {MOST_REPLAYS}")
    firsts, starts, members = _joined(groups, pools)
    sizes = np.diff(firsts)
    left = sizes.copy()
    table = np.zeros((len(sources), SOURCE_COLUMNS), np.int64)
    reals = np.zeros((len(sources), REAL_COLUMNS))
    tables, held, at = [], {}, 0
    for i, (law, count, pool) in enumerate(sources):
        label = f"source {i}"
        _check_pool(label, pool, len(pools))
        if not 1 <= count <= left[pool]:
            raise ValueError(f"{label}: count = {count}: pool {pool} has {left[pool]} of {sizes[pool]} left")
        left[pool] -= count
        values = law_table(law, label)
        key = (id(law.table), law.kind)
        if key not in held:  # sources that share a table share its copy here
            held[key] = at
            tables.append(values)
            at += values.size
        table[i] = law.kind, count, pool, held[key], values.size
        reals[i] = law.scale, 1.0 / law.shape if law.kind == WEIBULL else law.shape
    rows, times, units, reach = _replays(groups, sizes, firsts, starts, members, replays)
    numbers = np.array(
        [groups, len(pools), len(sources), len(replays), firsts[-1], table[:, COUNT].sum()], np.int64
    )
    flat = np.concatenate(tables) if tables else np.empty(0)
    made = Plan(
        numbers, firsts, starts, members, table, reals, flat.astype(np.float64), rows, times, units, reach
    )
    for array in made:
        array.flags.writeable = False
    return made


def memory(plan):
    """What one thread needs to draw the stream of a :class:`Plan`: a :class:`Memory`, for any number of trials."""
    n = plan.numbers
    entities, sources, replays = int(n[ENTITIES]), int(n[SOURCES]), int(n[REPLAYS])
    maps = int(plan.replays[:, LOG_UNITS].sum())
    cards = int(sum(plan.pools[p + 1] - plan.pools[p] for p in plan.replays[:, REPLAY_POOL]))
    # large zeros and empty arrays are pages that the system hands out when they are first written
    return Memory(
        np.zeros(REGISTERS, np.int64),
        np.empty((sources + replays + int(n[UNITS]), 2), np.int64),
        np.zeros(sources, np.int64),
        np.zeros(sources, np.int64),
        np.zeros((sources, 2), np.float64),
        np.zeros(int(n[POOLS]), np.int64),
        np.zeros((entities, CARD_COLUMNS), np.int32),
        np.zeros((replays, LOG_COLUMNS), np.int64),
        np.empty(maps, np.int32),
        np.zeros(maps, np.int64),
        np.zeros((cards, SOURCE_OF), np.int32),
    )


def _check_pool(label, pool, pools):
    if not 0 <= pool < pools:
        raise ValueError(f"{label}: pool = {pool}: there are {pools}, from 0")


def _joined(groups, pools):
    """The pools one after the other: (first entity of each, starts, members)."""
    if groups < 1:
        raise ValueError(f"groups = {groups}: at least 1")
    firsts, starts, members, at = [0], [np.zeros(1, np.int64)], [], 0
    for i, pool in enumerate(pools):
        label = f"pool {i}"
        begin, hit = np.asarray(pool.starts), np.asarray(pool.members)
        if begin.ndim != 1 or hit.ndim != 1 or begin.size < 2:
            raise ValueError(
                f"{label}: starts and members are one-dimensional, and a pool has an entity at least"
            )
        if begin[0] != 0 or begin[-1] != hit.size or (np.diff(begin) < 0).any():
            raise ValueError(f"{label}: starts must ascend from 0 to the {hit.size} members")
        if begin.size - 1 > MOST_UNITS:
            raise ValueError(f"{label}: {begin.size - 1} entities: at most {MOST_UNITS}")
        if hit.size and not (hit.min() >= 0 and hit.max() < groups):
            wrong = hit.min() if hit.min() < 0 else hit.max()
            raise ValueError(f"{label}: group {wrong}: groups are 0..{groups - 1}")
        inside = np.ones(max(hit.size - 1, 0), bool)
        edges = begin[1:-1]
        inside[edges[(edges > 0) & (edges < hit.size)] - 1] = False
        if (np.diff(hit.astype(np.int64))[inside] <= 0).any():
            raise ValueError(f"{label}: the groups that an entity hits must ascend, each named once")
        starts.append(begin[1:].astype(np.int64) + at)
        members.append(hit.astype(np.int32))
        at += hit.size
        firsts.append(firsts[-1] + begin.size - 1)
    if firsts[-1] >= 2**31:
        raise ValueError(f"{firsts[-1]} entities over all pools: fewer than {2**31}")
    joined = np.concatenate(members) if members else np.empty(0, np.int32)
    return np.array(firsts, np.int64), np.concatenate(starts), joined


def law_table(law, label):
    """The checked table of a law, float64[...], empty where it has none."""
    if law.kind not in range(STEPS + 1):
        raise ValueError(f"{label}: law kind {law.kind}: 0..{STEPS}")
    if not (np.isfinite(law.scale) and law.scale > 0):
        raise ValueError(f"{label}: law scale = {law.scale}: a number above 0")
    if law.kind in (WEIBULL, LOGNORMAL) and not (np.isfinite(law.shape) and law.shape > 0):
        raise ValueError(f"{label}: law shape = {law.shape}: a number above 0")
    if law.kind < LINEAR:
        return np.empty(0)
    table = np.asarray(law.table, np.float64)
    if not np.isfinite(table).all():
        raise ValueError(f"{label}: law table: every number must be finite")
    if law.kind == LINEAR:
        if table.ndim != 2 or table.shape[0] != 2 or table.shape[1] < 2:
            raise ValueError(f"{label}: law table: 2 rows of 2 knots at least, not {table.shape}")
        if table[0, 0] != 0 or (np.diff(table[0]) <= 0).any():
            raise ValueError(f"{label}: law table: the hazard's knots must ascend from 0")
        if table[1, 0] < 0 or (np.diff(table[1]) < 0).any():
            raise ValueError(f"{label}: law table: times must not fall, nor be below 0")
    elif law.kind == LOGLOG:
        if table.ndim != 1 or table.size < 4:
            raise ValueError(f"{label}: law table: x0, dx and 2 values at least")
        if table[1] <= 0 or (np.diff(table[2:]) < 0).any():
            raise ValueError(f"{label}: law table: dx must be above 0, and ln t must not fall")
    elif table.ndim != 1 or table.size < 1 or table[0] < 0 or (np.diff(table) < 0).any():
        raise ValueError(f"{label}: law table: times that ascend, none below 0")
    return table.ravel()


def _replays(groups, sizes, firsts, starts, members, replays):
    """Rows of the replays, their times and units in one array each, and the groups they reach."""
    rows = np.zeros((len(replays), REPLAY_COLUMNS), np.int64)
    reach = np.zeros(groups, np.uint8)
    first = unit_at = card_at = 0
    for i, replay in enumerate(replays):
        label = f"replay {i}"
        times, units = np.asarray(replay.times), np.asarray(replay.units)
        window, block = int(replay.window), int(replay.block)
        _check_pool(label, replay.pool, len(sizes))
        if times.ndim != 1 or times.shape != units.shape or times.size == 0:
            raise ValueError(f"{label}: as many times as units, and one at least")
        if not 0 < window <= LONGEST_WINDOW:
            raise ValueError(f"{label}: window = {window} us: above 0, at most {LONGEST_WINDOW}")
        if not 0 <= block <= window:
            raise ValueError(f"{label}: block = {block} us: from 0 to the window, {window}")
        if times[0] < 0 or times[-1] >= window or (np.diff(times) < 0).any():
            raise ValueError(f"{label}: times must ascend within 0..{window - 1} us")
        if units.min() < 0 or units.max() >= MOST_UNITS:
            raise ValueError(f"{label}: units must lie within 0..{MOST_UNITS - 1}")
        if replay.fixed not in (0, 1):
            raise ValueError(f"{label}: fixed = {replay.fixed}: 0 or 1")
        size, log_units = int(sizes[replay.pool]), int(units.max()) + 1
        rows[i] = (
            window, block, replay.pool, replay.fixed, first, times.size, log_units, unit_at, card_at,
        )  # fmt: skip
        first, unit_at, card_at = first + times.size, unit_at + log_units, card_at + size
        base = int(firsts[replay.pool])
        if replay.fixed:
            for entity in np.unique(units % size) + base:
                reach[members[starts[entity] : starts[entity + 1]]] = 1
        else:
            reach[members[starts[base] : starts[base + size]]] = 1
    times = [np.asarray(replay.times, np.int64) for replay in replays]
    units = [np.asarray(replay.units, np.int32) for replay in replays]
    return (
        rows,
        np.concatenate(times) if times else np.empty(0, np.int64),
        np.concatenate(units) if units else np.empty(0, np.int32),
        reach,
    )
