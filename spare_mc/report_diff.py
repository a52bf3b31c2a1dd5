"""What ``spare-mc diff`` prints: differences with intervals, a winner where there is one."""

from . import printing
from .commands.common import number
from .comparisons import BETTER
from .estimates import NAMES, UNITS
from .matching import differences
from .report_point import cell
from .selection import Table


def label(key, value):
    """A value of a parameter as a name of a side: a word as it is, a number with its parameter."""
    return cell(value) if isinstance(value, str) else f"{key.rpartition('.')[2]} {cell(value)}"


def winner(comparison, name):
    """Who has the better value of an estimate, in words; "not told apart" where the interval contains zero."""
    found = comparison.differences[name]
    if found.difference.low is None:
        return "no interval: too few trials, or no spread"
    if not found.told_apart:
        return "not told apart"
    more = found.difference.mean > 0
    if name not in BETTER:
        return f"{comparison.second.label} {'higher' if more else 'lower'}"
    best = comparison.second if more == (BETTER[name] > 0) else comparison.first
    return f"{best.label} better"


def as_json(comparisons, same, overall, level, alone):
    """The object that ``diff --json`` prints (docs/reading.md)."""
    return {
        "confidence": overall,
        "interval_confidence": level,
        "intervals": sum(len(c.differences) for c in comparisons),
        "points_without_partner": alone,
        "same_points": [
            {"id": a.point.id, "first": a.label, "second": b.label, "verdict": told} for a, b, told in same
        ],
        "comparisons": [_record(c) for c in comparisons],
    }


def _record(comparison):
    first, second = comparison.first, comparison.second
    differing = differences(first.point, second.point)
    return {
        "first": {"label": first.label, "id": first.point.id, "parameters": first.point.parameters},
        "second": {"label": second.label, "id": second.point.id, "parameters": second.point.parameters},
        "differing_parameters": {key: list(pair) for key, pair in differing.items()},
        "paired": comparison.unpaired is None,
        "why_not_paired": comparison.unpaired,
        "differences": {
            name: {
                **found.difference._asdict(),
                "first": found.first,
                "second": found.second,
                "unit": UNITS.get(name, "1"),
                "pairs": found.trials,
                "correlation": found.correlation,
                "verdict": winner(comparison, name),
            }
            for name, found in comparison.differences.items()
        },
    }


def print_diff(comparisons, same, overall, level, alone, by):
    """Print comparisons as tables, one for every pair of labels, and what was not compared."""
    groups = {}
    for c in comparisons:
        groups.setdefault((c.first.label, c.second.label), []).append(c)
    for (first, second), members in groups.items():
        _table(first, second, members, by).print()
        for line in _notes(members, by):
            print(line)
        print()
    count = sum(len(c.differences) for c in comparisons)
    if count:
        each = "" if count == 1 else f" together (Bonferroni: each at {100 * level:.6g} %)"
        what = "interval" if count == 1 else f"{count:,} intervals"
        print(f"difference = second - first; {100 * overall:g} % confidence of the {what}{each}")
    for told in dict.fromkeys(verdict for *_, verdict in same):
        many = sum(verdict == told for *_, verdict in same)
        print(f"{many:,} {'point' if many == 1 else 'points'} of both: {told}")
    if same and not comparisons and not alone and all(told == "identical" for *_, told in same):
        print("the files hold the same points, random numbers and counts: identical")
    if alone:
        print(
            f"{alone:,} {'point has' if alone == 1 else 'points have'} no partner and {_is(alone)} left out"
        )


def _is(count):
    return "is" if count == 1 else "are"


def _table(first, second, members, by):
    drawn = printing.Table(f"{second} against {first}")
    keys = _told(members, by)
    for key in keys:
        drawn.add_column(key.rpartition(".")[2], right=True)
    drawn.add_column("estimate")
    for heading in ("first", "second", "difference", "interval", "relative", "pairs", "correlation"):
        drawn.add_column(heading, right=True)
    drawn.add_column("verdict")
    for c in members:
        for name, found in c.differences.items():
            unit = UNITS.get(name, "1")
            d = found.difference
            drawn.add_row(
                *(cell(c.first.point.parameters.get(key)) for key in keys),
                NAMES.get(name, name).strip() + ("" if unit == "1" else f" [{unit}]"),
                number(found.first),
                number(found.second),
                f"{d.mean:+.4g}",
                "-" if d.low is None else f"{d.low:+.4g} .. {d.high:+.4g}",
                f"{100 * d.mean / found.first:+.3g} %" if found.first else "-",
                "-" if found.trials is None else f"{found.trials:,}",
                "-" if found.correlation is None else f"{found.correlation:.2f}",
                winner(c, name),
            )
    return drawn


def _told(members, by):
    """Parameters that tell the comparisons of a table apart, without what follows from them."""
    return [key for key in Table([c.first.point for c in members]).spanning() if key != by]


def _notes(members, by):
    """What differs besides, and why trials are not paired."""
    besides = {}
    for c in members:
        for key, pair in differences(c.first.point, c.second.point).items():
            if key != by:
                besides.setdefault(key, []).append(pair)
    if besides:
        told = (
            f"{key} {cell(pairs[0][0])} and {cell(pairs[0][1])}" if len(set(map(str, pairs))) == 1 else key
            for key, pairs in besides.items()
        )
        yield f"{'the two differ in' if by == 'file' else 'besides, the two differ in'} {', '.join(told)}"
    for reason in dict.fromkeys(c.unpaired for c in members if c.unpaired):
        yield f"not paired: {reason}; the two deviations add up"
