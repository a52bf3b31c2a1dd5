"""Who hosts what: every table against the definition written out in plain Python, and every refusal."""

import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

from spare_mc.disjoint import disjoint_permutations, philox_words
from spare_mc.errors import UserError
from spare_mc.layouts import KINDS, MAX_CELLS, Layout

SMALL = [(n, r) for n in range(2, 14) for r in range(1, n + 1)]


def plain_stacks(layout):
    """The stacks as the definitions say, from the parameters alone."""
    n, r = layout.groups, layout.redundancy
    if layout.kind == "partition":
        stacks = []
        for group in range(n):
            block = [t for t in range(n) if t // r == group // r]
            member = group % r
            stacks.append(block[member:] + block[:member])
        return stacks
    offsets = range(r) if layout.kind == "contiguous" else layout.offsets
    return [[(group + o) % n for o in offsets] for group in range(n)]


def check_tables(layout, stacks=None):
    """Tables, single stacks and hosts agree with each other, and with ``stacks`` where given."""
    n, r = layout.groups, layout.redundancy
    table, hosts = layout.stack_table(), layout.host_table()
    for array in (table, hosts):
        assert array.shape == (n, r) and array.dtype == np.int32
        assert array.flags.c_contiguous and not array.flags.writeable
    rows = [[t for t in row if t >= 0] for row in table.tolist()]
    assert table.tolist() == [row + [-1] * (r - len(row)) for row in rows]
    if stacks is not None:
        assert rows == stacks
    expected = [[] for _ in range(n)]
    for place in range(r):
        for group, row in enumerate(rows):
            if place < len(row):
                expected[row[place]].append(group)
    for index in range(n):
        assert len(set(rows[index])) == len(rows[index])
        assert layout.stack(index).tolist() == rows[index] and layout.stack(index).dtype == np.int32
        assert layout.hosts(index).tolist() == expected[index] and layout.hosts(index).dtype == np.int32
        assert hosts[index].tolist() == expected[index] + [-1] * (r - len(expected[index]))
    assert [row[0] for row in rows] == list(range(n)) or layout.table is not None
    for place in range(r):
        column = [row[place] for row in rows if place < len(row)]
        held = range(n) if len(column) == n else range(n - n % r)  # beyond: the whole blocks of a partition
        assert sorted(column) == list(held)


@pytest.mark.parametrize("kind", ["contiguous", "partition"])
def test_tables_follow_the_definition(kind):
    for n, r in SMALL:
        layout = Layout.from_kind(kind, n, r)
        assert layout.block == (r if kind == "partition" else None)
        check_tables(layout, plain_stacks(layout))


def test_golomb_and_custom_tables_follow_their_offsets():
    check_tables(Layout.golomb(13, 4), plain_stacks(Layout.golomb(13, 4)))
    for n in range(2, 7):
        for r in range(1, n + 1):
            for rest in itertools.permutations(range(1, n), r - 1):
                layout = Layout.custom(n, (0, *rest))
                assert layout.offsets == (0, *rest)
                check_tables(layout, plain_stacks(layout))
    assert Layout.custom(10, np.array([0, -1, 12])).offsets == (0, 9, 2)


def test_short_last_block():
    layout = Layout.partition(7, 3)
    assert layout.stack_table().tolist()[3:] == [[3, 4, 5], [4, 5, 3], [5, 3, 4], [6, -1, -1]]
    assert layout.hosts(4).tolist() == [4, 3, 5]
    assert layout.hosts(6).tolist() == [6]


def test_random_tables_are_disjoint_permutations():
    for n, r in SMALL:
        for seed in range(3):
            check_tables(Layout.random(n, r, seed))
    for n, r in ((100, 100), (600, 9), (1000, 130), (10_000, 20)):  # 1000, 130: both ways of drawing a place
        table = Layout.random(n, r, 5).stack_table()
        assert (np.sort(table, axis=0) == np.arange(n)[:, None]).all()
        assert (np.diff(np.sort(table, axis=1), axis=1) > 0).all()
        assert (table[:, 0] == np.arange(n)).all()


def test_random_is_a_function_of_its_seed():
    first = Layout.random(50, 20, 7).stack_table()
    assert (first == Layout.random(50, 20, 7).stack_table()).all()
    assert (first != Layout.random(50, 20, 8).stack_table()).any()
    assert (first != Layout.random(50, 20, 7 + 2**32).stack_table()).any()
    assert (first[:, :6] == Layout.random(50, 6, 7).stack_table()).all()
    # Pinned: stored results depend on these tables, on every machine and version of numpy.
    table = Layout.random(6, 6, 1).stack_table().tolist()
    assert table == PINNED_6
    assert Layout.random(1000, 9, 2**64 - 1).digest().startswith(PINNED_1000)


def test_random_places_are_spread_evenly():
    # By walks (N = 4): the nine derangements, Binomial(900, 1/9) each, mean 100, deviation 9.4. By swaps (N = 8):
    # each group gets each of 7 types, Binomial(900, 1/7), mean 129, deviation 10.5. Bands of over four
    # deviations, wide enough for the small bias of the repair.
    counts = {}
    for seed in range(900):
        place = tuple(disjoint_permutations(4, 2, seed)[1].tolist())
        counts[place] = counts.get(place, 0) + 1
    derangements = [p for p in itertools.permutations(range(4)) if all(i != t for i, t in enumerate(p))]
    assert sorted(counts) == sorted(derangements)
    assert min(counts.values()) > 60 and max(counts.values()) < 140
    pairs = np.zeros((8, 8), dtype=int)
    for seed in range(900):
        pairs[np.arange(8), disjoint_permutations(8, 2, seed)[1]] += 1
    others = pairs[~np.eye(8, dtype=bool)]
    assert np.trace(pairs) == 0 and others.min() > 80 and others.max() < 180


def plain_philox(counter, key):
    """Philox4x32-10 with Python integers (Salmon et al., SC11)."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        high0, low0 = divmod(c0 * 0xD2511F53, 2**32)
        high1, low1 = divmod(c2 * 0xCD9E8D57, 2**32)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return [c0, c1, c2, c3]


def test_random_words_are_philox():
    # Known answers of the Random123 distribution.
    known = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert plain_philox((0, 0, 0, 0), (0, 0)) == known
    known = [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]
    assert plain_philox((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)) == known
    seed, place, stage = 0x299F31D0A4093822, 77, (1 << 31) + 5
    words = philox_words(10, seed, place, stage, first=3).tolist()
    draws = [plain_philox((i, (3 << 24) + place, stage, 0), (seed % 2**32, seed >> 32)) for i in (3, 4, 5)]
    assert words == list(itertools.chain(*draws))[:10]


def test_equal_hosting_has_equal_digests():
    n, r = 12, 4
    same = [Layout.contiguous(n, r), Layout.custom(n, range(r)), Layout.custom(n, [0, 1, 2 + n, 3 - n])]
    same.append(Layout.from_table(same[0].stack_table()))
    assert len({layout.digest() for layout in same}) == 1 and len(set(same)) == 1
    blocks = Layout.partition(n, r)
    assert Layout.from_table(blocks.stack_table()) == blocks
    assert Layout.golomb(13, 4) == Layout.custom(13, (0, 1, 4, 6))
    mixed = Layout.random(n, r, 3)
    assert Layout.from_table(mixed.stack_table()) == mixed
    assert Layout.partition(n, n) == Layout.contiguous(n, n)
    assert len({Layout.from_kind(kind, n, 1) for kind in KINDS[:4]}) == 1


def test_different_hosting_has_different_digests():
    tables = {}
    layouts = [
        Layout.from_kind(kind, n, r) for kind in ("contiguous", "partition", "random") for n, r in SMALL
    ]
    layouts += [
        Layout.custom(5, (0, *rest)) for r in range(5) for rest in itertools.permutations(range(1, 5), r)
    ]
    for layout in layouts:
        content = tables.setdefault(layout.digest(), layout.stack_table().tolist())
        assert content == layout.stack_table().tolist()
    assert len(tables) == len({str(content) for content in tables.values()})
    assert Layout.custom(5, (0, 1, 2)) != Layout.custom(5, (0, 2, 1))
    assert Layout.contiguous(5, 2) != "contiguous"


def test_large_circulant_layouts_stay_small():
    layout = Layout.golomb(600_000, 9)
    layout.digest()
    assert layout.stack(599_999).tolist() == [(599_999 + o) % 600_000 for o in layout.offsets]
    assert layout.hosts(0).tolist() == [-o % 600_000 for o in layout.offsets]
    blocks = Layout.partition(600_000, 7)
    assert blocks.hosts(599_999).tolist() == [599_999, 599_998, 599_997, 599_996, 599_995][: 600_000 % 7]
    assert "_stacks" not in vars(layout) and "_hosts" not in vars(layout) and "_stacks" not in vars(blocks)


def test_tables_are_made_once_and_not_pickled():
    layout = Layout.contiguous(1000, 9)
    assert layout.stack_table() is layout.stack_table() and layout.host_table() is layout.host_table()
    packed = pickle.dumps(layout)
    assert len(packed) < 1000
    assert pickle.loads(packed) == layout
    table = pickle.loads(pickle.dumps(Layout.from_table([[0, 1], [2, 0], [1, 2]])))
    assert table.stack(1).tolist() == [2, 0] and not table.stack_table().flags.writeable


def test_layouts_cannot_be_changed():
    layout = Layout.contiguous(5, 2)
    with pytest.raises(AttributeError):
        layout.groups = 6
    with pytest.raises(ValueError, match="read-only"):
        layout.stack_table()[0, 0] = 3
    given = np.array([[0, 1], [1, 0]])
    table = Layout.from_table(given)
    given[0] = 9
    assert table.stack_table().tolist() == [[0, 1], [1, 0]]


def test_repr_says_what_it_is():
    assert repr(Layout.golomb(13, 4)) == "Layout(golomb, groups=13, redundancy=4, offsets=(0, 1, 4, 6))"
    assert repr(Layout.random(5, 2, 9)) == "Layout(random, groups=5, redundancy=2, seed=9)"
    assert repr(Layout.partition(5, 2)) == "Layout(partition, groups=5, redundancy=2)"
    assert "table 3 x 1" in repr(Layout.from_table([[0], [1], [2]]))
    assert len(repr(Layout.custom(1000, range(1000)))) < 120


def test_from_kind_hands_the_keys_on(tmp_path):
    assert Layout.from_kind("random", 9, 3, seed=4) == Layout.random(9, 3, 4)
    assert Layout.from_kind("golomb", 9, 3, seed=4).kind == "golomb"
    assert Layout.from_kind("custom", 9, None, offsets=[0, 3]).offsets == (0, 3)
    assert Layout.from_kind("custom", 9, 2, offsets=[0, 3]).redundancy == 2
    path = tmp_path / "table.csv"
    path.write_text("0,1\n1,2\n2,0\n")
    assert Layout.from_kind("custom", file=path) == Layout.from_kind("custom", 3, 2, file=str(path))
    assert Layout.from_kind("custom", file=path) == Layout.contiguous(3, 2)


@pytest.mark.parametrize("form", ["csv", "txt", "npy"])
def test_files_round_trip(tmp_path, form):
    table = Layout.random(20, 5, 1).stack_table()
    path = tmp_path / f"table.{form}"
    if form == "npy":
        np.save(path, table)
    else:
        np.savetxt(path, table, fmt="%d", delimiter="," if form == "csv" else " ", header="stacks")
    layout = Layout.from_file(path)
    assert layout == Layout.random(20, 5, 1) and layout.kind == "custom" and layout.offsets is None


def refused(make, *parts):
    with pytest.raises(UserError) as caught:
        make()
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message


@pytest.mark.parametrize("kind", ["golomb", "contiguous", "partition", "random"])
def test_bad_sizes_are_refused(kind):
    for groups in (1, 0, -5, MAX_CELLS + 1):
        refused(
            lambda n=groups: Layout.from_kind(kind, n, 1), f"cluster.groups = {groups}", "from 2 to 2**27"
        )
    for redundancy in (0, -1, 11):
        refused(
            lambda r=redundancy: Layout.from_kind(kind, 10, r),
            f"layout.redundancy = {redundancy}",
            "from 1 to",
        )
    for bad in (True, 2.0, "3", None, np.float64(3), np.True_, [3]):
        refused(lambda v=bad: Layout.from_kind(kind, v, 1), "cluster.groups", repr(bad), "integer")
        refused(lambda v=bad: Layout.from_kind(kind, 10, v), "layout.redundancy", repr(bad), "integer")
    refused(lambda: Layout.from_kind(kind, 600_000, 224), "cluster.groups = 600000", "= 224", "2**27")
    assert Layout.from_kind(kind, np.int64(10), np.uint8(3)).redundancy == 3


def test_bad_seeds_are_refused():
    for seed in (-1, 2**64, 1.0, None, True):
        refused(lambda s=seed: Layout.random(5, 2, s), f"layout.seed = {seed}")


def test_bad_offsets_are_refused():
    refused(lambda: Layout.custom(10, []), "layout.offsets = []")
    refused(lambda: Layout.custom(10, [1, 2]), "layout.offsets = 1", "must be 0")
    refused(lambda: Layout.custom(10, [0, 3, 3]), "layout.offsets = 3", "same as 3")
    refused(lambda: Layout.custom(10, [0, 3, 13]), "layout.offsets = 13", "same as 3", "10 groups")
    refused(lambda: Layout.custom(10, [0, 1.5]), "layout.offsets = 1.5", "integer")
    refused(lambda: Layout.custom(10, [0, True]), "layout.offsets = True", "integer")
    refused(lambda: Layout.custom(10, 4), "layout.offsets = 4", "list")
    refused(lambda: Layout.custom(10, "012"), "layout.offsets = '0'", "integer")
    refused(lambda: Layout.custom(1, [0]), "cluster.groups = 1")


def test_bad_indices_are_refused():
    layout = Layout.contiguous(5, 2)
    refused(lambda: layout.stack(5), "group = 5", "from 0 to 4")
    refused(lambda: layout.hosts(-1), "type = -1", "from 0 to 4")


TABLES = [
    ([0, 1, 2], ("N rows and r columns", "1 dimension")),
    ([[0, 1], [1]], ("rows of one length",)),
    ([[0]], ("1 rows", "at least 2")),
    ([[], []], ("2 rows, 0 columns",)),
    ([[0, 1, 0], [1, 0, 1]], ("2 rows, 3 columns",)),
    ([[0, 1.5], [1, 0]], ("row 0, column 0", "0.0 is not an integer")),
    ([[False, True], [True, False]], ("row 0, column 0", "False is not an integer")),
    ([["0", "1"], ["1", "0"]], ("row 0, column 0", "'0' is not an integer")),
    ([[0, 1], [1, 2**70]], ("32 bits",)),
    ([[0, 1], [2, 0]], ("row 1, column 0", "type 2 is not in 0..1", "2 groups")),
    ([[0, -1], [1, 0]], ("row 0, column 1", "type -1")),
    ([[0, 1, 2], [1, 2, 0], [2, 2, 1]], ("row 2", "type 2 twice")),
    ([[0, 1], [1, 0], [0, 1]], ("type 2 has no host",)),
    ([[0, 1], [1, 2], [0, 2]], ("column 0", "type 0 2 times", "type 2 never")),
    ([[0, 1], [1, 0], [2, 1]], ("column 1", "type 1 2 times", "type 2 never")),
]


@pytest.mark.parametrize(("table", "parts"), TABLES)
def test_bad_tables_are_refused(table, parts):
    refused(lambda: Layout.from_table(table), "table: ", *parts)


def test_padded_tables_are_refused():
    refused(lambda: Layout.from_table(Layout.partition(5, 2).stack_table()), "row 4, column 1", "type -1")


FILES = [
    ("", "empty"),
    ("# only a comment\n\n", "empty"),
    ("0,1\n1,x\n", "row 1, column 1 (from 0): 'x' is not an integer"),
    ("0,1\n1.0,0\n", "row 1, column 0 (from 0): '1.0' is not an integer"),
    ("0,1,\n1,0,\n", "row 0, column 2 (from 0): '' is not an integer"),
    ("0,1\n1\n", "row 1 (from 0) has 1 entries, row 0 has 2"),
    ("0,1\n1,7\n", "row 1, column 1 (from 0): type 7 is not in 0..1"),
]


@pytest.mark.parametrize(("text", "part"), FILES)
def test_bad_files_are_refused(tmp_path, text, part):
    path = tmp_path / "table.csv"
    path.write_text(text)
    refused(lambda: Layout.from_file(path), f"{path}: ", part)


def test_unreadable_files_are_refused(tmp_path):
    for name in ("none.csv", "none.npy"):
        refused(lambda n=name: Layout.from_file(tmp_path / n), name, "cannot be read", "No such file")
    refused(lambda: Layout.from_file(tmp_path), str(tmp_path), ".csv, .txt or .npy")
    (tmp_path / "folder.txt").mkdir()
    refused(lambda: Layout.from_file(tmp_path / "folder.txt"), "folder.txt", "cannot be read")
    (tmp_path / "empty.npy").touch()
    refused(lambda: Layout.from_file(tmp_path / "empty.npy"), "empty.npy", "empty")
    for name in ("noise.npy", "noise.csv"):
        (tmp_path / name).write_bytes(b"\x93NUMPX\xff\xfe\x00")
        refused(lambda n=name: Layout.from_file(tmp_path / n), name, "not a readable")
    np.save(tmp_path / "floats.npy", np.eye(3))
    refused(lambda: Layout.from_file(tmp_path / "floats.npy"), "floats.npy", "1.0 is not an integer")
    np.save(tmp_path / "objects.npy", np.array([[0, None]]), allow_pickle=True)
    refused(lambda: Layout.from_file(tmp_path / "objects.npy"), "objects.npy", "not a readable")
    refused(lambda: Layout.from_file(7), "layout.file = 7")


def test_bad_kinds_and_combinations_are_refused(tmp_path):
    refused(lambda: Layout.from_kind("golom", 9, 3), "layout.kind = 'golom'", "'golomb'", "partition")
    refused(lambda: Layout.from_kind("Partition", 9, 3), "'partition'")
    refused(lambda: Layout.from_kind("xyzzy", 9, 3), "layout.kind = 'xyzzy'", *KINDS)
    refused(lambda: Layout.from_kind(None, 9, 3), "layout.kind = None")
    refused(lambda: Layout.from_kind("golomb", 9, 3, offsets=[0, 1, 3]), "layout.offsets", "custom")
    refused(lambda: Layout.from_kind("random", 9, 3, file="x.csv"), "layout.file = x.csv", "custom")
    refused(lambda: Layout.from_kind("custom", 9, 3), "one of layout.offsets and layout.file")
    refused(lambda: Layout.from_kind("custom", 9, 3, offsets=[0], file="x.csv"), "one of")
    refused(lambda: Layout.from_kind("custom", 9, 3, offsets=[0, 1]), "layout.redundancy = 3", "makes it 2")
    path = tmp_path / "table.txt"
    path.write_text("0 1\n1 2\n2 0\n")
    refused(lambda: Layout.from_kind("custom", 9, file=path), "cluster.groups = 9", str(path), "makes it 3")


def test_importing_layouts_stays_light():
    code = (
        "import sys, spare_mc.layouts as l; l.Layout.golomb(1000, 30 - 3).digest(); l.Layout.random(9, 2).digest();"
        "print([m for m in ('numba', 'h5py', 'matplotlib', 'scipy') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


PINNED_6 = [
    [0, 2, 3, 1, 4, 5],
    [1, 0, 2, 5, 3, 4],
    [2, 3, 4, 0, 5, 1],
    [3, 5, 0, 4, 1, 2],
    [4, 1, 5, 3, 2, 0],
    [5, 4, 1, 2, 0, 3],
]
PINNED_1000 = "08b498c7d976cc0f"
