"""Time of the reordering controller: whole lives, and one reorder against general solvers.

    python bench/bench_reorder.py [--quick]

Every figure is CPU time, the best of several rounds in which all contenders take turns, so that a busy machine slows
them alike; ratios are the figures to trust. Lives are run by Numba's kernel and, where it is built, by Cython's. Prints
the tables of docs/reordering.md.
"""

import sys

from common import ahead, best_of
from rivals_reorder import lives_of, one_reorder

from spare_mc.kernels import reorder
from spare_mc.layouts import Layout

KERNELS = {"numba": reorder} | ({"cython": ahead("ahead_reorder")} if ahead("ahead_reorder") else {})


def table_of_lives(title, layouts, rounds):
    print(f"\n{title}\n")
    print(
        "| layout | N | r | failures | us a life | us a failure | reorders | moves a reorder | mean depth "
        "| Cython over Numba |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    pieces, rows = {}, {}
    for i, layout in enumerate(layouts):
        for name, kernel in KERNELS.items():
            pieces[i, name], rows[i] = lives_of(kernel, layout, max(20, 60_000 // layout.groups))
    best = best_of(rounds, pieces)
    for i, layout in enumerate(layouts):
        count = rows[i].shape[0]
        of = dict(zip(reorder.COLUMNS, rows[i].sum(axis=0).tolist(), strict=True))
        life = best[i, "numba"] / count * 1e6
        failure = best[i, "numba"] / max(1, of["failures"]) * 1e6
        ratio = f"{best[i, 'cython'] / best[i, 'numba']:.2f}" if "cython" in KERNELS else "not built"
        print(
            f"| {layout.kind} | {layout.groups} | {layout.redundancy} | {of['failures'] / count:.1f} "
            f"| {life:.0f} | {failure:.2f} | {of['reorders'] / count:.1f} "
            f"| {of['moves'] / max(1, of['reorders']):.2f} "
            f"| {of['depth_sum'] / (of['failures'] + count):.3f} | {ratio} |"
        )


def line_of_reorder(layout, failures, rounds):
    found = one_reorder(layout, failures, rounds)
    ours = found["ours"]
    line = f"| {layout.groups} | {layout.redundancy} | {failures} | {ours * 1e6:.2f} "
    for name in ("scipy", "ortools"):
        time = found[name]
        line += "| not installed | - " if time is None else f"| {time * 1e6:.0f} | {time / ours:.0f} "
    print(line + "|")


def main():
    rounds = 3 if "--quick" in sys.argv else 15
    print(
        "\nOne reorder, with its share of failures that need none (solvers: the problem built beforehand)\n"
    )
    print("| N | r | at failures | us | scipy us | ratio | OR-tools us | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for layout, failures in (
        ((600, 9), 100),
        ((600, 9), 200),
        ((600, 9), 280),
        ((600, 20), 200),
        ((600, 20), 400),
    ):
        line_of_reorder(Layout.golomb(*layout), failures, rounds)
    table_of_lives(
        "Whole lives by N", [Layout.golomb(n, 9) for n in (200, 600, 1000, 2000, 5000, 10_000)], rounds
    )
    table_of_lives("Whole lives by r", [Layout.golomb(600, r) for r in (3, 6, 9, 12, 16, 20)], rounds)
    others = [Layout.contiguous(600, 9), Layout.partition(600, 9), Layout.random(600, 9)]
    table_of_lives("Other layouts", others, rounds)


if __name__ == "__main__":
    main()
