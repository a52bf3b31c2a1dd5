"""Settings and runs for the tests of the training kernel."""

import csv
from pathlib import Path

import numpy as np

from spare_mc.kernels import training
from spare_mc.kernels.training_settings import (
    BACKGROUND,
    BLOCKING,
    CHECKPOINT_ONLY,
    CONSECUTIVE,
    EXPONENTIAL,
    FRESH,
    LINEAR,
    LOGLOG,
    LOGNORMAL,
    NO_REPAIR,
    PER_BLOCK,
    PER_STACK,
    RENEWAL,
    REPLICATION,
    SAVER,
    SPARE,
    STEPS,
    SYSTEM,
    WEIBULL,
    Settings,
)
from spare_mc.laws import Gamma
from spare_mc.laws_hazard import Empirical, Piecewise
from spare_mc.layouts import Layout

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
S = 1_000_000  # microseconds

TABLE_LAWS = {  # of a mean in seconds
    LINEAR: lambda mean: Piecewise(mean, (0.1 * mean, mean), (4.0, 1.0, 2.0)),
    LOGLOG: lambda mean: Gamma(mean, 0.6),
    STEPS: lambda mean: Empirical(mean, (1.0, 2.0, 4.0, 9.0, 9.5)),
}

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


def small(rng):
    """Settings and layout of a small cluster with many failures, every rule drawn at random."""
    scheme = rng.choice([SPARE, SPARE, REPLICATION, CHECKPOINT_ONLY])
    groups = rng.choice([7, 13, 21]) if scheme == SPARE else rng.choice([1, 2, 7, 12, 13])
    redundancy = {
        SPARE: rng.choice([2, 3, 4] if groups >= 13 else [2, 3]),
        REPLICATION: rng.randint(1, min(5, groups)),
        CHECKPOINT_ONLY: 1,
    }[scheme]
    clocks = rng.choice([0, 0, FRESH, SYSTEM])
    save = rng.choice([0, 58_823_500, 200 * S])
    elastic = scheme != CHECKPOINT_ONLY and rng.random() < 0.5
    settings = Settings(
        scheme=scheme,
        groups=groups,
        redundancy=redundancy,
        steps=rng.choice([1, 20, 60]),
        stack=64 * S,
        allreduce=6 * S,
        found_allreduce=3 * S,
        save=save,
        restart=rng.choice([0, 300 * S, 3600 * S]),
        shrink=S // 10,
        detection=rng.choice([0, 5 * S]),
        law=rng.choice([0, WEIBULL, LOGNORMAL, LINEAR, LOGLOG, STEPS]),
        shape=rng.choice([0.78, 1.3]),
        mean=rng.choice([1e3, 1e4, 3e4]) * S / (groups if clocks == SYSTEM else 1),
        clocks=clocks,
        extended=rng.choice([0, 1]),
        lowest_only=rng.choice([0, 1]) if scheme == REPLICATION else 0,
        resume_after=rng.choice([0, 1]),
        save_kind=rng.choice([0, SAVER, BACKGROUND]),
        save_blocking=save // 4,
        sigma=0.0,
        jitter=rng.choice([PER_STACK, PER_BLOCK]),
        patch_all=rng.choice([0, 1]),
        placement=rng.choice([0, 1]),
        save_steps=rng.choice([0, 1, 3, 7]),
        max_wall=rng.choice([2 * 10**5, 10**4]) * S,
        repair=rng.choice([NO_REPAIR, 0, 100 * S, 1000 * S, 5000 * S]) if elastic else NO_REPAIR,
        spares=rng.choice([0, 0, 1, 2, 5]) if elastic else 0,
        swap=rng.choice([0, 50 * S, 300 * S]),
        rejoin=rng.choice([0, S // 10, 7 * S]),
        keep_depth=rng.choice([0, 0, 1]) if scheme == SPARE else 0,
    )
    more = {}
    if settings.law >= LINEAR:
        more["table"] = TABLE_LAWS[settings.law](settings.mean / S).kernel().table
    if scheme == SPARE:
        layout = rng.choice(
            [
                lambda: Layout.contiguous(groups, redundancy),
                lambda: Layout.partition(groups, redundancy),
                lambda: Layout.random(groups, redundancy, 3),
                lambda: Layout.golomb(groups, redundancy),
            ]
        )()
        more |= {"hosts": layout.host_table(), "stacks": layout.stack_table()}
    if settings.save_steps == 0:
        more |= {"intervals": [500 * S, 300 * S, 100 * S, 1000 * S], "width": 400 * S}
    if clocks != SYSTEM and rng.random() < 0.3:
        more["means"] = [settings.mean * (0.5 + rng.random()) for _ in range(groups)]
    return settings, more


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
