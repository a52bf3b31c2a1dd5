"""An HDF5 file -> contents, checked; and its flat summary."""

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from . import store_schema as schema
from .errors import UserError
from .results import PointResult
from .store_columns import decode_parameter, decode_text, decode_wide
from .store_contents import Contents, in_order, widest
from .tallies import Tally, merge_spans


@dataclass
class File:
    """A results file, read.

    Attributes
    ----------
    path : as given
    attributes : dict of the root attributes (docs/store.md)
    study_text : the study, verbatim
    points : list of PointResult in the study's order
    """

    path: str
    attributes: dict
    study_text: str
    points: list[PointResult]


class Summary(dict):
    """The flat table of a results file: column name -> list, one entry a point, None where there is no value."""

    def to_dataframe(self):
        """The table as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(dict(self))


def read(path):
    """Read a results file: its attributes, study and points.

    A reader neither waits for a writer nor holds it up: it sees the file as last published when it was opened.

    Raises UserError, naming the file, when there is none, it is not a results file, it is damaged, or its schema has
    another major version.
    """
    with opened(path) as file:
        attributes = _attributes(file)
        return File(str(path), attributes, attributes["study"], _contents(file, attributes).results())


def summary(path):
    """Read the flat table of a results file, without its tallies: a dict of columns, one entry a point.

    Columns: id, stored_in, stored_row, trials, runs, every parameter by its dotted key, every estimate as
    ``name`` (mean), ``name_low``, ``name_high``, ``name_std``. ``.to_dataframe()`` makes it a pandas DataFrame.

    Raises as ``read``.
    """
    with opened(path) as file:
        table = Summary()
        for name, dataset in _items(file["summary"]):
            content, values = _text(dataset.attrs.get("content", "dimension")), dataset[()]
            if content == "dimension":  # or nothing this version knows
                continue
            if content == "parameter":
                table[name] = decode_parameter(values, _text(dataset.attrs["kind"]))
            elif values.dtype.kind == "S":
                table[name] = decode_text(values)
            else:
                table[name] = [None if value != value else value for value in values.tolist()]
        return table


def contents_of(path):
    """Contents of a results file, and its schema version (major, minor). Raises as ``read``."""
    with opened(path) as file:
        attributes = _attributes(file)
        return _contents(file, attributes), schema.check_version(attributes["schema_version"], path)


@contextmanager
def opened(path):
    """A results file opened for reading; whatever goes wrong while reading it is told as one UserError.

    The file is handed to HDF5 as a Python file. HDF5 itself would lock it, and would refuse it while the same process
    has it open with another setting, as xarray does.
    """
    try:
        handle = open(Path(path), "rb")  # noqa: SIM115 - closed below; errors of opening have words of their own
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; 'spare-mc run -o {path}' makes one") from None
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder, not a results file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    with handle:
        start = handle.read(8)
        if not start:
            raise UserError(f"{path}: is empty, not a results file; remove it or choose another file")
        if start != b"\x89HDF\r\n\x1a\n":
            raise UserError(
                f"{path}: is not an HDF5 file; spare-mc reads and writes its own results files only"
            )
        try:
            with h5py.File(handle, "r") as file:
                if _text(file.attrs.get("file_type", "")) != schema.FILE_TYPE:
                    raise UserError(
                        f"{path}: is an HDF5 file, but not a spare-mc results file; choose another file"
                    )
                schema.check_version(_text(file.attrs["schema_version"]), path)
                yield file
        except UserError:
            raise
        except Exception as error:  # damage shows as errors of every kind, in HDF5 and after it
            what = "is cut short" if "truncated" in str(error) else "is damaged"
            detail = " ".join(str(error).split()) or type(error).__name__
            raise UserError(f"{path}: {what}; restore a copy or choose another file ({detail})") from error


def _text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def _items(group):
    """Names and objects of an HDF5 group; ValueError for one that cannot be opened, where h5py says None."""
    for name, found in group.items():
        if found is None:
            raise ValueError(f"{group.name}/{name} cannot be opened")
        yield name, found


def _attributes(file):
    """Root attributes as str, int, float and bool."""
    found = {}
    for key, value in file.attrs.items():
        found[key] = _text(value) if isinstance(value, (bytes, str)) else value.item()
    found["common_random_numbers"] = bool(found["common_random_numbers"])
    return found


def _contents(file, attributes):
    points, tallies, columns = {}, {}, None
    for name, group in _items(file):
        if name.startswith("groups_"):
            stack = _Stack(name, group, attributes["seed"])
            stack.read(points, tallies)
            columns = widest(columns, stack.columns, f"{name}: its training rows have other columns")
    ids = decode_text(file["summary/id"][()])
    if len(set(ids)) != len(ids) or set(ids) != set(points) or not ids:
        raise ValueError("the points of the summary are not those stored")
    stopped = decode_text(file["summary/stopped"][()]) if "stopped" in file["summary"] else [""] * len(ids)
    shares = [text.split("/") for text in attributes.get("shares", "").split(",") if text]
    same = ("seed", "generator", "generator_version", "common_random_numbers", "confidence")
    same += ("created", "updated", "host", "package_version")
    return Contents(
        name=attributes["study_name"],
        text=attributes["study"],
        measures=in_order([*attributes["measures"].split(","), *(measure for _, measure in tallies)]),
        points=[(identity, points[identity]) for identity in ids],
        tallies=tallies,
        columns=columns,
        publication=attributes.get("publication", ""),  # files of schema 1.0 have none
        stopped={identity: text for identity, text in zip(ids, stopped, strict=True) if text},
        shares=tuple((int(at), int(of)) for at, of in shares),
        **{key: attributes[key] for key in same},
    )


class _Stack:
    """The points of one HDF5 group."""

    def __init__(self, name, group, seed):
        self.name = name
        self.group = group
        self.seed = seed
        self.columns = None
        self.datasets = {}  # content -> [(name, dataset, attributes)]
        for key, dataset in _items(group):
            attributes = {
                k: dataset.attrs[k] for k in ("content", "kind", "measure", "tally") if k in dataset.attrs
            }
            attributes = {k: _text(v) for k, v in attributes.items()}
            self.datasets.setdefault(attributes.get("content"), []).append((key, dataset, attributes))
        self.ids = decode_text(group["id"][()])

    def read(self, points, tallies):
        """Add what the group holds to points (id -> parameters) and tallies (as in Contents)."""
        if points.keys() & set(self.ids):
            raise ValueError("a point is stored twice")
        points.update(self._parameters())
        spans = self._spans()
        mine = {
            key: Tally(key[1], self.ids[key[0]], self.seed, merge_spans(found))
            for key, found in spans.items()
        }
        lengths = {key.removesuffix("_length"): d[()] for key, d, _ in self.datasets.get("length", ())}
        self._counts(mine, lengths)
        self._sums(mine)
        self._rows(mine, lengths)
        tallies.update({(tally.point, tally.measure): tally for tally in mine.values()})

    def _parameters(self):
        found = [{} for _ in self.ids]
        for key, dataset, attributes in self.datasets["parameter"]:
            for parameters, value in zip(
                found, decode_parameter(dataset[()], attributes["kind"]), strict=True
            ):
                if value is not None:
                    parameters[key] = value
        return dict(zip(self.ids, found, strict=True))

    def _spans(self):
        group, spans = self.group, {}
        measures = decode_text(group["span_measure"][()])
        rows, firsts, stops = (group[f"span_{name}"][()].tolist() for name in ("point", "first", "stop"))
        for row, measure, first, stop in zip(rows, measures, firsts, stops, strict=True):
            spans.setdefault((row, measure), []).append((first, stop))
        return spans

    def _counts(self, mine, lengths):
        for key, dataset, attributes in self.datasets.get("counts", ()):
            measure, name = attributes["measure"], attributes["tally"]
            values = dataset[()]
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
                f"{self.name}/{key}, row {row}: {counted[row]} trials counted, {expected[row]} in the spans"
            )

    def _sums(self, mine):
        for _, dataset, attributes in self.datasets.get("sums", ()):
            measure, values = attributes["measure"], dataset[()]
            names = decode_text(self.group[f"{measure}_sum"][()])
            wide = decode_wide(values.reshape(-1, values.shape[-1]))
            for (row, held), tally in mine.items():
                if held == measure:
                    own = wide[row * len(names) : (row + 1) * len(names)]
                    tally.sums = dict(zip(names, own, strict=True))

    def _rows(self, mine, lengths):
        for key, dataset, attributes in self.datasets.get("rows", ()):
            measure, values = attributes["measure"], dataset[()]
            names = decode_text(self.group[f"{measure}_column"][()])
            units = decode_text(self.group[f"{measure}_column_units"][()])
            self.columns = (tuple(names), tuple(units))
            owners, runs = self.group[f"{measure}_row_point"][()], self.group[f"{measure}_row_run"][()]
            starts = np.searchsorted(owners, np.arange(len(self.ids) + 1))  # rows lie in the order of points
            for (row, held), tally in mine.items():
                if held != measure:
                    continue
                own = slice(starts[row], starts[row + 1])
                tally.rows = values[own, : int(lengths[f"{measure}_column"][row])]
                expected = [np.arange(first, stop, dtype=np.uint64) for first, stop in tally.spans]
                if not np.array_equal(runs[own], np.concatenate(expected)):
                    raise ValueError(f"{self.name}/{key}, point {row}: its runs are not those in the spans")
