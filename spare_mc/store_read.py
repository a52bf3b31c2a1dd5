"""An HDF5 file -> contents, checked; or opened, its tallies read when they are asked for; and its flat summary."""

import numpy as np

from . import store_schema as schema
from .store_columns import decode_parameter, decode_text
from .store_contents import Contents, in_order, widest
from .store_open import handle_of, items, opened, reading, text
from .store_stack import Stack
from .store_view import File, Summary, points_of


def read(path):
    """Read a results file whole: its attributes, study and points, every tally checked.

    A reader neither waits for a writer nor holds it up: it sees the file as last published when it was opened.
    Estimates of the points are computed anew from their tallies.

    Raises UserError, naming the file, when there is none, it is not a results file, it is damaged, or its schema has
    another major version.
    """
    with opened(path) as file:
        attributes = _attributes(file)
        points = _contents(file, attributes).results()
        return File(str(path), attributes, attributes["study"], points, _summary(file))


def view(path):
    """Open a results file: as ``read``, but quick however many points it holds.

    Only the flat summary is read; estimates are the stored ones, and the tallies of a point are read, and checked,
    when they are asked for. The file stays open meanwhile: a writer may replace it, and the view still shows what
    was published when it was opened.
    """
    handle = handle_of(path)
    try:
        with reading(handle, path) as file:
            attributes, table = _attributes(file), _summary(file)
            ids = table["id"]
            if len(set(ids)) != len(ids) or not ids:
                raise ValueError("the points of the summary are not told apart")
            points = points_of(handle, path, attributes, table)
    except BaseException:
        handle.close()
        raise
    return File(str(path), attributes, attributes["study"], points, table)


def summary(path):
    """Read the flat table of a results file, without its tallies: a dict of columns, one entry a point.

    Columns: id, stored_in, stored_row, trials, runs, every parameter by its dotted key, every estimate as
    ``name`` (mean), ``name_low``, ``name_high``, ``name_std``. ``.to_dataframe()`` makes it a pandas DataFrame.

    Raises as ``read``.
    """
    with opened(path) as file:
        return _summary(file)


def contents_of(path):
    """Contents of a results file, and its schema version (major, minor). Raises as ``read``."""
    with opened(path) as file:
        attributes = _attributes(file)
        return _contents(file, attributes), schema.check_version(attributes["schema_version"], path)


def _summary(file):
    table = Summary()
    for name, dataset in items(file["summary"]):
        content, values = text(dataset.attrs.get("content", "dimension")), dataset[()]
        if content == "dimension":  # or nothing this version knows
            continue
        if content == "parameter":
            table[name] = decode_parameter(values, text(dataset.attrs["kind"]))
        elif values.dtype.kind == "S":
            table[name] = decode_text(values)
        else:
            table[name] = _plain(values)
        table.contents[name], table.units[name] = content, text(dataset.attrs["units"])
    return table


def _plain(values):
    """A column of numbers as a list, None for NaN."""
    found = values.tolist()
    if values.dtype.kind == "f" and np.isnan(values).any():
        found = [None if value != value else value for value in found]
    return found


def _attributes(file):
    """Root attributes as str, int, float and bool."""
    found = {}
    for key, value in file.attrs.items():
        found[key] = text(value) if isinstance(value, (bytes, str)) else value.item()
    found["common_random_numbers"] = bool(found["common_random_numbers"])
    return found


def _contents(file, attributes):
    points, tallies, columns = {}, {}, None
    for name, group in items(file):
        if name.startswith("groups_"):
            stack = Stack(name, group, attributes["seed"])
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
