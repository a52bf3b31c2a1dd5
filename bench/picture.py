"""A picture of the suite's ratios: how much longer each contender takes than the baseline, on a logarithmic axis."""

COLOURS = {"ours": "#0072B2", "bound": "#777777", "other": "#D55E00"}  # Okabe and Ito's
OURS = ("cython", "numba", "cuda", "survival, ", "stacks, ", "training run, ")
GROWTH = (
    "threads",
    "over N",
    "over r",
    "sweep",
)  # parts that compare one thing with itself: in the table only


def draw(rows, path):
    """Write a picture of the rows that compare contenders, a panel a setting, in two columns."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = {}
    for row in rows:
        if row.ratio is not None and row.contender != row.baseline and row.part not in GROWTH:
            panels.setdefault((row.part, row.setting), []).append(row)
    columns = _halves(list(panels.items()))
    lines = max(sum(_height(members) for _, members in column) for column in columns)
    figure = plt.figure(figsize=(13, 0.21 * lines + 0.6), layout="constrained")
    for part, column in zip(figure.subfigures(1, len(columns), squeeze=False)[0], columns, strict=True):
        heights = [_height(members) for _, members in column]
        axes = part.subplots(len(column), 1, height_ratios=heights, sharex=True, squeeze=False)
        for axis, ((name, setting), members) in zip(axes[:, 0], column, strict=True):
            _panel(axis, f"{name}: {setting}", members)
        axes[-1, 0].set_xlabel("time over the baseline's (left of 1: faster)", fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _height(members):
    return len(members) + 1.8


def _halves(panels):
    """Panels in two columns of about the same height, in their order."""
    total, high = sum(_height(members) for _, members in panels), 0.0
    for at, (_, members) in enumerate(panels):
        high += _height(members)
        if high >= total / 2 and at + 1 < len(panels):
            return [panels[: at + 1], panels[at + 1 :]]
    return [panels]


def _panel(axis, title, members):
    members = sorted(members, key=lambda row: row.ratio, reverse=True)
    for y, row in enumerate(members):
        kind = (
            "ours"
            if row.contender.startswith(OURS)
            else "bound"
            if row.contender.startswith("bound")
            else "other"
        )
        axis.plot([1, row.ratio], [y, y], color=COLOURS[kind], linewidth=2.5, solid_capstyle="butt")
        axis.plot(row.ratio, y, marker="o", color=COLOURS[kind], markersize=4)
        right = row.ratio >= 1
        axis.annotate(
            _text(row.ratio), (row.ratio, y), xytext=(5 if right else -5, 0), textcoords="offset points", va="center",
            ha="left" if right else "right", fontsize=7,
        )  # fmt: skip
    axis.set_yticks(range(len(members)), [row.contender for row in members], fontsize=7)
    axis.set_ylim(-0.7, len(members) - 0.3)
    axis.set_xscale("log")
    axis.axvline(1, color="black", linewidth=0.6)
    axis.set_title(
        f"{title} (1 = {members[0].baseline.removeprefix('bound: ')})", fontsize=8, loc="left", pad=3
    )
    axis.tick_params(axis="x", labelsize=7)
    axis.margins(x=0.15)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _text(ratio):
    return (
        f"{ratio:,.0f}"
        if ratio >= 100
        else f"{ratio:#.2g}".rstrip(".")
        if ratio < 1 or ratio >= 10
        else f"{ratio:.2f}"
    )
