"""Plain-Python lives under a failure stream: the oracle of the pattern consumers of streams.

Every state between events is looked at on its own: its alive groups, and the least depth for them from nothing.
"""

from .reference_reorder import Controller
from .reference_stacks import least_depth
from .reference_streams import pattern


def survival_row(plan, host_rows, seed, trial):
    """``stream_plan.SURVIVAL_COLUMNS`` of one trial (list of int)."""
    order, ends, times, wiped = pattern(plan, host_rows, seed, trial)
    endured = ends[:-1] if wiped else ends
    return [endured[-1] if endured else 0, len(endured), times[-1] if wiped else -1]


def depths(plan, host_rows, redundancy, seed, trial):
    """The states between events until the wipe-out: list of (groups lost, least depth)."""
    order, ends, _, wiped = pattern(plan, host_rows, seed, trial)
    groups = range(int(plan.numbers[0]))
    states = [0, *(ends[:-1] if wiped else ends)]
    return [(k, least_depth(host_rows, set(groups) - set(order[:k]), redundancy)) for k in states]


def stack_row(plan, host_rows, redundancy, seed, trial):
    """``stream_plan.STACK_COLUMNS`` of one trial (list of int)."""
    n = int(plan.numbers[0])
    states = depths(plan, host_rows, redundancy, seed, trial)
    above = sum(depth > -(-n // (n - k)) for k, depth in states)
    told = survival_row(plan, host_rows, seed, trial)
    return [*told, sum(depth for _, depth in states), len(states), above]


def reorder_row(plan, host_rows, stack_rows, seed, trial):
    """``reorder_columns.STREAM_COLUMNS`` of one trial (list of int)."""
    order, ends, times, wiped = pattern(plan, host_rows, seed, trial)
    controller = Controller(host_rows, stack_rows)
    row = [0] * 14
    row[10] = 1
    row[13] = -1
    lost = 0
    for end, time in zip(ends, times, strict=True):
        told = controller.fail(order[lost:end])
        if told["phase"] == 3:
            row[13] = time
            break
        lost = end
        row[1 + told["phase"]] += 1
        row[10] += told["after"]
        row[12] += 1
        if told["phase"]:
            row[4] += told["moves"]
            row[4 + told["phase"]] += told["patch"]
            row[6 + told["phase"]] += told["changed"]
            row[9] += told["uncovered"]
    row[0], row[11] = lost, controller.depth
    return row
