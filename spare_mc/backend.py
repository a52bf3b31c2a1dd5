"""What every way to run a block has in common.

A block is a pure function: ``(layout, key, first trial, count) -> counts and sums``, all integers. Which backend runs
it changes nothing in the answer.
"""

from typing import NamedTuple


class Streamed(NamedTuple):
    """What a pattern measure prepares for a point whose failures come from a stream."""

    stream: object  # kernels.stream_plan.Plan
    layout: object  # what the kernel prepares of the layout


class Backend:
    """A way to run blocks. Subclasses name the measures they have in ``measures``."""

    name = ""
    measures = ()
    streams = ()  # those of its measures that it can run under a failure stream
    quick = None  # measures that a self-test has time to compile; None: all
    same_runs = True  # training runs are the reference's to the microsecond
    cost = 1.0  # rough time against numba's; sets the size of a block, never the result

    def missing(self, wanted=None):
        """Why this backend cannot be used here for the ``wanted`` measures (None: all its own), and how to get it.

        None when it can.
        """
        return None

    def refusal(self, measure, point):
        """Why this backend, though it is here and has the measure, cannot do a point; None when it can."""
        if measure in self.streams or not on_stream(measure, point.parameters):
            return None
        from .backends import BACKENDS

        able = [backend.name for backend in BACKENDS.values() if measure in backend.streams]
        return (
            f"cannot do {measure} under a failure stream ([failures] lemons, rates, clock_level; [domains]; [replay]); "
            f"backends that can: {', '.join(able) or 'none'}"
        )

    def workers(self, asked):
        """How many threads of those asked for can be kept busy."""
        return asked

    def load(self, measure, streamed=False):
        """Import what runs a measure; not from two threads at once, which Numba's import does not take.

        streamed : whether also under a failure stream
        """

    def plan(self, measure, point):
        """Whatever the kernel prepares once per point; immutable, shared by threads.

        Where failure patterns come from a failure stream, a Streamed.
        """
        raise NotImplementedError

    def block(self, measure, plan, point, key, first, count):
        """Fields of the tally of trials first .. first + count - 1: a dict of ``counts``, ``sums``, ``rows``."""
        raise NotImplementedError

    def lives(self, measure, plan, point, key, first, count):
        """What each of these trials adds to the sums over trials, one by one: dict name -> int64[count].

        ``failures`` is K of a trial; the other names are those of the measure's sums. Pattern measures only.
        """
        raise NotImplementedError


def on_stream(measure, parameters):
    """Whether a measure takes its failures from a stream at a point of these parameters."""
    from .failure_streams import has_stream, trains_on_stream

    return (trains_on_stream if measure == "training" else has_stream)(parameters)
