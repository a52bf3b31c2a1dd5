"""The ways to run a block; each is asked what it can do.

A block is a pure function: ``(layout, key, first trial, count) -> counts and sums``, all integers. Which backend runs
it changes nothing in the answer.
"""

import importlib
import importlib.util
from typing import NamedTuple

import numpy as np

from . import gpu, measures
from .errors import UserError, nearest
from .kernels import ahead_levels


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


class Reference(Backend):
    """Plain Python: slow, obviously right, the oracle of the others."""

    name = "reference"
    measures = ("survival", "stacks")
    streams = ("survival", "stacks")
    cost = 500.0

    def plan(self, measure, point):
        rows = [point.layout.hosts(t).tolist() for t in range(point.layout.groups)]
        return rows if point.stream is None else Streamed(point.stream, rows)

    def block(self, measure, plan, point, key, first, count):
        if isinstance(plan, Streamed):
            rows, at_depth = self._streamed(measure, plan, point.layout, key, range(first, first + count))
            if measure == "survival":
                return measures.streamed_survival(rows, point.layout.groups)
            return measures.streamed_stacks(rows, at_depth)
        found = self._trials(measure, plan, point.layout, key, range(first, first + count))
        counted = measures.survival if measure == "survival" else measures.stacks
        return counted(found, point.layout.groups)

    def lives(self, measure, plan, point, key, first, count):
        if isinstance(plan, Streamed):
            rows, _ = self._streamed(measure, plan, point.layout, key, range(first, first + count))
            return measures.streamed_lives(measure, rows)
        found = self._trials(measure, plan, point.layout, key, range(first, first + count))
        if measure == "survival":
            return {"failures": found.astype(np.int64)}
        return measures.stack_lives(found, point.layout.groups)

    def _trials(self, measure, plan, layout, key, trials):
        if measure == "survival":
            from .kernels.reference import endurable

            return np.array([endurable(plan, layout.groups, key, trial) for trial in trials], np.int32)
        from .kernels.reference_stacks import capacity

        found = [capacity(plan, layout.groups, layout.redundancy, key, trial) for trial in trials]
        return np.array(found, np.int32).reshape(len(trials), layout.redundancy)

    def _streamed(self, measure, plan, layout, key, trials):
        """Rows of lives under a stream and, of stacks, the states at every depth."""
        from .kernels import reference_stream_lives as reference

        stream, hosts = plan
        at_depth = np.zeros((layout.groups + 1, layout.redundancy), np.int64)
        if measure == "survival":
            rows = [reference.survival_row(stream, hosts, key, trial) for trial in trials]
        else:
            rows = [reference.stack_row(stream, hosts, layout.redundancy, key, trial) for trial in trials]
            for trial in trials:
                for k, depth in reference.depths(stream, hosts, layout.redundancy, key, trial):
                    at_depth[k, depth - 1] += 1
        columns = len(measures.STREAM_COLUMNS[measure])
        return np.array(rows, np.int64).reshape(len(trials), columns), at_depth


class _Kernels(Backend):
    """Backends whose kernels follow the array interface of ``spare_mc.kernels``."""

    def kernel(self, measure):
        """The module with the kernel of a measure."""
        raise NotImplementedError

    def stream_kernel(self, measure):
        """The module that runs a pattern measure under a failure stream."""
        raise NotImplementedError

    def load(self, measure, streamed=False):
        self.kernel(measure)
        if streamed and measure != "training":
            self.stream_kernel(measure)

    def plan(self, measure, point):
        if measure != "training" and (stream := point.stream) is not None:
            return Streamed(stream, self.prepared_for_stream(measure, point.layout))
        if measure == "training":
            from .training_setup import kernel_plan

            return kernel_plan(point)
        return self.prepared(measure, point.layout)

    def prepared(self, measure, layout):
        """The plan of a layout, for a measure of failure patterns."""
        prepare = self.kernel(measure).plan
        if measure != "survival":
            return prepare(layout.host_table(), layout.stack_table())
        if layout.offsets is not None:
            hosting = {"offsets": np.array(layout.offsets, np.int64)}
        elif layout.block is not None:
            hosting = {"block": layout.block}
        else:
            hosting = {"hosts": layout.host_table()}
        return prepare(layout.groups, layout.redundancy, **hosting)

    def prepared_for_stream(self, measure, layout):
        """The plan of a layout, for a measure of failure patterns under a stream."""
        return self.stream_kernel(measure).stream_layout(layout.host_table(), layout.stack_table())

    def block(self, measure, plan, point, key, first, count):
        if isinstance(plan, Streamed):
            rows, *counts = self._streamed(measure, plan, point.layout, key, first, count)
            if measure == "survival":
                return measures.streamed_survival(rows, point.layout.groups)
            counted = measures.streamed_stacks if measure == "stacks" else measures.streamed_reordering
            return counted(rows, *counts)
        return getattr(self, "_" + measure)(self.kernel(measure), plan, point.layout, key, first, count)

    def lives(self, measure, plan, point, key, first, count):
        if isinstance(plan, Streamed):
            rows = self._streamed(measure, plan, point.layout, key, first, count)[0]
            return measures.streamed_lives(measure, rows)
        kernel, layout = self.kernel(measure), point.layout
        if measure == "survival":
            return {"failures": self._endurable(kernel, plan, key, first, count).astype(np.int64)}
        if measure == "stacks":
            return measures.stack_lives(
                self._capacity(kernel, plan, layout, key, first, count), layout.groups
            )
        rows, _, _ = self._rows(kernel, plan, layout, key, first, count)
        return measures.reordering_lives(rows, kernel.COLUMNS)

    def _survival(self, kernel, plan, layout, key, first, count):
        return measures.survival(self._endurable(kernel, plan, key, first, count), layout.groups)

    def _stacks(self, kernel, plan, layout, key, first, count):
        return measures.stacks(self._capacity(kernel, plan, layout, key, first, count), layout.groups)

    def _reordering(self, kernel, plan, layout, key, first, count):
        rows, by_failures, moves = self._rows(kernel, plan, layout, key, first, count)
        return measures.reordering(rows, kernel.COLUMNS, by_failures, moves)

    def _endurable(self, kernel, plan, key, first, count):
        endurable = np.empty(count, np.int32)
        kernel.endurable(plan, key, first, endurable)
        return endurable

    def _capacity(self, kernel, plan, layout, key, first, count):
        last = np.empty((count, layout.redundancy), np.int32)
        kernel.capacity(plan, key, first, last)
        return last

    def _rows(self, kernel, plan, layout, key, first, count):
        rows = np.empty((count, len(kernel.COLUMNS)), np.int64)
        by_failures = np.zeros((layout.groups + 1, len(kernel.BY_FAILURES)), np.int64)
        moves = np.zeros(layout.groups + 1, np.int64)
        kernel.lives(plan, key, first, rows, by_failures, moves)
        return rows, by_failures, moves

    def _streamed(self, measure, plan, layout, key, first, count):
        """Rows of lives under a stream, and what the measure counts beside them."""
        rows = np.empty((count, len(measures.STREAM_COLUMNS[measure])), np.int64)
        groups, counts = layout.groups, ()
        if measure == "stacks":
            counts = (np.zeros((groups + 1, layout.redundancy), np.int64),)
        elif measure == "reordering":
            kinds = len(self.stream_kernel(measure).BY_FAILURES)
            counts = np.zeros((groups + 1, kinds), np.int64), np.zeros(groups + 1, np.int64)
        self.stream_kernel(measure).stream_lives(plan.stream, plan.layout, key, first, rows, *counts)
        return rows, *counts

    def _training(self, kernel, plan, layout, key, first, count):
        rows = np.empty((count, len(kernel.columns(layout.redundancy))), np.int64)
        kernel.run(plan, key, first, rows)
        return {"rows": rows}


class Numba(_Kernels):
    """Compiled at first use, once on a machine, and cached."""

    name = "numba"
    modules = {"survival": "survival", "stacks": "stacks", "reordering": "reorder", "training": "training"}
    measures = tuple(modules)
    stream_modules = {
        "survival": "stream_survival",
        "stacks": "stream_stacks",
        "reordering": "stream_reorder",
    }
    streams = (*stream_modules, "training")

    def missing(self, wanted=None):
        if importlib.util.find_spec("numba") is None:
            return "Numba is not installed: pip install numba"
        return None

    def kernel(self, measure):
        return importlib.import_module(f"spare_mc.kernels.{self.modules[measure]}")

    def stream_kernel(self, measure):
        return importlib.import_module(f"spare_mc.kernels.{self.stream_modules[measure]}")


class Cython(_Kernels):
    """Compiled at install: no start-up, no cache."""

    name = "cython"
    # the module of each measure, kernels/MODULE.pyx, built at several vector levels
    modules = {
        "survival": "ahead",
        "stacks": "ahead_stacks",
        "reordering": "ahead_reorder",
        "training": "ahead_training",
    }
    measures = tuple(modules)
    stream_modules = {"survival": "ahead_streams", "stacks": "ahead_stacks", "reordering": "ahead_reorder"}
    streams = (*stream_modules, "training")
    cost = 1.0

    def missing(self, wanted=None):
        try:
            for measure in self.measures if wanted is None else wanted:
                self.kernel(measure)
                if measure in self.stream_modules:
                    self.stream_kernel(measure)
        except ImportError as error:
            return (
                f"its extension cannot be loaded ({error}): install a C compiler and the Python headers "
                "(Debian: gcc, python3-dev) and reinstall spare-mc"
            )
        return None

    def kernel(self, measure):
        return self._load(self.modules[measure])

    def stream_kernel(self, measure):
        return self._load(self.stream_modules[measure])

    def _load(self, stem):
        try:
            return ahead_levels.load(stem)
        except ValueError as error:  # SPARE_MC_SIMD asks for what is not here
            raise UserError(error) from None


class Cuda(_Kernels):
    """On NVIDIA GPUs: compiled at first use, in every process, by up to a minute for training runs."""

    name = "cuda"
    modules = {
        "survival": "cuda_survival",
        "stacks": "cuda_stacks",
        "reordering": "cuda_reorder",
        "training": "cuda_training",
    }
    measures = tuple(modules)
    quick = ("survival", "stacks")
    same_runs = False  # CUDA's logarithms differ in their last bits (docs/gpu.md)
    cost = 2.5e-4  # fills a GPU with training runs
    MOST_GROUPS, MOST_REDUNDANCY = 65_534, 128  # what 16 and 7 bits tell apart

    def missing(self, wanted=None):
        return gpu.missing()

    def refusal(self, measure, point):
        if reason := super().refusal(measure, point):
            return reason
        if measure != "survival" and point.layout.groups > self.MOST_GROUPS:
            return (
                f"cannot do {measure} of {point.layout.groups} groups, only of {self.MOST_GROUPS:,} or fewer"
            )
        if measure == "stacks" and point.layout.redundancy > self.MOST_REDUNDANCY:
            most = self.MOST_REDUNDANCY
            return (
                f"cannot do stacks of layout.redundancy = {point.layout.redundancy}, only of {most} or less"
            )
        return None

    def plan(self, measure, point):
        plan = super().plan(measure, point)
        return self.kernel(measure).prepare(plan) if measure == "training" else plan

    def workers(self, asked):
        return min(asked, 2 * max(1, gpu.count()))  # so many streams there are (kernels.cuda_device)

    def kernel(self, measure):
        return importlib.import_module(f"spare_mc.kernels.{self.modules[measure]}")

    def _survival(self, kernel, plan, layout, key, first, count):
        return {"counts": {"endurable_failures": kernel.counts(plan, key, first, count)}}

    def _stacks(self, kernel, plan, layout, key, first, count):
        return measures.stacks_of(*kernel.tallies(plan, key, first, count))


BACKENDS = {backend.name: backend for backend in (Cython(), Numba(), Cuda(), Reference())}


def on_stream(measure, parameters):
    """Whether a measure takes its failures from a stream at a point of these parameters."""
    from .failure_streams import has_stream, trains_on_stream

    return (trains_on_stream if measure == "training" else has_stream)(parameters)


def choose(name, wanted, study=None, points=None):
    """The backend of that name, or for "auto" the fastest that is here and can do the study.

    A GPU comes first where the ``study`` is large enough. Cython's kernels are as fast as Numba's
    (docs/performance.md) and compute at once, so they come before them whatever the size of the study.

    ``points``: those to be done, where they are no study's.

    Raises UserError for an unknown name, a backend that is not here, one that lacks a measure, or cannot do a point.
    """
    points = points or (() if study is None else study.points)
    if name in (None, "auto"):
        cuda = BACKENDS["cuda"]
        able = study is not None and set(wanted) <= set(cuda.measures)
        if able and gpu.pays(study) and _refusals(cuda, wanted, points) is None:
            return cuda
        for backend in BACKENDS.values():
            if (
                backend is not cuda
                and set(wanted) <= set(backend.measures)
                and backend.missing(wanted) is None
                and _refusals(backend, wanted, points) is None
            ):
                return backend
        here = [b for b in BACKENDS.values() if set(wanted) <= set(b.measures) and not b.missing(wanted)]
        told = [reason for b in here if (reason := _refusals(b, wanted, points))]
        raise UserError(
            f"backend: every one here {told[0]}"
            if told
            else f"backend: none here can do {', '.join(wanted)}; run 'pip install numba'"
        )
    if name not in BACKENDS:
        raise UserError(f"backend = {name!r}: {nearest(name, ['auto', *BACKENDS])}")
    backend = BACKENDS[name]
    lacking = [m for m in wanted if m not in backend.measures]
    if lacking:
        able = [b.name for b in BACKENDS.values() if set(wanted) <= set(b.measures)]
        raise UserError(
            f"backend = {name!r}: cannot do {', '.join(lacking)}; backends that can: {', '.join(able) or 'none'}"
        )
    reason = backend.missing(wanted)
    if reason or (reason := _refusals(backend, wanted, points)):
        raise UserError(f"backend = {name!r}: {reason}")
    return backend


def telling(measure):
    """A kernel that tells trials event by event: Cython's where it was built, as it need not be compiled first."""
    name = "numba" if BACKENDS["cython"].missing((measure,)) else "cython"
    return choose(name, (measure,)).kernel(measure)


def telling_stream():
    """The kernels that draw the pattern of one trial of a failure stream; see ``telling``."""
    cython = BACKENDS["cython"]
    if cython.missing(("survival",)) is None:
        return cython.stream_kernel("survival")
    from .kernels import stream_patterns

    return stream_patterns


def _refusals(backend, wanted, points):
    """Why a backend cannot do the first of the points that it cannot do; None when it can do all."""
    told = (backend.refusal(measure, point) for point in points for measure in wanted)
    return next((reason for reason in told if reason), None)
