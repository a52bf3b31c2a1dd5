"""Builds the Cython backend; everything else about the package is in pyproject.toml.

The extension is optional: on a machine without a C compiler or the Python headers the install goes on
without it, and ``spare-mc`` says that the cython backend is missing.
"""

import os

from setuptools import Extension, setup

SOURCE = "kernels/ahead.pyx"


def extensions():
    if not os.path.exists(SOURCE) or os.environ.get("SPARE_MC_NO_CYTHON"):
        return []
    from Cython.Build import cythonize

    extension = Extension(
        "spare_mc.kernels.ahead",
        [SOURCE],
        optional=True,
        # -ffp-contract=off: fused multiply-adds would round differently from the Numba kernels
        extra_compile_args=["-O3", "-ffp-contract=off"],
    )
    built = cythonize([extension], language_level=3)
    for each in built:  # cythonize makes new objects and forgets this
        each.optional = True
    return built


setup(ext_modules=extensions())
