"""The Cython kernels for tests."""

import pytest

from spare_mc.kernels import ahead_levels


def ahead(stem):
    """The module of an ahead-of-time kernel at this machine's level; skips the test where none is built."""
    try:
        return ahead_levels.load(stem)
    except ImportError as error:
        pytest.skip(str(error))
