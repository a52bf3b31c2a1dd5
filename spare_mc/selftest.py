"""Does every backend here compute what the plain-Python reference does? A few seconds' answer.

Small blocks of one trial each, of every measure and layout family, are compared with the reference trial by trial;
then a block at full size is timed.
"""

import time
from dataclasses import dataclass

import numpy as np

from . import backends, study

SEED, FIRST = 20_260_726, 2**32 - 3  # trial numbers that cross the low word's end
TRIALS = {"survival": 12, "stacks": 12, "reordering": 6, "training": 3}
SECONDS = 0.2  # to time a block for

_SMALL = {
    "study": {"seed": SEED},
    "cluster": {"groups": 23},
    "layout": {"kind": ["golomb", "contiguous", "partition", "random"], "redundancy": 4},
    "failures": {"system_mtbf": 300},
    # without jitter the reference's training runs are the kernel's to the microsecond
    "training": {"steps": 300, "jitter": 0, "checkpoint_steps": 20},
}
_FULL = {
    "cluster": {"groups": 600},
    "layout": {"redundancy": 9},
    "failures": {"system_mtbf": 300},
    "training": {"steps": 10_000, "checkpoint_steps": 20},
}


@dataclass
class Verdict:
    """What came of one measure of one backend."""

    backend: str
    measure: str
    compared: int  # trials
    differ: int  # of them
    rate: float | None  # trials a second at N = 600, r = 9, one core; None where nothing was timed
    error: str = ""  # what it raised, if it did

    @property
    def passed(self):
        return not self.error and not self.differ


def run(names=None, quick=False):
    """Yield a Verdict for every measure of every backend in ``names`` (default: all that are here).

    ``quick`` leaves out what a backend would compile for long.
    """
    wanted = {}
    for name, backend in backends.BACKENDS.items():
        if names is not None and name not in names:
            continue
        for measure in backend.quick or backend.measures if quick else backend.measures:
            try:
                if backend.missing([measure]) is None:
                    yield _verdict(backend, measure, wanted)
            except Exception as error:  # whatever a broken kernel raises is its verdict
                yield Verdict(name, measure, 0, 0, None, f"{type(error).__name__}: {error}")


def _verdict(backend, measure, wanted):
    compared = differ = 0
    for point in _points(_SMALL, measure):
        plan = backend.plan(measure, point)
        for trial in range(FIRST, FIRST + TRIALS[measure]):
            asked = measure, point.id, trial
            if asked not in wanted:
                wanted[asked] = _EXPECTED[measure](point, trial)
            found = backend.block(measure, plan, point, SEED, trial, 1)
            compared += 1
            differ += not _same(found, wanted[asked], backend.same_runs)
    return Verdict(backend.name, measure, compared, differ, _rate(backend, measure))


def _points(raw, measure):
    layout = dict(raw["layout"])
    if measure == "training":
        layout.pop("kind", None)  # one layout: the reference walks all groups through all steps
    asked = {**raw, "layout": layout, "study": {**raw.get("study", {}), "measure": [measure]}}
    return study.load(asked).points


def _same(found, expected, to_the_microsecond):
    """Whether a block has all the expected arrays and numbers."""
    for part, values in expected.items():
        if part == "rows":
            # a thousand steps of a microsecond more or less, in times of a thousand seconds
            if not np.allclose(found["rows"], values, rtol=0 if to_the_microsecond else 1e-6, atol=0):
                return False
        elif any(not np.array_equal(found[part][name], value) for name, value in values.items()):
            return False
    return True


def _rate(backend, measure):
    """Trials a second of one core at full size, or None for the reference, which is no matter of speed."""
    if backend.name == "reference":
        return None
    (point,) = _points(_FULL, measure)
    plan = backend.plan(measure, point)
    count = 1
    while True:
        started = time.perf_counter()
        backend.block(measure, plan, point, SEED, 0, count)
        spent = time.perf_counter() - started
        if spent >= SECONDS:
            return count / spent
        count = max(
            2 * count, int(count * 1.2 * SECONDS / max(spent, 1e-6)) if spent > SECONDS / 50 else 8 * count
        )


# ---- one trial by the reference: the fields of a block that must come out ----------------------------------------


def _by_backend(measure):
    def expected(point, trial):
        reference = backends.BACKENDS["reference"]
        return reference.block(measure, reference.plan(measure, point), point, SEED, trial, 1)

    return expected


def _lists(point):
    """The host and stack tables as lists without padding."""
    tables = point.layout.host_table(), point.layout.stack_table()
    return [[[int(x) for x in row if x >= 0] for row in table] for table in tables]


def _life(point, trial):
    from .kernels.reference_reorder import lives_row

    failures, fixed, deeper, reorders, moves, _, patch, *_ = lives_row(*_lists(point), SEED, trial)
    endured = np.bincount([failures], minlength=point.layout.groups + 1)
    sums = {
        "failures": failures,
        "fixed": fixed,
        "deeper": deeper,
        "reorders": reorders,
        "moves": moves,
        "patch": patch,
    }
    return {"counts": {"endurable_failures": endured}, "sums": sums}


def _training_run(point, number):
    from .kernels.reference_training import training_row
    from .training_setup import kernel_plan

    plan = kernel_plan(point)
    hosts, stacks = _lists(point)
    row = training_row(
        plan.settings,
        SEED,
        number,
        hosts=hosts,
        stacks=stacks,
        intervals=plan.intervals.tolist(),
        width=plan.width,
    )
    return {"rows": np.array([row])}


_EXPECTED = {
    "survival": _by_backend("survival"),
    "stacks": _by_backend("stacks"),
    "reordering": _life,
    "training": _training_run,
}
