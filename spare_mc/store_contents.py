"""What a results file holds, in memory; which study it belongs to."""

import platform
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone

from . import __version__
from .errors import UserError
from .results import PointResult
from .tallies import MEASURES, Tally


def now():
    """The time as ISO 8601 text, UTC, whole seconds."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def new_publication():
    """An identity for the bytes of a file that is about to be published."""
    return uuid.uuid4().hex


@dataclass
class Contents:
    """Everything in a results file.

    Attributes
    ----------
    name, text : of the study, text verbatim
    seed : 64-bit seed
    common_random_numbers : whether all points share their failure orders
    generator, generator_version : of the random numbers
    confidence : of the stored intervals
    measures : asked for, in the order of spare_mc.tallies.MEASURES
    points : list of (id, parameters) in the study's order
    tallies : (id, measure) -> Tally
    columns : (names, units) of the columns of the widest training rows, or None
    created, updated, host, package_version : of the file
    publication : identity of the bytes last published, which a journal goes on from
    stopped : id -> why nothing more was counted there, text
    shares : the shares (i, n) of the study that were counted here; empty for the whole study
    """

    name: str
    text: str
    seed: int
    common_random_numbers: bool
    generator: str
    generator_version: int
    confidence: float
    measures: tuple
    points: list
    tallies: dict = field(default_factory=dict)
    columns: tuple | None = None
    created: str = field(default_factory=now)
    updated: str = field(default_factory=now)
    host: str = field(default_factory=platform.node)
    package_version: str = __version__
    publication: str = ""
    stopped: dict = field(default_factory=dict)
    shares: tuple = ()

    def result(self, index):
        """PointResult of a point, with copies of its tallies that the caller may add to."""
        identity, parameters = self.points[index]
        held = {m: copy_of(t) for m in MEASURES if (t := self.tallies.get((identity, m))) is not None}
        stopped = self.stopped.get(identity, "")
        return PointResult(identity, dict(parameters), self.seed, held, self.confidence, stopped)

    def results(self):
        """List of PointResult in the study's order."""
        return [self.result(index) for index in range(len(self.points))]

    def trials(self):
        """Trials and runs counted, over all points and measures."""
        return sum(tally.total for tally in self.tallies.values())


def copy_of(tally):
    """A tally that shares arrays with another; ``Tally.add`` replaces arrays, so adding to one leaves the other."""
    return Tally(
        tally.measure,
        tally.point,
        tally.seed,
        tally.spans,
        dict(tally.counts),
        dict(tally.sums),
        tally.rows,
    )


def of_study(study):
    """Empty contents for a study."""
    from .kernels.generator import GENERATOR, GENERATOR_VERSION

    return Contents(
        name=study.name,
        text=study.text,
        seed=int(study.seed),
        common_random_numbers=bool(study.common_random_numbers),
        generator=GENERATOR,
        generator_version=GENERATOR_VERSION,
        confidence=float(study.confidence),
        measures=in_order(study.measures),
        points=[(point.id, dict(point.parameters)) for point in study.points],
    )


def in_order(measures):
    """Measures without repeats, in the order of MEASURES."""
    return tuple(m for m in MEASURES if m in set(measures))


def difference(stored, asked):
    """What makes two contents belong to different studies, as ``"<key> <stored>, asked <asked>"``; None if nothing.

    A study is its seed, its random numbers and its set of points. Name, text, order of the points, measures,
    totals and confidence may differ.
    """
    for key in ("seed", "common_random_numbers", "generator", "generator_version"):
        mine, theirs = getattr(stored, key), getattr(asked, key)
        if mine != theirs:
            return f"{key} {_value(mine)}, asked {_value(theirs)}"
    if {p[0] for p in stored.points} == {p[0] for p in asked.points}:
        return None
    return _parameter_difference(stored.points, asked.points)


def _parameter_difference(stored, asked):
    first = ("cluster.groups", "layout.kind", "layout.redundancy")
    last = ("layout.offsets", "layout.digest")  # follow from the others
    keys = {key for _, parameters in [*stored, *asked] for key in parameters}
    for key in sorted(keys, key=lambda k: (first.index(k) if k in first else len(first) + (k in last), k)):
        mine, theirs = (_values(points, key) for points in (stored, asked))
        if set(mine) != set(theirs):
            return f"{key} {_listed(mine)}, asked {_listed(theirs)}"
    return f"other combinations of parameters ({len(stored)} points, asked {len(asked)})"


def _values(points, key):
    return list(dict.fromkeys(_value(parameters.get(key)) for _, parameters in points))


def _value(value):
    if value is None:
        return "(none)"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _listed(values, most=6):
    return "|".join(values[:most]) + (f"|... ({len(values)} values)" if len(values) > most else "")


def check_same(stored, asked, path):
    """UserError when a file holds another study than the one asked for."""
    found = difference(stored, asked)
    if found:
        raise UserError(f"{path}: holds study {stored.name!r} with {found}; choose another -o")


def widest(mine, theirs, message):
    """The wider of two descriptions of columns, one of which begins the other; UserError(message) if none does."""
    if mine is None or theirs is None:
        return mine or theirs
    short, wide = sorted((mine, theirs), key=lambda columns: len(columns[0]))
    count = len(short[0])
    if any(tuple(w[:count]) != tuple(s) for s, w in zip(short, wide, strict=True)):
        raise UserError(message)
    return wide
