"""Shared failure domains: events that take out every group with a member in a node, rack, pod, switch or power domain.

Domains are consecutive GPUs of a size, or what a table of hosts says. ``placement`` says which group lies where.
"""

import csv
import re
from pathlib import Path

import numpy as np

from . import placement
from .errors import UserError, nearest
from .laws import law
from .study_failures import DOMAIN_LEVELS


def resolved(section, cluster, per_group, label, placed=False):
    """``(parameters, inputs)`` of a study's section [domains].

    placed : whether something else, a replayed log, needs a placement
    inputs : dict of arrays that the parameters hold only by their hash: ``labels`` (level -> int32[hosts]), ``custom``
    """
    found, inputs = {}, {}
    levels = [level for level in DOMAIN_LEVELS if getattr(section, f"{level}_mtbf") is not None]
    _refuse_idle(section, levels, placed, label)
    if not levels and not placed:
        return found, inputs
    if per_group is None:
        raise UserError(f"{label}: [domains] and [replay] need cluster.gpus or cluster.gpus_per_group")
    found["cluster.gpus_per_node"] = cluster.gpus_per_node
    labels = _table(section, levels, label) if section.table is not None else {}
    if section.columns is not None and section.table is None:
        raise UserError(f"{label}: domains.columns = {section.columns!r}: needs domains.table")
    gpus = cluster.groups * per_group
    for level in levels:
        found |= _level(section, level, cluster, labels, label)
        size = found.get(f"domains.{level}_size", 0)
        if size > gpus:
            raise UserError(f"{label}: domains.{level}_size = {size}: the cluster has {gpus:,} GPUs")
        if level in labels:
            found[f"domains.{level}_domains"] = _count(labels[level], -(-gpus // cluster.gpus_per_node))
    if labels:
        inputs["labels"] = labels
        found["domains.table"] = placement.digest(*(labels[level] for level in sorted(labels)))
    found |= placement.resolved(section, cluster.groups, label)
    if section.placement == "custom":
        inputs["custom"] = placement.read_custom(
            section.placement_file, cluster.groups, per_group, cluster.gpus_per_node, label
        )
        found["domains.placement_digest"] = placement.digest(inputs["custom"])
    return found, inputs


def levels_of(parameters):
    """The levels that have events, in the order of DOMAIN_LEVELS."""
    return [level for level in DOMAIN_LEVELS if f"domains.{level}_mtbf" in parameters]


def level_law(parameters, level):
    """Law of the events of one domain of a level, mean in seconds."""
    p = parameters
    return law(
        p.get(f"domains.{level}_law", "exponential"),
        p[f"domains.{level}_mtbf"],
        p.get(f"domains.{level}_shape"),
    )


def members_of(parameters, level, owner, inputs):
    """What the domains of a level take out: ``(starts, groups)``, see ``placement.members``."""
    gpus = len(owner)
    labels = inputs.get("labels", {}).get(level)
    if labels is None:
        size = int(parameters[f"domains.{level}_size"])
        domain = np.arange(gpus, dtype=np.int64) // size
        return placement.members(domain, owner, -(-gpus // size))
    per_node = int(parameters["cluster.gpus_per_node"])
    copy, host = np.divmod(np.arange(-(-gpus // per_node), dtype=np.int64), len(labels))
    domain = np.repeat(copy * (int(labels.max()) + 1) + labels[host], per_node)[:gpus]
    kinds, domain = np.unique(domain, return_inverse=True)
    return placement.members(domain, owner, len(kinds))


def _count(labels, nodes):
    """Domains of a level that so many nodes lie in, the table taken over again where it ends."""
    copies, rest = divmod(nodes, len(labels))
    return copies * len(np.unique(labels)) + len(np.unique(labels[:rest]))


def _refuse_idle(section, levels, placed, label):
    """Refuse keys of levels without events, and a placement of nothing: they would do nothing."""
    for level in DOMAIN_LEVELS:
        for name in ("size", "law", "shape"):
            value = getattr(section, f"{level}_{name}")
            if level not in levels and value is not None:
                raise UserError(f"{label}: domains.{level}_{name} = {value!r}: needs domains.{level}_mtbf")
    if levels or placed:
        return
    for name in ("table", "columns", "stride", "placement_file"):
        if getattr(section, name) is not None:
            raise UserError(
                f"{label}: domains.{name} = {getattr(section, name)!r}: no level has events; give "
                "domains.rack_mtbf or another level's"
            )
    if section.placement != "linear":
        raise UserError(
            f"{label}: domains.placement = {section.placement!r}: nothing depends on it; give domains.rack_mtbf or "
            "another level's, or replay.log"
        )


def _level(section, level, cluster, labels, label):
    mtbf, size, name, shape = (getattr(section, f"{level}_{key}") for key in ("mtbf", "size", "law", "shape"))
    key = f"domains.{level}"
    try:
        law(name or "exponential", mtbf, shape)
    except UserError as error:
        raise UserError(f"{label}: {key}_{error}") from None
    found = {f"{key}_mtbf": float(mtbf)}
    if name not in (None, "exponential"):
        found |= {f"{key}_law": name, f"{key}_shape": shape}
    if level in labels:
        if size is not None:
            raise UserError(f"{label}: {key}_size = {size}: a column of domains.table says which these are")
        return found
    if size is None:
        if level != "node":
            what = "power domain" if level == "power" else level
            raise UserError(f"{label}: {key}_size is missing: how many GPUs one {what} has")
        size = cluster.gpus_per_node
    return found | {f"{key}_size": size}


def _table(section, levels, label):
    """level -> int32[hosts], the domain of every host, hosts in the order of their domains."""
    name = f"{label}: domains.table = {section.table!r}"
    try:
        rows = list(csv.reader(Path(section.table).read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, ValueError, csv.Error) as error:
        raise UserError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    rows = [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]
    if len(rows) < 2:
        raise UserError(f"{name}: must have a header and a row a node")
    header = rows[0]
    folded = [column.lower() for column in header]
    twice = next((column for column in header if folded.count(column.lower()) > 1), None)
    if twice is not None:
        raise UserError(f"{name}: column {twice!r} is there twice")
    uneven = next((i for i, row in enumerate(rows, 1) if len(row) != len(header)), None)
    if uneven:
        raise UserError(
            f"{name}: row {uneven} has {len(rows[uneven - 1])} cells; the header has {len(header)}"
        )
    columns = _columns(section.columns, header, name)
    lacking = [level for level in levels if level not in columns and level != "node"
               and getattr(section, f"{level}_size") is None]  # fmt: skip
    if lacking:
        raise UserError(
            f"{name}: no column {lacking[0]!r}; name it with domains.columns, such as {lacking[0]}={header[-1]}"
        )
    if not columns:
        raise UserError(
            f"{name}: no column is a level's; name them with domains.columns, such as rack={header[-1]}"
        )
    cells = {level: [row[header.index(column)] for row in rows[1:]] for level, column in columns.items()}
    for level, column in columns.items():
        if "" in cells[level]:
            raise UserError(f"{name}: row {cells[level].index('') + 2}: column {column!r} is empty")
    numbers = {level: _numbered(values) for level, values in cells.items()}
    coarse_first = sorted(numbers, key=lambda level: int(numbers[level].max()))
    order = np.lexsort([numbers[level] for level in reversed(coarse_first)])
    return {level: numbers[level][order] for level in columns}


def _columns(told, header, name):
    """level -> column of the table."""
    columns = {level: column for column in header for level in DOMAIN_LEVELS if column.lower() == level}
    for part in (told or "").split(",") if told else []:
        level, equals, column = (piece.strip() for piece in part.partition("="))
        if not equals or level not in DOMAIN_LEVELS:
            raise UserError(
                f"{name}: domains.columns: {part.strip()!r}: must be LEVEL=COLUMN, the level one of "
                f"{', '.join(DOMAIN_LEVELS)}"
            )
        if column not in header:
            raise UserError(f"{name}: domains.columns: no column {column!r}; {nearest(column, header)}")
        columns[level] = column
    return columns


def _numbered(values):
    """Labels as numbers, int32[n], in natural order: S2 before S10."""

    def natural(label):
        return [
            (0, int(part), "") if part.isdecimal() else (1, 0, part)
            for part in re.split(r"(\d+)", label)
            if part
        ]

    number = {label: i for i, label in enumerate(sorted(set(values), key=natural))}
    return np.array([number[value] for value in values], np.int32)
