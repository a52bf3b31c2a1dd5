"""Settings and runs for the tests of the training kernel."""

import csv
from pathlib import Path

import numpy as np

from spare_mc.kernels import training
from spare_mc.kernels.training_settings import (
    BLOCKING,
    CHECKPOINT_ONLY,
    CONSECUTIVE,
    EXPONENTIAL,
    PER_BLOCK,
    PER_STACK,
    RENEWAL,
    REPLICATION,
    SAVER,
    SPARE,
    WEIBULL,
    Settings,
)
from spare_mc.layouts import Layout

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
S = 1_000_000  # microseconds

SCHEMES = {"spare": SPARE, "replication": REPLICATION, "checkpoint-only": CHECKPOINT_ONLY}


def paper_settings(scheme, law, groups, redundancy, **changes):
    """The published setting; ``changes`` replace fields of Settings."""
    replication = scheme == "replication"
    settings = Settings(
        scheme=SCHEMES[scheme],
        groups=groups,
        redundancy=redundancy,
        steps=10_000,
        stack=64 * S,
        allreduce=groups * S // 100,
        found_allreduce=groups * S // 200,
        save=58_823_500,
        restart=3600 * S,
        shrink=S // 10,
        detection=0,
        law={"exponential": EXPONENTIAL, "weibull": WEIBULL}[law],
        shape=0.78,
        mean=300.0 * S * groups,
        clocks=RENEWAL,
        extended=1,
        lowest_only=int(replication),
        resume_after=0,
        save_kind=SAVER if replication else BLOCKING,
        save_blocking=0,
        sigma=0.05,
        jitter=PER_BLOCK if replication else PER_STACK,
        patch_all=0,
        placement=CONSECUTIVE,
        save_steps=10,
        max_wall=10**15,
    )
    return settings._replace(**changes)


def plan(settings, **more):
    """A plan; SPARe in golomb layout unless ``more`` has hosts and stacks."""
    if settings.scheme == SPARE and "hosts" not in more:
        layout = Layout.golomb(settings.groups, settings.redundancy)
        more |= {"hosts": layout.host_table(), "stacks": layout.stack_table()}
    return training.plan(settings, **more)


def rows(settings, count, seed=1, first=0, **more):
    """Rows of runs, int64[count, columns]."""
    out = np.empty((count, len(training.columns(settings.redundancy))), np.int64)
    training.run(plan(settings, **more), seed, first, out)
    return out


def column(table, name):
    """A named column of rows."""
    return table[:, training.COLUMNS.index(name)]


def published():
    """Published runs at N = 600: (scheme, law, redundancy) -> float64[3, 3]: wall [s], down [s], restarts."""
    found = {}
    with open(DATA / "published_runs.csv") as file:
        for line in csv.DictReader(file):
            key = line["scheme"], line["law"], int(line["redundancy"])
            found.setdefault(key, []).append([float(line[k]) for k in ("total_s", "down_s", "restarts")])
    return {key: np.array(runs) for key, runs in found.items()}


def checkpoint_steps(scheme, groups, redundancy):
    """The checkpoint interval used there, in steps."""
    with open(DATA / "checkpoint_steps.csv") as file:
        for line in csv.DictReader(file):
            if (int(line["groups"]), int(line["redundancy"])) == (groups, redundancy):
                return int(line[scheme])
    raise KeyError((groups, redundancy))
