"""Failure streams written straightforwardly: NumPy draws and a heap of all clocks, and SimPy's processes.

They draw other numbers than the kernels and are held against them by their counts only.
"""

import heapq


def heap_of_clocks(rng, units, per_group, shape, scale, horizon):
    """Every unit's clock in a heap: the list of (time, group) up to the horizon; failed units are renewed at once."""
    clocks = [(t, u) for u, t in enumerate((scale * rng.weibull(shape, units)).tolist())]
    heapq.heapify(clocks)
    found = []
    while clocks[0][0] <= horizon:
        time, unit = clocks[0]
        found.append((time, unit // per_group))
        heapq.heapreplace(clocks, (time + scale * rng.weibull(shape), unit))
    return found


def simpy_clocks(rng, units, per_group, shape, scale, horizon):
    """The same by a SimPy process a unit."""
    import simpy

    found = []
    world = simpy.Environment()

    def clock(unit):
        while True:
            yield world.timeout(scale * rng.weibull(shape))
            found.append((world.now, unit // per_group))

    for unit in range(units):
        world.process(clock(unit))
    world.run(until=horizon)
    return found


def sorted_lifetimes(rng, hosts, shape, scale, trials):
    """Endurable failures and time of the wipe-out of independent groups: all lifetimes drawn, then compared."""
    groups = len(hosts)
    found = []
    for _ in range(trials):
        times = scale * rng.weibull(shape, groups)
        wipe = times[hosts].max(axis=1).min()
        found.append((int((times < wipe).sum()), wipe))
    return found
