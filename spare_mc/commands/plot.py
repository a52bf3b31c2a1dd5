"""``spare-mc plot``: pictures of results files."""

from pathlib import Path

import click

KINDS = ("survival", "depth", "reordering", "tradeoff", "training")


@click.command("plot", short_help="pictures of results files")
@click.argument("files", metavar="FILE.h5...", nargs=-1, required=True)
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    help="survival: share alive after k failures, exact and closed form over it. depth: least stack against failures. "
    "reordering: moves and phase shares. tradeoff: failures endured against mean stack. "
    "training: time-to-train and availability against r. Default: what the file holds.",
)
@click.option(
    "-o", "--output", metavar="PICTURE", help=".png, .svg or .pdf; default: the file's name with .png."
)
def command(files, kind, output):
    """Draw what results files hold; several files are drawn together."""
    from spare_mc import plots, store

    results = [point for file in files for point in store.read(file).points]
    path = output or str(Path(files[0]).with_suffix(".png"))
    plots.plot(results, path, kind)
    print(f"picture: {path}")
