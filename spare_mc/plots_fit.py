"""Picture of the laws fitted to a failure log: hazard over age, and quantiles against quantiles."""

import numpy as np

from .plots_common import COLOURS, DASHES, GREY, checked_path, new_figure, save, style

_BINS_A_DECADE = 4
_LEAST_FAILURES = 4  # of a bin; sparser ones are joined with the next


def plot_fit(report, path, name):
    """Draw the fits of a log, a row of two panels for the whole system and one for its units.

    Parameters
    ----------
    report : fits.Report
    path : .png, .svg or .pdf file to write; an existing picture is replaced
    name : of the log, for the title

    Returns the path. Raises UserError for an unknown ending, a missing Matplotlib or folder.
    """
    path = checked_path(path)
    return save(fit_figure(report, name), path)


def fit_figure(report, name):
    """The figure of ``plot_fit``, a matplotlib.figure.Figure."""
    levels = [level for level in report.levels.values() if level.fits and len(level.gaps.whole)]
    with style():
        figure = new_figure(10.0, 0.6 + 3.9 * len(levels))
        grid = figure.subplots(len(levels), 2, squeeze=False)
        for (left, right), level in zip(grid, levels, strict=True):
            what = "whole system" if level.level == "system" else "each unit"
            _hazard(left, level, report.choices.confidence)
            _quantiles(right, level)
            left.set_title(f"Hazard, {what}", loc="left")
            right.set_title(f"Gaps against fitted laws, {what}", loc="left")
        figure.suptitle(
            f"{name}: {len(report.log.starts):,} failures in {report.log.length / 86400:,.1f} days"
        )
    return figure


def empirical_hazard(gaps, confidence=0.95):
    """Failures per second at risk in bins of age, equally wide in the logarithm.

    Parameters
    ----------
    gaps : trace_exposure.Gaps; whole and cut ones count, as the age of first ones is unknown
    confidence : of the exact Poisson intervals

    Returns
    -------
    float64[bins, 5]: from age, to age [s], hazard, its low and high [1/s]
    """
    from scipy.special import gammaincinv

    ages = np.concatenate([gaps.whole, gaps.cut])
    low, high = gaps.whole.min(), ages.max()
    count = max(1, int(np.ceil(_BINS_A_DECADE * np.log10(high / low)))) if high > low else 1
    edges = np.geomspace(low, high, count + 1)
    edges[0], edges[-1] = 0.0, high
    tail = (1 - confidence) / 2
    rows, begin = [], 0.0
    for end in edges[1:]:
        upper = gaps.whole <= end if end == high else gaps.whole < end
        failed = int(((gaps.whole >= begin) & upper).sum())
        if failed < _LEAST_FAILURES and end < high:
            continue
        at_risk = float((np.clip(ages, begin, end) - begin).sum())
        if at_risk > 0:
            least = gammaincinv(failed, tail) if failed else 0.0
            rows.append(
                (begin, end, failed / at_risk, least / at_risk, gammaincinv(failed + 1, 1 - tail) / at_risk)
            )
        begin = end
    return np.array(rows)


def kaplan_meier(gaps):
    """(times, shares): each whole gap [s] in order, and the share that lasts longer, in the middle of its step."""
    times = np.concatenate([gaps.whole, gaps.cut])
    failed = np.arange(len(times)) < len(gaps.whole)
    order = np.lexsort((~failed, times))
    times, failed = times[order], failed[order]
    after = np.cumprod(np.where(failed, 1.0 - 1.0 / np.arange(len(times), 0, -1), 1.0))
    before = np.concatenate([[1.0], after[:-1]])
    return times[failed], ((before + after) / 2)[failed]


def _unit(seconds):
    return next(
        (u for u in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")) if seconds >= 2 * u[0]), (1.0, "s")
    )


def _laws(level):
    from .fit_laws import LAWS  # imports SciPy, which other pictures do without

    for number, (name, fit) in enumerate(level.fits.items()):
        label = name + (" (least AIC)" if number == 0 else "")
        yield LAWS[name], fit, {"color": COLOURS[number], "ls": DASHES[number % 4], "label": label}


def _hazard(axes, level, confidence):
    scale, unit = _unit(level.best.mean)
    bins = empirical_hazard(level.gaps, confidence)
    begin, end, rate, low, high = bins.T
    begin = np.where(begin > 0, begin, end / 10 ** (1 / _BINS_A_DECADE))
    middle = np.sqrt(begin * end)
    axes.errorbar(middle / scale, rate * scale, np.array([rate - low, high - rate]) * scale, fmt="o", ms=4,
                  color="black", elinewidth=1, label=f"log, bar: {100 * confidence:g} % interval")  # fmt: skip
    ages = np.geomspace(begin.min(), end.max(), 200)
    for _, fit, look in _laws(level):
        axes.plot(ages / scale, fit.hazard(ages) * scale, lw=1.4, **look)
    axes.set(xscale="log", yscale="log", xlabel=f"age since the last failure [{unit}]",
             ylabel=f"hazard [failures per {unit.rstrip('s') if unit != 's' else 's'}]")  # fmt: skip
    positive = np.concatenate([low[low > 0], rate[rate > 0], high]) * scale
    axes.set_ylim(positive.min() / 3, positive.max() * 3)
    axes.legend()


def _quantiles(axes, level):
    scale, unit = _unit(level.best.mean)
    times, shares = kaplan_meier(level.gaps)
    inside = (shares > 0) & (shares < 1)
    times, shares = times[inside], shares[inside]
    if len(times) > 1500:  # a picture has no more places to show
        kept = np.unique(np.geomspace(1, len(times), 1500).astype(int) - 1)
        kept = np.union1d(kept, len(times) - kept - 1)
        times, shares = times[kept], shares[kept]
    for law, fit, look in _laws(level):
        look = {**look, "ls": "", "marker": ".", "ms": 3.5}
        axes.plot(law.exceeded(shares, fit.mean, fit.shape) / scale, times / scale, **look)
    ends = np.array([times.min(), times.max()]) / scale
    axes.plot(ends, ends, color=GREY, lw=1, label="equal")
    axes.set(xscale="log", yscale="log", xlabel=f"gap by the law [{unit}]", ylabel=f"gap in the log [{unit}]")
    axes.set_xlim(ends[0] / 30, ends[1] * 30)
    axes.legend(markerscale=2.5)
