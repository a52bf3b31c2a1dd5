"""Logs made for tests: seeded renewal processes written as CSV, and published traces where they are at hand."""

from pathlib import Path

import numpy as np
import pytest

TRACES = Path(__file__).resolve().parents[2] / "shared" / "data" / "traces"
LANL = TRACES / "lanl_LA-UR-05-7318.csv.xz"
HBD = TRACES / "infinitehbd_fault_trace.json"
published = pytest.mark.skipif(not TRACES.is_dir(), reason="the published traces are not on this machine")


def renewal_log(rng, units, days, draw, steady=0.0):
    """[(start [s], unit)] of independent renewal processes; ``steady``: time [s] they ran before the log begins."""
    length = days * 86400.0
    rows = []
    for unit in range(units):
        t = -steady
        while True:
            t += draw(rng)
            if t > length:
                break
            if t >= 0:
                rows.append((t, f"n{unit}"))
    return sorted(rows)


def write(path, header, rows):
    """A CSV file; returns its path."""
    lines = [",".join(header)] + [",".join(str(cell) for cell in row) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def weibull(mean, shape):
    """A sampler of Weibull lifetimes, from NumPy's own."""
    from math import gamma

    return lambda rng: mean / gamma(1 + 1 / shape) * rng.weibull(shape)


def same(a, b):
    """Whether two cleaned logs are the same."""
    return (
        np.array_equal(a.starts, b.starts)
        and a.outages.keys() == b.outages.keys()
        and all(np.array_equal(a.outages[u], b.outages[u]) for u in a.outages)
        and a.window == b.window
    )
