"""The schema of a results file: names, dimensions, units, how points are grouped. Documented in docs/store.md.

Nothing here touches a file.
"""

import numpy as np

from .errors import UserError

FILE_TYPE = "spare-mc results"
SCHEMA_VERSION = (1, 2)  # (major, minor): a reader refuses another major, a writer also a newer minor

MOST_SHAPES = 8  # up to so many numbers of groups each get an HDF5 group of their own

# Axes of the arrays of a tally after the point; an array not named here gets axes of its own.
COUNT_AXES = {
    "endurable_failures": ("failures",),
    "trials_at_depth": ("failures", "depth"),
    "phase_at_failure": ("failures", "phase"),
    "moves_at_failure": ("failures",),
    "moves": ("moves",),
}
AXIS_FIRST = {"depth": 1}  # coordinate of the first entry along an axis; 0 where not named
AXIS_UNITS = {"failures": "failures", "depth": "stacks", "moves": "moves"}
PHASES = ("fixed", "depth", "reorder")
STATISTICS = ("mean", "low", "high", "std")

COUNT_UNITS = {
    "endurable_failures": "trials",
    "trials_at_depth": "trials",
    "phase_at_failure": "failures",
    "moves_at_failure": "moves",
    "moves": "reorders",
}
_SUM_UNITS = {
    "stack": "stacks",
    "states": "states",
    "above": "failures",
    "failures": "failures",
    "reorders": "reorders",
    "moves": "moves",
    "patch": "stacks",
    "fixed": "failures",
    "deeper": "failures",
    "events": "events",
    "time": "us",
}
_PARAMETER_UNITS = {
    "max_wall": "s",
    "detection_delay": "s",
    "save_blocking": "s",
    "steps": "steps",
    "checkpoint_steps": "steps",
    "tokens_per_step": "tokens",
    "shard_size": "bytes",
}
_ROW_UNITS = {
    "failures": "failures",
    "moves": "moves",
    "patch_stacks": "stacks",
    "executed": "steps",
    "committed": "steps",
    "rolled_back": "steps",
    "returns": "groups",
    "rejoins": "steps",
    "rejoin_moves": "moves",
    "spares_used": "groups",
    "spares_lacking": "failures",
    "out_steps": "groups steps",
}


def axes_of(measure, name, ndim):
    """Names of the axes of a tally's array."""
    axes = COUNT_AXES.get(name, ())
    if len(axes) == ndim:
        return axes
    return tuple(f"{measure}_{name}_{axis}" for axis in range(ndim))


def sum_unit(name):
    """Unit of a sum over trials: ``a`` of what is summed, ``a2`` of its square, ``a b`` of a product."""
    if name in _SUM_UNITS:
        return _SUM_UNITS[name]
    if name.removesuffix("_squared") in _SUM_UNITS:
        return _SUM_UNITS[name.removesuffix("_squared")] + "2"
    for left, unit in _SUM_UNITS.items():
        right = name.removeprefix(left + "_")
        if right in _SUM_UNITS:
            other = _SUM_UNITS[right]
            return unit + "2" if other == unit else f"{unit} {other}"
    return "1"


def parameter_unit(key):
    """Unit of a resolved parameter: durations are in seconds, words and pure numbers have 1."""
    name = key.rpartition(".")[2]
    if name.endswith(("_mtbf", "_time", "_period")):
        return "s"
    return _PARAMETER_UNITS.get(name, "1")


def row_columns(width):
    """Names and units of the columns of training rows that are ``width`` wide: ``(names, units)``.

    The last columns are the steps executed at each depth, so that the names of a narrower row begin those of a wider.
    """
    from .kernels.training_settings import COLUMNS, PARTS, columns

    names = tuple(columns(width - len(COLUMNS)))
    units = {**dict.fromkeys((*PARTS, "wall", "shrink_total", "useful"), "us"), **_ROW_UNITS}
    return names, tuple("steps" if name.startswith("depth_") else units.get(name, "1") for name in names)


# Columns that files of schema 1.1 and older lack: groups came back at restarts only, so each would have been 0.
ROW_ADDITIONS = ("returns", "rejoins", "rejoin_moves", "spares_used", "spares_lacking", "out_steps")


class Places:
    """Where the columns of this version stand in rows whose columns are ``names``.

    ``columns``: names and units of this version's. ValueError where a column is missing that every version has.
    """

    def __init__(self, names):
        from .kernels.training_settings import COLUMNS

        depths = sum(name.startswith("depth_") for name in names)
        self.columns = row_columns(len(COLUMNS) + depths)
        at = {name: place for place, name in enumerate(names)}
        lacking = [name for name in self.columns[0] if name not in at and name not in ROW_ADDITIONS]
        if lacking:
            raise ValueError(f"training rows have no column {lacking[0]!r}")
        self.more = len(self.columns[0]) - len(names)
        self._at = None if tuple(names) == self.columns[0] else [at.get(n, -1) for n in self.columns[0]]

    def of(self, rows):
        """Rows of a file, the first columns of it that a point has, as this version has them; 0 where it lacks one."""
        if self._at is None:
            return rows
        at = np.array(self._at[: rows.shape[1] + self.more])
        return np.where(at < 0, 0, rows[:, at])


def older_rows(rows):
    """Training rows as schema 1.1 had them, as this version has them."""
    names, _ = row_columns(rows.shape[1] + len(ROW_ADDITIONS))
    return Places([name for name in names if name not in ROW_ADDITIONS]).of(rows)


def stacks(groups_of_points):
    """Where each point lies: HDF5 group name -> indices of its points, in order.

    Points of one number of groups N share the HDF5 group ``groups_N``. A study that sweeps more than MOST_SHAPES
    values of N shares by powers of two, ``groups_513_to_1024``: thousands of small HDF5 groups would take minutes
    to write, and entries beyond a point's own N are true zeros.
    """
    single = len(set(groups_of_points)) <= MOST_SHAPES
    found = {}
    for index, groups in enumerate(groups_of_points):
        top = 1 << max(int(groups) - 1, 1).bit_length()
        name = f"groups_{groups}" if single else f"groups_{top // 2 + 1}_to_{top}"
        found.setdefault(name, []).append(index)
    return found


def check_version(text, path):
    """(major, minor) of a file; UserError when this version of the package cannot read it."""
    try:
        major, minor = (int(part) for part in str(text).split("."))
    except ValueError:
        raise UserError(f"{path}: damaged: schema_version {text!r} is not a version") from None
    if major != SCHEMA_VERSION[0]:
        advice = "update spare-mc" if major > SCHEMA_VERSION[0] else "write it anew"
        raise UserError(
            f"{path}: has schema {major}.{minor}, this spare-mc reads {SCHEMA_VERSION[0]}.x: {advice}"
        )
    return major, minor
