"""Parts of the suite about failure patterns: survival, least stacks, the controller."""

from functools import partial

import rivals_reorder
import rivals_stacks
import rivals_survival
from common import ahead, levels
from rows import Row, measured, missing

from spare_mc.kernels import reference_stacks, reorder, stacks, survival
from spare_mc.layouts import Layout


def compiled(stem, numba):
    """Name -> kernel: the one that runs use first, Numba's, then every other level of Cython's."""
    built = levels(stem)
    found = {"cython": ahead(stem)} if built else {}
    found["numba"] = numba
    for level in list(built)[:-1]:
        found[f"cython {level}"] = built[level]
    return found


def survival_rows(sizes):
    """Survival beside its keys, NumPy and plain Python."""
    groups, trials = sizes.groups, sizes.trials
    kernels = compiled("ahead", survival)
    rows = []
    for layout in (Layout.golomb(groups, 9), Layout.contiguous(groups, 9)):
        plan = rivals_survival.plan_of(layout)
        contenders = {name: rivals_survival.run(kernel, plan, trials) for name, kernel in kernels.items()}
        work = dict.fromkeys(contenders, trials)
        alone = rivals_survival.keys_alone(groups, trials)
        contenders["bound: key halves alone"] = alone["key halves"]
        contenders["bound: full keys alone"] = alone["full keys"]
        work |= {"bound: key halves alone": trials, "bound: full keys alone": trials}
        traffic, copied = rivals_survival.memory_traffic(groups, sizes.copied)
        contenders["bound: keys through memory"], work["bound: keys through memory"] = traffic, copied
        notes = {
            "bound: keys through memory": "16-bit keys copied; the kernel's stay in the first-level cache"
        }
        if layout.kind == "contiguous":
            contenders["NumPy, doubling windows"] = rivals_survival.numpy_doubling(groups, 9, trials)
            work["NumPy, doubling windows"] = trials
        contenders["NumPy, rolled maxima"] = rivals_survival.numpy_rolled(groups, layout.offsets, trials)
        work["NumPy, rolled maxima"] = trials
        contenders["plain Python"] = rivals_survival.plain_python(layout, 2)
        work["plain Python"] = 2
        setting = f"{layout.kind} N={groups} r=9"
        rows += measured(
            "survival", setting, "a trial", contenders, sizes.seconds, work, notes=notes, least=sizes.least
        )
    return rows


def stacks_rows(sizes):
    """Least stacks beside library matchings after every failure."""
    groups, trials = sizes.groups, sizes.trials // 4
    kernels = compiled("ahead_stacks", stacks)
    rows = []
    for layout in (Layout.golomb(groups, 9), Layout.contiguous(groups, 9)):
        contenders = {name: rivals_stacks.kernel(layout, trials, kernel) for name, kernel in kernels.items()}
        work = dict.fromkeys(contenders, trials)
        contenders["bound: key halves alone"] = rivals_survival.keys_alone(groups, trials)["key halves"]
        work["bound: key halves alone"] = trials
        contenders["scipy.sparse.csgraph matchings"] = rivals_stacks.scipy_every_failure(layout)
        contenders["plain Python, incremental"] = rivals_stacks.python_incremental(layout)
        if layout.kind == "golomb":
            name = "networkx Hopcroft-Karp matchings"
            contenders[name], work[name] = rivals_stacks.networkx_some_failures(layout, sizes.every)
            hosts = [layout.hosts(t).tolist() for t in range(groups)]
            if sizes.slow:
                contenders["plain Python, oracle"] = partial(
                    reference_stacks.capacity, hosts, groups, layout.redundancy, rivals_stacks.SEED, 0
                )
        setting = f"{layout.kind} N={groups} r=9"
        rows += measured("stacks", setting, "a trial", contenders, sizes.seconds, work, least=sizes.least)
    return rows


def controller_rows(sizes):
    """Whole lives of the controller, and one reorder beside general solvers."""
    groups, lives = sizes.groups, 20
    layout, kernels = Layout.golomb(groups, 9), compiled("ahead_reorder", reorder)

    def run(kernel):
        pieces, _ = rivals_reorder.lives_of(kernel, layout, lives)
        return lambda: [piece() for piece in pieces]

    contenders = {name: run(kernel) for name, kernel in kernels.items()}
    work = dict.fromkeys(contenders, lives)
    contenders["bound: full keys alone"] = rivals_survival.keys_alone(groups, lives)["full keys"]
    work["bound: full keys alone"] = lives
    contenders["plain Python, oracle"] = rivals_reorder.python_life(layout)
    setting = f"golomb N={groups} r=9"
    rows = measured("controller", setting, "a life", contenders, sizes.seconds, work, least=sizes.least)
    failures = groups // 3
    found = rivals_reorder.one_reorder(
        layout, failures, sizes.rounds, count=20, span=groups // 30, networkx=sizes.networkx
    )
    names = {
        "ours": "numba",
        "scipy": "scipy.sparse.csgraph assignment",
        "ortools": "OR-tools min-cost flow",
        "networkx": "networkx network simplex",
    }
    setting = f"one reorder at {failures} failures, golomb N={groups} r=9"
    for key, name in names.items():
        seconds = found.get(key)
        if seconds is None:
            why = "pip install ortools" if key == "ortools" else "left out here"
            rows.append(missing("controller", setting, name, "numba", why))
        else:
            ratio = seconds / found["ours"]
            rows.append(Row("controller", setting, name, "numba", ratio, seconds=seconds, unit="a reorder"))
    return rows
