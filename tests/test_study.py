"""Studies: what is accepted, what is refused and how, what a point's identity depends on."""

import pytest

from spare_mc import study
from spare_mc.errors import UserError

BASE = {"cluster": {"groups": 13}, "layout": {"kind": "contiguous", "redundancy": 3}}


def with_key(dotted, value):
    section, name = dotted.split(".")
    raw = {s: dict(v) for s, v in BASE.items()}
    raw.setdefault(section, {})[name] = value
    return raw


def test_presets_load():
    assert study.presets() == ["llama3", "paper-1000", "paper-200", "paper-600", "rsc1"]
    for name, groups, redundancy in (("paper-200", 200, 9), ("paper-600", 600, 8), ("paper-1000", 1000, 9)):
        loaded = study.load(name)
        (point,) = loaded.points
        assert (loaded.name, loaded.measures) == (name, ("survival",))
        assert point.parameters["cluster.groups"] == groups
        assert point.parameters["cluster.gpus_per_group"] * groups == 600_000
        assert point.parameters["layout.redundancy"] == redundancy
        assert point.parameters["failures.system_mtbf"] == 300.0


def test_presets_from_published_rates():
    def mtbf(name, **cluster):
        (point,) = study.load(name, {f"cluster.{key}": value for key, value in cluster.items()}).points
        return point.parameters["failures.system_mtbf"] / 3600

    # arXiv 2407.21783: an interruption every three hours; 50,677 h per GPU
    assert mtbf("llama3") == pytest.approx(3.093, abs=1e-3)
    assert mtbf("llama3") * 16_384 == pytest.approx(50_677, abs=1)
    # arXiv 2410.21680 projects 1.8 h at 16,384 GPUs and 0.23 h at 131,072
    assert mtbf("rsc1") == pytest.approx(1.8, abs=0.05)
    assert mtbf("rsc1", gpus=131_072) == pytest.approx(0.23, abs=0.005)


def test_lists_are_crossed_last_fastest():
    loaded = study.load(
        {"cluster": {"groups": [13, 21]}, "layout": {"kind": "contiguous", "redundancy": [2, 3, 4]}}
    )
    found = [(p.parameters["cluster.groups"], p.parameters["layout.redundancy"]) for p in loaded.points]
    assert found == [(13, 2), (13, 3), (13, 4), (21, 2), (21, 3), (21, 4)]
    assert len({p.id for p in loaded.points}) == 6


def test_custom_offsets_need_no_kind_and_may_be_swept():
    one = study.load({"cluster": {"groups": 13}, "layout": {"offsets": [0, 1, 3]}})
    assert one.points[0].parameters["layout.kind"] == "custom"
    assert one.points[0].parameters["layout.offsets"] == [0, 1, 3]
    two = study.load({"cluster": {"groups": 13}, "layout": {"offsets": [[0, 1, 3], [0, 2, 5]]}})
    assert len(two.points) == 2


def test_identity_ignores_what_does_not_change_the_distribution():
    plain = study.load(BASE).points[0].id
    for dotted, value in (
        ("study.seed", 7),
        ("study.name", "other"),
        ("sampling.trials", 5),
        ("sampling.confidence", 0.9),
        ("study.common_random_numbers", False),
    ):
        assert study.load(with_key(dotted, value)).points[0].id == plain
    for dotted, value in (("cluster.groups", 14), ("layout.redundancy", 4), ("layout.kind", "partition")):
        assert study.load(with_key(dotted, value)).points[0].id != plain


def test_durations_in_words_and_numbers_are_one_point():
    ids = set()
    for mtbf in (300, 300.0, "300", "300 s", "5 min", "5 minutes"):
        raw = with_key("failures.system_mtbf", mtbf)
        ids.add(study.load(raw).points[0].id)
    assert len(ids) == 1


def test_mtbf_is_converted_by_count():
    raw = {
        **BASE,
        "cluster": {"groups": 10, "gpus_per_group": 16},
        "layout": {"kind": "contiguous", "redundancy": 2},
    }
    for unit, value in (("system", 300.0), ("group", 3000.0), ("node", 6000.0), ("gpu", 48000.0)):
        point = study.load({**raw, "failures": {f"{unit}_mtbf": value}}).points[0]
        assert point.parameters["failures.system_mtbf"] == pytest.approx(300.0, rel=1e-15)


def test_separate_random_numbers_depend_on_seed_and_point():
    raw = {**with_key("layout.redundancy", [2, 3]), "study": {"common_random_numbers": False, "seed": 5}}
    loaded = study.load(raw)
    keys = [loaded.key(p) for p in loaded.points]
    other = study.load({**raw, "study": {"common_random_numbers": False, "seed": 6}})
    assert len({*keys, *(other.key(p) for p in other.points)}) == 4
    assert [study.load(BASE).key(p) for p in study.load(BASE).points] == [0]


def test_flags_replace_a_files_own_layout(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[cluster]\ngroups = 13\n[layout]\noffsets = [0, 1, 3, 9]\n")
    assert study.load(path).name == "mine"
    assert study.load(path).text == path.read_text()
    changed = study.load(
        path, {"layout.kind": "contiguous", "layout.redundancy": "4", "sampling.trials": "1e3"}
    )
    assert changed.points[0].parameters["layout.kind"] == "contiguous"
    assert changed.trials == 1000
    again = tmp_path / "again.toml"
    again.write_text(changed.text)
    assert study.load(again).points[0].id == changed.points[0].id


def test_layouts_are_rebuilt_from_stored_parameters():
    for layout in (
        {"kind": "golomb", "redundancy": 4},
        {"kind": "contiguous", "redundancy": 4},
        {"kind": "partition", "redundancy": 5},
        {"kind": "random", "redundancy": 3, "seed": 8},
        {"offsets": [0, 2, 5]},
    ):
        point = study.load({"cluster": {"groups": 13}, "layout": layout}).points[0]
        assert study.layout_of(point.parameters).digest() == point.layout.digest()


BAD = [
    ("layout.redundancy", 14, "layout.redundancy", "13"),
    ("layout.redundancy", 0, "layout.redundancy", "1"),
    ("layout.redundancy", 2.5, "layout.redundancy", "whole number"),
    ("layout.redundancy", True, "layout.redundancy", "whole number"),
    ("layout.kind", "golumb", "layout.kind", "golomb"),
    ("layout.kind", "partition ", "layout.kind", "partition"),
    ("layout.redundency", 3, "layout.redundency", "redundancy"),
    ("layout.offsets", [0, 1, 1], "layout.offsets", "1"),
    ("layout.redundancy", [], "layout.redundancy", "empty"),
    ("cluster.groups", 1, "cluster.groups", "2"),
    ("cluster.groups", "many", "cluster.groups", "whole number"),
    ("cluster.gpus", 600, "cluster.gpus", "multiple"),
    ("sampling.trials", -1, "sampling.trials", "0"),
    ("sampling.trials", 1.5, "sampling.trials", "whole number"),
    ("sampling.trials", 10**14, "sampling.trials", "10000000000000"),
    ("sampling.confidence", 1.0, "sampling.confidence", "1"),
    ("study.seed", -1, "study.seed", "0"),
    ("study.seed", 2**64, "study.seed", "18446744073709551616"),
    ("study.measure", ["survivl"], "study.measure", "survival"),
    ("study.measure", [], "study.measure", "1"),
    ("failures.system_mtbf", "5 parsecs", "failures.system_mtbf", "seconds"),
    ("failures.system_mtbf", 1e308, "failures.system_mtbf", "100000000000"),
    ("failures.system_mtbf", 0, "failures.system_mtbf", "0"),
    ("failures.system_mtbf", float("inf"), "failures.system_mtbf", "100000000000"),
    ("failures.law", "weibul", "failures.law", "weibull"),
    ("failures.law", "weibull", "failures", "mtbf"),
    ("failures.gpu_mtbf", 5.0, "failures.gpu_mtbf", "cluster.gpus"),
]


@pytest.mark.parametrize(("dotted", "value", "named", "allowed"), BAD)
def test_bad_values_name_key_value_and_what_is_allowed(dotted, value, named, allowed):
    raw = with_key(dotted, value)
    if dotted == "layout.offsets":
        raw["layout"] = {"offsets": value}
    with pytest.raises(UserError) as caught:
        study.load(raw)
    message = str(caught.value)
    assert named in message and allowed in message and "\n" not in message


def test_duplicate_points_are_refused():
    with pytest.raises(UserError, match="points 1 and 2 are the same"):
        study.load(with_key("layout.redundancy", [3, 3]))


def test_unknown_section_and_missing_key():
    with pytest.raises(UserError, match="unknown section .clutser.; did you mean 'cluster'"):
        study.load({"clutser": {"groups": 5}})
    with pytest.raises(UserError, match=r"cluster.groups \(--groups\) is missing"):
        study.load({"layout": {"redundancy": 3}})
    with pytest.raises(UserError, match="layout.redundancy"):
        study.load({"cluster": {"groups": 5}})


def test_files_that_cannot_be_used(tmp_path):
    with pytest.raises(UserError, match="did you mean 'paper-600'"):
        study.load("paper-60")
    broken = tmp_path / "broken.toml"
    broken.write_text("[cluster\n")
    with pytest.raises(UserError, match="broken.toml: not valid TOML"):
        study.load(broken)
    with pytest.raises(UserError, match="is a folder"):
        study.load(tmp_path)
    broken.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="broken.toml: is no text; give a study file"):
        study.load(broken)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1 h 30 min", 5400.0), ("1h30min", 5400.0), ("1e3 s", 1000.0), (".5 days", 43200.0)]
    + [("250 ms", 0.25), ("2 weeks", 1209600.0), ("5 years", 5 * 365.25 * 86400.0)],
)
def test_durations_in_words_add_up(text, expected):
    loaded = study.load(with_key("failures.system_mtbf", text))
    assert loaded.points[0].parameters["failures.system_mtbf"] == expected


@pytest.mark.parametrize(
    "text", ["10 min 5", "min", "300 s**1", "10 min / 2", "1 h + 30 min", "5 kg", "-5 min", "5 m"]
)
def test_what_only_looks_like_a_duration_is_refused(text):
    with pytest.raises(UserError, match=r"failures\.system_mtbf = "):
        study.load(with_key("failures.system_mtbf", text))


@pytest.mark.parametrize(
    "name", ["", "   ", ".", "..", "../x", "a/b", "a\nb", "\0", "x" * 300, "-x", " a", "a "]
)
def test_a_name_that_is_no_file_name_is_refused(name):
    with pytest.raises(UserError, match=r"study\.name = .*names the results file") as caught:
        study.load(with_key("study.name", name))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 250


def test_a_maximum_needs_a_target():
    for key in ("max_trials", "max_runs"):
        with pytest.raises(UserError, match=rf"sampling\.{key} = 5: only a target needs a maximum"):
            study.load(with_key(f"sampling.{key}", 5))
    raw = with_key("sampling.target", {"endurable_failures": 0.1})
    raw["sampling"]["max_runs"] = 5
    with pytest.raises(
        UserError, match=r"sampling\.max_runs = 5: no target is about training runs; leave it out"
    ):
        study.load(raw)


def test_a_maximum_below_the_usual_first_look_is_the_first_look():
    raw = with_key("sampling.target", {"endurable_failures": 0.1})
    raw["sampling"].pop("trials", None)
    raw["sampling"]["max_trials"] = 50
    assert study.load(raw).trials == 50
    raw["sampling"]["trials"] = 60
    with pytest.raises(
        UserError, match=r"sampling\.trials = 60: with a target, .* from 1 to max_trials = 50"
    ):
        study.load(raw)
