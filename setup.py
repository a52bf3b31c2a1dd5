"""Builds the Cython backend; everything else about the package is in pyproject.toml.

Every ``kernels/ahead*.pyx`` is compiled once a vector level (``kernels/ahead_levels.py``), under names of their own:
``ahead_v2``, ``ahead_v3``... The extensions are optional: on a machine without a C compiler or the Python headers the
install goes on without them, and ``spare-mc`` says that the cython backend is missing.
"""

import os
import runpy
import sys
import sysconfig
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

BUILD = Path("build/ahead")  # the sources under the names of their builds
LEVELS = runpy.run_path("kernels/ahead_levels.py")
# Cython's own code, two thirds of the compilation, once for all
SHARED = "spare_mc.kernels.ahead_memoryviews"
# -funroll-loops: as LLVM does; a fifth of the time of contiguous least stacks. -fwrapv: lanes wrap around.
# -ffp-contract=off: fused multiply-adds would round differently from the Numba kernels. -g0: no debug symbols, which
# would triple the size of the package.
OPTIONS = ["-O3", "-funroll-loops", "-fwrapv", "-ffp-contract=off", "-g0"]


def extensions():
    """An extension for every source and level, and the one that they share."""
    if os.environ.get("SPARE_MC_NO_CYTHON"):
        return []
    machine = sysconfig.get_platform().rsplit("-", 1)[-1]
    built = [
        Extension(
            f"spare_mc.kernels.{Path(source).stem}_{level}",
            [source],
            include_dirs=["kernels"],
            depends=[*glob("kernels/ahead*.h"), *glob("kernels/ahead*.pxi")],
            extra_compile_args=OPTIONS + list(LEVELS["LEVELS"].get(level, {}).values()),
            optional=True,
        )
        for source in sorted(glob("kernels/ahead*.pyx"))
        for level in LEVELS["levels_of"](machine)
    ]
    shared = str(BUILD / (SHARED.rsplit(".", 1)[-1] + ".c"))
    return [Extension(SHARED, [shared], extra_compile_args=["-g0"], optional=True), *built]


def renamed(extension):
    """An extension's source under the extension's own name: Cython and the import system both go by it."""
    (source,) = extension.sources
    if not source.endswith(".pyx"):
        return source
    copy = BUILD / (extension.name.rsplit(".", 1)[-1] + ".pyx")
    text = Path(source).read_text()
    if not copy.exists() or copy.read_text() != text:  # an unchanged copy is not translated again
        copy.write_text(text)
    return str(copy)


class Build(build_ext):
    """Translates to C only when extensions are built, and compiles on all cores allowed."""

    def build_extensions(self):
        try:
            from Cython.Build import cythonize
        except ImportError:
            print("Cython is not installed: going on without the cython backend", file=sys.stderr)
            self.extensions = []
            return
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        BUILD.mkdir(parents=True, exist_ok=True)
        copies = [Extension(e.name, [renamed(e)], depends=e.depends) for e in self.extensions]
        translated = cythonize(
            copies,
            include_path=["kernels"],
            language_level=3,
            force=self.force,
            nthreads=cores,
            shared_utility_qualified_name=SHARED,
        )
        sources = {extension.name: extension.sources for extension in translated}
        for extension in self.extensions:
            extension.sources = sources[extension.name]
        self.parallel = self.parallel or cores
        super().build_extensions()


setup(ext_modules=extensions(), cmdclass={"build_ext": Build})
