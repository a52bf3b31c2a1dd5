"""What the benchmarks share: contenders that take turns, tables, JSON."""

import json
import threading
import time


def interleaved(contenders, seconds, clock=time.thread_time):
    """Least time of each contender (dict name -> function of no argument), in seconds of ``clock``.

    They take turns until ``seconds`` of wall time have passed (at least three rounds), so that a busy machine slows
    them alike; the least time is the one least disturbed. The default clock counts this thread's CPU time only, and
    so leaves out the turns of other programs; give ``time.perf_counter`` for work spread over threads.
    """
    best = dict.fromkeys(contenders, float("inf"))
    end, rounds = time.perf_counter() + seconds, 0
    for run in contenders.values():
        run()  # compiled, memory touched
    while rounds < 3 or time.perf_counter() < end:
        rounds += 1
        for name, run in contenders.items():
            begin = clock()
            run()
            best[name] = min(best[name], clock() - begin)
    return best


def in_threads(runs):
    """Call the functions at once, each in a thread of its own."""
    threads = [threading.Thread(target=run) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def table(title, columns, rows):
    """Print rows (lists; floats get three significant digits) as a table in Markdown."""

    def cell(value):
        if isinstance(value, float):
            return f"{value:,.0f}" if value >= 1000 else f"{value:#.3g}".rstrip(".")
        return f"{value:,}" if isinstance(value, int) else str(value)

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
