"""From a study's sections to its combinations of values: lists, ranges, formulas, zipped keys, exclusions.

Several swept keys are crossed, in the order of the sections and of the keys within, the last one varying fastest;
keys zipped together go in step, at the place of the first of them.
"""

import ast
import itertools
import math
import re

from .errors import UserError, nearest
from .study_model import KEYS, SWEPT, is_list, number_kind, number_of

_RANGE = re.compile(
    r"\s*(?P<low>[^=]+?)\s*\.\.\s*(?P<high>.+?)(?:\s+(?P<how>by|linear|log)\s+(?P<many>\S+))?\s*$"
)
_FUNCTIONS = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "log": math.log,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
}
MAX_POINTS = 1_000_000


def combinations(raw, sweep, label):
    """The combinations that a study asks for.

    Parameters
    ----------
    raw : dict section -> dict key -> value, a list, a range or a formula (docs/study.md)
    sweep : the study's section [sweep], validated
    label : what messages call the study

    Returns
    -------
    list of ``{section: {key: value}}``, formulas worked out, excluded ones left out.

    Raises UserError naming the key, its value and what is allowed.
    """
    axes = list(_axes(raw, label))
    axes = _zipped(axes, sweep.zip or [], label)
    many = math.prod(len(values) for _, values in axes)
    if many > MAX_POINTS:
        sizes = " x ".join(str(len(values)) for _, values in axes if len(values) > 1)
        raise UserError(f"{label}: {many:,} points ({sizes}): at most {MAX_POINTS:,} in one study")
    formulas = {}  # (key, text) -> _Formula: parsed once, worked out for every combination
    excluded = [_Formula(text, "sweep.exclude", label) for text in sweep.exclude or []]
    found = []
    for chosen in itertools.product(*(values for _, values in axes)):
        combination = {section: {} for section in SWEPT}
        for (keys, _), values in zip(axes, chosen, strict=True):
            for (section, name), value in zip(keys, values, strict=True):
                combination[section][name] = value
        _work_out(combination, formulas, label)
        if not (excluded and _is_excluded(combination, excluded)):
            found.append(combination)
    if not found:
        raise UserError(f"{label}: sweep.exclude leaves none of the {many:,} combinations")
    return found


def _axes(raw, label):
    """Yield ``([(section, name)], [(value,), ...])`` for every key of the swept sections."""
    for section in SWEPT:
        for name, value in raw.get(section, {}).items():
            dotted = f"{section}.{name}"
            if name in KEYS[section] and is_list(dotted):
                values = (
                    value if value and isinstance(value, list) and isinstance(value[0], list) else [value]
                )
            else:
                values = value if isinstance(value, list) else [value]
                values = [v for part in values for v in _expanded(dotted, part, label)]
            if not values:
                raise UserError(f"{dotted} = []: an empty list sweeps nothing; give at least one value")
            yield [(section, name)], [(v,) for v in values]


def _expanded(dotted, value, label):
    """The values of a range, or the value itself."""
    if isinstance(value, dict):
        return _range(dotted, value, str(value), label)
    if isinstance(value, str) and ".." in value and not value.startswith("=") and number_kind(dotted):
        match = _RANGE.match(value)
        if match is None:
            raise UserError(f"{label}: {dotted} = {value!r}: {_ALLOWED}")
        given = {"from": match["low"], "to": match["high"]}
        if match["how"]:
            given[match["how"]] = match["many"]
        return _range(dotted, given, value, label)
    return [value]


_ALLOWED = (
    'a range is "LOW..HIGH", "LOW..HIGH by STEP", "LOW..HIGH linear COUNT" or "LOW..HIGH log COUNT", or a table '
    "{ from, to } with one of by, linear, log"
)


def _range(dotted, given, told, label):
    """Values of a range, both ends among them where the step allows."""
    kind = number_kind(dotted)

    def refuse(why):
        raise UserError(f"{label}: {dotted} = {told!r}: {why}")

    if kind is None:
        refuse("only numbers and durations have ranges; give a list of values")
    unknown = [key for key in given if key not in ("from", "to", "by", "linear", "log")]
    ways = [key for key in ("by", "linear", "log") if key in given]
    if unknown or len(ways) > 1 or not {"from", "to"} <= set(given):
        refuse(_ALLOWED)
    if not ways and kind != "count":
        refuse("by STEP, linear COUNT or log COUNT must follow; only whole numbers have step 1 of themselves")
    way = ways[0] if ways else "by"
    try:
        low, high = number_of(dotted, given["from"]), number_of(dotted, given["to"])
        many = number_of(dotted if way == "by" else "sampling.trials", given.get(way, 1))
    except ValueError as error:
        refuse(error)
    if not (math.isfinite(low) and math.isfinite(high)) or low > high:
        refuse("the low end must not be above the high end")
    if way == "by":
        if not many > 0:
            refuse("the step must be above 0")
        count = math.floor((high - low) / many + 1e-9) + 1
        if count > MAX_POINTS:
            refuse(f"{count:,} values; at most {MAX_POINTS:,}")
        values = [low + i * many for i in range(count)]
    else:
        if not 2 <= many <= MAX_POINTS:
            refuse(f"{way} needs a count of values from 2 to {MAX_POINTS:,}")
        if way == "log" and low <= 0:
            refuse("a log range must begin above 0")
        shares = [i / (many - 1) for i in range(many)]
        values = [low + (high - low) * s if way == "linear" else low * (high / low) ** s for s in shares]
        values[-1] = high
    if kind == "count":
        return list(dict.fromkeys(round(v) for v in values))
    # Twelve digits: powers differ in the last places between machines, and a point's identity must not.
    return [float(f"{v:.12g}") for v in values]


def _zipped(axes, groups, label):
    """The axes with those that go in step joined into one."""
    places = {f"{s}.{n}": i for i, ([(s, n)], _) in enumerate(axes)}
    joined, gone = list(axes), set()
    for group in groups:
        for key in group:
            if key not in places:
                known = [k for k, i in places.items() if len(axes[i][1]) > 1]
                raise UserError(
                    f"{label}: sweep.zip: {key!r} is no key with a list of values; {nearest(key, known)}"
                )
            if key in gone:
                raise UserError(f"{label}: sweep.zip: {key!r} is named twice; a key goes in step once")
            gone.add(key)
        mine = sorted(places[key] for key in group)
        sizes = {len(axes[i][1]) for i in mine}
        if len(sizes) > 1:
            told = ", ".join(f"{key} has {len(axes[places[key]][1])}" for key in group)
            raise UserError(f"{label}: sweep.zip: keys in step need as many values each: {told}")
        keys = [key for i in mine for key in axes[i][0]]
        values = [tuple(v for i in mine for v in axes[i][1][at]) for at in range(sizes.pop())]
        joined[mine[0]] = (keys, values)
        for i in mine[1:]:
            joined[i] = None
    return [axis for axis in joined if axis is not None]


class _Formula:
    """An expression over study keys, parsed once."""

    def __init__(self, text, key, label):
        from simpleeval import SimpleEval

        self.text, self.key, self.label = text, key, label
        self._evaluator = SimpleEval(functions=_FUNCTIONS)
        try:
            ast.parse(
                text, mode="eval"
            )  # one expression: the library would take the first of several, with a warning
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            hint = "; write == to compare" if re.search(r"[^=!<>]=[^=]", text) else ""
            self._refuse(f"{getattr(error, 'msg', None) or error}{hint}")
        try:
            self._parsed = self._evaluator.parse(text)
        except Exception as error:  # its own errors, and SyntaxError
            self._refuse(error)

    def __call__(self, names):
        self._evaluator.names = names
        try:
            return self._evaluator.eval(self.text, previously_parsed=self._parsed)
        except _Waiting:
            raise
        except _Unset as error:
            raise UserError(f"{self.label}: {self.key} = {self.text!r}: {error.args[0]}") from None
        except Exception as error:  # whatever arithmetic can raise
            self._refuse(error)

    def _refuse(self, error):
        detail = " ".join(str(error).split()) or type(error).__name__
        raise UserError(
            f"{self.label}: {self.key} = {self.text!r}: cannot be worked out: {detail}; an expression holds numbers, "
            f"text in quotes, study keys such as cluster.groups, and {', '.join(_FUNCTIONS)}"
        ) from None


class _Unset(Exception):
    """A key without a value was asked for."""


class _Waiting(Exception):
    """A key whose own formula is still to be worked out was asked for."""


class _Names(dict):
    """Names in expressions: sections, and short names where only one section has such a key."""

    def __init__(self, combination):
        super().__init__({s: _Values(s, combination.get(s, {})) for s in SWEPT})

    def __contains__(self, name):
        return True

    def __missing__(self, name):
        owners = [s for s in SWEPT if name in KEYS[s]]
        if len(owners) == 1:
            return self[owners[0]][name]
        if owners:
            raise _Unset(f"{name!r} may be {' or '.join(f'{s}.{name}' for s in owners)}; name the section")
        known = {n for s in SWEPT for n in KEYS[s]}
        raise _Unset(f"unknown name {name!r}; {nearest(name, known)}")


class _Values(dict):
    """Values of one section's keys, numbers as numbers, defaults where nothing is given."""

    def __init__(self, section, given):
        super().__init__()
        self._section, self._given = section, given

    def __missing__(self, name):
        known = KEYS[self._section]
        if name not in known:
            raise _Unset(f"unknown key {self._section}.{name}; {nearest(name, known)}")
        value = self._given.get(name, known[name].default)
        if value is None:
            raise _Unset(f"{self._section}.{name} has no value")
        if _is_formula(value):
            raise _Waiting(f"{self._section}.{name}")
        dotted = f"{self._section}.{name}"
        try:
            return number_of(dotted, value) if number_kind(dotted) else value
        except ValueError as error:
            raise _Unset(f"{dotted} = {value!r}: {error}") from None


def _is_formula(value):
    return isinstance(value, str) and value.startswith("=")


def _work_out(combination, formulas, label):
    """Replace formulas by their values, those that others need first."""
    waiting = [(s, n) for s, values in combination.items() for n, v in values.items() if _is_formula(v)]
    while waiting:
        left = []
        for section, name in waiting:
            text = combination[section][name]
            key = f"{section}.{name}"
            if (key, text) not in formulas:
                formulas[key, text] = _Formula(text[1:].strip(), key, label)
            try:
                combination[section][name] = formulas[key, text](_Names(combination))
            except _Waiting:
                left.append((section, name))
        if len(left) == len(waiting):
            told = ", ".join(f"{s}.{n} = {combination[s][n]!r}" for s, n in left)
            raise UserError(f"{label}: {told}: formulas that need each other")
        waiting = left


def _is_excluded(combination, formulas):
    names = _Names(combination)
    return any(formula(names) for formula in formulas)
