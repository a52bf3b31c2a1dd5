"""The cuda backend where it cannot run, or should not."""

import subprocess
import sys

import pytest
from cli_tools import refused

from spare_mc import backends, gpu, study
from spare_mc.errors import UserError

LARGE = {
    "study": {"measure": ["survival"]},
    "cluster": {"groups": 600},
    "layout": {"redundancy": 9},
    "sampling": {"trials": 10**9},
}


def asked(**changes):
    return study.load({name: LARGE.get(name, {}) | changes.get(name, {}) for name in {*LARGE, *changes}})


@pytest.fixture
def here(monkeypatch):
    """A machine with a GPU, as far as anyone asks."""
    monkeypatch.setattr(gpu, "missing", lambda: None)
    monkeypatch.setattr(gpu.cores, "allowed", lambda: 2)


@pytest.mark.skipif(gpu.missing() is None, reason="there is a GPU")
def test_asking_for_it_in_vain_is_one_line(capsys, path):
    line = refused(capsys, "run", "-N", 31, "-r", 5, "--backend", "cuda", "-o", path)
    assert "backend = 'cuda'" in line and gpu.missing() in line
    assert not path.exists()


def test_what_is_missing_is_named(monkeypatch):
    missing = gpu.missing.__wrapped__
    monkeypatch.setattr(gpu, "simulated", lambda: False)
    monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda name: None if name == "numba_cuda" else 1)
    assert missing() == "numba-cuda is not installed: pip install 'spare-mc[cuda]'"
    monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda name: 1)
    monkeypatch.setattr(gpu, "driver", gpu.driver.__wrapped__)
    monkeypatch.setattr(gpu, "_DRIVER", "libnone.so.7")
    assert "libnone.so.7 cannot be loaded" in missing()


def test_a_driver_without_a_gpu_is_told_by_its_answer(monkeypatch):
    class Library:
        def cuInit(self, flags):
            return self.status

        def cuDeviceGetCount(self, count):
            count._obj.value = self.gpus
            return 0

    library = Library()
    monkeypatch.setattr(gpu.ctypes, "CDLL", lambda name: library)
    for library.status, library.gpus, told in (
        (100, 0, "cuInit answers 100"),
        (0, 0, "finds no GPU"),
        (0, 3, None),
    ):
        count, reason = gpu.driver.__wrapped__()
        assert count == library.gpus
        assert reason is None if told is None else told in reason


def test_auto_takes_a_gpu_for_large_studies_only(here, monkeypatch):
    assert backends.choose("auto", ("survival",), asked()).name == "cuda"
    assert backends.choose("auto", ("survival",), asked(sampling={"trials": 10**6})).name != "cuda"
    assert backends.choose("auto", ("survival",)).name != "cuda"  # of unknown size
    monkeypatch.setattr(gpu, "missing", lambda: "there is none")
    assert backends.choose("auto", ("survival",), asked()).name != "cuda"


def test_auto_takes_another_backend_for_what_a_gpu_cannot_do(here):
    large = asked(
        study={"measure": ["survival", "stacks"]}, cluster={"groups": 70_000}, layout={"kind": "contiguous"}
    )
    assert backends.choose("auto", large.measures, large).name != "cuda"
    with pytest.raises(UserError, match=r"^backend = 'cuda': cannot do stacks of 70000 groups"):
        backends.choose("cuda", large.measures, large)
    shared = asked(failures={"system_mtbf": 300, "lemon_share": 0.01, "lemon_rate": 10})
    assert backends.choose("auto", shared.measures, shared).name != "cuda"
    with pytest.raises(UserError, match=r"^backend = 'cuda': cannot do survival under a failure stream"):
        backends.choose("cuda", shared.measures, shared)


def test_threads_are_no_more_than_streams(monkeypatch):
    monkeypatch.setattr(gpu, "count", lambda: 3)
    assert backends.BACKENDS["cuda"].workers(64) == 6
    assert backends.BACKENDS["cuda"].workers(2) == 2
    assert backends.BACKENDS["numba"].workers(64) == 64


def test_other_backends_load_nothing_of_cuda():
    program = (
        "import sys, spare_mc\n"
        "spare_mc.survival(spare_mc.Layout.golomb(7, 3), trials=10, seed=1)\n"
        "print([name for name in sys.modules if name.startswith('numba.cuda') or '.cuda_' in name])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
