"""Datasets with named dimensions, units and checksums, in one HDF5 group.

Written with HDF5's own calls: h5py's take three times as long, and small files are nothing but small datasets.
"""

from functools import lru_cache
from itertools import groupby

import h5py
import numpy as np

from .store_columns import encode_text

_CELLS = 1 << 16  # of a chunk at most: 512 kB of int64
_WORTH_PACKING = 2048  # bytes of a chunk from which on compression pays
_SCALAR = h5py.h5s.create(h5py.h5s.SCALAR)


class Table:
    """Datasets of one HDF5 group that share dimensions."""

    def __init__(self, group):
        self._group = group.id
        self._scales = {}

    def dimension(self, name, values, units="1"):
        """Add a dimension with its coordinates, once."""
        if name not in self._scales:
            dataset = self._filled(name, values)
            h5py.h5ds.set_scale(dataset, name.encode())
            _set(dataset, units=units, content="dimension")
            self._scales[name] = dataset

    def add(self, name, values, axes, units="1", **attributes):
        """Add an array along known dimensions."""
        self._describe(self._filled(name, values), axes, units, attributes)

    def sparse(self, name, shape, rows, axes, units="1", **attributes):
        """Add an int64 array of which only parts are not zero; ``rows`` are (row, array) in the order of rows.

        Chunks of nothing but zeros take neither time nor space.
        """
        chunks = _chunks(shape)
        created = self._created(name, shape, np.dtype(np.int64))
        dataset = h5py.Dataset(created)
        if chunks[0] == 1:
            for row, array in rows:
                used = _used(array)
                if used:
                    dataset[(row, *map(slice, (used, *array.shape[1:])))] = array[:used]
        else:
            for chunk, part in groupby(rows, key=lambda entry: entry[0] // chunks[0]):
                first = chunk * chunks[0]
                count = min(chunks[0], shape[0] - first)
                _fill(dataset, first, count, [(row - first, array) for row, array in part])
        self._describe(created, axes, units, attributes)

    def _created(self, name, shape, dtype):
        plan = _plan(_chunks(shape), dtype.itemsize) if np.prod(shape) else None
        return h5py.h5d.create(self._group, name.encode(), _type(dtype), h5py.h5s.create_simple(shape), plan)

    def _filled(self, name, values):
        values = np.ascontiguousarray(values)
        dataset = self._created(name, values.shape, values.dtype)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values, _type(values.dtype))
        if values.dtype.kind == "S":
            _set(dataset, _Encoding="utf-8")  # xarray then shows str, not bytes
        return dataset

    def _describe(self, dataset, axes, units, attributes):
        for position, axis in enumerate(axes):
            h5py.h5ds.attach_scale(dataset, self._scales[axis], position)
        _set(dataset, units=units, **attributes)


def set_attributes(where, **values):
    """Set attributes of a file: text in fixed length, numbers in their numpy type."""
    _set(where.id, **values)


def _set(identifier, **values):
    for key, value in values.items():
        raw = encode_text([value]).reshape(()) if isinstance(value, str) else np.asarray(value)
        kind = _type(raw.dtype)
        h5py.h5a.create(identifier, key.encode(), kind, _SCALAR).write(raw, kind)


def _type(dtype):
    return _text_type(dtype.itemsize) if dtype.kind == "S" else _number_type(dtype.str)


@lru_cache(maxsize=256)
def _text_type(width):
    return h5py.h5t.py_create(h5py.string_dtype("utf-8", width), logical=True)


@lru_cache
def _number_type(name):
    return h5py.h5t.py_create(np.dtype(name))


@lru_cache(maxsize=256)
def _plan(chunks, itemsize):
    """Chunks, checksums always, compression where it pays."""
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_obj_track_times(False)
    plan.set_chunk(chunks)
    if np.prod(chunks, dtype=np.int64) * itemsize >= _WORTH_PACKING:
        plan.set_shuffle()
        plan.set_deflate(1)
    plan.set_fletcher32()
    return plan


def _chunks(shape):
    """Chunks of whole rows where several fit, else parts of one row."""
    per_row = int(np.prod(shape[1:], dtype=np.int64))
    if per_row < _CELLS or len(shape) == 1:
        return (min(shape[0], max(1, _CELLS // per_row)), *shape[1:])
    trailing = int(np.prod(shape[2:], dtype=np.int64))
    return (1, min(shape[1], max(1, _CELLS // trailing)), *shape[2:])


def _used(array):
    """Length along the first axis up to the last entry that is not zero."""
    filled = np.flatnonzero(array)
    return int(filled[-1]) // (array.size // len(array)) + 1 if len(filled) else 0


def _fill(dataset, first, count, rows):
    """Write arrays of several rows in one go."""
    used = max((_used(array) for _, array in rows), default=0)
    if not used:
        return
    block = np.zeros((count, used, *dataset.shape[2:]), np.int64)
    for row, array in rows:
        part = array[:used]
        block[(row, *map(slice, part.shape))] = part
    dataset[first : first + count, :used] = block
