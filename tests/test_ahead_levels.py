"""Which build of the Cython kernels is taken, and what is said when there is none."""

import os
import subprocess
import sys

import numpy as np
import pytest

from spare_mc import backends
from spare_mc.errors import UserError
from spare_mc.kernels import ahead_levels

BUILT = ahead_levels.built("ahead")
built = pytest.mark.skipif(not BUILT, reason="built without the Cython backend")


@pytest.fixture(autouse=True)
def forget():
    ahead_levels._level.cache_clear()
    yield
    ahead_levels._level.cache_clear()


def processor(monkeypatch, *flags):
    monkeypatch.setattr(ahead_levels, "_cpu_flags", lambda: frozenset(flags))
    monkeypatch.setattr(ahead_levels.platform, "machine", lambda: "x86_64")


def test_levels_are_cumulative(monkeypatch):
    v2, v3, v4 = (tuple(needs) for needs in ahead_levels.LEVELS.values())
    for flags, wanted in ((v2, ("v2",)), (v3, ("v2", "v3")), (v4, ("v2", "v3", "v4"))):
        processor(monkeypatch, *flags, "sse2")
        assert ahead_levels.supported() == wanted
    processor(monkeypatch, *(flag for flag in v4 if flag != "bmi2"))
    assert ahead_levels.supported() == ("v2",)
    processor(monkeypatch, "sse2")
    assert ahead_levels.supported() == ()


def test_other_processors_have_the_plain_build(monkeypatch):
    monkeypatch.setattr(ahead_levels.platform, "machine", lambda: "aarch64")
    assert ahead_levels.supported() == ("plain",) == ahead_levels.levels_of("aarch64")


def test_the_highest_level_is_taken(monkeypatch):
    monkeypatch.delenv(ahead_levels.VARIABLE, raising=False)
    monkeypatch.setattr(ahead_levels, "built", lambda stem: ("v2", "v3", "v4"))
    for level, needs in ahead_levels.LEVELS.items():
        ahead_levels._level.cache_clear()
        processor(monkeypatch, *needs)
        assert ahead_levels.level("ahead") == level
    monkeypatch.setattr(ahead_levels, "built", lambda stem: ("v2",))  # an old compiler made no more
    ahead_levels._level.cache_clear()
    assert ahead_levels.level("ahead") == "v2"


@pytest.mark.parametrize(
    ("wanted", "told"),
    [("v9", "no such level"), ("v4", "lacks"), ("plain", "no such level"), ("avx2", "no such level")],
)
def test_a_level_that_cannot_be_had_is_an_error(monkeypatch, wanted, told):
    processor(monkeypatch, *ahead_levels.LEVELS["v3"])
    monkeypatch.setattr(ahead_levels, "built", lambda stem: ("v2", "v3", "v4"))
    monkeypatch.setenv(ahead_levels.VARIABLE, wanted)
    with pytest.raises(
        ValueError, match=f"{ahead_levels.VARIABLE} = '{wanted}'.*{told}.*allowed here: v2, v3"
    ):
        ahead_levels.level("ahead")
    for name in ("cython", "auto"):
        with pytest.raises(UserError, match=ahead_levels.VARIABLE):
            backends.choose(name, ("survival",))


def test_nothing_built_says_so(monkeypatch):
    monkeypatch.setattr(ahead_levels, "built", lambda stem: ())
    with pytest.raises(ModuleNotFoundError, match="not built"):
        ahead_levels.load("ahead")
    with pytest.raises(UserError, match="cython.*compiler"):
        backends.choose("cython", ("survival",))
    assert backends.choose("auto", ("survival",)).name == "numba"


@built
@pytest.mark.parametrize("level", [level for level in ahead_levels.supported() if level in BUILT])
def test_every_level_computes_the_same(level):
    """In a process of its own, so that nothing is loaded yet, and by the long name too."""
    program = (
        "import numpy as np\n"
        "from spare_mc.kernels import ahead_levels\n"
        "module = ahead_levels.load('ahead')\n"
        "out = np.empty(40, np.int32)\n"
        "module.endurable(module.plan(45, 4, offsets=(0, 1, 4, 9)), 3, 2**32 - 20, out)\n"
        "print(module.__name__, *out)\n"
    )
    name = level if level == ahead_levels.PLAIN else f"x86-64-{level}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, ahead_levels.VARIABLE: name},
        capture_output=True,
        text=True,
        check=True,
    )
    from spare_mc.kernels import reference

    rows = [[(t - o) % 45 for o in (0, 1, 4, 9)] for t in range(45)]
    wanted = [reference.endurable(rows, 45, 3, 2**32 - 20 + i) for i in range(40)]
    assert done.stdout.split() == [f"spare_mc.kernels.ahead_{level}", *map(str, wanted)]
    assert np.ptp(wanted) > 5
