"""What must hold in every trial, whatever the layout: counts that break it were not sampled from what they name."""

import numpy as np

from .estimates import stack_bound
from .failure_streams import has_stream


def pattern_tallies(result):
    """The tallies of a point that hold a histogram of endurable failures and at least one trial."""
    return [t for t in result.tallies.values() if "endurable_failures" in t.counts and t.total]


def trials_alive(histogram):
    """Trials alive after k failures, int64[N+1], from the histogram of endurable failures."""
    return np.cumsum(histogram[::-1])[::-1]


def what_is_wrong(result):
    """The first thing about the counts of a point that cannot be, one line; None where all is possible."""
    tallies = pattern_tallies(result)
    for tally in tallies:
        wrong = _endurance(tally, result.parameters)
        if wrong is None and tally.measure == "stacks":
            wrong = _stacks(tally, has_stream(result.parameters))
        if wrong is None and tally.measure == "reordering":
            wrong = _phases(tally, has_stream(result.parameters))
        if wrong is not None:
            return f"{tally.measure}: {wrong}"
    training = result.tallies.get("training")
    if training is not None and training.total:
        wrong = _runs(training, result.parameters)
        if wrong is not None:
            return f"training: {wrong}"
    return _unlike(tallies) if tallies else None


def _runs(tally, parameters):
    """What must hold in every training run: the parts are the wall time, a finished run committed its steps."""
    from .kernels.training_settings import COLUMNS, PARTS

    of = {name: tally.rows[:, i] for i, name in enumerate(COLUMNS)}
    parts = sum(of[name] for name in PARTS)
    off = np.flatnonzero(parts != of["wall"])
    if len(off):
        i = int(off[0])
        return f"the parts of row {i} add up to {parts[i]:,} us, its wall time is {of['wall'][i]:,} us"
    steps = parameters["training.steps"]
    off = np.flatnonzero((of["finished"] == 1) & (of["committed"] != steps))
    if len(off):
        return f"row {off[0]} is finished with {of['committed'][off[0]]:,} committed steps, not {steps:,}"
    return None


def _fewest_hosts(parameters):
    """Hosts of the type that has fewest: r, but for the short last block of a partition."""
    groups, redundancy = parameters["cluster.groups"], parameters["layout.redundancy"]
    if parameters.get("layout.kind") == "partition" and groups % redundancy:
        return groups % redundancy
    return redundancy


def _endurance(tally, parameters):
    """A wipe-out takes all hosts of a type; N types need at least N/r groups to host them."""
    histogram = tally.counts["endurable_failures"]
    groups, redundancy = parameters["cluster.groups"], parameters["layout.redundancy"]
    counted = int(histogram.sum())
    if counted != tally.total or (histogram < 0).any():
        return f"endurable_failures counts {counted:,} trials, the spans {tally.total:,}"
    seen = np.flatnonzero(histogram)
    hosts, most = _fewest_hosts(parameters), groups - -(-groups // redundancy)
    if seen[0] < hosts - 1 and not has_stream(parameters):  # one event may take all hosts
        return (
            f"{histogram[seen[0]]:,} trials endure only {seen[0]:,} failures; every type has {hosts} hosts or more, "
            f"so that none can endure fewer than {hosts - 1}"
        )
    if seen[-1] > most:
        return (
            f"{histogram[seen[-1]]:,} trials endure {seen[-1]:,} failures; the groups left then host fewer than "
            f"{groups:,} types, so that none can endure more than {most:,}"
        )
    return None


def _stacks(tally, stream):
    """Depths belong to the trials alive, are not below c(k), and add up to the sums of the trials."""
    at_depth = tally.counts["trials_at_depth"]
    alive = trials_alive(tally.counts["endurable_failures"])
    counted = at_depth.sum(axis=1)
    # an event of a stream may pass over some k
    off = np.flatnonzero(counted > alive if stream else counted != alive)
    if len(off):
        k = int(off[0])
        return f"after k = {k:,} failures {at_depth[k].sum():,} trials have a depth, {alive[k]:,} are alive"
    depths = np.arange(1, at_depth.shape[1] + 1)
    bound = stack_bound(len(at_depth) - 1)
    below = np.argwhere((at_depth > 0) & (depths < bound[:, None]))
    if len(below):
        k, place = (int(i) for i in below[0])
        return (
            f"after k = {k:,} failures {at_depth[k, place]:,} trials have depth {place + 1}, below "
            f"ceil(N/(N-k)) = {bound[k]:.0f}"
        )
    total = sum(int(n) * int(d) for n, d in zip(at_depth.sum(axis=0), depths, strict=True))
    if total != tally.sums["stack"]:
        return f"trials_at_depth adds up to {total:,} stacks, sum 'stack' to {tally.sums['stack']:,}"
    return None


def _phases(tally, stream):
    """One phase decides each failure, or event of a stream, that a trial endures."""
    decided = tally.counts["phase_at_failure"].sum(axis=1)[1:]
    alive = trials_alive(tally.counts["endurable_failures"])[1:]
    off = np.flatnonzero(decided > alive if stream else decided != alive)
    if len(off):
        k = int(off[0]) + 1
        return f"a phase decides failure k = {k:,} in {decided[k - 1]:,} trials, {alive[k - 1]:,} endure it"
    return None


def _unlike(tallies):
    """Measures read the same failure orders: over the same trials their endurable failures are the same."""
    first = {}
    for tally in tallies:
        other = first.setdefault(tally.spans, tally)
        if not np.array_equal(other.counts["endurable_failures"], tally.counts["endurable_failures"]):
            return f"{other.measure} and {tally.measure} differ in the endurable failures of the same trials"
    return None
