"""The [failures] block of a study that a fit gives."""

from .durations import duration
from .errors import UserError
from .fit_laws import LAWS


def law_block(report, level=None, unit_is="node", law=None):
    """TOML to paste into a study, and its values.

    Parameters
    ----------
    report : fits.Report
    level : "unit" (default where units are known) or "system"
    unit_is : what a unit of the log is in a study: node, gpu or group
    law : name of a fitted law; None takes the one of least AIC

    Returns
    -------
    (text, values): values holds the keys of [failures], durations in seconds; (reason, None) where no law was fitted.
    """
    level = level or ("unit" if "unit" in report.levels and report.levels["unit"].fits else "system")
    if level not in report.levels:
        raise UserError(f"--block = {level!r}: no failure of this log names a unit; allowed is system")
    fits = report.levels[level].fits
    if law is not None and law not in LAWS:
        raise UserError(f"--law = {law!r}: must be one of {', '.join(LAWS)}")
    found = next(iter(fits.values()), None) if law is None else fits.get(law)
    if found is None:
        return "no law could be fitted at this level", None
    what = unit_is if level == "unit" else "system"
    key = f"{what}_mtbf"
    values = {"law": found.law}
    if found.shape is not None:
        values["shape"] = round(found.shape, 4)
    if what == "system" or (what != "group" and found.law != "exponential"):
        values["clock_level"] = what
    values[key] = float(f"{found.mean:.6g}")
    lines = ["[failures]", *(f"{name} = {_toml(value)}" for name, value in values.items())]
    level_text = "each unit's" if level == "unit" else "the whole system's"
    lines[-1] += f"  # seconds: {duration(found.mean)}, {level_text} mean time to failure"
    notes = []
    if level == "unit" and found.law != "exponential":
        notes.append(
            "a study's clocks start fresh: where the hazard falls with age, first failures come early; for units that "
            "have run for long replay the log, or take --law exponential"
        )
    if level == "system":
        notes.append(
            f"the rate of all {report.units or ''} units of the log; scale it to your size".replace("  ", " ")
        )
        notes.append(
            "one clock of the whole system: its gaps have this law, and a failure hits a group at random"
        )
    best = report.levels[level].best
    if best.law != found.law:
        notes.append(f"{best.law} fits better: AIC {best.aic:.1f} against {found.aic:.1f}")
    return "\n".join([*(f"# {note}" for note in notes), *lines]), values


def _toml(value):
    return f'"{value}"' if isinstance(value, str) else repr(value)
