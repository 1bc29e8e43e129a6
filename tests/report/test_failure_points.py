"""Failure points as they are shown: on the console, in the report, and as a table."""

import re

import pytest

import brittle
from brittle.report.html import write_report

BOTH = {"plain": "bundled:plain", "augmented": "bundled:augmented"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "out"
    study = {
        "classifiers": BOTH,
        "images": {"sample": {"spec": "sample", "count": 80}},
        "nuisances": {"noise": "noise:level=1", "affine": "affine"},
        "failure-points": {"severities": [1, 2, 3, 4, 5]},
    }
    return brittle.run(study, out=out), out


@pytest.fixture(scope="module")
def page(run):
    return write_report(run[1]).read_text()


def test_the_console_says_what_was_measured_and_how(run):
    text = str(run[0])
    assert "noise on sample, 80 images: where predictions become wrong" in text
    assert "accuracy at each level:" in text
    assert "at 0, 1, 2, 3, 4, 5; 1 path per image, θ drawn once for each" in text
    assert "restricted mean, of min(failure point, 5), over images right at 0" in text
    assert "over images with noise and affine pooled: mean drop" in text


def test_the_report_has_curves_histograms_films_and_classes(page):
    assert "drop (accuracy at 0 − accuracy)" in page
    assert "first failures of plain, augmented at each level, and those that never fail" in page
    assert "accuracy of each class at each level" in page
    assert "these are the pictures that the classifiers saw" in page
    assert "All nuisances pooled" in page


def test_films_mark_the_frame_where_a_classifier_fails_first(page):
    strips = re.findall(r'<div class="strip">(.*?)</div>', page[page.index('<section id="measured">') :], re.DOTALL)
    assert strips
    assert all('<figure class="card fails-card">' in strip for strip in strips)
    assert all(strip.index("✓") < strip.index('<li class="wrong breaks"') for strip in strips)


def test_where_nuisances_disagree_about_two_classifiers_one_sentence_says_both(page):
    findings = page[: page.index('<section id="measured">')]
    assert "Under noise plain fails later than augmented, by" in findings
    assert "under affine augmented fails later than plain, by" in findings


def test_the_table_has_a_row_per_severity(run):
    table = run[0].table()
    assert table.num_rows == 2 * 2 * 6
    assert table["value"].to_pylist()[:6] == [0, 1, 2, 3, 4, 5]
    assert {"accuracy", "accuracy_low", "drop", "failed", "first_failures", "wrong", "ece", "nll", "aurc"} <= set(
        table.column_names
    )


def test_command_study_and_python_say_the_same(run):
    found = brittle.failure_points(BOTH, "sample", "noise:level=1", count=80)
    said = [row for row in run[0]["measures"]["failure-points"]["results"] if row["nuisance"] == "noise"]
    for one, other in zip(found["results"], said, strict=True):
        different = {key for key in one if one[key] != other[key]}
        assert different == {"nuisance"}


def test_paths_that_end_at_their_first_failure_say_what_that_saved(tmp_path):
    study = {
        "classifiers": {"plain": "bundled:plain"},
        "images": {"sample": {"spec": "sample", "count": 40}},
        "nuisances": ["affine"],
        "failure-points": {"only": "first", "step": 0.125, "limit": 5},
    }
    text = str(brittle.run(study, out=tmp_path / "out"))
    assert re.search(r"[\d,]+ of 1,600 calls saved \(\d+ %\)", text)
    assert "share failed at each severity:" in text
    page = write_report(tmp_path / "out").read_text()
    assert "Paths end at their first failure, so accuracy beyond is not known." in page
    assert "share not failed yet" in page
    assert "21 of 41 severities; summary.json has all." in page


@pytest.mark.slow
def test_forty_classifiers_make_a_short_summary_and_a_small_report(tmp_path):
    study = {
        "classifiers": {f"c{place}": "bundled:plain" for place in range(40)},
        "images": {"sample": {"spec": "sample", "count": 10}},
        "nuisances": ["affine"],
        "failure-points": {},
    }
    assert len(str(brittle.run(study, out=tmp_path / "out")).splitlines()) < 100
    page = write_report(tmp_path / "out").read_text()
    assert len(page) < 1_500_000
    assert "which fails last; all pairs are in summary.json" in page
    assert "8 of 40 classifiers" in page
