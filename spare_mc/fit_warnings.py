"""What speaks against a fit, one line each."""

from .durations import duration

_RARE = 0.01  # probability below which a test is told as a warning


def chance(p):
    """A probability for people."""
    return "< 1e-6" if p < 1e-6 else f"{p:.2g}"


def warnings_of(report):
    """Warnings about a fits.Report, a list of str."""
    found = []
    log = report.log
    if log.outages and report.units_from.startswith("only"):
        found.append(
            f"the units that exist are not known: the {report.units} that appear are taken for all, which makes rates "
            "too high if others never failed; state how many exist with --units"
        )
    if report.unknown_unit and log.outages:
        found.append(
            f"{report.unknown_unit:,} failures name no unit: the rates of units are too low by as much"
        )
    found.extend(_bursts(report))
    if report.trend and report.trend["lewis_robinson_p"] < _RARE:
        way = "more frequent" if report.trend["laplace"] > 0 else "rarer"
        found.append(
            f"failures become {way} over the window (Laplace's U = {report.trend['laplace']:.2f}; for clustered gaps "
            f"{report.trend['lewis_robinson']:.2f}, p {chance(report.trend['lewis_robinson_p'])}): one law for all of "
            "it means little; fit a part with --from and --to"
        )
    if report.differing and report.differing["p_value"] < _RARE:
        found.append(
            f"units fail at different rates (dispersion {report.differing['statistic']:.2f} where alike gives 1, p "
            f"{report.differing['p_value']:.2g}): one law for all units mixes good and bad ones, and its hazard falls "
            "for that reason alone"
        )
    for level in report.levels.values():
        found.extend(_level(level, log))
    return found


def _bursts(report):
    bursts, failures = report.bursts, len(report.log.starts)
    zeros = bursts["zero_gaps"]
    if zeros < 3 or bursts["p_value"] >= _RARE:
        return
    grave = "; the fit of the system's gaps means little" if zeros > 0.1 * failures else ""
    yield (
        f"bursts: {zeros:,} of {failures:,} failures come at the moment of the one before, up to {bursts['largest']} "
        f"at once ({bursts['by_chance']:.2g} would by chance at a resolution of {bursts['resolution_s']:g} s): "
        f"independent failures do not explain them{grave}"
    )


def _level(level, log):
    best = level.best
    if best is None:
        yield f"{level.level}: no law could be fitted: {next(iter(level.refused.values()))}"
        return
    if best.mean > log.length:
        yield (
            f"{level.level}: the mean {duration(best.mean)} of the best law is longer than the window, "
            f"{duration(log.length)}: it rests on the law's tail"
        )
    tested = level.goodness.get(best.law)
    if tested and tested["p_value"] is not None and tested["p_value"] <= 0.05:
        yield (
            f"{level.level}: even the best law, {best.law}, differs from the gaps by more than chance "
            f"(p {tested['p_value']:.2g})"
        )
