"""The keys of a study file: names, types, limits, help texts, flags. One home for all of them.

A study is TOML with the sections below. ``spare-mc run`` makes a flag of every key, the docs list them from here,
and an unknown key is refused with the nearest known one.
"""

from typing import Literal, get_origin

from msgspec import field

from .errors import UserError, nearest
from .layouts import KINDS
from .rules import CHOICES
from .sections import Refused, Section, key, keys_of, made, optional
from .spellings import Seconds, Seed
from .study_failures import Domains, Failures, ReplaySection
from .tallies import MEASURES


class StudySection(Section):
    """[study]: what is asked."""

    name: optional(str, "name of the study; names the results file when -o is not given") = None
    seed: key(Seed, "64-bit seed of every random number", ge=0, flags=["--seed"]) = 0
    measure: key(
        list[Literal[MEASURES]], "what is counted: " + ", ".join(MEASURES), flags=["--measure"], min_length=1
    ) = field(default_factory=lambda: ["survival"])
    common_random_numbers: key(
        bool, "compare points on the same failure orders (true) or give each point its own (false)"
    ) = True


class Cluster(Section):
    """[cluster]: how large it is."""

    groups: key(int, "data-parallel groups N", ge=2, flags=["--groups", "-N"])
    gpus: optional(int, "GPUs of the whole cluster; a multiple of groups", ge=1) = None
    gpus_per_group: optional(int, "GPUs of one group", ge=1) = None
    gpus_per_node: key(int, "GPUs of one node; converts node_mtbf", ge=1) = 8


class LayoutSection(Section):
    """[layout]: which group hosts which shard types."""

    kind: key(Literal[KINDS], "layout family: " + ", ".join(KINDS), flags=["--layout"]) = "golomb"
    redundancy: optional(int, "shard types each group hosts, r", ge=1, flags=["--redundancy", "-r"]) = None
    offsets: optional(
        list[int], "custom layout: the r offsets o_0 = 0 < ... mod groups; group g hosts types g + o_j"
    ) = None
    file: optional(
        str, "custom layout: host table (.csv, .txt, .npy), row g = group g's stack", flags=["--layout-file"]
    ) = None
    seed: key(Seed, "seed of a random layout", ge=0, flags=["--layout-seed"]) = 0


def _rule(rule):
    """A rule of section [training] with its choices; None leaves it to the rule set."""
    told = "; ".join(f"{name}: {text}" for name, text in CHOICES[rule].items())
    return optional(Literal[tuple(CHOICES[rule])], told)


class Training(Section):
    """[training]: a training run, and the rules it goes by (see ``spare_mc.rules``)."""

    scheme: key(
        Literal["spare", "replication", "checkpoint-only"],
        "what masks failures: spare, replication or checkpoint-only",
    ) = "spare"
    rules: key(
        Literal["paper", "corrected"],
        "rule set: paper (the published simulator's) or corrected (without its conventions)",
    ) = "paper"
    steps: key(int, "optimizer steps to commit", ge=1, lt=2**31) = 10_000
    stack_time: key(Seconds, "compute time of one stack, T_comp, seconds", gt=0) = 64.0
    allreduce_time: optional(Seconds, "all-reduce time T_a, seconds; default groups / 100", ge=0) = None
    save_time: key(Seconds, "checkpoint write T_s, seconds", ge=0) = 58.8235
    restart_time: key(Seconds, "global restart T_r, seconds", ge=0) = 3600.0
    shrink_time: key(Seconds, "communicator shrink after a failure, seconds", ge=0) = 0.1
    repair_time: optional(
        Seconds,
        "a failed group is back so long after its failure was found, seconds (default: at the next restart only)",
        ge=0,
    ) = None
    spares: optional(
        int,
        "spare groups that step in for failed ones; with repair_time, repaired groups become spares",
        ge=0,
        lt=2**24,
    ) = None
    swap_time: optional(Seconds, "until a spare has taken a failed group's place, seconds (0)", ge=0) = None
    rejoin_time: optional(
        Seconds, "cost of a step that begins with groups coming back, seconds (default: shrink_time)", ge=0
    ) = None
    depth_after_rejoin: _rule("depth_after_rejoin") = None
    jitter: key(float, "deviation of a stack's compute time, as a fraction of it", ge=0, le=0.3) = 0.05
    checkpoint_steps: optional(int, "save after every this many committed steps", ge=1) = None
    checkpoint_period: optional(
        Seconds, "save after the first step that ends so long after the last", gt=0
    ) = None
    checkpoint: optional(
        Literal["young", "optimal", "dynamic"],
        "young: Young's period; optimal: the period of best useful fraction; both at the layout's own mean time to "
        "wipe-out, simulated where groups come back; dynamic: Young's period at the wipe-out hazard of the time "
        "since the restart (default: optimal)",
    ) = None
    clocks: _rule("clocks") = None
    restart: _rule("restart") = None
    handling: _rule("handling") = None
    resume: _rule("resume") = None
    saves: _rule("saves") = None
    save_blocking: optional(Seconds, "saves = asynchronous: the part everyone waits for, seconds", ge=0) = (
        None
    )
    jitter_per: _rule("jitter_per") = None
    barrier: _rule("barrier") = None
    patch: _rule("patch") = None
    placement: _rule("placement") = None
    found_allreduce: optional(
        float, "share of the all-reduce time that an attempt spends which finds a failure (0.5)", ge=0, le=1
    ) = None
    detection_delay: optional(
        Seconds, "time until a failure is noticed, added when one is found, seconds", ge=0
    ) = None
    max_wall: optional(
        Seconds,
        "a run not done by then is ended and reported as not finished (default: 1000 times failure-free)",
        gt=0,
    ) = None
    tokens_per_step: optional(float, "tokens of a step; reports tokens a day", gt=0) = None
    shard_size: optional(
        float, "bytes a group keeps for one shard type; reports the memory of r of them", gt=0
    ) = None


def _told_as_text(value):
    """``["a=0.1", "b=0.2"]`` or ``"a=0.1"``, as flags give it, as a table."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list):
        pairs = [str(part).partition("=") for part in value]
        if any(not middle for _, middle, _ in pairs):
            raise ValueError("must be estimate = relative half-width, such as mean_stack=0.001")
        value = {name.strip(): number.strip() for name, _, number in pairs}
        if len(value) < len(pairs):
            raise ValueError("must name each estimate once")
    return value


class Sampling(Section):
    """[sampling]: how much of it, and when it is enough."""

    trials: optional(
        int,
        "failure patterns a point, in total (1,000,000); with a target, those before it is first looked at "
        "(10,000)",
        ge=0,
        le=10**13,
        flags=["--trials"],
    ) = None
    runs: key(
        int,
        "training runs a point, in total; with a target, those before it is first looked at",
        ge=0,
        le=10**9,
        flags=["--runs"],
    ) = 16
    target: optional(
        dict[str, float],
        "estimate -> relative half-width of its interval that is enough; every one of them must be reached "
        "(--target mean_stack=0.001,endurable_failures=0.0005)",
        before=_told_as_text,
    ) = None
    max_trials: optional(
        int, "with a target: failure patterns a point at most (100,000,000)", ge=1, le=10**13
    ) = None
    max_runs: optional(int, "with a target: training runs a point at most (100,000)", ge=1, le=10**9) = None
    time_limit: optional(
        Seconds, "wall time of the whole study, spent where the interval is widest; not reproducible", gt=0
    ) = None
    confidence: key(float, "confidence of the intervals", gt=0, lt=1) = 0.95


def _one_list(value):
    """One list of keys stands for a list of one."""
    of_keys = isinstance(value, list) and value and all(isinstance(k, str) for k in value)
    return [value] if of_keys else value


def _one_text(value):
    return [value] if isinstance(value, str) else value


class Sweep(Section):
    """[sweep]: how swept keys go together; without it they are crossed."""

    zip: optional(
        list[list[str]],
        "lists of keys whose values go in step, such as cluster.groups,training.checkpoint_steps",
        before=_one_list,
    ) = None
    exclude: optional(
        list[str],
        "combinations to leave out: expressions over study keys, such as redundancy > 12 and kind == 'golomb'",
        before=_one_text,
    ) = None


SECTIONS = {
    "study": StudySection,
    "cluster": Cluster,
    "layout": LayoutSection,
    "failures": Failures,
    "domains": Domains,
    "replay": ReplaySection,
    "training": Training,
    "sampling": Sampling,
    "sweep": Sweep,
}
KEYS = {name: keys_of(section) for name, section in SECTIONS.items()}
SWEPT = (
    "cluster",
    "layout",
    "failures",
    "domains",
    "replay",
    "training",
)  # sections in which a list sweeps the value


def keys():
    """Yield ``(dotted key, Key)`` for every study key."""
    for section, known in KEYS.items():
        for name, one in known.items():
            yield f"{section}.{name}", one


def number_kind(dotted):
    """ "count", "seconds" or "number" of a key that holds one number; None of any other."""
    section, name = dotted.split(".")
    return {int: "count", Seed: "count", Seconds: "seconds", float: "number"}.get(KEYS[section][name].type)


def is_list(dotted):
    """Whether a key's value is itself a list; a list of lists then sweeps it."""
    section, name = dotted.split(".")
    return get_origin(KEYS[section][name].type) is list


def number_of(dotted, value):
    """The value of such a key as an int or a float, limits unchecked; ValueError where it is no number."""
    section, name = dotted.split(".")
    return KEYS[section][name].spelled(value)


def flags_of(dotted, key):
    """Command-line flags of a key: those it names, or ``--key-name``."""
    return key.flags or ["--" + dotted.split(".")[1].replace("_", "-")]


def check_names(raw, source):
    """Refuse unknown sections and keys of a raw study, naming the nearest known one."""
    for section, values in raw.items():
        if section not in SECTIONS:
            raise UserError(f"{source}: unknown section [{section}]; {nearest(section, SECTIONS)}")
        if not isinstance(values, dict):
            raise UserError(f"{source}: {section} = {values!r}: must be a section [{section}] with keys")
        for name in values:
            if name not in KEYS[section]:
                raise UserError(f"{source}: unknown key {section}.{name}; {nearest(name, KEYS[section])}")


def validated(section, values, source):
    """The section's struct from raw values, or a UserError naming key, value and what is allowed."""
    try:
        return made(SECTIONS[section], values)
    except Refused as error:
        name = f"{section}.{error.key}"
        if error.missing:
            flags = flags_of(name, KEYS[section][error.key])
            raise UserError(f"{source}: {name} ({flags[0]}) is missing") from None
        told = nearest(error.given, error.choices) if error.choices else error
        raise UserError(f"{source}: {name} = {error.given!r}: {told}") from None
