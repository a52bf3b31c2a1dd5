"""The journal beside a results file: what was counted since it was last published.

A results file is published whole, which takes longer the larger it is. Between two publications tallies go to
``<file>.journal``, a record at a time, so that ``kill -9`` costs at most what came after the last one. A record that
was cut short, by a kill or a full disk, ends the journal: its checksum does not hold. The first line names the
publication that the journal goes on from; a journal of any other one is out of date, and is ignored.
"""

import hashlib
import json
import os
import zlib
from contextlib import suppress

import numpy as np

from .errors import UserError
from .store_files import reason
from .store_schema import older_rows
from .tallies import Tally

_FORMAT = "spare-mc journal 2"
_OLDER = "spare-mc journal 1"  # its training rows are those of schema 1.1
_MARK = b"SMJR"
_DIGEST = 16  # bytes of BLAKE2b


def path_of(target):
    """Where the journal of a results file lies."""
    return target.with_name(target.name + ".journal")


class Journal:
    """A journal that is written to; made with the first record.

    Parameters
    ----------
    target : path of the results file; its lock is held
    path : what messages call the file
    publication : the publication that the records go on from
    """

    def __init__(self, target, path, publication):
        self._place, self._path, self._publication = path_of(target), path, publication
        self._file = None

    def append(self, tallies):
        """Append a record and see it to the disk; UserError, the journal as it was before, when that cannot be done."""
        start = None
        try:
            if self._file is None:
                self._file = open(self._place, "wb", buffering=0)  # noqa: SIM115 - closed by close
                self._write(f"{_FORMAT} {self._publication}\n".encode())
            start = self._file.tell()
            self._write(_record(tallies))
            os.fsync(self._file.fileno())
        except BaseException as error:
            if start is not None:  # half a record would hide those after it
                with suppress(OSError):
                    self._file.truncate(start)
                    self._file.seek(start)
            if isinstance(error, OSError):
                message = f"{self._path}: cannot be written: {self._place.name}: {reason(error)}"
                raise UserError(message) from None
            raise

    def _write(self, data):
        """All of it: a write to a disk that is nearly full takes what fits."""
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]

    def close(self):
        """Close the file, leaving it there."""
        if self._file is not None:
            with suppress(OSError):  # unwritten bytes that the disk does not take
                self._file.close()
            self._file = None

    def remove(self):
        """Close and remove it: all it holds is published."""
        self.close()
        with suppress(OSError):
            os.unlink(self._place)


def replay(target, path, publication):
    """Yield the tallies of a journal that goes on from a publication; nothing where there is none.

    Raises UserError for a journal in a format of a later version: what it holds would be lost.
    """
    try:
        data = path_of(target).read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(
            f"{path}: its journal {path_of(target).name} cannot be read: {reason(error)}"
        ) from None
    first, _, rest = data.partition(b"\n")
    told, _, base = first.decode(errors="replace").rpartition(" ")
    if base != publication:
        return
    if told not in (_FORMAT, _OLDER):
        raise UserError(f"{path}: its journal {path_of(target).name} is not of this version: update spare-mc")
    head = len(_MARK) + 8 + _DIGEST
    while len(rest) >= head and rest.startswith(_MARK):
        size = int.from_bytes(rest[len(_MARK) : len(_MARK) + 8], "little")
        digest, body = rest[head - _DIGEST : head], rest[head : head + size]
        if len(body) < size or hashlib.blake2b(body, digest_size=_DIGEST).digest() != digest:
            return
        for tally in _tallies_of(zlib.decompress(body)):
            if told == _OLDER and tally.rows is not None:
                tally.rows = older_rows(tally.rows)
            yield tally
        rest = rest[head + size :]


def _record(tallies):
    told, arrays = [], []
    for tally in tallies:
        told.append(
            {
                "measure": tally.measure,
                "point": tally.point,
                "seed": tally.seed,
                "spans": tally.spans,
                "counts": [[name, values.shape] for name, values in tally.counts.items()],
                "sums": tally.sums,  # JSON in Python has integers of any size
                "rows": None if tally.rows is None else tally.rows.shape,
            }
        )
        arrays += [*tally.counts.values(), *([] if tally.rows is None else [tally.rows])]
    header = json.dumps(told).encode()
    parts = [len(header).to_bytes(8, "little"), header]
    parts += [np.ascontiguousarray(values, "<i8").tobytes() for values in arrays]
    body = zlib.compress(b"".join(parts), 1)
    digest = hashlib.blake2b(body, digest_size=_DIGEST).digest()
    return _MARK + len(body).to_bytes(8, "little") + digest + body


def _tallies_of(body):
    size = int.from_bytes(body[:8], "little")
    at = 8 + size

    def array(shape):
        nonlocal at
        count = int(np.prod(shape, dtype=np.int64))
        values = np.frombuffer(body, "<i8", count, at).reshape(shape).astype(np.int64)
        at += 8 * count
        return values

    for told in json.loads(body[8 : 8 + size]):
        counts = {name: array(shape) for name, shape in told["counts"]}
        rows = None if told["rows"] is None else array(told["rows"])
        spans = tuple((a, b) for a, b in told["spans"])
        yield Tally(told["measure"], told["point"], told["seed"], spans, counts, told["sums"], rows)
