"""One point in full: all estimates with intervals, exact values and closed forms beside, and remarks."""

from . import failure_report, failure_streams
from .commands.common import interval, number
from .estimates import NAMES, UNITS
from .printing import Table
from .results import PointResult
from .stopping import TOTAL


def title(result: PointResult):
    """One line that says which point this is."""
    p = result.parameters
    text = f"{p['layout.kind']}, {p['cluster.groups']:,} groups, redundancy {p['layout.redundancy']}"
    if "cluster.gpus_per_group" in p:
        text += f", {p['cluster.groups'] * p['cluster.gpus_per_group']:,} GPUs"
    if "failures.system_mtbf" in p:
        law = p["failures.law"] + (f" (shape {p['failures.shape']:g})" if "failures.shape" in p else "")
        text += f", {law} failures, system MTBF {p['failures.system_mtbf']:g} s"
    more = failure_report.brief(p)
    return f"{text}, {more}" if more else text


def beside(result):
    """Exact values and closed forms to print beside estimates: name -> (exact or None, closed form or None).

    None under a failure stream: they are of independent identical groups.
    """
    from . import exact, failure_model, theory

    p = result.parameters
    if failure_streams.has_stream(p):
        return {}
    groups, redundancy = int(p["cluster.groups"]), int(p["layout.redundancy"])
    try:
        layout = result.layout
    except ValueError:  # a host table that the file holds only by its hash
        layout = None
    curve = None if layout is None else exact.survival_curve(layout)
    mu = theory.mu(groups, redundancy)
    index = None if curve is None else float(curve.sum())
    values = {
        "endurable_failures": (None if index is None else index - 1, mu - 1),
        "wipeout_index": (index, mu),
        "mean_stack": (None, theory.mean_least_stack_bound(groups, redundancy)),
    }
    if "failures.system_mtbf" in p:
        until = None if curve is None else failure_model.time_to_wipeout(curve, p)
        # mu m counts failures of groups; the clocks of fresh nodes or GPUs say little of the mean between those
        stated = mu * p["failures.system_mtbf"] if "failures.clock_level" not in p else None
        values["time_to_interruption_s"] = (until, stated)
    if result.runs and layout is not None:
        from .training_closed_forms import closed_forms

        values |= {name: (None, value) for name, value in closed_forms(p, layout).items()}
    return values


def point_table(result, file=None):
    """Every estimate of a point with its interval, exact values and closed forms beside; a printing.Table."""
    heading = f"{file}: {title(result)}" if file else title(result)
    table = Table(heading)
    level = f"{100 * result.confidence:g} % interval"
    values = beside(result)
    known = any(name in values for name in result.estimates)
    for heading in (
        "estimate",
        "mean",
        level,
        "std per trial",
        *(("exact", "closed form") if known else ()),
        "unit",
    ):
        table.add_column(heading, right=heading not in ("estimate", "unit"))
    for name, estimate in result.estimates.items():
        cells = [NAMES.get(name, name), number(estimate.mean), interval(estimate), number(estimate.std)]
        if known:
            cells += map(number, values.get(name, (None, None)))
        unit = UNITS.get(name, "")
        table.add_row(*cells, "" if unit == "1" else unit)
    return table


def _verdict_on_mu(result):
    """How far the paper's closed form is from what was found, in words."""
    from . import theory

    found = result.estimates.get("wipeout_index")
    if found is None or failure_streams.has_stream(result.parameters):
        return None
    mu = theory.mu(int(result.parameters["cluster.groups"]), int(result.parameters["layout.redundancy"]))
    off = found.mean / mu - 1
    compared = "more" if off >= 0 else "less"
    return (
        f"the wipe-out index is {abs(100 * off):.2g} % {compared} than the paper's closed form mu = {mu:,.2f}"
    )


def _totals(result):
    """Pattern measure -> trials counted; they differ where a run was cut short, or intervals decide."""
    return {m: t.total for m, t in result.tallies.items() if m != "training"}


def counted_text(result):
    """Trials (where there are none: runs) counted, of each measure where they differ."""
    totals = _totals(result)
    if len(set(totals.values())) > 1:
        return ", ".join(f"{measure} {total:,}" for measure, total in totals.items())
    return f"{result.trials or result.runs:,}"


def remarks(result):
    """Lines below a point's table."""
    totals = _totals(result)
    if len(set(totals.values())) > 1:
        counted = [", ".join(f"{m} of {total:,} trials" for m, total in totals.items())]
    else:
        counted = [f"{result.trials:,} trials"] if result.trials or not result.runs else []
    counted += [f"{result.runs:,} training runs"] if result.runs else []
    told = _verdict_on_mu(result)
    yield ", ".join(counted) + (f"; {told}" if told else "")
    if result.stopped not in ("", TOTAL):
        yield f"stopped: {result.stopped}"
    p = result.parameters
    yield from failure_report.lines(p)
    if "training.shard_size" in p:
        size = p["layout.redundancy"] * p["training.shard_size"]
        each = (
            f", {size / p['cluster.gpus_per_group']:.4g} bytes a GPU" if "cluster.gpus_per_group" in p else ""
        )
        yield f"the {p['layout.redundancy']} shards of a group take {size:.4g} bytes{each}"
    if "training.scheme" in p:
        rules = ", ".join(f"{k.split('.')[1]} {cell(v)}" for k, v in p.items() if k.startswith("training."))
        yield f"training: {rules}"


def cell(value):
    """A parameter's value as text."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
