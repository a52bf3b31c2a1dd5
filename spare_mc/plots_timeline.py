"""A picture of one training run."""

import numpy as np

from .plots_common import COLOURS, GREY, checked_path, new_figure, save, style
from .timeline import many


def plot_timeline(found, path, of_what=None):
    """Committed steps, depth and failures of one run against wall time.

    Parameters
    ----------
    found : spare_mc.timeline.Timeline
    path : .png, .svg or .pdf file; an existing picture is replaced
    of_what : which run of which point, for the title's second line

    Returns the path.
    """
    path = checked_path(path)
    of = {
        kind: [e for e in found.events if e.kind == kind]
        for kind in ("step", "failure", "reorder", "save", "restart", "return")
    }
    span = found.summary["wall"] / 3600e6
    unit, scale = ("days", 86400e6) if span > 72 else ("hours", 3600e6)

    def times(events):
        return np.array([e.time for e in events]) / scale

    with style():
        figure = new_figure(9.0, 6.0)
        steps, depth, failures = figure.subplots(3, 1, sharex=True, height_ratios=(2.4, 1, 1))
        for axes in (steps, depth, failures):
            for number, e in enumerate(of["restart"]):
                label = "restart" if axes is steps and number == 0 else None
                axes.axvspan(e.time / scale, e.a / scale, color=COLOURS[1], alpha=0.25, lw=0, label=label)
        steps.plot(times(of["step"]), [e.a for e in of["step"]], color=COLOURS[0], label="committed steps")
        steps.plot(times(of["save"]), [e.a for e in of["save"]], linestyle="", marker="|", color="black",
                   markersize=6, label="save")  # fmt: skip
        steps.set_ylabel("committed steps")
        told = ", ".join(many(found.summary[f"{what}s"], what) for what in ("restart", "failure")) + " found"
        steps.legend(loc="upper left")
        depth.step(times(of["step"]), [e.b for e in of["step"]], where="post", color=COLOURS[2], linewidth=1)
        depth.set_ylabel("depth S")
        depth.set_ylim(0.5, max((e.b for e in of["step"]), default=1) + 0.5)
        depth.yaxis.get_major_locator().set_params(integer=True)
        if of["return"]:
            told += f", {many(found.summary['returns'], 'return')}"
            at, out = groups_out(found.events)
            failures.step(at / scale, out, where="post", color=GREY, linewidth=0.8)
            failures.set_ylabel("groups out")
        else:
            since = np.sort([e.time for e in of["restart"]])
            at = np.array([e.time for e in of["failure"]], float)
            order = np.sort(at)
            life = np.searchsorted(since, order, side="right")
            first = np.searchsorted(life, np.arange(len(since) + 1))
            count = np.arange(len(order)) - first[life] + 1 if len(order) else order
            failures.plot(order / scale, count, linestyle="", marker=".", markersize=2, color=GREY)
            failures.set_ylabel("failures since\nthe restart")
        steps.set_title(f"One training run: {told}" + (f"\n{of_what}" if of_what else ""), loc="left")
        failures.set_xlabel(f"wall time [{unit}]")
        failures.set_xlim(0, found.summary["wall"] / scale)
        return save(figure, path)


def groups_out(events):
    """Groups out over a run, as ``(times [us], groups out from then on)``: found failed, back again, or restarted."""
    change = {"failure": 1, "return": -1}
    times, out = [0.0], [0]
    for event in sorted(events, key=lambda event: (event.time, event.kind == "restart")):
        if event.kind == "restart" or event.kind in change:
            times.append(float(event.time))
            out.append(0 if event.kind == "restart" else out[-1] + change[event.kind])
    return np.array(times), np.array(out)
