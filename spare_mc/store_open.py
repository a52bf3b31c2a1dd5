"""Opening a results file for reading; what goes wrong is told in one line that names the file."""

from contextlib import contextmanager
from pathlib import Path

import h5py

from . import store_schema as schema
from .errors import UserError


@contextmanager
def opened(path):
    """A results file opened for reading, closed afterwards; errors as of ``handle_of`` and ``reading``."""
    with handle_of(path) as handle, reading(handle, path) as file:
        yield file


def handle_of(path):
    """A Python file of a results file, open for reading; UserError when there is none or it is no HDF5 file.

    A writer replaces the file under its name; who holds the handle goes on reading the file that was opened.
    """
    try:
        handle = open(Path(path), "rb")  # noqa: SIM115 - the caller closes it
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; 'spare-mc run -o {path}' makes one") from None
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder, not a results file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    start = handle.read(8)
    if start == b"\x89HDF\r\n\x1a\n":
        return handle
    handle.close()
    if not start:
        raise UserError(f"{path}: is empty, not a results file; remove it or choose another file")
    raise UserError(f"{path}: is not an HDF5 file; spare-mc reads and writes its own results files only")


@contextmanager
def reading(handle, path):
    """The HDF5 file of a handle; whatever goes wrong while it is read is told as one UserError.

    The file is handed to HDF5 as a Python file. HDF5 itself would lock it, and would refuse it while the same process
    has it open with another setting, as xarray does.
    """
    try:
        with h5py.File(handle, "r") as file:
            if text(file.attrs.get("file_type", "")) != schema.FILE_TYPE:
                raise UserError(
                    f"{path}: is an HDF5 file, but not a spare-mc results file; choose another file"
                )
            schema.check_version(text(file.attrs["schema_version"]), path)
            yield file
    except UserError:
        raise
    except Exception as error:  # damage shows as errors of every kind, in HDF5 and after it
        what = "is cut short" if "truncated" in str(error) else "is damaged"
        detail = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{path}: {what}; restore a copy or choose another file ({detail})") from error


def text(value):
    """An attribute as str."""
    return value.decode() if isinstance(value, bytes) else str(value)


def items(group):
    """Names and objects of an HDF5 group; ValueError for one that cannot be opened, where h5py says None."""
    for name, found in group.items():
        if found is None:
            raise ValueError(f"{group.name}/{name} cannot be opened")
        yield name, found
