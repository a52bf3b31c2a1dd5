"""Values as HDF5 columns and back: text, parameters of any type, integers of any size."""

import json

import h5py
import numpy as np

INT_MISSING = np.iinfo(np.int64).min
BOOL_MISSING = -1


def encode_text(values):
    """Fixed-length UTF-8 array of strings.

    Not variable-length: HDF5 keeps that in a heap without checksums, where damage goes unseen.
    """
    raw = [str(value).encode() for value in values]
    width = max(map(len, raw), default=0) or 1
    return np.array(raw, f"S{width}").astype(h5py.string_dtype("utf-8", width))


def decode_text(array):
    """List of str from what h5py reads of a fixed-length UTF-8 column."""
    return [value.decode() for value in array.tolist()]


def encode_parameter(values):
    """One parameter of several points as a column: ``(array, kind, fill)``.

    ``values`` hold None where a point has no such parameter; ``fill`` stands for those, and is None when there are
    none. Kinds: int, float, bool, text; json (as text) for lists and whatever fits no one type.
    """
    given = [value for value in values if value is not None]
    missing = len(given) < len(values)
    types = {type(value) for value in given}
    if types == {bool}:
        kind, fill, dtype = "bool", BOOL_MISSING, np.int8
    elif types == {int} and all(INT_MISSING < value < 2**63 for value in given):
        kind, fill, dtype = "int", INT_MISSING, np.int64
    elif types == {float}:
        kind, fill, dtype = "float", np.nan, np.float64
    else:
        kind = "text" if types == {str} and all(given) else "json"
        texts = given if kind == "text" else [json.dumps(value) for value in given]
        texts = iter(texts)
        return encode_text(["" if value is None else next(texts) for value in values]), kind, None
    array = np.array([fill if value is None else value for value in values], dtype)
    return array, kind, dtype(fill) if missing else None


def decode_parameter(array, kind):
    """The values of a parameter column, None where missing."""
    if kind in ("text", "json"):
        texts = decode_text(array)
        return [(json.loads(t) if kind == "json" else t) if t else None for t in texts]
    if kind == "float":
        return [None if value != value else value for value in array.tolist()]
    if kind == "bool":
        return [None if value == BOOL_MISSING else bool(value) for value in array.tolist()]
    if kind == "int":
        return [None if value == INT_MISSING else value for value in array.tolist()]
    raise ValueError(f"parameter of unknown kind {kind!r}")


def encode_wide(values):
    """Integers of any size as uint64[n, words]: two's complement, highest word first.

    Two words, or more when a value needs them.
    """
    try:
        low = np.array(values, np.int64)
    except OverflowError:
        pass
    else:
        return np.stack([low >> 63, low], axis=1).view(np.uint64)
    words = max(2, *(value.bit_length() // 64 + 1 for value in values))
    raw = b"".join(value.to_bytes(8 * words, "big", signed=True) for value in values)
    return np.frombuffer(raw, ">u8").reshape(len(values), words).astype(np.uint64)


def decode_wide(array):
    """List of int from uint64[n, words]."""
    width = 8 * array.shape[1]
    raw = np.ascontiguousarray(array).astype(">u8").tobytes()
    return [int.from_bytes(raw[at : at + width], "big", signed=True) for at in range(0, len(raw), width)]
