"""``spare-mc life``: one life of the controller, step by step."""

import click

from .common import json_option, print_json
from .run import overrides_of, study_flags


@click.command("life", short_help="one life of the controller, step by step")
@click.argument("study", required=False, metavar="[STUDY]")
@study_flags(("cluster", "layout", "failures", "domains", "replay", "study.seed"))
@click.option("--trial", type=click.IntRange(0), default=0, show_default=True, help="Number of the trial.")
@click.option(
    "--batch", type=click.IntRange(1), default=1, show_default=True, help="Failures found together."
)
@click.option(
    "--stacks", is_flag=True, help="Print the stacks that change, before and after; | ends the prefix."
)
@click.option("-o", "--output", metavar="PICTURE", help="Draw the life as well: .png, .svg or .pdf.")
@json_option
def command(study, trial, batch, stacks, output, as_json, **flags):
    """Print what the controller does after every failure of one trial until the wipe-out: the groups hit, the phase
    that decides (fixed: nothing moves; depth: a deeper prefix covers all types; reorder: the fewest promotions), the
    moves, the depth, and the group-stacks computed again.

    \b
    spare-mc life -N 13 -r 4 --stacks
    spare-mc life paper-600 --trial 7 -o life.png
    spare-mc life -N 100 -r 5 --gpus 6400 --gpu-mtbf "5000 h" --domain-rack-mtbf "90 days" --domain-rack-size 128
    """
    from spare_mc import failure_report, lives, plots
    from spare_mc import study as studies
    from spare_mc.errors import UserError
    from spare_mc.printing import bold

    asked = studies.load(study, overrides_of(flags))
    if len(asked.points) > 1:
        raise UserError(f"the study has {len(asked.points)} points; a life is of one: give one value a key")
    (point,) = asked.points
    layout = point.layout
    if output:
        plots.checked_path(output)
    events = lives.life(layout, seed=asked.key(point), trial=trial, batch=batch, stream=point.stream)
    if output:
        events = list(events)
    if as_json:
        print_json([lives.as_json(event) for event in events])
    else:
        title = bold(f"{layout.kind}, {layout.groups:,} groups, redundancy {layout.redundancy}")
        print(f"{title}, seed {asked.seed}, trial {trial}")
        for line in failure_report.lines(point.parameters):
            print(line)
        for event in events:
            print(lives.as_text(event, stacks))
        if lives.phase_name(event) != "wipe-out":
            print("no further failure takes a type's last host: this stream never wipes the layout out")
    if output:
        plots.plot_life(events, layout, output)
        if not as_json:
            print(f"picture: {output}")
