"""The keys of a study file: names, types, limits, help texts, flags. One home for all of them.

A study is TOML with the sections below. ``spare-mc run`` makes a flag of every key, the docs list them from here,
and an unknown key is refused with the nearest known one.
"""

import difflib

from .errors import UserError
from .fields import COUNT, FLAG, NUMBER, SECONDS, TEXT, Refused, Section, key, list_of, one_of, table_of
from .layouts import KINDS
from .rules import CHOICES
from .tallies import MEASURES


class StudySection(Section):
    """[study]: what is asked."""

    name = key(TEXT, help="name of the study; names the results file when -o is not given")
    seed = key(COUNT, 0, ge=0, lt=2**64, flags=["--seed"], help="64-bit seed of every random number")
    measure = key(
        list_of(one_of(MEASURES), 1),
        ["survival"],
        flags=["--measure"],
        help="what is counted: " + ", ".join(MEASURES),
    )
    common_random_numbers = key(
        FLAG, True, help="compare points on the same failure orders (true) or give each point its own (false)"
    )


class Cluster(Section):
    """[cluster]: how large it is."""

    groups = key(COUNT, required=True, ge=2, flags=["--groups", "-N"], help="data-parallel groups N")
    gpus = key(COUNT, ge=1, help="GPUs of the whole cluster; a multiple of groups")
    gpus_per_group = key(COUNT, ge=1, help="GPUs of one group")
    gpus_per_node = key(COUNT, 8, ge=1, help="GPUs of one node; converts node_mtbf")


class LayoutSection(Section):
    """[layout]: which group hosts which shard types."""

    kind = key(one_of(KINDS), "golomb", flags=["--layout"], help="layout family: " + ", ".join(KINDS))
    redundancy = key(COUNT, ge=1, flags=["--redundancy", "-r"], help="shard types each group hosts, r")
    offsets = key(
        list_of(COUNT),
        help="custom layout: the r offsets o_0 = 0 < ... mod groups; group g hosts types g + o_j",
    )
    file = key(
        TEXT,
        flags=["--layout-file"],
        help="custom layout: host table (.csv, .txt, .npy), row g = group g's stack",
    )
    seed = key(COUNT, 0, ge=0, lt=2**64, flags=["--layout-seed"], help="seed of a random layout")


class Failures(Section):
    """[failures]: how long the groups last."""

    law = key(
        one_of(("exponential", "weibull")), "exponential", help="law of the lifetimes: exponential or weibull"
    )
    shape = key(NUMBER, gt=0, help="Weibull shape; below 1 the hazard falls with age")
    system_mtbf = key(SECONDS, gt=0, help="mean time between failures of the full-strength system, seconds")
    group_mtbf = key(SECONDS, gt=0, help="mean lifetime of a group, seconds")
    node_mtbf = key(SECONDS, gt=0, help="mean lifetime of a node, seconds")
    gpu_mtbf = key(SECONDS, gt=0, help="mean lifetime of a GPU, seconds")


def _rule(rule):
    """A rule of section [training] with its choices; None leaves it to the rule set."""
    told = "; ".join(f"{name}: {text}" for name, text in CHOICES[rule].items())
    return key(one_of(tuple(CHOICES[rule])), help=told)


class Training(Section):
    """[training]: a training run, and the rules it goes by (see ``spare_mc.rules``)."""

    scheme = key(
        one_of(("spare", "replication", "checkpoint-only")),
        "spare",
        help="what masks failures: spare, replication or checkpoint-only",
    )
    rules = key(
        one_of(("paper", "corrected")),
        "paper",
        help="rule set: paper (the published simulator's) or corrected (without its conventions)",
    )
    steps = key(COUNT, 10_000, ge=1, lt=2**31, help="optimizer steps to commit")
    stack_time = key(SECONDS, 64.0, gt=0, help="compute time of one stack, T_comp, seconds")
    allreduce_time = key(SECONDS, ge=0, help="all-reduce time T_a, seconds; default groups / 100")
    save_time = key(SECONDS, 58.8235, ge=0, help="checkpoint write T_s, seconds")
    restart_time = key(SECONDS, 3600.0, ge=0, help="global restart T_r, seconds")
    shrink_time = key(SECONDS, 0.1, ge=0, help="communicator shrink after a failure, seconds")
    jitter = key(NUMBER, 0.05, ge=0, le=0.3, help="deviation of a stack's compute time, as a fraction of it")
    checkpoint_steps = key(COUNT, ge=1, help="save after every this many committed steps")
    checkpoint_period = key(SECONDS, gt=0, help="save after the first step that ends so long after the last")
    checkpoint = key(
        one_of(("young", "optimal", "dynamic")),
        help="young: Young's period; optimal: the period of best availability; both at the layout's own mean time to "
        "wipe-out; dynamic: Young's period at the wipe-out hazard of the time since the restart (default: optimal)",
    )
    clocks = _rule("clocks")
    restart = _rule("restart")
    handling = _rule("handling")
    resume = _rule("resume")
    saves = _rule("saves")
    save_blocking = key(SECONDS, ge=0, help="saves = asynchronous: the part everyone waits for, seconds")
    jitter_per = _rule("jitter_per")
    barrier = _rule("barrier")
    patch = _rule("patch")
    placement = _rule("placement")
    found_allreduce = key(
        NUMBER,
        ge=0,
        le=1,
        help="share of the all-reduce time that an attempt spends which finds a failure (0.5)",
    )
    detection_delay = key(
        SECONDS, ge=0, help="time until a failure is noticed, added when one is found, seconds"
    )
    max_wall = key(
        SECONDS,
        gt=0,
        help="a run not done by then is ended and reported as not finished (default: 1000 times failure-free)",
    )
    tokens_per_step = key(NUMBER, gt=0, help="tokens of a step; reports tokens a day")
    shard_size = key(
        NUMBER, gt=0, help="bytes a group keeps for one shard type; reports the memory of r of them"
    )


def _told_as_text(value):
    """``["a=0.1", "b=0.2"]`` or ``"a=0.1"``, as flags give it, as a table."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list):
        pairs = [str(part).partition("=") for part in value]
        if any(not middle for _, middle, _ in pairs):
            raise ValueError("must be estimate = relative half-width, such as mean_stack=0.001")
        value = {name.strip(): number.strip() for name, _, number in pairs}
    return value


class Sampling(Section):
    """[sampling]: how much of it, and when it is enough."""

    trials = key(
        COUNT,
        ge=0,
        le=10**13,
        flags=["--trials"],
        help="failure patterns a point, in total (1,000,000); with a target, those before it is first looked at "
        "(10,000)",
    )
    runs = key(
        COUNT,
        16,
        ge=0,
        le=10**9,
        flags=["--runs"],
        help="training runs a point, in total; with a target, those before it is first looked at",
    )
    target = key(
        table_of(NUMBER),
        before=_told_as_text,
        help="estimate -> relative half-width of its interval that is enough; every one of them must be reached "
        "(--target mean_stack=0.001,endurable_failures=0.0005)",
    )
    max_trials = key(
        COUNT, 100_000_000, ge=1, le=10**13, help="with a target: failure patterns a point at most"
    )
    max_runs = key(COUNT, 100_000, ge=1, le=10**9, help="with a target: training runs a point at most")
    time_limit = key(
        SECONDS,
        gt=0,
        help="wall time of the whole study, spent where the interval is widest; not reproducible",
    )
    confidence = key(NUMBER, 0.95, gt=0, lt=1, help="confidence of the intervals")


def _one_list(value):
    """One list of keys stands for a list of one."""
    of_keys = isinstance(value, list) and value and all(isinstance(k, str) for k in value)
    return [value] if of_keys else value


def _one_text(value):
    return [value] if isinstance(value, str) else value


class Sweep(Section):
    """[sweep]: how swept keys go together; without it they are crossed."""

    zip = key(
        list_of(list_of(TEXT)),
        before=_one_list,
        help="lists of keys whose values go in step, such as cluster.groups,training.checkpoint_steps",
    )
    exclude = key(
        list_of(TEXT),
        before=_one_text,
        help="combinations to leave out: expressions over study keys, such as redundancy > 12 and kind == 'golomb'",
    )


SECTIONS = {
    "study": StudySection,
    "cluster": Cluster,
    "layout": LayoutSection,
    "failures": Failures,
    "training": Training,
    "sampling": Sampling,
    "sweep": Sweep,
}
SWEPT = ("cluster", "layout", "failures", "training")  # sections in which a list sweeps the value


def keys():
    """Yield ``(dotted key, field)`` for every study key."""
    for section, model in SECTIONS.items():
        for name, field in model.fields.items():
            yield f"{section}.{name}", field


def number_kind(dotted):
    """ "count", "seconds" or "number" of a key that holds one number; None of any other."""
    section, name = dotted.split(".")
    kind = SECTIONS[section].fields[name].kind.name
    return kind if kind in ("count", "seconds", "number") else None


def number_of(dotted, value):
    """The value of such a key as an int or a float, limits unchecked; ValueError where it is no number."""
    section, name = dotted.split(".")
    return SECTIONS[section].fields[name].kind.check(value)


def flags_of(dotted, field):
    """Command-line flags of a key: those it names, or ``--key-name``."""
    return field.flags or ["--" + dotted.split(".")[1].replace("_", "-")]


def nearest(name, known):
    """``"; did you mean 'x'?"`` where a known name is near, else the list of known names."""
    known = sorted(known)
    close = difflib.get_close_matches(str(name), known, 1, cutoff=0.55)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(known)


def check_names(raw, source):
    """Refuse unknown sections and keys of a raw study, naming the nearest known one."""
    for section, values in raw.items():
        if section not in SECTIONS:
            raise UserError(f"{source}: unknown section [{section}]; {nearest(section, SECTIONS)}")
        if not isinstance(values, dict):
            raise UserError(f"{source}: {section} = {values!r}: must be a section [{section}] with keys")
        fields = SECTIONS[section].fields
        for name in values:
            if name not in fields:
                raise UserError(f"{source}: unknown key {section}.{name}; {nearest(name, fields)}")


def validated(section, values, source):
    """The section's model from raw values, or a UserError naming key, value and what is allowed."""
    try:
        return SECTIONS[section](**values)
    except Refused as error:
        name = f"{section}.{error.key}"
        if error.missing:
            flags = flags_of(name, SECTIONS[section].fields[error.key])
            raise UserError(f"{source}: {name} ({flags[0]}) is missing") from None
        told = nearest(error.given, error.choices) if error.choices else error
        raise UserError(f"{source}: {name} = {error.given!r}: {told}") from None
