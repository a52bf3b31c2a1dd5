"""Training runs through studies, Python and the command line."""

import json

import numpy as np
import pytest
from cli_tools import run_verb as spare_mc

from spare_mc import api, lives, optimize, published, reproduce, rules, study, timeline, training_setup
from spare_mc.errors import UserError
from spare_mc.layouts import Layout

SMALL = {
    "study": {"measure": ["training"], "seed": 3},
    "cluster": {"groups": 21, "gpus": 210},
    "layout": {"kind": "golomb", "redundancy": 4},
    "failures": {"law": "weibull", "shape": 0.78, "system_mtbf": 3000},
    "training": {"steps": 200, "checkpoint_steps": 9, "restart_time": 600},
    "sampling": {"runs": 6},
}


def changed(**training):
    return {**SMALL, "training": {**SMALL["training"], **training}}


def rows_of(raw, **options):
    return [r.tallies["training"].rows for r in api.run(raw, **options)]


def test_runs_do_not_depend_on_threads_or_where_they_were_cut(tmp_path):
    (once,) = rows_of(SMALL, threads=2)
    path = tmp_path / "parts.h5"
    for runs in (1, 4, 6):
        (parts,) = rows_of({**SMALL, "sampling": {"runs": runs}}, path=path, threads=1)
    np.testing.assert_array_equal(parts, once)
    from spare_mc import store

    np.testing.assert_array_equal(store.read(path).points[0].tallies["training"].rows, once)


def test_python_interface_is_the_study():
    import spare_mc

    (expected,) = api.run(SMALL)
    settings = {"steps": 200, "checkpoint_steps": 9, "restart_time": "10 min"}
    law = {"system_mtbf": 3000, "law": "weibull", "shape": 0.78}
    result = spare_mc.training(Layout.golomb(21, 4), runs=6, seed=3, gpus_per_group=10, **law, **settings)
    assert result.id == expected.id
    np.testing.assert_array_equal(result.tallies["training"].rows, expected.tallies["training"].rows)
    with pytest.raises(UserError, match="did you mean 'steps'"):
        spare_mc.training(Layout.golomb(21, 4), system_mtbf=3000, stesp=5)
    with pytest.raises(UserError, match="spare_mc.Layout"):
        spare_mc.training("golomb", system_mtbf=3000)


def test_estimates_of_runs_add_up():
    (result,) = api.run(SMALL)
    e = result.estimates
    from spare_mc.training_estimates import LOST, PARTS

    assert sum(e[f"{part}_s"].mean for part in PARTS) == pytest.approx(e["time_to_train_s"].mean, rel=1e-12)
    failure_free = 200 * (64 + 0.21)
    assert e["time_to_train_ratio"].mean == pytest.approx(e["time_to_train_s"].mean / failure_free, rel=1e-12)
    assert e["needed_s"].mean == 200 * 64
    lost = sum(e[f"gpu_hours_lost_{part}"].mean for part in LOST)
    kept = (e["needed_s"].mean + e["allreduce_s"].mean) * 210 / 3600
    assert lost + kept == pytest.approx(e["gpu_hours"].mean, rel=1e-12)
    assert 0 < e["useful_fraction"].mean < e["availability"].mean < 1


def test_a_run_that_cannot_finish_is_no_number():
    (result,) = api.run(changed(max_wall=3600.0, restart_time=7200.0))
    assert result.estimates["unfinished_fraction"].mean == 1
    assert not {"time_to_train_s", "availability", "gpu_hours"} & set(result.estimates)


def test_every_rule_changes_the_runs_and_the_identity():
    often = {**SMALL["failures"], "system_mtbf": 600}

    def changed(**training):
        long = {"restart_time": 4000.0, **training}
        return {**SMALL, "failures": often, "training": {**SMALL["training"], **long}}

    plain = study.load(changed()).points[0]
    (base,) = rows_of(changed())
    for name, value in (
        ("clocks", "fresh"),
        ("clocks", "system"),
        ("restart", "fixed"),
        ("resume", "after"),
        ("saves", "asynchronous"),
        ("saves", "overlapped"),
        ("jitter_per", "block"),
        ("barrier", "mean"),
        ("patch", "every"),
        ("found_allreduce", 1.0),
        ("detection_delay", 30.0),
        ("rules", "corrected"),
        ("scheme", "replication"),
    ):
        raw = changed(**{name: value})
        point = study.load(raw).points[0]
        assert point.id != plain.id, name
        (other,) = rows_of(raw)
        assert not np.array_equal(other, base), name
    replication = changed(scheme="replication")
    (base,) = rows_of(replication)
    for name, value in (("placement", "cyclic"), ("handling", "all")):
        (other,) = rows_of(changed(scheme="replication", **{name: value}))
        assert not np.array_equal(other, base), name


def test_rule_sets_are_named_choices():
    for rule_set, schemes in rules.RULE_SETS.items():
        for scheme, chosen in schemes.items():
            for name, value in chosen.items():
                assert name not in rules.CHOICES or value in rules.CHOICES[name], (rule_set, scheme, name)


@pytest.mark.parametrize(
    ("training", "named"),
    [
        ({"checkpoint_steps": 9, "checkpoint": "young"}, "training.checkpoint_steps"),
        ({"checkpoint_steps": 0}, "training.checkpoint_steps"),
        ({"save_blocking": 3.0}, "training.save_blocking"),
        ({"saves": "asynchronous", "save_blocking": 100.0}, "save_time"),
        ({"placement": "cyclic"}, "training.placement"),
        ({"handling": "lowest"}, "training.handling"),
        ({"scheme": "checkpoint-only"}, "layout.redundancy"),
        ({"rules": "papre"}, "paper"),
        ({"steps": 0}, "training.steps"),
        ({"stack_time": 0}, "training.stack_time"),
        ({"jitter": 0.9}, "training.jitter"),
    ],
)
def test_bad_settings_are_named(training, named):
    with pytest.raises(UserError, match=named):
        study.load(changed(**training))


def test_a_training_study_needs_failures():
    with pytest.raises(UserError, match="failures.system_mtbf"):
        study.load({k: v for k, v in SMALL.items() if k != "failures"})


def points_with(**training):
    base = {k: v for k, v in SMALL["training"].items() if k != "checkpoint_steps"}
    return study.load({**SMALL, "training": {**base, **training}}).points[0]


def test_checkpoint_policies_come_from_the_layouts_own_endurance():
    from spare_mc import exact, theory

    point = points_with(checkpoint="optimal")
    until = training_setup.time_to_wipeout(point)
    curve = exact.survival_curve(point.layout)  # N = 21 is enumerated
    assert until == pytest.approx(theory.time_to_wipeout(curve, 3000.0, "weibull", 0.78))
    save, restart = 58.8235, 600.0
    best = training_setup.checkpoint_interval(point) + save
    around = [theory.availability(p, save, restart, until) for p in (0.99 * best, best, 1.01 * best)]
    assert max(around) == around[1]
    young = points_with(checkpoint="young")
    assert training_setup.checkpoint_interval(young) == pytest.approx((2 * save * until) ** 0.5)


def test_dynamic_period_follows_the_hazard():
    only = {"scheme": "checkpoint-only", "checkpoint": "dynamic"}
    base = {k: v for k, v in SMALL["training"].items() if k != "checkpoint_steps"}
    raw = {**SMALL, "layout": {"kind": "contiguous", "redundancy": 1}, "training": {**base, **only}}
    point = study.load(raw).points[0]
    intervals, width = training_setup.dynamic_intervals(point)
    # Fresh Weibull groups, the first failure ends it: cumulative hazard N (t / scale)^shape.
    from scipy.special import gamma

    scale = 21 * 3000 / gamma(1 + 1 / 0.78)
    edges = np.arange(len(intervals) + 1) * width
    hazard = np.diff(21 * (edges / scale) ** 0.78) / width
    np.testing.assert_allclose(intervals, np.sqrt(2 * 58.8235 / hazard), rtol=1e-6)
    assert (np.diff(intervals) > 0).all()  # dense after a restart, rarer later
    redundant = points_with(checkpoint="dynamic")
    late, _ = training_setup.dynamic_intervals(redundant)
    assert late[10] > late[len(late) // 3]  # redundancy is used up with time


def test_timeline_is_the_run_that_was_counted():
    point = study.load(SMALL).points[0]
    (rows,) = rows_of(SMALL)
    for number in range(3):
        found = timeline.timeline(point, seed=3, run=number)
        assert list(found.summary.values()) == rows[number].tolist()
        assert sum(found.parts.values()) == found.summary["wall"] and found.complete
        kinds = [e.kind for e in found.events]
        assert kinds.count("save") == found.summary["saves"]
        assert kinds.count("restart") == found.summary["restarts"]
        assert kinds.count("failure") == found.summary["failures"]
        assert kinds.count("reorder") == found.summary["reorders"] + found.summary["deeper"]
        steps = [e for e in found.events if e.kind == "step"]
        assert steps[-1].a == 200 and len(steps) + kinds.count("restart") == found.summary["executed"]
        assert all(a.time < b.time for a, b in zip(steps, steps[1:], strict=False))


def test_optimize_keeps_the_best_and_drops_the_hopeless():
    # Checkpoints only, exponential failures: the best period is known (Lambert W), the hopeless are far from it.
    from spare_mc import theory

    best = theory.exponential_period(60.0, 3000.0)
    raw = {
        **SMALL,
        "layout": {"kind": "contiguous", "redundancy": 1},
        "failures": {"law": "exponential", "system_mtbf": 3000},
        "training": {
            "scheme": "checkpoint-only", "rules": "corrected", "clocks": "fresh", "steps": 2000, "stack_time": 10.0,
            "allreduce_time": 0.0, "save_time": 60.0, "restart_time": 100.0, "jitter": 0.0, "found_allreduce": 0.0,
            "checkpoint_period": [best / 8, best / 1.2, best, best * 1.2, best * 8],
        },
    }  # fmt: skip
    settings, rounds = optimize.optimize(optimize.candidates(raw), runs=8, max_runs=64)
    left = [s.result.parameters["training.checkpoint_period"] for s in settings if s.left]
    assert best in left and best / 8 not in left and best * 8 not in left
    assert settings[0].left and rounds >= 1
    assert all(s.difference.low > 0 for s in settings if not s.left)


def test_optimize_offers_periods_around_the_best_availability():
    raw = {**SMALL, "layout": {"redundancy": [2, 3]}, "training": {"steps": 10}}
    asked = optimize.candidates(raw)
    assert len(asked.points) == 2 * len(optimize.FACTORS)
    fixed = optimize.candidates({**SMALL, "layout": {"redundancy": [2, 3]}})
    assert len(fixed.points) == 2


def test_published_figures_are_whole():
    assert len(published.runs()) == 76 and len(published.headline()) == 6
    assert len(published.checkpoint_steps()) == 2 * 55
    assert published.runs()["spare", "weibull", 600, 8]["availability"] == pytest.approx(0.9390, abs=5e-5)


def test_reproduce_meets_a_published_point():
    made = reproduce.make_study([600], ["weibull"], ["spare"], "paper", 12, 1, {8})
    (result,) = api.run(made)
    found = reproduce.compare(result)
    assert found.within and abs(found.deviation) < 0.01
    assert abs(result.estimates["availability"].mean - found.published_availability) < 0.01


FLAGS = ("-N", 21, "-r", 4, "--system-mtbf", 3000, "--steps", 100, "--checkpoint-steps", 9)


def test_verbs_print_and_draw(tmp_path, capsys):
    status, out, _ = spare_mc(capsys, "timeline", *FLAGS, "--events", "all", "-o", tmp_path / "run.png")
    assert (
        status == 0 and "saved at 9 committed steps" in out and (tmp_path / "run.png").stat().st_size > 5000
    )
    status, out, _ = spare_mc(capsys, "timeline", *FLAGS, "--json")
    told = json.loads(out)
    assert sum(told["parts_us"].values()) == told["summary"]["wall"]
    status, out, _ = spare_mc(
        capsys, "optimize", "-N", 21, "-r", "2,3", "--system-mtbf", 3000, "--steps", 50, "--runs", 4, "--max-runs", 8,
        "-o", tmp_path / "opt.h5", "--quiet",
    )  # fmt: skip
    assert status == 0 and "cannot be told from the best" in out and "r* = 5" in out
    # of 20 groups there is no golomb layout for every redundancy offered; masking hardly pays at such a rate
    status, out, _ = spare_mc(
        capsys,
        "optimize",
        "-N",
        20,
        "--system-mtbf",
        "2 days",
        "--steps",
        20,
        "--runs",
        2,
        "--max-runs",
        2,
        "--json",
    )
    tried = {s["parameters"]["layout.redundancy"] for s in json.loads(out)}
    assert status == 0 and {1, 2, 3} <= tried and max(tried) * (max(tried) - 1) < 20
    few = ("--system-mtbf", "5 h", "--steps", 50, "--runs", 2, "--max-runs", 4, "--quiet")
    status, out, _ = spare_mc(capsys, "optimize", "-N", 20, "--scheme", "checkpoint-only", *few)
    assert status == 0 and "closed form, no failure masked: T_c =" in out and "r* =" not in out
    status, out, _ = spare_mc(capsys, "optimize", "-N", 20, "-r", 3, "--scheme", "replication", *few)
    assert status == 0 and "mean failures to interruption" in out, "the last block is short"
    often = (
        "--system-mtbf",
        100,
        "--restart-time",
        60,
        "--steps",
        20,
        "--runs",
        2,
        "--max-runs",
        4,
        "--quiet",
    )
    status, out, _ = spare_mc(capsys, "optimize", "-N", 21, "-r", "4,5", *often)
    assert status == 0 and "no layout lies beyond it" in out, (
        "21 groups have no golomb layout of redundancy 6"
    )
    status, out, _ = spare_mc(capsys, "optimize", "-N", 20, "-r", 4, "--repair-time", "1 h", *few)
    assert status == 0 and "no closed form where groups come back" in out and "r* =" not in out
    status, out, _ = spare_mc(capsys, "optimize", "-N", 20, "-r", 4, "--max-wall", 60, *few)
    assert status == 0 and "no setting finishes" in out and "nan" not in out
    status, out, _ = spare_mc(capsys, "optimize", "-N", 20, "-r", "2,4", "--scheme", "replication", *few)
    assert status == 0 and "mean failures to interruption" in out and "r* =" not in out
    status, out, _ = spare_mc(
        capsys, "reproduce", "-N", "200", "-r", "9", "--law", "weibull", "--runs", 2, "-o", tmp_path / "rep.h5",
        "--picture", tmp_path / "rep.png", "--quiet", "--json",
    )  # fmt: skip
    assert status == 0 and {c["scheme"] for c in json.loads(out)} == {"spare", "replication"}
    assert (tmp_path / "rep.png").stat().st_size > 5000
    status, out, _ = spare_mc(capsys, "reproduce", "-N", "300")
    assert status == 2 and out == ""


def test_a_life_step_by_step(tmp_path, capsys):
    layout = Layout.golomb(13, 4)
    events = list(lives.life(layout, seed=5, trial=2))
    assert [e.failures for e in events] == list(range(1, len(events) + 1))
    assert lives.phase_name(events[-1]) == "wipe-out"
    survival = api.survival(layout, trials=3, seed=5).tallies["survival"].counts["endurable_failures"]
    assert survival[len(events) - 1] >= 1
    status, out, _ = spare_mc(
        capsys, "life", "-N", 13, "-r", 4, "--seed", 5, "--trial", 2, "--stacks", "-o", tmp_path / "life.png"
    )
    assert status == 0 and out.count("failure ") == len(events) and "wipe-out" in out
    assert (tmp_path / "life.png").stat().st_size > 5000
    status, out, _ = spare_mc(capsys, "life", "-N", 13, "-r", 4, "--seed", 5, "--trial", 2, "--json")
    assert [e["phase"] for e in json.loads(out)] == [lives.phase_name(e) for e in events]
    for bad in ({"batch": 0}, {"batch": 14}, {"trial": -1}, {"seed": 2**64}):
        with pytest.raises(UserError, match=next(iter(bad))):
            lives.life(layout, **bad)


def test_check_finds_runs_that_do_not_add_up(tmp_path, capsys):
    from spare_mc.check import check_all

    path = tmp_path / "runs.h5"
    results = api.run(SMALL, path)
    (verdict,) = check_all(results)
    assert verdict.passed and verdict.kind == "certain"
    assert spare_mc(capsys, "check", path)[0] == 0
    status, out, _ = spare_mc(capsys, "plot", path, "-o", tmp_path / "runs.png")
    assert status == 0 and (tmp_path / "runs.png").stat().st_size > 5000
    results[0].tallies["training"].rows[2, 0] += 1
    (verdict,) = check_all(results)
    assert not verdict.passed and "row 2" in verdict.message


@pytest.mark.parametrize(("many", "faint"), [(3, 0), (9, 2)])
def test_a_search_over_checkpoints_is_drawn_by_its_best(tmp_path, many, faint):
    from spare_mc import plots

    swept = {
        **SMALL,
        "layout": {"redundancy": [2, 3]},
        "training": {"steps": 30, "restart_time": 600, "checkpoint_steps": list(range(3, 3 + many))},
        "sampling": {"runs": 2},
    }
    results = api.run(swept, tmp_path / "swept.h5")
    assert len(results) == 2 * many
    path = plots.plot(results, tmp_path / "swept.svg", "training")
    text = path.read_text()
    assert text.count('id="others"') == faint  # a panel each
    assert ("best checkpoint of each r" in text) == bool(faint)
