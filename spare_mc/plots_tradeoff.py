"""Picture of the trade-off that no closed form shows: failures endured against depth paid for them."""

import numpy as np

from .errors import UserError
from .plots_common import (
    COLOURS,
    MARKERS,
    checked_path,
    interval_entry,
    legend_beside,
    names,
    new_figure,
    save,
    style,
    title,
)
from .results import PointResult


def plot_tradeoff(results, path):
    """Draw endurable failures against mean stack, one mark a point, one line a family, the undominated
    ringed.

    Parameters
    ----------
    results : list of PointResult, those with measure stacks are drawn
    path : .png, .svg or .pdf file to write; an existing picture is replaced

    Returns the path. Raises UserError as ``plot_depth`` does.
    """
    path = checked_path(path)
    return save(tradeoff_figure(results), path)


def undominated(stacks, failures):
    """Which points no other beats: none has as low a stack and endures as much, better in one of the two.

    Parameters
    ----------
    stacks, failures : float64[n]: lower is better, higher is better

    Returns
    -------
    bool[n]
    """
    stacks, failures = np.asarray(stacks, np.float64), np.asarray(failures, np.float64)
    no_worse = (stacks[:, None] <= stacks) & (failures[:, None] >= failures)
    better = (stacks[:, None] < stacks) | (failures[:, None] > failures)
    return ~(no_worse & better).any(axis=0)


def _family(result):
    """What a line joins: everything but the redundancy and what follows from it."""
    follows = {"layout.redundancy", "layout.offsets", "layout.digest"}
    return tuple(sorted((k, str(v)) for k, v in result.parameters.items() if k not in follows))


def tradeoff_figure(results):
    """The figure of ``plot_tradeoff``, a matplotlib.figure.Figure."""
    results = [r for r in results if "mean_stack" in r.estimates]
    if not results:
        raise UserError("no point holds measure 'stacks' to plot: run it with --measure stacks")
    families = {}
    for result in results:
        families.setdefault(_family(result), []).append(result)
    for members in families.values():
        members.sort(key=lambda r: r.parameters["layout.redundancy"])
    heads = [_without_redundancy(members[0]) for members in families.values()]
    with style():
        common, labels = names(heads)
        figure = new_figure(9.6, 6.0)
        axes = figure.subplots()
        handles = []
        for i, (members, label) in enumerate(zip(families.values(), labels, strict=True)):
            label = label or common.split(",")[0]
            handles.append(_family_line(axes, members, label, COLOURS[i % 6], MARKERS[i % 8]))
        handles.append(_ring_undominated(axes, results))
        handles.append(interval_entry(results, "bar"))
        axes.set(xlabel="mean all-reduce stack of a life [stacks]", ylabel="failures endured, mean of K")
        axes.margins(0.07)
        axes.set_title(
            title("Endurance against depth", common, [r.tallies["stacks"].total for r in results]), loc="left"
        )
        legend_beside(figure, handles, "numbers: redundancy r")
        _write_redundancies(figure, axes, results)
    return figure


def _without_redundancy(result):
    kept = {k: v for k, v in result.parameters.items() if k != "layout.redundancy"}
    return PointResult(result.id, kept, result.seed, result.tallies, result.confidence)


def _place(result):
    return result.estimates["mean_stack"].mean, result.estimates["endurable_failures"].mean


def _family_line(axes, members, label, colour, marker):
    """Marks of one family joined in the order of redundancy, with their intervals."""
    x, y = np.array([_place(r) for r in members]).T
    (line,) = axes.plot(x, y, color=colour, marker=marker, ms=5.5, lw=1, label=label, gid="family")
    for name, at in (("xerr", "mean_stack"), ("yerr", "endurable_failures")):
        values = [r.estimates[at] for r in members]
        if any(v.low is None for v in values):
            continue
        reach = np.array([(v.mean - v.low, v.high - v.mean) for v in values]).T
        axes.errorbar(x, y, fmt="none", ecolor=colour, elinewidth=1, **{name: reach})
    return line


def _ring_undominated(axes, results):
    places = np.array([_place(r) for r in results])
    best = places[undominated(*places.T)]
    best = best[np.argsort(best[:, 0])]
    return axes.plot(
        *best.T,
        ls="",
        marker="o",
        ms=11,
        mfc="none",
        mec="black",
        mew=1.1,
        label="undominated: no point here\nendures more for less depth",
        gid="undominated",
    )[0]


def _write_redundancies(figure, axes, results):
    """The redundancy beside each mark; a text that would cover a mark or a text is moved, or left out."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    marks = axes.transData.transform([_place(r) for r in results])
    taken = []
    for result, (x, y) in zip(results, marks, strict=True):
        text = f"{result.parameters['layout.redundancy']}"
        for dx, dy in ((7, 5), (-7, 5), (7, -12), (-7, -12), (0, 8), (0, -15), (12, -4), (-12, -4)):
            side = "left" if dx > 0 else "right" if dx < 0 else "center"
            note = axes.annotate(
                text,
                _place(result),
                (dx, dy),
                textcoords="offset points",
                ha=side,
                fontsize=7.5,
                gid="redundancy",
            )
            box = note.get_window_extent(renderer).expanded(1.05, 1.05)
            hidden = any(box.overlaps(other) for other in taken) or any(
                box.x0 - 5 < mx < box.x1 + 5 and box.y0 - 5 < my < box.y1 + 5
                for mx, my in marks
                if (mx, my) != (x, y)
            )
            if not hidden:
                taken.append(box)
                break
            note.remove()
