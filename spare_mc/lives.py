"""One life of the reordering controller, decision by decision: to trust the method, and to teach it."""

from .durations import duration
from .engine import check_whole
from .errors import UserError
from .layouts import check_layout


def life(layout, *, seed=0, trial=0, batch=1, stream=None):
    """Yield what the controller does after every failure of one trial, until the wipe-out.

    The trial's failure order and its endurable failures are those of ``survival``, ``stacks`` and ``reordering`` with
    the same seed.

    Parameters
    ----------
    layout : Layout
    seed : 64-bit seed
    trial : number of the trial, from 0
    batch : failures found together and decided on at once
    stream : the failure stream of a study's point (``Point.stream``): its events are then the batches

    Yields
    ------
    ``spare_mc.kernels.reorder_life.Event``: ``failures`` so far, ``groups`` of this batch, ``phase`` (index into
    ``spare_mc.kernels.reorder_columns.PHASES``), ``moves``, ``promotions`` (type, group, old and new place, from 0),
    ``depth_before`` and ``depth_after``, ``patch`` (groups that compute again), ``before`` and ``after`` (int32[N, r],
    the stacks, short rows padded with -1), ``alive`` (bool[N]), ``time`` [us] under a stream. The last event is the
    wipe-out, unless a stream never brings one.

    Raises UserError for bad arguments.
    """
    check_layout(layout)
    seed = check_whole("seed", seed, 0, 2**64 - 1)
    trial = check_whole("trial", trial, 0, 2**63 - 1)
    batch = check_whole("batch", batch, 1, layout.groups)
    from .backends import telling, telling_stream

    kernel, pattern = telling("reordering"), None
    if stream is not None:
        if batch != 1:
            raise UserError(f"batch = {batch}: what one event of a failure stream hits is found together")
        from .kernels.stream_layouts import hosting

        order, ends, times, _ = telling_stream().pattern(stream, hosting(layout.stack_table()), seed, trial)
        pattern = order, ends, times
    plan = kernel.plan(layout.host_table(), layout.stack_table())
    return kernel.decisions(plan, seed, trial, batch, pattern)


def phase_name(event):
    """fixed, depth, reorder or wipe-out."""
    from .kernels.reorder_columns import PHASES

    return PHASES[event.phase]


def touched(event):
    """Groups alive whose stack changed in this event, ascending."""
    changed = (event.before != event.after).any(axis=1) & event.alive
    return [int(g) for g in changed.nonzero()[0]]


def as_json(event):
    """An event as plain values; stacks of the groups that changed only."""
    return {
        "failures": event.failures,
        "groups": list(event.groups),
        "phase": phase_name(event),
        "uncovered": event.uncovered,
        "moves": event.moves,
        "promotions": [p._asdict() for p in event.promotions],
        "depth_before": event.depth_before,
        "depth_after": event.depth_after,
        "patch_stacks": event.patch,
        "changed_places": event.changed,
        "time_s": None if event.time is None else event.time / 1e6,
        "stacks": [
            {"group": g, "before": _types(event.before[g]), "after": _types(event.after[g])}
            for g in touched(event)
        ],
    }


def _types(row):
    return [int(t) for t in row if t >= 0]


def as_text(event, stacks=False):
    """An event as lines for people; with ``stacks``, the stacks that changed, "|" after the prefix computed."""
    failed = ", ".join(str(g) for g in event.groups)
    line = (
        f"failure {event.failures:4d}  group {failed:<12s} {phase_name(event):8s} depth {event.depth_after}"
    )
    if event.depth_after != event.depth_before:
        line += f" (was {event.depth_before})"
    if event.promotions:
        moves = "; ".join(
            f"type {p.type} to place {p.new_place + 1} of group {p.group} (from {p.old_place + 1})"
            for p in event.promotions
        )
        line += f"  {event.moves} move{'s' if event.moves > 1 else ''}: {moves}"
    if event.patch:
        line += f"  {event.patch} patch stack{'s' if event.patch > 1 else ''}"
    if phase_name(event) == "wipe-out":
        line = f"failure {event.failures:4d}  group {failed:<12s} wipe-out: some type has no host left"
    if event.time is not None:
        line += f"  after {duration(event.time / 1e6)}"
    if stacks:
        for group in touched(event):
            before = _prefix(event.before[group], event.depth_before)
            line += f"\n    group {group}: {before}  ->  {_prefix(event.after[group], event.depth_after)}"
    return line


def _prefix(row, depth):
    types = _types(row)
    return " ".join([*map(str, types[:depth]), "|", *map(str, types[depth:])])
