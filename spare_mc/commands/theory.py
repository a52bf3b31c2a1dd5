"""``spare-mc theory``: what is known without sampling."""

import math

import click

from spare_mc.errors import UserError

from .common import flag_value, json_option, number, print_json
from .run import overrides_of, study_flags

_RARE = ("1e-3", "1e-6", "1e-9", "1e-12")


@click.command("theory", short_help="closed forms and exact values")
@click.option("--groups", "-N", required=True, help="Data-parallel groups N.")
@click.option(
    "--redundancy", "-r", help="Shard types each group hosts, r; not needed with offsets or a table."
)
@click.option(
    "--layout", "kind", default=None, help="golomb (default), contiguous, partition, random or custom."
)
@click.option("--offsets", help="Custom layout: comma-separated offsets, the first 0.")
@click.option("--layout-file", help="Custom layout: host table, row g = stack of group g.")
@click.option("--layout-seed", default="0", help="Seed of a random layout.")
@study_flags(("failures", "cluster.gpus", "cluster.gpus_per_group", "cluster.gpus_per_node"))
@click.option("--save-time", default="58.8235 s", show_default=True, help="Checkpoint write T_s.")
@click.option("--restart-time", default="3600 s", show_default=True, help="Restart T_r.")
@json_option
def command(
    groups, redundancy, kind, offsets, layout_file, layout_seed, save_time, restart_time, as_json, **flags
):
    """Print closed forms, exact values where one holds for the layout, rare-loss bounds, the best redundancy, and
    checkpoint periods, of groups that fail alike and independently (system MTBF 300 s unless told). Nothing is sampled.

    \b
    spare-mc theory -N 600 -r 9
    spare-mc theory -N 600 -r 9 --layout contiguous --system-mtbf "5 min"
    """
    from spare_mc import failure_model, failure_report, study
    from spare_mc.printing import bold, paragraph

    layout = {"kind": kind, "redundancy": redundancy, "file": layout_file, "seed": layout_seed}
    layout["offsets"] = None if offsets is None else [flag_value(o) for o in offsets.split(",")]
    raw = {
        "cluster": {"groups": groups},
        "layout": {key: value for key, value in layout.items() if value is not None},
    }
    overrides = overrides_of(flags)
    if not any(key.endswith(("_mtbf", "_scale")) or key == "failures.gaps" for key in overrides):
        overrides["failures.system_mtbf"] = 300.0
    points = study.load(raw, overrides).points
    if len(points) > 1:
        raise UserError(
            f"theory takes one value a key, not {len(points)} combinations; 'spare-mc run' sweeps"
        )
    p = points[0].parameters
    if not failure_model.identical(p):
        raise UserError("lemons and unequal groups have no closed forms; 'spare-mc run' simulates them")
    values = _values(points[0], _duration("save_time", save_time), _duration("restart_time", restart_time))
    if as_json:
        print_json(values)
        return
    law = values["law"] + (f" (shape {p['failures.shape']:g})" if "failures.shape" in p else "")
    print(bold(f"{values['layout']}, {values['groups']:,} groups, redundancy {values['redundancy']}"))
    print(
        f"{law} failures, system MTBF {values['system_mtbf_s']:g} s, "
        f"checkpoint write {values['save_time_s']:g} s, restart {values['restart_time_s']:g} s"
    )
    for line in failure_report.lines(p):
        paragraph(line)
    for heading, rows in _SECTIONS.items():
        _print_section(heading, rows, values)


def _duration(key, value):
    from spare_mc.spellings import seconds

    try:
        return seconds(value)
    except ValueError as error:
        raise UserError(f"{key} = {value!r}: {error}") from None


# heading -> JSON key -> (unit, what it is); "{...}" is filled in from the values
_SECTIONS = {
    "Endurance (failures, the one that wipes out included)": {
        "mu": ("failures", "wipe-out index, the paper's closed form mu(N, r)"),
        "exact_wipeout_index": ("failures", "wipe-out index, exact for this layout"),
        "mu_error": ("", "mu against the exact value, relative"),
        "exact_endurable_failures": ("failures", "endurable failures, exact for this layout"),
        "independent_types_wipeout_index": ("failures", "wipe-out index, types taken as independent"),
        "replication_wipeout_index": ("failures", "wipe-out index of process replication in blocks of r"),
    },
    "Rare loss (failures that are safe)": {
        "always_endured": ("failures", "endured with certainty"),
        **{
            f"endured_but_for_{level}": ("failures", f"endured but for a chance of {level}, proven")
            for level in _RARE
        },
    },
    "All-reduce stack": {
        "mean_least_stack_bound": ("stacks", "mean of c(k) = ceil(N/(N-k)) over k < floor(mu)"),
        "least_stack_bound_at_mu": ("stacks", "c(k) at k = floor(mu)"),
    },
    "Time and checkpoints": {
        "time_to_failure_paper_s": (
            "s",
            "T_f = mu m, the paper's: below E[T_wipe], as survivors fail more rarely",
        ),
        "time_to_wipeout_s": ("s", "E[T_wipe] from the survival curve ({survival_curve})"),
        "checkpoint_period_paper_s": ("s", "best period T_c at T_f, the save included"),
        "checkpoint_period_s": ("s", "best period T_c at E[T_wipe], the save included"),
        "availability_paper": ("", "useful fraction A(T_c) at T_f"),
        "availability": ("", "useful fraction A(T_c) at E[T_wipe]"),
        "young_period_s": ("s", "Young's sqrt(2 T_s E[T_wipe]), the save not included"),
        "exponential_period_s": ("s", "exact exponential optimum at E[T_wipe], the save not included"),
    },
    "Best redundancy (least J = S_bar / A*, golomb layouts, at E[T_wipe] of exponential lifetimes)": {
        "cost": ("stacks", "J at this r"),
        "best_redundancy": ("", "r of least J"),
        "best_cost": ("stacks", "J at that r"),
        "redundancy_shortcut": ("", "the paper's shortcut floor(log2 N + 0.833)"),
    },
}


def _values(point, save_time, restart_time):
    """JSON key -> value; None where nothing is known for the layout."""
    from spare_mc import exact, failure_model, theory
    from spare_mc.layouts import Layout

    p, layout = point.parameters, point.layout
    n, r = layout.groups, layout.redundancy
    mtbf = p["failures.system_mtbf"]
    curve, independent = exact.survival_curve(layout), exact.independent_types_curve(n, r)
    mu, index = theory.mu(n, r), None if curve is None else float(curve.sum())
    stated = mu * mtbf
    wipeout = failure_model.time_to_wipeout(independent if curve is None else curve, p)
    costs = theory.redundancy_costs(n, mtbf, save_time, restart_time)
    best = min(costs, key=costs.get)
    return {
        "groups": n,
        "redundancy": r,
        "layout": layout.kind,
        "law": p["failures.law"],
        "system_mtbf_s": mtbf,
        "save_time_s": save_time,
        "restart_time_s": restart_time,
        "survival_curve": "types taken as independent" if curve is None else "exact",
        "mu": mu,
        "exact_wipeout_index": index,
        "mu_error": None if index is None else mu / index - 1,
        "exact_endurable_failures": None if index is None else index - 1,
        "independent_types_wipeout_index": float(independent.sum()),
        "replication_wipeout_index": float(exact.survival_curve(Layout.partition(n, r)).sum()),
        **_rare_loss(layout),
        "mean_least_stack_bound": theory.mean_least_stack_bound(n, r),
        "least_stack_bound_at_mu": int(theory.least_stack_bound(min(math.floor(mu), n - 1), n)),
        "time_to_failure_paper_s": stated,
        "time_to_wipeout_s": wipeout,
        "checkpoint_period_paper_s": theory.checkpoint_period(save_time, restart_time, stated),
        "checkpoint_period_s": theory.checkpoint_period(save_time, restart_time, wipeout),
        "availability_paper": theory.best_availability(save_time, restart_time, stated),
        "availability": theory.best_availability(save_time, restart_time, wipeout),
        "young_period_s": _period(theory.young_period, save_time, wipeout),
        "exponential_period_s": _period(theory.exponential_period, save_time, wipeout),
        "cost": costs.get(r) or theory.redundancy_costs(n, mtbf, save_time, restart_time, [r])[r],
        "best_redundancy": best,
        "best_cost": costs[best],
        "redundancy_shortcut": theory.redundancy_shortcut(n),
    }


def _period(formula, save_time, time_to_failure):
    return formula(save_time, time_to_failure) if save_time > 0 else 0.0  # a free save is taken all the time


def _rare_loss(layout):
    """The most failures k with Pr[wipe-out within k failures] proven to be at most each level."""
    from spare_mc import exact

    safe = {"always_endured": _fewest_hosts(layout) - 1}
    for level in _RARE:
        low, high = 0, layout.groups
        while high - low > 1:  # the upper bound grows with k
            middle = (low + high) // 2
            if exact.loss_bounds(layout, middle)[1] <= float(level):
                low = middle
            else:
                high = middle
        safe[f"endured_but_for_{level}"] = low
    return safe


def _fewest_hosts(layout):
    return (
        min(layout.redundancy, layout.groups % layout.redundancy or layout.redundancy)
        if layout.block
        else layout.redundancy
    )


def _print_section(heading, rows, values):
    from spare_mc.printing import Table

    table = Table(heading)
    table.add_column()
    table.add_column(right=True)
    table.add_column()
    for key, (unit, text) in rows.items():
        value = values[key]
        told = "not known for this layout" if value is None else number(value)
        table.add_row("  " + text.format(**values), told, "" if value is None else unit)
    print()
    table.print()
