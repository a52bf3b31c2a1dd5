"""``spare-mc reproduce``: the paper's published runs, run again."""

import click

from .common import json_option, number, print_json


def _choices(ctx, parameter, value):
    """A comma-separated list, each of the option's allowed values."""
    allowed = {
        "groups": ("200", "600", "1000"),
        "law": ("weibull", "exponential"),
        "scheme": ("spare", "replication"),
    }
    known = allowed[parameter.name]
    chosen = [part.strip() for part in value.split(",")]
    for part in chosen:
        if part not in known:
            raise click.UsageError(f"--{parameter.name} = {part!r}: must be among {', '.join(known)}")
    return list(dict.fromkeys(chosen))


@click.command("reproduce", short_help="the paper's published runs beside ours")
@click.option(
    "--groups", "-N", default="200,600,1000", show_default=True, callback=_choices, help="Groups N."
)
@click.option(
    "--law", default="weibull,exponential", show_default=True, callback=_choices, help="Failure laws."
)
@click.option("--scheme", default="spare,replication", show_default=True, callback=_choices, help="Schemes.")
@click.option(
    "--redundancy", "-r", help="Redundancies, comma-separated; default: all published (2 to 12, 20, 26)."
)
@click.option("--rules", type=click.Choice(("paper", "corrected")), default="paper", show_default=True,
              help="The published simulator's rules, or without its conventions.")  # fmt: skip
@click.option(
    "--runs", type=click.IntRange(1, 10**6), default=16, show_default=True, help="Runs a point, in total."
)
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), default=0, show_default=True)
@click.option("--threads", type=int, help="Worker threads; default: the cores this job may use.")
@click.option("-o", "--output", metavar="FILE.h5", help="Results file, resumed; default: reproduce-RULES.h5.")
@click.option(
    "--picture", metavar="PICTURE", help="Draw time-to-train and availability against r (.png, .svg, .pdf)."
)
@click.option("--quiet", is_flag=True, help="Print no progress and no tables.")
@json_option
def command(groups, law, scheme, redundancy, rules, runs, seed, threads, output, picture, quiet, as_json):
    """Run the published points of the SPARe paper (N = 200, 600, 1000; both failure laws; SPARe and replication over
    r, at the published checkpoint intervals) and print our value with its interval beside the published one.

    Published runs exist for N = 600 (three seeds a point), the headline table for all three N. With --rules corrected
    the same points go by corrected rules: what is left of the gain is the method's.
    """
    from spare_mc import api, plots, reproduce
    from spare_mc.engine import check_threads
    from spare_mc.progress import reporter

    wanted = None if redundancy is None else _redundancies(redundancy)
    study = reproduce.make_study([int(n) for n in groups], law, scheme, rules, runs, seed, wanted)
    if not study.points:
        raise click.UsageError(f"--redundancy = {redundancy!r}: none of the published points has it")
    if picture:
        plots.checked_path(picture)
    path = output or f"{study.name}.h5"
    with reporter(quiet or as_json) as progress:
        results = api.run(study, path, backend="auto", threads=check_threads(threads), progress=progress)
    if picture:
        plots.plot_reproduction(results, picture)
    comparisons = [reproduce.compare(result) for result in results]
    if as_json:
        print_json([comparison.as_json() for comparison in comparisons])
    elif not quiet:
        _print(comparisons, results)
        print(f"results: {path}" + (f", picture: {picture}" if picture else ""))


def _redundancies(text):
    try:
        return {int(part) for part in text.split(",")}
    except ValueError:
        raise click.UsageError(f"--redundancy = {text!r}: must be whole numbers, comma-separated") from None


def _print(comparisons, results):
    from spare_mc import reproduce
    from spare_mc.printing import Table

    heads = list(dict.fromkeys((c.law, c.scheme, c.groups) for c in comparisons))
    for law, scheme, groups in heads:
        chosen = [c for c in comparisons if (c.law, c.scheme, c.groups) == (law, scheme, groups)]
        runs = chosen[0].result.runs
        table = Table(f"{scheme}, {law} failures, N = {groups}, {runs} runs a point")
        for heading in (
            "r", "time-to-train [days]", "published", "deviation", "std errors", "ratio", "S_bar/A*", "availability",
            "published", "restarts", "published",
        ):  # fmt: skip
            table.add_column(heading, right=True)
        for c in chosen:
            table.add_row(*_row(c, reproduce.closed_form_ratio(c.result)))
        table.print()
        print()
    known = [c for c in comparisons if c.within is not None]
    if known:
        good = sum(c.within for c in known)
        print(
            f"{good} of {len(known)} published points: mean total within 1.5 % or 3 combined standard errors"
        )
    _print_headline(results)


def _row(c, closed):
    e = c.result.estimates
    total, ratio, up, restarts = (
        e.get(n) for n in ("time_to_train_s", "time_to_train_ratio", "availability", "restarts")
    )
    if total is None:
        return [str(c.redundancy), "not finished", *["-"] * 9]
    half = "" if total.low is None else f" ± {(total.high - total.low) / 2 / 86400:.2f}"
    return [
        str(c.redundancy),
        f"{total.mean / 86400:.2f}{half}",
        "-" if c.published_total_s is None else f"{c.published_total_s / 86400:.2f}",
        "-" if c.deviation is None else f"{100 * c.deviation:+.2f} %",
        number(c.standard_errors, 2),
        f"{ratio.mean:.3f}",
        f"{closed:.3f}",
        f"{up.mean:.4f}",
        "-" if c.published_availability is None else f"{c.published_availability:.4f}",
        f"{restarts.mean:.1f}",
        "-" if c.published_restarts is None else f"{c.published_restarts:.1f}",
    ]


def _print_headline(results):
    from spare_mc import reproduce
    from spare_mc.printing import Table

    rows, gains = reproduce.headline(results)
    if not rows:
        return
    table = Table(
        "The paper's headline table (Weibull failures): time-to-train over failure-free time, availability"
    )
    for heading in (
        "N",
        "scheme",
        "r",
        "ratio",
        "published",
        "availability",
        "published",
        "best r run here",
        "its ratio",
    ):
        table.add_column(heading, right=True)
    for row in rows:
        at, best, known = row["at_published"], row["best"], row["published"]
        ours = ["-", "-"]
        if at is not None:
            ours = [
                _with_half(at.estimates[name], digits)
                for name, digits in (("time_to_train_ratio", 3), ("availability", 4))
            ]
        table.add_row(
            str(row["groups"]), row["scheme"], str(known["redundancy"]), ours[0],
            f"{known['time_to_train_ratio']:.2f}", ours[1], f"{known['availability']:.4f}",
            str(best.parameters["layout.redundancy"]), f"{best.estimates['time_to_train_ratio'].mean:.3f}",
        )  # fmt: skip
    table.print()
    for groups, (ours, theirs) in gains.items():
        saved = f"{100 * ours:.1f} % of replication's time-to-train (published {100 * theirs:.1f} %)"
        print(f"N = {groups}: SPARe saves {saved}")


def _with_half(estimate, digits):
    if estimate.low is None:
        return f"{estimate.mean:.{digits}f}"
    return f"{estimate.mean:.{digits}f} ± {(estimate.high - estimate.low) / 2:.{digits}f}"
