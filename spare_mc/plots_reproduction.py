"""Time-to-train and availability against redundancy, ours and the published."""

from .conditions import comparable
from .errors import UserError
from .plots_common import COLOURS, checked_path, entry, interval_entry, new_figure, save, style
from .selection import Table

# What a search for the best setting varies at every redundancy: beyond few lines the best of them is drawn
_CHECKPOINTS = ("training.checkpoint_period", "training.checkpoint_steps", "training.checkpoint")
_MANY = 8  # lines of one size

_FIELDS = (("time_to_train_ratio", "time-to-train / failure-free time"), ("availability", "availability"))


def plot_reproduction(results, path):
    """Draw the points of ``spare_mc.reproduce`` against r: a column a cluster size, ratio above, availability below.

    Parameters
    ----------
    results : list of PointResult with training runs
    path : .png, .svg or .pdf file; an existing picture is replaced

    Lines are ours with their intervals, crosses the published runs (N = 600), stars the paper's headline values. Where
    checkpoints are swept too, into more than a few lines, a line goes through the best of each redundancy, the others
    are faint dots.
    Returns the path. Raises UserError where nothing was finished.
    """
    from . import published

    path = checked_path(path)
    done = [r for r in results if "time_to_train_ratio" in r.estimates]
    if not done:
        raise UserError(f"{path}: no point has a finished training run to draw")
    sizes = sorted({r.parameters["cluster.groups"] for r in done})
    others = Table(done).spanning(("cluster.groups", "layout.redundancy", "training.scheme", "failures.law"))
    with style():
        figure = new_figure(max(7.5, 1.5 + 3.4 * len(sizes)), 6.2)
        grid = figure.subplots(2, len(sizes), squeeze=False, sharex="col", sharey="row")
        for column, groups in enumerate(sizes):
            here = [r for r in done if r.parameters["cluster.groups"] == groups]
            series = _series(here, others)
            searched = len(series) > _MANY and len(_series(here, others, _CHECKPOINTS)) < len(series)
            if searched:
                series = _series(here, others, _CHECKPOINTS)
            for number, (key, points) in enumerate(sorted(series.items(), reverse=True)):
                colour = COLOURS[number % len(COLOURS)]
                label = ", ".join(key) + (", best checkpoint of each r" if searched else "")
                if searched:
                    _dots(grid[:, column], points, colour)
                    points = _best(points)
                points.sort(key=lambda r: r.parameters["layout.redundancy"])
                for row, (name, _) in enumerate(_FIELDS):
                    _line(grid[row, column], points, name, colour, label)
                _published(grid[:, column], points, key[:2], groups, colour, published.runs())
            if points[0].parameters["training.rules"] == "paper":
                schemes = {scheme for scheme, law, *_ in series if law == "weibull"}  # the law of that table
                _stars(grid[:, column], groups, schemes, published.headline())
            grid[0, column].set_title(f"N = {groups}", loc="left")
            grid[1, column].set_xlabel("redundancy r")
            grid[1, column].xaxis.get_major_locator().set_params(integer=True)
        for row, (_, label) in enumerate(_FIELDS):
            grid[row, 0].set_ylabel(label)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        for axes in grid[0, 1:]:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                if label not in labels:
                    handles.append(handle)
                    labels.append(label)
        handles.append(interval_entry(done, alpha=0.25))
        labels.append(handles[-1].get_label())
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
        return save(figure, path)


def _series(points, others, without=()):
    """Points by what tells lines apart: scheme, law, and of the keys ``others`` all but ``without``."""
    series = {}
    for r in points:
        p = r.parameters
        told = tuple(entry(k, comparable(p[k])) for k in others if k in p and k not in without)
        series.setdefault((p["training.scheme"], p.get("failures.law", "no law"), *told), []).append(r)
    return series


def _best(points):
    """The point of least time-to-train at every redundancy."""
    best = {}
    for r in points:
        at = r.parameters["layout.redundancy"]
        if at not in best or _ratio(r) < _ratio(best[at]):
            best[at] = r
    return list(best.values())


def _ratio(result):
    return result.estimates[_FIELDS[0][0]].mean


def _dots(column, points, colour):
    redundancies = [r.parameters["layout.redundancy"] for r in points]
    for axes, (name, _) in zip(column, _FIELDS, strict=True):
        values = [r.estimates[name].mean for r in points]
        axes.plot(
            redundancies,
            values,
            linestyle="",
            marker=".",
            markersize=4,
            color=colour,
            alpha=0.35,
            gid="others",
        )


def _line(axes, points, name, colour, label):
    redundancies = [r.parameters["layout.redundancy"] for r in points]
    values = [r.estimates[name] for r in points]
    axes.plot(redundancies, [v.mean for v in values], color=colour, marker="o", markersize=3, label=label)
    if all(v.low is not None for v in values):
        axes.fill_between(
            redundancies, [v.low for v in values], [v.high for v in values], color=colour, alpha=0.25, lw=0
        )


def _published(column, points, key, groups, colour, known):
    found = [(r, known[(*key, groups, r.parameters["layout.redundancy"])]) for r in points
             if (*key, groups, r.parameters["layout.redundancy"]) in known]  # fmt: skip
    if not found or points[0].parameters["training.rules"] != "paper":
        return
    redundancies = [r.parameters["layout.redundancy"] for r, _ in found]
    for axes, values in (
        (column[0], [row["total_s"] / _failure_free(r) for r, row in found]),
        (column[1], [row["availability"] for _, row in found]),
    ):
        label = "published runs, three seeds" if key == ("spare", "weibull") else None
        axes.plot(redundancies, values, linestyle="", marker="x", markersize=5, color="black", label=label)


def _stars(column, groups, schemes, headline):
    for (scheme, n), row in headline.items():
        if n == groups and scheme in schemes:
            label = "the paper's headline table" if scheme == "spare" else None
            for axes, (name, _) in zip(column, _FIELDS, strict=True):
                axes.plot(row["redundancy"], row[name], linestyle="", marker="*", markersize=11, color="none",
                          markeredgecolor="black", label=label)  # fmt: skip


def _failure_free(result):
    from .training_setup import failure_free_time

    return failure_free_time(result.parameters)
