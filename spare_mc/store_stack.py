"""The points that share an HDF5 group: their parameters and tallies, all of them or some consecutive rows."""

import numpy as np

from . import store_schema as schema
from .store_columns import decode_parameter, decode_text, decode_wide
from .store_open import items, text
from .tallies import Tally, merge_spans


class Stack:
    """Points of one HDF5 group.

    Parameters
    ----------
    name, group : of the HDF5 group
    seed : of the file
    rows : range of the points to read, by their row in the group; None reads all
    """

    def __init__(self, name, group, seed, rows=None):
        self.name = name
        self.group = group
        self.seed = seed
        self.columns = None
        self.datasets = {}  # content -> [(name, dataset, attributes)]
        for key, dataset in items(group):
            attributes = {
                k: dataset.attrs[k] for k in ("content", "kind", "measure", "tally") if k in dataset.attrs
            }
            attributes = {k: text(v) for k, v in attributes.items()}
            self.datasets.setdefault(attributes.get("content"), []).append((key, dataset, attributes))
        self.rows = range(len(group["id"])) if rows is None else rows
        self._part = slice(self.rows.start, self.rows.stop)
        self.ids = decode_text(group["id"][self._part])

    def cells(self):
        """Integers that the counts and rows of a point take, on average."""
        counts = sum(int(np.prod(d.shape[1:])) for _, d, _ in self.datasets.get("counts", ()))
        rows = sum(d.size // max(1, len(self.group["id"])) for _, d, _ in self.datasets.get("rows", ()))
        return counts + rows

    def read(self, points, tallies):
        """Add what the group holds to points (id -> parameters) and tallies (as in Contents)."""
        if points.keys() & set(self.ids):
            raise ValueError("a point is stored twice")
        points.update(self._parameters())
        tallies.update(self.tallies())

    def tallies(self):
        """(id, measure) -> Tally of the points."""
        mine = {
            key: Tally(key[1], self.ids[key[0]], self.seed, merge_spans(found))
            for key, found in self._spans().items()
        }
        lengths = {
            key.removesuffix("_length"): d[self._part] for key, d, _ in self.datasets.get("length", ())
        }
        self._counts(mine, lengths)
        self._sums(mine)
        self._rows(mine, lengths)
        return {(tally.point, tally.measure): tally for tally in mine.values()}

    def _parameters(self):
        found = [{} for _ in self.ids]
        for key, dataset, attributes in self.datasets["parameter"]:
            for parameters, value in zip(
                found, decode_parameter(dataset[self._part], attributes["kind"]), strict=True
            ):
                if value is not None:
                    parameters[key] = value
        return dict(zip(self.ids, found, strict=True))

    def _spans(self):
        """(row among those read, measure) -> spans."""
        group, spans = self.group, {}
        points = group["span_point"][()]
        mine = (points >= self.rows.start) & (points < self.rows.stop)
        measures = decode_text(group["span_measure"][()][mine])
        firsts, stops = (group[f"span_{name}"][()][mine].tolist() for name in ("first", "stop"))
        rows = (points[mine] - self.rows.start).tolist()
        for row, measure, first, stop in zip(rows, measures, firsts, stops, strict=True):
            spans.setdefault((row, measure), []).append((first, stop))
        return spans

    def _counts(self, mine, lengths):
        for key, dataset, attributes in self.datasets.get("counts", ()):
            measure, name = attributes["measure"], attributes["tally"]
            values = dataset[self._part]
            if len(values) != len(self.ids) or values.dtype != np.int64:
                raise ValueError(f"{self.name}/{key} has shape {values.shape} and type {values.dtype}")
            axes = schema.axes_of(measure, name, values.ndim - 1)
            for (row, held), tally in mine.items():
                if held == measure:
                    tally.counts[name] = values[(row, *(slice(int(lengths[axis][row])) for axis in axes))]
            if name == "endurable_failures":
                self._check(key, values, measure, mine)

    def _check(self, key, values, measure, mine):
        """Every trial counted ends somewhere: the histogram of its end must add up to the spans."""
        counted = values.sum(axis=1)
        expected = np.zeros(len(self.ids), np.int64)
        for (row, held), tally in mine.items():
            if held == measure:
                expected[row] = tally.total
        if (values < 0).any() or (counted != expected).any():
            row = int(np.flatnonzero(counted != expected)[0]) if (counted != expected).any() else 0
            raise ValueError(
                f"{self.name}/{key}, row {self.rows.start + row}: {counted[row]} trials counted, "
                f"{expected[row]} in the spans"
            )

    def _sums(self, mine):
        for _, dataset, attributes in self.datasets.get("sums", ()):
            measure, values = attributes["measure"], dataset[self._part]
            names = decode_text(self.group[f"{measure}_sum"][()])
            wide = decode_wide(values.reshape(-1, values.shape[-1]))
            for (row, held), tally in mine.items():
                if held == measure:
                    own = wide[row * len(names) : (row + 1) * len(names)]
                    tally.sums = dict(zip(names, own, strict=True))

    def _rows(self, mine, lengths):
        for key, dataset, attributes in self.datasets.get("rows", ()):
            measure = attributes["measure"]
            names = decode_text(self.group[f"{measure}_column"][()])
            places = schema.Places(names)
            self.columns = places.columns
            owners = self.group[f"{measure}_row_point"][()]  # rows lie in the order of points
            starts = np.searchsorted(owners, np.arange(self.rows.start, self.rows.stop + 1))
            part = slice(int(starts[0]), int(starts[-1]))
            values, runs = dataset[part], self.group[f"{measure}_row_run"][part]
            starts = starts - starts[0]
            for (row, held), tally in mine.items():
                if held != measure:
                    continue
                own = slice(starts[row], starts[row + 1])
                tally.rows = places.of(values[own, : int(lengths[f"{measure}_column"][row])])
                expected = [np.arange(first, stop, dtype=np.uint64) for first, stop in tally.spans]
                if not np.array_equal(runs[own], np.concatenate(expected)):
                    raise ValueError(
                        f"{self.name}/{key}, point {self.rows.start + row}: its runs are not those in the spans"
                    )
