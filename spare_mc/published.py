"""Published figures of the SPARe paper (arXiv 2603.00357), with their sources in the data files."""

import csv
from functools import lru_cache

from . import data

PAPER = {"system_mtbf": 300.0, "weibull_shape": 0.78, "gpus": 600_000, "groups": (200, 600, 1000)}


def _rows(name):
    text = data.text(name)
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


@lru_cache
def runs():
    """(scheme, law, groups, redundancy) -> published means of three seeds, dict of floats (seconds, counts)."""
    keys = ("scheme", "law", "groups", "redundancy")
    found = {}
    for row in _rows("published_runs.csv"):
        values = {name: float(value) for name, value in row.items() if name not in keys}
        found[row["scheme"], row["law"], int(row["groups"]), int(row["redundancy"])] = values
    return found


@lru_cache
def headline():
    """(scheme, groups) -> the paper's headline row: redundancy, time_to_train_ratio, availability; Weibull failures."""
    return {
        (row["scheme"], int(row["groups"])): {
            "redundancy": int(row["redundancy"]),
            "time_to_train_ratio": float(row["time_to_train_ratio"]),
            "availability": float(row["availability"]),
        }
        for row in _rows("headline.csv")
    }


@lru_cache
def checkpoint_steps():
    """(scheme, groups, redundancy) -> committed steps between checkpoints in the published runs."""
    return {
        (scheme, int(row["groups"]), int(row["redundancy"])): int(row[scheme])
        for row in _rows("checkpoint_steps.csv")
        for scheme in ("spare", "replication")
    }
