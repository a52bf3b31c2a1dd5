"""What the benchmarks share: kernels and layouts, contenders that take turns, tables, JSON."""

import importlib
import json
import math
import threading
import time

import numpy as np

from spare_mc.kernels import ahead_levels, philox
from spare_mc.kernels.jit import njit

SEED = 0x0123456789ABCDEF


def levels(stem):
    """Vector level -> module of a Cython kernel ("ahead_stacks", ...), those that run here, the lowest first."""
    usable = [level for level in ahead_levels.built(stem) if level in ahead_levels.supported()]
    return {level: importlib.import_module(f"spare_mc.kernels.{stem}_{level}") for level in usable}


def ahead(stem):
    """The Cython kernel that runs use here, None where it was not built."""
    return next(reversed(levels(stem).values()), None)


SLOW = 0.1  # seconds from which a contender gets few turns, so that the others get many


def turns(contenders, seconds, clock=time.thread_time, least=3):
    """Times of each contender (dict name -> function of no argument), a list each, in seconds of ``clock``.

    They take turns ``least`` times, then those that are not slow until ``seconds`` of wall time have passed, so that a
    busy machine slows them alike. The default clock counts this thread's CPU time only, and so leaves out the turns of
    other programs; give ``time.perf_counter`` for work spread over threads.
    """
    for run in contenders.values():
        run()  # compiled, memory touched
    taken = {name: [] for name in contenders}

    def turn(names):
        for name in names:
            begin = clock()
            contenders[name]()
            taken[name].append(clock() - begin)

    for _ in range(least):
        turn(contenders)
    quick = [name for name, times in taken.items() if min(times) < SLOW]
    end = time.perf_counter() + seconds
    while quick and time.perf_counter() < end:
        turn(quick)
    return taken


def interleaved(contenders, seconds, clock=time.thread_time):
    """Least time of each contender, see ``turns``: the time least disturbed."""
    return {name: min(times) for name, times in turns(contenders, seconds, clock).items()}


def best_of(rounds, contenders, clock=time.thread_time):
    """Seconds of each contender (a list of functions of no argument): the sum over its functions of their least time.

    Contenders take turns within a round, and every short piece keeps its own best, so that a busy machine hides
    little: it need only be quiet once for each piece.
    """
    best = {name: [math.inf] * len(pieces) for name, pieces in contenders.items()}
    for _ in range(rounds):
        for name, pieces in contenders.items():
            for i, run in enumerate(pieces):
                begin = clock()
                run()
                best[name][i] = min(best[name][i], clock() - begin)
    return {name: sum(times) for name, times in best.items()}


def in_threads(runs):
    """Call the functions at once, each in a thread of its own."""
    threads = [threading.Thread(target=run) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def words(seed):
    """A seed's two words as the kernels' device functions take them."""
    return tuple(np.uint64(half) for half in philox.split64(seed))


@njit
def arithmetic(rounds):
    """Arithmetic in registers alone: what two threads can gain at best on this machine, now."""
    a, b = np.uint64(88172645463325252), np.uint64(362436069)
    for _ in range(rounds):
        a ^= a << np.uint64(13)
        a ^= a >> np.uint64(7)
        a ^= a << np.uint64(17)
        b = b * np.uint64(6364136223846793005) + a
    return b


def cell(value):
    """A figure as text: floats with three significant digits, None as a dash."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(title, columns, rows):
    """Print rows (lists) as a table in Markdown."""
    lines = [[cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *lines, strict=True)]
    print(f"\n{title}\n")
    for line in (columns, ["-" * width for width in widths], *lines):
        print("| " + " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) + " |")


def save(path, results):
    """Write ``results`` as JSON to ``path``, or to the standard output for "-"."""
    text = json.dumps(results, indent=1)
    if path == "-":
        print(text)
    else:
        with open(path, "w") as file:
            file.write(text + "\n")
