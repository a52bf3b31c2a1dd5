"""Fixtures that several test files share; which files a worker runs one after the other."""

from pathlib import PurePath

import pytest
from store_tools import SHAPES, point

from spare_mc import gpu

if gpu.simulated():
    import simulator  # noqa: F401  (puts numba's simulator right)

# Files whose Numba kernels call the same functions: in one worker these are compiled once. Longest first, so that the
# short files fill up what is left.
GROUPS = {
    "controller": (
        "test_training_kernel",
        "test_ahead_training",
        "test_reorder_kernel",
        "test_ahead_reorder",
        "test_training_closed_forms",
        "test_training_published",
    ),
    "streams": ("test_stream_patterns", "test_streams", "test_stream_study"),
    "patterns": ("test_survival_kernel", "test_stacks_kernel", "test_philox", "test_backends_matrix"),
}
_PLACES = {name: (at, group) for at, (group, names) in enumerate(GROUPS.items()) for name in names}


def _group(path):
    """The group of a file, or its own name."""
    name = PurePath(path).stem
    return _PLACES.get(name, (0, name))[1]


def pytest_collection_modifyitems(items):
    """Files of the groups first, in their order."""
    items.sort(key=lambda item: _PLACES.get(item.path.stem, (len(GROUPS), ""))[0])  # stable: files stay whole


def pytest_xdist_make_scheduler(config, log):
    """A file goes to one worker, files of one group to the same.

    Not by xdist's own marks, which ids of tests carry: pytest 9.2 does not take the change.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return _group(nodeid.partition("::")[0])

    return ByGroup(config, log)


@pytest.fixture
def path(tmp_path):
    """Where a results file goes."""
    return tmp_path / "out.h5"


@pytest.fixture
def points():
    """Points of every shape that results files are tested with."""
    return [point(n, r) for n, r in SHAPES]
