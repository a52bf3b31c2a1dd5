"""Datasets with named dimensions, units and checksums, in one HDF5 group."""

from functools import lru_cache
from itertools import groupby

import h5py
import numpy as np

from .store_columns import encode_text

_CELLS = 1 << 16  # of a chunk at most: 512 kB of int64
_WORTH_PACKING = 2048  # bytes of a chunk from which on compression pays


class Table:
    """Datasets of one HDF5 group that share dimensions."""

    def __init__(self, group):
        self.group = group
        self._scales = {}

    def dimension(self, name, values, units="1"):
        """Add a dimension with its coordinates, once."""
        if name not in self._scales:
            dataset = self._create(name, values)
            dataset.make_scale(name)
            set_attributes(dataset, units=units, content="dimension")
            self._scales[name] = dataset

    def add(self, name, values, axes, units="1", **attributes):
        """Add an array along known dimensions."""
        self._describe(self._create(name, values), axes, units, attributes)

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
        self._describe(dataset, axes, units, attributes)

    def _create(self, name, values):
        values = np.asarray(values)
        options = {}
        if values.size:
            chunks = _chunks(values.shape)
            options = {"chunks": chunks, **_filters(chunks, values.dtype.itemsize)}
        dataset = self.group.create_dataset(name, data=values, **options)
        if values.dtype.kind == "S":
            set_attributes(dataset, _Encoding="utf-8")  # xarray then shows str, not bytes
        return dataset

    def _describe(self, dataset, axes, units, attributes):
        for position, axis in enumerate(axes):
            dataset.dims[position].attach_scale(self._scales[axis])
        set_attributes(dataset, units=units, **attributes)


def set_attributes(where, **values):
    """Set attributes that are not there yet: text in fixed length, numbers in their numpy type.

    By HDF5's own calls, twice as fast as h5py's: attributes are half the cost of a small file.
    """
    for key, value in values.items():
        if isinstance(value, str):
            raw = encode_text([value]).reshape(())
            kind = _text_type(raw.dtype.itemsize)
        else:
            raw = np.asarray(value)
            kind = h5py.h5t.py_create(raw.dtype)
        h5py.h5a.create(where.id, key.encode(), kind, _SCALAR).write(raw)


_SCALAR = h5py.h5s.create(h5py.h5s.SCALAR)


@lru_cache(maxsize=256)
def _text_type(width):
    return h5py.h5t.py_create(h5py.string_dtype("utf-8", width), logical=True)


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
    filled = np.flatnonzero(array)
    return int(filled[-1]) // (array.size // len(array)) + 1 if len(filled) else 0


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
