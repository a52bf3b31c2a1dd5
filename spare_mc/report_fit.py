"""The text report of ``spare-mc fit``."""

from datetime import datetime, timezone

from .durations import duration
from .fit_warnings import chance
from .printing import Table, bold
from .trace_exposure import most_down

_UNITS = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def print_report(name, records, report, block):
    """Print a fits.Report of a file, its law block, and the units with most failures."""
    _reading(name, records)
    _cleaning(records, report)
    _overview(records, report)
    for level in report.levels.values():
        _level(level, report)
    _tests(report)
    _each(report)
    if report.warnings:
        print("\n" + bold("Warnings"))
        for text in report.warnings:
            print(f"  {text}")
    print("\n" + bold("For a study"))
    print(block)


def _reading(name, records):
    print(f"{bold(str(name))}: {records.kind}, {records.rows:,} rows")
    for what, how in records.reading.items():
        print(f"  {what}: {how}")


def _cleaning(records, report):
    lines = [("left out", text, count) for text, count in records.left_out.items()]
    lines += [("noted", text, count) for text, count in records.noted.items()]
    lines += [("cleaned", text, count) for text, count in report.log.done.items()]
    print(bold("Cleaning") + ("" if lines else ": nothing to do"))
    for kind, text, count in lines:
        print(f"  {kind}: {count:,} {text}")


def _moment(seconds, records):
    if not records.calendar:
        return f"{duration(seconds)}"
    zone = timezone.utc
    if records.zone.upper() != "UTC":
        from zoneinfo import ZoneInfo

        zone = ZoneInfo(records.zone)
    try:
        return datetime.fromtimestamp(seconds, zone).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):  # beyond the years 1 to 9999
        return f"{seconds:g} s"


def _overview(records, report):
    log = report.log
    begin, end = (_moment(t, records) for t in log.window)
    print(bold("Observation"))
    print(f"  window: {begin} to {end}, {log.length / 86400:,.2f} days")
    merged = (
        "" if log.listed == len(log.starts) else f" ({log.listed:,} before overlapping outages were merged)"
    )
    print(f"  failures: {len(log.starts):,}{merged}, one in {duration(log.length / len(log.starts))}")
    if log.outages:
        print(f"  units: {report.units:,} exist ({report.units_from}), {len(log.outages):,} appear")
    if report.availability is not None:
        print(
            f"  availability: {report.availability:.5f} over {report.units:,} units; "
            f"at most {most_down(log):,} down together"
        )


def _level(level, report):
    gaps, choices = level.gaps, report.choices
    if level.level == "system":
        head = f"Whole system: {len(gaps.whole):,} gaps between failures"
    else:
        head = f"Each unit: {len(gaps.whole):,} up times between failures"
    parts = [f"{len(gaps.cut):,} cut off by the end"] if len(gaps.cut) else []
    if len(gaps.first):
        parts.append(f"{len(gaps.first):,} first ones of units in steady state")
    if len(gaps.never):
        parts.append(f"{len(gaps.never):,} units that never failed")
    print(f"\n{bold(head)}" + (", " + ", ".join(parts) if parts else ""))
    if level.zero_gaps:
        used = f"set to {choices.floor:g} s" if choices.zero_gaps == "floor" else "left out"
        other = "left out" if choices.zero_gaps == "floor" else f"set to {choices.floor:g} s"
        told = (
            ""
            if level.other_shape is None
            else f"; {other}, the Weibull shape would be {level.other_shape:.3f}"
        )
        print(f"  gaps of no length: {level.zero_gaps:,}, {used}{told}")
    if level.level == "system" and report.as_listed:
        _as_listed(report.as_listed, choices)
    if level.fits:
        length, unit = next(u for u in _UNITS if level.best.mean >= 2 * u[0] or u[0] == 1.0)
        table = Table(gap=4, indent=2)
        for column in (
            "law",
            f"mean, {unit}",
            "interval",
            "shape",
            "interval",
            "AIC - best",
            "distance",
            "p",
        ):
            table.add_column(column, right=column != "law")
        for fit in level.fits.values():
            tested = level.goodness[fit.law]
            p = tested["p_value"]
            shape = ("-", "-") if fit.shape is None else (
                f"{fit.shape:.3f}" + (" (sigma)" if fit.law == "lognormal" else ""),
                f"{fit.shape_low:.3f} .. {fit.shape_high:.3f}",
            )  # fmt: skip
            table.add_row(
                fit.law,
                f"{fit.mean / length:.4g}",
                f"{fit.mean_low / length:.4g} .. {fit.mean_high / length:.4g}",
                *shape,
                f"{fit.aic - level.best.aic:.1f}",
                f"{tested['distance']:.3f}",
                "-" if p is None else f"{p:.2g}",
            )
        table.print()
        print(f"  {_goodness(level, choices)}")
    for law, why in level.refused.items():
        print(f"  {law}: not fitted: {why}")


def _as_listed(listed, choices):
    shapes = [listed[f"weibull_shape_{how}"] for how in ("floor", "drop")]
    told = ["-" if shape is None else f"{shape:.3f}" for shape in shapes]
    print(
        f"  not used: with duplicates and overlaps kept, {listed['failures']:,} failures and {listed['zero_gaps']:,} "
        f"gaps of no length, the Weibull shape would be {told[0]} (set to {choices.floor:g} s), {told[1]} (left out)"
    )


def _goodness(level, choices):
    intervals = f"intervals: {100 * choices.confidence:g} %, from the observed information on the logarithms"
    if not choices.repeats:
        return f"{intervals}; goodness of fit not tested (--bootstrap 0)"
    p = level.goodness[level.best.law]["p_value"]
    if p is None:
        told = f"the best law, {level.best.law}, could not be tested"
    elif p <= 0.05:
        told = f"even the best law, {level.best.law}, is rejected at 5 %"
    else:
        told = f"the best law, {level.best.law}, is not rejected at 5 %"
    how = f"p: {choices.repeats} simulated logs fitted again, seed {choices.seed}"
    return f"{intervals}\n  distance: Kolmogorov-Smirnov, Kaplan-Meier against the law; {how}; {told}"


def _tests(report):
    print("\n" + bold("Tests"))
    trend, bursts = report.trend, report.bursts
    if trend is None:
        print("  trend: too few failures")
    else:
        print(
            f"  trend: Laplace's U = {trend['laplace']:.2f} (p {chance(trend['laplace_p'])}); allowing for "
            f"clustered gaps (Lewis and Robinson) {trend['lewis_robinson']:.2f} (p {chance(trend['lewis_robinson_p'])})"
        )
    print(
        f"  bursts: {bursts['zero_gaps']:,} failures at the moment of the one before, {bursts['by_chance']:.2g} by "
        f"chance at the log's resolution of {bursts['resolution_s']:g} s"
    )
    if report.differing:
        print(
            f"  units alike: dispersion {report.differing['statistic']:.2f} (1 where alike), "
            f"p {report.differing['p_value']:.2g}"
        )


def _each(report):
    each = report.choices.each
    if not each or not report.each:
        return
    table = Table(gap=4, indent=2)
    for column in (
        "unit",
        "failures",
        "up, days",
        "mean time to failure",
        f"{100 * report.choices.confidence:g} %",
        "Weibull shape",
        "interval",
    ):
        table.add_column(column, right=column != "unit")
    for row in report.each[:each]:
        high = "-" if row["mtbf_high_s"] is None else duration(row["mtbf_high_s"])
        mean = "-" if row["mtbf_s"] is None else duration(row["mtbf_s"])
        shape = ("-", "-")
        if row["weibull_shape"] is not None:
            shape = (
                f"{row['weibull_shape']:.3f}",
                f"{row['weibull_shape_low']:.3f} .. {row['weibull_shape_high']:.3f}",
            )
        table.add_row(
            row["unit"], f"{row['failures']:,}", f"{row['up_s'] / 86400:.1f}", mean,
            f"{duration(row['mtbf_low_s'])} .. {high}", *shape,
        )  # fmt: skip
    left = len(report.each) - each
    print("\n" + bold("Units with most failures") + (f", {left:,} more in --json" if left > 0 else ""))
    table.print()
