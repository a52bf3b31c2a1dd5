"""A picture of one life of the controller."""

import numpy as np

from .plots_common import COLOURS, GREY, checked_path, new_figure, save, style


def plot_life(events, layout, path):
    """Depth with its bound, moves and patch stacks against failures, for one life.

    Parameters
    ----------
    events : list of ``spare_mc.kernels.reorder_life.Event``, a whole life
    layout : Layout it is of
    path : .png, .svg or .pdf file; an existing picture is replaced

    Returns the path.
    """
    from .theory import least_stack_bound

    path = checked_path(path)
    with style():
        figure = new_figure(7.5, 6.0)
        depth, moves, patch = figure.subplots(3, 1, sharex=True, height_ratios=(2, 1.3, 1.3))
        endured = events[:-1]
        failures = np.array([0, *(e.failures for e in endured)])
        depth.step(
            failures, [1, *(e.depth_after for e in endured)], where="post", color=COLOURS[0], label="depth S"
        )
        ks = np.arange(0, failures[-1] + 1)
        bound = np.asarray(least_stack_bound(ks, layout.groups))
        depth.step(ks, bound, where="post", color=GREY, linewidth=1, linestyle="--", label="bound c(k)")
        depth.axvline(events[-1].failures, color=COLOURS[1], linewidth=1, label="wipe-out")
        depth.set_ylabel("stacks")
        depth.yaxis.get_major_locator().set_params(integer=True)
        depth.legend(loc="upper left")
        depth.set_title(f"One life: {layout.kind}, N = {layout.groups}, r = {layout.redundancy}", loc="left")
        for axes, name, colour, label in (
            (moves, "moves", COLOURS[2], "moves"),
            (patch, "patch", COLOURS[3], "patch stacks"),
        ):
            axes.vlines(
                [e.failures for e in endured],
                0,
                [getattr(e, name) for e in endured],
                color=colour,
                linewidth=1,
            )
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
        patch.set_yscale("symlog", linthresh=10)  # a deeper prefix makes every group compute again
        patch.set_xlabel("failures so far")
        return save(figure, path)
