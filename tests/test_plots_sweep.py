"""Pictures of sweeps: what is drawn is what was estimated, axes and legends say what and in which unit."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from cli_tools import refused, run_verb
from matplotlib.collections import QuadMesh
from store_tools import everything, point, study, write

from spare_mc import plots, store
from spare_mc.errors import UserError
from spare_mc.intervals import Estimate
from spare_mc.plots_survival import survival_figure
from spare_mc.plots_sweep import map_figure, sweep_figure
from spare_mc.results import PointResult
from spare_mc.timeline import Event, Timeline


def made(kind, redundancy, groups=40, mean=None, **more):
    """A point with a made-up estimate, a function of its parameters."""
    parameters = {"cluster.groups": groups, "layout.kind": kind, "layout.redundancy": redundancy, **more}
    result = PointResult(str(parameters), parameters, 1)
    mean = len(kind) + redundancy / 10 + groups / 1000 if mean is None else mean
    result.__dict__["estimates"] = {"mean_stack": Estimate(mean, mean - 0.2, mean + 0.3, 1.0)}
    return result


def sweep(kinds=("golomb", "contiguous"), redundancies=(5, 3, 4), sizes=(40,)):
    return [made(kind, r, n) for kind in kinds for r in redundancies for n in sizes]


def drawn(axes, gid):
    return [a for a in axes.get_children() if a.get_gid() == gid]


def legend(figure):
    (found,) = figure.legends
    return found.get_title().get_text(), [t.get_text() for t in found.get_texts()]


def test_lines_are_the_estimates_in_order_with_their_intervals():
    points = sweep()
    figure = sweep_figure(points, y="mean_stack", x="redundancy", by=["kind"])
    (axes,) = figure.axes
    lines, bands = drawn(axes, "mean"), drawn(axes, "band")
    assert len(lines) == len(bands) == 2
    for kind, line, band in zip(("golomb", "contiguous"), lines, bands, strict=True):
        mine = [p for p in points if p.parameters["layout.kind"] == kind]
        of = {p.parameters["layout.redundancy"]: p.estimates["mean_stack"] for p in mine}
        assert list(line.get_xdata()) == [3, 4, 5]
        assert list(line.get_ydata()) == [of[r].mean for r in (3, 4, 5)]
        corners = band.get_paths()[0].vertices
        for r in (3, 4, 5):
            heights = corners[corners[:, 0] == r][:, 1]
            assert {heights.min(), heights.max()} == {of[r].low, of[r].high}
    assert axes.get_xlabel() == "redundancy r" and axes.get_ylabel() == "mean all-reduce stack [stacks]"
    title, entries = legend(figure)
    assert title == "layout" and entries == ["golomb", "contiguous", "band: 95 % interval"]
    assert "N = 40" in axes.get_title(loc="left")


def test_defaults_take_what_is_swept():
    figure = sweep_figure(sweep(sizes=(40, 50)))
    (axes,) = figure.axes
    assert axes.get_xlabel() == "redundancy r"
    expected = {f"N = {n}, {kind}" for n in (40, 50) for kind in ("golomb", "contiguous")}
    assert {*legend(figure)[1]} == {*expected, "band: 95 % interval"}


def test_words_on_the_axis_are_places_without_lines():
    figure = sweep_figure(sweep(), x="kind")
    (axes,) = figure.axes
    assert [t.get_text() for t in axes.get_xticklabels()] == ["golomb", "contiguous"]
    assert {line.get_linestyle() for line in drawn(axes, "mean")} == {"None"}
    assert len(drawn(axes, "interval")) == 3 and legend(figure)[1][-1] == "bar: 95 % interval"


def test_logarithmic_axes():
    figure = sweep_figure(sweep(), x="redundancy", log_x=True, log_y=True)
    assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"
    with pytest.raises(UserError, match="--log-x: layout.kind is golomb"):
        sweep_figure(sweep(), x="kind", log_x=True)
    with pytest.raises(UserError, match="--log-y: mean_stack is -1"):
        sweep_figure([*sweep(), made("golomb", 7, mean=-1.0)], log_y=True)


def test_a_map_shows_every_point_in_its_cell():
    points = [p for p in sweep(("golomb",), (5, 3, 4), (50, 40)) if p.parameters != points_left_out]
    figure = map_figure(points, z="mean_stack", x="redundancy", y="groups")
    axes, bar = figure.axes
    (mesh,) = [c for c in axes.collections if isinstance(c, QuadMesh)]
    values = mesh.get_array().reshape(2, 3)
    for p in points:
        place = (40, 50).index(p.parameters["cluster.groups"]), p.parameters["layout.redundancy"] - 3
        assert values[place] == p.estimates["mean_stack"].mean
    assert np.isnan(np.ma.filled(values, np.nan)).sum() == 1 and "grey: no such point" in axes.get_title(
        loc="left"
    )
    assert [t.get_text() for t in axes.get_yticklabels()] == ["40", "50"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("redundancy r", "groups N")
    assert bar.get_ylabel() == "mean all-reduce stack [stacks]" and "± 0.25" in axes.get_title(loc="left")
    assert len(drawn(axes, "value")) == 5


points_left_out = {"cluster.groups": 50, "layout.kind": "golomb", "layout.redundancy": 4}

REFUSED = {
    "not swept": ({"x": "groups"}, "--x = 'groups': takes one value only, 40; swept: layout.kind, layout.redundancy"),
    "unknown": ({"x": "redundanci"}, "did you mean 'redundancy'"),
    "an estimate as x": ({"x": "mean_stack"}, "is not a parameter; swept: layout.kind, layout.redundancy"),
    "a parameter as y": ({"y": "redundancy"}, "is no estimate; estimates there are: mean_stack"),
    "absent": ({"y": "availability"}, "no point has estimate 'availability'"),
    "mixed": ({"x": "redundancy", "by": []}, "points also differ in layout.kind; add it with --by"),
    "by an estimate": ({"by": ["mean_stack"]}, "--by 'mean_stack': is not a parameter"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_what_is_there(case):
    choices, message = REFUSED[case]
    with pytest.raises(UserError, match=message):
        sweep_figure(sweep(), **choices)


def test_more_refusals():
    with pytest.raises(UserError, match="nothing is swept here"):
        sweep_figure(sweep(("golomb",), (3,)))
    with pytest.raises(UserError, match="30 lines, at most 24"):
        sweep_figure(sweep(("golomb",), (3, 4), range(40, 70)), x="redundancy")
    with pytest.raises(UserError, match="points also differ in cluster.groups; hold it with --where"):
        map_figure(sweep(sizes=(40, 50)), x="kind", y="redundancy")
    with pytest.raises(UserError, match="is on the other axis too"):
        map_figure(sweep(), x="kind", y="kind")
    with pytest.raises(UserError, match="nothing else is swept"):
        map_figure(sweep(("golomb",)), x="redundancy")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("plots") / "out.h5"
    points = [
        point(n, r, layout__kind=kind) for n in (6, 8) for r in (2, 3) for kind in ("golomb", "partition")
    ]
    write(path, study(points), everything(points, ["survival", "stacks"]))
    return path


def test_the_command_draws_what_it_is_asked(path, tmp_path, capsys):
    for number, arguments in enumerate((
        ("--y", "mean_stack", "--x", "redundancy", "--by", "kind", "--where", "groups = 6"),
        ("--y", "mean_stack", "--x", "layout.redundancy", "--log-y"),
        ("--z", "endurable_failures", "--x", "r", "--y", "N", "--where", "kind = golomb", "--log-z"),
        ("--kind", "map", "--where", "kind = golomb"),
        ("--kind", "sweep"),
    )):  # fmt: skip
        picture = tmp_path / f"{number}.png"
        status, out, _ = run_verb(capsys, "plot", path, *arguments, "-o", picture)
        assert status == 0 and str(picture) in out and picture.read_bytes().startswith(b"\x89PNG")
    assert "takes one value only" in refused(capsys, "plot", path, "--x", "steps")
    assert "goes with kind map, not sweep" in refused(
        capsys, "plot", path, "--kind", "sweep", "--z", "mean_stack"
    )
    assert "goes with kind sweep, map, not depth" in refused(
        capsys, "plot", path, "--kind", "depth", "--x", "r"
    )


def test_several_files_are_lines_of_their_own(path, tmp_path, capsys):
    other = tmp_path / "other.h5"
    other.write_bytes(path.read_bytes())
    arguments = ("--y", "mean_stack", "--x", "r", "--where", "kind = golomb", "--where", "N = 6")
    status, _, _ = run_verb(capsys, "plot", path, other, *arguments, "-o", tmp_path / "two.svg")
    text = (tmp_path / "two.svg").read_text()
    assert status == 0 and str(other) in text and "band: 95 % interval" in text


def test_many_points_are_drawn_as_a_sweep(path):
    (one, *_) = [p for p in store.read(path).points]
    assert plots.default_kind([one]) == "depth" and plots.default_kind(store.view(path).points) == "tradeoff"
    alone = [
        PointResult(p.id, p.parameters, 1, {"survival": p.tallies["survival"]})
        for p in store.read(path).points
    ]
    assert plots.default_kind(alone) == "survival" and plots.default_kind(alone * 4) == "sweep"


def test_survival_legend_explains_its_marks(path):
    entries = " ".join(" ".join(legend(survival_figure(store.read(path).points[:2]))[1]).split())
    for text in (
        "95 % interval at each k",
        "every shard type is lost independently of the others",
        "no trial was lost: upper end of the interval of the loss",
        "the paper's closed form μ",
    ):
        assert text in entries


def test_a_timeline_says_what_it_shows(tmp_path):
    events = [
        Event("step", 10**9, 1, 1),
        Event("failure", 2 * 10**9, 3, 0),
        Event("restart", 3 * 10**9, 4 * 10**9, 1),
    ]
    found = Timeline(events, {"wall": 5 * 10**9, "restarts": 1, "failures": 1}, {}, True)
    plots.plot_timeline(found, tmp_path / "run.svg", "golomb, 40 groups; seed 3, run 2")
    text = (tmp_path / "run.svg").read_text()
    assert "One training run: 1 restart, 1 failure found" in text and "seed 3, run 2" in text


def test_every_picture_explains_its_intervals(path):
    from spare_mc.plots_stacks import depth_figure
    from spare_mc.plots_tradeoff import tradeoff_figure

    points = store.read(path).points
    assert "band: 95 % interval at each k" in legend(depth_figure(points))[1]
    assert "bar: 95 % interval" in legend(tradeoff_figure(points))[1]


def test_training_lines_mix_no_families(tmp_path):
    points = []
    for kind in ("golomb", "partition"):
        for r in (3, 4):
            settings = {
                "training.scheme": "spare",
                "training.rules": "corrected",
                "failures.law": "exponential",
            }
            points.append(made(kind, r, **settings))
            value = Estimate(r + len(kind) / 10, r - 1.0, r + 1.0, 1.0)
            points[-1].__dict__["estimates"] = {"time_to_train_ratio": value, "availability": value}
    plots.plot(points, tmp_path / "training.svg", "training")
    text = (tmp_path / "training.svg").read_text()
    for words in ("spare, exponential, golomb", "spare, exponential, partition", "band: 95 % interval"):
        assert words in text


def test_the_title_counts_the_trials_of_what_is_shown(tmp_path):
    path = tmp_path / "out.h5"
    points = [point(7, 3), point(7, 4), point(7, 5)]
    tallies = everything(points, ["survival"], 0, 640) + everything(points, ["stacks"], 0, 10)
    write(path, study(points, ["survival", "stacks"]), tallies)
    found = store.view(path).points
    title = sweep_figure(found, y="mean_stack", x="redundancy").axes[0].get_title(loc="left")
    assert "10 trials a point" in title and "640" not in title
    title = sweep_figure(found, y="endurable_failures", x="redundancy").axes[0].get_title(loc="left")
    assert "640 trials a point" in title
