"""Studies and tallies made by hand for the tests of results files; nothing here simulates."""

import hashlib
import json
from types import SimpleNamespace

import h5py
import numpy as np

from spare_mc import store
from spare_mc.tallies import Tally

SEED = 2**64 - 1  # of every study here
SHAPES = [(2, 1), (2, 2), (7, 3), (7, 5), (7, 4)]  # groups N, redundancy r


def point(groups, redundancy, **parameters):
    """A stand-in for spare_mc.study.Point."""
    resolved = {
        "cluster.groups": groups,
        "layout.kind": "contiguous",
        "layout.redundancy": redundancy,
        "training.steps": 10,
        "training.stack_time": 64.0,
        "training.allreduce_time": groups / 100,
    }
    resolved |= {key.replace("__", "."): value for key, value in parameters.items()}
    identity = hashlib.sha256(json.dumps(resolved, sort_keys=True).encode()).hexdigest()
    return SimpleNamespace(id=identity, parameters=resolved)


def study(points, measures=("survival",), **changes):
    """A stand-in for spare_mc.study.Study."""
    values = {
        "name": "by-hand",
        "seed": SEED,
        "measures": tuple(measures),
        "points": list(points),
        "trials": 1000,
        "confidence": 0.95,
        "common_random_numbers": True,
        "text": "[study]\nname = 'by-hand'  # Σ\n",
    }
    return SimpleNamespace(**values | changes)


def _pair(a, x, b, y):
    return {
        a: int(x.sum()),
        b: int(y.sum()),
        f"{a}_squared": int(x @ x),
        f"{b}_squared": int(y @ y),
        f"{a}_{b}": int(x @ y),
    }


def tally(where, measure, first, count, seed=SEED):
    """A tally of ``count`` made-up trials from ``first``, a function of their numbers alone: parts add up."""
    groups, redundancy = where.parameters["cluster.groups"], where.parameters["layout.redundancy"]
    trials = np.arange(first, first + count)
    endured = trials * 7919 % groups
    spans = ((first, first + count),)
    if measure == "training":
        from spare_mc.kernels.training_settings import columns

        names = columns(redundancy)
        rows = trials[:, None] * 1000 + np.arange(len(names))
        rows[:, names.index("wall")] = 10**12 + trials
        rows[:, names.index("finished")] = trials % 2
        return Tally(measure, where.id, seed, spans, rows=rows)
    counts, sums = {"endurable_failures": np.bincount(endured, minlength=groups + 1)}, {}
    alive = np.cumsum(counts["endurable_failures"][::-1])[::-1]
    if measure == "stacks":
        depth = np.minimum(redundancy, np.arange(groups + 1) // 3 + 1)
        counts["trials_at_depth"] = np.zeros((groups + 1, redundancy), np.int64)
        counts["trials_at_depth"][np.arange(groups + 1), depth - 1] = alive
        stack = np.cumsum(depth)[endured]
        sums = _pair("stack", stack, "states", endured + 1) | _pair(
            "above", endured // 2, "failures", endured
        )
    if measure == "reordering":
        counts["phase_at_failure"] = np.stack([alive, 2 * alive, 3 * alive], axis=1)
        counts["moves_at_failure"] = alive * 2
        counts["moves"] = counts["endurable_failures"][::-1].copy()
        reorders = endured + 1
        sums = _pair("reorders", reorders, "failures", endured)
        for name in ("moves", "patch"):
            sums |= _pair(name, reorders * 2, "reorders", reorders)
        sums |= {"fixed": 5 * count, "deeper": count}
    return Tally(measure, where.id, seed, spans, counts, sums)


def assert_same_tally(mine, theirs):
    """Equal to the bit: spans, arrays with their types and shapes, sums, rows."""
    assert (mine.measure, mine.point, mine.seed) == (theirs.measure, theirs.point, theirs.seed)
    assert mine.spans == tuple(theirs.spans)
    assert mine.counts.keys() == theirs.counts.keys()
    for name, array in mine.counts.items():
        assert array.dtype == np.int64
        np.testing.assert_array_equal(array, theirs.counts[name], strict=True)
    assert mine.sums == theirs.sums
    assert all(type(value) is int for value in mine.sums.values())
    if theirs.rows is None:
        assert mine.rows is None
    else:
        np.testing.assert_array_equal(mine.rows, theirs.rows, strict=True)


def data_of(path, leave_out=("created", "updated", "host", "publication")):
    """Everything in an HDF5 file: attributes and datasets by name, as bytes and plain values."""
    found = {}

    def visit(name, item):
        attributes = {k: repr(v) for k, v in item.attrs.items() if not k.endswith("_LIST")}
        if isinstance(item, h5py.Dataset):
            found[name] = (item.dtype.str, item.shape, item[()].tobytes(), attributes)
        else:
            found[name] = attributes

    with h5py.File(path, "r", locking=False) as file:
        file.visititems(visit)
        found["/"] = {k: repr(v) for k, v in file.attrs.items() if k not in leave_out}
    return found


def write(path, asked, tallies):
    """Make a file, or add to it, and publish once."""
    with store.Writer(path, asked) as writer:
        for item in tallies:
            writer.add(item)


def everything(points, measures, first=0, count=50):
    """A tally of every point and measure over the same trials."""
    return [tally(p, m, first, count) for p in points for m in measures]


def with_version(version):
    """A maker of a file with that schema version."""

    def make(path):
        write(path, study([point(5, 1)]), [])
        with h5py.File(path, "r+") as file:
            file.attrs["schema_version"] = version

    return make
