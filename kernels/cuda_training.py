"""Training runs on a GPU: a thread a run, by the functions of the CPU's kernels, controller and all.

A run is a walk through integers with a few thousand random durations on the way; what a GPU adds is tens of
thousands of them at once. Their memory lies interleaved, element i of thread t at ``i * threads + t``, as
the threads of a warp are mostly at the same place of a step.

The whole numbers are the CPU's to the bit; logarithms, powers and exponentials are CUDA's, whose last bits may differ:
docs/gpu.md says how far that can be seen.
"""

import functools
from typing import NamedTuple

import numpy as np
from numba import cuda, types

from . import controller_state, training_plan
from .controller_state import SLOT, WHEN
from .cuda_device import Held, Kernel, take
from .cuda_link import SIMULATED, Linker, device
from .jitter import slowest_table
from .ledger import note
from .philox import split64
from .returns import come_back
from .training_replication import run_replication
from .training_settings import COLUMNS, EVENTS, PARTS, REPLICATION, Settings, columns
from .training_spare import _rejoin, run_spare
from .training_state import KEY_0, KEY_1, make_state

__all__ = ["COLUMNS", "EVENTS", "PARTS", "Plan", "Settings", "columns", "examples", "plan", "prepare", "run"]

_Layout, _State = controller_state.Plan, controller_state.State
_THREADS = 2 if SIMULATED else 64  # of a block
_MANY = 2**17  # runs a launch: their rows lie on the GPU


class Plan(NamedTuple):
    """A point prepared for :func:`run`."""

    host: training_plan.Plan
    held: Held  # intervals int64[n]; the arrays of a controller's plan


def plan(*arguments, **named):
    """The Plan of a point; arguments as for ``training_plan.plan``."""
    return prepare(training_plan.plan(*arguments, **named))


def prepare(host):
    """The Plan for a ``training_plan.Plan``. ValueError for 65,536 groups or more, which 16 bits cannot tell apart."""
    arrays = {"intervals": host.intervals}
    if host.stacks is not None:
        if host.stacks.stacks.dtype != np.uint16:
            raise ValueError(f"groups = {host.settings.groups}: must be below 65,536")
        arrays |= host.stacks._asdict()
    return Plan(host, Held(**arrays))


@device
def _silent(reg, kind, time, a, b):
    """``note`` where no events are kept."""


@device
def _nobody(reg, real, group, unhandled):
    """``come_back`` where nobody does."""
    return np.int64(0)


@device
def _nobody_rejoins(reg, real, group, plan, stacks, seen):
    """``_rejoin`` where nobody does."""
    return np.int64(0)


def _linked(function, elastic):
    """A run's function, without what its settings leave out: that is most of the time to compile."""
    swapped = [(note, _silent)]
    if not elastic:
        swapped += [(come_back, _nobody), (_rejoin, _nobody_rejoins)]
    return Linker(swapped, apart=True)(function)


def _replication(elastic):
    """The kernel of the replication scheme; ``elastic``: groups can come back before a restart."""
    run_one = _linked(run_replication, elastic)

    def kernel(reg0, real0, reg, real, group, living, intervals, width, first, rows):
        t = cuda.grid(1)
        if t < reg.shape[1]:
            for i in range(reg0.shape[0]):
                reg[i, t] = reg0[i]
            for i in range(real0.shape[0]):
                real[i, t] = real0[i]
            for i in range(group.shape[0]):
                for g in range(group.shape[1]):
                    group[i, g, t] = 0
            i = np.int64(t)
            while i < rows.shape[0]:
                run_one(
                    reg[:, t],
                    real[:, t],
                    group[:, :, t],
                    living[:, t],
                    intervals,
                    width,
                    first + i,
                    rows[i : i + 1],
                )
                i += np.int64(cuda.gridsize(1))

    t = types
    memory = t.int64[:, ::1], t.float64[:, ::1], t.int64[:, :, ::1], t.int64[:, ::1]
    return Kernel(kernel, (t.int64[::1], t.float64[::1], *memory, *_runs()))


def _spare(elastic):
    """The kernel of SPARe, and of checkpoints alone."""
    run_one = _linked(run_spare, elastic)

    def kernel(
        reg0, real0, hosts, stacks, widths, places, reg, real, group, counts,
        state, stack, uncovered, touched, saved, table, queue, bucket, intervals, width, first, rows,
    ):  # fmt: skip
        t = cuda.grid(1)
        if t < reg.shape[1]:
            for i in range(reg0.shape[0]):
                reg[i, t] = reg0[i]
            for i in range(real0.shape[0]):
                real[i, t] = real0[i]
            for i in range(group.shape[0]):
                for g in range(group.shape[1]):
                    group[i, g, t] = 0
            for i in range(table.shape[0]):
                for g in range(table.shape[1]):
                    table[i, g, t] = -1 if i in (SLOT, WHEN) else 0
            for i in range(state.shape[0]):
                state[i, t] = 0
            layout = _Layout(hosts, stacks, widths, places)
            life = _State(
                state[:, t], stack[:, :, t], uncovered[:, t], touched[:, t], saved[:, :, t], table[:, :, t],
                queue[:, :, t], bucket[:, t],
            )  # fmt: skip
            i = np.int64(t)
            while i < rows.shape[0]:
                run_one(
                    reg[:, t], real[:, t], group[:, :, t], layout, life, counts[:, t], intervals, width, first + i,
                    rows[i : i + 1],
                )  # fmt: skip
                i += np.int64(cuda.gridsize(1))

    t = types
    layout = t.uint16[:, ::1], t.uint16[:, ::1], t.int32[::1], t.int32[::1]
    memory = t.int64[:, ::1], t.float64[:, ::1], t.int64[:, :, ::1], t.int64[:, ::1]
    state = t.int64[:, ::1], t.uint16[:, :, ::1], t.uint16[:, ::1], t.int32[:, ::1], t.uint16[:, :, ::1]
    state += t.int32[:, :, ::1], t.int32[:, :, ::1], t.int32[:, ::1]
    return Kernel(kernel, (t.int64[::1], t.float64[::1], *layout, *memory, *state, *_runs()))


def _runs():
    t = types
    return t.int64[::1], t.int64, t.int64, t.int64[:, ::1]


_replication, _spare = functools.cache(_replication), functools.cache(_spare)


def run(plan, seed, first, rows):
    """Runs first, first + 1, ...: one row of integers each, columns(redundancy).

    plan: of ``plan``; seed: below 2**64; rows: int64[count, len(COLUMNS) + r], written; times are microseconds.
    """
    for done in range(0, rows.shape[0], _MANY):
        part = rows[done : done + _MANY]
        with take() as slot:
            part[:] = _launch(slot, plan, seed, first + done, part.shape)


def _launch(slot, plan, seed, first, shape):
    host, held = plan.host, plan.held.on(slot)
    s = host.settings
    reg, real, group = make_state(s, host.scale, slowest_table(), host.table, 0)
    reg[KEY_0], reg[KEY_1] = split64(seed)
    memory = {"reg": reg, "real": real, "group": group}
    if s.scheme == REPLICATION:
        kernel = _replication(s.elastic)
        memory["living"] = np.zeros(-(-s.groups // s.redundancy), np.int64)
    else:
        kernel = _spare(s.elastic)
        memory["counts"] = np.zeros(s.redundancy + 1, np.int64)
        life = controller_state.blank_state(host.stacks)._asdict()
        memory |= {f"life {name}": array for name, array in life.items()}
    each = sum(array.nbytes for array in memory.values())
    threads = min(kernel.blocks(_THREADS) * _THREADS, slot.room(each), shape[0])
    blocks = -(-threads // _THREADS)
    many = {
        name: slot.array(name, (*array.shape, blocks * _THREADS), array.dtype)
        for name, array in memory.items()
    }
    if s.scheme == REPLICATION:
        arguments = many["reg"], many["real"], many["group"], many["living"]
    else:
        arguments = tuple(held[name] for name in _Layout._fields)
        arguments += many["reg"], many["real"], many["group"], many["counts"]
        arguments += tuple(many[f"life {name}"] for name in _State._fields)
    found = slot.array("rows", shape, np.int64)
    runs = held["intervals"], np.int64(host.width), np.int64(first), found
    kernel.launch(slot, blocks, _THREADS, (slot.put("reg0", reg), slot.put("real0", real), *arguments, *runs))
    return slot.get(found)


def examples():
    """name -> Kernel of every kind, for those who compile without running."""
    return {
        "training, replication": _replication(False),
        "training, SPARe": _spare(False),
        "training, replication with returns": _replication(True),
        "training, SPARe with returns": _spare(True),
    }
