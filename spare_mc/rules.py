"""The rules of a training run, each a named setting, and the two rule sets.

Rules of groups that come back during a run apply only where that happens, and are in neither set.

``paper`` follows the published simulator in everything; ``corrected`` takes away the conventions that favour or hurt
one side, so that what is left is the method's. Any rule may be set on its own over either.
"""

CHOICES = {
    "clocks": {
        "renewal": "every group has a renewal clock of its own, which runs on while it is out and through restarts",
        "fresh": "every group has a clock of its own, drawn anew at each restart",
        "system": "one clock for the whole system; a failure hits an alive group at random",
    },
    "restart": {
        "extended": "a group that fails in its restart window starts the window again; the slowest group decides",
        "fixed": "a restart takes restart_time",
    },
    "handling": {
        "all": "all failures found in a step are handled in it",
        "lowest": "only the lowest-numbered failed group is handled; the others surface one a step (replication)",
    },
    "resume": {
        "at": "a restart resumes at the saved step, which is redone and saved again",
        "after": "a restart resumes after the saved step",
    },
    "saves": {
        "blocking": "every group waits for a save",
        "overlapped": "only the saving group spends the save; the next barrier waits for it",
        "asynchronous": "every group waits for save_blocking; the rest of the save runs beside the next steps",
    },
    "jitter_per": {
        "stack": "every stack of a group draws its own jitter",
        "block": "all stacks of a group in a step share one draw",
    },
    "barrier": {
        "slowest": "the barrier before the all-reduce waits for the slowest group",
        "mean": "compute takes its mean time: what a barrier-free design would reach",
    },
    "patch": {
        "one": "a group with changed places computes one stack again",
        "every": "a group computes every changed place again",
    },
    "depth_after_rejoin": {
        "least": "when groups come back, the depth becomes the least feasible one again (scheme spare)",
        "kept": "the depth stays until the next restart",
    },
    "placement": {
        "block": "replication block g // r: consecutive groups",
        "cyclic": "replication block g mod ceil(N / r)",
    },
}

_PAPER = {
    "clocks": "renewal",
    "restart": "extended",
    "handling": "all",
    "resume": "at",
    "saves": "blocking",
    "jitter_per": "stack",
    "barrier": "slowest",
    "patch": "one",
    "placement": "block",
    "found_allreduce": 0.5,
    "detection_delay": 0.0,
}

RULE_SETS = {
    "paper": {
        "spare": _PAPER,
        "replication": {**_PAPER, "handling": "lowest", "saves": "overlapped", "jitter_per": "block"},
        "checkpoint-only": _PAPER,
    },
    "corrected": dict.fromkeys(
        ("spare", "replication", "checkpoint-only"),
        {**_PAPER, "restart": "fixed", "resume": "after", "patch": "every"},
    ),
}
# Replication computes a block of r stacks under one draw in both sets: that is its published design, not a convention.
RULE_SETS["corrected"]["replication"] = {**RULE_SETS["corrected"]["replication"], "jitter_per": "block"}


def rules(scheme, rule_set="paper"):
    """Name -> value of every rule of a scheme under a rule set."""
    return dict(RULE_SETS[rule_set][scheme])
