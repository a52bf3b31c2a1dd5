"""``njit`` with the project's settings and a compilation cache of its own.

Numba's default cache lies beside the source, is keyed by one file's time stamp (a change in a kernel that
is inlined from another file goes unseen), races on shared file systems, and a truncated file in it breaks every
later run. Here the cache lies in the user's cache directory (or ``SPARE_MC_CACHE_DIR``), in a folder named by
a hash of all kernel sources, the Numba version and the CPU; any failure to read or write it costs a compilation.
"""

import hashlib
import os
import tempfile
from pathlib import Path

import numba
import platformdirs
from numba.core import config


def _fingerprint():
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    try:
        from llvmlite import binding

        digest.update(binding.get_host_cpu_name().encode())
        digest.update(binding.get_host_cpu_features().flatten().encode())
    except Exception:  # the CPU is a refinement of the name, not worth a failed import
        pass
    return digest.hexdigest()[:20]


def _usable(folder):
    """The folder, made if need be, or None if it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


def cache_root():
    """The folder that holds compiled kernels of all versions (Path), whether or not it is there."""
    return Path(os.environ.get("SPARE_MC_CACHE_DIR") or platformdirs.user_cache_dir("spare-mc")) / "numba"


def cache_folder():
    """Where compiled kernels are kept (Path), or None when no folder can be written."""
    return _usable(cache_root() / _fingerprint())


class _Forgiving:
    """A Numba function cache whose failures cost a compilation and nothing else."""

    def __init__(self, cache):
        self._cache = cache

    def __getattr__(self, name):
        return getattr(self._cache, name)

    def load_overload(self, sig, target_context):
        try:
            return self._cache.load_overload(sig, target_context)
        except Exception:
            return None

    def save_overload(self, sig, data):
        try:
            self._cache.save_overload(sig, data)
        except Exception:
            # A damaged index refuses every save: start it anew, once.
            try:
                self._cache.flush()
                self._cache.save_overload(sig, data)
            except Exception:
                pass


_FOLDER = None if config.DISABLE_JIT else cache_folder()


def njit(*args, **options):
    """``numba.njit(nogil=True)``, cached in the project's own folder; usable bare or with options.

    ``cache=False`` leaves the cache out (for closures and throw-away kernels). No fastmath: results must not
    depend on the compiler's choices.
    """
    if args and callable(args[0]):
        return njit(**options)(args[0])
    cached = options.pop("cache", True) and _FOLDER is not None
    options.setdefault("nogil", True)

    def decorate(function):
        dispatcher = numba.njit(**options)(function)
        if cached:
            before, config.CACHE_DIR = config.CACHE_DIR, str(_FOLDER)
            try:
                dispatcher.enable_caching()
                dispatcher._cache = _Forgiving(dispatcher._cache)
            except Exception:
                pass  # no locator accepts this function: compile it each time
            finally:
                config.CACHE_DIR = before
        return dispatcher

    return decorate
