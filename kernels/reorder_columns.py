"""What lives of the controller are counted by; shared by all backends, so it imports no compiler."""

import numpy as np

PHASES = ("fixed", "depth", "reorder", "wipe-out")  # by number, as decide() returns them

# Columns of lives()' rows, one row a trial. "decisions" are one a batch; the wipe-out is not among them.
COLUMNS = (
    "failures",  # endurable failures K; the wipe-out failure is not endured
    "fixed",  # decisions that moved nothing
    "deeper",  # decisions that a deeper prefix settled with no move
    "reorders",  # decisions with moves
    "moves",  # promotions over all reorders
    "deeper_patch",  # group-stacks to compute again, over decisions of phase depth
    "patch",  # the same over reorders
    "deeper_changed",  # places to compute again, over decisions of phase depth
    "changed",  # the same over reorders
    "uncovered",  # types found uncovered, over all decisions
    "depth_sum",  # depth, over the start and all decisions: sum of S*(k), k = 0..K, where batch = 1
    "depth",  # depth at the end
)
# Under a failure stream also the events endured, each of which loses a group at least, and when the wipe-out comes [us,
# -1 where it never does]; "failures" are then the groups lost before it, and one event is one decision.
STREAM_COLUMNS = (*COLUMNS, "events", "time")
EVENTS, TIME = len(COLUMNS), len(COLUMNS) + 1
# Columns of lives()' counts by failures so far: decisions of each phase, then sums over them.
BY_FAILURES = (*PHASES, "moves", "patch", "changed")


def pattern_memory(n):
    """keys, order and starts of failure_order() for n groups; about one start a group."""
    return np.empty(n, np.uint32), np.empty(n, np.int32), np.empty(2 ** (n - 1).bit_length() + 1, np.int32)
