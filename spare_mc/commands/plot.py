"""``spare-mc plot``: pictures of results files."""

from pathlib import Path

import click

from .selecting import where_option

KINDS = ("survival", "depth", "reordering", "tradeoff", "training", "sweep", "map")
_OF_SWEEPS = ("x", "y", "z", "by", "log_x", "log_y", "log_z")  # options that only pictures of sweeps have
_OPTIONS = {"sweep": ("x", "y", "by", "log_x", "log_y"), "map": ("x", "y", "z", "log_z")}


@click.command("plot", short_help="pictures of results files")
@click.argument("files", metavar="FILE.h5...", nargs=-1, required=True)
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    help="survival: share alive after k failures, exact and closed form over it. depth: least stack against failures. "
    "reordering: moves and phase shares. tradeoff: failures endured against mean stack. "
    "training: time-to-train and availability against r. sweep: an estimate against a swept value. map: an estimate "
    "over two swept values. Default: sweep with --x, --y or --by, map with --z, else what the file holds.",
)
@where_option
@click.option("--x", metavar="KEY", help="sweep, map: swept parameter on the horizontal axis.")
@click.option("--y", metavar="KEY", help="sweep: estimate on the vertical axis. map: swept parameter there.")
@click.option("--z", metavar="ESTIMATE", help="map: estimate shown as colour.")
@click.option("--by", metavar="KEY", multiple=True, help="sweep: a line for each of its values; repeat for several. "
              "Default: everything else that is swept.")  # fmt: skip
@click.option("--log-x", is_flag=True, help="sweep: logarithmic horizontal axis.")
@click.option("--log-y", is_flag=True, help="sweep: logarithmic vertical axis.")
@click.option("--log-z", is_flag=True, help="map: logarithmic colours.")
@click.option(
    "-o", "--output", metavar="PICTURE", help=".png, .svg or .pdf; default: the file's name with .png."
)
def command(files, kind, conditions, output, **choices):
    """Draw what results files hold; several files are drawn together.

    \b
    spare-mc plot sweep.h5 --y mean_stack --x redundancy --by kind
    spare-mc plot sweep.h5 --z time_to_train_s --x redundancy --y groups --where 'kind = golomb'
    """
    from spare_mc import plots, selection
    from spare_mc.errors import UserError

    given = [name for name in _OF_SWEEPS if choices[name]]
    if kind is None and given:
        kind = "map" if choices["z"] or choices["log_z"] else "sweep"
    wrong = [name for name in given if name not in _OPTIONS.get(kind, ())]
    if wrong:
        able = ", ".join(k for k, options in _OPTIONS.items() if wrong[0] in options)
        raise UserError(f"--{wrong[0].replace('_', '-')}: goes with kind {able}, not {kind}")
    table, _ = selection.of_files(files)
    table = table.where(conditions)
    if not len(table):
        raise UserError(f"--where {' '.join(map(repr, conditions))}: no point of {', '.join(files)} meets it")
    path = output or str(Path(files[0]).with_suffix(".png"))
    kind = kind or plots.default_kind(table.points)
    if kind in _OPTIONS:
        asked = {name: choices[name] for name in _OPTIONS[kind] if choices[name]}
        plots.KINDS[kind](table, path, **asked)
    else:
        plots.plot(table.points, path, kind)
    print(f"picture: {path}")
