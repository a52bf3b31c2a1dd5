"""Part of the suite about training runs: kernels, a compiled walk, event-driven simulators."""

from functools import partial

import rivals_training
from rows import Row, measured, missing
from suite_patterns import compiled

from spare_mc.kernels import training

STEPS = 10_000


def training_rows(sizes):
    """Replication beside all others, SPARe beside AIReSim's loop by failures handled."""
    kernels = compiled("ahead_training", training)
    groups = sizes.groups
    plan = rivals_training.point("replication", groups, 3)
    contenders = {name: partial(rivals_training.runs, plan, 2, 0, kernel) for name, kernel in kernels.items()}
    work = dict.fromkeys(contenders, 2.0)
    contenders["compiled walk over all groups"] = partial(rivals_training.walk_of, plan, 0)
    few, fewer = sizes.steps, max(2, sizes.steps // 5)
    notes = {}
    contenders["plain Python, oracle"] = partial(rivals_training.python_steps, plan, few)
    work["plain Python, oracle"] = few / STEPS
    try:
        import simpy  # noqa: F401
    except ImportError:
        simpy_there = False
    else:
        simpy_there = True
        contenders["SimPy"] = partial(rivals_training.simpy_steps, plan, fewer)
        work["SimPy"], notes["SimPy"] = fewer / STEPS, "a process a group, no failures"
    setting = f"replication N={groups} r=3, {STEPS:,} steps"
    rows = measured(
        "training", setting, "a run", contenders, sizes.seconds, work, notes=notes, least=sizes.least
    )
    base = rows[0]
    if not simpy_there:
        rows.append(missing("training", setting, "SimPy", base.contender, "not installed: pip install simpy"))
    rows.append(_simgrid(setting, base, plan, fewer))
    return rows + _spare(sizes, kernels, simpy_there)


def _simgrid(setting, base, plan, steps):
    python = rivals_training.simgrid_python()
    if python is None:
        how = "not installed: Debian's python3-simgrid, or pip install simgrid, which compiles it (CMake, Boost, Eigen)"
        return missing("training", setting, "SimGrid", base.contender, how)
    seconds = rivals_training.simgrid_seconds(python, plan, steps) * STEPS / steps
    note = "an actor a group, no failures"
    ratio = seconds / base.seconds
    return Row(
        "training", setting, "SimGrid", base.contender, ratio, seconds=seconds, unit="a run", note=note
    )


def _spare(sizes, kernels, simpy_there):
    """SPARe's kernels, and AIReSim's loop over a job of as many failures on as many servers."""
    groups = sizes.groups
    plan = rivals_training.point("spare", groups, 8, "exponential")
    row = rivals_training.runs(plan, 1)[0]
    failures = int(row[training.COLUMNS.index("failures")])
    contenders = {name: partial(rivals_training.runs, plan, 1, 0, kernel) for name, kernel in kernels.items()}
    work = dict.fromkeys(contenders, failures)
    setting, notes = f"SPARe N={groups} r=8, {STEPS:,} steps", {}
    if simpy_there:
        mtbf, handled = 300.0, sizes.failures
        job = mtbf * handled
        contenders["AIReSim's loop"] = partial(
            rivals_training.airesim_loop, groups, groups // 10, job, mtbf, 60.0, 60.0, 3600.0
        )
        work["AIReSim's loop"] = rivals_training.airesim_loop(
            groups, groups // 10, job, mtbf, 60.0, 60.0, 3600.0
        )
        notes["AIReSim's loop"] = "its own model: one job, no layout, no steps; by failures handled"
    return measured(
        "training", setting, "a failure", contenders, sizes.seconds, work, notes=notes, least=sizes.least
    )
