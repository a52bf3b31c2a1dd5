"""Lives of the reordering controller on a GPU: a thread a life, by the functions of the CPU's kernel.

Memory lies interleaved, as for training runs (``cuda_training``). Every thread counts for itself what it adds to the
sums by failures; a second kernel adds them up.
"""

import functools
from typing import NamedTuple

import numpy as np
from numba import cuda, types

from . import controller_state
from .controller_jit import reset
from .controller_state import SLOT, WHEN
from .cuda_device import Held, Kernel, take
from .cuda_keys import draw_keys
from .cuda_link import SIMULATED, Linker
from .philox import split64
from .reorder import _life, failure_order
from .reorder_columns import BY_FAILURES, COLUMNS, PHASES, pattern_memory

__all__ = ["BY_FAILURES", "COLUMNS", "PHASES", "Plan", "examples", "lives", "plan"]

_link = Linker(apart=True)
_one_life, _reset, _order = _link(_life), _link(reset), _link(failure_order)
_Layout, _State = controller_state.Plan, controller_state.State
_THREADS = 4 if SIMULATED else 64  # of a block
_MANY = 2**18  # lives a launch: their rows lie on the GPU


class Plan(NamedTuple):
    """A layout prepared for :func:`lives`."""

    host: controller_state.Plan
    held: Held


def plan(hosts, stacks):
    """The Plan of a layout; arguments as for ``reorder.plan``. ValueError for 65,536 groups or more."""
    host = controller_state.plan(hosts, stacks)
    if host.stacks.dtype != np.uint16:
        raise ValueError(f"groups = {host.stacks.shape[0]}: must be below 65,536")
    return Plan(host, Held(**host._asdict()))


def _lives():
    """The kernel of the lives."""

    def kernel(
        hosts, stacks, widths, places, state, stack, uncovered, touched, saved, table, queue, bucket,
        keys, order, starts, k0, k1, first, batch, rows, by_failures, moves,
    ):  # fmt: skip
        t = cuda.grid(1)
        if t < keys.shape[1]:
            for i in range(table.shape[0]):
                for g in range(table.shape[1]):
                    table[i, g, t] = -1 if i in (SLOT, WHEN) else 0
            for i in range(state.shape[0]):
                state[i, t] = 0
            for k in range(by_failures.shape[0]):
                moves[k, t] = 0
                for column in range(by_failures.shape[1]):
                    by_failures[k, column, t] = 0
            layout = _Layout(hosts, stacks, widths, places)
            life = _State(
                state[:, t], stack[:, :, t], uncovered[:, t], touched[:, t], saved[:, :, t], table[:, :, t],
                queue[:, :, t], bucket[:, t],
            )  # fmt: skip
            i = np.int64(t)
            while i < rows.shape[0]:
                draw_keys(keys[:, t], k0, k1, first + np.uint64(i))
                _order(keys[:, t], order[:, t], starts[:, t])
                _reset(layout, life)
                _one_life(layout, life, order[:, t], rows, i, by_failures[:, :, t], moves[:, t], batch)
                i += np.int64(cuda.gridsize(1))

    t = types
    layout = t.uint16[:, ::1], t.uint16[:, ::1], t.int32[::1], t.int32[::1]
    state = t.int64[:, ::1], t.uint16[:, :, ::1], t.uint16[:, ::1], t.int32[:, ::1], t.uint16[:, :, ::1]
    state += t.int32[:, :, ::1], t.int32[:, :, ::1], t.int32[:, ::1]
    orders = t.uint32[:, ::1], t.int32[:, ::1], t.int32[:, ::1]
    lives = t.uint32, t.uint32, t.uint64, t.int64, t.int64[:, ::1], t.int64[:, :, ::1], t.int64[:, ::1]
    return Kernel(kernel, (*layout, *state, *orders, *lives))


def _total():
    """The kernel that adds up what the threads have counted: element by element, over the last axis."""

    def kernel(many, summed):
        i = cuda.grid(1)
        if i < summed.shape[0]:
            total = np.int64(0)
            for t in range(many.shape[1]):
                total += many[i, t]
            summed[i] = total

    return Kernel(kernel, (types.int64[:, ::1], types.int64[::1]))


_lives, _total = functools.cache(_lives), functools.cache(_total)


def lives(plan, seed, first, rows, by_failures=None, moves=None, batch=1):
    """Whole lives of trials first, first + 1, ...; arguments as for ``reorder.lives``."""
    for done in range(0, rows.shape[0], _MANY):
        part = rows[done : done + _MANY]
        with take() as slot:
            found, *sums = _launch(slot, plan, seed, first + done, part.shape, batch)
            part[:] = found
        for target, summed in zip((by_failures, moves), sums, strict=True):
            if target is not None:
                target += summed


def _launch(slot, plan, seed, first, shape, batch):
    kernel, held, n = _lives(), plan.held.on(slot), plan.host.stacks.shape[0]
    life = controller_state.blank_state(plan.host)._asdict()
    memory = {f"life {name}": array for name, array in life.items()}
    memory |= dict(zip(("keys", "order", "starts"), pattern_memory(n), strict=True))
    memory["by failures"] = np.zeros((n + 1, len(BY_FAILURES)), np.int64)
    memory["moves"] = np.zeros(n + 1, np.int64)
    each = sum(array.nbytes for array in memory.values())
    threads = min(kernel.blocks(_THREADS) * _THREADS, slot.room(each), shape[0])
    blocks = -(-threads // _THREADS)
    many = {
        name: slot.array(name, (*array.shape, blocks * _THREADS), array.dtype)
        for name, array in memory.items()
    }
    found = slot.array("rows", shape, np.int64)
    arguments = (
        *(held[name] for name in _Layout._fields),
        *(many[f"life {name}"] for name in _State._fields),
        *(many[name] for name in ("keys", "order", "starts")),
        *split64(seed),
        np.uint64(first),
        np.int64(batch),
        found,
        many["by failures"],
        many["moves"],
    )
    kernel.launch(slot, blocks, _THREADS, arguments)
    sums = []
    for name in ("by failures", "moves"):
        size = memory[name].size
        summed = slot.array(f"{name}, summed", (size,), np.int64)
        _total().launch(
            slot, -(-size // _THREADS), _THREADS, (many[name].reshape(size, blocks * _THREADS), summed)
        )
        sums.append(slot.get(summed).reshape(memory[name].shape))
    return slot.get(found), *sums


def examples():
    """name -> Kernel of every kind, for those who compile without running."""
    return {"reordering": _lives(), "reordering, sums": _total()}
