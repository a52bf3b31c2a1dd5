"""Studies whose failures come from a stream: run, stored, resumed, checked, compared, drawn."""

import json

import numpy as np
import pytest
from cli_tools import refused, run_verb

import spare_mc
from spare_mc import backends, study
from spare_mc.check import check_all
from spare_mc.comparisons import Side, compare
from spare_mc.failure_streams import has_stream
from spare_mc.possible import what_is_wrong
from spare_mc.results import PointResult

STUDY = {
    "study": {"measure": ["survival", "stacks", "reordering"], "seed": 5},
    "cluster": {"groups": 24, "gpus_per_group": 16, "gpus_per_node": 8},
    "layout": {"kind": "contiguous", "redundancy": 4},
    "failures": {"law": "weibull", "shape": 0.78, "group_mtbf": 1e6, "lemon_share": 0.1, "lemon_rate": 9.0},
    "domains": {"rack_mtbf": 4e6, "rack_size": 64, "placement": ["linear", "strided"]},
    "sampling": {"trials": 200},
}
PLAIN = {section: dict(keys) for section, keys in STUDY.items() if section != "domains"}
PLAIN["failures"] = {"law": "weibull", "shape": 0.78, "group_mtbf": 1e6}
ATTRIBUTES = {"seed": 5, "generator": "g", "generator_version": 1, "common_random_numbers": True}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("streams") / "out.h5"
    spare_mc.run(STUDY, path)
    return path


@pytest.fixture(scope="module")
def points(path):
    return spare_mc.open(path).points


def test_estimates_are_those_of_the_lives(points):
    for point in points:
        assert has_stream(point.parameters)
        backend = backends.choose("auto", ["reordering"])
        prepared = study.load(STUDY).points[points.index(point)]
        plan = backend.plan("reordering", prepared)
        of = backend.lives("reordering", plan, prepared, 5, 0, 200)
        found = point.estimates
        assert found["endurable_failures"].mean == pytest.approx(of["failures"].mean())
        assert found["endurable_events"].mean == pytest.approx(of["events"].mean())
        assert found["endurable_events"].std == pytest.approx(of["events"].std(ddof=1))
        assert found["time_to_interruption_s"].mean == pytest.approx(of["time"].mean() * 1e-6)
        assert found["time_to_interruption_s"].std == pytest.approx(of["time"].std(ddof=1) * 1e-6)
        assert found["reorder_fraction"].mean == pytest.approx(of["reorders"].sum() / of["events"].sum())
        # a state a decision, and the first: the controller's depth is the least there is
        assert found["mean_stack"].mean == pytest.approx(of["depth_sum"].sum() / (of["events"] + 1).sum())


def test_linear_racks_take_neighbours_which_contiguous_layouts_do_not_survive(points):
    linear, strided = points
    assert linear.parameters["domains.placement"] == "linear"
    assert strided.estimates["endurable_failures"].low > linear.estimates["endurable_failures"].high


def test_all_backends_give_the_same(points):
    small = {**STUDY, "study": {"measure": ["survival", "stacks"], "seed": 5}, "sampling": {"trials": 20}}
    found = {name: spare_mc.run(small, backend=name) for name in ("reference", "numba")}
    if backends.BACKENDS["cython"].missing(["survival", "stacks"]) is None:
        found["cython"] = spare_mc.run(small, backend="cython")
    for results in found.values():
        for mine, theirs in zip(results, found["reference"], strict=True):
            for measure, tally in mine.tallies.items():
                other = theirs.tallies[measure]
                assert tally.sums == other.sums
                assert all(np.array_equal(tally.counts[name], other.counts[name]) for name in other.counts)


def test_resumed_is_run_at_once(tmp_path, points):
    path = tmp_path / "resumed.h5"
    first = {**STUDY, "sampling": {"trials": 75}}
    spare_mc.run(first, path, threads=1)
    resumed = spare_mc.run(STUDY, path, threads=2)
    for mine, theirs in zip(resumed, points, strict=True):
        assert {m: t.sums for m, t in mine.tallies.items()} == {m: t.sums for m, t in theirs.tallies.items()}


def test_checked_for_what_is_possible_only(points):
    verdicts = check_all(points)
    assert [v.kind for v in verdicts] == ["certain", "certain"] and all(v.passed for v in verdicts)
    point = points[0]
    tally = point.tallies["stacks"]
    tally.counts["trials_at_depth"] = tally.counts["trials_at_depth"].copy()
    tally.counts["trials_at_depth"][0, 0] += 1
    wrong = PointResult(point.id, point.parameters, point.seed, {"stacks": tally})
    assert "after k = 0" in what_is_wrong(wrong)


def test_no_exact_value_nor_closed_form_beside(path, capsys):
    status, out, _ = run_verb(capsys, "show", path)
    assert status == 0 and "endurable events" in out
    assert "exact" not in out and "closed form" not in out and "mu =" not in out
    status, out, _ = run_verb(capsys, "show", path, "--json")
    assert (
        status == 0
        and {"endurable_events", "time_to_interruption_s"} <= json.loads(out)[0]["estimates"].keys()
    )
    status, out, _ = run_verb(capsys, "plot", path, "--kind", "survival", "-o", path.with_suffix(".svg"))
    assert status == 0


def test_differences_are_paired(points):
    names = ["endurable_failures", "endurable_events", "time_to_interruption_s", "mean_stack"]
    names.append("reorder_fraction")
    a, b = (Side(point, name, ATTRIBUTES) for point, name in zip(points, ("linear", "strided"), strict=True))
    (found,) = compare([(a, b)], names, 0.95)
    assert found.unpaired is None and list(found.differences) == names
    for name, difference in found.differences.items():
        means = [side.point.estimates[name].mean for side in (a, b)]
        assert difference.trials == 200
        assert difference.difference.mean == pytest.approx(means[1] - means[0])


def test_a_stream_against_independent_groups(points, tmp_path):
    plain = spare_mc.run(PLAIN)[0]
    a, b = Side(plain, "plain", ATTRIBUTES), Side(points[1], "racks", ATTRIBUTES)
    names = ["endurable_failures", "time_to_interruption_s", "reorder_fraction", "above_bound_fraction"]
    (found,) = compare([(a, b)], names, 0.95)
    for name, difference in found.differences.items():
        assert difference.difference.mean == pytest.approx(
            points[1].estimates[name].mean - plain.estimates[name].mean
        )


def test_the_plain_reference_cannot_reorder_and_says_so(tmp_path, capsys):
    file = tmp_path / "study.toml"
    file.write_text(
        '[cluster]\ngroups = 12\ngpus_per_group = 8\n[layout]\nkind = "golomb"\nredundancy = 3\n[failures]\n'
        'group_rates = "6x1,6x2"\ngroup_mtbf = 1e5\n[study]\nmeasure = ["reordering"]\n'
    )
    assert "reordering" in refused(capsys, "run", file, "--backend", "reference", "-o", tmp_path / "out.h5")


def test_a_backend_without_streams_says_so_and_auto_goes_on(monkeypatch):
    monkeypatch.setattr(backends.BACKENDS["cython"], "streams", ())
    asked = study.load(STUDY)
    assert backends.choose("auto", ["survival"], asked).name == "numba"
    with pytest.raises(spare_mc.errors.UserError, match="cannot do survival under a failure stream.*numba"):
        backends.choose("cython", ["survival"], asked)


def test_domains_that_reach_too_few_groups(tmp_path):
    # a log of one node that is one node here: one group fails, and then nothing does
    log = tmp_path / "log.csv"
    log.write_text("time,unit\n2024-01-01 00:00,a\n2024-01-02 00:00,a\n2024-01-03 12:00,a\n")
    asked = {
        "study": {"measure": ["survival"]},
        "cluster": {"groups": 6, "gpus_per_group": 8, "gpus_per_node": 8},
        "layout": {"kind": "contiguous", "redundancy": 2},
        "replay": {"log": str(log), "units": 6, "mapping": "fixed"},
        "sampling": {"trials": 5},
    }
    with pytest.raises(spare_mc.errors.UserError, match="loses 1 groups and then no more"):
        spare_mc.run(asked, backend="reference")
