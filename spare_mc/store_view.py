"""A results file in the hand: its points, whose tallies are read when asked for, and its flat table."""

import weakref
from dataclasses import dataclass, field
from functools import cached_property

from .errors import UserError
from .intervals import Estimate
from .results import PointResult
from .store_contents import copy_of
from .store_open import reading
from .store_schema import STATISTICS
from .store_stack import Stack
from .tallies import MEASURES

_CELLS = 1 << 21  # integers read at a time: 16 MB


class Summary(dict):
    """The flat table of a results file: column name -> list, one entry a point, None where there is no value.

    Attributes
    ----------
    contents : column -> label, total, parameter or estimate
    units : column -> unit, "1" for pure numbers and text
    """

    def __init__(self, *values):
        super().__init__(*values)
        self.contents = {}
        self.units = {}

    @property
    def estimates(self):
        """Names of the estimates; each has columns ``name``, ``name_low``, ``name_high``, ``name_std``."""
        held = {name for name, content in self.contents.items() if content == "estimate"}
        return [n for n in self if n in held and all(f"{n}_{s}" in held for s in STATISTICS[1:])]

    def to_dataframe(self):
        """The table as a pandas DataFrame, a row a point; ``.attrs["units"]`` is column -> unit.

        Raises UserError where pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise UserError(
                "a data frame needs pandas, which is not installed: pip install 'spare-mc[xarray]'"
            ) from None
        frame = pandas.DataFrame(dict(self))
        frame.attrs["units"] = dict(self.units)
        return frame


@dataclass
class File:
    """A results file, read (``store.read``) or open (``spare_mc.open``, ``store.view``).

    Attributes
    ----------
    path : as given
    attributes : dict of the root attributes (docs/store.md)
    study_text : the study, verbatim
    points : list of PointResult in the study's order
    summary : the flat table, a Summary
    """

    path: str
    attributes: dict
    study_text: str
    points: list[PointResult]
    summary: Summary = field(default_factory=Summary, repr=False)

    def to_dataframe(self):
        """The flat table as a pandas DataFrame (docs/reading.md); UserError where pandas is not installed."""
        return self.summary.to_dataframe()

    def to_xarray(self, curves=True):
        """Everything but the raw tallies as a labelled xarray.Dataset (docs/reading.md).

        Parameters
        ----------
        curves : whether to include the curves over failures, which need the tallies of every point

        Returns
        -------
        xarray.Dataset: dimensions named by the swept parameters where the points form a full grid, else ``point``;
        estimates along ``statistic`` (mean, low, high, std), curves along ``failures``; ``units`` and ``long_name``.

        Raises UserError where xarray is not installed.
        """
        from .labelled import dataset_of

        return dataset_of(self, curves)


class StoredPoint(PointResult):
    """A PointResult whose tallies are read from the file each time they are asked for, and checked.

    ``estimates``, ``trials``, ``runs`` and ``stopped`` are those stored.
    """

    def __init__(self, loader, row):
        self._loader, self._row = loader, row
        self.id = loader.table["id"][row]
        self.parameters = {
            key: value for key, values in loader.parameters.items() if (value := values[row]) is not None
        }
        self.seed, self.confidence = loader.attributes["seed"], loader.attributes["confidence"]

    @property
    def tallies(self):
        return self._loader.tallies(self._row)

    @property
    def trials(self):
        return self._loader.table["trials"][self._row]

    @property
    def runs(self):
        return self._loader.table["runs"][self._row]

    @property
    def stopped(self):
        return self._loader.table.get("stopped", {self._row: ""})[self._row]  # files of schema 1.0 do not say

    @cached_property
    def estimates(self):
        found = {}
        for name, columns in self._loader.estimates.items():
            mean, low, high, std = (column[self._row] for column in columns)
            if mean is not None:
                found[name] = Estimate(mean, low, high, std)
        return found

    def __reduce__(self):  # a copy elsewhere has no file: it carries what it is made of
        return PointResult, (
            self.id,
            self.parameters,
            self.seed,
            self.tallies,
            self.confidence,
            self.stopped,
        )


def points_of(handle, path, attributes, table):
    """A StoredPoint for every row of the summary of an open file, which stays open as long as any of them."""
    loader = _Loader(handle, path, attributes, table)
    return [StoredPoint(loader, row) for row in range(len(table["id"]))]


class _Loader:
    """Reads tallies from an open results file, some consecutive points at a time, and keeps the last of them."""

    def __init__(self, handle, path, attributes, table):
        self.attributes = attributes
        self.table = table
        self.parameters = {n: table[n] for n, content in table.contents.items() if content == "parameter"}
        self.estimates = {
            n: [table[n], *(table[f"{n}_{s}"] for s in STATISTICS[1:])] for n in table.estimates
        }
        homes = zip(table["stored_in"], table["stored_row"], strict=True)
        self._places = dict(zip(homes, table["id"], strict=True))  # (HDF5 group, row of it) -> id
        self._handle, self._path = handle, path
        self._held = (None, range(0), {})  # HDF5 group, rows of it, (id, measure) -> Tally
        weakref.finalize(self, handle.close)

    def tallies(self, row):
        """Measure -> Tally of a point."""
        name, at = self.table["stored_in"][row], self.table["stored_row"][row]
        held_name, held_rows, held = self._held
        if name != held_name or at not in held_rows:
            held = self._load(name, at)
        identity = self.table["id"][row]
        return {m: copy_of(t) for m in MEASURES if (t := held.get((identity, m))) is not None}

    def _load(self, name, at):
        with reading(self._handle, self._path) as file:
            group = file[name]
            whole = Stack(name, group, self.attributes["seed"], range(0))
            count = max(1, _CELLS // max(1, whole.cells()))
            first = at - at % count
            rows = range(first, min(first + count, len(group["id"])))
            stack = Stack(name, group, self.attributes["seed"], rows)
            if stack.ids != [self._places.get((name, row)) for row in rows]:
                raise ValueError(f"{name}: its points are not those of the summary")
            held = stack.tallies()
        self._held = (name, rows, held)
        return held
