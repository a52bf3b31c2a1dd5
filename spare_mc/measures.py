"""From what a kernel returns for a block of trials to the fields of its tally: dicts with "counts" and "sums"."""

import numpy as np

from .errors import UserError
from .kernels import reorder_columns, stream_plan


def survival(endurable, groups):
    """Counts of a survival block.

    endurable : int32[count], endurable failures K of each trial
    """
    return {"counts": {"endurable_failures": np.bincount(endurable, minlength=groups + 1)}}


def stacks(last, groups):
    """Counts and sums of a block of least stacks.

    last : int32[count, r]; column d - 1 is the largest k with S*(k) <= d, so that the last column is K

    Counts: ``endurable_failures`` [N+1]; ``trials_at_depth`` [N+1, r], row k, column d - 1 the trials alive after k
    failures whose least stack is d. Sums over trials: ``stack`` of S*(k) over k = 0..K, ``states`` of K + 1, ``above``
    of the failures after which S*(k) exceeds c(k), ``failures`` of K, their squares and products.
    """
    ended = np.stack([np.bincount(column, minlength=groups + 1) for column in last.T])
    of = stack_lives(last, groups)
    sums = products({name: of[name] for name in ("stack", "states")})
    sums |= products({name: of[name] for name in ("above", "failures")})
    return stacks_of(ended, sums)


def stacks_of(ended, sums):
    """The same from what a backend has counted itself.

    ended : int64[r, N+1], row d - 1 the trials by the largest k with S*(k) <= d; sums : as ``stacks`` has them
    """
    # Trials whose least stack is within d after k failures: those with last[d - 1] >= k.
    within = np.zeros((ended.shape[1], ended.shape[0] + 1), np.int64)
    within[:, 1:] = np.cumsum(ended[:, ::-1], axis=1)[:, ::-1].T
    counts = {"endurable_failures": ended[-1], "trials_at_depth": np.diff(within, axis=1)}
    return {"counts": counts, "sums": sums}


def stack_lives(last, groups):
    """What each life of a block of least stacks adds to the sums over trials (see ``stacks``).

    Returns name -> int64[count]: ``stack``, ``states``, ``above``, ``failures``.
    """
    redundancy = last.shape[1]
    last = last.astype(np.int64)
    before = np.hstack([np.full((len(last), 1), -1), last[:, :-1]])
    depths = np.arange(1, redundancy + 1)
    stack = ((last - before) * depths).sum(axis=1)
    # c(k) < d exactly for k <= N - ceil(N / (d - 1)); no k has c(k) < 1.
    below = np.array([-1, *(groups - -(-groups // d) for d in range(1, redundancy))])
    above = np.maximum(np.minimum(last, below) - before, 0).sum(axis=1)
    failures = last[:, -1]
    return {"stack": stack, "states": failures + 1, "above": above, "failures": failures}


def reordering(rows, columns, by_failures, moves):
    """Counts and sums of a block of controller lives.

    rows : int64[count, len(columns)], one life each, columns named as in ``kernels.reorder.COLUMNS``
    by_failures : int64[N+1, ...], decisions of each phase (fixed, depth, reorder first) and moves after k failures
    moves : int64[N+1], reorders by their moves
    """
    of = reordering_lives(rows, columns)
    groups = len(moves) - 1
    counts = {
        "endurable_failures": np.bincount(of["failures"], minlength=groups + 1),
        "phase_at_failure": by_failures[:, :3].copy(),
        "moves_at_failure": by_failures[:, 4].copy(),
        "moves": moves.copy(),
    }
    sums = products({"reorders": of["reorders"], "failures": of["failures"]})
    for name in ("moves", "patch"):
        sums |= products({name: of[name], "reorders": of["reorders"]})
    for name in ("fixed", "deeper"):
        sums[name] = int(of[name].sum())
    return {"counts": counts, "sums": sums}


def reordering_lives(rows, columns):
    """What each life of a block of controller lives adds to the sums over trials: name -> int64[count]."""
    return {name: rows[:, i] for i, name in enumerate(columns)}


# Columns of the rows that lives under a failure stream leave, by measure.
STREAM_COLUMNS = {
    "survival": stream_plan.SURVIVAL_COLUMNS,
    "stacks": stream_plan.STACK_COLUMNS,
    "reordering": reorder_columns.STREAM_COLUMNS,
}


def streamed_lives(measure, rows):
    """What each life of a block under a failure stream adds to the sums over trials.

    rows : int64[count, len(STREAM_COLUMNS[measure])]

    Returns name -> int64[count], among them ``failures`` (groups lost before the event that wipes out), ``events``
    (those before it) and ``time`` of the wipe-out [us]. Raises UserError where a trial never wipes out.
    """
    of = {name: rows[:, i] for i, name in enumerate(STREAM_COLUMNS[measure])}
    endless = np.flatnonzero(of["time"] < 0)
    if len(endless):
        lost = int(of["failures"][endless[0]])
        raise UserError(
            f"failures: trial {endless[0]} of a block loses {lost} groups and then no more, which leaves every type a "
            "host: the domains and logs of the study do not reach all groups; give the groups clocks of their own"
        )
    return of


def streamed_survival(rows, groups):
    """Counts and sums of a survival block under a failure stream; rows as for ``streamed_lives``."""
    of = streamed_lives("survival", rows)
    return {"counts": _endured(of, groups), "sums": _squares("events", of) | _squares("time", of)}


def streamed_stacks(rows, at_depth):
    """Counts and sums of a block of least stacks under a failure stream.

    rows : as for ``streamed_lives``
    at_depth : int64[N+1, r], row k, column d - 1 the states between events, k groups lost, whose least stack is d
    """
    of = streamed_lives("stacks", rows)
    sums = products({name: of[name] for name in ("stack", "states")})
    sums |= products({name: of[name] for name in ("above", "events")})
    counts = _endured(of, len(at_depth) - 1) | {"trials_at_depth": at_depth}
    return {"counts": counts, "sums": sums | {"failures": int(of["failures"].sum())} | _squares("time", of)}


def streamed_reordering(rows, by_failures, moves):
    """Counts and sums of a block of controller lives under a failure stream; arguments as for ``reordering``."""
    of = streamed_lives("reordering", rows)
    sums = products({"reorders": of["reorders"], "events": of["events"]})
    for name in ("moves", "patch"):
        sums |= products({name: of[name], "reorders": of["reorders"]})
    sums |= {name: int(of[name].sum()) for name in ("failures", "fixed", "deeper")}
    counts = _endured(of, len(moves) - 1) | {
        "phase_at_failure": by_failures[:, :3].copy(),
        "moves_at_failure": by_failures[:, 4].copy(),
        "moves": moves.copy(),
    }
    return {"counts": counts, "sums": sums | _squares("time", of)}


def _endured(of, groups):
    return {"endurable_failures": np.bincount(of["failures"], minlength=groups + 1)}


def _squares(name, of):
    """Sums of one quantity and of its squares, whatever their size."""
    values = of[name].tolist()
    return {name: sum(values), f"{name}_squared": sum(value * value for value in values)}


def products(pair):
    """Sums over trials of two int64 arrays, of their squares and of their product, as Python ints by name."""
    (a, x), (b, y) = pair.items()
    return {
        a: int(x.sum()),
        b: int(y.sum()),
        f"{a}_squared": int(x @ x),
        f"{b}_squared": int(y @ y),
        f"{a}_{b}": int(x @ y),
    }
