"""A life under a failure stream, told event by event, is the life that is counted."""

import json
from itertools import pairwise

import numpy as np
import pytest
from cli_tools import refused, run_verb

from spare_mc import backends, lives, study
from spare_mc.kernels import ahead_levels, reorder, reorder_columns, stream_patterns
from spare_mc.kernels.stream_layouts import hosting

RAW = {
    "cluster": {"groups": 20, "gpus_per_group": 8},
    "layout": {"redundancy": 3, "kind": "contiguous"},
    "failures": {"gpu_mtbf": "1000 h"},
    "domains": {"rack_mtbf": "5 days", "rack_size": 16},
}


@pytest.mark.parametrize("trial", range(8))
def test_what_is_told_adds_up_to_what_is_counted(trial):
    (point,) = study.load(RAW).points
    events = list(lives.life(point.layout, seed=5, trial=trial, stream=point.stream))
    backend = backends.BACKENDS["numba"]
    plan = backend.plan("reordering", point)
    of = backend.lives("reordering", plan, point, 5, trial, 1)
    assert events[-2].failures == of["failures"][0] and len(events) - 1 == of["events"][0]
    assert sum(e.moves for e in events) == of["moves"][0] and events[
        -1
    ].phase == reorder_columns.PHASES.index("wipe-out")
    assert all(a.time <= b.time and len(b.groups) == b.failures - a.failures for a, b in pairwise(events))


@pytest.mark.skipif(backends.BACKENDS["cython"].missing() is not None, reason="needs the compiled backend")
def test_both_backends_tell_the_same_life():
    (point,) = study.load(RAW).points
    tables = point.layout.host_table(), point.layout.stack_table()
    ahead = ahead_levels.load("ahead_reorder"), ahead_levels.load("ahead_streams")
    told = []
    for kernel, streams in (ahead, (reorder, stream_patterns)):
        order, ends, times, _ = streams.pattern(point.stream, hosting(tables[1]), 9, 4)
        pattern = order, ends, times
        told.append(list(kernel.decisions(kernel.plan(*tables), 9, 4, 1, pattern)))
    for one, other in zip(*told, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(one, other, strict=True))


def test_the_verb_tells_when_and_whom(capsys, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        "[cluster]\ngroups = 20\ngpus_per_group = 8\n[layout]\nkind = 'contiguous'\nredundancy = 3\n"
        "[domains]\nrack_mtbf = '5 days'\nrack_size = 16\n"
    )
    status, out, _ = run_verb(capsys, "life", str(path))
    assert status == 0 and "takes out 2 groups on average" in out and " after " in out
    status, out, _ = run_verb(capsys, "life", str(path), "--json")
    found = json.loads(out)
    assert all(len(event["groups"]) == 2 and event["time_s"] > 0 for event in found[:-1])
    assert "batch = 2" in refused(capsys, "life", path, "--batch", 2)
