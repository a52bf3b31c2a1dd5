"""Paths, the writer's lock, and publication by writing beside and renaming."""

import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from .errors import UserError


def target_of(path):
    """The real path that results will be published to (symbolic links followed).

    Raises UserError when nothing can be written there: no such folder, a folder, a device, no permission.
    """
    target = Path(os.path.realpath(path))
    folder = target.parent
    if not target.name or target.is_dir():
        raise UserError(f"{path}: is a folder; name a file in it, such as {os.path.join(path, 'results.h5')}")
    if not folder.is_dir():
        raise UserError(f"{path}: no such folder: {folder}; make it first")
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        raise UserError(f"{path}: is not a regular file; choose another -o")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"{path}: cannot be written: no permission to write in folder {folder}")
    if target.exists() and not os.access(target, os.W_OK):
        raise UserError(f"{path}: is write-protected; choose another -o or allow writing to it")
    return target


def state_of(target):
    """What changes whenever a file is published anew; None where there is no file."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def lock(target, path):
    """The writer's lock on ``<target>.lock``, taken; UserError when another process holds it.

    The system releases it when its holder dies. The lock file itself stays: removing it would let two later writers
    lock two different files of that name.
    """
    import filelock

    held = filelock.FileLock(f"{target}.lock", thread_local=False)
    try:
        held.acquire(timeout=0)
    except filelock.Timeout:
        if not os.path.exists(held.lock_file):  # some file systems say "not found" where they take no files
            raise UserError(f"{path}: cannot be written: folder {target.parent} takes no new files") from None
        raise UserError(
            f"{path}: another process is writing this file; wait for it or choose another -o"
        ) from None
    except OSError as error:
        raise UserError(f"{path}: cannot be locked: {target.name}.lock: {reason(error)}") from None
    return held


def publish(target, path, image):
    """Put bytes at ``target``: written beside, flushed to the disk, renamed over it.

    A reader, and a crash at any moment, sees the old file or the new one. On failure the old file is untouched, the
    file beside is gone, and UserError names the reason. Only for the holder of the lock.
    """
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open(beside, "wb") as file:
            file.write(image)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except OSError as error:
        with suppress(OSError):
            os.unlink(beside)
        raise UserError(f"{path}: cannot be written: {reason(error)}") from None
    except BaseException:  # Ctrl-C while writing
        with suppress(OSError):
            os.unlink(beside)
        raise
    with suppress(OSError):  # the rename itself on the disk; not every file system syncs folders
        handle = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_stale(target):
    """Remove what dead writers left beside the target. Only for the holder of the lock: no writer is alive then."""
    left = re.compile(rf"\.{re.escape(target.name)}\.\d+\.tmp")
    with suppress(OSError):
        for entry in list(os.scandir(target.parent)):
            if left.fullmatch(entry.name):
                os.unlink(entry.path)


def reason(error):
    """One line on an OSError: what the system says."""
    return (error.strerror or str(error)).splitlines()[0]
