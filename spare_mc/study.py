"""What is asked: a validated study, its grid of points, each point's identity.

A study comes from a TOML file, a preset, or a dict of the same shape. What of it is swept, and how, is worked out in
``sweeps``.
"""

import hashlib
import json
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from . import data
from .errors import UserError, nearest
from .layouts import Layout
from .stopping import rules_of
from .study_model import SECTIONS, SWEPT, check_names, validated
from .sweeps import combinations

DEFAULT_TRIALS = 1_000_000
FIRST_LOOK = 10_000  # trials before a target is first looked at
MAX_TRIALS, MAX_RUNS = 100_000_000, 100_000  # with a target


@dataclass
class Point:
    """One point of a study: a cluster, a layout, a failure law.

    ``parameters`` are resolved (seconds as numbers, offsets expanded, the layout hashed) and keyed by dotted name;
    ``id`` is the SHA-256 of their canonical JSON, without seed, measure, trials, backend or workers. ``inputs`` are
    arrays that the parameters hold by their hash only: tables of hosts, placements, logs (``failure_streams``).
    """

    parameters: dict
    layout: Layout = field(repr=False, compare=False)
    inputs: dict = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def id(self):
        text = json.dumps(self.parameters, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def stream(self):
        """The failure stream (kernels.stream_plan.Plan), or None where groups are identical and independent."""
        from .failure_streams import stream_plan_of

        return stream_plan_of(self.parameters, self.inputs)

    @property
    def training_stream(self):
        """The failure stream of training runs, which also need one for clocks below the groups; or None."""
        from .failure_streams import stream_plan_of

        return stream_plan_of(self.parameters, self.inputs, training=True)


@dataclass
class Study:
    """A validated study.

    Attributes
    ----------
    name : str
    seed : 64-bit seed
    measures : tuple of what is counted
    points : list of Point
    trials : failure patterns a point, in total; with a target, those before its first look
    runs : training runs a point, likewise
    target : dict estimate -> relative half-width that is enough (``stopping``)
    max_trials, max_runs : with a target, how many at most
    time_limit : wall time of the whole study, seconds, or None
    confidence : of the intervals
    common_random_numbers : whether all points share their failure orders
    text : the study as TOML, verbatim where it came unchanged from a file
    """

    name: str
    seed: int
    measures: tuple
    points: list
    trials: int
    runs: int = 16
    confidence: float = 0.95
    common_random_numbers: bool = True
    text: str = ""
    target: dict = field(default_factory=dict)
    max_trials: int = MAX_TRIALS
    max_runs: int = MAX_RUNS
    time_limit: float | None = None

    def total(self, measure):
        """Trials (training: runs) asked of a measure."""
        return self.runs if measure == "training" else self.trials

    def key(self, point):
        """64-bit generator key of a point: the seed, or (seed, point) where points have their own numbers."""
        if self.common_random_numbers:
            return self.seed
        digest = hashlib.sha256(f"{self.seed}:{point.id}".encode()).digest()
        return int.from_bytes(digest[:8], "little")


def presets():
    """Names of the studies that come with the package."""
    return data.names(".toml")


def load(source=None, overrides=None):
    """A Study from a TOML file, a preset's name, a dict, or overrides alone.

    Parameters
    ----------
    source : path, preset name, dict of sections, or None
    overrides : dict of dotted key -> value laid over the source (what flags give)

    Raises UserError naming the file or key, the value, and what is allowed.
    """
    overrides = overrides or {}
    raw, text, label = _source(source)
    check_names(raw, label)
    _lay_over(raw, overrides)
    if text is None or overrides:
        text = _as_toml(raw)
    return _build(raw, text, label)


def raw(source=None, overrides=None):
    """The sections of a study before they are validated: a dict, overrides laid over; see ``load``."""
    sections, _, label = _source(source)
    check_names(sections, label)
    _lay_over(sections, overrides or {})
    return sections


def _source(source):
    """``(raw sections, text or None, label)`` of what ``load`` takes."""
    text, label = None, "study"
    if source is None:
        raw = {}
    elif isinstance(source, dict):
        raw = {section: dict(v) if isinstance(v, dict) else v for section, v in source.items()}
    elif str(source) in presets():
        text, label = data.text(f"{source}.toml"), str(source)
        raw = _parsed(text, label)
    else:
        path, label = Path(source), str(source)
        text = _read(path)
        raw = _parsed(text, label)
        raw.setdefault("study", {})
        if isinstance(raw["study"], dict):
            raw["study"].setdefault("name", path.stem)
    return raw, text, label


def _parsed(text, label):
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{label}: not valid TOML: {error}") from None


def _lay_over(raw, overrides):
    for dotted, value in overrides.items():
        section, name = dotted.split(".")
        raw.setdefault(section, {})[name] = value
        if dotted == "layout.kind":  # a family given by flag replaces what described the file's own layout
            for other in ("offsets", "file"):
                if f"layout.{other}" not in overrides:
                    raw["layout"].pop(other, None)


def _read(path):
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such study file or preset; {nearest(path.name, presets())}") from None
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder, not a study file") from None
    except UnicodeDecodeError:
        raise UserError(
            f"{path}: is no text; give a study file (TOML), such as the one a results file was made from"
        ) from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _as_toml(raw):
    import tomli_w

    plain = {s: {k: v for k, v in values.items() if v is not None} for s, values in raw.items()}
    return tomli_w.dumps(plain)


def _build(raw, text, label):
    from .failure_streams import has_stream

    study = validated("study", raw.get("study", {}), label)
    sampling = validated("sampling", raw.get("sampling", {}), label)
    measures = tuple(dict.fromkeys(study.measure))
    swept = combinations(raw, validated("sweep", raw.get("sweep", {}), label), label)
    points = [_point(values, label, measures, len(swept) > 1) for values in swept]
    seen = {}
    for number, point in enumerate(points, 1):
        if point.id in seen:
            raise UserError(f"{label}: points {seen[point.id]} and {number} are the same: {_brief(point)}")
        seen[point.id] = number
    built = Study(
        name=_checked_name(study.name, label) or _default_name(points),
        seed=study.seed,
        measures=measures,
        points=points,
        trials=_trials(sampling),
        runs=_runs(sampling, "runs" in raw.get("sampling", {})),
        confidence=sampling.confidence,
        common_random_numbers=study.common_random_numbers,
        text=text,
        target=sampling.target or {},
        max_trials=MAX_TRIALS if sampling.max_trials is None else sampling.max_trials,
        max_runs=MAX_RUNS if sampling.max_runs is None else sampling.max_runs,
        time_limit=sampling.time_limit,
    )
    try:
        _check_maxima(sampling, rules_of(built))
        if "endurable_events" in built.target and not all(has_stream(point.parameters) for point in points):
            raise UserError(
                "sampling.target: endurable_events: counted under a failure stream only ([domains], [replay], lemons, "
                "group_rates); elsewhere endurable_failures says the same"
            )
    except UserError as error:
        raise UserError(f"{label}: {error}") from None
    return built


def _check_maxima(sampling, rules):
    """A maximum is for what a target may let grow."""
    grows = {"runs" if measure == "training" else "trials" for measure, rule in rules.items() if rule.targets}
    for key, what in (("trials", "failure patterns"), ("runs", "training runs")):
        given = getattr(sampling, f"max_{key}")
        if given is None or key in grows:
            continue
        if sampling.target:
            raise UserError(f"sampling.max_{key} = {given}: no target is about {what}; leave it out")
        raise UserError(f"sampling.max_{key} = {given}: only a target needs a maximum; set sampling.{key}")


def _checked_name(name, label):
    """The study's name, if it can name a file in the folder where it is run."""
    if name is None:
        return None
    told = repr(name if len(name) <= 40 else name[:37] + "...")
    if (
        not name.strip()
        or name != name.strip()
        or not name.isprintable()
        or "/" in name
        or name.startswith((".", "-"))
        or len(name.encode()) > 200
    ):
        raise UserError(
            f"{label}: study.name = {told}: names the results file: 1 to 200 bytes, printable, no '/', "
            "no '.' or '-' first, no space at its ends"
        )
    return name


def _trials(sampling):
    if sampling.trials is not None:
        return sampling.trials
    if not sampling.target:
        return DEFAULT_TRIALS
    return FIRST_LOOK if sampling.max_trials is None else min(FIRST_LOOK, sampling.max_trials)


def _runs(sampling, given):
    """Runs asked for; unless they were ``given``, no more of them before the first look than there may be."""
    return sampling.runs if given or sampling.max_runs is None else min(sampling.runs, sampling.max_runs)


def of_layout(
    layout, measure, *, seed=0, confidence=0.95, trials=0, runs=0, cluster=None, training=None, **failing
):
    """A Study of one point, of a Layout that is already there; sections are dicts of keys as in a file.

    failing : the sections failures, domains, replay
    """
    cluster = validated("cluster", {"groups": layout.groups, **(cluster or {})}, "cluster")
    if cluster.groups != layout.groups:
        raise UserError(
            f"cluster.groups = {cluster.groups}: the layout has {layout.groups} groups; leave it out"
        )
    asked = validated("study", {"seed": seed, "measure": [measure]}, "study")
    sampling = validated("sampling", {"trials": trials, "runs": runs, "confidence": confidence}, "sampling")
    training = validated("training", training or {}, "training")
    point = _point_of(layout, cluster, failing, measure, (measure,), training)
    return Study(
        name=f"{layout.kind}-n{layout.groups}-r{layout.redundancy}",
        seed=asked.seed,
        measures=(measure,),
        points=[point],
        trials=sampling.trials,
        runs=sampling.runs,
        confidence=sampling.confidence,
    )


def _point(values, label, measures, swept):
    cluster = validated("cluster", values["cluster"], label)
    section = validated("layout", values["layout"], label)
    training = validated("training", values["training"], label)
    if section.redundancy is None and section.offsets is None and section.file is None:
        raise UserError(f"{label}: layout.redundancy (--redundancy) is missing")
    if "kind" not in values["layout"] and (section.offsets is not None or section.file is not None):
        section = replace(section, kind="custom")
    try:
        layout = Layout.from_kind(
            section.kind,
            cluster.groups,
            section.redundancy,
            offsets=section.offsets,
            file=section.file,
            seed=section.seed,
        )
    except UserError as error:
        more = "; sweep.exclude leaves combinations out" if swept else ""
        raise UserError(f"{label}: {error}{more}") from None
    return _point_of(layout, cluster, values, label, measures, training)


def _point_of(layout, cluster, values, label, measures, training):
    known = _cluster(cluster, label)
    failures, inputs = _failures(values, cluster, known.get("cluster.gpus_per_group"), label)
    parameters = {**known, **layout_parameters(layout), **failures}
    if "training" in measures:  # elsewhere the keys change nothing, the identity included
        from .training_setup import resolved

        parameters |= resolved(training, layout.groups, layout.redundancy, parameters, label)
    return Point(parameters, layout, inputs)


def _cluster(cluster, label):
    resolved = {"cluster.groups": cluster.groups}
    per_group = cluster.gpus_per_group
    if cluster.gpus is not None:
        if cluster.gpus % cluster.groups:
            raise UserError(
                f"{label}: cluster.gpus = {cluster.gpus}: must be a multiple of cluster.groups = {cluster.groups}"
            )
        if per_group not in (None, cluster.gpus // cluster.groups):
            raise UserError(
                f"{label}: cluster.gpus_per_group = {per_group}: contradicts cluster.gpus = {cluster.gpus} over "
                f"{cluster.groups} groups; give one of the two"
            )
        per_group = cluster.gpus // cluster.groups
    if per_group is not None:
        resolved["cluster.gpus_per_group"] = per_group
    return resolved


def layout_parameters(layout):
    """Resolved ``layout.*`` parameters: enough to rebuild the layout, and its hash."""
    resolved = {"layout.kind": layout.kind, "layout.redundancy": layout.redundancy}
    if layout.offsets is not None and layout.kind != "contiguous":
        resolved["layout.offsets"] = [int(o) for o in layout.offsets]
    if layout.kind == "random":
        resolved["layout.seed"] = layout.seed
    resolved["layout.digest"] = layout.digest()
    return resolved


def layout_of(parameters):
    """The Layout that resolved parameters describe; UserError for a host table, which files hold only by hash."""
    kind, groups = parameters["layout.kind"], int(parameters["cluster.groups"])
    redundancy, offsets = int(parameters["layout.redundancy"]), parameters.get("layout.offsets")
    if offsets is not None:
        # A stored ruler is taken as it was, not looked up again: another version may know a shorter one.
        layout = Layout.custom(groups, list(offsets))
    elif kind == "custom":
        raise UserError("layout.file: a results file holds the hash of a host table, not the table itself")
    else:
        layout = Layout.from_kind(kind, groups, redundancy, seed=int(parameters.get("layout.seed", 0)))
    return layout


def _failures(values, cluster, per_group, label):
    """``(parameters, inputs)`` of the sections that say what fails: [failures], [domains], [replay]."""
    if not any(values.get(section) for section in ("failures", "domains", "replay")):
        return {}, {}
    from . import domains, failure_model, replays

    found, inputs = {}, {}
    replay = validated("replay", values.get("replay", {}), label)
    shared = validated("domains", values.get("domains", {}), label)
    if replay.log is not None:
        for section in ("failures", "domains"):
            for name in values.get(section, {}):
                if section == "failures" or not name.startswith(("placement", "stride")):
                    raise UserError(
                        f"{label}: {section}.{name}: replay.log drives the failures; leave one of them out"
                    )
    elif values.get("failures"):
        failures = validated("failures", values["failures"], label)
        found |= failure_model.resolved(failures, cluster, per_group, label)
    placed = replay.log is not None and replay.unit_is != "group"
    more, arrays = domains.resolved(shared, cluster, per_group, label, placed)
    found, inputs = found | more, inputs | arrays
    more, arrays = replays.resolved(replay, cluster.groups, per_group, cluster.gpus_per_node, label)
    found, inputs = found | more, inputs | arrays
    if found.get("failures.clock_level") == "system" and not failure_model.identical(found):
        raise UserError(
            f"{label}: failures.clock_level = 'system': one clock of the whole system goes with no [domains]"
        )
    return found, inputs


def _default_name(points):
    first = points[0].parameters
    name = f"{first['layout.kind']}-n{first['cluster.groups']}-r{first['layout.redundancy']}"
    return name if len(points) == 1 else f"{name}-and-{len(points) - 1}-more"


def _brief(point):
    p = point.parameters
    return f"{p['layout.kind']}, groups {p['cluster.groups']}, redundancy {p['layout.redundancy']}"


assert set(SWEPT) <= set(SECTIONS)
