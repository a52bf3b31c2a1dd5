"""Shared failure domains: who lies where, and what an event takes out."""

import math
from pathlib import Path

import numpy as np
import pytest

from spare_mc import failure_report, placement, study
from spare_mc.errors import UserError
from spare_mc.failure_streams import has_stream

TOPOLOGY = Path(__file__).resolve().parents[2] / "shared" / "data" / "traces" / "lingjun_topo.csv"


def points(cluster=None, **domains):
    raw = {
        "cluster": cluster or {"groups": 12, "gpus_per_group": 16, "gpus_per_node": 8},
        "layout": {"redundancy": 3, "kind": "contiguous"},
        "domains": domains,
    }
    return study.load(raw).points


def hit(point, pool=0):
    """The groups that each entity of a pool takes out, as lists."""
    plan = point.stream
    first, last = plan.pools[pool], plan.pools[pool + 1]
    return [plan.members[plan.starts[e] : plan.starts[e + 1]].tolist() for e in range(first, last)]


def by_hand(parameters, size):
    """Groups of each domain of ``size`` GPUs, GPU by GPU from the definition of the placement."""
    groups, per_group, per_node = 12, 16, 8
    kind = parameters["domains.placement"]
    where = []
    for position in range(groups * per_group):
        if kind == "spread":
            where.append(position // per_node % groups)
        else:
            slot = position // per_group
            where.append(slot * parameters.get("domains.stride", 1) % groups)
    return [sorted(set(where[at : at + size])) for at in range(0, len(where), size)]


@pytest.mark.parametrize("kind", ["linear", "strided", "spread"])
@pytest.mark.parametrize("size", [8, 16, 24, 40, 64, 192])
def test_domains_take_out_the_groups_with_a_member_there(kind, size):
    (point,) = points(rack_mtbf="1 day", rack_size=size, placement=kind)
    assert hit(point) == by_hand(point.parameters, size)
    assert has_stream(point.parameters)


def test_a_node_may_hold_several_groups_and_a_group_parts_of_nodes():
    (point,) = points({"groups": 6, "gpus_per_group": 6, "gpus_per_node": 8}, node_mtbf=1.0)
    assert hit(point) == [[0, 1], [1, 2], [2, 3], [4, 5], [5]]
    (point,) = points({"groups": 6, "gpus_per_group": 2, "gpus_per_node": 4}, node_mtbf=1.0)
    assert hit(point) == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("groups", [2, 3, 4, 13, 200, 600, 1000])
def test_the_default_stride_keeps_neighbours_far_apart(groups):
    """Coprime, and the groups of four neighbouring slots lie at least N/8 from each other around the ring."""
    stride = placement.default_stride(groups)
    assert math.gcd(stride, groups) == 1
    if groups > 8:
        apart = [min(j * stride % groups, -j * stride % groups) for j in (1, 2, 3)]
        assert min(apart) >= groups / 8


def test_random_placements_are_permutations_and_seeded():
    one, other = points(rack_mtbf=1.0, rack_size=16, placement="random", placement_seed=[1, 2])
    assert sorted(sum(hit(one), [])) == list(range(12)) == sorted(sum(hit(other), []))
    assert hit(one) != hit(other) != [[g] for g in range(12)]


def test_custom_placements_are_read_node_by_node(tmp_path):
    path = tmp_path / "nodes.txt"
    order = [3, 3, 0, 1, 1, 0, 2, 4] + [2, 4] + [g for g in range(5, 12) for _ in (0, 1)]
    path.write_text("\n".join(map(str, order)))
    (point,) = points(rack_mtbf=1.0, rack_size=32, placement="custom", placement_file=str(path))
    assert hit(point)[:3] == [[0, 1, 3], [0, 1, 2, 4], [2, 4, 5]]
    path.write_text("\n".join(map(str, [0, *order[1:]])))
    with pytest.raises(UserError, match="group 0 has 3 nodes; every group needs 2"):
        points(rack_mtbf=1.0, rack_size=32, placement="custom", placement_file=str(path))


def test_a_table_of_hosts_says_the_domains(tmp_path):
    path = tmp_path / "hosts.csv"
    path.write_text("host,rack,PDU\n" + "".join(f"h{i},R{10 - i % 3},P{i % 2}\n" for i in range(6)))
    (point,) = points(
        {"groups": 7, "gpus_per_group": 8, "gpus_per_node": 8},
        rack_mtbf=5.0, power_mtbf=7.0, table=str(path), columns="power=PDU",
    )  # fmt: skip
    # by power, then by rack in natural order: P0: h2 (R8), h4 (R9), h0 (R10); P1: h5, h1, h3; then a second copy
    assert hit(point, 0) == [[0, 3], [1, 4], [2, 5], [6]] and hit(point, 1) == [[0, 1, 2], [3, 4, 5], [6]]
    shuffled = tmp_path / "shuffled.csv"
    lines = path.read_text().splitlines()
    shuffled.write_text("\n".join([lines[0], *reversed(lines[1:])]))
    (same,) = points(
        {"groups": 7, "gpus_per_group": 8, "gpus_per_node": 8},
        rack_mtbf=5.0, power_mtbf=7.0, table=str(shuffled), columns="power=PDU",
    )  # fmt: skip
    assert same.id == point.id


@pytest.mark.skipif(not TOPOLOGY.exists(), reason="needs the shared topology")
def test_a_real_topology():
    """Lingjun: 847 hosts; every host lies in one domain a level, so the groups of 100 one-host groups are dealt out."""
    (point,) = points(
        {"groups": 100, "gpus_per_group": 8},
        switch_mtbf="30 days", pod_mtbf="90 days", table=str(TOPOLOGY), columns="switch=ASW,pod=PSW",
    )  # fmt: skip
    for pool in (0, 1):
        assert sorted(sum(hit(point, pool), [])) == list(range(100))


def test_what_a_study_says_of_its_domains():
    (point,) = points(rack_mtbf="10 days", rack_size=24, power_mtbf="96 days", power_size=192)
    lines = list(failure_report.lines(point.parameters))
    assert lines[0] == (
        "rack events: exponential, each rack once in 10 days, 8 of 24 GPUs: one in 30 h; takes out 2 groups on "
        "average, at most 2"
    )
    assert lines[-1] == f"all events together: one in {1 / (8 / 240 + 1 / 2304):.4g} h"


REFUSED = [
    ({"rack_size": 8}, "domains.rack_size = 8: needs domains.rack_mtbf"),
    ({"rack_mtbf": 1.0}, "domains.rack_size is missing"),
    ({"placement": "strided"}, "nothing depends on it"),
    ({"rack_mtbf": 1.0, "rack_size": 8, "stride": 5}, "only placement 'strided' has one"),
    ({"rack_mtbf": 1.0, "rack_size": 8, "placement": "strided", "stride": 6}, "no factor in common"),
    ({"rack_mtbf": 1.0, "rack_size": 8, "placement": "custom"}, "placement_file is missing"),
    ({"rack_mtbf": 1.0, "rack_size": 8, "rack_law": "weibull"}, "domains.rack_shape is missing"),
    ({"rack_mtbf": 1.0, "rack_size": 8, "rack_shape": 2.0}, "domains.rack_shape = 2.0"),
    ({"rack_mtbf": 1.0, "rack_size": 8, "columns": "rack=x"}, "needs domains.table"),
    ({"rack_mtbf": 1.0, "table": "none.csv"}, "cannot be read"),
    ({"rack_mtbf": -1.0}, "domains.rack_mtbf"),
    ({"rack_mtbf": 1.0, "rack_size": 193}, "the cluster has 192 GPUs"),
    ({"rack_mtbf": 1.0, "rack_size": 8, "placement_seed": 7}, "only placement 'random' has one"),
]


@pytest.mark.parametrize(("keys", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_refusals_name_key_value_and_what_is_allowed(keys, told):
    with pytest.raises(UserError) as caught:
        points(**keys)
    assert told in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "columns", "told"),
    [
        ("host\nh1\n", None, "no column 'rack'"),
        ("rack,Rack\nh1,h2\n", None, "column 'rack' is there twice"),
        ("host,rack\nh1\n", None, "row 2 has 1 cells"),
        ("host,rack\nh1,\n", None, "row 2: column 'rack' is empty"),
        ("host,R\nh1,2\n", "rack=S", "no column 'S'"),
        ("host,R\nh1,2\n", "shelf=R", "the level one of"),
        ("host,rack\n", None, "a header and a row"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path, text, columns, told):
    path = tmp_path / "hosts.csv"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        points(rack_mtbf=1.0, table=str(path), **({"columns": columns} if columns else {}))
    assert told in str(caught.value) and "hosts.csv" in str(caught.value)


def test_placements_cost_little_at_600_000_gpus():
    """Counted, not timed: the members of 8,334 racks are each a group or two, never the GPUs."""
    (point,) = points({"groups": 600, "gpus": 600_000}, rack_mtbf=1.0, rack_size=72)
    plan = point.stream
    assert len(plan.starts) == 8335 and len(plan.members) < 2 * 8335
    assert np.diff(plan.starts).max() == 2
