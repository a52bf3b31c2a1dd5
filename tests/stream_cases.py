"""Streams that the tests of several files draw: every law, shared pools, domains, logs."""

import numpy as np

from spare_mc.kernels import stream_plan as sp
from spare_mc.kernels.stream_plan import Law, Pool, Replay, Source

GROUPS = 12
SEED = 0x0123456789ABCDEF
EACH = Pool(np.arange(GROUPS + 1), np.arange(GROUPS))
RACKS = Pool(np.array([0, 4, 4, 8, 12]), np.arange(GROUPS))  # the second rack hits nothing
STRIPES = Pool(np.array([0, 3, 6, 9, 12]), np.arange(GROUPS).reshape(3, 4).T.ravel())
GPUS = Pool(np.arange(5 * GROUPS + 1), np.repeat(np.arange(GROUPS), 5))

_KNOTS = np.linspace(0.0, 5.0, 20)
LAWS = {
    "exponential": Law(sp.EXPONENTIAL, 1e6),
    "weibull": Law(sp.WEIBULL, 1e6, 0.78),
    "lognormal": Law(sp.LOGNORMAL, 1e6, 1.2),
    "linear": Law(sp.LINEAR, 1e6, 0.0, np.stack([_KNOTS, _KNOTS**1.3])),
    "loglog": Law(sp.LOGLOG, 1e6, 0.0, np.concatenate([[-8.0, 0.5], np.sinh(np.linspace(-2.0, 1.2, 30))])),
    "steps": Law(sp.STEPS, 1e6, 0.0, np.sort(np.random.default_rng(5).exponential(1.0, 50))),
}


def log_of(window=1_000_000, block=0, pool=0, fixed=0, count=40, units=15, seed=6):
    """A log of failures, two of them at one moment."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, window, count))
    times[1] = times[0]
    return Replay(times, rng.integers(0, units, count), window, block, pool, fixed)


def plans():
    """Name -> plan."""
    pools = [EACH, RACKS, GPUS, STRIPES]
    made = {name: sp.plan(GROUPS, pools, [Source(law, GROUPS, 0)]) for name, law in LAWS.items()}
    shared = [
        Source(LAWS["weibull"], 5, 0),
        Source(LAWS["exponential"], 4, 0),
        Source(LAWS["lognormal"], 3, 1),
    ]
    made["shared pool and racks"] = sp.plan(GROUPS, pools, shared)
    made["gpus and stripes"] = sp.plan(
        GROUPS, pools, [Source(LAWS["exponential"]._replace(scale=5e6), 60, 2), Source(LAWS["steps"], 4, 3)]
    )
    made["log"] = sp.plan(GROUPS, pools, [], [log_of()])
    made["log, fixed"] = sp.plan(GROUPS, pools, [], [log_of(fixed=1)])
    made["log in blocks"] = sp.plan(GROUPS, pools, [], [log_of(block=300_000, pool=2)])
    made["log in short blocks, fixed"] = sp.plan(GROUPS, pools, [], [log_of(block=5_000, fixed=1)])
    made["log in whole blocks"] = sp.plan(GROUPS, pools, [], [log_of(block=1_000_000, pool=3)])
    made["log and units"] = sp.plan(
        GROUPS, pools, [Source(LAWS["weibull"], 4, 0)], [log_of(pool=1), log_of(seed=8, block=400_000)]
    )
    return made


PLANS = plans()
