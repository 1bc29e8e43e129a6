"""Runs side by side: the page says what fell, from rows alone, and refuses what can't be compared."""

import shutil

import pytest

import brittle
from brittle.errors import BrittleError

pytestmark = pytest.mark.warned("matched by number", "near chance", "mean confidence", "guess")
ASKED = {"samples": 4, "count": 150, "progress": False}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    home = tmp_path_factory.mktemp("runs")
    for name, weights in (("old", "augmented"), ("new", "plain")):
        brittle.measure(
            {"<i>net": f"bundled:{weights}"}, "sample", ["rotation:sigma=15", "fog"], out=home / name, **ASKED
        )
    return home


def test_the_page_says_what_fell_and_by_how_much(runs, cli, monkeypatch):
    monkeypatch.chdir(runs)
    assert cli("report", "old", "new").out == "report: comparison.html\n"
    page = (runs / "comparison.html").read_text(encoding="utf-8")
    together = brittle.measure(
        {"new": "bundled:plain", "old": "bundled:augmented"}, "sample", "rotation:sigma=15", **ASKED
    )
    (pair,) = together["comparisons"]
    assert f"{pair['rho_difference']:+.3f}".replace("-", "−") in page
    assert ">fell<" in page
    assert "&lt;i&gt;net" in page
    assert "<i>net" not in page
    assert "http" not in page.replace("http://www.w3.org", "").split("base64,")[0], "it needs nothing else"


def test_runs_are_read_without_what_their_studies_name(runs, tmp_path, monkeypatch):
    """Nothing is opened: neither images nor classifiers."""
    monkeypatch.setattr("brittle.engine.assemble.image_set", None)
    monkeypatch.setattr("brittle.engine.assemble.classifier", None)
    path = brittle.compare_runs(runs / "old", runs / "new", out=tmp_path / "page.html")
    assert path.is_file()


def test_several_runs_are_each_compared_with_the_first(runs, tmp_path):
    shutil.copytree(runs / "new", tmp_path / "third")
    path = brittle.compare_runs(runs / "old", runs / "new", tmp_path / "third", out=tmp_path / "page.html")
    page = path.read_text(encoding="utf-8")
    for name in ("new", "third"):
        assert f"{name}</h3>" in page


def test_the_same_classifier_is_called_so(runs, tmp_path):
    shutil.copytree(runs / "old", tmp_path / "again")
    page = brittle.compare_runs(runs / "old", tmp_path / "again", out=tmp_path / "page.html").read_text(
        encoding="utf-8"
    )
    assert "of the same classifier" in page


def test_what_can_not_be_compared_is_refused_in_one_line(runs, tmp_path, cli):
    brittle.measure({"<i>net": "bundled:plain"}, "sample", "fog", seed=1, out=tmp_path / "seed", **ASKED)
    said = cli("report", runs / "old", tmp_path / "seed").complaint(2)
    assert "their seeds differ" in said
    assert "named twice" in cli("report", runs / "old", runs / "old").complaint(2)
    assert "not a run folder" in cli("report", runs / "old", tmp_path).complaint(2)
    assert "--out" in cli("report", runs / "old", "--out", tmp_path / "x.html").complaint(2)
    with pytest.raises(BrittleError, match="nothing to compare it with"):
        brittle.compare_runs(runs / "old")
