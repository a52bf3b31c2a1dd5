"""Contents -> the bytes of an HDF5 file.

The file is built in memory and handed over as bytes: a full disk is then an ordinary error of one write, where inside
HDF5 it would leave a half-written file that can be neither closed nor removed.
"""

from itertools import groupby

import h5py
import numpy as np

from . import store_schema as schema
from .estimates import UNITS
from .store_columns import encode_parameter, encode_text, encode_wide

_CELLS = 1 << 16  # of a chunk at most: 512 kB of int64
_WORTH_PACKING = 2048  # bytes of a chunk from which on compression pays


def image_of(contents, results):
    """The bytes of a results file.

    Parameters
    ----------
    contents : Contents
    results : PointResult of every point in order; their estimates are stored, intervals of long curves are not
    """
    # v110 gives every piece of metadata a checksum, and is read by every HDF5 since 2018.
    with h5py.File("image", "w", driver="core", backing_store=False, libver=("v110", "v110")) as file:
        _root(file, contents)
        placed = schema.stacks([r.parameters["cluster.groups"] for r in results])
        _summary(file.create_group("summary", track_order=True), results, placed)
        for name, indices in placed.items():
            _Stack(file.create_group(name, track_order=True), [results[i] for i in indices], contents).write(
                indices
            )
        file.flush()
        return file.id.get_file_image()


def _root(file, contents):
    version = "{}.{}".format(*schema.SCHEMA_VERSION)
    _attributes(file, file_type=schema.FILE_TYPE, schema_version=version)
    for key in ("package_version", "created", "updated", "host", "generator"):
        _attributes(file, **{key: getattr(contents, key)})
    _attributes(
        file,
        generator_version=np.int64(contents.generator_version),
        seed=np.uint64(contents.seed),
        common_random_numbers=np.uint8(contents.common_random_numbers),
        confidence=np.float64(contents.confidence),
        measures=",".join(contents.measures),
        study_name=contents.name,
        study=contents.text,
    )


def _attributes(where, **values):
    for key, value in values.items():
        if isinstance(value, str):  # fixed length, for the reason in store_columns.encode_text
            raw = encode_text([value])
            where.attrs.create(key, raw[0], dtype=raw.dtype)
        else:
            where.attrs[key] = value


class _Table:
    """Datasets of one HDF5 group, with named dimensions."""

    def __init__(self, group):
        self.group = group
        self.scales = {}

    def dimension(self, name, values, units="1"):
        """Add a dimension with its coordinates, once."""
        if name not in self.scales:
            dataset = self._create(name, values, ("",))
            dataset.make_scale(name)
            _attributes(dataset, units=units, content="dimension")
            self.scales[name] = dataset

    def add(self, name, values, axes, units="1", **attributes):
        """Add an array along known dimensions."""
        dataset = self._create(name, values, axes)
        return self._describe(dataset, axes, units, attributes)

    def sparse(self, name, shape, rows, axes, units="1", **attributes):
        """Add an int64 array of which only parts are not zero; ``rows`` are (row, array) in the order of rows.

        Chunks of nothing but zeros take neither time nor space.
        """
        chunks = _chunks(shape)
        dataset = self.group.create_dataset(name, shape, np.int64, chunks=chunks, **_filters(chunks, 8))
        if chunks[0] == 1:
            for row, array in rows:
                used = _used(array)
                if used:
                    dataset[(row, *map(slice, (used, *array.shape[1:])))] = array[:used]
        else:
            for chunk, part in groupby(rows, key=lambda entry: entry[0] // chunks[0]):
                first = chunk * chunks[0]
                _fill(dataset, first, [(row - first, array) for row, array in part])
        return self._describe(dataset, axes, units, attributes)

    def _create(self, name, values, axes):
        values = np.asarray(values)
        options = {}
        if values.size:
            chunks = _chunks(values.shape)
            options = {"chunks": chunks, **_filters(chunks, values.dtype.itemsize)}
        dataset = self.group.create_dataset(name, data=values, **options)
        if values.dtype.kind == "S":
            _attributes(dataset, _Encoding="utf-8")  # xarray then shows str, not bytes
        return dataset

    def _describe(self, dataset, axes, units, attributes):
        for position, axis in enumerate(axes):
            dataset.dims[position].attach_scale(self.scales[axis])
        _attributes(dataset, units=units, **attributes)
        return dataset


def _chunks(shape):
    """Chunks of whole rows where several fit, else parts of one row."""
    per_row = int(np.prod(shape[1:], dtype=np.int64))
    if per_row < _CELLS or len(shape) == 1:
        return (min(shape[0], max(1, _CELLS // per_row)), *shape[1:])
    trailing = int(np.prod(shape[2:], dtype=np.int64))
    return (1, min(shape[1], max(1, _CELLS // trailing)), *shape[2:])


def _filters(chunks, itemsize):
    """Checksums always, compression where it pays."""
    packed = np.prod(chunks, dtype=np.int64) * itemsize >= _WORTH_PACKING
    pack = {"compression": "gzip", "compression_opts": 1, "shuffle": True} if packed else {}
    return {"fletcher32": True, **pack}


def _used(array):
    """Length along the first axis up to the last entry that is not zero."""
    filled = np.flatnonzero(array.reshape(len(array), -1).any(axis=1)) if array.size else ()
    return int(filled[-1]) + 1 if len(filled) else 0


def _fill(dataset, first, rows):
    """Write arrays of several rows in one go."""
    used = max((_used(array) for _, array in rows), default=0)
    if not used:
        return
    count = min(dataset.chunks[0], dataset.shape[0] - first)
    block = np.zeros((count, used, *dataset.shape[2:]), np.int64)
    for row, array in rows:
        part = array[:used]
        block[(row, *map(slice, part.shape))] = part
    dataset[first : first + count, :used] = block


def _parameters(table, results):
    """Columns of the parameters of all points."""
    for key in dict.fromkeys(key for r in results for key in r.parameters):
        values, kind, fill = encode_parameter([r.parameters.get(key) for r in results])
        attributes = {} if fill is None else {"_FillValue": fill}
        table.add(
            key, values, ("point",), schema.parameter_unit(key), content="parameter", kind=kind, **attributes
        )


def _estimates(results):
    """Estimate name -> float64[point, statistic], NaN where a point has none."""
    found = {}
    for row, result in enumerate(results):
        for name, estimate in result.estimates.items():
            values = found.setdefault(name, np.full((len(results), len(schema.STATISTICS)), np.nan))
            given = (getattr(estimate, statistic) for statistic in schema.STATISTICS)
            values[row] = [np.nan if value is None else value for value in given]
    return found


def _totals(table, results):
    for name, unit in (("trials", "trials"), ("runs", "runs")):
        values = np.array([getattr(r, name) for r in results], np.int64)
        table.add(name, values, ("point",), unit, content="total")


def _summary(group, results, placed):
    """The flat table: one row a point, one column a quantity."""
    table = _Table(group)
    table.dimension("point", np.arange(len(results)))
    table.add("id", encode_text([r.id for r in results]), ("point",), content="label")
    homes, rows = [None] * len(results), np.zeros(len(results), np.int64)
    for name, indices in placed.items():
        for row, index in enumerate(indices):
            homes[index], rows[index] = name, row
    table.add("stored_in", encode_text(homes), ("point",), content="label")
    table.add("stored_row", rows, ("point",), content="label")
    _totals(table, results)
    _parameters(table, results)
    for name, values in _estimates(results).items():
        for column, statistic in enumerate(schema.STATISTICS):
            label = name if statistic == "mean" else f"{name}_{statistic}"
            table.add(label, values[:, column], ("point",), UNITS.get(name, "1"), content="estimate")


class _Stack:
    """The points of one HDF5 group, stacked in arrays with a ``point`` dimension."""

    def __init__(self, group, results, contents):
        self.table = _Table(group)
        self.results = results
        self.contents = contents
        self.tallies = [  # (row, tally) by measure
            (row, r.tallies[m]) for m in contents.measures for row, r in enumerate(results) if m in r.tallies
        ]

    def write(self, indices):
        table = self.table
        table.dimension("point", np.arange(len(self.results)))
        table.add("id", encode_text([r.id for r in self.results]), ("point",), content="label")
        table.add("summary_row", np.array(indices, np.int64), ("point",), content="label")
        _totals(table, self.results)
        _parameters(table, self.results)
        self._spans()
        self._counts()
        self._sums()
        for measure in self.contents.measures:
            self._rows(measure)
        self._estimates()

    def _spans(self):
        spans = [(row, t.measure, first, stop) for row, t in self.tallies for first, stop in t.spans]
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
        arrays = {}  # (measure, name) -> [(row, array)]
        lengths = {}  # axis -> entries of each point along it
        for row, tally in self.tallies:
            for name, array in tally.counts.items():
                arrays.setdefault((tally.measure, name), []).append((row, array))
                for axis, size in zip(
                    schema.axes_of(tally.measure, name, array.ndim), array.shape, strict=True
                ):
                    column = lengths.setdefault(axis, np.zeros(len(self.results), np.int64))
                    if column[row] not in (0, size):
                        raise ValueError(
                            f"{tally.measure} {name}: {size} entries along {axis}, not {column[row]}"
                        )
                    column[row] = size
        for axis, column in lengths.items():
            first = schema.AXIS_FIRST.get(axis, 0)
            values = encode_text(schema.PHASES) if axis == "phase" else np.arange(column.max()) + first
            self.table.dimension(axis, values, schema.AXIS_UNITS.get(axis, "1"))
            self.table.add(f"{axis}_length", column, ("point",), content="length")
        for (measure, name), rows in arrays.items():
            axes = schema.axes_of(measure, name, rows[0][1].ndim)
            shape = (len(self.results), *(int(lengths[axis].max()) for axis in axes))
            self.table.sparse(
                f"{measure}_{name}",
                shape,
                rows,
                ("point", *axes),
                schema.COUNT_UNITS.get(name, "1"),
                content="counts",
                measure=measure,
                tally=name,
            )

    def _sums(self):
        sums = {}
        for row, tally in self.tallies:
            for name, value in tally.sums.items():
                sums.setdefault((tally.measure, name), [0] * len(self.results))[row] = int(value)
        if not sums:
            return
        wide = encode_wide([value for values in sums.values() for value in values])
        self.table.dimension("word", np.arange(wide.shape[1])[::-1])
        for ((measure, name), values), at in zip(
            sums.items(), range(0, len(wide), len(self.results)), strict=True
        ):
            self.table.add(
                f"{measure}_sum_{name}",
                wide[at : at + len(values)],
                ("point", "word"),
                schema.sum_unit(name),
                content="sum",
                measure=measure,
                tally=name,
            )

    def _rows(self, measure):
        tallies = [(row, t) for row, t in self.tallies if t.measure == measure and t.rows is not None]
        if not tallies:
            return
        names, units = self.contents.columns[measure]
        rows = np.concatenate([t.rows for _, t in tallies]).astype(np.int64)
        points = np.repeat([row for row, _ in tallies], [len(t.rows) for _, t in tallies])
        runs = [np.arange(a, b, dtype=np.uint64) for _, t in tallies for a, b in t.spans]
        table, row, column = self.table, f"{measure}_row", f"{measure}_column"
        table.dimension(row, np.arange(len(rows)))
        table.dimension(column, encode_text(names))
        table.add(f"{column}_units", encode_text(units), (column,), content="label")
        table.add(f"{row}_point", points.astype(np.int64), (row,), content="row")
        table.add(f"{measure}_run", np.concatenate(runs), (row,), content="row")
        table.add(f"{measure}_rows", rows, (row, column), "per column", content="rows", measure=measure)

    def _estimates(self):
        self.table.dimension("statistic", encode_text(schema.STATISTICS))
        for name, values in _estimates(self.results).items():
            self.table.add(
                f"estimate_{name}", values, ("point", "statistic"), UNITS.get(name, "1"), content="estimate"
            )
