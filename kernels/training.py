"""Complete training runs: wall time and its parts, run by run. Rules and method: docs/training.md.

Use::

    p = plan(settings, hosts, stacks)         # once a point; may be shared by threads
    rows = np.empty((16, len(columns(r))), np.int64)
    run(p, seed, 0, rows)                     # runs 0..15
    row, events = timeline(p, seed, 3)        # run 3 again, with what happened when
"""

import numpy as np

from . import controller, streams
from .jitter import slowest_table
from .philox import split64
from .training_plan import Plan, plan, weibull_intervals
from .training_replication import run_replication
from .training_settings import COLUMNS, EVENTS, PARTS, REPLICATION, STREAM, Settings, columns
from .training_spare import run_spare
from .training_state import DEPTH_STEPS, KEY_0, KEY_1, NOTED, make_state
from .training_streams import run_on_hits

__all__ = [
    "COLUMNS",
    "EVENTS",
    "PARTS",
    "Plan",
    "Settings",
    "columns",
    "plan",
    "run",
    "timeline",
    "weibull_intervals",
]


def run(plan, seed, first, rows):
    """Runs first, first + 1, ...: one row of integers each, columns(redundancy). Releases the GIL.

    plan: of ``plan``; seed: below 2**64; rows: int64[count, len(COLUMNS) + r], written; times are microseconds.
    A run depends on the plan, the seed and its number alone.
    """
    if rows.shape[0]:
        _run(plan, seed, first, rows, 0)


def timeline(plan, seed, number, limit=100_000):
    """One run and what happened in it, by the same code as ``run``.

    Returns (row int64[columns], events int64[n, 4], n <= limit), events in the order in which the run dealt with
    them (times within a step may go back). An event is its kind, an index into EVENTS; its time [us]; and two numbers:
    step: committed steps, depth; failure: group, 0; reorder: moves, depth; patch: groups, 0; save: committed
    steps, 0; restart: when it ends [us], steps rolled back (without the one that failed).
    """
    row = np.empty((1, len(COLUMNS) + plan.settings.redundancy), np.int64)
    reg = _run(plan, seed, number, row, limit)
    begin = DEPTH_STEPS + plan.settings.redundancy
    return row[0], reg[begin : begin + 4 * reg[NOTED]].reshape(-1, 4)


def _run(plan, seed, first, rows, limit, hits=None):
    s = plan.settings
    keys = split64(seed)
    saves = (plan.intervals, plan.width)
    living = np.zeros(-(-s.groups // s.redundancy), np.int64)
    counts = np.zeros(s.redundancy + 1, np.int64)
    stacks = None if s.scheme == REPLICATION else controller.plain_state(plan.stacks)

    def run_all(state, first, rows):
        state[0][KEY_0], state[0][KEY_1] = keys
        if s.scheme == REPLICATION:
            run_replication(*state, living, *saves, first, rows)
        else:
            run_spare(*state, plan.stacks, stacks, counts, *saves, first, rows)

    if s.clocks == STREAM:
        hits = hits or _hits_of(plan.stream, seed)
        return run_on_hits(plan, first, rows, limit, slowest_table(), hits, run_all)
    state = make_state(s, plan.scale, slowest_table(), plan.table, limit)
    run_all(state, first, rows)
    return state[0]


def _hits_of(stream, seed):
    """``run_on_hits``'s function of the hits of a failure stream."""
    memory = streams.memory(stream)
    return lambda run, horizon, times, groups: streams.hits(stream, seed, run, horizon, times, groups, memory)
