"""Who hosts what: the stack of shard types of every data-parallel group.

``N`` groups, ``N`` types, redundancy ``r``: a stack holds ``r`` types, a type has ``r`` hosts, and
each place of the stacks holds every type once (so a depth of one stack covers all types before any failure).
Groups, types and places count from 0. Five kinds:

golomb      group g hosts (g + o_j) mod N, all differences of offsets distinct modulo N (see ``golomb``)
contiguous  offsets 0, 1, .. r-1
partition   blocks of r consecutive groups host the same r types: process replication. If r does not divide N,
            the last block is smaller, and its types have fewer hosts
random      r disjoint random permutations (see ``disjoint``)
custom      offsets, or a whole table, of the user's
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from . import golomb
from .disjoint import disjoint_permutations
from .errors import UserError
from .tables import checked_table, read_table

KINDS = ("golomb", "contiguous", "partition", "random", "custom")
MAX_CELLS = 2**27  # groups * redundancy: the tables are int32, half a gigabyte each at this size


@dataclass(frozen=True, eq=False, repr=False)
class Layout:
    """Which types each group hosts, and in which stack order. Made by its class methods, which check.

    Attributes
    ----------
    kind : str
        One of ``KINDS``.
    groups : int
        N, the number of groups and of shard types.
    redundancy : int
        r, the length of a stack.
    offsets : tuple of int, or None
        o_0 = 0 .. o_{r-1}: place j of group g's stack holds type (g + o_j) mod N. None where there are none.
    seed : int or None
        Of a random layout.

    Two layouts are equal when they host the same types in the same stack order, whatever their kinds.
    """

    kind: str
    groups: int
    redundancy: int
    offsets: tuple | None = None
    seed: int | None = None
    table: np.ndarray | None = None

    # How each kind is made

    @classmethod
    def golomb(cls, groups, redundancy):
        """Offsets with all differences distinct modulo N: two groups share at most one type."""
        groups, redundancy = _size(groups, redundancy)
        return cls("golomb", groups, redundancy, golomb.offsets(groups, redundancy))

    @classmethod
    def contiguous(cls, groups, redundancy):
        """Offsets 0 .. r-1."""
        groups, redundancy = _size(groups, redundancy)
        return cls("contiguous", groups, redundancy, tuple(range(redundancy)))

    @classmethod
    def partition(cls, groups, redundancy):
        """Blocks of r groups that host the same r types; member j's stack starts at the block's j-th type."""
        groups, redundancy = _size(groups, redundancy)
        return cls("partition", groups, redundancy)

    @classmethod
    def random(cls, groups, redundancy, seed=0):
        """r disjoint random permutations, the first the identity; see ``disjoint``."""
        groups, redundancy = _size(groups, redundancy)
        seed = _integer("layout.seed", seed, 0, 2**64 - 1, "2**64 - 1")
        return cls("random", groups, redundancy, seed=seed)

    @classmethod
    def custom(cls, groups, offsets):
        """Any offsets, distinct modulo N, the first 0; they are stored modulo N, in the order given."""
        groups = _integer("cluster.groups", groups, 2, MAX_CELLS, "2**27")
        try:
            given = list(offsets)
        except TypeError:
            raise UserError(f"layout.offsets = {offsets!r}: a list of integers is needed") from None
        if not given:
            raise UserError("layout.offsets = []: at least the offset 0 is needed")
        reduced = []
        seen = {}
        for offset in given:
            value = _integer("layout.offsets", offset) % groups
            if value in seen:
                raise UserError(
                    f"layout.offsets = {offset}: the same as {seen[value]} modulo {groups} groups; "
                    "offsets must differ modulo cluster.groups"
                )
            seen[value] = offset
            reduced.append(value)
        if reduced[0]:
            raise UserError(f"layout.offsets = {given[0]}, ...: the first offset must be 0")
        groups, redundancy = _size(groups, len(reduced))
        return cls("custom", groups, redundancy, tuple(reduced))

    @classmethod
    def from_table(cls, table):
        """A whole table, int[N, r]: row g is group g's stack. Every column must hold every type once."""
        return cls._from_checked(checked_table(table, "table", MAX_CELLS))

    @classmethod
    def from_file(cls, path):
        """A table from a .npy file, or a .csv or .txt file with one line per group, its types 0-based."""
        return cls._from_checked(checked_table(read_table(path), str(path), MAX_CELLS))

    @classmethod
    def _from_checked(cls, table):
        table.flags.writeable = False
        return cls("custom", *table.shape, table=table)

    @classmethod
    def from_kind(cls, kind, groups=None, redundancy=None, offsets=None, file=None, seed=0):
        """The layout a study's keys describe; ``seed`` is read by random layouts only.

        ``custom`` takes one of ``offsets`` (with ``groups``) or ``file``; ``redundancy``, and with a file
        ``groups``, may be left out there, and must agree where given.
        """
        if not isinstance(kind, str) or kind not in KINDS:
            import difflib

            near = difflib.get_close_matches(str(kind).lower(), KINDS, 1, 0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise UserError(f"layout.kind = {kind!r}: {hint}Known kinds: {', '.join(KINDS)}")
        if kind != "custom":
            for key, value in (("layout.offsets", offsets), ("layout.file", file)):
                if value is not None:
                    raise UserError(f"{key} = {value}: only layout.kind = 'custom' takes it, not {kind!r}")
            if kind == "random":
                return cls.random(groups, redundancy, seed)
            return getattr(cls, kind)(groups, redundancy)
        if (offsets is None) == (file is None):
            raise UserError("layout.kind = 'custom': give one of layout.offsets and layout.file")
        layout = cls.custom(groups, offsets) if file is None else cls.from_file(file)
        origin = "layout.offsets" if file is None else str(file)
        for key, given, found in (
            ("cluster.groups", groups, layout.groups),
            ("layout.redundancy", redundancy, layout.redundancy),
        ):
            if given is not None and given != found:
                raise UserError(
                    f"{key} = {given}: {origin} makes it {found}; leave it out or make them agree"
                )
        return layout

    # What is where

    @property
    def block(self):
        """Block size of a partition; None for the other kinds."""
        return self.redundancy if self.kind == "partition" else None

    def stack(self, group):
        """int32[<= r], the types group ``group`` hosts, in stack order."""
        group = _integer("group", group, 0, self.groups - 1)
        if self.offsets is not None:
            return ((np.array(self.offsets, dtype=np.int64) + group) % self.groups).astype(np.int32)
        if self.kind == "partition":
            start, size = self._block_of(group)
            return (start + (np.arange(size, dtype=np.int32) + (group - start)) % size).astype(np.int32)
        return self.stack_table()[group]

    def hosts(self, shard):
        """int32[<= r], the groups that host type ``shard``, in the order of the stack place they hold it at."""
        shard = _integer("type", shard, 0, self.groups - 1)
        if self.offsets is not None:
            return ((shard - np.array(self.offsets, dtype=np.int64)) % self.groups).astype(np.int32)
        if self.kind == "partition":
            start, size = self._block_of(shard)
            return (start + (shard - start - np.arange(size, dtype=np.int32)) % size).astype(np.int32)
        return self.host_table()[shard]

    def stack_table(self):
        """int32[N, r], read-only: row g is group g's stack; -1 at the end where a last block is short."""
        return self._stacks

    def host_table(self):
        """int32[N, r], read-only: row t lists type t's hosts by stack place; -1 likewise."""
        return self._hosts

    def _padded(self, group):
        stack = self.stack(group)
        return np.pad(stack, (0, self.redundancy - len(stack)), constant_values=-1)

    def _block_of(self, index):
        start = index - index % self.redundancy
        return start, min(self.redundancy, self.groups - start)

    @cached_property
    def _stacks(self):
        if self.table is not None:
            return self.table
        if self.offsets is not None:
            return self._circulant(1)
        if self.kind == "partition":
            return self._blocks(1)
        return _frozen(disjoint_permutations(self.groups, self.redundancy, self.seed).T)

    @cached_property
    def _hosts(self):
        if self.offsets is not None:
            return self._circulant(-1)
        if self.kind == "partition":
            return self._blocks(-1)
        stacks = self._stacks
        hosts = np.empty_like(stacks)
        everyone = np.arange(self.groups, dtype=np.int32)
        for place in range(self.redundancy):
            hosts[stacks[:, place], place] = everyone
        return _frozen(hosts)

    def _circulant(self, sign):
        table = np.arange(self.groups, dtype=np.int32)[:, None] + np.int32(sign) * np.array(
            self.offsets, dtype=np.int32
        )
        table %= np.int32(self.groups)
        return _frozen(table)

    def _blocks(self, sign):
        index = np.arange(self.groups, dtype=np.int32)[:, None]
        place = np.arange(self.redundancy, dtype=np.int32)
        start = index - index % np.int32(self.redundancy)
        size = np.minimum(np.int32(self.redundancy), np.int32(self.groups) - start)
        table = start + (index - start + np.int32(sign) * place) % size
        table[place >= size] = -1
        return _frozen(table)

    # Identity

    def digest(self):
        """Hex SHA-256 of what hosts what and in which order; layouts that agree in that share it."""
        return self._digest

    @cached_property
    def _digest(self):
        n, r = self.groups, self.redundancy
        if self.offsets is not None:
            return _hash(f"offsets {n} {r} {self.offsets}")
        if self.kind == "partition":
            # One block, or blocks of one, are circulant tables too.
            return _hash(f"offsets {n} {r} {tuple(range(r))}" if r in (1, n) else f"partition {n} {r}")
        table = self._stacks
        for kin in (Layout("custom", n, r, tuple(table[0].tolist())), Layout("partition", n, r)):
            # The second row first: it settles most cases without a second table.
            if np.array_equal(table[1], kin._padded(1)) and np.array_equal(table, kin._stacks):
                return kin._digest
        return _hash(f"table {n} {r}", table.astype("<i4", copy=False))

    def __eq__(self, other):
        return self.digest() == other.digest() if isinstance(other, Layout) else NotImplemented

    def __hash__(self):
        return hash(self._digest)

    def __repr__(self):
        more = ""
        if self.kind == "random":
            more = f", seed={self.seed}"
        elif self.table is not None:
            more = f", table {self.groups} x {self.redundancy}"
        elif self.offsets is not None and self.kind != "contiguous":
            shown = self.offsets if self.redundancy <= 32 else (*self.offsets[:6], "...", self.offsets[-1])
            more = f", offsets=({', '.join(map(str, shown))})"
        return f"Layout({self.kind}, groups={self.groups}, redundancy={self.redundancy}{more})"

    def __getstate__(self):
        """Without the tables made on demand: a worker that needs them makes them again."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self.table is not None:
            self.table.flags.writeable = False


def _size(groups, redundancy):
    groups = _integer("cluster.groups", groups, 2, MAX_CELLS, "2**27")
    redundancy = _integer("layout.redundancy", redundancy, 1, groups, f"cluster.groups = {groups}")
    if groups * redundancy > MAX_CELLS:
        raise UserError(
            f"cluster.groups = {groups} with layout.redundancy = {redundancy}: "
            f"at most 2**27 = {MAX_CELLS} groups * redundancy"
        )
    return groups, redundancy


def _integer(key, value, low=None, high=None, high_name=None):
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise UserError(f"{key} = {value!r}: an integer is needed")
    value = int(value)
    if low is not None and not low <= value <= high:
        raise UserError(f"{key} = {value}: must be from {low} to {high_name or high}")
    return value


def _frozen(table):
    table = np.ascontiguousarray(table, dtype=np.int32)
    table.flags.writeable = False
    return table


def _hash(text, table=None):
    state = hashlib.sha256(f"spare-mc layout 1: {text}\n".encode())
    if table is not None:
        state.update(np.ascontiguousarray(table))
    return state.hexdigest()


def check_layout(layout):
    """The layout; UserError for anything that is not a Layout."""
    if not isinstance(layout, Layout):
        raise UserError(
            f"layout = {layout!r}: must be a spare_mc.Layout, e.g. spare_mc.Layout.golomb(600, 9)"
        )
    return layout
