"""Pictures of sweeps: an estimate against a swept value in lines with bands, or over two swept values as a map."""

import numpy as np

from .conditions import comparable
from .errors import UserError
from .plots_common import (
    MARKERS,
    checked_path,
    entry,
    interval_entry,
    legend_beside,
    names,
    new_figure,
    save,
    strokes,
    style,
)
from .selection import Table
from .stopping import MEASURE_OF

MOST_LINES = 24  # so many lines differ in colour and dash
MAIN = ("time_to_train_s", "mean_stack", "endurable_failures")  # what is drawn when nothing is named


def plot_sweep(points, path, y=None, x=None, by=None, log_x=False, log_y=False):
    """Draw an estimate against a swept value, a line for every combination of the other ones, with its intervals.

    Parameters
    ----------
    points : list of PointResult, or selection.Table
    path : .png, .svg or .pdf file to write; an existing picture is replaced
    y : estimate; the first of MAIN that the points have if None
    x : swept parameter; the one with the most values if None, numbers before words
    by : list of parameters (or "file") that tell lines apart; every other one that is swept if None
    log_x, log_y : logarithmic axes

    Returns the path. Raises UserError for a parameter that is not swept, points that the lines would mix, nothing to
    draw, too many lines, a missing Matplotlib, or a path that cannot be written.
    """
    path = checked_path(path)
    return save(sweep_figure(points, y, x, by, log_x, log_y), path)


def sweep_figure(points, y=None, x=None, by=None, log_x=False, log_y=False):
    """The figure of ``plot_sweep``, a matplotlib.figure.Figure."""
    table = points if isinstance(points, Table) else Table(points)
    y = _estimate(table, y, "--y")
    table = _with(table, y)
    x = _swept(table, x, "--x") if x is not None else _widest(table)
    by = table.spanning([x]) if by is None else [_grouping(table, key) for key in by]
    _check_apart(table, [x, *by], "--by")
    lines = _lines(table, x, by)
    if len(lines) > MOST_LINES:
        raise UserError(
            f"--by {', '.join(by)}: {len(lines)} lines, at most {MOST_LINES} can be told apart; hold some of them with "
            "--where, or draw a map with --z"
        )
    values = table.column(x)
    places = None if _numeric(values) else list(dict.fromkeys(map(comparable, values)))
    _check_log(log_x and "--log-x", x, values)
    _check_log(log_y and "--log-y", y, table.column(y))
    with style():
        figure = new_figure(9.6, 5.4)
        axes = figure.subplots()
        if log_x:
            axes.set_xscale("log")
        if log_y:
            axes.set_yscale("log", nonpositive="clip")
        handles = [
            _line(axes, table, line, y, x, places, label, stroke, MARKERS[number % len(MARKERS)])
            for number, ((label, line), stroke) in enumerate(zip(lines, strokes(len(lines)), strict=True))
        ]
        if places is not None:
            axes.set_xticks(range(len(places)), [_tick(place) for place in places])
            axes.margins(x=0.12)
        elif all(isinstance(v, int) for v in values) and not log_x:
            axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set(xlabel=_axis(table, x), ylabel=_axis(table, y))
        axes.set_title(f"{_capital(table.name(y))} against {table.name(x)}\n{_shared(table, y)}", loc="left")
        handles.append(interval_entry(table.points, "band" if places is None else "bar"))
        heading = ", ".join(_axis(table, key) for key in by if len(by) == 1) or None
        legend_beside(figure, handles, heading)
    return figure


def plot_map(points, path, z=None, x=None, y=None, log_z=False):
    """Draw an estimate over two swept values as a heat map, a cell a point.

    Parameters
    ----------
    points : list of PointResult, or selection.Table
    path : .png, .svg or .pdf file to write; an existing picture is replaced
    z : estimate; the first of MAIN that the points have if None
    x, y : swept parameters; those with the most values if None
    log_z : logarithmic colours

    Returns the path. Raises UserError as ``plot_sweep`` does.
    """
    path = checked_path(path)
    return save(map_figure(points, z, x, y, log_z), path)


def map_figure(points, z=None, x=None, y=None, log_z=False):
    """The figure of ``plot_map``, a matplotlib.figure.Figure."""
    table = points if isinstance(points, Table) else Table(points)
    z = _estimate(table, z, "--z")
    table = _with(table, z)
    x = _swept(table, x, "--x", y) if x is not None else _widest(table, y and table.resolve(y, "--y"))
    y = _swept(table, y, "--y", x) if y is not None else _widest(table, x)
    _check_apart(table, [x, y], "--z")
    _check_log(log_z and "--log-z", z, table.column(z))
    columns, rows = (_levels(table.column(key)) for key in (x, y))
    cells = np.full((len(rows), len(columns)), np.nan)
    half = np.full_like(cells, np.nan)
    for point, at_x, at_y in zip(table.points, table.column(x), table.column(y), strict=True):
        place = rows.index(comparable(at_y)), columns.index(comparable(at_x))
        cells[place] = point.estimates[z].mean
        if point.estimates[z].low is not None and point.estimates[z].high is not None:
            half[place] = (point.estimates[z].high - point.estimates[z].low) / 2
    with style():
        from matplotlib.colors import LogNorm

        figure = new_figure(9.0, 6.0)
        axes = figure.subplots()
        axes.grid(False)
        axes.set_facecolor("#dddddd")
        drawn = axes.pcolormesh(cells, norm=LogNorm() if log_z else None, cmap="viridis", gid="map")
        for which, levels in ((axes.xaxis, columns), (axes.yaxis, rows)):
            step = -(-len(levels) // 20)
            which.set_ticks(np.arange(0, len(levels), step) + 0.5, [_tick(v) for v in levels[::step]])
        if cells.size <= 80:
            _write_cells(axes, drawn, cells)
        axes.set(xlabel=_axis(table, x), ylabel=_axis(table, y))
        bar = figure.colorbar(drawn, ax=axes)
        bar.set_label(_axis(table, z))
        level = " or ".join(sorted({f"{100 * p.confidence:g} %" for p in table.points}))
        told = [_shared(table, z)]
        if np.isfinite(half).any():
            told.append(f"{level} intervals: ± {np.nanmax(half):.2g} at most")
        if np.isnan(cells).any():
            told.append("grey: no such point")
        axes.set_title(f"{_capital(table.name(z))}\n" + "; ".join(t for t in told if t), loc="left")
    return figure


def _write_cells(axes, drawn, cells):
    """The value in each cell, dark on light and light on dark."""
    for (row, column), value in np.ndenumerate(cells):
        if np.isfinite(value):
            red, green, blue, _ = drawn.cmap(drawn.norm(value))
            dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
            axes.text(column + 0.5, row + 0.5, f"{value:.4g}", ha="center", va="center", fontsize=7.5,
                      color="white" if dark else "black", gid="value")  # fmt: skip


def _estimate(table, name, what):
    """The estimate to draw."""
    if name is None:
        found = [n for n in MAIN if n in table.estimates] or table.estimates
        if not found:
            raise UserError("no point has an estimate to draw: nothing is counted yet")
        return found[0]
    key = table.resolve(name, what)
    if key not in table.estimates:
        raise UserError(
            f"{what} = {name!r}: is no estimate; estimates there are: {', '.join(table.estimates) or 'none'}"
        )
    return key


def _with(table, name):
    return table.take([row for row, point in enumerate(table.points) if name in point.estimates])


def _swept(table, name, what, other=None):
    """A parameter that takes several values, another than that of the other axis."""
    key = table.varying(name, what, other)
    if other is not None and key == table.resolve(other):
        raise UserError(f"{what} = {name!r}: is on the other axis too; give two different ones")
    return key


def _grouping(table, name):
    key = table.resolve(name, "--by")
    if key != "file" and key not in table.parameters:
        raise UserError(f"--by {name!r}: is not a parameter; swept: {', '.join(table.swept) or 'nothing'}")
    return key


def _widest(table, other=None):
    """The swept parameter with the most values, numbers before words."""
    keys = [key for key in table.swept if key != other]
    if not keys:
        raise UserError(
            "nothing" + (" else" if other else "") + " is swept here: there is no value to draw against"
        )
    return max(keys, key=lambda k: (_numeric(table.column(k)), len(set(map(comparable, table.column(k))))))


def _numeric(values):
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def _levels(values):
    found = list(dict.fromkeys(map(comparable, values)))
    return sorted(found) if _numeric(found) else found


def _check_apart(table, keys, what):
    """Refuse to draw points over each other that differ in something else."""
    left = table.spanning(keys)
    if left:
        by = f"{what}: " if what == "--z" else f"{what} {', '.join(keys[1:]) or '(nothing)'}: "
        advice = "hold it with --where" if what == "--z" else "add it with --by or hold it with --where"
        raise UserError(f"{by}points also differ in {', '.join(left)}; {advice}")


def _check_log(option, key, values):
    if not option:
        return
    bad = next((v for v in values if not isinstance(v, (int, float)) or v <= 0), None)
    if bad is not None:
        raise UserError(f"{option}: {key} is {bad} at a point; a logarithmic axis needs numbers above 0")


def _lines(table, x, by):
    """(label, rows in the order of x) of every line."""
    groups = {}
    for row, values in enumerate(
        zip(*(table.column(key) for key in by), strict=True) if by else [()] * len(table)
    ):
        groups.setdefault(tuple(map(comparable, values)), []).append(row)
    at = table.column(x)
    found = []
    for values, rows in groups.items():
        if _numeric(at):
            rows.sort(key=at.__getitem__)
        parts = [entry(key, v) for key, v in zip(by, values, strict=True) if v is not None]
        found.append((", ".join(parts) or "all points", rows))
    return found


def _line(axes, table, line, y, x, places, label, stroke, marker):
    """Means of one line with their intervals; the legend's handle."""
    at = table.column(x)
    at = np.array(
        [at[row] if places is None else places.index(comparable(at[row])) for row in line], np.float64
    )
    values = [table.points[row].estimates[y] for row in line]
    mean = np.array([v.mean for v in values])
    low, high = (np.array([np.nan if e is None else e for e in ends], np.float64)
                 for ends in zip(*((v.low, v.high) for v in values), strict=True))  # fmt: skip
    look = {"color": stroke["color"], "marker": marker, "ms": 4.5, "lw": 1.4}
    (handle,) = axes.plot(
        at, mean, ls="" if places is not None else stroke["ls"], label=label, gid="mean", **look
    )
    if places is None and len(line) > 1:
        axes.fill_between(at, low, high, color=stroke["color"], alpha=0.22, lw=0, gid="band")
    else:
        axes.vlines(at, low, high, color=stroke["color"], lw=1.4, gid="interval")
    return handle


def _axis(table, key):
    """Name and unit of a column, for an axis or a heading."""
    unit = table.unit(key)
    return table.name(key) + ("" if unit in ("1", key) else f" [{unit}]")


def _shared(table, shown):
    """What the points have in common, and how much was counted of what is shown: measures may differ in that."""
    common, _ = names(table.points)
    measure = MEASURE_OF.get(shown)
    if measure in ("stacks", "reordering"):
        found = [[p.tallies[measure].total if measure in p.tallies else 0 for p in table.points]]
    else:
        found = [table.column("trials"), table.column("runs")]
    counted = []
    for column, one in zip(found, ("trials", "training runs"), strict=False):
        totals = [t for t in column if t]
        if totals:
            least, most = min(totals), max(totals)
            counted.append(
                f"{most:,} {one} a point" if least == most else f"{least:,} to {most:,} {one} a point"
            )
    return ", ".join(t for t in (common, *counted) if t)


def _tick(value):
    return (
        f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
    )


def _capital(text):
    return text[:1].upper() + text[1:]
