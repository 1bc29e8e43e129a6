"""Breaking points as they are shown: on the console, in the report, and as a table."""

import pytest

import brittle
from brittle.report.html import write_report


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "out"
    study = {
        "classifiers": {"plain": "bundled:plain", "augmented": "bundled:augmented"},
        "images": {"sample": {"spec": "sample", "count": 60}},
        "breaking-points": {"step": 5},
    }
    return brittle.run(study, out=out), out


def test_the_console_says_what_was_measured_and_how(run):
    text = str(run[0])
    assert "noise on sample, 60 images: σ of additive Gaussian noise, where white is 255" in text
    assert "path: θ is drawn once per path and scaled; steps of 5 up to 255; 1 path per image, clipped" in text
    assert "restricted mean, of min(breaking point, 255)" in text
    assert "paired over" in text


def test_the_report_shows_curves_pictures_and_confidence(run):
    page = write_report(run[1]).read_text()
    assert "share of paths not yet broken" in page
    assert "At the break" in page
    assert "these are the pictures that the classifiers saw" in page
    assert "Is the breaking point a confidence?" in page


def test_the_table_has_a_row_per_classifier(run):
    table = run[0].table()
    assert table["classifier"].to_pylist() == ["plain", "augmented"]
    assert {"mean", "low", "high", "common_mean", "unbroken", "noise", "step"} <= set(table.column_names)


def test_command_study_and_python_say_the_same(run):
    found = brittle.breaking_points(
        {"plain": "bundled:plain", "augmented": "bundled:augmented"}, "sample", count=60, step=5
    )
    said = run[0]["measures"]["breaking-points"]
    assert found["results"] == said["results"]
    assert found["comparisons"] == said["comparisons"]


def test_pictures_of_fresh_noise_are_made_again_too(tmp_path):
    study = {
        "classifiers": {"plain": "bundled:plain"},
        "images": {"sample": {"spec": "sample", "count": 12}},
        "breaking-points": {"step": 10, "noise": "fresh"},
    }
    assert "breaking points fall as the step shrinks" in str(brittle.run(study, out=tmp_path / "out"))
    assert "these are the pictures that the classifiers saw" in write_report(tmp_path / "out").read_text()


@pytest.mark.slow
def test_forty_classifiers_make_a_short_summary_and_a_small_report(tmp_path):
    study = {
        "classifiers": {f"c{place}": "bundled:plain" for place in range(40)},
        "images": {"sample": {"spec": "sample", "count": 10}},
        "breaking-points": {"step": 25},
    }
    assert len(str(brittle.run(study, out=tmp_path / "out")).splitlines()) < 100
    page = write_report(tmp_path / "out").read_text()
    assert len(page) < 1_000_000
    assert "which breaks last; all pairs are in summary.json" in page
