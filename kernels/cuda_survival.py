"""Endurable failures on a GPU: one block of threads a trial, full keys in shared memory.

A trial of N = 600 is one warp. Its threads draw the keys (150 draws of four), look for the least over the types of the
greatest host key, and count the keys below it; nothing but the counts of endurable failures leaves the GPU. Key
g lies at ``(g & 3) * quarter + (g >> 2)``, so that threads side by side, who draw groups 4 q .. 4 q + 3, write, and
read any host of types 4 q + c, in banks side by side. The ring goes on for ``span`` keys, so that no window wraps.
"""

import functools
from typing import NamedTuple

import numpy as np
from numba import cuda, types

from . import survival_plan
from .cuda_device import SHARED, Held, Kernel, take
from .cuda_keys import draw as draw_four
from .cuda_link import SIMULATED, device
from .cuda_team import PART, least, least64, total, total64
from .philox import split64

__all__ = ["counts", "endurable", "endurable_of_keys", "plan"]

_TOP = np.uint32(0xFFFFFFFF)
_FIRST, _NEVER = np.int64(-(2**63)), np.int64(2**63 - 1)
_ZERO, _ONE, _TWO, _THREE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_FOUR = np.uint64(4)
_MOST = 8  # types of a thread that are taken at once
_MOST_THREADS = 512
_LIMIT = 2**31 - 1  # trials a launch: what a counter holds


class Plan(NamedTuple):
    """A layout prepared for :func:`endurable`."""

    ring: bool
    groups: int
    span: int  # keys repeated behind the last group
    width: int  # hosts of a type
    held: Held  # starts uint32[4 width] of a ring's hosts; or table uint32[width, rows] of keys' places


class _Layout(NamedTuple):
    """The same in a kernel; whole numbers that are no index are unsigned, which spares the test for negative ones."""

    ring: int
    groups: int
    span: int
    quarter: int
    width: int
    starts: np.ndarray
    table: np.ndarray
    step: int  # threads of the block
    many: int  # types of a thread taken at once


def plan(groups, redundancy, offsets=None, block=None, hosts=None):
    """Prepare a layout; arguments as for ``survival_plan.plan``."""
    way = survival_plan.LANES if offsets is not None else None
    host = survival_plan.plan(groups, redundancy, offsets, block, hosts, way)
    span, width = int(host.numbers[survival_plan.SPAN]), int(host.numbers[survival_plan.WIDTH])
    ring = bool(host.numbers[survival_plan.KIND] == survival_plan.CIRCULANT)
    span += 3 * ring  # types are looked at by fours
    quarter = _quarter(groups, span)
    starts, table = np.zeros(1, np.int64), np.zeros((1, 1), np.int64)
    if ring:
        starts = _place((np.arange(4)[:, None] + host.places).reshape(-1), quarter)
    else:
        table = _place(host.hosts.reshape(-1, width).T.astype(np.int64), quarter)
    return Plan(
        ring, groups, span, width, Held(starts=starts.astype(np.uint32), table=table.astype(np.uint32))
    )


def _quarter(groups, span):
    return (groups + span + 3) // 4


def _place(group, quarter):
    return (group & 3) * quarter + (group >> 2)


@device
def _at(group, quarter):
    """Where the key of a group (uint64) lies."""
    return (group & _THREE) * quarter + (group >> _TWO)


@device
def _draw(keys, mine, layout, trial, k0, k1):
    """Draw a trial's keys; ``mine``, uint32[4 many] in registers, gets this thread's, as far as there is room.

    Keys of no group, up to three, go to places that :func:`_wrap` fills next, or nobody reads; ``mine`` has the highest
    key for them.
    """
    quarter, draws = layout.quarter, (layout.groups + _THREE) >> _TWO
    thread = np.uint64(cuda.threadIdx.x)
    for i in range(layout.many):
        draw = thread + np.uint64(i) * layout.step
        at = min(draw, draws - _ONE)  # once more the last one: cheaper than a branch
        a, b, c, d = draw_four(at, k0, k1, trial)
        keys[at] = a
        keys[at + quarter] = b
        keys[at + _TWO * quarter] = c
        keys[at + _THREE * quarter] = d
        g = _FOUR * draw
        mine[4 * i] = a if g < layout.groups else _TOP
        mine[4 * i + 1] = b if g + _ONE < layout.groups else _TOP
        mine[4 * i + 2] = c if g + _TWO < layout.groups else _TOP
        mine[4 * i + 3] = d if g + _THREE < layout.groups else _TOP
    draw = thread + np.uint64(layout.many) * layout.step
    while draw < draws:
        a, b, c, d = draw_four(draw, k0, k1, trial)
        keys[draw] = a
        keys[draw + quarter] = b
        keys[draw + _TWO * quarter] = c
        keys[draw + _THREE * quarter] = d
        draw += layout.step


@device
def _wrap(keys, layout):
    """Go on with the ring behind the last group."""
    x = np.uint64(cuda.threadIdx.x)
    while x < layout.span:
        keys[_at(x + layout.groups, layout.quarter)] = keys[_at(x, layout.quarter)]
        x += layout.step


@device
def _least_window(keys, most, layout):
    """The least, over this thread's types of a ring, of the greatest host key (uint32).

    ``most``: uint32[many], registers of the thread. Types of class c have numbers 4 q + c; up to three beyond the last
    are the first ones once more.
    """
    found = _TOP
    step, many, starts = layout.step, layout.many, layout.starts
    here = (layout.groups + _THREE) >> _TWO  # types of a class
    last = np.uint64(many - 1) * step
    thread = np.uint64(cuda.threadIdx.x)
    done = _ZERO
    while done + last < here:
        q = min(done + thread, here - _ONE)
        tail = min(last, here - _ONE - q)  # the last of a thread's types may be looked at twice
        j = _ZERO
        while j < _FOUR * layout.width:
            end = j + layout.width
            for i in range(many):
                most[i] = np.uint32(0)
            while j < end:
                at = np.uint64(starts[j]) + q
                for i in range(many - 1):
                    most[i] = max(most[i], keys[at + np.uint64(i) * step])
                most[many - 1] = max(most[many - 1], keys[at + tail])
                j += _ONE
            for i in range(many):
                found = min(found, most[i])
        done += np.uint64(many) * step
    q = done + thread
    while q < here:
        j = _ZERO
        while j < _FOUR * layout.width:
            end = j + layout.width
            m = np.uint32(0)
            while j < end:
                m = max(m, keys[np.uint64(starts[j]) + q])
                j += _ONE
            found = min(found, m)
        q += step
    return found


@device
def _least_row(keys, layout):
    """The same over this thread's rows of a table."""
    found, table = _TOP, layout.table
    row = np.uint64(cuda.threadIdx.x)
    while row < np.uint64(table.shape[1]):
        m = keys[np.uint64(table[_ZERO, row])]
        j = _ONE
        while j < layout.width:
            m = max(m, keys[np.uint64(table[j, row])])
            j += _ONE
        found = min(found, m)
        row += layout.step
    return found


@device
def _rank(keys, place, layout):
    """The place in the order of failure of the key there: its bits, then its group's number (int64)."""
    group = _FOUR * (place % layout.quarter) + place // layout.quarter
    if group >= layout.groups:
        group -= layout.groups
    return ((np.int64(keys[place]) - np.int64(2**31)) << np.int64(32)) | np.int64(group)


@device
def _settle(keys, layout, part):
    """How many groups fail before the one that wipes out, where keys tie. Slow; of N = 600 one trial in 10**7."""
    first = _NEVER
    t = np.uint64(cuda.threadIdx.x)
    many = layout.groups if layout.ring else np.uint64(layout.table.shape[1])
    while t < many:
        last = _FIRST
        j = _ZERO
        while j < layout.width:
            if layout.ring:
                place = np.uint64(layout.starts[(t & _THREE) * layout.width + j]) + (t >> _TWO)
            else:
                place = np.uint64(layout.table[j, t])
            last = max(last, _rank(keys, place, layout))
            j += _ONE
        first = min(first, last)
        t += layout.step
    first = least64(first, part)
    below = np.int64(0)
    g = np.uint64(cuda.threadIdx.x)
    while g < layout.groups:
        below += np.int64(_rank(keys, _at(g, layout.quarter), layout) < first)
        g += layout.step
    return total64(below, part)


@device
def _count(keys, mine, drawn, layout, wipe):
    """This thread's keys below the wipe-out key, and at it (int32 each)."""
    below, same = np.int32(0), np.int32(0)
    if drawn and _FOUR * np.uint64(layout.many) * layout.step >= layout.groups:
        for i in range(4 * layout.many):
            below += np.int32(mine[i] < wipe)
            same += np.int32(mine[i] == wipe)
        return below, same
    g = np.uint64(cuda.threadIdx.x)
    while g < layout.groups:
        key = keys[_at(g, layout.quarter)]
        below += np.int32(key < wipe)
        same += np.int32(key == wipe)
        g += layout.step
    return below, same


@device
def _endured(keys, most, mine, part, drawn, layout):
    """Endurable failures by the keys, the same in all threads of the block."""
    wipe = least(_least_window(keys, most, layout) if layout.ring else _least_row(keys, layout), part)
    below, same = _count(keys, mine, drawn, layout, wipe)
    endured = np.int64(total(below, part))
    if total(same, part) > 1:
        endured = _settle(keys, layout, part)
    return endured


@device
def _all(keys, most, mine, part, layout, drawn, given, k0, k1, first, count, counting, out):
    """This block's trials: counted in ``out`` by their endurable failures, or each told there."""
    index = np.int64(cuda.blockIdx.x)
    while index < count:
        if drawn:
            _draw(keys, mine, layout, first + np.uint64(index), k0, k1)
        else:
            g = np.uint64(cuda.threadIdx.x)
            while g < layout.groups:
                keys[_at(g, layout.quarter)] = given[index, g]
                g += layout.step
        cuda.syncthreads()
        if layout.span > _ZERO:
            _wrap(keys, layout)
            cuda.syncthreads()
        endured = _endured(keys, most, mine, part, drawn, layout)
        if cuda.threadIdx.x == 0:
            if counting:
                cuda.atomic.add(out, endured, np.int32(1))
            else:
                out[index] = np.int32(endured)
        cuda.syncthreads()  # the keys are free for the next trial
        index += np.int64(cuda.gridDim.x)


def _in_shared(step, many):
    """The kernel for blocks of ``step`` threads that take ``many`` types each at once; keys in shared memory."""
    four = 4 * many

    def kernel(
        ring, groups, span, width, starts, table, drawn, given, k0, k1, first, count, counting, out
    ):  # fmt: skip
        keys = cuda.shared.array(0, types.uint32)
        part = cuda.shared.array(PART, types.int64)
        most = cuda.local.array(many, types.uint32)
        mine = cuda.local.array(four, types.uint32)
        quarter = (groups + span + _THREE) >> _TWO
        layout = _Layout(ring, groups, span, quarter, width, starts, table, np.uint64(step), many)
        _all(keys, most, mine, part, layout, drawn, given, k0, k1, first, count, counting, out)

    # 20 warps at once: with fewer registers the rounds of the draws would not lie in registers, with more blocks wait
    bounds = (step, max(1, 640 // step))
    return Kernel(kernel, _signature(), launch_bounds=bounds, shared_memory_carveout="MaxShared")


def _in_memory(step, many):
    """The same for layouts too large for shared memory: a row of ``scratch`` to a block."""
    four = 4 * many

    def kernel(
        scratch, ring, groups, span, width, starts, table, drawn, given, k0, k1, first, count, counting, out
    ):  # fmt: skip
        keys = scratch[cuda.blockIdx.x]
        part = cuda.shared.array(PART, types.int64)
        most = cuda.local.array(many, types.uint32)
        mine = cuda.local.array(four, types.uint32)
        quarter = (groups + span + _THREE) >> _TWO
        layout = _Layout(ring, groups, span, quarter, width, starts, table, np.uint64(step), many)
        _all(keys, most, mine, part, layout, drawn, given, k0, k1, first, count, counting, out)

    return Kernel(kernel, (types.uint32[:, ::1], *_signature()), launch_bounds=(step, 1))


def _signature():
    t, ints = types, types.int32[::1]
    layout = t.int64, t.uint64, t.uint64, t.uint64, t.uint32[::1], t.uint32[:, ::1]
    return (*layout, t.int64, t.uint32[:, ::1], t.uint32, t.uint32, t.uint64, t.int64, t.int64, ints)


@functools.cache
def kernel_for(groups, in_shared):
    """(Kernel, threads of a block) for layouts of so many groups."""
    threads = 3 if SIMULATED else 32
    while threads * 32 < groups and threads < _MOST_THREADS and not SIMULATED:
        threads *= 2
    each = -(-groups // (4 * threads))  # types of a class that a thread looks at
    many = each if each <= _MOST else min(range(_MOST, 3, -1), key=lambda many: -each % many)
    return _compiled(threads, many, in_shared), threads


@functools.cache
def _compiled(threads, many, in_shared):
    return (_in_shared if in_shared else _in_memory)(threads, many)


def counts(plan, seed, first, count):
    """How many of the trials first .. first + count - 1 endure 0 .. N failures: int64[N + 1].

    ``seed`` and trial numbers: ints below 2**64.
    """
    found = np.zeros(plan.groups + 1, np.int64)
    for done in range(0, count, _LIMIT):
        with take() as slot:
            counted = slot.zeros("counts", (plan.groups + 1,), np.int32)
            _run(slot, plan, None, seed, first + done, min(_LIMIT, count - done), True, counted)
            found += slot.get(counted)
    return found


def endurable(plan, seed, first, out):
    """Fill ``out`` (int32[count]) with the endurable failures of trials first, first + 1, ..."""
    _each(plan, None, seed, first, out)


def endurable_of_keys(plan, keys, out):
    """The same for given 32-bit keys (uint32[count, N]) instead of drawn ones."""
    _each(plan, np.asarray(keys, np.uint32), 0, 0, out)


def _each(plan, given, seed, first, out):
    if out.shape[0]:
        with take() as slot:
            found = slot.array("each", out.shape, np.int32)
            _run(slot, plan, given, seed, first, out.shape[0], False, found)
            out[:] = slot.get(found)


def _run(slot, plan, given, seed, first, count, counting, out):
    held = plan.held.on(slot)
    length = 4 * _quarter(plan.groups, plan.span)
    in_shared = 4 * length <= SHARED - 8 * PART
    kernel, threads = kernel_for(plan.groups, in_shared)
    shared = 4 * length if in_shared else 0
    blocks = min(kernel.blocks(threads, shared), count)
    layout = (
        np.int64(plan.ring),
        np.uint64(plan.groups),
        np.uint64(plan.span),
        np.uint64(plan.width),
        held["starts"],
        held["table"],
    )
    drawn, keys = given is None, np.zeros((1, 1), np.uint32) if given is None else given
    trials = (*split64(seed), np.uint64(first), np.int64(count), np.int64(counting), out)
    arguments = (*layout, np.int64(drawn), slot.put("given", keys), *trials)
    if not in_shared:
        blocks = min(blocks, slot.room(4 * length))
        arguments = (slot.array("keys", (blocks, length), np.uint32), *arguments)
    kernel.launch(slot, blocks, threads, arguments, shared)


def examples():
    """name -> Kernel of every kind, for those who compile without running."""
    return {
        "survival": kernel_for(600, True)[0],
        "survival, N = 10,000": kernel_for(10_000, True)[0],
        "survival, N = 600,000": kernel_for(600_000, False)[0],
    }
