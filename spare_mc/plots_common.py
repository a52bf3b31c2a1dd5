"""What the pictures share: style, names of points, saving. Matplotlib is imported when the first picture is drawn."""

import io
import os
import textwrap
from itertools import cycle
from math import floor, log10
from pathlib import Path

import numpy as np

from .errors import UserError

FORMATS = ("png", "svg", "pdf")

# Okabe and Ito's palette, safe for the common colour-vision deficiencies, without its yellow (pale on white);
# black is kept for what is exact.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", (0, (6, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
GREY = "#666666"

STYLE = {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.hashsalt": "spare-mc",
}

_TITLE = 58  # characters of a line of a title

# What tells points apart, in the order in which it is said; the keys left out follow from these.
_SAID = (
    ("layout.kind", "{}"),
    ("cluster.groups", "N = {}"),
    ("layout.redundancy", "r = {}"),
    ("layout.seed", "layout seed {}"),
    ("failures.law", "{}"),
    ("failures.shape", "shape {}"),
    ("failures.system_mtbf", "MTBF {} s"),
    ("domains.placement", "{} placement"),
)


def new_figure(width, height):
    """An empty figure drawn by Agg, tied to no window system and to no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def style():
    """Context manager that sets the style while a figure is built or saved; UserError without Matplotlib."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise UserError(
            "pictures need matplotlib, which is not installed: pip install 'spare-mc[plot]'"
        ) from None
    return rc_context(STYLE)


def checked_path(path):
    """The path of a picture: its ending one of FORMATS, its folder there; UserError otherwise, before drawing."""
    path = Path(path)
    if path.suffix[1:].lower() not in FORMATS:
        allowed = ", ".join("." + ending for ending in FORMATS)
        raise UserError(f"{path}: the ending {path.suffix!r} names no picture format; allowed are {allowed}")
    if not path.parent.is_dir():
        raise UserError(f"{path}: cannot be written: there is no folder {path.parent}")
    return path


def save(figure, path):
    """Write a figure whole: drawn in memory first, so that a failure leaves no half picture. Returns the path."""
    kind = path.suffix[1:].lower()
    buffer = io.BytesIO()
    metadata = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with style():
        figure.savefig(buffer, format=kind, dpi=160, metadata=metadata)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_bytes(buffer.getvalue())
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def strokes(count):
    """How to draw each of some curves: dicts of colour, dash and width.

    The first 24 differ, the first six by colour alone. Earlier curves are wider, so that one which a later curve
    covers is still seen around it.
    """
    pairs = ((colour, dash) for dash in cycle(DASHES) for colour in COLOURS)
    widths = np.linspace(3.4 if count > 1 else 1.8, 1.4 if count > 1 else 1.8, count)
    return [{"color": c, "ls": d, "lw": w} for (c, d), w in zip(pairs, widths, strict=False)]


def _value(value):
    if isinstance(value, (bool, str)):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def entry(key, value):
    """A parameter's value as the legend says it: "golomb", "r = 9", "MTBF 300 s"."""
    text = dict(_SAID).get(key) or ("{}" if key == "file" else key.split(".")[-1].replace("_", " ") + " {}")
    return text.format(_value(value))


def names(results):
    """(what all points have in common, [what tells each apart]): short texts for title and legend."""
    keys = [(key, text) for key, text in _SAID if any(key in r.parameters for r in results)]
    known = {key for key, _ in _SAID}
    others = sorted(
        {key for r in results for key in r.parameters} - known - {"layout.offsets", "layout.digest"}
    )
    keys += [(key, key.split(".")[-1].replace("_", " ") + " {}") for key in others]
    common, parts = [], [[] for _ in results]
    for key, text in keys:
        values = [r.parameters.get(key) for r in results]
        if all(v == values[0] for v in values):
            if key in known:
                common.append(text.format(_value(values[0])))
            continue
        if key == "layout.seed" and len(set(values) - {None}) == 1:
            continue  # one random layout among others: its kind says it all
        for part, value in zip(parts, values, strict=True):
            if value is not None:
                part.append(text.format(_value(value)))
    labels = [", ".join(part) for part in parts]
    if len(set(labels)) < len(labels):
        labels = _told_apart(results, labels)
    return ", ".join(common), labels


def _told_apart(results, labels):
    """Labels of points alike in everything listed: by offsets, seed or, last, by identity."""
    for extra in (
        lambda r: "offsets " + ", ".join(str(o) for o in r.parameters.get("layout.offsets", [])),
        lambda r: f"seed {r.seed}",
        lambda r: r.id[:8],
    ):
        more = [extra(r) for r in results]
        if len(set(more)) == 1:
            continue
        labels = [", ".join(x for x in (a, b) if x) for a, b in zip(labels, more, strict=True)]
        if len(set(labels)) == len(labels):
            break
    return labels


def with_error(estimate):
    """ "302.69 ± 0.08": two digits of the half-width, and as many decimals of the mean."""
    if estimate.low is None or estimate.high == estimate.low:
        return f"{estimate.mean:,.6g}"
    half = (estimate.high - estimate.low) / 2
    decimals = max(0, 1 - floor(log10(half)))
    return f"{estimate.mean:,.{decimals}f} ± {half:.{decimals}f}"


def title(what, common, trials):
    """Title of a picture: what it shows, and of what; ``trials`` is a list, one number a point."""
    least, most = min(trials), max(trials)
    if least < most:
        text = f"{least:,} to {most:,} trials"
    else:
        text = f"{most:,} trial{'s' if most > 1 else ''}{' each' if len(trials) > 1 else ''}"
    told = ", ".join(x for x in (common, text) if x)
    return "\n".join([what, *textwrap.wrap(told, _TITLE)])  # no wider than the axes beside a legend


def thinned(stop, most=4000):
    """Indices 0..stop-1, at most about ``most`` of them: a picture has no more columns to show."""
    return np.unique(np.linspace(0, stop - 1, min(stop, most)).astype(np.int64))


def interval_entry(results, mark="band", text="{} interval", alpha=0.2):
    """The legend's entry for the intervals of some points: ``mark`` is how they are drawn, "band" or "bar"."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    level = " or ".join(sorted({f"{100 * r.confidence:g} %" for r in results}))
    label = f"{mark}: {text.format(level)}"
    if mark == "band":
        return Patch(color=GREY, alpha=alpha, lw=0, label=label)
    return Line2D([], [], color=GREY, lw=1.4, label=label)


def legend_beside(figure, handles, heading=None):
    """A legend to the right of the axes, never over the data; the figure grows with it."""
    lines = sum(1 + handle.get_label().count("\n") for handle in handles) + 2
    figure.set_figheight(max(figure.get_figheight(), 0.17 * lines + 0.4))
    return figure.legend(handles=handles, loc="outside right upper", title=heading, alignment="left")
