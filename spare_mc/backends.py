"""The ways to run a block, and which of them does a study."""

from . import gpu
from .backend_cuda import Cuda
from .backend_kernels import Cython, Numba
from .backend_reference import Reference
from .errors import UserError, nearest

BACKENDS = {backend.name: backend for backend in (Cython(), Numba(), Cuda(), Reference())}


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
