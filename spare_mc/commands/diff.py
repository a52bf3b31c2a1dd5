"""``spare-mc diff``: what differs between two results files, or between the points of one."""

import click

from .common import json_option, print_json
from .selecting import where_option


@click.command("diff", short_help="differences with intervals")
@click.argument("files", metavar="FILE.h5...", nargs=-1, required=True)
@click.option("--by", metavar="KEY", help="Within one file: the swept parameter whose values are compared.")
@click.option("--against", metavar="VALUE", help="With --by: the value all others are compared with.")
@where_option
@click.option(
    "--estimates", metavar="NAME,NAME,...", help="What is compared; default: the usual ones there are."
)
@click.option(
    "--trials",
    type=click.IntRange(2),
    help="Failure patterns of a pair drawn again at most; default: those both have, at most 100,000.",
)
@click.option("--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              help="Of all intervals together; default: that of the (first) file.")  # fmt: skip
@click.option("--threads", type=int, help="Worker threads; default: the cores this job may use.")
@json_option
def command(files, by, against, conditions, estimates, trials, confidence, threads, as_json):
    """Compare the points of results files: the first file with each other one, or, with --by, points of one file that
    differ in a parameter.

    Points are matched by the parameters they share. On common random numbers the difference is taken trial by trial
    (failure patterns are drawn again for it; training runs are in the file): what both have in common cancels. Where an
    interval contains zero, no winner is named. All intervals hold together (Bonferroni).

    \b
    spare-mc diff a.h5 b.h5
    spare-mc diff sweep.h5 --by layout.kind --against golomb --where 'redundancy >= 9'
    """
    from spare_mc import comparisons, report_diff, selection
    from spare_mc.conditions import value
    from spare_mc.errors import UserError
    from spare_mc.matching import pairs_by

    if len(files) > 1 and by:
        raise UserError(
            f"--by {by}: compares points of one file; {len(files)} files are compared with each other"
        )
    if against is not None and not by:
        raise UserError(f"--against {against}: goes with --by")
    table, opened = selection.of_files(files)
    table = table.where(conditions)
    if not len(table):
        raise UserError(f"--where {' '.join(map(repr, conditions))}: no point of {', '.join(files)} meets it")
    if len(files) == 1 and not by:
        swept = ", ".join(table.swept) or "nothing"
        raise UserError(f"{files[0]}: give a second file, or --by with what is swept in this one: {swept}")
    if by:
        key = table.varying(by, "--by")
        base = None if against is None else value(table, key, against, f"--against {against}")
    else:
        if len({file.path for file in opened}) < len(opened):
            raise UserError(f"{files[0]}: is given twice; a file does not differ from itself")
        key, base = "file", files[0]
        if set(table.files) != set(files):
            raise UserError(f"--where {' '.join(map(repr, conditions))}: leaves points of one file only")
    attributes = {file.path: file.attributes for file in opened}
    pairs = []
    for rows in pairs_by(table, key, base):
        sides = []
        for row in rows:
            path = table.files[row] if table.files else files[0]
            label = path if key == "file" else report_diff.label(key, table.points[row].parameters[key])
            sides.append(comparisons.Side(table.points[row], label, attributes[path]))
        pairs.append((*sides, rows))
    same = [(a, b, told) for a, b, _ in pairs if (told := comparisons.same_point(a, b))]
    other = [(a, b) for a, b, _ in pairs if not comparisons.same_point(a, b)]
    alone = len(table) - len({row for *_, rows in pairs for row in rows})
    wanted = None if estimates is None else [name.strip() for name in estimates.split(",")]
    names = comparisons.chosen_estimates(other, wanted) if other else []
    overall = confidence or opened[0].attributes["confidence"]
    count = sum(all(n in side.point.estimates for side in pair) for pair in other for n in names)
    level = 1 - (1 - overall) / max(1, count)
    most = trials or comparisons.MOST_TRIALS
    found = comparisons.compare(other, names, level, most, threads=threads)
    if as_json:
        return print_json(report_diff.as_json(found, same, overall, level, alone))
    report_diff.print_diff(found, same, overall, level, alone, key)
    return None
