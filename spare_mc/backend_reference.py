"""The reference backend: plain Python."""

import numpy as np

from . import measures
from .backend import Backend, Streamed


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
