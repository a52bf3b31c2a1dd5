"""The engine: results do not depend on threads, blocks, their order, or on where a run was cut and resumed."""

import numpy as np
import pytest

import spare_mc
from spare_mc import engine, study
from spare_mc.errors import UserError
from spare_mc.layouts import Layout
from spare_mc.tallies import Tally, merge_spans, missing_spans

RAW = {
    "study": {"seed": 11, "name": "engine"},
    "cluster": {"groups": [13, 31]},
    "layout": {"kind": ["golomb", "contiguous"], "redundancy": 3},
    "sampling": {"trials": 5000},
}


def run(raw=RAW, memory=None, **options):
    memory = memory or engine.Memory()
    loaded = study.load(raw)
    engine.run(loaded, have=memory.tally, keep=memory.add, **options)
    return engine.results(loaded, memory.tally)


def histograms(results):
    return [r.tallies["survival"].counts["endurable_failures"].tolist() for r in results]


def test_threads_and_block_sizes_do_not_show(monkeypatch):
    expected = histograms(run(threads=1))
    assert [sum(h) for h in expected] == [5000] * 4
    for keys, threads in ((2**25, 3), (13 * 7, 1), (13 * 7, 4), (13 * 1000 + 5, 2)):
        monkeypatch.setattr(engine, "_KEYS_PER_BLOCK", keys)
        assert histograms(run(threads=threads)) == expected


def test_backends_agree():
    small = {**RAW, "sampling": {"trials": 300}}
    expected = histograms(run(small, backend="reference"))
    assert histograms(run(small, backend="numba")) == expected


def test_resuming_recounts_nothing():
    memory = engine.Memory()
    run({**RAW, "sampling": {"trials": 1234}}, memory)
    done = []
    resumed = run(RAW, memory, progress=lambda p: done.append(p.done))
    assert histograms(resumed) == histograms(run())
    assert done[0] > 4 * 1234 and done[-1] == 4 * 5000
    assert all(r.tallies["survival"].spans == ((0, 5000),) for r in resumed)
    again = []
    run(RAW, memory, progress=lambda p: again.append(p))
    assert not again


def test_a_smaller_total_keeps_what_is_there():
    memory = engine.Memory()
    run(RAW, memory)
    assert histograms(run({**RAW, "sampling": {"trials": 10}}, memory)) == histograms(run())


def test_an_interrupt_keeps_whole_blocks(monkeypatch):
    monkeypatch.setattr(engine, "_KEYS_PER_BLOCK", 13 * 100)
    memory = engine.Memory()

    def stop(progress):
        if progress.done > 3000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(RAW, memory, threads=2, progress=stop)
    counted = sum(t.total for t in memory.tallies.values())
    assert 3000 < counted < 4 * 5000
    for tally in memory.tallies.values():
        assert tally.counts["endurable_failures"].sum() == tally.total
    assert histograms(run(RAW, memory)) == histograms(run())


def test_separate_random_numbers_change_the_sample_only():
    shared = run()
    own = run({**RAW, "study": {**RAW["study"], "common_random_numbers": False}})
    assert histograms(shared) != histograms(own)
    assert [r.id for r in shared] == [r.id for r in own]


def test_zero_trials_and_one_trial():
    layout = Layout.contiguous(7, 3)
    none = spare_mc.survival(layout, trials=0)
    assert none.trials == 0 and "endurable_failures" not in none.estimates
    one = spare_mc.survival(layout, trials=1)
    assert one.trials == 1
    assert one.estimates["endurable_failures"].low is None


def test_python_api_matches_the_reference_order_by_order():
    layout = Layout.golomb(31, 4)
    from spare_mc.kernels import reference

    rows = [layout.hosts(t).tolist() for t in range(31)]
    expected = np.bincount([reference.endurable(rows, 31, 3, i) for i in range(400)], minlength=32)
    result = spare_mc.survival(layout, trials=400, seed=3)
    np.testing.assert_array_equal(result.tallies["survival"].counts["endurable_failures"], expected)
    survival = result.curves["survival"]
    np.testing.assert_allclose(survival[:32], [expected[k:].sum() / 400 for k in range(32)], rtol=1e-15)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"trials": -1}, "trials"),
        ({"trials": 2.5}, "trials"),
        ({"seed": -3}, "seed"),
        ({"confidence": 0}, "confidence"),
        ({"threads": 0}, "threads"),
        ({"threads": 1.5}, "threads"),
        ({"backend": "numbra"}, "numba"),
    ],
)
def test_bad_arguments_are_named(options, named):
    with pytest.raises(UserError, match=named):
        spare_mc.survival(Layout.contiguous(7, 3), **{"trials": 5, **options})


def test_spans():
    assert merge_spans([(5, 9), (0, 5), (20, 20), (12, 13)]) == ((0, 9), (12, 13))
    assert missing_spans([(2, 4), (6, 9)], 8) == ((0, 2), (4, 6))
    assert missing_spans([], 3) == ((0, 3),)
    assert missing_spans([(0, 9)], 4) == ()
    with pytest.raises(ValueError, match="counted twice"):
        merge_spans([(0, 5), (4, 6)])


def tally(first=0, stop=10, **changes):
    fields = {"measure": "survival", "point": "ab", "seed": 1, "spans": ((first, stop),), **changes}
    return Tally(**fields, counts={"h": np.array([stop - first, 0])}, sums={"s": 2**70})


def test_tallies_add_exactly_and_refuse_strangers():
    total = tally().add(tally(10, 30))
    assert (total.total, total.counts["h"].tolist(), total.sums["s"]) == (30, [30, 0], 2**71)
    for other in (
        tally(5, 6),
        tally(30, 40, seed=2),
        tally(30, 40, point="cd"),
        tally(30, 40, measure="stacks"),
    ):
        with pytest.raises(UserError, match="belong together|overlap"):
            total.add(other)
    assert (total.total, total.counts["h"].tolist(), total.sums["s"]) == (30, [30, 0], 2**71)


def test_training_rows_keep_the_order_of_runs():
    def rows(first, stop):
        return Tally("training", "ab", 1, ((first, stop),), rows=np.arange(first, stop)[:, None] * [1, 10])

    for order in (((0, 3), (3, 5), (8, 9)), ((8, 9), (3, 5), (0, 3)), ((3, 5), (8, 9), (0, 3))):
        total = Tally("training", "ab", 1)
        for span in order:
            total.add(rows(*span))
        assert total.rows[:, 0].tolist() == [0, 1, 2, 3, 4, 8]
        assert total.spans == ((0, 5), (8, 9))
