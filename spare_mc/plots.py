"""Pictures of stored results, each a function of points and a path; Matplotlib is imported when one is drawn.

survival     share of trials alive after k failures, exact values and closed forms over it; below, the rare loss
depth        mean least stack S*(k) against failures, with its bound c(k)
reordering   moves and deciding phases against failures
training     time-to-train and availability against redundancy
tradeoff     failures endured against mean stack over families and redundancies, the undominated ringed
sweep        any estimate against any swept value, a line for every combination of the others
map          any estimate over two swept values, as a heat map
"""

from .errors import UserError
from .plots_common import checked_path
from .plots_fit import plot_fit
from .plots_life import plot_life
from .plots_reproduction import plot_reproduction
from .plots_stacks import plot_depth, plot_reordering
from .plots_survival import plot_survival
from .plots_sweep import plot_map, plot_sweep
from .plots_timeline import plot_timeline
from .plots_tradeoff import plot_tradeoff, undominated

__all__ = [
    "KINDS",
    "checked_path",
    "default_kind",
    "plot",
    "plot_depth",
    "plot_fit",
    "plot_life",
    "plot_map",
    "plot_reordering",
    "plot_reproduction",
    "plot_survival",
    "plot_sweep",
    "plot_timeline",
    "plot_tradeoff",
    "undominated",
]

KINDS = {
    "survival": plot_survival,
    "depth": plot_depth,
    "reordering": plot_reordering,
    "tradeoff": plot_tradeoff,
    "training": plot_reproduction,
    "sweep": plot_sweep,
    "map": plot_map,
}
MANY = 24  # curves that can be told apart


def default_kind(results):
    """The picture that shows most of what the points hold."""
    found = {
        "training": sum("restarts" in r.estimates for r in results),
        "depth": sum("mean_stack" in r.estimates for r in results),
        "reordering": sum("reorder_fraction" in r.estimates for r in results),
    }
    if found["depth"] > 2:
        return "tradeoff"
    kind = next((kind for kind, points in found.items() if points), "survival")
    return "sweep" if len(results) > MANY and kind != "training" else kind


def plot(results, path, kind=None):
    """Draw points of results files.

    Parameters
    ----------
    results : list of PointResult
    path : .png, .svg or .pdf file to write; an existing picture is replaced
    kind : a key of KINDS; None takes what the points hold (``default_kind``)

    Returns the path. Raises UserError for an unknown kind or ending, nothing to draw, a missing Matplotlib, or a
    folder that cannot be written.
    """
    kind = default_kind(results) if kind is None else kind
    if kind not in KINDS:
        raise UserError(f"kind = {kind!r}: no such picture; allowed are {', '.join(KINDS)}")
    return KINDS[kind](results, path)
