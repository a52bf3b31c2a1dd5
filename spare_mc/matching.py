"""Which points are compared: pairs that differ in one parameter, or that come from two files."""

from itertools import combinations

from .conditions import comparable
from .errors import UserError

_FOLLOW = ("layout.digest", "layout.offsets")  # from the other keys of a layout, unless it is a custom one


def pairs_by(table, by, against=None):
    """Pairs of points that differ in one column and agree in every other parameter that both have.

    A parameter that takes one value for each of the two values of ``by`` goes with it (the seed of a random layout,
    the all-reduce time with the groups) and may differ.

    Parameters
    ----------
    table : selection.Table
    by : resolved column: a parameter, or "file"
    against : the value that every other one is compared with; None compares all values with each other

    Returns
    -------
    list of (first row, second row), the row of ``against`` first

    Raises UserError where no two points make a pair.
    """
    values = [comparable(v) for v in table.column(by)]
    levels = list(dict.fromkeys(v for v in values if v is not None))
    if against is None:
        chosen = list(combinations(levels, 2))
    else:
        if against not in levels:
            raise UserError(
                f"--against {against}: {by} does not take that value; it takes {', '.join(map(str, levels))}"
            )
        chosen = [(against, level) for level in levels if level != against]
    rows = {level: [row for row, v in enumerate(values) if v == level] for level in levels}
    kept = [_kept(point.parameters, by) for point in table.points]
    found = [pair for a, b in chosen for pair in _agreeing(kept, rows[a], rows[b])]
    if not found and by == "file":
        found = _but_for_one(kept, chosen, rows)
    if not found:
        differing = _differing(kept, range(len(kept)))
        raise UserError(
            f"no two points agree in all but {by}: they differ in {', '.join(differing)}; hold some with --where"
        )
    return found


def _kept(parameters, by):
    """The parameters of a point that say which point it is, but for ``by``."""
    custom = parameters["layout.kind"] == "custom"
    return {k: comparable(v) for k, v in parameters.items() if k != by and (custom or k not in _FOLLOW)}


def _agreeing(kept, first, second, left_out=()):
    """Pairs of rows that agree in every key both have, but for those that go with the column compared."""
    own = {k for k in _keys(kept, first, second) if _constant(kept, first, k) and _constant(kept, second, k)}
    free = own | set(left_out)
    shared = [k for k in _keys(kept, first, second) if k not in free]
    sure = [k for k in shared if all(k in kept[row] for row in (*first, *second))]  # to look pairs up by
    others = [k for k in shared if k not in sure]
    places = {}
    for row in second:
        places.setdefault(tuple(kept[row][k] for k in sure), []).append(row)
    return [
        (row, other)
        for row in first
        for other in places.get(tuple(kept[row][k] for k in sure), ())
        if all(kept[row][k] == kept[other][k] for k in others if k in kept[row] and k in kept[other])
    ]


def _but_for_one(kept, chosen, rows):
    """Pairs that agree in all but one more key, where there is one such key only."""
    found = {}
    for key in _differing(kept, range(len(kept))):
        pairs = [pair for a, b in chosen for pair in _agreeing(kept, rows[a], rows[b], (key,))]
        if pairs:
            found[key] = pairs
    return next(iter(found.values())) if len(found) == 1 else []


def _keys(kept, first, second):
    return dict.fromkeys(k for rows in (first, second) for row in rows for k in kept[row])


def _constant(kept, rows, key):
    return len({kept[row].get(key) for row in rows}) == 1


def _differing(kept, rows):
    return [k for k in _keys(kept, rows, ()) if not _constant(kept, rows, k)]


def differences(first, second):
    """Parameters that two points differ in, without what only follows from others: key -> (value, value)."""
    keys = dict.fromkeys([*first.parameters, *second.parameters])
    found = {}
    for key in keys:
        pair = first.parameters.get(key), second.parameters.get(key)
        if pair[0] != pair[1]:
            found[key] = pair
    plain = {k: v for k, v in found.items() if k not in _FOLLOW}
    return plain or found
