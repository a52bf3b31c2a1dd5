"""Laws fitted to a cleaned failure log, for the whole system and for its units, and what speaks against them."""

from dataclasses import asdict, dataclass, field, replace

import numpy as np

from . import fit_checks
from .errors import UserError
from .fit_laws import LAWS
from .fit_likelihood import Fit, fit
from .fit_warnings import warnings_of
from .trace_exposure import (
    Gaps,
    availability,
    checked_units,
    down_time,
    most_down,
    system_gaps,
    unit_gaps,
)

ZERO_GAPS = ("floor", "drop")
CLOCKS = ("steady", "new")
_OWN_FIT = 10  # failures of a unit from which it is fitted on its own


@dataclass(frozen=True)
class Choices:
    """How to fit.

    Attributes
    ----------
    units : units that exist, or None for what the log says
    zero_gaps : "floor" sets gaps shorter than ``floor`` seconds to it, "drop" leaves gaps of no length out
    floor : seconds
    clocks : "steady": units have run for long when observation starts; "new": they are new then
    confidence : of the intervals
    repeats : simulated logs for the goodness of fit; 0: none
    seed : of the simulations
    each : units, those with most failures, that are fitted each on its own
    """

    units: int | None = None
    zero_gaps: str = "floor"
    floor: float = 1.0
    clocks: str = "steady"
    confidence: float = 0.95
    repeats: int = 99
    seed: int = 0
    each: int = 5


@dataclass(frozen=True)
class Level:
    """The fits of one level, "system" or "unit".

    Attributes
    ----------
    level, gaps : what was fitted, zero gaps treated
    zero_gaps : gaps of no length there were
    fits : {law: Fit}, least AIC first
    goodness : {law: dict} of fit_checks.goodness; simulated for the best law
    other_shape : Weibull shape with zero gaps treated the other way, or None
    refused : {law: why it could not be fitted}
    """

    level: str
    gaps: Gaps
    zero_gaps: int
    fits: dict
    goodness: dict
    other_shape: float | None
    refused: dict

    @property
    def best(self):
        """The Fit of least AIC, or None."""
        return next(iter(self.fits.values()), None)


@dataclass(frozen=True)
class Report:
    """Everything found about a log; ``as_json`` gives it to machines."""

    log: object
    choices: Choices
    units: int
    units_from: str
    unknown_unit: int
    levels: dict
    trend: dict | None
    bursts: dict
    differing: dict | None
    each: list = field(repr=False)
    as_listed: dict | None
    warnings: list = field(default_factory=list)

    @property
    def availability(self):
        """Share of unit time up, or None where no outage has a length or no unit is known."""
        return availability(self.log, self.units) if self.log.ended and self.log.outages else None

    def as_json(self):
        """Plain values; durations are seconds."""
        log = self.log
        return {
            "window": {"begin_s": log.window[0], "end_s": log.window[1], "length_s": log.length},
            "failures": len(log.starts),
            "failures_listed": log.listed,
            "units": {"exist": self.units, "appear": len(log.outages), "source": self.units_from},
            "availability": self.availability,
            "down_time_s": down_time(log),
            "most_down_together": most_down(log) if log.ended else None,
            "cleaning": log.done,
            **{name: _level_json(level, self.choices) for name, level in self.levels.items()},
            "trend": self.trend,
            "bursts": self.bursts,
            "differing_units": self.differing,
            "as_listed": self.as_listed,
            "each_unit": self.each,
            "warnings": self.warnings,
        }


def _level_json(level, choices):
    fits = {}
    for name, found in level.fits.items():
        values = asdict(found)
        del values["law"]
        for key in ("mean", "mean_low", "mean_high"):
            values[key + "_s"] = values.pop(key)
        fits[name] = {**values, "shape_is": LAWS[name].shape_name, "goodness": level.goodness.get(name)}
    other = "drop" if choices.zero_gaps == "floor" else "floor"
    return {
        "gaps": len(level.gaps.whole),
        "gaps_cut": len(level.gaps.cut),
        "first_gaps": len(level.gaps.first),
        "never_failed": len(level.gaps.never),
        "exposure_s": level.gaps.exposure,
        "zero_gaps": level.zero_gaps,
        "zero_gaps_used": choices.zero_gaps,
        "floor_s": choices.floor,
        f"weibull_shape_{other}": level.other_shape,
        "best": None if level.best is None else level.best.law,
        "laws": fits,
        "not_fitted": level.refused,
    }


def shapes_as_listed(log, floor):
    """Weibull shapes of the system's gaps of a log left as it was listed, zero gaps treated in both ways.

    Returns dict: failures, zero_gaps, weibull_shape_floor, weibull_shape_drop (None where there is no fit).
    """
    gaps = system_gaps(log)
    found = {"failures": len(log.starts), "zero_gaps": int((gaps.whole <= 0).sum())}
    for how in ZERO_GAPS:
        try:
            found[f"weibull_shape_{how}"] = fit(_treated(gaps, how, floor), "weibull").shape
        except UserError:
            found[f"weibull_shape_{how}"] = None
    return found


def fit_log(log, records, choices=None, listed=None):
    """Fit all laws to a log.

    Parameters
    ----------
    log : trace_cleaning.Log
    records : trace_records.Records it was made from
    choices : Choices
    listed : the same log with duplicates and overlaps kept, to tell what dropping them changed, or None

    Returns a Report; UserError if fewer units are stated than appear, or there are too few failures for any fit.
    """
    choices = choices or Choices()
    units, source = checked_units(log, choices.units, records.units)
    levels = {"system": _level("system", system_gaps(log), choices, steady=False)}
    each, differing = [], None
    if log.outages:
        gaps = unit_gaps(log, units)
        steady = choices.clocks == "steady"
        levels["unit"] = _level("unit", gaps if steady else gaps.as_new(), choices, steady)
        each = _each_unit(log, choices)
        counts = np.array([unit["failures"] for unit in each] + [0] * (units - len(each)))
        watched = np.array([unit["up_s"] for unit in each] + [log.length] * (units - len(each)))
        differing = fit_checks.differing_units(counts, watched, choices.seed)
    if not any(level.fits for level in levels.values()):
        raise UserError(next(iter(levels["system"].refused.values())))
    unknown = sum(outage.unit is None for outage in records.outages)
    report = Report(
        log,
        choices,
        units,
        source,
        unknown,
        levels,
        fit_checks.trend(log),
        fit_checks.bursts(log),
        differing,
        each,
        None if listed is None else shapes_as_listed(listed, choices.floor),
    )
    report.warnings.extend(records.warnings + warnings_of(report))
    return report


def _treated(gaps, how, floor):
    return gaps.floored(floor) if how == "floor" else gaps.without_zeros()


def _level(name, gaps, choices, steady):
    zeros = int((gaps.whole <= 0).sum() + (gaps.first <= 0).sum())
    used = _treated(gaps, choices.zero_gaps, choices.floor)
    fits, goodness, refused = {}, {}, {}
    for law in LAWS:
        try:
            fits[law] = fit(used, law, choices.confidence)
        except UserError as error:
            refused[law] = str(error)
    fits = dict(sorted(fits.items(), key=lambda item: item[1].aic))
    best = next(iter(fits), None)  # simulated for the one that will be used
    for law, found in fits.items():
        repeats = choices.repeats if law == best else 0
        goodness[law] = fit_checks.goodness(used, found, repeats, choices.seed, steady)
    other = None
    if zeros and "weibull" in fits:
        how = "drop" if choices.zero_gaps == "floor" else "floor"
        try:
            other = fit(_treated(gaps, how, choices.floor), "weibull").shape
        except UserError:
            other = None
    return Level(name, used, zeros, fits, goodness, other, refused)


def _each_unit(log, choices):
    """Failures, up time and rate of each unit that appears, most failures first; exact Poisson intervals.

    The first ``choices.each`` have a Weibull shape of their own, from ten failures on.
    """
    from scipy.special import gammaincinv

    tail = (1 - choices.confidence) / 2
    rows = []
    for unit, spans in log.outages.items():
        count = int(log.fresh[unit].sum())
        up = log.length - float((spans[:, 1] - spans[:, 0]).sum())
        low = float(gammaincinv(count, tail)) if count else 0.0
        high = float(gammaincinv(count + 1, 1 - tail))
        rows.append(
            {
                "unit": unit,
                "failures": count,
                "up_s": up,
                "mtbf_s": up / count if count else None,
                "mtbf_low_s": up / high,
                "mtbf_high_s": up / low if low else None,
            }
        )
    rows.sort(key=lambda row: (-row["failures"], row["unit"]))
    for row in rows[: choices.each]:
        found = _own_fit(log, row["unit"], choices) if row["failures"] >= _OWN_FIT else None
        names = ("shape", "shape_low", "shape_high")
        row.update({f"weibull_{name}": None if found is None else getattr(found, name) for name in names})
    return rows


def _own_fit(log, unit, choices):
    """The Weibull Fit of one unit's up times, or None where there is none."""
    alone = replace(log, outages={unit: log.outages[unit]}, fresh={unit: log.fresh[unit]})
    gaps = unit_gaps(alone, 1)
    gaps = gaps if choices.clocks == "steady" else gaps.as_new()
    try:
        return fit(_treated(gaps, choices.zero_gaps, choices.floor), "weibull", choices.confidence)
    except UserError:
        return None


__all__ = ["CLOCKS", "ZERO_GAPS", "Choices", "Fit", "Level", "Report", "fit_log"]
