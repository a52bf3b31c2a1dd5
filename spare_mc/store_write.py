"""Contents -> the bytes of an HDF5 file.

The file is built in memory and handed over as bytes: a full disk is then an ordinary error of one write, where inside
HDF5 it would leave a half-written file that can be neither closed nor removed.
"""

import h5py
import numpy as np

from . import store_schema as schema
from .estimates import UNITS
from .store_columns import encode_parameter, encode_text, encode_wide
from .store_table import Table, set_attributes


def image_of(contents, results):
    """The bytes of a results file.

    Parameters
    ----------
    contents : Contents
    results : PointResult of every point in order; their estimates are stored, intervals of long curves are not
    """
    estimates = _estimates(results)
    # v110 gives every piece of metadata a checksum, and is read by every HDF5 since 2018.
    with h5py.File("image", "w", driver="core", backing_store=False, libver=("v110", "v110")) as file:
        _root(file, contents)
        placed = schema.stacks([r.parameters["cluster.groups"] for r in results])
        _summary(file.create_group("summary", track_order=True), results, placed, estimates)
        for name, indices in placed.items():
            group = file.create_group(name, track_order=True)
            mine = {n: values[indices] for n, values in estimates.items()}
            _Stack(group, [results[i] for i in indices], contents).write(indices, mine)
        file.flush()
        return file.id.get_file_image()


def _root(file, contents):
    texts = ("package_version", "created", "updated", "host", "generator", "publication")
    set_attributes(
        file,
        file_type=schema.FILE_TYPE,
        schema_version="{}.{}".format(*schema.SCHEMA_VERSION),
        **{key: getattr(contents, key) for key in texts},
        generator_version=np.int64(contents.generator_version),
        seed=np.uint64(contents.seed),
        common_random_numbers=np.uint8(contents.common_random_numbers),
        confidence=np.float64(contents.confidence),
        measures=",".join(contents.measures),
        shares=",".join(f"{at}/{of}" for at, of in contents.shares),
        study_name=contents.name,
        study=contents.text,
    )


def _estimates(results):
    """Estimate name -> float64[point, statistic], NaN where a point has none."""
    found = {}
    for row, result in enumerate(results):
        for name, estimate in result.estimates.items():
            if name not in found:
                found[name] = np.full((len(results), len(schema.STATISTICS)), np.nan)
            found[name][row] = tuple(estimate)  # None becomes NaN
    return found


def _parameters(table, results):
    """Columns of the parameters of all points."""
    for key in dict.fromkeys(key for r in results for key in r.parameters):
        values, kind, fill = encode_parameter([r.parameters.get(key) for r in results])
        extra = {} if fill is None else {"_FillValue": fill}
        table.add(
            key, values, ("point",), schema.parameter_unit(key), content="parameter", kind=kind, **extra
        )


def _totals(table, results):
    for name, unit in (("trials", "trials"), ("runs", "runs")):
        values = np.array([getattr(r, name) for r in results], np.int64)
        table.add(name, values, ("point",), unit, content="total")


def _summary(group, results, placed, estimates):
    """The flat table: one row a point, one column a quantity."""
    table = Table(group)
    table.dimension("point", np.arange(len(results)))
    table.add("id", encode_text([r.id for r in results]), ("point",), content="label")
    homes, rows = [None] * len(results), np.zeros(len(results), np.int64)
    for name, indices in placed.items():
        for row, index in enumerate(indices):
            homes[index], rows[index] = name, row
    table.add("stored_in", encode_text(homes), ("point",), content="label")
    table.add("stored_row", rows, ("point",), content="label")
    _totals(table, results)
    table.add("stopped", encode_text([r.stopped for r in results]), ("point",), content="label")
    _parameters(table, results)
    for name, values in estimates.items():
        for column, statistic in enumerate(schema.STATISTICS):
            label = name if statistic == "mean" else f"{name}_{statistic}"
            table.add(label, values[:, column], ("point",), UNITS.get(name, "1"), content="estimate")


class _Stack:
    """The points of one HDF5 group, stacked in arrays with a ``point`` dimension."""

    def __init__(self, group, results, contents):
        self.table = Table(group)
        self.results = results
        self.contents = contents
        self.tallies = {  # measure -> [(row, tally)]
            m: [(row, r.tallies[m]) for row, r in enumerate(results) if m in r.tallies]
            for m in contents.measures
        }

    def write(self, indices, estimates):
        table = self.table
        table.dimension("point", np.arange(len(self.results)))
        table.add("id", encode_text([r.id for r in self.results]), ("point",), content="label")
        table.add("summary_row", np.array(indices, np.int64), ("point",), content="label")
        _totals(table, self.results)
        _parameters(table, self.results)
        self._spans()
        self._counts()
        for measure, tallies in self.tallies.items():
            self._sums(measure, tallies)
            self._rows(measure, [(row, t) for row, t in tallies if t.rows is not None])
        table.dimension("statistic", encode_text(schema.STATISTICS))
        for name, values in estimates.items():
            if not np.isnan(values).all():
                axes, unit = ("point", "statistic"), UNITS.get(name, "1")
                table.add(f"estimate_{name}", values, axes, unit, content="estimate")

    def _spans(self):
        spans = [
            (row, measure, *span)
            for measure, tallies in self.tallies.items()
            for row, tally in tallies
            for span in tally.spans
        ]
        rows, measures, firsts, stops = zip(*spans, strict=True) if spans else ((), (), (), ())
        self.table.dimension("span", np.arange(len(spans)))
        for name, values, units in (
            ("span_point", np.array(rows, np.int64), "1"),
            ("span_measure", encode_text(measures), "1"),
            ("span_first", np.array(firsts, np.uint64), "trials"),
            ("span_stop", np.array(stops, np.uint64), "trials"),
        ):
            self.table.add(name, values, ("span",), units, content="span")

    def _counts(self):
        arrays = {  # (measure, name) -> [(row, array)]
            (measure, name): [(row, t.counts[name]) for row, t in tallies if name in t.counts]
            for measure, tallies in self.tallies.items()
            for name in dict.fromkeys(name for _, t in tallies for name in t.counts)
        }
        lengths = self._lengths(arrays)
        for axis, column in lengths.items():
            first = schema.AXIS_FIRST.get(axis, 0)
            values = encode_text(schema.PHASES) if axis == "phase" else np.arange(column.max()) + first
            self.table.dimension(axis, values, schema.AXIS_UNITS.get(axis, "1"))
            self.table.add(f"{axis}_length", column, ("point",), content="length")
        for (measure, name), rows in arrays.items():
            axes = schema.axes_of(measure, name, rows[0][1].ndim)
            self.table.sparse(
                f"{measure}_{name}",
                (len(self.results), *(int(lengths[axis].max()) for axis in axes)),
                rows,
                ("point", *axes),
                schema.COUNT_UNITS.get(name, "1"),
                content="counts",
                measure=measure,
                tally=name,
            )

    def _lengths(self, arrays):
        """Axis -> entries that each point has along it, int64[point]; 0 where a point has nothing counted."""
        lengths = {}
        for (measure, name), rows in arrays.items():
            axes = schema.axes_of(measure, name, rows[0][1].ndim)
            for row, array in rows:
                for axis, size in zip(axes, array.shape, strict=True):
                    column = lengths.setdefault(axis, [0] * len(self.results))
                    if column[row] not in (0, size):
                        raise ValueError(f"{measure} {name}: {size} entries along {axis}, not {column[row]}")
                    column[row] = size
        return {axis: np.array(column, np.int64) for axis, column in lengths.items()}

    def _sums(self, measure, tallies):
        names = list(dict.fromkeys(name for _, t in tallies for name in t.sums))
        if not names:
            return
        values = [[0] * len(names) for _ in self.results]
        for row, tally in tallies:
            values[row] = [int(tally.sums.get(name, 0)) for name in names]
        wide = encode_wide([value for row in values for value in row])
        table, axis, word = self.table, f"{measure}_sum", f"{measure}_word"
        table.dimension(axis, encode_text(names))
        table.dimension(word, np.arange(wide.shape[1])[::-1])
        table.add(f"{axis}_units", encode_text(map(schema.sum_unit, names)), (axis,), content="label")
        table.add(
            f"{measure}_sums",
            wide.reshape(len(values), len(names), -1),
            ("point", axis, word),
            f"see {axis}_units",
            content="sums",
            measure=measure,
        )

    def _rows(self, measure, tallies):
        if not tallies:
            return
        table, row, column = self.table, f"{measure}_row", f"{measure}_column"
        widths = np.zeros(len(self.results), np.int64)
        rows = np.zeros(
            (sum(len(t.rows) for _, t in tallies), max(t.rows.shape[1] for _, t in tallies)), np.int64
        )
        at = 0
        for point, tally in tallies:
            count, widths[point] = tally.rows.shape
            rows[at : at + count, : widths[point]] = tally.rows
            at += count
        points = np.repeat([point for point, _ in tallies], [len(t.rows) for _, t in tallies])
        runs = [np.arange(a, b, dtype=np.uint64) for _, t in tallies for a, b in t.spans]
        names, units = (part[: rows.shape[1]] for part in self.contents.columns)
        table.dimension(row, np.arange(len(rows)))
        table.dimension(column, encode_text(names))
        table.add(f"{column}_length", widths, ("point",), content="length")
        table.add(f"{column}_units", encode_text(units), (column,), content="label")
        table.add(f"{row}_point", points.astype(np.int64), (row,), content="row")
        table.add(f"{row}_run", np.concatenate(runs), (row,), "runs", content="row")
        units = f"see {column}_units"
        table.add(f"{measure}_rows", rows, (row, column), units, content="rows", measure=measure)
