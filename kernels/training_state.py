"""The memory of one training run: three arrays that every function of the run takes.

Shared by all backends, so it imports no compiler.

Flat arrays, not tuples of arrays: a tuple is copied whole at every call, which costs more than a step.

- ``reg`` int64: the row of results (``COLUMNS``), registers, settings, then the steps at each depth and the events.
- ``real`` float64: blocks of jitter draws, the law, each group's scale, tables of stack times.
- ``group`` int64[rows, N]: what is known of each group, and lists of groups.
"""

import functools
import math

import numpy as np

from .training_settings import COLUMNS, PER_BLOCK, SYSTEM

# reg: registers behind the row.
(
    NOW,  # time [us]
    DONE,  # committed steps
    RESUME,  # committed steps at the resume point
    LAST_SAVE,  # end of the last save or restart [us]
    LIFE,  # end of the last restart [us]
    DELAY,  # how late the saver starts its next stacks [us]
    SAVING,  # when the background save will be written, 0: none [us]
    SAVING_DONE,  # committed steps of that save
    EDGE,  # groups due before this time are in SOON, later ones in buckets; SYSTEM, STREAM: the next event [us]
    SOON_COUNT,
    OUT_COUNT,
    EVENT_INDEX,  # SYSTEM, STREAM: of the event at EDGE
    SPENT,  # 1: a clock has used up its counters, or the hits did not reach far enough: the run must end
    SHORT,  # 1: the run asked for hits beyond those it was given
    SLOWEST_LEFT,  # jitter draws left of the block kept, and blocks drawn, of each stream
    SLOWEST_BLOCKS,
    SINGLE_LEFT,
    SINGLE_BLOCKS,
    FIRST_ALIVE,
    PENDING_COUNT,  # replication: found, not handled
    LOWEST,  # the lowest-numbered of them; GROUPS if there is none
    NEXT_SAVE,  # committed steps at which the next save is due, 0: by time
    KNOWN,  # elastic: of the groups out, how many the spares and the repairs know of
    COMING_COUNT,  # elastic: groups in COMING
    WAITING_FIRST,  # spares: where WAITING, a ring, begins, and how many are in it
    WAITING_COUNT,
    REPAIRS_FIRST,  # spares: the same of the ring of repairs under way
    REPAIRS_COUNT,
    FREE,  # spares: how many are free
    NOTED,  # events noted
    KEY_0,  # seed and run number, 32 bits each
    KEY_1,
    RUN_0,
    RUN_1,
) = range(len(COLUMNS), len(COLUMNS) + 34)
_REGISTERS = NOW + 34
MARK = _REGISTERS  # seven step bins at the resume point
BEGUN = MARK + 7  # seven step bins when the present step began
LATER = BEGUN + 7  # seven step bins at the resume point of a save still being written
(
    SCHEME,
    GROUPS,
    REDUNDANCY,
    STEPS,
    STACK_TIME,
    ALLREDUCE_TIME,
    FOUND_ALLREDUCE_TIME,
    SAVE_TIME,
    RESTART_TIME,
    SHRINK_TIME,
    DETECTION_TIME,
    LAW,
    CLOCKS,
    EXTENDED,
    LOWEST_ONLY,
    RESUME_AFTER,
    SAVE_KIND,
    SAVE_BLOCKING,
    JITTER,
    PATCH_ALL,
    PLACEMENT,
    SAVE_STEPS,
    MAX_WALL,
    REPAIR_TIME,
    SPARES,
    SWAP_TIME,
    REJOIN_TIME,
    KEEP_DEPTH,
    SHIFT,  # a bucket of the clocks' ring is 2**SHIFT us wide
    BUCKETS,  # a power of two, at most N
    EVENT_LIMIT,
    ELASTIC,  # 1: groups can come back before a restart
    REPAIRS,  # where the ring of repairs under way begins, and how many it can hold
    REPAIRS_ROOM,
    HITS,  # STREAM: where the times of the hits begin [us], and how many they can be; as many groups follow them
    HITS_ROOM,
    HITS_COUNT,  # STREAM: hits there are, all that come up to HORIZON [us]
    HORIZON,
    LAW_TABLE,  # where the law's table begins in ``real``, and its numbers
    LAW_SIZE,
) = range(LATER + 7, LATER + 7 + 40)
# r numbers: steps executed at each depth; the events follow them, then repairs and hits
DEPTH_STEPS = LATER + 7 + 40

# real: a block of jitter draws of each stream, the law's shape, N scales [us], then, for d = 0..r stacks in a row,
# their mean time, its deviation, and a time that no group exceeds but for one in 1e16 [us]; log(1..N); the table of
# the slowest of n; the table of the law.
BLOCK = 64
SLOWEST_KEPT, SINGLE_KEPT, SHAPE, SCALE = 0, BLOCK, 2 * BLOCK, 2 * BLOCK + 1

# group: DUE next failure [us]; DRAWN intervals drawn; STATUS; LINK next in its bucket; HEAD first of each bucket;
# SOON alive groups due before EDGE, by time then number; OUT groups found failed since the last restart;
# QUEUE how many of 32 groups each are found and not handled yet (replication). Where groups can come back, also READY:
# when the group's failure was found, then when someone can take its place [us]; COMING: places somebody will take,
# by that time; WAITING: places for which there is no spare, a ring; BACK: groups that came back as this step began.
DUE, DRAWN, STATUS, LINK, HEAD, SOON, OUT, QUEUE, READY, COMING, WAITING, BACK = range(12)

# STATUS: FOUND failed; HIT by the system clock or the stream, not found yet; PENDING: found, not handled (replication)
ALIVE, HIT, FOUND, PENDING = range(4)


@functools.lru_cache(4)
def _logs(n):
    return np.array([math.log(k) for k in range(1, n + 1)])


def make_state(settings, scale, table, law_table, limit, hits=0):
    """(reg, real, group) for runs of these settings, with room for ``limit`` events and so many ``hits``.

    ``scale`` float64[N]: of each group's law [us]; ``table``: jitter.slowest_table(); ``law_table``: of the plan.
    """
    s = settings
    n, r = s.groups, s.redundancy
    repairs = n + s.spares if s.spares and s.repair >= 0 else 0
    reg = np.zeros(DEPTH_STEPS + r + 4 * limit + repairs + 2 * hits, np.int64)
    whole = [value for name, value in s._asdict().items() if name not in ("shape", "mean", "sigma")]
    reg[SCHEME:SHIFT] = whole
    # A bucket for about one failure, but no fewer than two a step.
    width = max(s.mean / (1 if s.clocks == SYSTEM else n), s.stack / 2, 1.0)
    reg[SHIFT] = int(min(50.0, math.log2(width)))
    reg[BUCKETS] = 1 << (n.bit_length() - 1)
    reg[EVENT_LIMIT] = limit
    reg[ELASTIC] = s.elastic
    reg[REPAIRS], reg[REPAIRS_ROOM] = len(reg) - 2 * hits - repairs, repairs
    reg[HITS], reg[HITS_ROOM] = len(reg) - 2 * hits, hits
    stacks = np.arange(r + 1, dtype=np.float64)
    one = s.sigma * s.stack
    base = stacks * s.stack
    spread = stacks * one if s.jitter == PER_BLOCK else np.sqrt(stacks) * one
    kept = np.zeros(2 * BLOCK)
    reach = np.ceil(base + 8.5 * spread)
    real = np.concatenate([kept, [s.shape], scale, base, spread, reach, _logs(n), table, law_table])
    reg[LAW_TABLE], reg[LAW_SIZE] = len(real) - len(law_table), len(law_table)
    return reg, real, np.zeros((12 if s.elastic else 8, n), np.int64)
