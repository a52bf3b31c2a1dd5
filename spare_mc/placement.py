"""Where groups lie: the group of every GPU, in physical order; and which groups a domain takes out."""

import hashlib
import math

import numpy as np

from .disjoint import philox_words
from .errors import UserError
from .failure_model import _numbers

_PLACE = 2**24 - 1  # of a random order in the layouts' share of the random numbers: no redundancy gets there


def default_stride(groups):
    """The number without common factor with N nearest N / 1.618: groups near each other are then far apart in number.

    Multiples of the golden ratio spread evenly (three-distance theorem), so that the groups of one domain, whatever
    its size, lie about N over their number from each other.
    """
    ideal = groups / ((1.0 + math.sqrt(5.0)) / 2.0)
    return min(
        (s for s in range(1, groups) if math.gcd(s, groups) == 1), key=lambda s: abs(s - ideal), default=1
    )


def resolved(section, groups, label):
    """Resolved ``domains.*`` parameters of a placement; UserError where they do not fit together."""
    kind, found = section.placement, {"domains.placement": section.placement}
    for key, owner in (("stride", "strided"), ("placement_file", "custom")):
        value = getattr(section, key)
        if value is not None and kind != owner:
            raise UserError(f"{label}: domains.{key} = {value!r}: only placement {owner!r} has one")
    if section.placement_seed and kind != "random":
        raise UserError(
            f"{label}: domains.placement_seed = {section.placement_seed}: only placement 'random' has one"
        )
    if kind == "strided":
        stride = default_stride(groups) if section.stride is None else section.stride
        if math.gcd(stride, groups) != 1 or stride >= max(2, groups):
            raise UserError(
                f"{label}: domains.stride = {stride}: must be below cluster.groups = {groups} and have no factor in "
                f"common with it, such as {default_stride(groups)}"
            )
        found["domains.stride"] = stride
    elif kind == "random":
        found["domains.placement_seed"] = section.placement_seed
    elif kind == "custom" and section.placement_file is None:
        raise UserError(f"{label}: domains.placement_file is missing: placement 'custom' needs it")
    return found


def read_custom(path, groups, per_group, per_node, label):
    """Group of every node in physical order, int32[nodes], from a file; every group as large as it must be."""
    name = f"{label}: domains.placement_file"
    values = np.array(_numbers(path, name))
    if (values != np.floor(values)).any() or values.min() < 0 or values.max() >= groups:
        wrong = next(v for v in values if v != math.floor(v) or not 0 <= v < groups)
        raise UserError(f"{name} = {path!r}: {wrong:g}: groups are 0 to {groups - 1}")
    if per_group % per_node:
        raise UserError(
            f"{name} = {path!r}: cluster.gpus_per_group = {per_group} must be a multiple of gpus_per_node = {per_node}"
        )
    counts = np.bincount(values.astype(np.int64), minlength=groups)
    if (counts != per_group // per_node).any():
        g = int(np.flatnonzero(counts != per_group // per_node)[0])
        raise UserError(
            f"{name} = {path!r}: group {g} has {counts[g]} nodes; every group needs {per_group // per_node}"
        )
    return values.astype(np.int32)


def owners(parameters, custom=None):
    """The group of every GPU, in physical order: int32[GPUs]."""
    p = parameters
    groups, per_group = int(p["cluster.groups"]), int(p["cluster.gpus_per_group"])
    per_node = int(p["cluster.gpus_per_node"])
    kind = p.get("domains.placement", "linear")
    if kind == "custom":
        return np.repeat(custom, per_node)
    if kind == "spread":
        whole, rest = divmod(per_group, per_node)
        everyone = np.arange(groups, dtype=np.int32)
        rounds = [np.repeat(everyone, per_node)] * whole + ([np.repeat(everyone, rest)] if rest else [])
        return np.concatenate(rounds)
    order = np.arange(groups, dtype=np.int64)
    if kind == "strided":
        order = order * int(p["domains.stride"]) % groups
    elif kind == "random":
        words = philox_words(groups, int(p["domains.placement_seed"]), _PLACE, 0)
        order = np.argsort(words, kind="stable")
    return np.repeat(order.astype(np.int32), per_group)


def members(domain, owner, domains):
    """What each domain takes out: ``(starts int64[domains + 1], groups int32[...])``, groups ascending in each.

    domain : int[GPUs], the domain of every GPU; owner : int32[GPUs], its group; domains : how many there are
    """
    groups = int(owner.max()) + 1
    # most neighbours belong together: only where something changes is a pair new
    change = np.flatnonzero((np.diff(domain) != 0) | (np.diff(owner) != 0)) + 1
    at = np.concatenate([[0], change])
    pairs = np.unique(domain[at].astype(np.int64) * groups + owner[at])
    starts = np.searchsorted(pairs, np.arange(domains + 1, dtype=np.int64) * groups)
    return starts.astype(np.int64), (pairs % groups).astype(np.int32)


def digest(*arrays):
    """SHA-256 of arrays, hex."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
