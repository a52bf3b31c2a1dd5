"""What a study sweeps: ranges, formulas, zipped keys, exclusions; what is refused and how."""

import itertools
import math

import pytest

from spare_mc import study
from spare_mc.errors import UserError


def points(**sections):
    raw = {"cluster": {"groups": 60}, "layout": {"kind": "contiguous", "redundancy": 3}}
    for name, values in sections.items():
        raw.setdefault(name, {}).update(values)
    return study.load(raw).points


def swept(key, value, **others):
    section, name = key.split(".")
    others.setdefault(section, {})[name] = value
    return [p.parameters[key] for p in points(**others)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2..5", [2, 3, 4, 5]),
        ("2..11 by 4", [2, 6, 10]),
        ("2..10 linear 3", [2, 6, 10]),
        ("1..32 log 6", [1, 2, 4, 8, 16, 32]),
        ({"from": 2, "to": 10, "by": 4}, [2, 6, 10]),
        ({"from": "2", "to": 4}, [2, 3, 4]),
        ([3, "5..7", 9], [3, 5, 6, 7, 9]),
        ("1..3 log 9", [1, 2, 3]),  # whole numbers: what rounds to the same is there once
        ("4..4", [4]),
    ],
)
def test_ranges_of_whole_numbers(value, expected):
    assert swept("layout.redundancy", value) == expected


def test_ranges_of_durations_are_exact_at_the_ends_and_geometric_between():
    found = swept("failures.system_mtbf", "1 min..1 h log 5")
    assert (found[0], found[-1]) == (60.0, 3600.0)
    ratios = [b / a for a, b in itertools.pairwise(found)]
    assert all(math.isclose(r, 60 ** (1 / 4), rel_tol=1e-10) for r in ratios)
    assert all(value == float(f"{value:.12g}") for value in found)  # identities are the same on every machine
    assert swept("failures.system_mtbf", "100..300 by 100") == [100.0, 200.0, 300.0]
    assert swept("failures.shape", "0.5..1 linear 3", failures={"law": "weibull", "system_mtbf": 300}) == [
        0.5,
        0.75,
        1.0,
    ]


def test_a_fixed_number_of_gpus_is_split_into_groups():
    found = points(cluster={"groups": [60, 120], "gpus": 6000})
    assert [p.parameters["cluster.gpus_per_group"] for p in found] == [100, 50]
    found = points(cluster={"groups": "40..50 by 5", "gpus": 6000}, sweep={"exclude": "gpus % groups"})
    assert [p.parameters["cluster.groups"] for p in found] == [40, 50]


def test_formulas_follow_other_keys_and_each_other():
    found = points(
        cluster={"groups": [60, 100], "gpus_per_group": "= 6000 / groups"},
        layout={"redundancy": "= ceil(cluster.groups / gpus_per_group)"},
        failures={"system_mtbf": "= 10 * layout.redundancy"},
    )
    assert [p.parameters["cluster.gpus_per_group"] for p in found] == [100, 60]
    assert [p.parameters["layout.redundancy"] for p in found] == [1, 2]
    assert [p.parameters["failures.system_mtbf"] for p in found] == [10.0, 20.0]


def test_formulas_know_defaults_and_durations_in_seconds():
    (found,) = points(
        study={"measure": ["training"]},
        failures={"system_mtbf": "5 min"},
        training={"checkpoint_period": "= sqrt(2 * system_mtbf * save_time)"},
    )
    assert found.parameters["training.checkpoint_period"] == pytest.approx(math.sqrt(2 * 300 * 58.8235))


def test_zipped_keys_go_in_step_and_cross_the_others():
    raw = {
        "cluster": {"groups": [20, 30, 40]},
        "layout": {"kind": ["contiguous", "partition"], "redundancy": "2..4"},
        "sweep": {"zip": ["cluster.groups", "layout.redundancy"]},
    }
    keys = ("cluster.groups", "layout.redundancy", "layout.kind")
    found = [tuple(p.parameters[k] for k in keys) for p in study.load(raw).points]
    assert found == [(n, r, k) for n, r in ((20, 2), (30, 3), (40, 4)) for k in ("contiguous", "partition")]
    raw["sweep"] = {"zip": [["cluster.groups", "layout.redundancy"]]}
    assert [tuple(p.parameters[k] for k in keys) for p in study.load(raw).points] == found


def test_exclusions_leave_out_what_they_name_and_nothing_else():
    found = points(
        layout={"kind": ["golomb", "contiguous"], "redundancy": [3, 7, 9]},
        sweep={
            "exclude": ["kind == 'golomb' and redundancy * (redundancy - 1) > groups - 1", "redundancy == 3"]
        },
    )
    kinds = [(p.parameters["layout.kind"], p.parameters["layout.redundancy"]) for p in found]
    assert kinds == [("golomb", 7), ("contiguous", 7), ("contiguous", 9)]


def test_toml_and_python_and_flags_say_the_same(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(
        '[cluster]\ngroups = 60\n[layout]\nkind = "contiguous"\nredundancy = { from = 2, to = 8, by = 3 }\n'
        '[sweep]\nexclude = "redundancy == 5"\n'
    )
    ids = [p.id for p in study.load(file).points]
    assert ids == [
        p.id for p in points(layout={"redundancy": "2..8 by 3"}, sweep={"exclude": ["redundancy == 5"]})
    ]
    from spare_mc.commands.run import overrides_of

    flags = {
        "cluster__groups": "60",
        "layout__kind": "contiguous",
        "layout__redundancy": "2,5..8 by 3",
        "sweep__exclude": "min(redundancy, 5) == 5 and redundancy < 8",
    }
    assert [p.id for p in study.load(None, overrides_of(flags)).points] == ids


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"layout": {"redundancy": "2..x"}}, r"layout\.redundancy = '2\.\.x': must be a whole number"),
        ({"layout": {"redundancy": "9..2"}}, "low end must not be above"),
        ({"layout": {"redundancy": "2..5 by 0"}}, "step must be above 0"),
        ({"layout": {"redundancy": "0..5 log 3"}}, "log range must begin above 0"),
        ({"layout": {"redundancy": "2..5 log 1"}}, "count of values from 2"),
        ({"layout": {"redundancy": "1..1e9"}}, "1,000,000,000 values; at most 1,000,000"),
        ({"layout": {"redundancy": {"from": 1}}}, "a range is"),
        ({"layout": {"redundancy": {"from": 1, "to": 3, "step": 1}}}, "a range is"),
        (
            {"layout": {"kind": {"from": 1, "to": 3}}},
            r"layout\.kind .* only numbers and durations have ranges",
        ),
        ({"failures": {"system_mtbf": "1 min..1 h"}}, "by STEP, linear COUNT or log COUNT must follow"),
        ({"layout": {"redundancy": []}}, "empty list sweeps nothing"),
        ({"layout": {"redundancy": "= grups"}}, "unknown name 'grups'; did you mean 'groups'"),
        ({"layout": {"redundancy": "= layout.redundanci"}}, "unknown key layout.redundanci; did you mean"),
        ({"layout": {"redundancy": "= groups +"}}, "cannot be worked out"),
        ({"layout": {"redundancy": "= groups = 2"}}, "write == to compare"),
        ({"sweep": {"exclude": "redundancy = 0"}}, "write == to compare"),
        ({"layout": {"redundancy": "= " + "-" * 9000 + "3"}}, "cannot be worked out"),
        ({"sweep": {"exclude": "1; 2"}}, "cannot be worked out"),
        ({"layout": {"redundancy": "= groups / 0"}}, "cannot be worked out: .*zero"),
        ({"layout": {"redundancy": "= open('x')"}}, "cannot be worked out"),
        ({"layout": {"redundancy": "= groups.__class__"}}, "cannot be worked out"),
        ({"layout": {"redundancy": "= groups / 7"}}, "must be a whole number"),
        ({"layout": {"redundancy": "= gpus"}}, "cluster.gpus has no value"),
        ({"layout": {"redundancy": "= redundancy + 1"}}, "formulas that need each other"),
        ({"sweep": {"zip": ["cluster.groups", "foo"]}}, "'foo' is no key with a list"),
        (
            {"sweep": {"zip": ["cluster.groups", "layout.redundancy"]}, "layout": {"redundancy": [2, 3]}},
            "cluster.groups has 1, layout.redundancy has 2",
        ),
        ({"sweep": {"zip": [["layout.redundancy", "layout.redundancy"]]}}, "named twice"),
        ({"sweep": {"exclude": "groups > 1"}}, "leaves none of the 1 combinations"),
        ({"sweep": {"exclude": "group > 1"}}, "did you mean 'groups'"),
        ({"sweep": {"excludes": "x"}}, "unknown key sweep.excludes; did you mean 'exclude'"),
        (
            {"layout": {"redundancy": "1..60"}, "failures": {"system_mtbf": "1..2 linear 99999"}},
            r"5,999,940 points \(60 x 99999\): at most 1,000,000",
        ),
    ],
)
def test_what_cannot_be_swept_is_told_in_one_line(sections, message):
    with pytest.raises(UserError, match=message) as caught:
        points(**sections)
    assert "\n" not in str(caught.value)


def test_a_path_with_dots_is_no_range(tmp_path):
    with pytest.raises(UserError, match=r"\.\./tables/none\.csv"):
        points(layout={"kind": "custom", "redundancy": None, "file": "../tables/none.csv"})
