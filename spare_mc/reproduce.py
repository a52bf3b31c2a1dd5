"""The published runs of the SPARe paper, run again: our value with its interval beside the published one."""

from dataclasses import dataclass
from math import sqrt

from . import published, study, theory
from .results import PointResult

SCHEMES = ("spare", "replication")
LAWS = ("weibull", "exponential")


def make_study(groups, laws, schemes, rule_set, runs, seed, redundancies=None):
    """A Study of the published points, every scheme and law over the redundancies that were published.

    Parameters
    ----------
    groups, laws, schemes : values to take, of 200, 600, 1000, of LAWS, of SCHEMES
    rule_set : "paper" or "corrected"
    runs : training runs a point
    seed : 64-bit seed
    redundancies : those to take; None takes all published
    """
    points = []
    for law in laws:
        for scheme in schemes:
            for n in groups:
                published_r = [r for s, m, r in published.checkpoint_steps() if (s, m) == (scheme, n)]
                for r in sorted(set(published_r) & set(redundancies or published_r)):
                    points += study.load(_raw(n, r, law, scheme, rule_set)).points
    text = (
        f"# spare-mc reproduce --groups {','.join(map(str, groups))} --law {','.join(laws)} "
        f"--scheme {','.join(schemes)} --rules {rule_set} --runs {runs} --seed {seed}\n"
    )
    return study.Study(f"reproduce-{rule_set}", seed, ("training",), points, 0, runs, text=text)


def _raw(groups, redundancy, law, scheme, rule_set):
    shape = {"shape": published.PAPER["weibull_shape"]} if law == "weibull" else {}
    return {
        "study": {"measure": ["training"]},
        "cluster": {"groups": groups, "gpus": published.PAPER["gpus"]},
        # Replication places its own blocks; the layout then only names N and r.
        "layout": {"kind": "golomb" if scheme == "spare" else "partition", "redundancy": redundancy},
        "failures": {"law": law, "system_mtbf": published.PAPER["system_mtbf"], **shape},
        "training": {
            "scheme": scheme,
            "rules": rule_set,
            "checkpoint_steps": published.checkpoint_steps()[scheme, groups, redundancy],
        },
    }


@dataclass
class Comparison:
    """One point beside what was published of it; published values are None where there are none."""

    result: PointResult
    scheme: str
    law: str
    groups: int
    redundancy: int
    published_total_s: float | None
    published_availability: float | None
    published_restarts: float | None
    deviation: float | None  # of the mean total, relative
    standard_errors: float | None  # the deviation in combined standard errors of both means
    within: bool | None  # total within 1.5 % or 3 standard errors

    def as_json(self):
        fields = {k: v for k, v in vars(self).items() if k != "result"}
        estimates = {n: e._asdict() for n, e in self.result.estimates.items()}
        return {"id": self.result.id, **fields, "estimates": estimates}


def compare(result):
    """The Comparison of a PointResult of ``make_study``."""
    p = result.parameters
    key = (p["training.scheme"], p["failures.law"], p["cluster.groups"], p["layout.redundancy"])
    known = published.runs().get(key) if p["training.rules"] == "paper" else None
    total = result.estimates.get("time_to_train_s")
    if known is None or total is None:
        return Comparison(result, *key, None, None, None, None, None, None)
    deviation = total.mean / known["total_s"] - 1
    # One run shows no spread of its own: it is taken to scatter as the published runs do.
    ours = (known["total_std_s"] if total.std is None else total.std) ** 2 / result.runs
    error = sqrt(ours + known["total_std_s"] ** 2 / known["seeds"])
    errors = abs(total.mean - known["total_s"]) / error if error > 0 else float("inf")
    within = abs(deviation) <= 0.015 or errors <= 3
    shown = (known["total_s"], known["availability"], known["restarts"])
    return Comparison(result, *key, *shown, deviation, errors, within)


def closed_form_ratio(result):
    """S_bar / A* at T_f = mu m: the paper's estimate of the time-to-train ratio, replication's stack being r."""
    p = result.parameters
    n, r = p["cluster.groups"], p["layout.redundancy"]
    if p["training.scheme"] == "spare":
        stack, failures = theory.mean_least_stack_bound(n, r), theory.mu(n, r)
    else:
        from .exact import survival_curve

        stack, failures = r, float(survival_curve(result.layout).sum())
    until = failures * p["failures.system_mtbf"]
    return theory.cost(stack, p["training.save_time"], p["training.restart_time"], until)


def headline(results):
    """The paper's headline table from Weibull results: (groups, scheme, ours, published) and the gains.

    Returns
    -------
    (rows, gains): rows of dicts with groups, scheme, best (PointResult of the least time-to-train), at_published
    (PointResult at the published redundancy, or None) and published (dict); gains: groups -> (ours at the published
    redundancies, published), 1 - SPARe / replication.
    """
    rows, gains = [], {}
    for (scheme, groups), known in published.headline().items():
        points = [
            r
            for r in results
            if r.parameters["training.scheme"] == scheme
            and r.parameters["cluster.groups"] == groups
            and r.parameters["failures.law"] == "weibull"
            and "time_to_train_ratio" in r.estimates
        ]
        if points:
            best = min(points, key=lambda r: r.estimates["time_to_train_ratio"].mean)
            at = [r for r in points if r.parameters["layout.redundancy"] == known["redundancy"]]
            at = at[0] if at else None
            rows.append(
                {"groups": groups, "scheme": scheme, "best": best, "at_published": at, "published": known}
            )
    for groups in sorted({row["groups"] for row in rows}):
        pair = {row["scheme"]: row for row in rows if row["groups"] == groups and row["at_published"]}
        if set(pair) == set(SCHEMES):
            ours = {s: pair[s]["at_published"].estimates["time_to_train_ratio"].mean for s in SCHEMES}
            theirs = {s: pair[s]["published"]["time_to_train_ratio"] for s in SCHEMES}
            gains[groups] = tuple(1 - v["spare"] / v["replication"] for v in (ours, theirs))
    return rows, gains
