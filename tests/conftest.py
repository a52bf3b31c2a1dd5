"""Fixtures that several test files share."""

import pytest
from store_tools import SHAPES, point


@pytest.fixture
def path(tmp_path):
    """Where a results file goes."""
    return tmp_path / "out.h5"


@pytest.fixture
def points():
    """Points of every shape that results files are tested with."""
    return [point(n, r) for n, r in SHAPES]
