"""Training runs whose failures come from a stream: hits as far ahead as a run needs them.

How long a run will last is not known before. It is given the hits up to some horizon; where it asks beyond, it is begun
again with twice as many. Hits are a pure function of (stream, seed, run) and a later horizon only adds to them, so that
the horizon shows nowhere in a row. Shared by all backends, so it imports no compiler.
"""

import numpy as np

from .training_state import HITS, HITS_COUNT, HITS_ROOM, HORIZON, SHORT, make_state

LATEST = 2**61  # us: beyond every time of a run
MOST_HITS = 2**24  # held for a run at once: about 1 GB


def run_on_hits(plan, first, rows, limit, table, hits, run_one):
    """Runs first, first + 1, ..., a row each; returns the registers of the last.

    plan, first, rows, limit : as ``training.run`` and ``timeline`` have them; table : ``jitter.slowest_table()``
    hits : function of (run, horizon, times int64[room], groups int32[room]) that writes the hits up to the horizon, as
        far as there is room, and returns how many there are
    run_one : function of (state, run, row int64[1, columns])
    """
    s = plan.settings
    horizon = min(LATEST, 3 * s.steps * (s.stack + s.allreduce) + s.restart, s.max_wall + 2 * s.restart)
    state = make_state(s, plan.scale, table, plan.table, limit)
    times, groups = np.empty(0, np.int64), np.empty(0, np.int32)
    for i in range(rows.shape[0]):
        while True:
            count = hits(first + i, horizon, times, groups)
            if count > MOST_HITS:
                raise MemoryError(
                    f"run {first + i} meets more than {MOST_HITS:,} failures of its stream, as one does that never "
                    "finishes; a shorter training.max_wall ends it"
                )
            if count > len(times):
                room = 2 * count
                state = make_state(s, plan.scale, table, plan.table, limit, room)
                times, groups = np.empty(room, np.int64), np.empty(room, np.int32)
                continue
            reg = state[0]
            at = int(reg[HITS])
            reg[at : at + count] = times[:count]
            at += int(reg[HITS_ROOM])
            reg[at : at + count] = groups[:count]
            reg[HITS_COUNT], reg[HORIZON] = count, horizon
            run_one(state, first + i, rows[i : i + 1])
            if not reg[SHORT] or horizon == LATEST:
                break
            horizon = min(LATEST, 2 * horizon)
    return state[0]
