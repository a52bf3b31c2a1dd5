"""``spare-mc fit``: law and rate from a failure log."""

import dataclasses
from pathlib import Path

import click

from .common import json_option, print_json

_STEPS = ("duplicates", "overlaps")


@click.command("fit", short_help="law and rate from a failure log")
@click.argument("trace", metavar="TRACE")
@click.option("--time", help="Column of failure times (CSV); guessed and told if not given.")
@click.option("--unit", help="Column that names the unit that failed.")
@click.option("--end", help="Column of the times at which outages end.")
@click.option("--duration", help="Column of how long outages last.")
@click.option("--cause-column", help="Column that --cause looks in.")
@click.option("--time-unit", help="Unit of numeric times and durations: ns, us, ms, s, min, h or day.")
@click.option(
    "--time-zone", help="Zone of local times, e.g. America/Denver; default UTC (LANL: America/Denver)."
)
@click.option("--system", help="Only this system (column System, as in the LANL release).")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Only rows with this value; repeatable.")
@click.option(
    "--cause", multiple=True, metavar="TEXT", help="Only failures whose cause holds the text; repeatable."
)
@click.option("--from", "begin", metavar="MOMENT", help="Start of observation: a date, or e.g. '30 days'.")
@click.option("--to", "finish", metavar="MOMENT", help="End of observation.")
@click.option(
    "--units", type=click.IntRange(1, 10**6), help="Units that exist, those that never failed included."
)
@click.option("--unit-is", type=click.Choice(("node", "gpu", "group")), default="node", show_default=True,
              help="What a unit of the log is in a study.")  # fmt: skip
@click.option("--zero-gaps", type=click.Choice(("floor", "drop")), default="floor", show_default=True,
              help="Gaps of no length: set to --floor, or left out.")  # fmt: skip
@click.option(
    "--floor", default="1", show_default=True, help="Shortest gap with --zero-gaps floor, seconds or words."
)
@click.option("--keep", multiple=True, type=click.Choice(_STEPS),
              help="Let rows given twice, or outages within another of their unit, count as failures.")  # fmt: skip
@click.option("--clocks", type=click.Choice(("steady", "new")), default="steady", show_default=True,
              help="Units at the start of observation: running for long, or new.")  # fmt: skip
@click.option("--confidence", type=click.FloatRange(0.5, 0.999999), default=0.95, show_default=True)
@click.option("--bootstrap", type=click.IntRange(0, 100_000), default=99, show_default=True,
              help="Simulated logs for the goodness of fit; 0 for none.")  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Of the simulations."
)
@click.option(
    "--block", type=click.Choice(("unit", "system")), help="Level of the law block; default unit if known."
)
@click.option("--law", help="Law of the block; default: the best by AIC.")
@click.option(
    "--each",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="Units fitted each on its own and listed, worst first.",
)
@click.option("--picture", metavar="FILE", help="Draw hazard and quantiles: .png, .svg or .pdf.")
@json_option
def command(trace, as_json, picture, block, law, unit_is, **flags):
    """Fit failure laws to a log: generic CSV, the LANL release, or the InfiniteHBD trace, plain or compressed.

    Prints what was read and how, what was left out and why, fits with intervals and tests, and a [failures] block.

    \b
    spare-mc fit failures.csv --time start --unit host --units 512 --time-zone Europe/Berlin
    spare-mc fit lanl_LA-UR-05-7318.csv.xz --system 2 --from 2000-01-01
    spare-mc fit infinitehbd_fault_trace.json --units 400 --picture fit.png
    """
    from spare_mc import fit_block, fits, trace_cleaning, traces

    if picture:
        from spare_mc import plots

        plots.checked_path(picture)
    options = _options(flags)
    records = traces.read(trace, options)
    moments = [
        _moment(flags[key], records, option) for key, option in (("begin", "--from"), ("finish", "--to"))
    ]
    log = trace_cleaning.clean(records, *moments, keep_overlaps="overlaps" in flags["keep"])
    listed = None
    if len(log.starts) < log.listed or records.duplicates:
        raw = records
        if records.duplicates:
            raw = traces.read(trace, dataclasses.replace(options, keep_duplicates=True))
        listed = trace_cleaning.clean(raw, *moments, keep_overlaps=True)
        if len(listed.starts) == len(log.starts):
            listed = None  # what was left out lies outside the window
    report = fits.fit_log(log, records, _choices(flags), listed)
    text, values = fit_block.law_block(report, block, unit_is, law)
    if picture:
        plots.plot_fit(report, picture, Path(trace).name)
    if as_json:
        found = report.as_json()
        read = {"file": trace, "format": records.kind, "rows": records.rows, "reading": records.reading}
        read.update(left_out=dict(records.left_out), noted=dict(records.noted))
        print_json({**read, **found, "block": {"text": text, "failures": values}})
        return
    from spare_mc.report_fit import print_report

    print_report(trace, records, report, text)
    if picture:
        print(f"picture: {picture}")


def _options(flags):
    from spare_mc.errors import UserError
    from spare_mc.trace_records import Options

    where = {}
    for text in flags["where"]:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UserError(f"--where = {text!r}: must be COLUMN=VALUE, e.g. --where System=2")
        where[name.strip()] = value
    if flags["system"] is not None:
        where["System"] = flags["system"]
    same = ("time", "unit", "end", "duration", "time_unit", "time_zone")
    return Options(
        **{key: flags[key] for key in same},
        cause=flags["cause_column"],
        where=where,
        causes=flags["cause"],
        keep_duplicates="duplicates" in flags["keep"],
    )


def _moment(text, records, option):
    from spare_mc.traces import moment

    return None if text is None else moment(text, records, option)


def _choices(flags):
    from spare_mc.errors import UserError
    from spare_mc.fits import Choices
    from spare_mc.spellings import seconds

    try:
        floor = seconds(flags["floor"])
    except ValueError as error:
        raise UserError(f"--floor = {flags['floor']!r}: {error}") from None
    if floor <= 0:
        raise UserError(f"--floor = {flags['floor']!r}: must be longer than 0")
    return Choices(
        flags["units"],
        flags["zero_gaps"],
        floor,
        flags["clocks"],
        flags["confidence"],
        flags["bootstrap"],
        flags["seed"],
        flags["each"],
    )
