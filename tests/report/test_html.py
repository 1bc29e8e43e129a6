"""The report is one file, says what the summary says, and is written whatever has become of images and classifiers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from brittle.report.loaded import load
from brittle.report.sentences import cautions, findings, ranks

from brittle.report.html import write_report


@pytest.fixture(scope="module")
def page(run_folder: Path, page_of: Callable[[Path], Any]) -> Any:
    return page_of(run_folder)


@pytest.fixture(scope="module", params=["run_folder", "weak_folder", "both_folder"])
def any_folder(request: pytest.FixtureRequest) -> Path:
    """A run of each sort: robustness, weak points, both."""
    folder: Path = request.getfixturevalue(request.param)
    return folder


@pytest.fixture(scope="module")
def any_page(any_folder: Path, page_of: Callable[[Path], Any]) -> Any:
    """Its report, written once for all tests that only read it."""
    return page_of(any_folder)


def test_report_loads_nothing_from_elsewhere(any_page: Any) -> None:
    for tag, attributes in any_page.tags:
        assert tag not in ("link", "iframe", "object", "embed")
        for key in ("src", "href", "xlink:href", "srcset", "data"):
            value = attributes.get(key)
            assert value is None or value.startswith(("data:image/", "#")), (tag, key, value)
        assert tag != "script" or "src" not in attributes
    assert not re.search(r"url\((?!#)|@import", any_page.text)


def test_names_are_escaped_everywhere(any_page: Any, any_folder: Path, names: tuple[str, str]) -> None:
    text = (any_folder / "report.html").read_text(encoding="utf-8")
    assert "<b>&" not in text
    assert "<i>" not in text
    assert not any(tag == "i" for tag, _ in any_page.tags)
    assert names[0] in any_page.text
    assert "circle <i>" in any_page.text


def test_every_rho_and_interval_of_the_summary_is_shown(run_folder: Path, page: Any) -> None:
    summary = json.loads((run_folder / "summary.json").read_text())
    assert len(summary["results"]) == 6
    for row in summary["results"]:
        low, high = row["interval"]
        assert f"{row['rho']:.3f} [{low:.3f}, {high:.3f}]" in page.text
        assert f"{row['nll']:.3f}" in page.text
        for each in row["classes"]:
            assert f"{each['rho']:.3f}" in page.text
    for pair in summary["comparisons"]:
        assert f"{pair['rho_difference']:.3f}".replace("-", "−") in page.text


def test_pictures_and_figures_have_words_and_ids_are_unique(any_page: Any) -> None:
    page = any_page
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert images
    assert all(attributes["alt"] for attributes in images)
    figures = [attributes for tag, attributes in page.tags if tag == "svg" and "aria-hidden" not in attributes]
    assert figures
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in figures)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert page.tags[0] == ("html", {"lang": "en"})


@pytest.mark.usefixtures("any_page")
def test_same_run_gives_the_same_bytes(any_folder: Path) -> None:
    once = (any_folder / "report.html").read_bytes()
    assert write_report(any_folder).read_bytes() == once
    assert not list(any_folder.glob("*.tmp"))


def test_one_classifier_and_one_nuisance_have_neither_pairs_nor_curve(
    tmp_path: Path, write_run: Callable[..., Path], page_of: Callable[[Path], Any]
) -> None:
    folder = write_run(
        tmp_path, classifiers={"only": f"python:{tmp_path}/tiny.py:first"}, nuisances=["affine:alpha=50"]
    )
    page = page_of(folder)
    assert not {"paired", "options"} & page.ids
    assert "Paired differences" not in page.text
    assert "tie means" not in page.text


def test_images_without_labels_are_measured_against_the_clean_prediction(
    tmp_path: Path, write_run: Callable[..., Path], page_of: Callable[[Path], Any]
) -> None:
    folder = write_run(tmp_path, labelled=False)
    page = page_of(folder)
    assert "have no labels" in page.text
    assert "clean accuracy" not in page.text
    assert "draw 0" in page.text


def test_report_is_written_when_images_and_classifiers_are_gone(
    tmp_path: Path, write_run: Callable[..., Path], page_of: Callable[[Path], Any]
) -> None:
    folder = write_run(tmp_path)
    (tmp_path / "images.npz").unlink()
    (tmp_path / "tiny.py").unlink()
    page = page_of(folder)
    assert "The image set shapes can't be loaded any more" in page.text
    assert "The classifier plain can't be loaded any more" in page.text
    assert not any(tag == "img" for tag, _ in page.tags)
    assert f"{json.loads((folder / 'summary.json').read_text())['results'][0]['rho']:.3f}" in page.text


def test_pictures_of_other_images_are_not_shown_as_those_of_the_run(
    tmp_path: Path, write_run: Callable[..., Path], page_of: Callable[[Path], Any]
) -> None:
    folder = write_run(tmp_path)
    kept = json.loads((folder / "begun.json").read_text())
    kept["images"]["shapes"] = "24 images, of which these are not"
    (folder / "begun.json").write_text(json.dumps(kept))
    page = page_of(folder)
    assert "no longer those of the run" in page.text
    assert not any(tag == "img" for tag, _ in page.tags)


def test_ties_and_winners_are_told_from_the_intervals(run_folder: Path, names: tuple[str, str]) -> None:
    run = load(run_folder)
    first, second = names
    for pair, verdict in zip(run.summary["comparisons"], ("first", "tie", "second"), strict=True):
        pair |= {"rho_better": verdict, "rho_difference": {"first": 0.25, "tie": 0.0, "second": -0.125}[verdict]}
        pair["rho_interval"] = [pair["rho_difference"] - 0.1, pair["rho_difference"] + 0.1]
    said = findings(run, "shapes")[0]
    assert f"{first} is more robust than {second} under 1 of 3 nuisances" in said
    assert "difference 0.250 [0.150, 0.350], paired" in said
    assert "difference 0.125 [0.025, 0.225], paired" in said
    assert "they tie under affine:alpha=10" in said
    assert ranks(run, "shapes", "affine:alpha=50") == {first: (1, 1), second: (2, 2)}
    assert ranks(run, "shapes", "affine:alpha=10") == {first: (1, 2), second: (1, 2)}


def test_cautions_name_warnings_skipped_images_and_missed_tolerances(run_folder: Path) -> None:
    run = load(run_folder)
    run.summary["warnings"][:] = []
    assert cautions(run) == []
    run.summary["warnings"].append("under x even the best classifier is near chance")
    run.summary["skipped"]["shapes"] = ["torn.png"]
    run.summary["results"][0] |= {"tolerance": 0.01, "tolerance_reached": False, "half_width": 0.0321}
    said = " ".join(cautions(run))
    for words in ("near chance", "torn.png", "Tolerance not reached", "0.0321"):
        assert words in said
