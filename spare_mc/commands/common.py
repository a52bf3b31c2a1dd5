"""What verbs share: options, printing."""

import json
import math

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


def print_json(value):
    """Print a value as JSON; numbers that are not finite become null, which every parser reads."""
    print(json.dumps(_finite(value), indent=2))


def _finite(value):
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def number(value, digits=6):
    """A number for people: None and NaN as a dash, whole numbers whole, others to some significant digits."""
    if value is None or value != value:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.2f}" if 100 <= abs(value) < 1e9 else f"{value:.{digits}g}"


def interval(estimate, digits=6):
    """``"low .. high"`` of an estimate, or that there is too little for one (a mean needs two observations)."""
    if estimate.low is None or estimate.high is None:
        return "too few for one"
    return f"{number(estimate.low, digits)} .. {number(estimate.high, digits)}"


def flag_value(text):
    """A flag's text as a study value: comma-separated lists sweep, numbers stay text for the study to check."""
    if not isinstance(text, str):
        return text
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 1 and "" in parts:
        raise click.UsageError(f"{text!r}: an entry of the list is empty")
    return parts[0] if len(parts) == 1 else parts
