"""Host tables from outside: reading them, and refusing those that are not layouts."""

from pathlib import Path

import numpy as np

from .errors import UserError


def read_table(path):
    """The table in a .npy, .csv or .txt file, unchecked; text with commas or blanks, and # comments."""
    path = Path(path)
    if path.suffix not in (".csv", ".txt", ".npy"):
        raise UserError(
            f"{path}: a table is read from .csv, .txt or .npy, not {path.suffix or 'no suffix'!r}"
        )
    try:
        if path.suffix == ".npy":
            if path.stat().st_size == 0:
                raise UserError(f"{path}: the file is empty; one row per group is needed")
            return np.load(path, allow_pickle=False)
        text = path.read_text(encoding="utf-8-sig")
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError):
        raise UserError(f"{path}: not a readable {path.suffix} table of integers") from None
    rows = []
    for line in text.splitlines():
        entries = line.partition("#")[0].replace(",", " , ").split()
        if entries:
            rows.append(_parse(entries, len(rows), path))
    if not rows:
        raise UserError(f"{path}: the file is empty; one row per group is needed")
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise UserError(f"{path}: row {number} has {len(row)} entries, row 0 has {len(rows[0])}")
    return rows


def _parse(entries, row, path):
    if "," in entries:
        entries = [part.strip() for part in " ".join(entries).split(",")]
    values = []
    for column, entry in enumerate(entries):
        try:
            values.append(int(entry))
        except ValueError:
            raise UserError(f"{path}: row {row}, column {column}: {entry!r} is not an integer") from None
    return values


def checked_table(table, name, max_cells):
    """The table as a fresh C-contiguous int32 array, or a UserError that names the row or column at fault."""
    try:
        table = np.asarray(table)
    except (ValueError, OverflowError):
        raise UserError(f"{name}: rows of one length are needed, r integers for each of N groups") from None
    if table.ndim != 2:
        raise UserError(f"{name}: a table of N rows and r columns is needed, not {table.ndim} dimension(s)")
    groups, redundancy = table.shape
    if groups < 2 or not 1 <= redundancy <= groups:
        raise UserError(
            f"{name}: {groups} rows, {redundancy} columns; at least 2 rows and 1 to N columns needed"
        )
    if groups * redundancy > max_cells:
        raise UserError(f"{name}: {groups} rows, {redundancy} columns; at most {max_cells} entries allowed")
    if table.dtype.kind not in "iu":
        _refuse_entries(table, name)
    outside = (table < 0) | (table >= groups)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise UserError(
            f"{name}: row {row}, column {column}: type {table[row, column]} is not in 0..{groups - 1} "
            f"(there are {groups} groups)"
        )
    table = np.array(table, dtype=np.int32, order="C")
    _check_rows(table, name)
    _check_columns(table, name)
    return table


def _refuse_entries(table, name):
    for row, entries in enumerate(table.tolist()):
        for column, entry in enumerate(entries):
            if isinstance(entry, bool) or not isinstance(entry, int):
                raise UserError(f"{name}: row {row}, column {column}: {entry!r} is not an integer")
    raise UserError(f"{name}: integers that fit 32 bits are needed")


def _check_rows(table, name):
    ordered = np.sort(table, axis=1)
    twice = ordered[:, 1:] == ordered[:, :-1]
    if twice.any():
        row, column = np.argwhere(twice)[0]
        raise UserError(f"{name}: row {row} holds type {ordered[row, column]} twice")


def _check_columns(table, name):
    groups, redundancy = table.shape
    covered = np.zeros(groups, dtype=bool)
    covered[table.reshape(-1)] = True
    if not covered.all():
        raise UserError(f"{name}: type {np.flatnonzero(~covered)[0]} has no host; each column must hold it")
    for column in range(redundancy):
        counts = np.bincount(table[:, column], minlength=groups)
        if (counts != 1).any():
            missing, twice = np.argmin(counts), np.argmax(counts)
            raise UserError(
                f"{name}: column {column} holds type {twice} {counts[twice]} times and type {missing} never; "
                "each stack place must hold every type once"
            )
