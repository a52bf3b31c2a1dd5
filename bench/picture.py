"""A picture of the suite's ratios: how much longer each contender takes than the baseline, on a logarithmic axis."""

COLOURS = {"ours": "#0072B2", "bound": "#999999", "other": "#D55E00"}  # Okabe and Ito's
OURS = ("cython", "numba", "cuda")


def draw(rows, path):
    """Write a picture of the rows that have a ratio, one panel a part that compares contenders."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [row for row in rows if row.ratio is not None and row.contender != row.baseline]
    panels = {}
    for row in shown:
        panels.setdefault((row.part, row.setting), []).append(row)
    heights = [len(members) + 1.6 for members in panels.values()]
    figure, axes = plt.subplots(
        len(panels),
        1,
        figsize=(9, 0.2 * sum(heights) + 0.8),
        height_ratios=heights,
        sharex=True,
        squeeze=False,
    )
    for axis, ((part, setting), members) in zip(axes[:, 0], panels.items(), strict=True):
        _panel(axis, part, setting, members)
    axes[-1, 0].set_xlabel("time over the baseline's (left of 1: faster)")
    figure.tight_layout(h_pad=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _panel(axis, part, setting, members):
    members = sorted(members, key=lambda row: row.ratio, reverse=True)
    for y, row in enumerate(members):
        kind = (
            "bound"
            if row.contender.startswith("bound")
            else "ours"
            if row.contender.startswith(OURS)
            else "other"
        )
        axis.plot([1, row.ratio], [y, y], color=COLOURS[kind], linewidth=2.5, solid_capstyle="butt")
        axis.plot(row.ratio, y, marker="o", color=COLOURS[kind], markersize=4)
        text = (
            f"{row.ratio:,.0f}"
            if row.ratio >= 100
            else f"{row.ratio:.2g}"
            if row.ratio >= 10
            else f"{row.ratio:.2f}"
        )
        axis.annotate(
            text, (row.ratio, y), xytext=(5, 0), textcoords="offset points", va="center", fontsize=7
        )
    axis.set_yticks(range(len(members)), [row.contender for row in members], fontsize=7)
    axis.set_ylim(-0.7, len(members) - 0.3)
    axis.set_xscale("log")
    axis.axvline(1, color="black", linewidth=0.6)
    title = part if setting == part else f"{part}: {setting}"
    axis.set_title(f"{title} (1 = {members[0].baseline})", fontsize=8, loc="left", pad=3)
    axis.tick_params(axis="x", labelsize=7)
    axis.margins(x=0.12)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
