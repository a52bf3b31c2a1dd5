"""The keys of a study about failures: laws, shared failure domains, replayed logs. See ``study_model``."""

from typing import Literal

import msgspec

from .laws import LAWS
from .sections import Section, key, optional
from .spellings import Seconds, Seed

DOMAIN_LEVELS = ("node", "rack", "pod", "switch", "power")
DOMAIN_LAWS = ("exponential", "weibull", "lognormal", "gamma")  # those with a shape at most
PLACEMENTS = ("linear", "strided", "spread", "random", "custom")


class Failures(Section):
    """[failures]: how long the groups last."""

    law: key(Literal[LAWS], "law of the lifetimes: " + ", ".join(LAWS)) = "exponential"
    shape: optional(
        float,
        "Weibull or gamma shape (below 1 the hazard falls with age); a lognormal's sigma",
        gt=0,
    ) = None
    ages: optional(list[Seconds], "law piecewise: ages at which the hazard changes, seconds, ascending") = (
        None
    )
    rates: optional(
        list[float], "law piecewise: relative hazards, one before each age and one after the last"
    ) = None
    early_rate: optional(float, "law bathtub: hazard of a new unit against a settled one's", gt=0) = None
    early_age: optional(Seconds, "law bathtub: time in which early failures fall off by e, seconds", gt=0) = (
        None
    )
    wear_age: optional(
        Seconds, "law bathtub: age at which wear-out has doubled the settled hazard, seconds", gt=0
    ) = None
    gaps: optional(
        str, "law empirical: file of observed gaps, seconds, one a line; without an mtbf their mean is kept"
    ) = None
    clock_level: key(
        Literal["group", "node", "gpu", "system"],
        "what has a clock of this law: each group, each node or each GPU (a group fails with the first of its own), or "
        "the whole system (one clock; a failure hits a group at random)",
    ) = "group"
    system_mtbf: optional(
        Seconds, "mean time between failures of the full-strength system, seconds", gt=0
    ) = None
    group_mtbf: optional(Seconds, "mean lifetime of a group, seconds", gt=0) = None
    node_mtbf: optional(Seconds, "mean lifetime of a node, seconds", gt=0) = None
    gpu_mtbf: optional(Seconds, "mean lifetime of a GPU, seconds", gt=0) = None
    system_scale: optional(
        Seconds,
        "instead of the mean, the law's scale, seconds (a lognormal's median), of the one clock of the whole system",
        gt=0,
    ) = None
    group_scale: optional(Seconds, "the same, of a group's clock", gt=0) = None
    node_scale: optional(Seconds, "the same, of a node's clock", gt=0) = None
    gpu_scale: optional(Seconds, "the same, of a GPU's clock", gt=0) = None
    lemon_share: optional(
        float, "share of the clocks' units that are lemons: which ones is random in every trial", gt=0, lt=1
    ) = None
    lemon_rate: optional(
        float, "how many times as often a lemon fails; an mtbf of a unit is that of the others", gt=0
    ) = None
    group_rates: optional(
        str,
        "relative failure rates of unequal groups: runs such as 500x1,100x3, or a file of N numbers, one a line; an "
        "mtbf of a unit is that at rate 1",
    ) = None


def _domain_keys():
    """Keys of every level, then those of the hierarchy as a whole."""
    for level in DOMAIN_LEVELS:
        size = "cluster.gpus_per_node" if level == "node" else "or a column of the table says"
        what = {
            "mtbf": (Seconds, f"mean time between events of one {level} that take all of it out, seconds", {"gt": 0}),
            "size": (int, f"GPUs of one {level} ({size})", {"ge": 1}),
            "law": (Literal[DOMAIN_LAWS], f"law of these events: {', '.join(DOMAIN_LAWS)} (exponential)", {}),
            "shape": (float, "its shape (a lognormal's sigma)", {"gt": 0}),
        }  # fmt: skip
        for name, (kind, told, limits) in what.items():
            flags = [f"--domain-{level}-{name}"]
            yield f"{level}_{name}", optional(kind, told, flags=flags, **limits), None
    yield (
        "table",
        optional(
            str,
            "topology: CSV with a row a node and a column a level; hosts are taken in the order of their domains, and "
            "as many copies of the table as the cluster needs",
            flags=["--domain-table"],
        ),
        None,
    )
    yield (
        "columns",
        optional(
            str,
            "columns of the table by level, such as rack=PSW,switch=DSW (those called as levels are)",
            flags=["--domain-columns"],
        ),
        None,
    )
    yield (
        "placement",
        key(
            Literal[PLACEMENTS],
            "where groups lie: linear (in order), strided (group slot * stride mod N), spread (a group's nodes dealt "
            "out over the whole cluster), random (groups in random order), custom (a file)",
            flags=["--domain-placement"],
        ),
        "linear",
    )
    yield (
        "stride",
        optional(int, "strided: groups between neighbours, no common factor with N (near N / 1.618)", ge=1),
        None,
    )
    yield "placement_seed", key(Seed, "random: seed of the order", ge=0), 0
    yield (
        "placement_file",
        optional(str, "custom: file with the group of every node in physical order, one a line"),
        None,
    )


Domains = msgspec.defstruct(
    "Domains",
    list(_domain_keys()),
    bases=(Section,),
    kw_only=True,
    frozen=True,
    forbid_unknown_fields=True,
)
Domains.__doc__ = "[domains]: events that take out everything in a node, rack, pod, switch or power domain."


class ReplaySection(Section):
    """[replay]: a failure log that drives the simulation in place of laws."""

    log: optional(str, "failure log, in any form that 'spare-mc fit' reads", flags=["--replay-log"]) = None
    units: optional(int, "units that exist, those that never failed too", ge=1, flags=["--replay-units"]) = (
        None
    )
    unit_is: key(
        Literal["node", "gpu", "group"], "what a unit of the log is here", flags=["--replay-unit-is"]
    ) = "node"
    block: optional(
        Seconds,
        "play blocks of this length from random places of the log, seconds; without it each trial starts at a random "
        "moment and plays on; after the end comes the beginning",
        gt=0,
        flags=["--replay-block"],
    ) = None
    mapping: key(
        Literal["random", "fixed"],
        "random: the log's units are dealt to the cluster's anew whenever a start is drawn or the log begins again; "
        "fixed: unit i is unit i of the cluster",
        flags=["--replay-mapping"],
    ) = "random"
    options: optional(
        str,
        "how to read the log, flags of 'spare-mc fit' such as time=start,unit=host,time_zone=Europe/Berlin,system=2",
        flags=["--replay-options"],
    ) = None
    start: optional(
        str,
        "begin of the window that is replayed: a date, or a time such as 50 days",
        flags=["--replay-from"],
    ) = None
    end: optional(str, "end of that window", flags=["--replay-to"]) = None
