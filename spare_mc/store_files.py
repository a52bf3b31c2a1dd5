"""Paths, the writer's lock, and publication by writing beside and renaming."""

import fcntl
import os
import re
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


class Lock:
    """An exclusive lock on a file, which is made if there is none; the system releases it when its holder dies.

    The file itself stays: removing it would let two later holders lock two different files of that name.

    Raises BlockingIOError where another holds it, other OSErrors where the file cannot be made or locked.
    """

    _handle = None

    def __init__(self, path):
        self._handle = os.open(
            path, os.O_RDWR | os.O_CREAT, 0o666
        )  # not inherited by programs started meanwhile
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.release()
            raise

    @property
    def held(self):
        return self._handle is not None

    def release(self):
        """Let others have it; a second call does nothing."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    __del__ = release


def lock(target, path):
    """The writer's Lock on ``<target>.lock``; UserError when another process holds it."""
    try:
        return Lock(f"{target}.lock")
    except BlockingIOError:
        raise UserError(
            f"{path}: another process is writing this file; wait for it or choose another -o"
        ) from None
    except FileNotFoundError:  # the folder is there, but some file systems say so where they take no files
        raise UserError(f"{path}: cannot be written: folder {target.parent} takes no new files") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be locked: {target.name}.lock: {reason(error)}") from None


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
            os.chmod(beside, stat.S_IMODE(target.stat().st_mode))
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
