"""Tests of sampled results against what holds exactly, and distances to the approximations.

A survival curve is tested against the exact one wherever its layout has one, and its rare side against
rigorous bounds where not (golomb, random): one test a curve, the false alarms of all tests of a file together
at most ALPHA.

The test is ``agreement.compare``: exact binomial tests at 20 fixed places. It was chosen over the bound of
Dvoretzky, Kiefer and Wolfowitz on the largest difference and over chi-square with 20 bins by their power at a
false-alarm rate of 1e-4 (N=600, r=9, contiguous). A K too small by one is found by all three at 100,000
trials, a mean 0.1 % off at 10^6. A distribution 2 % too wide at 100,000 trials: always, by the bound at 1 in
4. One trial in 10,000 that dies ten times too early, at 100,000 trials: at 19 in 20, by the others not even
at 10^7. And it holds at every number of trials, without a limit theorem.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from . import theory
from .agreement import compare, compare_bounds
from .estimates import pattern_tally
from .failure_streams import has_stream
from .possible import pattern_tallies, trials_alive, what_is_wrong
from .references import exact_stack_curves, rare_loss, references

ALPHA = 1e-4


class Verdict(NamedTuple):
    """One line of a check.

    Attributes
    ----------
    point : identity of the point
    curve : what was looked at: ``survival``, ``rare_loss``, ``stack_within_2`` .., the name of an estimate,
    or ``counts``
    kind : "exact" (a test against the exact curve or rigorous bounds), "certain" (what must hold in every
    trial) or
        "approximation" (a distance, which never fails)
    statistic : exact: deviation in standard errors where it is surest; None otherwise
    p : exact: at most so probable is such a deviation by chance; None otherwise
    threshold : exact: p below it fails; None otherwise
    distance : exact: largest absolute difference of the curves, or beyond the bounds; approximation: sampled
    mean over closed
        form, less 1; None where certain
    passed : False where the counts contradict what holds exactly
    message : one line for people
    """

    point: str
    curve: str
    kind: str
    statistic: float | None
    p: float | None
    threshold: float | None
    distance: float | None
    passed: bool
    message: str


def check(result, alpha=ALPHA):
    """Verdicts on one point, whose tests share ``alpha``; see ``check_all``."""
    return check_all([result], alpha)


def check_all(results, alpha=ALPHA):
    """Verdicts on the points of a file.

    Parameters
    ----------
    results : list of PointResult
    alpha : probability that anything fails by chance where all is right, over all the tests together

    Returns
    -------
    list of Verdict, in the order of the points; nothing for a point of which nothing was counted
    """
    plans = [(result, _tests(result)) for result in results]
    threshold = alpha / max(1, sum(len(tests) for _, tests in plans))
    verdicts = []
    for result, tests in plans:
        if not any(tally.total for tally in result.tallies.values()):
            continue
        wrong = what_is_wrong(result)
        message = wrong or "counts are possible and add up"
        verdicts.append(
            Verdict(result.id, "counts", "certain", None, None, None, None, wrong is None, message)
        )
        verdicts += [test(threshold) for test in tests]
        if pattern_tally(result) is not None and not has_stream(result.parameters):
            verdicts += _distances(result)
    return verdicts


def _tests(result):
    """The tests of a point, functions of the threshold; the same trials are tested once."""
    # exact values and closed forms are of independent identical groups
    if pattern_tally(result) is None or has_stream(result.parameters):
        return []
    tests = [partial(_endurance, result, tally) for tally in _different_trials(result)]
    if references(result).exact is None:
        tests = [partial(_rare, result, tally) for tally in _different_trials(result)]
        tests = [test for test in tests if rare_loss(result, test.args[1].total) is not None]
    stacks = result.tallies.get("stacks")
    if stacks is not None and stacks.total:
        tests += [partial(_depth, result, stacks, *pair) for pair in exact_stack_curves(result)]
    return tests


def _different_trials(result):
    """Tallies with a histogram of endurable failures, one for each set of trials."""
    return list({tally.spans: tally for tally in reversed(pattern_tallies(result))}.values())[::-1]


def _endurance(result, tally, threshold):
    """The survival curve against the exact one."""
    exact, loss = references(result)[:2]
    alive, trials = trials_alive(tally.counts["endurable_failures"]), tally.total
    found = compare(alive, trials, exact, loss)
    index, true = 1 + alive[1:].sum() / trials, 1 + exact[1:].sum()
    means = f"mean wipe-out index {index:,.3f}, exactly {true:,.3f}"
    return _exact(result, "survival", "survival", found, trials, threshold, means)


def _depth(result, tally, depth, exact, threshold):
    """The share alive within a depth against the exact one; it falls with k like a survival curve."""
    within = tally.counts["trials_at_depth"][:, :depth].sum(axis=1)
    found = compare(within, tally.total, exact)
    what = f"share alive within depth {depth}"
    return _exact(result, f"stack_within_{depth}", what, found, tally.total, threshold, None)


def _exact(result, curve, what, found, trials, threshold, more):
    passed = found.p >= threshold
    message = (
        f"{what} {'agrees with' if passed else 'CONTRADICTS'} the exact curve: p = {found.p:.2g}, threshold "
        f"{threshold:.2g}; most at k = {found.place:,}, {found.alive / trials:.6g} of {trials:,} trials against "
        f"{found.expected:.6g}"
    )
    message += f"; {more}" if more else ""
    return Verdict(result.id, curve, "exact", found.z, found.p, threshold, found.distance, passed, message)


def _rare(result, tally, threshold):
    """The rare loss against rigorous bounds, where no exact curve is known."""
    k, low, high = rare_loss(result, tally.total)
    lost = tally.total - trials_alive(tally.counts["endurable_failures"])[k]
    p, at = compare_bounds(lost, tally.total, low, high)
    passed = p >= threshold
    share = lost / tally.total
    outside = float(np.max(np.maximum(np.maximum(share - high, low - share), 0)))
    message = (
        f"loss within {k[0]:,} to {k[-1]:,} failures {'lies within' if passed else 'CONTRADICTS'} rigorous bounds: "
        f"p = {p:.2g}, threshold {threshold:.2g}; nearest at k = {k[at]:,}, {lost[at]:,} of {tally.total:,} trials "
        f"lost, {low[at]:.4g} to {high[at]:.4g} allowed"
    )
    return Verdict(result.id, "rare_loss", "exact", None, p, threshold, outside, passed, message)


def _distances(result):
    """How far the closed forms are from what was sampled; a distance never fails."""
    groups, redundancy = result.parameters["cluster.groups"], result.parameters["layout.redundancy"]
    index, mu = result.estimates["wipeout_index"], theory.mu(groups, redundancy)
    lines = [_distance(result, "wipeout_index", index.mean, mu, _endures(index, mu, result.confidence))]
    found = references(result)
    if found.exact is None:
        other = float(found.independent.sum())
        apart = float(np.max(np.abs(result.curves["survival"] - found.independent)))
        message = (
            f"no exact curve is known for this layout; with types taken as independent the mean wipe-out index would "
            f"be {other:,.2f}, the sampled one is {_apart(index.mean, other)}; the curves differ by {apart:.2g} at most"
        )
        lines.append(_distance(result, "survival", index.mean, other, message))
    if "mean_stack" in result.estimates:
        stack, bound = result.estimates["mean_stack"].mean, theory.mean_least_stack_bound(groups, redundancy)
        message = (
            f"mean stack {stack:.5g}, {_apart(stack, bound)} than the paper's bound {bound:.5g} (mean of c(k) over "
            f"k < floor(mu))"
        )
        lines.append(_distance(result, "mean_stack", stack, bound, message))
    if "time_to_interruption_s" in result.estimates:
        time = result.estimates["time_to_interruption_s"].mean
        paper = mu * float(result.parameters["failures.system_mtbf"])
        told = f"{time:,.0f} s, {_apart(time, paper)} than the paper's T_f = mu m = {paper:,.0f} s"
        message = f"mean time to interruption {told}"
        if time > paper and result.parameters.get("failures.law", "exponential") == "exponential":
            message += ": survivors fail more rarely than the full system"
        lines.append(_distance(result, "time_to_interruption_s", time, paper, message))
    return lines


def _endures(index, mu, confidence):
    """What a user should know of the paper's closed form."""
    sampled = f"mean wipe-out index {index.mean:,.2f}"
    if index.low is None:
        return f"{sampled} from one trial, the paper's closed form mu = {mu:,.2f}"
    sampled += f" ({100 * confidence:g} %: {index.low:,.2f} to {index.high:,.2f})"
    if index.low <= mu <= index.high:
        return f"endures what the paper's closed form says, mu = {mu:,.2f}, within the interval: {sampled}"
    return f"endures {_apart(index.mean, mu)} than the paper's closed form mu = {mu:,.2f}: {sampled}"


def _apart(value, reference):
    """ "8.4 % more", "0.81 % less"."""
    percent = 100 * (value / reference - 1)
    size = f"{abs(percent):.1f}" if abs(percent) >= 10 else f"{abs(percent):#.2g}"
    return f"{size} % {'more' if percent >= 0 else 'less'}"


def _distance(result, curve, value, reference, message):
    return Verdict(
        result.id, curve, "approximation", None, None, None, float(value / reference - 1), True, message
    )
