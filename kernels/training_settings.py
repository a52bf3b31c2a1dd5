"""What a training run is told (Settings), and what it leaves (COLUMNS). Plain data: no kernel is compiled here."""

from typing import NamedTuple

SPARE, REPLICATION, CHECKPOINT_ONLY = 0, 1, 2
EXPONENTIAL, WEIBULL, LOGNORMAL, LINEAR, LOGLOG, STEPS = range(6)  # as in stream_plan
RENEWAL, FRESH, SYSTEM, STREAM = 0, 1, 2, 3
BLOCKING, SAVER, BACKGROUND = 0, 1, 2
PER_STACK, PER_BLOCK = 0, 1
CONSECUTIVE, CYCLIC = 0, 1

LARGEST_TIME = 2**59  # us, 18,000 years: longer settings could overflow sums
LARGEST_SIGMA = 0.3  # above it the floor of a stack's time, left out of sums of them, would be seen

STEP_END, FAILURE, REORDER, SAVE, RESTART, PATCH, RETURN, REJOIN = 0, 1, 2, 3, 4, 5, 6, 7
EVENTS = ("step", "failure", "reorder", "save", "restart", "patch", "return", "rejoin")
NO_REPAIR = -1  # Settings.repair: what has failed is back at the next restart only


class Settings(NamedTuple):
    """Everything a run depends on besides the layout, the seed and the run number; times are microseconds.

    Integers throughout, but for ``sigma``, ``shape`` and ``mean``. ``docs/training.md`` says what each rule means.
    """

    scheme: int  # SPARE, REPLICATION or CHECKPOINT_ONLY
    groups: int  # N, data-parallel groups
    redundancy: int  # r: stacks a group hosts; 1 for CHECKPOINT_ONLY
    steps: int  # optimizer steps to commit
    stack: int  # T_comp, compute time of one stack [us]
    allreduce: int  # T_a [us]
    found_allreduce: int  # all-reduce time of an attempt that finds a failure [us]
    save: int  # T_s, checkpoint write [us]
    restart: int  # T_r [us]
    shrink: int  # communicator shrink [us]
    detection: int  # added when an attempt finds failures [us]
    law: int  # EXPONENTIAL, WEIBULL, LOGNORMAL; LINEAR, LOGLOG or STEPS with a table of the plan
    shape: float  # Weibull shape, or the lognormal's deviation of the logarithm; unused by EXPONENTIAL
    mean: float  # mean of a group's clock, or of the one clock of SYSTEM [us]; unused by STREAM
    clocks: int  # RENEWAL, FRESH, SYSTEM or STREAM
    extended: int  # 1: failures during a restart extend it; 0: a restart lasts T_r
    lowest_only: (
        int  # 1: of the groups found failed only the lowest-numbered is handled in a step (REPLICATION)
    )
    resume_after: int  # 1: resume after the saved step; 0: at it, redoing and saving it again
    save_kind: int  # BLOCKING, SAVER or BACKGROUND
    save_blocking: int  # BACKGROUND: the part of T_s that everyone waits for [us]
    sigma: float  # deviation of a stack's compute time, as a fraction of T_comp; 0 for none
    jitter: int  # PER_STACK or PER_BLOCK
    patch_all: int  # 1: a changed group computes every changed place; 0: one stack
    placement: int  # REPLICATION: CONSECUTIVE (block g // r) or CYCLIC (block g mod ceil(N / r))
    save_steps: int  # save after every this many committed steps; 0: by ``intervals`` of the plan
    max_wall: int  # a run not done by then is ended and flagged [us]
    repair: int = NO_REPAIR  # from the failure's finding until what failed is repaired [us]
    spares: int = 0  # spare groups; without them a repaired group takes its own place again
    swap: int = 0  # until a free spare, or one just repaired, has taken a place [us]
    rejoin: int = 0  # cost of a step that begins with groups coming back [us]
    keep_depth: int = 0  # 1: the depth stays when groups come back; 0: it becomes the least feasible (SPARE)

    @property
    def elastic(self):
        """Whether groups can come back before a restart."""
        return self.repair >= 0 or self.spares > 0


# Step bins come first: they are what a rollback moves to rework. Then the direct bins; all of these add up to wall.
BINS = ("needed", "redundant", "patch", "waiting", "allreduce", "shrink", "detection")
COLUMNS = (
    *BINS,
    "checkpoint",
    "rework",
    "restart",
    "wall",
    "shrink_total",
    "useful",
    "failures",
    "restarts",
    "reorders",
    "fixed",
    "deeper",
    "moves",
    "patch_stacks",
    "saves",
    "executed",
    "committed",
    "rolled_back",
    "finished",
    "returns",
    "rejoins",
    "rejoin_moves",
    "spares_used",
    "spares_lacking",
    "out_steps",
)
(
    NEEDED,
    REDUNDANT,
    PATCH_TIME,
    WAITING,
    ALLREDUCE,
    SHRINK,
    DETECTION,
    CHECKPOINT,
    REWORK,
    RESTARTING,
    WALL,
    SHRINK_TOTAL,
    USEFUL,
    FAILURES,
    RESTARTS,
    REORDERS,
    FIXED,
    DEEPER,
    MOVES,
    PATCH_STACKS,
    SAVES,
    EXECUTED,
    COMMITTED,
    ROLLED_BACK,
    FINISHED,
    RETURNS,
    REJOINS,
    REJOIN_MOVES,
    SPARES_USED,
    SPARES_LACKING,
    OUT_STEPS,
) = range(len(COLUMNS))
PARTS = COLUMNS[:WALL]


def columns(redundancy):
    """Names of all columns of a row: COLUMNS, then ``depth_1 .. depth_r``, the steps executed at each depth."""
    return (*COLUMNS, *(f"depth_{d}" for d in range(1, redundancy + 1)))
