"""A results file as a labelled xarray.Dataset: what is swept becomes dimensions. Documented in docs/reading.md."""

import numpy as np

from .conditions import comparable
from .errors import UserError
from .estimates import CURVE_DESCRIPTIONS, CURVE_UNITS, curves_of
from .selection import Table
from .store_columns import encode_parameter
from .store_schema import STATISTICS, parameter_unit

# Names that mean two things: an estimate of training runs, and a dimension or a curve of failure patterns.
_RENAMED_ESTIMATES = {"failures": "failures_found"}
_RENAMED_CURVES = {"moves": "moves_at_failure"}


def dataset_of(file, curves=True):
    """The Dataset of ``File.to_xarray``.

    file : store.File; curves : whether to read tallies for the curves over failures
    """
    try:
        import xarray
    except ImportError:
        raise UserError(
            "labelled arrays need xarray, which is not installed: pip install 'spare-mc[xarray]'"
        ) from None
    table = Table(file.points)
    grid = Grid(table)
    variables = _estimates(table, grid) | _totals(table, grid)
    if curves:
        variables |= _curves(table, grid)
    found = xarray.Dataset(variables, grid.coordinates(table), _attributes(file, table))
    return found.assign_coords(_own(found))


def _attributes(file, table):
    """Attributes of the file, and the parameters that all points share."""
    found = {
        key: int(value) if isinstance(value, bool) else value
        for key, value in file.attributes.items()
        if key != "study"
    }
    shared = (key for key in table.parameters if len({comparable(v) for v in table.column(key)}) == 1)
    shared = {key: table.points[0].parameters[key] for key in shared}
    plain = {k: int(v) if isinstance(v, bool) else comparable(v) for k, v in shared.items()}
    return found | {"study": file.study_text} | plain


class Grid:
    """How points lie on the dimensions of their parameters.

    Attributes
    ----------
    axes : parameters that are dimensions, [] where the points form no full grid
    values : axis -> its values, numbers in order, others as they come
    names : parameter -> name of its dimension or coordinate: the key's last word where no other has it
    shape : of an array with an entry a point; ``dims`` names its dimensions
    """

    def __init__(self, table):
        self.names = _names(table)
        self.axes = _axes(table)
        self.values = {key: _levels(table.column(key)) for key in self.axes}
        self.dims = tuple(self.names[key] for key in self.axes) or ("point",)
        self.shape = tuple(len(v) for v in self.values.values()) or (len(table),)
        if self.axes:
            places = [{v: i for i, v in enumerate(values)} for values in self.values.values()]
            rows = zip(*(map(comparable, table.column(key)) for key in self.axes), strict=True)
            index = [tuple(p[v] for p, v in zip(places, row, strict=True)) for row in rows]
            self._where = tuple(np.array(index, np.int64).T)
        else:
            self._where = (np.arange(len(table)),)

    def array(self, values, trailing=()):
        """Values, one a point, put where the points lie; ``trailing`` dimensions follow."""
        values = np.asarray(values)
        found = np.empty((*self.shape, *trailing), values.dtype)
        found[self._where] = values
        return found

    def coordinates(self, table):
        """Swept parameters: dimensions with their values, others along those that they follow."""
        found = {}
        for key in table.parameters:
            column = table.column(key)
            if key in self.axes:
                values = encode_parameter(self.values[key])[0]
                found[self.names[key]] = (self.names[key], _decoded(values), _described(key))
            elif len({comparable(v) for v in column}) > 1:
                values = self.array(_decoded(encode_parameter(column)[0]))
                found[self.names[key]] = (*self._along(values), _described(key))
        return found

    def _along(self, values):
        """Dimensions that an array follows, and the array without those along which it does not change."""
        dims = list(self.dims)
        for at in reversed(range(len(dims))):
            first = values.take([0], axis=at)
            if len(dims) > 1 and (values == first).all():
                values = first.squeeze(axis=at)
                dims.pop(at)
        return tuple(dims), values


def _own(found):
    """Coordinates of the dimensions that are no parameters."""
    own = {}
    if "statistic" in found.dims:
        own["statistic"] = ("statistic", np.array(STATISTICS, object), {"units": "1"})
    if "failures" in found.dims:
        ks = np.arange(found.sizes["failures"])
        own["failures"] = ("failures", ks, {"units": "failures", "long_name": "failures so far, k"})
    return own


def _described(key):
    return {
        "units": parameter_unit(key),
        "long_name": key.rpartition(".")[2].replace("_", " "),
        "parameter": key,
    }


def _decoded(array):
    """Text as Python strings."""
    if array.dtype.kind == "S":
        return np.array([value.decode() for value in array.tolist()], object)
    return array


def _names(table):
    """Parameter -> its last word, or all of it where another parameter or variable has that word."""
    words = [key.rpartition(".")[2] for key in table.parameters]
    taken = {*table.estimates, *_RENAMED_ESTIMATES.values(), *CURVE_UNITS, *_RENAMED_CURVES.values()}
    taken |= {"point", "statistic", "failures", "id", "trials", "runs", "stopped"}
    return {
        key: word if words.count(word) == 1 and word not in taken else key
        for key, word in zip(table.parameters, words, strict=True)
    }


def _levels(column):
    """Distinct values: numbers in order, others as they come."""
    values = list(dict.fromkeys(map(comparable, column)))
    return sorted(values) if all(isinstance(v, (int, float)) for v in values) else values


def _axes(table):
    """The parameters that span the points as a full grid; [] where they do not, or nothing is swept."""
    axes = table.spanning()
    columns = [list(map(comparable, table.column(key))) for key in axes]
    full = int(np.prod([len(set(column)) for column in columns], dtype=np.int64))
    gaps = any(None in column for column in columns)
    return axes if full == len(table) == len(set(zip(*columns, strict=True))) and not gaps else []


def _estimates(table, grid):
    found = {}
    for name in table.estimates:
        values = np.full((len(table), len(STATISTICS)), np.nan)
        for row, point in enumerate(table.points):
            if name in point.estimates:
                values[row] = tuple(point.estimates[name])  # None becomes NaN
        attributes = {"units": table.unit(name), "long_name": table.described(name), "estimate": name}
        dims = (*grid.dims, "statistic")
        found[_RENAMED_ESTIMATES.get(name, name)] = (dims, grid.array(values, (len(STATISTICS),)), attributes)
    return found


def _totals(table, grid):
    found = {}
    for name in ("trials", "runs"):
        values = np.array(table.column(name), np.int64)
        found[name] = (grid.dims, grid.array(values), {"units": name, "long_name": table.described(name)})
    for name in ("id", "stopped"):
        if name in table.labels:
            values = np.array([value or "" for value in table.column(name)], object)
            found[name] = (grid.dims, grid.array(values), {"units": "1"})
    return found


def _curves(table, grid):
    """Curves over failures, NaN beyond a point's own N; each point's tallies are let go before the next."""
    length = 1 + max(point.parameters["cluster.groups"] for point in table.points)
    arrays = {}
    for row, point in enumerate(table.points):
        for name, values in curves_of(point).items():
            if name not in arrays:
                arrays[name] = np.full((len(table), length), np.nan)
            arrays[name][row, : len(values)] = values
    found = {}
    for name, values in arrays.items():
        attributes = {"units": CURVE_UNITS.get(name, "1"), "long_name": CURVE_DESCRIPTIONS.get(name, name)}
        dims = (*grid.dims, "failures")
        found[_RENAMED_CURVES.get(name, name)] = (dims, grid.array(values, (length,)), attributes)
    return found
