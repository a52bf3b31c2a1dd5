"""Least all-reduce stacks on a GPU: a thread a trial, by the functions of the CPU's sixteen lanes.

The scratch of all threads lies interleaved, element i of thread t at ``i * threads + t``: the threads of a warp, who
walk through the groups in step, read and write side by side. Trials that half a key leaves undecided are done once
more by their exact failure orders, in a second launch, so that their warps hold nobody up.
"""

import functools
from typing import NamedTuple

import numpy as np
from numba import cuda, types

from . import stacks_plan
from .cuda_device import Held, Kernel, take
from .cuda_keys import draw, draw_keys
from .cuda_lane import linker
from .cuda_link import SIMULATED, Linker, device
from .philox import split64
from .reorder import failure_order
from .reorder_columns import pattern_memory
from .stacks_arcs import raise_by_walk
from .stacks_blocks import bounds_by_blocks
from .stacks_lanes import count_alive, wipe_out_bounds
from .stacks_paths import complete16
from .stacks_plan import ARCS, BLOCKS, RING
from .stacks_rows import _enter_depth, _enter_wipe_out, _start_bounds
from .stacks_sweep import sweep16

__all__ = ["Plan", "capacity", "capacity_of_keys", "examples", "plan", "tallies"]

_link = linker()
_failure_order = Linker()(failure_order)
_raise_by_walk, _bounds_by_blocks = _link(raise_by_walk), _link(bounds_by_blocks)
_count_alive, _wipe_out_bounds = _link(count_alive), _link(wipe_out_bounds)
_sweep, _complete = _link(sweep16), _link(complete16)
_wipe_row, _depth_row, _start = _link(_enter_wipe_out), _link(_enter_depth), _link(_start_bounds)

_16 = np.uint32(16)
_NEVER = np.uint16(0xFFFF)
_NO_KEYS = np.zeros((1, 1), np.uint32)
_THREADS = 4 if SIMULATED else 64  # of a block
_MANY = 2**19  # trials a launch: their rows lie on the GPU
HALF, EXACT, GIVEN = 0, 1, 2  # where ages come from: half keys, failure orders, failure orders of given keys
SUMS = ("stack", "states", "above", "failures", "stack_squared", "states_squared", "stack_states",
        "above_squared", "failures_squared", "above_failures")  # fmt: skip


class Plan(NamedTuple):
    """A layout prepared for :func:`capacity`."""

    groups: int
    redundancy: int
    kind: int
    held: Held  # hosts, stacks: uint16[N, r]; starts: int64[blocks + 1], of a partition


def plan(hosts, stacks):
    """Prepare a layout; arguments as for ``stacks_plan.plan``. ValueError if it does not fit into 16 bits."""
    host = stacks_plan.plan(hosts, stacks)
    if host.hosts16.shape[0] == 0:
        raise ValueError(
            f"groups must be {stacks_plan._MAX_GROUPS} or fewer, redundancy {stacks_plan.MAX_REDUNDANCY}"
        )
    starts = host.starts if host.kind == BLOCKS else np.zeros(1, np.int64)
    return Plan(*host.hosts.shape, host.kind, Held(hosts=host.hosts16, stacks=host.stacks16, starts=starts))


@device
def _high(key):
    """A group's age by half its key, as ``stacks_lanes.draw_ages`` has it."""
    age = np.uint16(0xFFFF) ^ np.uint16(key >> _16)
    return np.uint16(min(age, 0xFFFE))


@device
def _enter_ages(ages, keys, order, starts, exact, given, k0, k1, trial):
    """Fill ``ages`` for a trial: by half keys, or by exact places in the failure order, of drawn or given keys."""
    groups = ages.shape[0] - 1
    if exact != HALF:
        if exact == GIVEN:
            for g in range(groups):
                keys[g] = given[trial, g]
        else:
            draw_keys(keys, k0, k1, trial)
        _failure_order(keys, order, starts)
        for place in range(groups):
            ages[order[place]] = np.uint16(groups - 1 - place)
    else:
        for number in range((groups + 3) >> 2):
            g = 4 * number
            for key in draw(number, k0, k1, trial):
                if g < groups:
                    ages[g] = _high(key)
                g += 1
    ages[groups] = _NEVER


@device
def _depths(kind, hosts, stacks, ages, types_, free, places, box, marks, wipe, bounds, alive, edge, rows):
    """Fill ``rows`` (int32[1, r]) as ``stacks_rows.rows_by_lanes`` does; returns whether the trial is undecided."""
    groups, redundancy = hosts.shape
    _wipe_out_bounds(hosts, ages, wipe)
    _count_alive(ages, groups, wipe, alive, edge)
    undecided = _wipe_row(alive, edge, groups, rows)
    active = np.int64(1) ^ undecided if redundancy > 1 else np.int64(0)
    depth = np.int64(2)
    while active != 0:
        most = groups - (groups + depth - 1) // depth  # beyond it the alive cannot take enough types
        _start(ages, groups, rows[:, redundancy - 1], wipe, most, bounds)
        if kind == ARCS:
            _raise_by_walk(ages, groups, redundancy, depth, bounds)
        else:
            _sweep(hosts, stacks, ages, bounds, depth, types_, free, places)
            _complete(hosts, stacks, kind == RING, ages, bounds, depth, types_, free, active, box, marks)
        _count_alive(ages, groups, bounds, alive, edge)
        active, unclear = _depth_row(alive, edge, groups, depth, active, rows)
        undecided |= unclear
        depth += 1
    return undecided


@device
def _blocks(starts, groups, ages, members, bounds, alive, edge, rows):
    """The same as ``stacks_rows.rows_of_blocks`` does."""
    redundancy = rows.shape[1]
    undecided = np.int64(0)
    _bounds_by_blocks(starts, ages, redundancy, bounds, members)
    for depth in range(redundancy, 1, -1):
        if depth == redundancy or bounds[depth, 0] != bounds[depth + 1, 0]:
            _count_alive(ages, groups, bounds[depth], alive, edge)
        rows[0, depth - 1] = groups - np.int64(alive[0])
        undecided |= np.int64(edge[0] != 1)
    rows[0, 0] = 0
    return undecided


def _of_tables(kind):
    """The kernel for rings (contiguous) or tables."""

    def kernel(
        hosts, stacks, k0, k1, first, count, exact, again, given, ages, types_, free, places, box, marks, small,
        keys, order, starts, out, undecided,
    ):  # fmt: skip
        t = cuda.grid(1)
        i = np.int64(t)
        while i < count and t < ages.shape[1]:
            trial = i if exact == HALF else np.int64(again[i])
            mine = ages[:, t]
            _enter_ages(mine, keys[:, t], order[:, t], starts[:, t], exact, given, k0, k1,
                        first + np.uint64(trial))  # fmt: skip
            undecided[trial] = _depths(
                kind, hosts, stacks, mine, types_[:, t], free[:, t], places[:, t], box[:, :, t], marks[:, :, t],
                small[0, :, t], small[1, :, t], small[2, :, t], small[3, :, t], out[trial : trial + 1],
            )  # fmt: skip
            i += np.int64(cuda.gridsize(1))

    t = types
    memory = t.uint16[:, ::1], t.uint16[:, ::1], t.uint16[:, ::1], t.uint16[:, ::1]
    memory += t.uint16[:, :, ::1], t.uint32[:, :, ::1], t.uint16[:, :, ::1]
    return Kernel(kernel, (t.uint16[:, ::1], t.uint16[:, ::1], *_trials(), *memory, *_orders()))


def _of_partitions():
    """The kernel for partitions."""

    def kernel(
        block_starts, groups, k0, k1, first, count, exact, again, given, ages, members, bounds, small,
        keys, order, starts, out, undecided,
    ):  # fmt: skip
        t = cuda.grid(1)
        i = np.int64(t)
        while i < count and t < ages.shape[1]:
            trial = i if exact == HALF else np.int64(again[i])
            mine = ages[:, t]
            _enter_ages(mine, keys[:, t], order[:, t], starts[:, t], exact, given, k0, k1,
                        first + np.uint64(trial))  # fmt: skip
            undecided[trial] = _blocks(
                block_starts, groups, mine, members[:, t], bounds[:, :, t], small[0, :, t], small[1, :, t],
                out[trial : trial + 1],
            )  # fmt: skip
            i += np.int64(cuda.gridsize(1))

    t = types
    memory = t.uint16[:, ::1], t.uint16[:, ::1], t.uint16[:, :, ::1], t.uint16[:, :, ::1]
    return Kernel(kernel, (t.int64[::1], t.int64, *_trials(), *memory, *_orders()))


def _trials():
    t = types
    return t.uint32, t.uint32, t.uint64, t.int64, t.int64, t.int32[::1], t.uint32[:, ::1]


def _orders():
    t = types
    return t.uint32[:, ::1], t.int32[:, ::1], t.int32[:, ::1], t.int32[:, ::1], t.int8[::1]


def _tally():
    """The kernel that counts rows and sums what each of them adds (see ``measures.stacks``)."""

    def kernel(out, below, ended, sums):
        redundancy = out.shape[1]
        stack_states, stack_squared, states_squared = np.int64(0), np.int64(0), np.int64(0)
        above_failures, above_squared, failures_squared = np.int64(0), np.int64(0), np.int64(0)
        stacks, states, aboves, lasts = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        i = np.int64(cuda.grid(1))
        while i < out.shape[0]:
            before, last = np.int64(-1), np.int64(-1)
            stack, above = np.int64(0), np.int64(0)
            for d in range(redundancy):
                last = np.int64(out[i, d])
                cuda.atomic.add(ended, (d, last), np.int32(1))
                stack += (last - before) * (d + 1)
                above += max(min(last, below[d]) - before, np.int64(0))
                before = last
            stacks += stack
            states += last + 1
            aboves += above
            lasts += last
            stack_squared += stack * stack
            states_squared += (last + 1) * (last + 1)
            stack_states += stack * (last + 1)
            above_squared += above * above
            failures_squared += last * last
            above_failures += above * last
            i += np.int64(cuda.gridsize(1))
        cuda.atomic.add(sums, 0, stacks)
        cuda.atomic.add(sums, 1, states)
        cuda.atomic.add(sums, 2, aboves)
        cuda.atomic.add(sums, 3, lasts)
        cuda.atomic.add(sums, 4, stack_squared)
        cuda.atomic.add(sums, 5, states_squared)
        cuda.atomic.add(sums, 6, stack_states)
        cuda.atomic.add(sums, 7, above_squared)
        cuda.atomic.add(sums, 8, failures_squared)
        cuda.atomic.add(sums, 9, above_failures)

    t = types
    return Kernel(kernel, (t.int32[:, ::1], t.int64[::1], t.int32[:, ::1], t.int64[::1]))


@functools.cache
def _kernel(kind):
    return _of_partitions() if kind == BLOCKS else _of_tables(ARCS if kind == ARCS else kind)


_tally = functools.cache(_tally)


def capacity(plan, seed, first, out):
    """Fill ``out`` (int32[count, r]) for trials first, first + 1, ...: the last k that each depth survives."""
    for done in range(0, out.shape[0], _MANY):
        part = out[done : done + _MANY]
        with take() as slot:
            part[:] = slot.get(_rows(slot, plan, seed, first + done, part.shape[0]))


def capacity_of_keys(plan, keys):
    """The rows of :func:`capacity` (int32[count, r]) for given failure-order keys (uint32[count, N])."""
    keys = np.ascontiguousarray(keys, np.uint32)
    count = keys.shape[0]
    with take() as slot:
        out = slot.array("rows", (count, plan.redundancy), np.int32)
        undecided = slot.array("undecided", (count,), np.int8)
        _launch(slot, plan, 0, 0, count, GIVEN, np.arange(count, dtype=np.int32), keys, out, undecided)
        return slot.get(out)


def tallies(plan, seed, first, count):
    """Counts and sums of ``measures.stacks`` over trials first, first + 1, ...

    Returns (ended int64[r, N + 1]: of every depth, trials by the last k it survives; sums: name -> int).
    """
    ended = np.zeros((plan.redundancy, plan.groups + 1), np.int64)
    sums = np.zeros(len(SUMS), object)  # Python ints: sums of squares outgrow 64 bits
    # c(k) < d + 1 exactly for k <= N - ceil(N / d); no k has c(k) < 1
    below = np.array([-1, *(plan.groups - -(-plan.groups // d) for d in range(1, plan.redundancy))], np.int64)
    for done in range(0, count, _MANY):
        many = min(_MANY, count - done)
        with take() as slot:
            rows = _rows(slot, plan, seed, first + done, many)
            counted = slot.zeros("ended", ended.shape, np.int32)
            summed = slot.zeros("sums", (len(SUMS),), np.int64)
            kernel = _tally()
            blocks = max(1, min(kernel.blocks(_THREADS), -(-many // _THREADS)))
            kernel.launch(slot, blocks, _THREADS, (rows, slot.put("below", below), counted, summed))
            ended += slot.get(counted)
            sums += slot.get(summed).astype(object)
    return ended, dict(zip(SUMS, sums.tolist(), strict=True))


def _rows(slot, plan, seed, first, count):
    """Rows of trials first, first + 1, ..., int32[count, r] on the slot's GPU."""
    out = slot.array("rows", (count, plan.redundancy), np.int32)
    undecided = slot.array("undecided", (count,), np.int8)
    _launch(slot, plan, seed, first, count, HALF, np.zeros(1, np.int32), _NO_KEYS, out, undecided)
    again = np.flatnonzero(slot.get(undecided)).astype(np.int32)
    if again.size:
        _launch(slot, plan, seed, first, again.size, EXACT, again, _NO_KEYS, out, undecided)
    return out


def _launch(slot, plan, seed, first, count, exact, again, given, out, undecided):
    held, n, r = plan.held.on(slot), plan.groups, plan.redundancy
    kernel = _kernel(plan.kind)
    of_blocks = plan.kind == BLOCKS
    _, _, starts = pattern_memory(n)
    each = 2 * (n + 1) * (1 if of_blocks else 14) + 8 * (n + 1) + 4 * r + bool(exact) * (16 * n + 8)
    threads = min(kernel.blocks(_THREADS) * _THREADS, slot.room(each), -(-count // _THREADS) * _THREADS)
    blocks = max(1, threads // _THREADS)
    threads = blocks * _THREADS
    kind = "exact " if exact else ""

    def array(name, shape, dtype):
        return slot.array(kind + name, (*shape, threads), dtype)

    orders = (
        array("keys", (n if exact else 1,), np.uint32),
        array("order", (n if exact else 1,), np.int32),
        array("starts", starts.shape if exact else (1,), np.int32),
        out,
        undecided,
    )
    trials = (
        *split64(seed),
        np.uint64(first),
        np.int64(count),
        np.int64(exact),
        slot.put(kind + "again", again),
        slot.put("given", given),
    )
    ages = array("ages", (n + 1,), np.uint16)
    if of_blocks:
        layout = held["starts"], np.int64(n)
        memory = (
            ages,
            array("members", (r,), np.uint16),
            array("bounds", (r + 1, 1), np.uint16),
            array("small", (2, 1), np.uint16),
        )
    else:
        layout = held["hosts"], held["stacks"]
        wide = plan.kind != ARCS
        memory = (
            ages,
            array("types", (n + 1 if wide else 1,), np.uint16),
            array("free", (n + 1 if wide else 1,), np.uint16),
            array("places", (r,), np.uint16),
            array("box", (11, n + 1 if wide else 1), np.uint16),
            array("marks", (2, n + 1 if wide else 1), np.uint32),
            array("small", (4, 1), np.uint16),
        )
    kernel.launch(slot, blocks, _THREADS, (*layout, *trials, *memory, *orders))


def examples():
    """name -> Kernel of every kind, for those who compile without running."""
    kinds = {"contiguous": ARCS, "tables": stacks_plan.TABLE, "short offsets": RING, "partition": BLOCKS}
    return {f"stacks, {name}": _kernel(kind) for name, kind in kinds.items()} | {"stacks, tallies": _tally()}
