"""Which build of the ahead-of-time kernels this machine gets: one each a vector level, chosen at import.

The levels are those of the x86-64 psABI (https://gitlab.com/x86-psABIs/x86-64-ABI, "Micro-Architecture Levels"), so
that a wheel built on one machine runs on all and no build is tuned to the machine that made it. Other processors
have one build, ``plain``. ``SPARE_MC_SIMD`` asks for a lower level.

``ahead.pyx`` becomes the modules ``ahead_v2``, ``ahead_v3``...; :func:`load` imports the right one. What several
sources share is a header (.h) or an include file (.pxi): a cimport would name one level. ``setup.py`` reads this file
for the levels and the compiler's flags; ``python setup.py build_ext --inplace`` builds what changed.
"""

import functools
import importlib
import importlib.util
import os
import platform

_V2 = {
    "cx16": "-mcx16",
    "lahf_lm": "-msahf",
    "popcnt": "-mpopcnt",
    "pni": "-msse3",
    "ssse3": "-mssse3",
    "sse4_1": "-msse4.1",
    "sse4_2": "-msse4.2",
}
_V3 = _V2 | {
    "avx": "-mavx",
    "avx2": "-mavx2",
    "bmi1": "-mbmi",
    "bmi2": "-mbmi2",
    "f16c": "-mf16c",
    "fma": "-mfma",
    "abm": "-mlzcnt",
    "movbe": "-mmovbe",
}
_V4 = _V3 | {f"avx512{part}": f"-mavx512{part}" for part in ("f", "bw", "cd", "dq", "vl")}

# What a level needs, as /proc/cpuinfo names it, and the option by which GCC (from version 6) and Clang may use it;
# -march=x86-64-v3 and its kin say the same to newer compilers only.
LEVELS = {"v2": _V2, "v3": _V3, "v4": _V4}
PLAIN = "plain"
VARIABLE = "SPARE_MC_SIMD"
_X86 = ("x86_64", "amd64")


def levels_of(machine):
    """The levels built for a processor family (``platform.machine()``), lowest first."""
    return tuple(LEVELS) if machine.lower() in _X86 else (PLAIN,)


@functools.cache
def _cpu_flags():
    """What the processor can do and the system has switched on; empty where the system does not tell."""
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("flags"):
                    return frozenset(line.split(":", 1)[1].split())
    except OSError:
        pass
    return frozenset()


def supported():
    """The levels this processor has, lowest first: tuple of str."""
    if levels_of(platform.machine()) == (PLAIN,):
        return (PLAIN,)
    flags = _cpu_flags()
    if not flags:  # not Linux: every x86-64 processor since 2009 has v2
        return ("v2",)
    return tuple(level for level, needs in LEVELS.items() if flags >= needs.keys())


def built(stem):
    """The levels for which the module ``stem`` (such as "ahead_stacks") was built here, lowest first: tuple of str."""
    every = (*LEVELS, PLAIN)
    return tuple(level for level in every if importlib.util.find_spec(f"{__package__}.{stem}_{level}"))


def level(stem):
    """The level at which ``stem`` is used: the highest that is built and that the processor has, or SPARE_MC_SIMD.

    Raises ModuleNotFoundError if none is built that could run here, ValueError if SPARE_MC_SIMD cannot be followed.
    """
    return _level(stem, os.environ.get(VARIABLE, ""))


@functools.cache
def _level(stem, wanted):
    able, here = supported(), built(stem)
    usable = [name for name in here if name in able]
    if not usable:
        reason = (
            f"built for {', '.join(here)}; this processor has {', '.join(able) or 'none'}"
            if here
            else "not built"
        )
        raise ModuleNotFoundError(f"{stem}: {reason}", name=f"{__package__}.{stem}")
    if not wanted:
        return usable[-1]
    name = wanted.lower().removeprefix("x86-64-")
    if name not in usable:
        why = (
            "this processor lacks it"
            if name in here
            else "it is not built"
            if name in LEVELS
            else "no such level"
        )
        raise ValueError(f"{VARIABLE} = {wanted!r}: {why}; allowed here: {', '.join(usable)}")
    return name


def load(stem):
    """The module of an ahead-of-time kernel at this machine's level; raises as :func:`level`, or ImportError."""
    return importlib.import_module(f"{__package__}.{stem}_{level(stem)}")
