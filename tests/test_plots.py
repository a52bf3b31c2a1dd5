"""Pictures: what stands in the axes equals the curves, nothing hides anything, bad input is refused in one line."""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from spare_mc import exact, plots, theory
from spare_mc.errors import UserError
from spare_mc.estimates import curve_band, stack_bound
from spare_mc.layouts import Layout
from spare_mc.plots_common import COLOURS, names, strokes, with_error
from spare_mc.plots_stacks import ENOUGH, depth_figure, reordering_figure
from spare_mc.plots_survival import survival_figure
from spare_mc.plots_tradeoff import tradeoff_figure, undominated
from spare_mc.results import PointResult
from spare_mc.study import layout_parameters
from spare_mc.tallies import Tally


def point(layout, *tallies, seed=1, **more):
    parameters = {"cluster.groups": layout.groups, **layout_parameters(layout), **more}
    return PointResult(
        f"{hash(str(parameters)) % 16**8:08x}" + "0" * 56, parameters, seed, {t.measure: t for t in tallies}
    )


def survival(layout, trials=2000, seed=1, **more):
    """A point with endurable failures drawn from the exact curve, or from independent types where there is none."""
    curve = exact.survival_curve(layout)
    if curve is None:
        curve = exact.independent_types_curve(layout.groups, layout.redundancy)
    chances = np.maximum(np.append(curve[:-1] - curve[1:], 0.0), 0.0)
    histogram = np.random.default_rng(seed).multinomial(trials, chances / chances.sum())
    tally = Tally("survival", "0" * 64, seed, ((0, trials),), {"endurable_failures": histogram})
    return point(layout, tally, seed=seed, **more)


def lives(layout, trials=300, seed=1, deeper=0.1, **more):
    """A point with made-up stack and reordering tallies: consistent, but of no layout."""
    rng = np.random.default_rng(seed)
    groups, r = layout.groups, layout.redundancy
    at_depth, phases = np.zeros((groups + 1, r), np.int64), np.zeros((groups + 1, 3), np.int64)
    moves, histogram, rows = np.zeros(groups + 1, np.int64), np.zeros(groups + 1, np.int64), []
    bound = stack_bound(groups)
    for _ in range(trials):
        endured = int(rng.integers(r, groups // 2))
        depth = np.minimum(
            np.maximum.accumulate(bound[: endured + 1] + (rng.random(endured + 1) < deeper / 9)), r
        )
        at_depth[np.arange(endured + 1), depth.astype(int) - 1] += 1
        phase = rng.integers(0, 3, endured)
        moved = np.where(phase == 2, rng.integers(1, 4, endured), 0)
        phases[np.arange(1, endured + 1), phase] += 1
        moves[1 : endured + 1] += moved
        histogram[endured] += 1
        above = int((depth > bound[: endured + 1]).sum())
        rows.append((depth.sum(), endured + 1, above, endured, (phase == 2).sum(), moved.sum(), moved.sum()))
    of = dict(
        zip(
            ("stack", "states", "above", "failures", "reorders", "moves", "patch"),
            np.array(rows).T,
            strict=True,
        )
    )
    sums = {name: int(v.sum()) for name, v in of.items()}
    sums |= {f"{name}_squared": int((v * v).sum()) for name, v in of.items()}
    for a, b in (
        ("stack", "states"),
        ("above", "failures"),
        ("reorders", "failures"),
        ("moves", "reorders"),
        ("patch", "reorders"),
    ):
        sums[f"{a}_{b}"] = int((of[a] * of[b]).sum())
    stacks = {"endurable_failures": histogram, "trials_at_depth": at_depth}
    reordering = {"endurable_failures": histogram, "phase_at_failure": phases, "moves_at_failure": moves}
    spans = ((0, trials),)
    return point(
        layout,
        Tally("stacks", "0" * 64, seed, spans, stacks, sums),
        Tally("reordering", "0" * 64, seed, spans, reordering, sums),
        seed=seed,
        **more,
    )


@pytest.fixture(scope="module")
def four():
    """Four families: two with exact curves, two without."""
    made = (
        Layout.golomb(40, 5),
        Layout.contiguous(40, 5),
        Layout.partition(40, 5),
        Layout.random(40, 5, seed=4),
    )
    return [survival(layout) for layout in made]


@pytest.fixture(scope="module")
def figure_of_four(four):
    return survival_figure(four)


def artists(axes, gid):
    return [a for a in axes.get_children() if a.get_gid() == gid]


def line_data(line):
    """The values a line was given, steps not expanded."""
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def texts(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


DRAWN = {
    "survival": lambda: [survival(Layout.contiguous(40, 5)), survival(Layout.golomb(40, 5))],
    "depth": lambda: [lives(Layout.contiguous(40, 5))],
    "reordering": lambda: [lives(Layout.contiguous(40, 5)), lives(Layout.golomb(40, 5))],
    "tradeoff": lambda: [lives(Layout.contiguous(40, r)) for r in (3, 4, 5)],
}


MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "PDF": b"%PDF"}


@pytest.mark.parametrize(
    ("kind", "ending"),
    [("survival", "png"), ("depth", "png"), ("reordering", "png"), ("tradeoff", "PDF")],
)
def test_every_picture_is_written_over_an_older_one(tmp_path, kind, ending):
    path = tmp_path / f"picture.{ending}"
    path.write_text("an older picture")
    assert plots.plot(DRAWN[kind](), str(path), kind) == path
    written = path.read_bytes()
    assert written.startswith(MAGIC[ending]) and len(written) > 5000


def test_same_results_give_the_same_picture(tmp_path):
    one, two = tmp_path / "1.svg", tmp_path / "2.svg"
    for path in (one, two):
        plots.plot_depth([lives(Layout.contiguous(40, 5))], path)
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes().startswith(MAGIC["svg"])


def test_survival_axes_hold_the_curves(four, figure_of_four):
    upper, lower = figure_of_four.axes
    for axes, name in ((upper, "survival"), (lower, "loss")):
        lines = artists(axes, "sampled")
        assert len(lines) == 4
        for result, line in zip(four, lines, strict=True):
            k, values = line_data(line)
            expected = result.curves[name][k]
            if name == "loss":
                expected = np.where(expected > 0, expected, np.nan)
            np.testing.assert_array_equal(values, expected)
            assert k[0] == 0 and np.all(np.diff(k) == 1)
            assert result.curves["survival"][k[-1]] == 0, "drawn to where nobody is alive"


def test_survival_band_is_drawn(four):
    upper, _ = survival_figure(four[:1]).axes
    (band,) = artists(upper, "band")
    low, high = curve_band(four[0], "survival")
    heights = np.concatenate([p.vertices[:, 1] for p in band.get_paths()])
    last = int(np.flatnonzero(four[0].curves["survival"])[-1])
    for k in range(last + 1):
        assert np.isclose(heights, low[k]).any() and np.isclose(heights, high[k]).any()


def test_exact_values_bounds_and_closed_forms(figure_of_four):
    figure = figure_of_four
    upper, lower = figure.axes
    shown = artists(upper, "exact")
    assert len(shown) == 2, "contiguous and partition"
    for line, layout in zip(shown, (Layout.contiguous(40, 5), Layout.partition(40, 5)), strict=True):
        k, values = line_data(line)
        np.testing.assert_array_equal(values, exact.survival_curve(layout)[k])
    k, values = line_data(artists(lower, "exact")[0])
    loss = exact.loss_curve(Layout.contiguous(40, 5))[k]
    np.testing.assert_array_equal(values[loss > 0], loss[loss > 0])
    bounds = artists(lower, "bounds")
    assert len(bounds) == 4, "low and high of golomb and random"
    k, low = line_data(bounds[0])
    expected = exact.loss_bounds(Layout.golomb(40, 5), [int(x) for x in k])
    np.testing.assert_array_equal(low, expected[0])
    np.testing.assert_array_equal(line_data(bounds[1])[1], expected[1])
    (independent,) = artists(upper, "independent")
    k, values = line_data(independent)
    np.testing.assert_array_equal(values, exact.independent_types_curve(40, 5)[k])
    (mu,) = artists(upper, "mu")
    assert set(mu.get_xdata()) == {theory.mu(40, 5)}
    assert f"the paper's closed form μ: {theory.mu(40, 5):.2f}" in texts(figure)
    assert lower.get_yscale() == "log"


def test_limit_where_no_loss_was_seen(four):
    _, lower = survival_figure(four[1:2]).axes
    k, values = line_data(artists(lower, "limit")[0])
    seen = four[1].curves["loss"][k] > 0
    assert np.isnan(values[seen]).all()
    # Clopper-Pearson at no event of 2,000, 2.5 % above
    assert values[~seen] == pytest.approx(1 - 0.025 ** (1 / 2000), rel=1e-9)


def test_labels_say_what_differs_and_the_title_what_does_not(four, figure_of_four):
    figure = figure_of_four
    assert "N = 40, r = 5, 2,000 trials each" in figure.axes[0].get_title(loc="left")
    for result, family in zip(four, ("golomb", "contiguous", "partition", "random"), strict=True):
        assert f"{family}: {with_error(result.estimates['wipeout_index'])}" in texts(figure)
    assert figure.axes[1].get_xlabel() and figure.axes[0].get_ylabel() and figure.axes[1].get_ylabel()
    single = survival_figure(four[1:2])
    assert "contiguous, N = 40, r = 5, 2,000 trials" in single.axes[0].get_title(loc="left")


def test_names_of_points():
    layouts = [Layout.contiguous(40, 3), Layout.contiguous(40, 4)]
    common, labels = names(
        [survival(x, **{"failures.law": "weibull", "failures.shape": 0.78}) for x in layouts]
    )
    assert common == "contiguous, N = 40, weibull, shape 0.78"
    assert labels == ["r = 3", "r = 4"]
    same = Layout.contiguous(40, 3)
    assert names([survival(same, seed=1), survival(same, seed=2)])[1] == ["seed 1", "seed 2"]
    seeds = [survival(Layout.random(40, 3, seed=s)) for s in (1, 2)]
    assert names(seeds)[1] == ["layout seed 1", "layout seed 2"]
    other = [survival(Layout.custom(13, [0, 1, 5])), survival(Layout.custom(13, [0, 2, 5]))]
    assert names(other)[1] == ["offsets 0, 1, 5", "offsets 0, 2, 5"]
    law = [survival(same), survival(same, **{"failures.system_mtbf": 300.0})]
    assert names(law)[1] == ["", "MTBF 300 s"]


def test_values_with_their_error():
    mean = Layout.contiguous(40, 3)
    value = survival(mean).estimates["wipeout_index"]
    assert with_error(value._replace(mean=302.6781, low=302.6, high=302.7562)) == "302.678 ± 0.078"
    assert with_error(value._replace(mean=1234.56, low=1222.56, high=1246.56)) == "1,235 ± 12"
    assert with_error(value._replace(mean=2.0, low=2.0, high=2.0)) == "2"
    assert with_error(value._replace(mean=2.5, low=None, high=None)) == "2.5"


def test_twelve_curves_differ_and_the_legend_covers_none():
    made = [
        survival(getattr(Layout, family)(40, r))
        for family, r in itertools.product(("golomb", "contiguous", "partition"), (3, 4, 5, 6))
    ]
    figure = survival_figure(made)
    lines = artists(figure.axes[0], "sampled")
    assert len({(line.get_color(), str(line._dash_pattern)) for line in lines}) == 12
    figure.canvas.draw()
    legend = figure.legends[0].get_window_extent()
    assert not any(legend.overlaps(axes.get_window_extent()) for axes in figure.axes)
    assert legend.y0 >= 0 and legend.x1 <= figure.bbox.x1
    assert legend.y1 <= figure.bbox.y1 + 1


def test_strokes_differ_by_colour_first():
    drawn = strokes(24)
    assert [s["color"] for s in drawn[:6]] == list(COLOURS)
    assert len({(s["color"], str(s["ls"])) for s in drawn}) == 24
    assert all(a["lw"] > b["lw"] for a, b in itertools.pairwise(drawn))


@pytest.mark.parametrize(
    "layout", [Layout.contiguous(2, 1), Layout.contiguous(2, 2), Layout.contiguous(3, 1)]
)
def test_smallest_clusters_are_drawn(layout, tmp_path):
    result = survival(layout, trials=1)
    (line,) = artists(survival_figure([result]).axes[0], "sampled")
    k, values = line_data(line)
    np.testing.assert_array_equal(values, result.curves["survival"][k])
    assert values[layout.redundancy - 1] == 1 and values[-1] == 0


def test_large_clusters_are_thinned():
    result = survival(Layout.contiguous(50_000, 9), trials=500)
    line = artists(survival_figure([result]).axes[0], "sampled")[0]
    k, values = line_data(line)
    assert len(k) <= 4000 and k[0] == 0
    np.testing.assert_array_equal(values, result.curves["survival"][k])


def test_depth_axes_hold_the_curves():
    made = [lives(Layout.contiguous(40, 5)), lives(Layout.golomb(40, 5), seed=2, deeper=2.0)]
    figure = depth_figure(made)
    upper, lower = figure.axes
    for result, line, alive in zip(
        made, artists(upper, "min_stack"), artists(lower, "survival"), strict=True
    ):
        k, values = line_data(line)
        np.testing.assert_array_equal(values, result.curves["min_stack"][k])
        np.testing.assert_array_equal(line_data(alive)[1], result.curves["survival"][k])
        counts = result.tallies["stacks"].counts["trials_at_depth"].sum(axis=1)
        assert counts[k[-1]] >= ENOUGH > counts[k[-1] + 1]
    (bound,) = artists(upper, "bound")
    k, values = line_data(bound)
    np.testing.assert_array_equal(values, -(-40 // (40 - k)))
    assert f"golomb: {with_error(made[1].estimates['mean_stack'])}" in texts(figure)


def test_bounds_of_several_sizes_are_told_apart():
    figure = depth_figure([lives(Layout.contiguous(40, 5)), lives(Layout.contiguous(60, 5))])
    assert len(artists(figure.axes[0], "bound")) == 2
    assert sum("N = 60" in text for text in texts(figure)) == 2


def test_few_trials_are_drawn_whole():
    result = lives(Layout.contiguous(40, 5), trials=3)
    k, _ = line_data(artists(depth_figure([result]).axes[0], "min_stack")[0])
    assert k[-1] == np.flatnonzero(result.curves["survival"])[-1]


def test_reordering_of_one_point_shows_three_phases():
    result = lives(Layout.contiguous(40, 5))
    figure = reordering_figure([result])
    upper, lower = figure.axes
    k, values = line_data(artists(upper, "moves")[0])
    assert k[0] == 1
    np.testing.assert_array_equal(values, result.curves["moves"][k])
    base = np.zeros(len(k))
    for name in ("phase_fixed", "phase_depth", "phase_reorder"):
        (area,) = artists(lower, name)
        top = base + result.curves[name][k]
        heights = area.get_paths()[0].vertices[:, 1]
        assert all(np.isclose(heights, y).any() for y in [*base, *top])
        base = top
    assert base == pytest.approx(1.0)


def test_reordering_of_several_points():
    made = [lives(Layout.contiguous(40, 5)), lives(Layout.golomb(40, 5), seed=2)]
    figure = reordering_figure(made)
    for result, line in zip(made, artists(figure.axes[1], "phase_reorder"), strict=True):
        k, values = line_data(line)
        np.testing.assert_array_equal(values, result.curves["phase_reorder"][k])
    share = 100 * made[1].estimates["reorder_fraction"].mean
    assert any("golomb" in text and f"{share:.3g} %" in text for text in texts(figure))


def test_undominated_by_definition():
    rng = np.random.default_rng(6)
    stacks, failures = rng.integers(0, 12, 60) / 4, rng.integers(0, 12, 60)
    found = undominated(stacks, failures)
    for i in range(60):
        beaten = any(
            stacks[j] <= stacks[i]
            and failures[j] >= failures[i]
            and (stacks[j], failures[j]) != (stacks[i], failures[i])
            for j in range(60)
        )
        assert found[i] == (not beaten)
    assert undominated([2.0], [5.0]).tolist() == [True]


def test_tradeoff_places_families_and_rings():
    made = [
        lives(getattr(Layout, family)(40, r), seed=r, deeper=d)
        for (family, d), r in itertools.product((("golomb", 0.1), ("contiguous", 1.5)), (5, 3, 4))
    ]
    figure = tradeoff_figure(made)
    (axes,) = figure.axes
    lines = artists(axes, "family")
    assert [line.get_label() for line in lines] == ["golomb", "contiguous"]
    for line, family in zip(lines, (made[:3], made[3:]), strict=True):
        ordered = sorted(family, key=lambda r: r.parameters["layout.redundancy"])
        x, y = line_data(line)
        np.testing.assert_array_equal(x, [r.estimates["mean_stack"].mean for r in ordered])
        np.testing.assert_array_equal(y, [r.estimates["endurable_failures"].mean for r in ordered])
    ring = artists(axes, "undominated")[0]
    x = np.array([r.estimates["mean_stack"].mean for r in made])
    y = np.array([r.estimates["endurable_failures"].mean for r in made])
    best = undominated(x, y)
    assert set(zip(*line_data(ring), strict=True)) == set(zip(x[best], y[best], strict=True))
    written = [a.get_text() for a in artists(axes, "redundancy")]
    assert set(written) <= {"3", "4", "5"} and len(written) >= 3
    boxes = [a.get_window_extent() for a in artists(axes, "redundancy")]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_default_kind_is_what_the_points_hold(four):
    assert plots.default_kind(four) == "survival"
    one = lives(Layout.contiguous(40, 5), trials=5)
    assert plots.default_kind([one]) == "depth"
    assert plots.default_kind([one] * 3) == "tradeoff"
    only = PointResult("0" * 64, one.parameters, 1, {"reordering": one.tallies["reordering"]})
    assert plots.default_kind([only]) == "reordering"


@pytest.mark.parametrize("name", ["picture.bmp", "picture", "picture.h5"])
def test_unknown_endings_name_the_allowed(tmp_path, four, name):
    with pytest.raises(UserError, match=r"\.png, \.svg, \.pdf"):
        plots.plot_survival(four, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_nothing_to_draw_says_what_to_run(tmp_path, four):
    with pytest.raises(UserError, match="--measure stacks"):
        plots.plot_depth(four, tmp_path / "x.png")
    with pytest.raises(UserError, match="--measure reordering"):
        plots.plot_reordering(four, tmp_path / "x.png")
    with pytest.raises(UserError, match="--measure stacks"):
        plots.plot_tradeoff(four, tmp_path / "x.png")
    with pytest.raises(UserError, match="measure survival"):
        plots.plot_survival([], tmp_path / "x.png")
    with pytest.raises(UserError, match="survival, depth, reordering, tradeoff"):
        plots.plot(four, tmp_path / "x.png", "pie")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(tmp_path, four):
    with pytest.raises(UserError, match="there is no folder"):
        plots.plot_survival(four[:1], tmp_path / "missing" / "x.png")
    (tmp_path / "x.png").mkdir()
    with pytest.raises(UserError, match=r"x\.png: cannot be written"):
        plots.plot_depth([lives(Layout.contiguous(40, 5), trials=5)], tmp_path / "x.png")


def test_missing_matplotlib_says_how_to_install(tmp_path, four, monkeypatch):
    for name in [m for m in sys.modules if m.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (plots.plot_survival, plots.plot_depth):
        with pytest.raises(UserError, match=r"pip install 'spare-mc\[plot\]'"):
            draw([*four, lives(Layout.contiguous(40, 5), trials=5)], tmp_path / "x.png")


def test_importing_the_pictures_does_not_import_matplotlib():
    code = "import sys, spare_mc.plots; sys.exit('matplotlib' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], check=False).returncode
        == 0
    )
