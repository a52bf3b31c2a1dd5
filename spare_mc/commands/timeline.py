"""``spare-mc timeline``: one training run, event by event."""

import click

from .common import json_option, print_json
from .run import overrides_of, study_flags


@click.command("timeline", short_help="one training run, event by event")
@click.argument("study", required=False, metavar="[STUDY]")
@study_flags(("cluster", "layout", "failures", "domains", "replay", "training", "study.seed"))
@click.option(
    "--run",
    "number",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Number of the run.",
)
@click.option(
    "--events",
    type=click.Choice(("restarts", "all", "steps")),
    default="restarts",
    show_default=True,
    help="What to print: restarts; all failures, reorders, returns, saves, restarts; or every committed step as well.",
)
@click.option("-o", "--output", metavar="PICTURE", help="Draw the run: .png, .svg or .pdf.")
@json_option
def command(study, number, events, output, as_json, **flags):
    """Print what happens in one training run: failures, reorders, saves, restarts, with the time of each, and what the
    wall time was spent on.

    \b
    spare-mc timeline paper-600 --steps 1000 --checkpoint-steps 23 -o run.png
    """
    from spare_mc import plots, report, timeline
    from spare_mc import study as studies
    from spare_mc.errors import UserError
    from spare_mc.results import PointResult

    overrides = overrides_of(flags)
    overrides["study.measure"] = ["training"]
    asked = studies.load(study, overrides)
    if len(asked.points) > 1:
        raise UserError(
            f"the study has {len(asked.points)} points; a timeline is of one: give one value a key"
        )
    if output:
        plots.checked_path(output)
    found = timeline.timeline(asked.points[0], seed=asked.key(asked.points[0]), run=number)
    if output:
        point = PointResult(asked.points[0].id, asked.points[0].parameters, asked.seed)
        plots.plot_timeline(found, output, f"{report.title(point)}; seed {asked.seed}, run {number}")
    if as_json:
        print_json(found.as_json())
        return
    for event in sorted(found.events, key=lambda event: event.time):
        if events == "steps" or event.kind == "restart" or (events == "all" and event.kind != "step"):
            print(timeline.as_text(event))
    _print_parts(found)
    if output:
        print(f"picture: {output}")


def _print_parts(found):
    from spare_mc.printing import Table

    table = Table("Wall time")
    table.add_column("part")
    table.add_column("hours", right=True)
    table.add_column("share", right=True)
    wall = found.summary["wall"]
    for name, value in found.parts.items():
        table.add_row(name, f"{value / 3600e6:,.3f}", f"{100 * value / wall:.2f} %")
    table.add_row("wall", f"{wall / 3600e6:,.3f}", "100.00 %")
    print()
    table.print()
    told = ["committed", "failures", "reorders", "moves", "saves", "restarts", "rolled_back"]
    if found.summary["returns"]:
        told += ["returns", "rejoin_moves"]
    if found.summary["spares_used"]:
        told += ["spares_used", "spares_lacking"]
    print(", ".join(f"{name.replace('_', ' ')} {found.summary[name]:,}" for name in told))
    if not found.summary["finished"]:
        print("NOT FINISHED: the run was ended at max_wall")
