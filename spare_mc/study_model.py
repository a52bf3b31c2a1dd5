"""The keys of a study file: names, types, limits, help texts, flags. One home for all of them.

A study is TOML with the sections below. ``spare-mc run`` makes a flag of every key, the docs list them from here,
and an unknown key is refused with the nearest known one.
"""

import difflib
import math
from functools import cache
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from .errors import UserError
from .layouts import KINDS
from .rules import CHOICES
from .tallies import MEASURES

Kind = Literal[KINDS]
Measure = Literal[MEASURES]


def _count(value):
    """A whole number; 1e6 and "1_000_000" are accepted, true and 1.5 are not."""
    if isinstance(value, bool):
        raise ValueError("must be a whole number")
    if isinstance(value, str):
        text = value.strip().replace("_", "")
        try:
            value = int(text) if text.lstrip("+-").isdigit() else float(text)
        except ValueError:
            raise ValueError("must be a whole number") from None
    if isinstance(value, float):
        if not math.isfinite(value) or value != int(value):
            raise ValueError("must be a whole number")
        value = int(value)
    return value


def seconds(value):
    """A duration in seconds from a number or from words such as "5 min", "64 s", "2 h", "3 days"."""
    if isinstance(value, bool):
        raise ValueError('must be a number of seconds or words such as "5 min"')
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            pass
        import pint

        try:
            return float(pint.get_application_registry().Quantity(value).m_as("second"))
        except Exception:  # pint raises errors of many kinds, tokenizer errors among them
            raise ValueError('must be a number of seconds or words such as "5 min" or "2 h"') from None
    return value


Count = Annotated[int, BeforeValidator(_count)]
Seconds = Annotated[float, BeforeValidator(seconds), Field(allow_inf_nan=False, le=1e11)]  # 3,000 years
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def key(default=None, *, flags=None, help, **limits):
    """A study key: its default, limits, help text and the flags it has on the command line."""
    return Field(default, description=help, json_schema_extra={"flags": flags}, **limits)


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=False, frozen=True)


class StudySection(Section):
    """[study]: what is asked."""

    name: str | None = key(help="name of the study; names the results file when -o is not given")
    seed: Count = key(0, ge=0, lt=2**64, flags=["--seed"], help="64-bit seed of every random number")
    measure: list[Measure] = key(
        ["survival"], flags=["--measure"], min_length=1, help="what is counted: " + ", ".join(MEASURES)
    )
    common_random_numbers: bool = key(
        True, help="compare points on the same failure orders (true) or give each point its own (false)"
    )


class Cluster(Section):
    """[cluster]: how large it is."""

    groups: Count = key(..., ge=2, flags=["--groups", "-N"], help="data-parallel groups N")
    gpus: Count | None = key(ge=1, help="GPUs of the whole cluster; a multiple of groups")
    gpus_per_group: Count | None = key(ge=1, help="GPUs of one group")
    gpus_per_node: Count = key(8, ge=1, help="GPUs of one node; converts node_mtbf")


class LayoutSection(Section):
    """[layout]: which group hosts which shard types."""

    kind: Kind = key("golomb", flags=["--layout"], help="layout family: " + ", ".join(KINDS))
    redundancy: Count | None = key(ge=1, flags=["--redundancy", "-r"], help="shard types each group hosts, r")
    offsets: list[Count] | None = key(
        help="custom layout: the r offsets o_0 = 0 < ... mod groups; group g hosts types g + o_j"
    )
    file: str | None = key(
        flags=["--layout-file"], help="custom layout: host table (.csv, .txt, .npy), row g = group g's stack"
    )
    seed: Count = key(0, ge=0, lt=2**64, flags=["--layout-seed"], help="seed of a random layout")


class Failures(Section):
    """[failures]: how long the groups last."""

    law: Literal["exponential", "weibull"] = key(
        "exponential", help="law of the lifetimes: exponential or weibull"
    )
    shape: Positive | None = key(help="Weibull shape; below 1 the hazard falls with age")
    system_mtbf: Seconds | None = key(
        gt=0, help="mean time between failures of the full-strength system, seconds"
    )
    group_mtbf: Seconds | None = key(gt=0, help="mean lifetime of a group, seconds")
    node_mtbf: Seconds | None = key(gt=0, help="mean lifetime of a node, seconds")
    gpu_mtbf: Seconds | None = key(gt=0, help="mean lifetime of a GPU, seconds")


def _choice(rule):
    """A rule of section [training] with its choices; None leaves it to the rule set."""
    told = "; ".join(f"{name}: {text}" for name, text in CHOICES[rule].items())
    return Annotated[Literal[tuple(CHOICES[rule])] | None, key(help=told)]


class Training(Section):
    """[training]: a training run, and the rules it goes by (see ``spare_mc.rules``)."""

    scheme: Literal["spare", "replication", "checkpoint-only"] = key(
        "spare", help="what masks failures: spare, replication or checkpoint-only"
    )
    rules: Literal["paper", "corrected"] = key(
        "paper", help="rule set: paper (the published simulator's) or corrected (without its conventions)"
    )
    steps: Count = key(10_000, ge=1, lt=2**31, help="optimizer steps to commit")
    stack_time: Seconds = key(64.0, gt=0, help="compute time of one stack, T_comp, seconds")
    allreduce_time: Seconds | None = key(ge=0, help="all-reduce time T_a, seconds; default groups / 100")
    save_time: Seconds = key(58.8235, ge=0, help="checkpoint write T_s, seconds")
    restart_time: Seconds = key(3600.0, ge=0, help="global restart T_r, seconds")
    shrink_time: Seconds = key(0.1, ge=0, help="communicator shrink after a failure, seconds")
    jitter: float = key(0.05, ge=0, le=0.3, help="deviation of a stack's compute time, as a fraction of it")
    checkpoint_steps: Count | None = key(ge=1, help="save after every this many committed steps")
    checkpoint_period: Seconds | None = key(
        gt=0, help="save after the first step that ends so long after the last"
    )
    checkpoint: Literal["young", "optimal", "dynamic"] | None = key(
        help="young: Young's period; optimal: the period of best availability; both at the layout's own mean time to "
        "wipe-out; dynamic: Young's period at the wipe-out hazard of the time since the restart (default: optimal)"
    )
    clocks: _choice("clocks") = None
    restart: _choice("restart") = None
    handling: _choice("handling") = None
    resume: _choice("resume") = None
    saves: _choice("saves") = None
    save_blocking: Seconds | None = key(
        ge=0, help="saves = asynchronous: the part everyone waits for, seconds"
    )
    jitter_per: _choice("jitter_per") = None
    barrier: _choice("barrier") = None
    patch: _choice("patch") = None
    placement: _choice("placement") = None
    found_allreduce: float | None = key(
        ge=0, le=1, help="share of the all-reduce time that an attempt spends which finds a failure (0.5)"
    )
    detection_delay: Seconds | None = key(
        ge=0, help="time until a failure is noticed, added when one is found, seconds"
    )
    max_wall: Seconds | None = key(
        gt=0,
        help="a run not done by then is ended and reported as not finished (default: 1000 times failure-free)",
    )
    tokens_per_step: float | None = key(gt=0, help="tokens of a step; reports tokens a day")
    shard_size: float | None = key(
        gt=0, help="bytes a group keeps for one shard type; reports the memory of r of them"
    )


class Sampling(Section):
    """[sampling]: how much of it, and when it is enough."""

    trials: Count | None = key(
        ge=0,
        le=10**13,
        flags=["--trials"],
        help="failure patterns a point, in total (1,000,000); with a target, those before it is first looked at "
        "(10,000)",
    )
    runs: Count = key(
        16,
        ge=0,
        le=10**9,
        flags=["--runs"],
        help="training runs a point, in total; with a target, those before it is first looked at",
    )
    target: dict[str, float] | None = key(
        help="estimate -> relative half-width of its interval that is enough; every one of them must be reached "
        "(--target mean_stack=0.001,endurable_failures=0.0005)"
    )
    max_trials: Count = key(
        100_000_000, ge=1, le=10**13, help="with a target: failure patterns a point at most"
    )
    max_runs: Count = key(100_000, ge=1, le=10**9, help="with a target: training runs a point at most")
    time_limit: Seconds | None = key(
        gt=0, help="wall time of the whole study, spent where the interval is widest; not reproducible"
    )
    confidence: float = key(0.95, gt=0, lt=1, help="confidence of the intervals")

    @field_validator("target", mode="before")
    @classmethod
    def _told_as_text(cls, value):
        """``["a=0.1", "b=0.2"]`` or ``"a=0.1"``, as flags give it, as a table."""
        if isinstance(value, str):
            value = [value]
        if isinstance(value, list):
            pairs = [str(part).partition("=") for part in value]
            if any(not middle for _, middle, _ in pairs):
                raise ValueError("must be estimate = relative half-width, such as mean_stack=0.001")
            value = {name.strip(): number.strip() for name, _, number in pairs}
        return value


class Sweep(Section):
    """[sweep]: how swept keys go together; without it they are crossed."""

    zip: list[list[str]] | None = key(
        help="lists of keys whose values go in step, such as cluster.groups,training.checkpoint_steps"
    )
    exclude: list[str] | None = key(
        help="combinations to leave out: expressions over study keys, such as redundancy > 12 and kind == 'golomb'"
    )

    @field_validator("zip", mode="before")
    @classmethod
    def _one_list(cls, value):
        """One list of keys stands for a list of one."""
        return (
            [value] if isinstance(value, list) and value and all(isinstance(k, str) for k in value) else value
        )

    @field_validator("exclude", mode="before")
    @classmethod
    def _one_text(cls, value):
        return [value] if isinstance(value, str) else value


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
        for name, field in model.model_fields.items():
            yield f"{section}.{name}", field


@cache
def number_kind(dotted):
    """ "count", "seconds" or "number" of a key that holds one number; None of any other."""
    section, name = dotted.split(".")
    field = SECTIONS[section].model_fields[name]
    inner = [field.annotation, *get_args(field.annotation)]
    told = [*field.metadata, *(m for part in inner for m in getattr(part, "__metadata__", ()))]
    for each in told:
        if isinstance(each, BeforeValidator):
            return {_count: "count", seconds: "seconds"}[each.func]
    return (
        "number"
        if any(part is float or getattr(part, "__origin__", None) is float for part in inner)
        else None
    )


def number_of(dotted, value):
    """The value of such a key as an int or a float, limits unchecked; ValueError where it is no number."""
    kind = number_kind(dotted)
    if kind == "count":
        return _count(value)
    value = seconds(value) if kind == "seconds" else value
    if isinstance(value, bool):
        raise ValueError("must be a number")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError("must be a number") from None


def flags_of(dotted, field):
    """Command-line flags of a key: those it names, or ``--key-name``."""
    named = (field.json_schema_extra or {}).get("flags")
    return named or ["--" + dotted.split(".")[1].replace("_", "-")]


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
        fields = SECTIONS[section].model_fields
        for name in values:
            if name not in fields:
                raise UserError(f"{source}: unknown key {section}.{name}; {nearest(name, fields)}")


def validated(section, values, source):
    """The section's model from raw values, or a UserError naming key, value and what is allowed."""
    try:
        return SECTIONS[section](**values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])
        if first["type"] == "missing":
            flags = flags_of(name, SECTIONS[section].model_fields[name])
            raise UserError(f"{source}: {section}.{name} ({flags[0]}) is missing") from None
        given = values.get(name)
        if first["type"] == "literal_error":
            known = [word.strip("' ") for word in first["ctx"]["expected"].replace(" or ", ", ").split(",")]
            bad = first["input"]
            raise UserError(f"{source}: {section}.{name} = {bad!r}: {nearest(bad, known)}") from None
        message = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        raise UserError(f"{source}: {section}.{name} = {given!r}: {message}") from None
