"""Host tables from outside: reading them, and refusing those that are not layouts."""

from pathlib import Path

import numpy as np

from .errors import UserError


def read_table(path):
    """The table in a .npy, .csv or .txt file, unchecked; text with commas or blanks, and # comments."""
    try:
        path = Path(path)
    except TypeError:
        raise UserError(f"layout.file = {path!r}: a path is needed") from None
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".txt", ".npy"):
        raise UserError(f"{path}: a layout table is read from a .csv, .txt or .npy file")
    try:
        empty = path.stat().st_size == 0
        if suffix == ".npy" and not empty:
            return np.load(path, allow_pickle=False)
        lines = [] if empty else path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError):
        raise UserError(f"{path}: not a readable {suffix} table of integers") from None
    lines = [text for text in (line.partition("#")[0].strip() for line in lines) if text]
    if not lines:
        raise UserError(f"{path}: the file is empty; one row per group is needed")
    rows = []
    for line in lines:
        rows.append(_parse(line, len(rows), path))
        if len(rows[-1]) != len(rows[0]):
            raise UserError(
                f"{path}: row {len(rows) - 1} (from 0) has {len(rows[-1])} entries, row 0 has {len(rows[0])}"
            )
    return rows


def _parse(line, row, path):
    entries = line.split(",") if "," in line else line.split()
    try:
        return list(map(int, entries))
    except ValueError:
        at = next(column for column, entry in enumerate(entries) if not _is_integer(entry))
        raise UserError(
            f"{path}: row {row}, column {at} (from 0): {entries[at].strip()!r} is not an integer"
        ) from None


def _is_integer(entry):
    try:
        int(entry)
    except ValueError:
        return False
    return True


def checked_table(table, name, max_cells):
    """The table as a fresh C-contiguous int32[N, r], or a UserError that names the row or column at fault.

    It must hold integers from 0 to N-1, no row a type twice, and every column each type once.
    """
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
            f"{name}: row {row}, column {column} (from 0): type {table[row, column]} is not in 0..{groups - 1} "
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
                raise UserError(f"{name}: row {row}, column {column} (from 0): {entry!r} is not an integer")
    raise UserError(f"{name}: integers that fit 32 bits are needed")


def _check_rows(table, name):
    ordered = np.sort(table, axis=1)
    twice = ordered[:, 1:] == ordered[:, :-1]
    if twice.any():
        row, column = np.argwhere(twice)[0]
        raise UserError(f"{name}: row {row} (from 0) holds type {ordered[row, column]} twice")


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
                f"{name}: column {column} (from 0) holds type {twice} {counts[twice]} times and type {missing} never; "
                "each stack place must hold every type once"
            )
