"""Backends on compiled kernels, which share the array interface of ``spare_mc.kernels``: Numba's and Cython's."""

import importlib
import importlib.util

import numpy as np

from . import measures
from .backend import Backend, Streamed
from .errors import UserError
from .kernels import ahead_levels


class Kernels(Backend):
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


class Numba(Kernels):
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


class Cython(Kernels):
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
