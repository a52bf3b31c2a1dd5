"""``spare-mc fit`` as a user meets it: the report, JSON, the block, pictures, refusals."""

import json
import sys

import numpy as np
import pytest
from cli_tools import refused, run_verb
from trace_tools import HBD, LANL, published, renewal_log, weibull, write

from spare_mc import study

DAY = 86400.0


@pytest.fixture
def trace(tmp_path):
    """A log of 30 units over 200 days, Weibull of shape 0.7, with outages of an hour and two rows given twice."""
    rows = renewal_log(np.random.default_rng(1), 30, 200, weibull(25 * DAY, 0.7), steady=1e8)
    rows = [
        (f"{t / 3600:.6f}", f"{t / 3600 + 1:.6f}", unit, "gpu" if i % 3 else "nic")
        for i, (t, unit) in enumerate(rows)
    ]
    return write(tmp_path / "log.csv", ("start_h", "end_h", "host", "cause"), rows + rows[:2])


def as_json(capsys, *arguments):
    status, out, error = run_verb(capsys, "fit", *arguments, "--json")
    assert status == 0, error
    return json.loads(out)


def test_the_report_says_what_was_read_dropped_and_found(capsys, trace):
    status, out, _ = run_verb(capsys, "fit", trace, "--units", 40, "--bootstrap", 19)
    assert status == 0
    for told in (
        "column 'start_h' (guessed from its name), numbers in h (from the column's name)",
        "column 'host' (guessed from its name)",
        "left out: 2 exact duplicates of another row",
        "units: 40 exist (as stated), 29 appear",
        "availability: 0.9",
        "11 units that never failed",
        "Whole system",
        "Each unit",
        "observed information",
        "19 simulated logs",
        "Laplace",
        "mean, days",
        "[failures]",
        "node_mtbf = ",
    ):
        assert told in out, told


def test_json_and_block_agree_and_the_block_is_a_study(capsys, trace, tmp_path):
    found = as_json(capsys, trace, "--units", 30, "--bootstrap", 0, "--unit-is", "group", "--law", "weibull")
    fitted = found["unit"]["laws"]["weibull"]
    assert found["block"]["failures"]["group_mtbf"] == pytest.approx(fitted["mean_s"], rel=1e-5)
    assert (
        fitted["mean_low_s"] < 25 * DAY < fitted["mean_high_s"]
        and fitted["shape_low"] < 0.7 < fitted["shape_high"]
    )
    assert (
        found["left_out"] == {"exact duplicates of another row": 2}
        and found["rows"] == found["failures_listed"] + 2
    )
    path = tmp_path / "study.toml"
    path.write_text(
        "[cluster]\ngroups = 20\n[layout]\nkind = 'contiguous'\nredundancy = 2\n" + found["block"]["text"]
    )
    assert study.load(path).points[0].parameters["failures.law"] == "weibull"


def test_selections_and_windows(capsys, trace):
    whole = as_json(capsys, trace, "--bootstrap", 0)
    gpu = as_json(capsys, trace, "--bootstrap", 0, "--cause", "GPU")
    nic = as_json(capsys, trace, "--bootstrap", 0, "--where", "cause=nic")
    # merging may join outages of two causes
    assert 0 <= gpu["failures_listed"] + nic["failures_listed"] - whole["failures_listed"] <= 2
    half = as_json(capsys, trace, "--bootstrap", 0, "--from", "50 days", "--to", "100 days")
    assert half["window"] == {"begin_s": 50 * DAY, "end_s": 100 * DAY, "length_s": 50 * DAY}
    assert half["failures"] < whole["failures"]
    wide = as_json(capsys, trace, "--bootstrap", 0, "--confidence", 0.99)
    narrow, wide = (found["unit"]["laws"]["weibull"] for found in (whole, wide))
    assert wide["shape_low"] < narrow["shape_low"] < narrow["shape"] == wide["shape"]


def test_a_log_without_units_is_fitted_as_a_system(capsys, tmp_path):
    rows = [(f"2024-01-{1 + i // 20:02d} {i % 20:02d}:{(7 * i) % 60:02d}",) for i in range(200)]
    path = write(tmp_path / "log.csv", ("when",), rows)
    found = as_json(capsys, path, "--bootstrap", 0)
    assert found["reading"]["time"].startswith("column 'when' (guessed: its values read as times)")
    assert (
        "unit" not in found and "system_mtbf" in found["block"]["failures"] and found["availability"] is None
    )
    status, out, _ = run_verb(capsys, "fit", path, "--bootstrap", 0)
    assert status == 0 and "Each unit" not in out


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_pictures(capsys, trace, tmp_path, ending):
    path = tmp_path / f"fit.{ending}"
    status, out, _ = run_verb(capsys, "fit", trace, "--bootstrap", 0, "--picture", path)
    assert status == 0 and f"picture: {path}" in out and path.stat().st_size > 5000


def test_what_a_picture_shows(trace):
    pytest.importorskip("matplotlib")
    from spare_mc import fits, traces
    from spare_mc.plots_fit import empirical_hazard, fit_figure, kaplan_meier
    from spare_mc.trace_cleaning import clean

    records = traces.read(trace)
    report = fits.fit_log(clean(records), records, fits.Choices(units=30, repeats=0))
    level = report.levels["unit"]
    bins = empirical_hazard(level.gaps)
    # every failure and every second at risk is in one bin
    at_risk = np.array([np.clip(np.r_[level.gaps.whole, level.gaps.cut], a, b).sum()
                        - a * len(np.r_[level.gaps.whole, level.gaps.cut]) for a, b in bins[:, :2]])  # fmt: skip
    assert (bins[:, 2] * at_risk).sum() == pytest.approx(len(level.gaps.whole))
    assert at_risk.sum() == pytest.approx(level.gaps.whole.sum() + level.gaps.cut.sum())
    assert (
        np.all(bins[1:, 0] == bins[:-1, 1])
        and np.all(bins[:, 3] <= bins[:, 2])
        and np.all(bins[:, 2] <= bins[:, 4])
    )
    times, shares = kaplan_meier(level.gaps)
    assert np.all(np.diff(times) >= 0) and np.all(np.diff(shares) <= 0) and 0 < shares[-1] < shares[0] < 1
    figure = fit_figure(report, "log.csv")
    assert len(figure.axes) == 4
    hazard = figure.axes[2]
    assert {text.get_text().split(" (")[0] for text in hazard.get_legend().get_texts()} >= set(level.fits)
    assert "days" in hazard.get_xlabel()


def test_without_matplotlib_a_picture_is_refused_in_a_line(capsys, trace, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "matplotlib" in refused(capsys, "fit", trace, "--bootstrap", 0, "--picture", tmp_path / "fit.png")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--units", 3), "--units = 3: 29 units appear"),
        (("--where", "cause"), "--where = 'cause'"),
        (("--floor", "soon"), "--floor = 'soon'"),
        (("--floor", "0"), "--floor = '0'"),
        (("--law", "pareto"), "--law = 'pareto'"),
        (("--picture", "fit.gif"), ".gif"),
        (("--from", "2020-01-01"), "--from = '2020-01-01'"),
        (("--from", "9 years"), "window"),
        (("--cause", "fan"), "other causes"),
        (("--time-unit", "parsec"), "--time-unit = 'parsec'"),
        (("--system", "2"), "'System'"),
    ],
)
def test_refusals_are_one_line(capsys, trace, arguments, told):
    assert told in refused(capsys, "fit", trace, "--bootstrap", 0, *arguments)


def test_a_block_of_units_that_are_not_named_is_refused(capsys, tmp_path):
    path = write(tmp_path / "log.csv", ("time",), [(f"2024-01-{d:02d}",) for d in range(1, 30, 2)])
    assert "--block" in refused(capsys, "fit", path, "--block", "unit")


def test_names_are_printed_as_they_are(capsys, tmp_path):
    rows = [(f"{i * i}", "[bold]n[/bold]") for i in range(1, 9)]
    status, out, _ = run_verb(
        capsys, "fit", write(tmp_path / "[red]log.csv", ("time", "unit"), rows), "--bootstrap", 0
    )
    assert status == 0 and "[bold]n[/bold]" in out and "[red]log.csv" in out


@published
def test_published_figures_from_the_command_line(capsys):
    found = as_json(capsys, LANL, "--system", 2, "--from", "2000-01-01", "--bootstrap", 0)
    assert found["as_listed"]["weibull_shape_floor"] == pytest.approx(0.787, abs=1e-3)
    assert found["as_listed"]["weibull_shape_drop"] == pytest.approx(0.823, abs=1e-3)
    assert (found["system"]["zero_gaps_used"], found["units"]["exist"]) == ("floor", 49)
    kept = ("--keep", "duplicates", "--keep", "overlaps")
    found = as_json(capsys, LANL, "--system", 2, "--from", "2000-01-01", *kept, "--bootstrap", 0)
    assert found["system"]["laws"]["weibull"]["shape"] == pytest.approx(0.787, abs=1e-3)
    assert (
        found["system"]["weibull_shape_drop"] == pytest.approx(0.823, abs=1e-3) and found["as_listed"] is None
    )
    found = as_json(capsys, HBD, "--units", 400, "--bootstrap", 0)
    assert found["availability"] == pytest.approx(0.97684, abs=2e-5)
    assert (found["failures_listed"], found["most_down_together"]) == (584, 35)
    assert found["units"]["appear"] == 231 and found["window"]["length_s"] / DAY == pytest.approx(
        348.98, abs=0.005
    )
