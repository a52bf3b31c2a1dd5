"""Replayed logs: what is read, how it is scaled, what it is mapped on."""

from pathlib import Path

import numpy as np
import pytest

from spare_mc import failure_report, study
from spare_mc.errors import UserError

INFINITEHBD = (
    Path(__file__).resolve().parents[2] / "shared" / "data" / "traces" / "infinitehbd_fault_trace.json"
)
LOG = "time_h,host\n" + "".join(
    f"{t},{u}\n" for t, u in [(0, "a"), (1, "b"), (5, "a"), (7, "c"), (7, "b"), (10, "d")]
)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    return path


def point(log, cluster=None, domains=None, failures=None, **replay):
    raw = {
        "cluster": cluster or {"groups": 10, "gpus_per_group": 8},
        "layout": {"redundancy": 2, "kind": "contiguous"},
        "replay": {"log": str(log), **replay},
    }
    raw |= {"domains": domains} if domains else {}
    raw |= {"failures": failures} if failures else {}
    return study.load(raw).points[0]


def test_a_log_is_played_as_it_was(log):
    found = point(log, units=10, end="12 h")
    plan, hour = found.stream, 3_600_000_000
    assert plan.times.tolist() == [0, hour, 5 * hour, 7 * hour, 7 * hour, 10 * hour]
    assert plan.units.tolist() == [0, 1, 0, 1, 2, 3]
    assert found.parameters["replay.window"] == 12 * 3600.0 and found.parameters["replay.failures"] == 6
    assert len(plan.replays) == 1 and len(plan.starts) == 11 and plan.members.tolist() == list(range(10))


def test_a_larger_cluster_plays_copies_with_as_many_units_as_it_has(log):
    """25 nodes for a log of 10: three copies, the third on five nodes; its other five units hit nothing."""
    plan = point(log, {"groups": 25, "gpus_per_group": 8}, units=10).stream
    assert len(plan.replays) == 3 and plan.pools.tolist() == [0, 10, 20, 30]
    sizes = np.diff(plan.starts)
    assert sizes.tolist() == [1] * 25 + [0] * 5 and plan.members.tolist() == list(range(25))
    small = point(log, {"groups": 4, "gpus_per_group": 8}, units=10).stream
    assert len(small.replays) == 1 and np.diff(small.starts).tolist() == [1] * 4 + [0] * 6


def test_units_may_be_gpus_or_groups_and_lie_where_the_placement_says(log):
    gpus = point(log, {"groups": 3, "gpus_per_group": 4}, units=12, unit_is="gpu").stream
    assert gpus.members.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    groups = point(log, {"groups": 12}, units=12, unit_is="group").stream
    assert groups.members.tolist() == list(range(12))
    spread = point(log, {"groups": 3, "gpus_per_group": 16}, {"placement": "spread"}, units=6).stream
    assert spread.members.tolist() == [0, 1, 2, 0, 1, 2]


def test_the_log_and_not_its_path_is_the_point(log, tmp_path):
    other = tmp_path / "other.csv"
    lines = LOG.splitlines()
    other.write_text("\n".join([lines[0], *reversed(lines[1:])]))
    assert point(log, units=10).id == point(other, units=10).id != point(log, units=11).id


@pytest.mark.skipif(not INFINITEHBD.exists(), reason="needs the shared traces")
def test_a_published_log():
    found = point(INFINITEHBD, {"groups": 100, "gpus_per_group": 64}, units=400)
    assert found.parameters["replay.failures"] == 582  # 584 less two within another of their server
    assert found.parameters["replay.window"] / 86400 == pytest.approx(348.98, abs=0.005)
    (line, *_) = failure_report.lines(found.parameters)
    assert "582 failures of 400 units" in line and "800 nodes here, 2 copies side by side" in line


REFUSED = [
    ({}, "replay.units is missing: 4 units appear"),
    ({"units": 3}, "replay.units = 3: 4 units appear"),
    ({"units": 10, "block": "11 h"}, "at most the length of the log"),
    ({"units": 10, "block": 300.0}, "at least 600 s, a tenth"),
    ({"units": 5, "mapping": "fixed"}, "the log has 5 units, the cluster 10"),
    ({"units": 10, "options": "tiem=x"}, "did you mean 'time'"),
    ({"units": 10, "failures": {"system_mtbf": 5}}, "failures.system_mtbf: replay.log drives the failures"),
    ({"units": 10, "domains": {"rack_mtbf": 5}}, "domains.rack_mtbf: replay.log drives the failures"),
]


@pytest.mark.parametrize(("keys", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_refusals_name_key_value_and_what_is_allowed(log, keys, told):
    with pytest.raises(UserError) as caught:
        point(log, **keys)
    assert told in str(caught.value) and "\n" not in str(caught.value)


def test_keys_of_a_replay_without_a_log_are_refused():
    with pytest.raises(UserError, match=r"replay.block = 5.0: needs replay.log"):
        study.load({"cluster": {"groups": 10}, "layout": {"redundancy": 2}, "replay": {"block": 5}})
