"""The (layout, redundancy, checkpoint period) of least time-to-train, by simulation on common random numbers.

Every candidate runs the same failure clocks. After each round the candidates that are slower than another one beyond
doubt are dropped, and the others get twice the runs. Beyond doubt: the paired difference of the wall times has a
Student interval above zero, at a level divided by the pairs of candidates and by the rounds (Bonferroni), so that the
chance to drop the best candidate, over the whole search, is at most 1 - confidence.
"""

from dataclasses import dataclass

import numpy as np

from . import engine, study
from .paired import mean_difference, open_ended
from .training_setup import checkpoint_interval, simulates_wipeouts

FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0)  # of the period of best useful fraction at the layout's own endurance


@dataclass
class Setting:
    """A candidate and what was found of it.

    ``result`` PointResult; ``difference`` Estimate of the paired difference of its wall time to the best one's [s]
    with the simultaneous interval; ``left`` whether it could not be told from the best.
    """

    result: object
    difference: object
    left: bool


def offer_redundancies(raw):
    """Give a study dict the redundancies worth trying: 2 to twice the paper's shortcut, leaving out layouts that do not
    exist; 1 for checkpoints alone, and also where the closed forms say that masking failures hardly pays."""
    from . import theory
    from .errors import UserError
    from .layouts import Layout

    layout, training = raw.setdefault("layout", {}), raw.get("training", {})
    schemes = training.get("scheme", "spare")
    schemes = list(schemes) if isinstance(schemes, list) else [schemes]
    if schemes == ["checkpoint-only"]:
        layout["redundancy"] = 1
        return
    if schemes == ["replication"]:
        layout.setdefault("kind", "partition")  # its blocks are of any size, golomb rulers are not
    masking = {**training, "scheme": [s for s in schemes if s != "checkpoint-only"]}
    alone = {section: raw[section] for section in ("cluster", "failures") if section in raw}
    points = study.load(
        {
            **alone,
            "training": masking,
            "study": {"measure": ["training"]},
            "layout": {"kind": "contiguous", "redundancy": 2},
        }
    ).points
    sizes = sorted({point.layout.groups for point in points})
    highest = max(2 * theory.redundancy_shortcut(n) for n in sizes)
    lowest = min(theory.best_redundancy(*(p.parameters[k] for k in _COST_KEYS)) for p in points)
    least = 1 if lowest <= 2 or len(masking["scheme"]) < len(schemes) else 2
    layout["redundancy"] = list(range(least, min(highest, sizes[0]) + 1))
    excluded = raw.setdefault("sweep", {}).get("exclude") or []
    excluded = [excluded] if isinstance(excluded, str) else list(excluded)
    if len(masking["scheme"]) < len(schemes):
        excluded.append("(scheme == 'checkpoint-only') != (redundancy == 1)")
    for groups in sizes:
        for redundancy in layout["redundancy"]:
            try:
                Layout.golomb(groups, redundancy)
            except UserError:
                excluded.append(f"kind == 'golomb' and groups == {groups} and redundancy == {redundancy}")
    raw["sweep"]["exclude"] = excluded


_COST_KEYS = ("cluster.groups", "failures.system_mtbf", "training.save_time", "training.restart_time")


def candidates(raw, factors=FACTORS):
    """Points of a swept study dict, each at several checkpoint periods unless the study fixes the checkpoints.

    raw : dict of sections as ``study.load`` takes it; [training] without any checkpoint key gets
        ``checkpoint_period`` = factor times the period of best useful fraction at the point's own endurance, no save in
    """
    training = raw.get("training", {})
    fixed = any(training.get(k) is not None for k in ("checkpoint_steps", "checkpoint_period", "checkpoint"))
    loaded = study.load(raw)
    if fixed:
        return loaded
    points = []
    for point in loaded.points:
        base = checkpoint_interval(point)
        periods = [factor * base for factor in factors]
        told = paper_choice(point.parameters)
        if told and told[0] == point.layout.redundancy:
            periods.append(told[1])
        for period in (float(f"{period:.4g}") for period in periods):  # periods people can type again
            parameters = {k: v for k, v in point.parameters.items() if k != "training.checkpoint"}
            points.append(
                study.Point({**parameters, "training.checkpoint_period": max(period, 1e-6)}, point.layout)
            )
    unique = {point.id: point for point in points}
    loaded.points = list(unique.values())
    return loaded


def paper_choice(parameters):
    """``(r*, compute time between saves [s])`` as the paper would choose for a SPARe point, or None for another.

    r* by its shortcut, T_c at T_f = mu m, less the save.
    """
    from . import theory

    p = parameters
    if p["training.scheme"] != "spare" or simulates_wipeouts(p):
        return None
    n, save, restart = p["cluster.groups"], p["training.save_time"], p["training.restart_time"]
    redundancy = theory.redundancy_shortcut(n)
    until = theory.mu(n, redundancy) * p["failures.system_mtbf"]
    return redundancy, float(f"{theory.checkpoint_period(save, restart, until) - save:.4g}")


def optimize(asked, *, runs=8, max_runs=256, threads=None, progress=None, have=None, keep=None):
    """Race the points of a study; returns (settings, rounds), settings sorted by mean wall time, survivors first.

    Parameters
    ----------
    asked : Study with measure "training"; its ``confidence`` is that of the whole search
    runs, max_runs : runs a candidate in the first round, and at most
    threads, progress : as in ``engine.run``; progress is called as progress(round, rounds, candidates left)
    have, keep : as in ``engine.run``; None keeps the runs in memory
    """
    memory = engine.Memory()
    have, keep = have or memory.tally, keep or memory.add
    rounds = 1 + max(0, int(np.ceil(np.log2(max_runs / runs))))
    pairs = max(1, len(asked.points) * (len(asked.points) - 1) // 2)
    level = 1 - (1 - asked.confidence) / (pairs * rounds)
    left = list(asked.points)
    for number in range(rounds):
        count = min(max_runs, runs * 2**number)
        if progress:
            progress(number + 1, rounds, len(left))
        engine.run(_study_of(asked, left, count), have=have, keep=keep, threads=threads)
        walls = {p.id: _walls(have(p.id, "training")) for p in left}
        best = min(left, key=lambda p: walls[p.id][:count].mean())
        left = [
            p for p in left if not _slower(walls[p.id][:count], [walls[q.id][:count] for q in left], level)
        ]
        if len(left) == 1:
            break
    results = {r.id: r for r in engine.results(_study_of(asked, asked.points, 0), have)}
    base = _walls(have(best.id, "training"))
    survivors = {p.id for p in left}
    settings = []
    for point in asked.points:
        wall = _walls(have(point.id, "training"))
        shared = min(len(wall), len(base))
        difference = _difference(wall[:shared], base[:shared], level)
        settings.append(Setting(results[point.id], difference, point.id in survivors))
    settings.sort(key=lambda s: (not s.left, s.difference.mean))
    return settings, number + 1


def _study_of(asked, points, runs):
    return study.Study(
        asked.name, asked.seed, ("training",), points, 0, runs, asked.confidence, text=asked.text
    )


def _walls(tally):
    """Wall times [s] by run; a run ended at max_wall counts as that long, which it is at least."""
    from .kernels.training_settings import WALL

    return tally.rows[:, WALL] * 1e-6


def _slower(wall, others, level):
    return any(_difference(wall, other, level).low > 0 for other in others if other is not wall)


def _difference(a, b, level):
    """Estimate of the mean of a - b over paired runs; infinitely wide where nothing is known of its spread."""
    return open_ended(mean_difference(b, a, level))
