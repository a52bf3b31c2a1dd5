"""Points of results files as a table: choosing, sorting and naming its rows and columns.

A column is a parameter (``layout.redundancy``, or its last word where no other column has it), an estimate
(``mean_stack``), a statistic of one (``mean_stack_low``, ``_high``, ``_std``), a total (``trials``, ``runs``), or a
label (``id``, ``seed``, ``stopped``, ``file``).
"""

from functools import cached_property

import numpy as np

from .conditions import comparable, meets
from .errors import UserError
from .estimates import DESCRIPTIONS, NAMES, UNITS
from .store_schema import STATISTICS, parameter_unit

DERIVED = (  # follow from other parameters
    "cluster.gpus_per_group",
    "layout.offsets",
    "layout.digest",
    "domains.stride",
    "domains.placement_seed",
    "domains.placement_digest",
)
_STATISTICS = {
    "mean": "",
    **{name: f"_{name}" for name in STATISTICS[1:]},
}  # statistic -> ending of its column
_TOTALS = ("trials", "runs")
_LABELS = ("id", "seed", "stopped", "file")
_FLAGS = {"N": "cluster.groups", "r": "layout.redundancy"}  # short flags of run
_CALLED = {
    "cluster.groups": "groups N",
    "layout.kind": "layout",
    "layout.redundancy": "redundancy r",
    "failures.system_mtbf": "system MTBF",
}


class Table:
    """Points with named columns.

    Parameters
    ----------
    points : list of PointResult
    files : the file each comes from, list of str; None where they come from one, or from none
    """

    def __init__(self, points, files=None):
        self.points = list(points)
        self.files = None if files is None else list(files)
        self._coded = {}

    def __len__(self):
        return len(self.points)

    @cached_property
    def parameters(self):
        """Dotted keys of all parameters."""
        return list(dict.fromkeys(key for point in self.points for key in point.parameters))

    @cached_property
    def estimates(self):
        """Names of all estimates."""
        return list(dict.fromkeys(name for point in self.points for name in point.estimates))

    @cached_property
    def labels(self):
        """Columns that say which point a row is: id and seed, file and reason of stopping where there are any."""
        stopped = ["stopped"] if any(p.stopped for p in self.points) else []
        return [*(["file"] if self.files else []), "id", "seed", *stopped]

    @cached_property
    def columns(self):
        """Every column, in the order in which CSV files have them."""
        statistics = [name + ending for name in self.estimates for ending in _STATISTICS.values()]
        return [*self.labels, *_TOTALS, *self.parameters, *statistics]

    @cached_property
    def _short(self):
        """Last word of a parameter's key -> the keys it may stand for."""
        found = {}
        for key in self.parameters:
            found.setdefault(key.rpartition(".")[2], []).append(key)
        return found

    def resolve(self, name, what="column"):
        """The column that a name stands for; UserError, naming the nearest, where there is none or there are several.

        ``what`` begins the message: the option it was given with.
        """
        name = _FLAGS.get(name, name)
        if name in self.parameters or name in _TOTALS or name in self.labels:
            return name
        if name in self.columns:  # looked at last: the estimates of many points take time
            return name
        keys = self._short.get(name, ())
        if len(keys) == 1:
            return keys[0]
        if keys:
            raise UserError(f"{what}: {name!r} may be {' or '.join(keys)}; give one of them")
        from .errors import nearest

        if name in _LABELS:
            raise UserError(f"{what}: no point has a value of {name!r}")
        known = [*self.labels, *_TOTALS, *self.parameters, *self._short, *self.estimates]
        if name in UNITS or name.rpartition("_")[0] in UNITS:
            have = ", ".join(self.estimates) or "none"
            raise UserError(f"{what}: no point has estimate {name!r}; estimates there are: {have}")
        raise UserError(f"{what}: no column {name!r}; {nearest(name, dict.fromkeys(known))}")

    def column(self, key):
        """Values of a resolved column, one a point; None where a point has none."""
        if key == "file":
            return list(self.files)
        if key in _TOTALS or key in _LABELS:
            return [None if (value := getattr(point, key)) == "" else value for point in self.points]
        if key in self.parameters:
            return [point.parameters.get(key) for point in self.points]
        name, statistic = self._statistic(key)
        found = [point.estimates.get(name) for point in self.points]
        return [None if value is None else getattr(value, statistic) for value in found]

    def _statistic(self, key):
        if key in self.estimates:
            return key, "mean"
        name, _, statistic = key.rpartition("_")
        return name, statistic

    def unit(self, key):
        """Unit of a resolved column, "1" for pure numbers and text."""
        if key in _LABELS:
            return "1"
        if key in _TOTALS:
            return key
        if key in self.parameters:
            return parameter_unit(key)
        return UNITS.get(self._statistic(key)[0], "1")

    def described(self, key):
        """What a resolved column is, in words."""
        if key in _TOTALS or key in _LABELS:
            return {"trials": "failure patterns counted", "runs": "training runs counted"}.get(key, key)
        if key in self.parameters:
            return key.rpartition(".")[2].replace("_", " ")
        name, statistic = self._statistic(key)
        text = DESCRIPTIONS.get(name, name.replace("_", " "))
        return text if statistic == "mean" else f"{statistic} of: {text}"

    def name(self, key):
        """What a resolved column is called in tables and pictures, in a few words and without its unit."""
        if key in self.parameters:
            return _CALLED.get(key, key.rpartition(".")[2].replace("_", " "))
        name, statistic = self._statistic(key)
        if name not in self.estimates:
            return key
        text = NAMES.get(name, name.replace("_", " ")).strip()
        return text if statistic == "mean" else f"{text}, {statistic}"

    def take(self, rows):
        """The table of some rows, by index."""
        return Table(
            [self.points[r] for r in rows], None if self.files is None else [self.files[r] for r in rows]
        )

    def where(self, conditions):
        """The rows that meet every condition, each a text such as ``layout.redundancy >= 9`` or ``kind in a,b``.

        A point without a value meets ``!=`` and ``= none`` only. Durations may be words ("5 min"). Raises UserError.
        """
        rows = range(len(self))
        for text in conditions:
            met = meets(self, text)
            rows = [row for row in rows if met[row]]
        return self.take(rows)

    def sort(self, keys):
        """The rows in the order of several columns, the first deciding first; ``-name`` from high to low.

        Points without a value come last.
        """
        rows = list(range(len(self)))
        for name in reversed(keys):
            key = self.resolve(name.removeprefix("-"), f"--sort {name}")
            values = [comparable(v) for v in self.column(key)]
            missing = [row for row in rows if values[row] is None]
            rows = [row for row in rows if values[row] is not None]
            if len({isinstance(values[row], str) for row in rows}) > 1:
                values = [str(v) for v in values]
            rows.sort(key=values.__getitem__, reverse=name.startswith("-"))
            rows += missing
        return self.take(rows)

    @cached_property
    def swept(self):
        """Dotted keys of the parameters that take several values, without what only follows from others."""
        keys = [key for key in self.parameters if key not in DERIVED and self._distinct([key]) > 1]
        for key in DERIVED:  # two custom layouts, say, differ in their offsets alone
            if self._distinct([*keys, key]) > self._distinct(keys):
                keys.append(key)
        return keys

    def varying(self, name, what, other=None):
        """The parameter that a name stands for; UserError, naming those that are swept, where it takes one value only.

        ``what`` is the option it was given with, ``other`` a parameter not to be named.
        """
        key = self.resolve(name, what)
        if key in self.parameters and self._distinct([key]) > 1:
            return key
        swept = [k for k in self.swept if k != other]
        have = f"swept: {', '.join(swept)}" if swept else "nothing is swept"
        if key not in self.parameters:
            raise UserError(f"{what} = {name!r}: is not a parameter; {have}")
        raise UserError(f"{what} = {name!r}: takes one value only, {comparable(self.column(key)[0])}; {have}")

    def spanning(self, keys=()):
        """The swept parameters (and files) that, together with ``keys``, tell points apart, but for these.

        One that follows from those before it (the all-reduce time from the groups, say) is not among them.
        """
        found = []
        for key in [*(["file"] if self.files else []), *self.swept]:
            if self._distinct([*keys, *found, key]) > self._distinct([*keys, *found]):
                found.append(key)
        return found

    def _distinct(self, keys):
        """How many combinations of the values of some columns there are."""
        joint = np.zeros(len(self), np.int64)
        for key in keys:
            if key == "file" or key in self._has:
                codes = self._codes(key)
                _, joint = np.unique(joint * (codes.max(initial=0) + 1) + codes, return_inverse=True)
        return int(joint.max(initial=0)) + 1

    @cached_property
    def _has(self):
        return frozenset(self.parameters)

    def _codes(self, key):
        """The values of a column as numbers, equal ones alike, int64[n]."""
        if key not in self._coded:
            seen = {}
            codes = [seen.setdefault(comparable(v), len(seen)) for v in self.column(key)]
            self._coded[key] = np.array(codes, np.int64)
        return self._coded[key]


def of_files(paths):
    """The Table of one or more results files, opened; the ``file`` column is there where there are several."""
    from . import store

    files = [store.view(path) for path in paths]
    points = [point for file in files for point in file.points]
    names = [file.path for file in files for _ in file.points]
    return Table(points, names if len(files) > 1 else None), files
