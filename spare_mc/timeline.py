"""One training run, event by event."""

from dataclasses import dataclass
from typing import NamedTuple

from .engine import check_whole
from .errors import UserError


class Event(NamedTuple):
    """Something that happened in a run.

    ``kind``: "step" (a step committed; ``a`` committed steps so far, ``b`` depth), "failure" (``a`` group), "reorder"
    (``a`` moves, ``b`` depth; without moves the depth alone grew), "patch" (``a`` groups), "save" (``a`` committed
    steps), "restart" (``a`` when it ends [us], ``b`` steps rolled back, besides the one that failed), "return" (``a``
    group that is back as a step begins), "rejoin" (the depth fell after returns: ``a`` moves, ``b`` depth). ``time``:
    microseconds since the start.
    """

    kind: str
    time: int
    a: int
    b: int


@dataclass
class Timeline:
    """A run: ``events`` in the order in which the run dealt with them, ``summary`` (column -> integer, times in us),
    ``parts`` (what the wall time was spent on, us; they add up to it), ``complete`` (whether all events are kept)."""

    events: list
    summary: dict
    parts: dict
    complete: bool

    def as_json(self):
        return {
            "summary": self.summary,
            "parts_us": self.parts,
            "complete": self.complete,
            "events": [event._asdict() for event in self.events],
        }


def timeline(point, *, seed=0, run=0, limit=1_000_000):
    """One training run of a Point of a study with measure "training", by the kernel that the statistics come from.

    Parameters
    ----------
    point : spare_mc.study.Point with resolved ``training.*`` parameters
    seed : 64-bit seed
    run : number of the run
    limit : events kept

    Returns a Timeline. Raises UserError for bad arguments.
    """
    if "training.scheme" not in point.parameters:
        raise UserError('study.measure: a timeline needs a point of a study with measure "training"')
    seed = check_whole("seed", seed, 0, 2**64 - 1)
    run = check_whole("run", run, 0, 2**63 - 1)
    limit = check_whole("limit", limit, 1, 10**8)
    from .backends import telling
    from .training_setup import kernel_plan

    kernel = telling("training")
    row, events = kernel.timeline(kernel_plan(point), seed, run, limit)
    names = kernel.columns(point.layout.redundancy)
    summary = {name: int(value) for name, value in zip(names, row, strict=True)}
    parts = {name: summary[name] for name in kernel.PARTS}
    told = [Event(kernel.EVENTS[kind], int(time), int(a), int(b)) for kind, time, a, b in events]
    return Timeline(told, summary, parts, len(told) < limit)


def clock(microseconds):
    """A time for people: days, hours, minutes, seconds."""
    seconds = microseconds / 1e6
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{int(days):3d} d {int(hours):02d}:{int(minutes):02d}:{seconds:06.3f}"


def as_text(event):
    """An event as a line for people."""
    told = {
        "step": f"step {event.a:,} committed at depth {event.b}",
        "failure": f"group {event.a} found failed",
        "reorder": f"reorder: {many(event.a, 'move')}, depth {event.b}"
        if event.a
        else f"depth grows to {event.b}",
        "patch": f"patch stacks computed by {many(event.a, 'group')}",
        "save": f"saved at {event.a:,} committed steps",
        "return": f"group {event.a} is back",
        "rejoin": f"depth falls to {event.b}, {many(event.a, 'move')}",
        "restart": f"restart until {clock(event.a).strip()}, {many(event.b, 'step')} rolled back",
    }
    return f"{clock(event.time)}  {told[event.kind]}"


def many(count, what):
    """A number of things, in words."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
