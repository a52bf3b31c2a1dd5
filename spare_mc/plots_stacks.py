"""Pictures of depth and reordering: what masking a failure costs, over the number of failures."""

import numpy as np

from .errors import UserError
from .estimates import curve_band, stack_bound
from .plots_common import (
    checked_path,
    interval_entry,
    legend_beside,
    names,
    new_figure,
    save,
    strokes,
    style,
    thinned,
    title,
    with_error,
)

ENOUGH = 20  # curves end where fewer trials than these are left: means of a handful jump about
_ENDS = f"(curves end where fewer than {ENOUGH} trials are left)"


def plot_depth(results, path):
    """Draw the mean least stack S*(k) against failures, with the bound c(k), and the share of trials alive.

    Parameters
    ----------
    results : list of PointResult, those with measure stacks are drawn
    path : .png, .svg or .pdf file to write; an existing picture is replaced

    Returns the path. Raises UserError for an unknown ending, nothing to draw, a missing Matplotlib, or a
    folder that cannot be written.
    """
    path = checked_path(path)
    return save(depth_figure(results), path)


def plot_reordering(results, path):
    """Draw moves and the phase that decides against failures; parameters as of ``plot_depth`` (reordering)."""
    path = checked_path(path)
    return save(reordering_figure(results), path)


def _with_measure(results, measure):
    found = [r for r in results if measure in r.tallies and r.tallies[measure].total]
    if not found:
        raise UserError(f"no point holds measure {measure!r} to plot: run it with --measure {measure}")
    return found


def _totals(results, measure):
    return [r.tallies[measure].total for r in results]


def _reach(counts):
    """The last k with ENOUGH trials, or with any where there never were so many."""
    places = np.flatnonzero(counts >= ENOUGH)
    return int(places[-1] if len(places) else np.flatnonzero(counts > 0)[-1])


def depth_figure(results):
    """The figure of ``plot_depth``, a matplotlib.figure.Figure."""
    results = _with_measure(results, "stacks")
    with style():
        common, labels = names(results)
        figure = new_figure(9.6, 5.8)
        upper, lower = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 1]})
        handles, reach = [], 1
        for result, label, stroke in zip(results, labels, strokes(len(results)), strict=True):
            last = _reach(result.tallies["stacks"].counts["trials_at_depth"].sum(axis=1))
            reach = max(reach, last)
            k = thinned(last + 1)
            handles.append(_depth_line(upper, result, label, stroke, k))
            lower.plot(k, result.curves["survival"][k], **stroke, gid="survival")
        handles.append(interval_entry(results, text="{} interval at each k"))
        handles += _bounds(upper, {r.parameters["cluster.groups"] for r in results})
        upper.set(ylabel="mean least stack S*(k)\namong trials alive [stacks]", xlim=(0, reach))
        deepest = max(np.nanmax(line.get_ydata()) for line in upper.lines if line.get_gid() == "min_stack")
        upper.set_ylim(0.9, deepest + 0.25)
        upper.set_title(
            title("All-reduce depth against failures", common, _totals(results, "stacks")), loc="left"
        )
        lower.set(xlabel=f"failures so far, k {_ENDS}", ylabel="share of\ntrials alive", ylim=(-0.04, 1.04))
        legend_beside(figure, handles, "mean over a life")
    return figure


def _depth_line(axes, result, label, stroke, k):
    """Curve and band of one point; the handle names it and its mean over a life."""
    low, high = curve_band(result, "min_stack")
    text = f"{label or 'sampled'}: {with_error(result.estimates['mean_stack'])}"
    line = axes.plot(
        k, result.curves["min_stack"][k], drawstyle="steps-post", label=text, gid="min_stack", **stroke
    )
    axes.fill_between(k, low[k], high[k], color=stroke["color"], alpha=0.2, lw=0, step="post", gid="band")
    return line[0]


def _bounds(axes, sizes):
    """c(k) for every number of groups, pale behind the curves that follow it."""
    handles = []
    for groups in sorted(sizes):
        k = thinned(groups)
        label = "bound c(k) = ⌈N/(N−k)⌉" + (f", N = {groups:,}" if len(sizes) > 1 else "")
        handles += axes.plot(
            k,
            stack_bound(groups)[k],
            color="black",
            alpha=0.25,
            lw=6,
            drawstyle="steps-post",
            solid_joinstyle="miter",
            zorder=1.2,
            label=label,
            gid="bound",
        )
    return handles


def reordering_figure(results):
    """The figure of ``plot_reordering``, a matplotlib.figure.Figure."""
    results = _with_measure(results, "reordering")
    with style():
        common, labels = names(results)
        figure = new_figure(9.6, 6.2)
        upper, lower = figure.subplots(2, 1, sharex=True)
        handles, reach = [], 2
        for result, label, stroke in zip(results, labels, strokes(len(results)), strict=True):
            last = _reach(result.tallies["reordering"].counts["phase_at_failure"].sum(axis=1))
            reach, k = max(reach, last), 1 + thinned(last)
            handles.append(_moves_line(upper, result, label, stroke, k))
            if len(results) == 1:
                handles += _phase_areas(lower, result, k)
            else:
                _reorder_line(lower, result, stroke, k)
        upper.set(ylabel="mean moves at the k-th failure\n[promotions into prefixes]", xlim=(1, reach))
        upper.set_ylim(bottom=0)
        upper.set_title(
            title("Reordering against failures", common, _totals(results, "reordering")), loc="left"
        )
        if len(results) > 1:
            handles.append(interval_entry(results, text="{} interval at each k"))
        what = "decided by phase" if len(results) == 1 else "that a reorder decides"
        lower.set(xlabel=f"k-th failure {_ENDS}", ylabel=f"share of k-th failures\n{what}", ylim=(0, 1))
        legend_beside(figure, handles, "means over lives")
    return figure


def _moves_line(axes, result, label, stroke, k):
    """Mean moves of one point; the handle gives its share of reorders and the moves of one."""
    lines = [label] if label else []
    if "reorder_fraction" in result.estimates:
        lines.append(f"{100 * result.estimates['reorder_fraction'].mean:.3g} % of failures reorder")
    if "moves_per_reorder" in result.estimates:
        lines.append(f"moves of a reorder: {with_error(result.estimates['moves_per_reorder'])}")
    text = "\n   ".join(lines) or "no reorders"
    return axes.plot(k, result.curves["moves"][k], label=text, gid="moves", **stroke)[0]


def _phase_areas(axes, result, k):
    """One point: its three phases stacked to one. Handles, top first."""
    parts = [result.curves[name][k] for name in ("phase_fixed", "phase_depth", "phase_reorder")]
    labels = ("fixed: nothing moves", "depth: a new depth alone", "reorder: types are promoted")
    colours = ("#d9d9d9", "#E69F00", "#0072B2")
    areas = axes.stackplot(k, *parts, colors=colours, labels=labels, step="mid", alpha=0.85, lw=0)
    for area, name in zip(areas, ("phase_fixed", "phase_depth", "phase_reorder"), strict=True):
        area.set_gid(name)
    return areas[::-1]


def _reorder_line(axes, result, stroke, k):
    """One of several points: the share of failures that a reorder decides."""
    low, high = curve_band(result, "phase_reorder")
    axes.plot(k, result.curves["phase_reorder"][k], gid="phase_reorder", **stroke)
    axes.fill_between(k, low[k], high[k], color=stroke["color"], alpha=0.18, lw=0, gid="band")
