"""Preparing failure streams: what is refused, in a clear line, and what the flat arrays hold."""

import numpy as np
import pytest

from spare_mc.kernels import stream_plan as sp
from spare_mc.kernels.stream_plan import (
    EXPONENTIAL,
    LINEAR,
    LOGLOG,
    STEPS,
    WEIBULL,
    Law,
    Pool,
    Replay,
    Source,
)

GROUPS = 6
EACH = Pool(np.arange(7), np.arange(6))  # six entities, a group each
RACKS = Pool(np.array([0, 3, 3, 5]), np.array([0, 1, 2, 4, 5]))  # the second rack hits nothing
HOURLY = Law(EXPONENTIAL, 3.6e9)


def replay(times=(5, 7), units=(0, 3), window=10, block=0, pool=0, fixed=0):
    return Replay(np.array(times), np.array(units), window, block, pool, fixed)


def test_flat_arrays():
    table = np.array([1.0, 2.0])
    sources = [
        Source(HOURLY, 3, 1),
        Source(Law(WEIBULL, 5.0, 0.5), 2, 0),
        Source(Law(STEPS, 1.0, 0.0, table), 4, 0),
    ]
    made = sp.plan(GROUPS, [EACH, RACKS], sources, [replay(fixed=1, pool=1, units=(0, 4))])
    assert list(made.numbers) == [6, 2, 3, 1, 9, 9]
    assert list(made.pools) == [0, 6, 9]
    assert list(made.starts) == [0, 1, 2, 3, 4, 5, 6, 9, 9, 11]
    assert list(made.members) == [0, 1, 2, 3, 4, 5, 0, 1, 2, 4, 5]
    assert made.reals.tolist() == [[3.6e9, 0.0], [5.0, 2.0], [1.0, 0.0]]
    assert list(made.tables) == [1.0, 2.0]
    # unit 4 of the log is rack 4 mod 3, which hits nothing
    assert list(made.reach) == [1, 1, 1, 0, 0, 0]
    assert not any(array.flags.writeable for array in made)


def test_sources_share_their_table():
    law = Law(LOGLOG, 1.0, 0.0, np.array([0.0, 1.0, 2.0, 3.0]))
    made = sp.plan(GROUPS, [EACH], [Source(law, 2, 0), Source(law._replace(scale=2.0), 2, 0)])
    assert made.tables.size == 4
    assert list(made.sources[:, sp.TABLE]) == [0, 0]


@pytest.mark.parametrize(
    ("told", "pools", "sources", "replays"),
    [
        ("needs a source or a replay", [EACH], [], []),
        ("count = 7", [EACH], [Source(HOURLY, 7, 0)], []),
        ("count = 2", [EACH], [Source(HOURLY, 5, 0), Source(HOURLY, 2, 0)], []),
        ("count = 0", [EACH], [Source(HOURLY, 0, 0)], []),
        ("pool = 1", [EACH], [Source(HOURLY, 1, 1)], []),
        ("scale = 0", [EACH], [Source(Law(EXPONENTIAL, 0.0), 1, 0)], []),
        ("shape = 0", [EACH], [Source(Law(WEIBULL, 1.0), 1, 0)], []),
        ("law kind 6", [EACH], [Source(Law(6, 1.0), 1, 0)], []),
        ("2 rows", [EACH], [Source(Law(LINEAR, 1.0, 0.0, np.zeros(3)), 1, 0)], []),
        ("ascend from 0", [EACH], [Source(Law(LINEAR, 1.0, 0.0, np.array([[0.0, 0.0], [0.0, 1.0]])), 1, 0)], []),
        ("must not fall", [EACH], [Source(Law(LOGLOG, 1.0, 0.0, np.array([0.0, 1.0, 2.0, 1.0])), 1, 0)], []),
        ("finite", [EACH], [Source(Law(STEPS, 1.0, 0.0, np.array([np.inf])), 1, 0)], []),
        ("group 6", [Pool(np.array([0, 1]), np.array([6]))], [Source(HOURLY, 1, 0)], []),
        ("each named once", [Pool(np.array([0, 2]), np.array([1, 1]))], [Source(HOURLY, 1, 0)], []),
        ("starts must ascend", [Pool(np.array([0, 2]), np.array([1]))], [Source(HOURLY, 1, 0)], []),
        ("window = 0", [EACH], [], [replay(window=0)]),
        ("within 0..6", [EACH], [], [replay(window=7)]),
        ("block = 11", [EACH], [], [replay(block=11)]),
        ("as many times", [EACH], [], [replay(times=(5,))]),
        ("units must lie", [EACH], [], [replay(units=(0, -1))]),
        ("fixed = 2", [EACH], [], [replay(fixed=2)]),
    ],
)  # fmt: skip
def test_refused(told, pools, sources, replays):
    with pytest.raises(ValueError, match=told) as error:
        sp.plan(GROUPS, pools, sources, replays)
    assert "\n" not in str(error.value)


def test_edges_between_entities_may_fall():
    sp.plan(GROUPS, [Pool(np.array([0, 0, 2, 2, 4, 4]), np.array([3, 5, 0, 2]))], [Source(HOURLY, 5, 0)])
