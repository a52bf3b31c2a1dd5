"""``spare-mc merge``: results files of one study into one."""

import click


@click.command("merge", short_help="join results files of one study")
@click.argument("files", metavar="FILE.h5...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE.h5",
    help="File to write: a new one, or one of those joined.",
)
def command(files, output):
    """Join results files of one study and seed that hold different trials; the order of the files does not matter.

    Files of another study, of another schema, or that share a trial are refused, and nothing is written.
    """
    from spare_mc import report, store

    store.merge(files, output)
    found = store.view(output)
    report.print_results(found.points)
    if found.attributes["shares"]:
        have = [tuple(map(int, share.split("/"))) for share in found.attributes["shares"].split(",")]
        missing = [
            f"{at}/{of}" for of in {of for _, of in have} for at in range(1, of + 1) if (at, of) not in have
        ]
        more = (
            f"missing: {', '.join(missing)}"
            if missing
            else "of different totals, with trials missing between them"
        )
        print(f"only shards {found.attributes['shares']}; {more}")
    print(f"results: {output}")
