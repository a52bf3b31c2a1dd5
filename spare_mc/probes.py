"""The mean time to a wipe-out where no closed form holds: by training runs that save nothing.

A checkpoint period follows from the mean time to a wipe-out. Where groups come back during a run it depends on how fast
they do, so it is simulated: the point's own run without jitter and saves, under a fixed seed of its own, twice as long
from try to try until it sees RESTARTS wipe-outs or is LONGEST times as long as the failure-free time. The estimate is
rounded to three digits, far below its error of some 10 %, so that the last bits of a machine's logarithms do not show
in it; a period goes with its square root, and what a period of 5 % too much costs is below the noise of runs.
"""

import json

import numpy as np

RESTARTS, SHORTEST, LONGEST = 64, 4, 64
SEED = 0x5EED_0F_A11  # of these runs alone
_known = {}


def time_to_wipeout(point_plan, parameters):
    """Mean time [s] from a restart to the next wipe-out, three digits; at least the time looked at where none came.

    Parameters
    ----------
    point_plan : function of (save_steps, changes of Settings) that gives the kernel's Plan
    parameters : resolved parameters of the point
    """
    key = json.dumps(
        {k: v for k, v in parameters.items() if not k.startswith("training.checkpoint")}, sort_keys=True
    )
    if key not in _known:
        if len(_known) > 1000:
            _known.clear()
        _known[key] = _simulated(point_plan, parameters)
    return _known[key]


def _simulated(point_plan, parameters):
    from .backends import choose
    from .kernels.training_settings import LARGEST_TIME
    from .training_setup import failure_free_time

    kernel = choose("auto", ("training",)).kernel("training")
    steps = 2**31 - 1
    for length in (SHORTEST * 2**i for i in range(LONGEST)):
        wall = int(1e6 * length * failure_free_time(parameters))
        plan = point_plan(steps, {"steps": steps, "sigma": 0.0, "max_wall": min(wall, LARGEST_TIME)})
        row = np.empty((1, len(kernel.columns(plan.settings.redundancy))), np.int64)
        kernel.run(plan, SEED, 0, row)
        of = dict(zip(kernel.COLUMNS, row[0].tolist(), strict=False))
        if of["restarts"] >= RESTARTS or length >= LONGEST:
            break
    return float(f"{(of['wall'] - of['restart']) * 1e-6 / max(1, of['restarts']):.3g}")
