"""How a layout is prepared for lives under a failure stream; shared by all backends, so it imports no compiler."""

from typing import NamedTuple

import numpy as np

from . import controller_state, stacks_plan


class Hosting(NamedTuple):
    """Which types are lost with which groups: for the end of a pattern."""

    types: np.ndarray  # uint32[N, r]: types that each group hosts, padded with N
    hosts: np.ndarray  # int32[N + 1]: groups that host each type; the last, of no type, never runs out


class StackLayout(NamedTuple):
    """A layout prepared for least stacks."""

    hosting: Hosting
    stacks: stacks_plan.Plan


class ReorderLayout(NamedTuple):
    """A layout prepared for lives of the controller."""

    hosting: Hosting
    controller: controller_state.Plan


def hosting(stacks):
    """The :class:`Hosting` of a layout; stacks: int32[N, r], types that each group hosts, padded with -1."""
    stacks = np.asarray(stacks)
    groups = len(stacks)
    hosts = np.append(np.bincount(stacks[stacks >= 0], minlength=groups), 2**30).astype(np.int32)
    types = np.where(stacks < 0, groups, stacks).astype(np.uint32)
    for array in (hosts, types):
        array.flags.writeable = False
    return Hosting(types, hosts)


def survival_layout(hosts, stacks):
    """Prepare a layout: its host and stack tables, int32[N, r] padded with -1."""
    return hosting(stacks)


def stack_layout(hosts, stacks):
    """Prepare a layout; tables, and errors, as of ``stacks_plan.plan``."""
    return StackLayout(hosting(stacks), stacks_plan.plan(hosts, stacks))


def reorder_layout(hosts, stacks):
    """Prepare a layout; tables as of ``controller_state.plan``."""
    return ReorderLayout(hosting(stacks), controller_state.plan(hosts, stacks))
