"""How the functions of a training run are compiled."""

from .jit import njit

_LEAN = {"error_model": "numpy", "_nrt": False}


def device(function):
    """njit for functions called from compiled code: no reference counts, which cost more than most calls do.

    Such a function allocates nothing and raises nothing (the NumPy error model: x / 0 is inf).
    """
    return njit(**_LEAN, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def hot(function):
    """``device`` for what every step does, or what is called in one place: inlined."""
    return njit(**_LEAN, inline="always")(function)


def entry(function):
    """``device`` that Python calls too."""
    return njit(**_LEAN)(function)
