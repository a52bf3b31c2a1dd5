"""``spare-mc optimize``: the redundancy, checkpoint period and layout of least time-to-train."""

import click

from .common import json_option, print_json
from .run import overrides_of, study_flags


@click.command("optimize", short_help="the best redundancy, checkpoint period and layout")
@click.argument("study", required=False, metavar="[STUDY]")
@study_flags(
    (
        "cluster",
        "layout",
        "failures",
        "domains",
        "replay",
        "training",
        "sweep",
        "study.seed",
        "sampling.confidence",
    )
)
@click.option(
    "--runs", type=click.IntRange(2), default=8, show_default=True, help="Runs a candidate at first."
)
@click.option(
    "--max-runs", type=click.IntRange(2), default=256, show_default=True, help="Runs a candidate at most."
)
@click.option("--threads", type=int, help="Worker threads; default: the cores this job may use.")
@click.option("-o", "--output", metavar="FILE.h5", help="Keep the runs in a results file; rerun to resume.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
@json_option
def command(study, runs, max_runs, threads, output, quiet, as_json, **flags):
    """Find the (layout, redundancy, checkpoint period) that minimise time-to-train, by simulation on common random
    numbers, and name every setting that cannot be told from the best at the stated confidence.

    Candidates are all combinations of the values given; without redundancies, those from 2 to twice the paper's
    shortcut for which there is a layout, and 1 (no failure masked) where the closed forms would have it so; without a
    checkpoint key, five periods around the one of best useful fraction, and the paper's at its r*, whose cost is told.

    \b
    spare-mc optimize -N 600 --system-mtbf 300 --law weibull --shape 0.78
    spare-mc optimize -N 600 --system-mtbf "5 min" -r 6,8,10,12 --layout golomb,contiguous
    """
    import sys
    from contextlib import nullcontext

    from spare_mc import optimize, store
    from spare_mc import study as studies
    from spare_mc.engine import Storing, check_threads
    from spare_mc.errors import UserError

    if max_runs < runs:
        raise UserError(f"--max-runs = {max_runs}: must be at least --runs = {runs}")
    overrides = overrides_of(flags)
    overrides["study.measure"] = ["training"]
    raw = studies.raw(study, overrides)
    if not {"redundancy", "offsets", "file"} & set(raw.setdefault("layout", {})):
        optimize.offer_redundancies(raw)
    asked = optimize.candidates(raw)

    def progress(number, rounds, left):
        if not (quiet or as_json):
            print(
                f"spare-mc: round {number} of at most {rounds}, {left} candidates",
                file=sys.stderr,
                flush=True,
            )

    with store.Writer(output, asked) if output else nullcontext() as writer:
        options = {"have": writer.tally, "keep": Storing(writer)} if output else {}
        settings, rounds = optimize.optimize(
            asked, runs=runs, max_runs=max_runs, threads=check_threads(threads), progress=progress, **options
        )
    if as_json:
        print_json([_record(s) for s in settings])
    else:
        _print(asked, settings, rounds)


def _record(setting):
    result = setting.result
    return {
        "id": result.id,
        "parameters": result.parameters,
        "runs": result.runs,
        "cannot_be_told_from_best": setting.left,
        "difference_to_best_s": setting.difference._asdict(),
        "estimates": {name: value._asdict() for name, value in result.estimates.items()},
    }


def _print(asked, settings, rounds):
    from spare_mc.optimize import paper_choice

    left = [s for s in settings if s.left]
    best = settings[0].result
    if not any("time_to_train_s" in s.result.estimates for s in settings):
        print(
            f"no setting finishes its runs within training.max_wall = {best.parameters['training.max_wall']:g} s"
        )
        return
    heading = (
        f"Settings that cannot be told from the best at {100 * asked.confidence:g} % confidence "
        f"({len(left)} of {len(settings)}, {rounds} rounds)"
    )
    _print_settings(heading, left, settings)
    tried = sorted({s.result.parameters["layout.redundancy"] for s in settings})
    if len(tried) > 1:
        by_redundancy = {}
        for setting in sorted(settings, key=lambda s: s.difference.mean):
            by_redundancy.setdefault(setting.result.parameters["layout.redundancy"], setting)
        print()
        _print_settings("The best setting of each redundancy", [by_redundancy[r] for r in tried], settings)
    if len(tried) > 1 and (at := best.parameters["layout.redundancy"]) in (tried[-1], max(tried[0], 2)):
        advice = (
            "try beyond it"
            if at != tried[-1] or _possible(best.parameters, at + 1)
            else "no layout lies beyond it"
        )
        print(
            f"the best redundancy, {at}, is at the edge of those tried ({tried[0]} to {tried[-1]}): {advice}"
        )
    if sum(s.left for s in settings) > 1 and all(s.result.runs == best.runs for s in settings if s.left):
        print(f"more runs (--max-runs above {best.runs}) would tell more of them apart")
    _print_closed_forms(best)
    for setting in settings:
        p = setting.result.parameters
        if paper_choice(p) == (p["layout.redundancy"], p.get("training.checkpoint_period")):
            print(f"the paper's choice, {_called(p)}: {_slower(setting, settings)} against the best")


def _print_settings(heading, shown, settings):
    """A table of some settings; ``settings`` are all of them, the best first."""
    from spare_mc import report
    from spare_mc.printing import Table, bold
    from spare_mc.training_setup import failure_free_time

    print(bold(heading))
    table = Table()
    keys = [k for k in report.varying([s.result for s in settings]) if k != "training.checkpoint_period"]
    for told in (
        *(k.split(".")[1] for k in keys),
        "between saves [s]",
        "runs",
        "time-to-train [days]",
        "ratio",
        "slower than best [%]",
    ):
        table.add_column(told, right=True)
    for setting in shown:
        p, total = setting.result.parameters, setting.result.estimates.get("time_to_train_s")
        table.add_row(
            *(report.cell(p.get(k)) for k in keys),
            _checkpoint(p),
            str(setting.result.runs),
            "not finished" if total is None else f"{total.mean / 86400:.3f}",
            "-" if total is None else f"{total.mean / failure_free_time(p):.4f}",
            _slower(setting, settings),
        )
    table.print()


def _slower(setting, settings):
    """How much slower than the best a setting is, with the simultaneous interval."""
    if setting is settings[0]:
        return "best"
    total, d = settings[0].result.estimates.get("time_to_train_s"), setting.difference
    if total is None:
        return "-"
    low, high = (f"{100 * end / total.mean:+.2f}" if end is not None else "?" for end in (d.low, d.high))
    return f"{100 * d.mean / total.mean:+.2f} ({low} .. {high})"


def _called(p):
    return f"{p['layout.kind']}, r = {p['layout.redundancy']}, {_checkpoint(p)} s between saves"


def _possible(p, redundancy):
    """Whether there is a layout of a point's family and size with another redundancy."""
    from spare_mc.errors import UserError
    from spare_mc.layouts import Layout

    try:
        Layout.from_kind(p["layout.kind"], p["cluster.groups"], redundancy)
    except UserError:
        return False
    return True


def _print_closed_forms(best):
    """What the paper would choose; for the schemes it compares with, the period at their mean time to a restart."""
    from spare_mc import exact, theory
    from spare_mc.layouts import Layout
    from spare_mc.training_setup import simulates_wipeouts

    p = best.parameters
    if simulates_wipeouts(p):
        print(
            "no closed form where groups come back or failures come from a stream: periods are of simulated lives"
        )
        return
    n, save, restart = p["cluster.groups"], p["training.save_time"], p["training.restart_time"]
    mtbf, redundancy = p["failures.system_mtbf"], p["layout.redundancy"]

    def period(failures):
        return f"T_c = {theory.checkpoint_period(save, restart, failures * mtbf):.0f} s, the save included"

    if p["training.scheme"] == "checkpoint-only":
        print(f"closed form, no failure masked: {period(1)}")
    elif p["training.scheme"] == "replication":
        told = "at the mean failures to interruption of the best setting's r"
        if n % redundancy:  # the closed form is about blocks of one size
            failures = float(exact.survival_curve(Layout.partition(n, redundancy)).sum())
        else:
            failures = theory.replication_failures_to_interruption(n, redundancy)
        print(f"closed form, {told}: {period(failures)}")
    else:
        shortcut, by_cost = theory.redundancy_shortcut(n), theory.best_redundancy(n, mtbf, save, restart)
        print(
            f"the paper: r* = {shortcut} (shortcut), {by_cost} (least J, exponential lifetimes); "
            "at T_f = mu m of the best setting's r ",
            end="",
        )
        print(period(theory.mu(n, redundancy)))


def _checkpoint(p):
    if "training.checkpoint_period" in p:
        return f"{p['training.checkpoint_period']:g}"
    if "training.checkpoint_steps" in p:
        return f"every {p['training.checkpoint_steps']} steps"
    return p["training.checkpoint"]
