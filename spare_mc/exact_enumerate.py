"""Small layouts by complete enumeration: all 2^N sets of failed groups, as bit masks."""

import numpy as np

from .errors import UserError

MOST_GROUPS = 24  # 2^24 masks: a second and some tens of megabytes
MOST_GROUPS_STACKS = 20


def enumerate_survival(hosts):
    """Surviving subsets by number of failures.

    ``hosts`` int[N, r], row t = the groups that host type t, -1 where there are fewer; N <= 24. Returns int64[N+1].
    """
    masks = _host_masks(hosts, MOST_GROUPS)
    groups = len(masks)
    lost = np.zeros(1 << groups, dtype=bool)
    lost[masks] = True
    for group in range(groups):  # a set is lost with every subset of it that is
        halves = lost.reshape(-1, 2, 1 << group)
        halves[:, 1] |= halves[:, 0]
    return np.bincount(_sizes(groups)[~lost], minlength=groups + 1)


def enumerate_least_stack_table(hosts):
    """Surviving subsets by number of failures and least all-reduce depth.

    ``hosts`` as above, N <= 20. Returns int64[N+1, r+1]: entry [k, S] counts the k-subsets of failed groups whose
    least depth S*(k) is S (column 0 is empty).

    By Hall's condition depth S suffices after the failures F exactly when, for each set W of groups around F, the
    types hosted only within W number at most S |W - F|: the survivors in W compute them all.
    """
    masks = _host_masks(hosts, MOST_GROUPS_STACKS)
    groups = len(masks)
    most = max(int(mask).bit_count() for mask in masks)
    inside = np.zeros(1 << groups, dtype=np.int32)  # types hosted only within the set
    np.add.at(inside, masks, 1)
    for group in range(groups):
        halves = inside.reshape(-1, 2, 1 << group)
        halves[:, 1] += halves[:, 0]
    sizes = _sizes(groups)
    table = np.zeros((groups + 1, hosts.shape[1] + 1), dtype=np.int64)
    before = np.zeros(groups + 1, dtype=np.int64)
    for depth in range(1, most + 1):
        excess = inside - depth * sizes.astype(np.int32)
        worst = excess.copy()
        for group in range(groups):  # the maximum over all supersets
            halves = worst.reshape(-1, 2, 1 << group)
            np.maximum(halves[:, 0], halves[:, 1], out=halves[:, 0])
        enough = worst <= -depth * sizes.astype(np.int32)
        upto = np.bincount(sizes[enough], minlength=groups + 1)
        table[:, depth] = upto - before
        before = upto
    return table


def _host_masks(hosts, most):
    hosts = np.asarray(hosts)
    if hosts.shape[0] > most:
        raise UserError(f"groups = {hosts.shape[0]}: complete enumeration takes at most {most}")
    bits = np.where(hosts >= 0, np.int64(1) << np.maximum(hosts, 0).astype(np.int64), np.int64(0))
    return np.bitwise_or.reduce(bits, axis=1)


def _sizes(groups):
    """uint8[2^groups], the number of ones of each mask."""
    sizes = np.zeros(1, dtype=np.uint8)
    for _ in range(groups):
        sizes = np.concatenate([sizes, sizes + np.uint8(1)])
    return sizes
