"""spare-mc: Monte Carlo engine for fault-tolerant LLM pretraining.

Importing this package loads neither Numba nor h5py nor matplotlib; names below arrive on first use.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "Layout": "spare_mc.layouts",
    "Study": "spare_mc.study",
    "UserError": "spare_mc.errors",
    "survival": "spare_mc.api",
    "stacks": "spare_mc.api",
    "reordering": "spare_mc.api",
    "training": "spare_mc.api",
    "life": "spare_mc.lives",
    "run": "spare_mc.api",
    "open": "spare_mc.api",
}
_MODULES = ("exact", "layouts", "plots", "store", "theory")

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name):
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"spare_mc.{name}")
    else:
        raise AttributeError(f"module 'spare_mc' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
