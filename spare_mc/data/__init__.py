"""Files that come with the package. Read by path: importlib.resources would import a tenth of a short run's modules."""

import os

_FOLDER = os.path.dirname(__file__)


def names(ending):
    """Names of the files with an ending, without it, sorted."""
    return sorted(name.removesuffix(ending) for name in os.listdir(_FOLDER) if name.endswith(ending))


def text(name):
    """The text of a file."""
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()
