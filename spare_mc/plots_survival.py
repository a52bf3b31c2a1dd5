"""Picture of survival curves: sampled with band, exact, closed forms; below, the rare side on a logarithmic scale."""

import numpy as np

from . import theory
from .errors import UserError
from .estimates import curve_band, pattern_tally
from .failure_streams import has_stream
from .plots_common import (
    GREY,
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
from .references import References, independent_curve, rare_loss, references

_NOTHING = References(None, None, None)
FEW = 80  # up to so many places a curve is drawn as the steps that it is
CIRCLES = {"ls": "", "marker": "o", "ms": 4, "mfc": "white", "mew": 1.0, "zorder": 3}
DIAMONDS = {**CIRCLES, "marker": "D", "ms": 3}

# What the marks that are no samples mean, in full.
_BOUNDS = "proven bounds on the loss: from single\ntypes and from pairs of types; no sampling"
_INDEPENDENT = "approximation: every shard type is lost\nindependently of the others"
_LIMIT = "no trial was lost: upper end of the\ninterval of the loss"


def plot_survival(results, path):
    """Draw survival curves of points, exact values and closed forms over them, and their loss below.

    Parameters
    ----------
    results : list of PointResult; those with failure patterns (survival, stacks, reordering) are drawn
    path : .png, .svg or .pdf file to write; an existing picture is replaced

    Returns the path. Raises UserError for an unknown ending, nothing to draw, a missing Matplotlib, or a
    folder that cannot be written.
    """
    path = checked_path(path)
    return save(survival_figure(results), path)


def survival_figure(results):
    """The figure of ``plot_survival``, a matplotlib.figure.Figure."""
    results = [r for r in results if pattern_tally(r) is not None]
    if not results:
        raise UserError("no point holds failure patterns to plot: run measure survival, stacks or reordering")
    with style():
        common, labels = names(results)
        figure = new_figure(9.6, 6.4)
        upper, lower = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 2]})
        # under a failure stream nothing exact is known, and the closed forms do not apply
        plain = [r for r in results if not has_stream(r.parameters)]
        found = [_NOTHING if has_stream(r.parameters) else references(r) for r in results]
        stop = max(_shown(r, ref) for r, ref in zip(results, found, strict=True))
        handles, kinds = [], {}
        for result, reference, label, stroke in zip(
            results, found, labels, strokes(len(results)), strict=True
        ):
            handles.append(_sampled(upper, lower, result, label, stroke, stop))
            if has_stream(result.parameters):
                continue
            if reference.exact is None:
                kinds.update(_bounds(lower, result, stroke["color"], stop))
            else:
                kinds.update(_exact(upper, lower, reference, stroke["color"], stop))
        sizes = _sizes(results) if plain else {}
        for size, colour in sizes.items():
            kinds.update(_closed_forms(upper, lower, size, colour, stop))
        if plain:
            kinds["mu"].set_label(_mu_label(sizes))
        else:
            kinds.update(_limit())
        kinds["band"] = interval_entry(results, text="{} interval at each k")
        upper.set(ylabel="share of trials still alive", ylim=(-0.02, 1.02), xlim=(0, stop - 1))
        upper.set_title(
            title("Survival of failures", common, [pattern_tally(r).total for r in results]), loc="left"
        )
        lower.set(xlabel="failures so far, k", ylabel="probability of a wipe-out\nwithin k failures")
        lower.set_yscale("log")
        lower.minorticks_off()
        lower.set_ylim(_floor(results, found), 1.5)
        legend_beside(figure, [*handles, *kinds.values()], "mean wipe-out index")
    return figure


def _shown(result, reference):
    """How many places to show: all with somebody alive, or with an exact chance that can be seen."""
    last = int(np.flatnonzero(result.curves["survival"])[-1])
    if reference.exact is not None:
        last = max(last, int(np.flatnonzero(reference.exact > 1e-3)[-1]))
    return min(last + 2, result.parameters["cluster.groups"] + 1)


def _floor(results, found):
    """Where the rare side ends: below what the trials could see, and at 1e-12 if references reach so far."""
    least = 0.5 / max(pattern_tally(r).total for r in results)
    for result, reference in zip(results, found, strict=True):
        if reference.loss is not None:
            least = min(least, reference.loss[reference.loss > 0].min())
        elif has_stream(result.parameters):
            continue
        elif (bounds := rare_loss(result, 10**12, 24)) is not None and bounds[1].any():
            least = min(least, bounds[1][bounds[1] > 0].min())
    return 10.0 ** np.floor(np.log10(max(least, 1e-12)))


def _places(stop, curve):
    k = thinned(min(stop, len(curve)))
    return k, {"drawstyle": "steps-post"} if stop <= FEW else {}


def _sampled(upper, lower, result, label, stroke, stop):
    """Sampled curve and its band in both panels; the legend's handle."""
    alive, lost = result.curves["survival"], result.curves["loss"]
    k, steps = _places(stop, alive)
    text = f"{label or 'sampled'}: {with_error(result.estimates['wipeout_index'])}"
    line = {**stroke, "gid": "sampled", **steps}
    (handle,) = upper.plot(k, alive[k], label=text, **line)
    seen = lost[k] > 0
    lower.plot(k, np.where(seen, lost[k], np.nan), **line)
    for axes, name in ((upper, "survival"), (lower, "loss")):
        low, high = curve_band(result, name)
        shown = np.ones(len(k), bool) if axes is upper else seen
        step = "post" if steps else None
        axes.fill_between(
            k, low[k], high[k], shown, color=stroke["color"], alpha=0.2, lw=0, step=step, gid="band"
        )
    limit = np.where(seen, np.nan, high[k])
    lower.plot(k, limit, color=stroke["color"], ls=(0, (1, 3)), lw=1, gid="limit", **steps)
    return handle


def _exact(upper, lower, reference, colour, stop):
    """Exact values as open circles on the curves. Legend entries."""
    from matplotlib.lines import Line2D

    k = np.arange(min(stop, len(reference.exact)))
    k = k[:: max(1, len(k) // 40)]
    upper.plot(k, reference.exact[k], mec=colour, gid="exact", **CIRCLES)
    lower.plot(
        k, np.where(reference.loss[k] > 0, reference.loss[k], np.nan), mec=colour, gid="exact", **CIRCLES
    )
    return {"exact": Line2D([], [], mec=GREY, label="exact, no sampling", **CIRCLES)}


def _bounds(lower, result, colour, stop):
    """Rigorous bounds of the rare loss as bars between open diamonds; where they meet, one diamond is seen."""
    from matplotlib.lines import Line2D

    found = rare_loss(result, 10**12, 24)
    if found is None:
        return {}
    k, low, high = (values[found[0] < stop] for values in found)
    lower.vlines(k, low, high, color=colour, lw=1, zorder=3)
    for ends in (low, high):
        lower.plot(k, ends, mec=colour, gid="bounds", **DIAMONDS)
    return {"bounds": Line2D([], [], mec=GREY, label=_BOUNDS, **DIAMONDS)}


def _sizes(results):
    """(N, r) -> colour: that of the one point that has it, grey where several do or where there is only one."""
    sizes = [(r.parameters["cluster.groups"], r.parameters["layout.redundancy"]) for r in results]
    lone = len(set(sizes)) > 1
    return {
        size: stroke["color"] if lone and sizes.count(size) == 1 else GREY
        for size, stroke, r in zip(sizes, strokes(len(sizes)), results, strict=True)
        if not has_stream(r.parameters)
    }


def _closed_forms(upper, lower, size, colour, stop):
    """The approximation by independent types, and mu on the axis of failures. Legend entries."""
    from matplotlib.lines import Line2D

    curve = independent_curve(*size)
    k, steps = _places(stop, curve)
    dashed = {"color": colour, "ls": (0, (4, 2)), "lw": 1.0, "zorder": 1.5}
    upper.plot(k, curve[k], gid="independent", **dashed, **steps)
    lower.plot(k, np.where(curve[k] < 1, 1 - curve[k], np.nan), gid="independent", **dashed, **steps)
    mu = theory.mu(*size)
    dotted = {"color": colour, "ls": ":", "lw": 1.3, "zorder": 1.5}
    for axes in (upper, lower):
        axes.axvline(mu, gid="mu", **dotted)
    return {
        "independent": Line2D([], [], label=_INDEPENDENT, **{**dashed, "color": GREY}),
        **_limit(),
        "mu": Line2D([], [], **{**dotted, "color": GREY}),
    }


def _limit():
    """Legend entry of the limit of what so many trials could see."""
    from matplotlib.lines import Line2D

    return {"limit": Line2D([], [], label=_LIMIT, color=GREY, ls=(0, (1, 3)), lw=1)}


def _mu_label(sizes):
    """The paper's closed form for every (N, r) drawn; the first eight are told."""
    if len(sizes) == 1:
        return f"the paper's closed form μ: {theory.mu(*next(iter(sizes))):,.2f}"
    groups = {n for n, _ in sizes}
    texts = [
        f"r = {r}{f', N = {n:,}' if len(groups) > 1 else ''}: {theory.mu(n, r):,.2f}"
        for n, r in sorted(sizes)
    ]
    return "\n   ".join(["the paper's closed form μ", *texts[:8], *(["..."] if len(texts) > 8 else [])])
