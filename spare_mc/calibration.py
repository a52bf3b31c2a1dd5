"""About how long a study will take: a few of its points, run for a moment."""

import time
from dataclasses import dataclass

from . import backends
from .schedule import rough_cost
from .stopping import rules_of

_POINTS = 8  # sampled of each measure, evenly over the order of their cost
_SECONDS = 0.1  # a sample runs at least so long, where a point asks for as much


@dataclass
class Plan:
    """How much a study asks for, and how long that takes on its workers.

    ``rules`` measure -> stopping.Rule; ``seconds`` until every point's first look (without a target: to the end);
    ``seconds_at_most`` to every point's maximum; ``sampled`` points timed.
    """

    rules: dict
    seconds: float
    seconds_at_most: float
    sampled: int


def estimate(study, backend, workers, share=None):
    """Time a study by a short calibration, the time to compile not counted.

    Parameters
    ----------
    study : Study
    backend : name of a backend
    workers : how many work at once
    share : ``(i, n)`` or None

    Returns a Plan. The sampled points stand for those of like rough cost (groups, redundancy): good to some tens of a
    percent, worse where points differ in ways the rough cost does not know.
    """
    chosen, rules = backends.choose(backend, study.measures, study), rules_of(study)
    part = 1.0 if share is None else 1.0 / share[1]
    first = most = 0.0
    sampled = set()
    for measure, rule in rules.items():
        order = sorted(study.points, key=lambda p: rough_cost(measure, p))
        places = sorted({round(i * (len(order) - 1) / (_POINTS - 1)) for i in range(_POINTS)})
        ratios = []  # (place, seconds of a trial over its rough cost)
        for place in places:
            point = order[place]
            ratios.append(
                (place, _seconds_a_trial(chosen, measure, study, point) / rough_cost(measure, point))
            )
            sampled.add(point.id)
        for place, point in enumerate(order):
            ratio = min(ratios, key=lambda found: abs(found[0] - place))[1]
            seconds = ratio * rough_cost(measure, point) * part / workers
            goal = rule.first if rule.targets else rule.maximum
            first, most = first + seconds * goal, most + seconds * rule.maximum
    return Plan(rules, first, most, len(sampled))


def _seconds_a_trial(backend, measure, study, point):
    plan = backend.plan(measure, point)
    backend.block(measure, plan, point, study.key(point), 0, 1)  # compiles
    count = 1
    while True:
        started = time.perf_counter()
        backend.block(measure, plan, point, study.key(point), 0, count)
        seconds = time.perf_counter() - started
        if seconds > _SECONDS / 2 or count >= 10**6:
            return seconds / count
        count = min(10**6, max(2 * count, int(count * _SECONDS / max(seconds, 1e-9))))
