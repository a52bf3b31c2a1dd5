"""What the command line prints of results: tables with intervals, exact values and closed forms beside."""

import os
from collections import Counter
from pathlib import PurePath

from . import failure_report, printing
from .commands.common import number, print_json
from .estimates import NAMES, UNITS
from .report_point import beside, cell, counted_text, point_table, remarks, title
from .results import PointResult
from .selection import Table
from .stopping import TOTAL

MANY = 40  # rows of a table that is printed unasked

# Estimates that a table of many points shows; one point shows all.
_MAIN = (
    "endurable_failures",
    "endurable_events",
    "time_to_interruption_s",
    "mean_stack",
    "above_bound_fraction",
    "reorder_fraction",
    "moves_per_reorder",
    "time_to_train_s",
    "time_to_train_ratio",
    "availability",
    "restarts",
    "unfinished_fraction",
)


def print_results(results, files=None, columns=None, limit=MANY):
    """Print a table a point for a few points, one table of all for many.

    Parameters
    ----------
    results : list of PointResult
    files : the file each comes from, where they come from several
    columns : resolved columns of ``selection.Table`` to print instead of the usual ones
    limit : rows printed at most, 0 for all; a line tells of the others
    """
    table = Table(results, files)
    shown = table.take(range(min(limit or len(table), len(table))))
    if len(table) > 3 or columns:
        if columns:
            _chosen_table(shown, columns).print()
        else:
            _sweep_table(shown, table).print()
            told = [list(failure_report.lines(result.parameters)) for result in shown.points]
            for line in told[0]:
                if all(line in lines for lines in told):  # what they have in common
                    printing.paragraph(line)
    else:
        for result, file in zip(shown.points, shown.files or [None] * len(shown), strict=True):
            point_table(result, file).print()
            for line in remarks(result):
                printing.paragraph(line)
            print()
    if len(shown) < len(table):
        printing.paragraph(
            f"{len(table) - len(shown):,} more of {len(table):,} points: spare-mc show FILE.h5 --limit 0 prints all; "
            "--where and --sort choose, --columns names columns, --csv and --json print everything"
        )


def _sweep_table(shown, table):
    """One row a point: the parameters that differ, then estimates with half-widths."""
    drawn = printing.Table()
    results = shown.points
    swept = varying(table.points)
    head = ["file", *swept] if table.files else swept
    for key in head:
        drawn.add_column(_heading(key.rpartition(".")[2], table.unit(key)), right=True)
    drawn.add_column("trials" if any(r.trials for r in results) else "runs", right=True)
    names = [name for name in _MAIN if any(name in r.estimates for r in results)]
    for name in names:
        drawn.add_column(_heading(NAMES.get(name, name), UNITS.get(name, "1")), right=True)
    endurance = "endurable_failures" in names and any(beside(result) for result in results)
    if endurance:
        drawn.add_column("exact K", right=True)
        drawn.add_column("mu - 1", right=True)
    stopped = bool({p.stopped for p in table.points} - {"", TOTAL})  # the total asked for goes without saying
    if stopped:
        drawn.add_column("stopped")
    cells = [list(map(cell, shown.column(key))) for key in swept]
    if table.files:
        cells.insert(0, _file_names(shown.files))
    for row, result in enumerate(results):
        line = [column[row] for column in cells]
        line.append(counted_text(result))
        line += [_plus_minus(result.estimates.get(name)) for name in names]
        if endurance:
            line += map(number, beside(result).get("endurable_failures", (None, None)))
        if stopped:
            line.append(result.stopped or "-")
        drawn.add_row(*line)
    _explain(drawn, results)
    return drawn


def _file_names(files):
    """Names of files without their folders, where these tell them apart."""
    names = {file: PurePath(file).name for file in files}
    return [names[file] for file in files] if len(set(names.values())) == len(names) else files


def _chosen_table(shown, columns):
    """One row a point with the columns asked for; an estimate is shown with its half-width."""
    drawn = printing.Table()
    cells = []
    for key in columns:
        name = key.rpartition(".")[2] if key in shown.parameters else NAMES.get(key, key)
        drawn.add_column(_heading(name, shown.unit(key)), right=True)
        if key in shown.estimates:
            cells.append([_plus_minus(p.estimates.get(key)) for p in shown.points])
        elif key in shown.parameters or key in shown.labels:
            cells.append(list(map(cell, shown.column(key))))
        else:
            cells.append(list(map(number, shown.column(key))))
    for row in range(len(shown)):
        drawn.add_row(*(column[row] for column in cells))
    if any(key in shown.estimates for key in columns):
        _explain(drawn, shown.points)
    return drawn


def _heading(name, unit):
    return name if unit in ("1", name) else f"{name} [{unit}]"


def _explain(drawn, results):
    level = {f"{100 * r.confidence:g} %" for r in results}
    drawn.caption = f"± half-width of the {' or '.join(sorted(level))} interval"


def varying(results):
    """Dotted keys of parameters that differ between points, without what only follows from them."""
    return Table(results).spanning() or ["layout.kind", "cluster.groups", "layout.redundancy"]


def _plus_minus(estimate):
    if estimate is None:
        return "-"
    if estimate.low is None:
        return number(estimate.mean)
    return f"{number(estimate.mean)} ± {number(max(estimate.high - estimate.mean, estimate.mean - estimate.low), 2)}"


def print_results_json(results, curves=True):
    """Print the list of points that scripts read; README says what is in it."""
    print_json([result.as_json(curves) for result in results])


def print_provenance(path, attributes):
    """Where a results file comes from."""
    keys = ("study_name", "seed", "generator", "package_version", "created", "updated", "host")
    told = [f"{key.replace('_', ' ')} {attributes[key]}" for key in keys if key in attributes]
    printing.paragraph(f"{path}: " + ", ".join(told))
    if attributes.get("shares"):
        print(f"only shards {attributes['shares']} of the study; 'spare-mc merge' joins them with the others")
    if os.path.exists(f"{path}.journal"):
        printing.paragraph(
            f"{path}.journal holds what was counted since: a run is writing it, or was killed and goes on from it when "
            "started again"
        )
    print()


def print_footer(study, results, path, backend, who, progress):
    """What was done and where it lies."""
    last = progress.last
    if last is None:
        enough = all(r.stopped and "time limit" not in r.stopped for r in results)
        done = "nothing was missing" if enough else "nothing was counted"
    else:
        added, what = last.done - last.before, "runs" if study.measures == ("training",) else "trials"
        done = f"{added:,} {what} added in {last.elapsed:.2f} s ({_rate(added, last.elapsed)} a second)"
    print(f"{done}; seed {study.seed}, backend {backend}, {who}")
    reasons = Counter(result.stopped for result in results if result.stopped)
    if set(reasons) - {"total"}:
        told = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common())
        more = (
            "; where the time limit stopped is not reproducible" if "time limit" in str(set(reasons)) else ""
        )
        print(f"points stopped by: {told}{more}")
    print(f"results: {path}   (spare-mc show | check | plot {path})")


def _rate(count, seconds):
    rate = count / max(seconds, 1e-9)
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def print_plan(study, path, backend, who, workers, share, as_json=False):
    """The points of a study, how much each asks for, and about how long it takes; nothing is kept."""
    from .calibration import estimate
    from .progress import duration
    from .schedule import is_open_ended, places_in, span_in

    planned = estimate(study, backend, workers, share)
    open_ended = is_open_ended(study, planned.rules)
    mine = [study.points[place] for place in places_in(share, len(study.points), open_ended)]

    def counted(total):
        first, end = span_in(share, total, open_ended)
        return end - first

    asked = {
        m: {"first": r.first, "maximum": r.maximum, "target": r.targets} for m, r in planned.rules.items()
    }
    if as_json:
        points = [
            {
                "id": p.id,
                "parameters": p.parameters,
                "trials": counted(study.trials),
                "runs": counted(study.runs),
            }
            for p in mine
        ]
        times = {"seconds": planned.seconds, "seconds_at_most": planned.seconds_at_most}
        head = {"study": study.name, "output": path, "backend": backend, "threads": workers, "asked": asked}
        print_json(head | times | {"points": points})
        return
    print(
        f"study {study.name}: {len(study.points):,} points, seed {study.seed}, backend {backend}, {who}, "
        f"results to {path}"
    )
    if share is not None:
        print(f"shard {share[0]} of {share[1]}: {len(mine):,} points; what follows is of this shard")
    for measure, rule in planned.rules.items():
        what = "runs" if measure == "training" else "trials"
        if rule.targets:
            wanted = ", ".join(f"{name} +/- {100 * width:g} %" for name, width in rule.targets.items())
            print(f"  {measure}: {rule.first:,} to {rule.maximum:,} {what} a point, until {wanted}")
        else:
            print(f"  {measure}: {counted(rule.maximum):,} {what} a point")
    for number_, point in enumerate(mine, 1):
        print(f"{number_:6d}  {point.id[:12]}  {title(PointResult(point.id, point.parameters, study.seed))}")
    told = f"about {duration(planned.seconds)}"
    if planned.seconds_at_most > planned.seconds:
        told += f" to the first looks, {duration(planned.seconds_at_most)} at most"
    if study.time_limit is not None:
        told += f"; the time limit is {duration(study.time_limit)}"
    print(f"{told} (calibrated on {planned.sampled} of the points; start-up and compiling not counted)")


def print_verdicts(verdicts, results, every=False):
    """A line for every test that failed (``every``: for all tests and comparisons), and how many there were."""
    titles = {result.id: title(result) for result in results}
    told = [v for v in verdicts if every or not v.passed]
    for point in dict.fromkeys(v.point for v in told):
        print(printing.bold(titles[point]))
        for verdict in (v for v in told if v.point == point):
            mark = {"approximation": "    "}.get(verdict.kind, "ok  " if verdict.passed else "FAIL")
            print(f"  {mark} {verdict.message}")
    failed = sum(not v.passed for v in verdicts)
    tested = sum(v.kind != "approximation" for v in verdicts)
    if not tested:
        print("nothing was counted: nothing to test")
    else:
        points = len({v.point for v in verdicts if v.kind != "approximation"})
        said = f"{tested} tests of {points} points" + (f", {failed} failed" if failed else " passed")
        print(said + ("" if every else "; --verbose lists all, and the distance to approximations"))
