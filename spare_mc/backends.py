"""The ways to run a block; each is asked what it can do.

A block is a pure function: ``(layout, key, first trial, count) -> counts and sums``, all integers. Which backend runs
it changes nothing in the answer.
"""

import importlib
import importlib.util

import numpy as np

from .errors import UserError
from .study_model import nearest


class Backend:
    """A way to run blocks. Subclasses name the measures they have in ``measures``."""

    name = ""
    measures = ()
    cost = 1.0  # rough time against numba's; sets the size of a block, never the result

    def missing(self):
        """Why this backend cannot be used here and how to get it, or None when it can."""
        return None

    def plan(self, measure, layout):
        """Whatever the kernel prepares once per layout; immutable, shared by threads."""
        raise NotImplementedError

    def block(self, measure, plan, layout, key, first, count):
        """``(counts, sums)`` of trials first .. first + count - 1: dicts of int64 arrays and of ints."""
        raise NotImplementedError


def _survival_counts(layout, endurable):
    return {"endurable_failures": np.bincount(endurable, minlength=layout.groups + 1)}, {}


def _survival_plan_arguments(layout):
    if layout.offsets is not None:
        return {"offsets": np.array(layout.offsets, np.int64)}
    if layout.block is not None:
        return {"block": layout.block}
    return {"hosts": layout.host_table()}


class Reference(Backend):
    """Plain Python: slow, obviously right, the oracle of the others."""

    name = "reference"
    measures = ("survival",)
    cost = 500.0

    def plan(self, measure, layout):
        return [layout.hosts(t).tolist() for t in range(layout.groups)]

    def block(self, measure, plan, layout, key, first, count):
        from .kernels import reference

        endurable = [
            reference.endurable(plan, layout.groups, key, trial) for trial in range(first, first + count)
        ]
        return _survival_counts(layout, np.array(endurable, np.int32))


class _Kernels(Backend):
    """Backends whose kernels follow the array interface of ``spare_mc.kernels``."""

    def _survival(self):
        raise NotImplementedError

    def plan(self, measure, layout):
        return self._survival().plan(layout.groups, layout.redundancy, **_survival_plan_arguments(layout))

    def block(self, measure, plan, layout, key, first, count):
        endurable = np.empty(count, np.int32)
        self._survival().endurable(plan, key, first, endurable)
        return _survival_counts(layout, endurable)


class Numba(_Kernels):
    """Compiled at first use, cached; the fastest on a CPU."""

    name = "numba"
    measures = ("survival",)

    def missing(self):
        if importlib.util.find_spec("numba") is None:
            return "Numba is not installed: pip install numba"
        return None

    def _survival(self):
        return importlib.import_module("spare_mc.kernels.survival")


class Cython(_Kernels):
    """Compiled at install: no start-up, no cache."""

    name = "cython"
    measures = ("survival",)
    cost = 2.0

    def missing(self):
        try:
            importlib.import_module("spare_mc.kernels.ahead")
        except ImportError:
            return (
                "its extension was not built: install a C compiler and the Python headers "
                "(Debian: gcc, python3-dev) and reinstall spare-mc"
            )
        return None

    def _survival(self):
        return importlib.import_module("spare_mc.kernels.ahead")


BACKENDS = {backend.name: backend for backend in (Numba(), Cython(), Reference())}


def choose(name, measures):
    """The backend of that name, or for "auto" the first that is here and has every measure.

    Raises UserError for an unknown name, a backend that is not here, or one that lacks a measure.
    """
    if name in (None, "auto"):
        for backend in BACKENDS.values():
            if backend.missing() is None and set(measures) <= set(backend.measures):
                return backend
        raise UserError(f"backend: none here can do {', '.join(measures)}; run 'pip install numba'")
    if name not in BACKENDS:
        raise UserError(f"backend = {name!r}: {nearest(name, ['auto', *BACKENDS])}")
    backend = BACKENDS[name]
    reason = backend.missing()
    if reason:
        raise UserError(f"backend = {name!r}: {reason}")
    lacking = [m for m in measures if m not in backend.measures]
    if lacking:
        able = [b.name for b in BACKENDS.values() if set(measures) <= set(b.measures)]
        raise UserError(
            f"backend = {name!r}: cannot do {', '.join(lacking)}; backends that can: {', '.join(able) or 'none'}"
        )
    return backend
