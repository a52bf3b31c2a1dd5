"""Groups that come back and spares, as a study asks for them; files of versions that knew no returns."""

import json

import h5py
import numpy as np
import pytest
from cli_tools import run_verb as spare_mc

from spare_mc import api, store, store_journal, store_schema, study, timeline, training_setup
from spare_mc.errors import UserError
from spare_mc.estimates import DESCRIPTIONS, UNITS
from spare_mc.kernels.training_settings import COLUMNS

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


def test_points_without_returns_keep_their_identity():
    """As written before there were returns: files made then are resumed, not begun anew."""
    told = {
        "spare": "bfcd41e34c6e1e2934bb79153b4c29a9b4471c507c2046991380b5988fa5abbb",
        "replication": "bd408a27627e1dc424e40b446291edbf58f47d1daf951b323527e7771fa8e0dc",
    }
    for scheme, identity in told.items():
        point = study.load(changed(scheme=scheme)).points[0]
        assert point.id == identity
        assert not [key for key in point.parameters if "repair" in key or "spares" in key or "rejoin" in key]
    (corrected,) = study.load(changed(rules="corrected")).points
    assert corrected.id == "b4a9f2001a72896c3a509536c71c752d09804dd694e162621c2ac963a3d42b7d"


def test_keys_are_resolved_where_they_are_given():
    def told(**training):
        found = study.load(changed(**training)).points[0].parameters
        return {
            key.removeprefix("training."): found[key]
            for key in found
            if key.endswith(("repair_time", "spares", "swap_time", "rejoin_time", "after_rejoin"))
        }

    assert told(repair_time="2 h") == {
        "repair_time": 7200.0,
        "rejoin_time": 0.1,
        "depth_after_rejoin": "least",
    }
    assert told(spares=2, scheme="replication") == {"spares": 2, "swap_time": 0.0, "rejoin_time": 0.1}
    assert told(spares=2, swap_time=60, rejoin_time=5, depth_after_rejoin="kept") == {
        "spares": 2, "swap_time": 60.0, "rejoin_time": 5.0, "depth_after_rejoin": "kept",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"swap_time": 5.0}, r"training.swap_time = 5.0: needs training.spares"),
        ({"swap_time": 5.0, "repair_time": 5.0}, "training.swap_time = 5: needs training.spares"),
        ({"rejoin_time": 5.0}, "needs training.repair_time or training.spares"),
        ({"depth_after_rejoin": "kept"}, "needs training.repair_time or training.spares"),
        (
            {"depth_after_rejoin": "kept", "scheme": "replication", "spares": 1},
            "depth_after_rejoin = 'kept': is a rule of scheme spare",
        ),
        ({"depth_after_rejoin": "deep", "spares": 1}, "least"),
        ({"spares": -1}, "training.spares"),
        ({"repair_time": -1.0}, "training.repair_time"),
        ({"repair_time": 60.0, "checkpoint_steps": None, "checkpoint": "dynamic"}, "checkpoint = 'dynamic'"),
    ],
)
def test_what_does_not_fit_is_named(training, message):
    with pytest.raises(UserError, match=message):
        study.load(changed(**training))


@pytest.mark.parametrize("key", [{"repair_time": 60.0}, {"spares": 3}])
def test_checkpoints_only_have_no_use_for_it(key):
    raw = changed(scheme="checkpoint-only", **key)
    with pytest.raises(UserError, match="any failure restarts"):
        study.load({**raw, "layout": {"kind": "contiguous", "redundancy": 1}})


def test_estimates_count_returns():
    often = {**SMALL["failures"], "system_mtbf": 600}
    raw = {**changed(repair_time=3000.0, spares=2, swap_time=60.0, jitter=0.0), "failures": often}
    (plain,) = api.run({**SMALL, "failures": often})
    (result,) = api.run(raw)
    rows, e = result.tallies["training"].rows, result.estimates
    of = dict(zip(COLUMNS, rows.T, strict=False))
    for name in ("returns", "rejoins", "rejoin_moves", "spares_used", "spares_lacking"):
        assert e[name].mean == of[name].mean() and name in UNITS and name in DESCRIPTIONS
        assert name not in plain.estimates
    assert e["groups_out"].mean == pytest.approx(of["out_steps"].sum() / of["executed"].sum())
    assert e["returns"].mean > 5 and 0 < e["groups_out"].mean < 21 and e["spares_used"].mean == 2
    assert e["restarts"].mean < plain.estimates["restarts"].mean


def test_the_period_follows_the_simulated_time_to_a_wipe_out():
    base = {k: v for k, v in SMALL["training"].items() if k != "checkpoint_steps"}

    def until(**training):
        point = study.load({**SMALL, "training": {**base, **training}}).points[0]
        found = training_setup.time_to_wipeout(point)
        return found, training_setup.checkpoint_interval(point)

    (_, plain), (never, same), (quick, rare) = until(), until(repair_time=1e9), until(repair_time=600)
    assert float(f"{never:.3g}") == never and quick > 3 * never and rare > 1.5 * same
    # nobody is back in time: the closed form is of fresh groups, runs go on with worn ones
    assert 0.7 * plain < same < 1.5 * plain
    exponential = {
        "failures": {"law": "exponential", "system_mtbf": 3000},
        "training": {**base, "repair_time": 1e9},
    }
    point = study.load({**SMALL, **exponential}).points[0]
    simulated = training_setup.time_to_wipeout(point)
    from spare_mc import failure_model

    exact = failure_model.time_to_wipeout(
        training_setup.survival_curve(point.parameters, point.layout), point.parameters
    )
    # 64 lives whose deviation is half their mean, and a step until a failure is found
    assert simulated == pytest.approx(exact, rel=0.25)


def test_verbs_tell_of_returns(tmp_path, capsys):
    flags = ("-N", 21, "-r", 4, "--system-mtbf", 900, "--steps", 100, "--checkpoint-steps", 9, "--repair-time", "1 h",
             "--spares", 1, "--swap-time", 60)  # fmt: skip
    status, out, _ = spare_mc(capsys, "timeline", *flags, "--events", "all", "-o", tmp_path / "run.png")
    assert status == 0 and "is back" in out and "returns " in out and "spares lacking" in out
    assert (tmp_path / "run.png").stat().st_size > 5000
    status, out, _ = spare_mc(capsys, "timeline", *flags, "--json")
    told = json.loads(out)
    kinds = [event["kind"] for event in told["events"]]
    assert kinds.count("return") == told["summary"]["returns"] > 0
    assert sum(told["parts_us"].values()) == told["summary"]["wall"]
    status, out, _ = spare_mc(capsys, "run", *flags, "--runs", 4, "--measure", "training", "--quiet", "-o",
                              tmp_path / "runs.h5")  # fmt: skip
    assert status == 0
    status, out, _ = spare_mc(capsys, "show", tmp_path / "runs.h5")
    assert status == 0 and "returns" in out and "groups_out" in out
    assert spare_mc(capsys, "check", tmp_path / "runs.h5")[0] == 0
    status, _, err = spare_mc(capsys, "timeline", *flags, "--scheme", "checkpoint-only", "-r", 1)
    assert status == 2 and "any failure restarts" in err


def test_groups_out_in_the_picture_are_those_of_the_run():
    from spare_mc.plots_timeline import groups_out

    point = study.load({**changed(repair_time=3000.0), "failures": {"system_mtbf": 600}}).points[0]
    found = timeline.timeline(point, seed=3)
    times, out = groups_out(found.events)
    assert (np.diff(times) >= 0).all() and out.min() == 0 and 1 < out.max() <= 21


def older(path):
    """Make a file as schema 1.1 had it: training rows without the columns of returns."""
    with h5py.File(path, "r+") as file:
        file.attrs["schema_version"] = "1.1"
        group = file["groups_21"]
        names = [name.decode() for name in group["training_column"][()]]
        kept = [i for i, name in enumerate(names) if name not in store_schema.ROW_ADDITIONS]
        values = {
            name: group[name][()] for name in ("training_column", "training_column_units", "training_rows")
        }
        attributes = {name: {k: group[name].attrs[k] for k in ("content", "measure", "units") if k in group[name].attrs}
                      for name in values}  # fmt: skip
        group["training_column_length"][...] -= len(names) - len(kept)
        for name, array in values.items():
            del group[name]
            group[name] = array[..., kept]
            group[name].attrs.update(attributes[name])


def test_files_without_returns_are_read_and_resumed(tmp_path):
    path = tmp_path / "old.h5"
    (want,) = api.run(SMALL, path)
    older(path)
    (held,) = store.read(path).points
    np.testing.assert_array_equal(held.tallies["training"].rows, want.tallies["training"].rows)
    (whole,) = api.run({**SMALL, "sampling": {"runs": 9}}, path)
    (once,) = api.run({**SMALL, "sampling": {"runs": 9}})
    np.testing.assert_array_equal(whole.tallies["training"].rows, once.tallies["training"].rows)
    with h5py.File(path) as file:
        assert file.attrs["schema_version"] == b"1.2"
        names = [name.decode() for name in file["groups_21/training_column"][()]]
    assert names == list(store_schema.row_columns(len(COLUMNS) + 4)[0])


def test_journals_without_returns_are_read(tmp_path):
    (want,) = api.run(SMALL)
    tally = want.tallies["training"]
    kept = [
        i
        for i in range(tally.rows.shape[1])
        if i >= len(COLUMNS) or COLUMNS[i] not in store_schema.ROW_ADDITIONS
    ]
    rows, tally.rows = tally.rows, tally.rows[:, kept]
    target = tmp_path / "file.h5"
    header = b"spare-mc journal 1 base\n"
    store_journal.path_of(target).write_bytes(header + store_journal._record([tally]))
    (found,) = store_journal.replay(target, "file.h5", "base")
    np.testing.assert_array_equal(found.rows, rows)
    store_journal.path_of(target).write_bytes(header.replace(b"1", b"2") + store_journal._record([found]))
    (again,) = store_journal.replay(target, "file.h5", "base")
    np.testing.assert_array_equal(again.rows, rows)


def test_rows_that_lack_another_column_are_refused():
    names, _ = store_schema.row_columns(len(COLUMNS) + 2)
    with pytest.raises(ValueError, match="wall"):
        store_schema.Places([name for name in names if name != "wall"])
