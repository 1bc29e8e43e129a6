"""The report is one file, says what the summary says, and is written whatever has become of images and classifiers."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from brittle.engine.store.checked_json import checked_text, read_checked
from brittle.errors import BrittleError
from brittle.measures import measures
from brittle.report.blocks import Block, Sentence, Weighted
from brittle.report.html import write_report
from brittle.report.page.label_names import LabelNames
from brittle.report.page.loaded import load
from brittle.report.page.shell import ranked, render
from brittle.report.sections import section_of
from brittle.report.sections.base import BaseSection

PageOf = Callable[[Path], Any]
WriteRun = Callable[..., Path]


@pytest.fixture(params=["run_folder", "weak_folder", "both_folder", "foreign_folder"])
def any_folder(request: pytest.FixtureRequest) -> Path:
    """A run of each sort: robustness, weak points, both, somebody else's measure."""
    folder: Path = request.getfixturevalue(request.param)
    return folder


def test_report_loads_nothing_from_elsewhere(any_folder: Path, page_of: PageOf) -> None:
    page = page_of(any_folder)
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "object", "embed")
        for key in ("src", "href", "xlink:href", "srcset", "data"):
            value = attributes.get(key)
            assert value is None or value.startswith(("data:image/", "#")), (tag, key, value)
        assert tag != "script" or "src" not in attributes
    assert not re.search(r"url\((?!#)|@import", page.text)


def test_names_are_escaped_everywhere(any_folder: Path, page_of: PageOf, names: tuple[str, str]) -> None:
    page, text = page_of(any_folder), (any_folder / "report.html").read_text(encoding="utf-8")
    assert "<b>&" not in text
    assert "<i>" not in text
    assert not any(tag == "i" for tag, _ in page.tags)
    assert names[0] in page.text


def test_pictures_and_figures_have_words_ids_are_unique_and_links_lead_somewhere(
    any_folder: Path, page_of: PageOf
) -> None:
    page = page_of(any_folder)
    assert all(attributes["alt"] for tag, attributes in page.tags if tag == "img")
    figures = [attributes for tag, attributes in page.tags if tag == "svg" and "aria-hidden" not in attributes]
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in figures)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"].removeprefix("#") for tag, attributes in page.tags if tag == "a"}
    assert links
    assert links <= set(ids)
    assert page.tags[0] == ("html", {"lang": "en"})


def test_same_run_gives_the_same_bytes(any_folder: Path) -> None:
    before = write_report(any_folder).read()
    assert write_report(any_folder).read() == before
    assert not list(any_folder.glob("*.tmp"))


def test_every_section_is_in_the_table_of_contents(both_folder: Path, page_of: PageOf) -> None:
    page = page_of(both_folder)
    links = {attributes["href"] for tag, attributes in page.tags if tag == "a"}
    for section in ("robustness", "robustness-results", "robustness-gallery", "weak-points", "limits", "redo"):
        assert section in page.ids
        assert f"#{section}" in links


def test_classifiers_image_sets_and_nuisances_are_told(both_folder: Path, page_of: PageOf) -> None:
    page, summary = page_of(both_folder), json.loads((both_folder / "summary.json").read_text())
    for words in ("24", "10 × 8 pixels, 1 channel", "shifts with a standard deviation of 2 pixels across"):
        assert words in page.text
    assert summary["calls"]
    for count in summary["calls"].values():
        assert f"{count:,}" in page.text


def test_groups_and_attributes_of_classifiers_are_shown(tmp_path: Path, write_run: WriteRun, page_of: PageOf) -> None:
    entry = {"spec": f"python:{tmp_path}/tiny.py:first", "group": "convolutional", "epochs": 12}
    folder = write_run(tmp_path, classifiers={"only": entry}, nuisances=["affine:alpha=50"])
    page = page_of(folder)
    assert "convolutional" in page.text
    assert "epochs = 12" in page.text


def test_title_says_what_was_measured_of_whom(
    both_folder: Path, foreign_folder: Path, page_of: PageOf, names: tuple[str, str]
) -> None:
    of = " and ".join(names)
    assert f"Robustness and weak points of {of} under Translation, σ 0.2 and Occlusion" in page_of(both_folder).text
    page = page_of(foreign_folder)
    assert f"Letter counts of {of} on shapes" in page.text
    assert "eak points" not in page.text
    assert "obustness" not in page.text


def test_the_studys_own_title_comes_first(tmp_path: Path, write_run: WriteRun, page_of: PageOf, letters: str) -> None:
    asked = {"measures": {"mine": {"kind": letters}}, "title": "Words & <b>letters"}
    page = page_of(write_run(tmp_path, robustness=None, nuisances=None, **asked))
    assert page.text.count("Words & <b>letters") >= 2


def test_report_is_written_when_images_and_classifiers_are_gone(
    tmp_path: Path, write_run: WriteRun, page_of: PageOf
) -> None:
    folder = write_run(tmp_path)
    (tmp_path / "images.npz").unlink()
    (tmp_path / "tiny.py").unlink()
    page = page_of(folder)
    assert "The image set shapes can't be loaded any more" in page.text
    assert "The classifier plain can't be loaded any more" in page.text
    assert not any(tag == "img" for tag, _ in page.tags)
    results = json.loads((folder / "summary.json").read_text())["measures"]["robustness"]["results"]
    assert f"{results[0]['rho']:.3f}" in page.text
    assert results[0]["prior"] in page.text


def test_a_report_of_other_images_shows_the_summary_alone(tmp_path: Path, both_folder: Path, page_of: PageOf) -> None:
    folder = shutil.copytree(both_folder, tmp_path / "run")
    kept = read_checked(folder / "begun.json", "")
    kept["images"]["shapes"] = "24 images, of which these are not"
    (folder / "begun.json").write_text(checked_text("begun.json", kept))
    page = page_of(folder)
    assert "no longer those of the run" in page.text
    assert not any(tag == "img" for tag, _ in page.tags)
    summary = json.loads((folder / "summary.json").read_text())["measures"]
    assert f"{summary['robustness']['results'][0]['rho']:.3f}" in page.text
    assert {"robustness-results", "robustness-classes", "weak-points"} <= page.ids


def test_images_that_can_no_longer_be_read_are_said_to_be_gone(
    tmp_path: Path, write_run: WriteRun, page_of: PageOf
) -> None:
    folder = write_run(tmp_path, nuisances=["affine:alpha=50"])
    torn = (tmp_path / "images.npz").read_bytes()
    (tmp_path / "images.npz").write_bytes(torn[: len(torn) // 2])
    assert "The image set shapes can't be loaded any more" in page_of(folder).text


def test_a_damaged_row_file_leaves_the_numbers(tmp_path: Path, both_folder: Path, page_of: PageOf) -> None:
    folder = shutil.copytree(both_folder, tmp_path / "run")
    for path in (folder / "units").rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-100])
    page = page_of(folder)
    assert "The pictures can't be made again" in page.text
    assert {"robustness-results", "weak-points"} <= page.ids


def test_an_unfinished_extension_is_noticed(tmp_path: Path, weak_folder: Path) -> None:
    folder = shutil.copytree(weak_folder, tmp_path / "run")
    summary = read_checked(folder / "summary.json", "")
    del summary["classifiers"]["plain"]
    (folder / "summary.json").write_text(checked_text("summary.json", summary))
    with pytest.raises(BrittleError, match="not finished: nothing is summed up for plain"):
        load(folder)


def test_several_measures_of_one_kind_are_told_apart(tmp_path: Path, write_run: WriteRun, page_of: PageOf) -> None:
    asked = {"coarse": {"kind": "robustness", "samples": 2}, "Fine one": {"kind": "robustness", "samples": 4}}
    page = page_of(write_run(tmp_path, robustness=None, nuisances=["affine:alpha=50"], measures=asked))
    assert {"coarse", "fine-one", "coarse-results", "fine-one-results"} <= page.ids
    assert "Robustness: coarse" in page.text
    assert "Robustness: Fine one" in page.text


def test_a_measure_whose_package_is_gone_still_shows_its_summary(
    tmp_path: Path, write_run: WriteRun, page_of: PageOf, letters: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_run(tmp_path, robustness=None, nuisances=None, measures={"mine": {"kind": letters}})
    kinds = {name: kind for name, kind in measures.loaded().items() if name != letters}
    monkeypatch.setattr(measures, "_kinds", kinds)
    page = page_of(folder)
    assert "The measure mine can't be loaded any more" in page.text
    assert "mean_low" in page.text


def test_a_section_that_can_not_read_its_rows_falls_back_to_the_summary(foreign_folder: Path) -> None:
    class Broken(BaseSection):
        def blocks(self, run: Any) -> Sequence[Block]:
            raise BrittleError("its rows are lost", "Find them.")

    text = render(load(foreign_folder), lambda kind: Broken() if kind else BaseSection()).text
    assert "Of mine only the summary is shown: its rows are lost" in text
    assert "mean_low" in text


def test_findings_are_ranked_and_none_is_said_twice() -> None:
    found = [
        Weighted(Sentence("detail"), 0.1),
        Weighted(Sentence("a beats b"), 0.5, ("pair", "a", "b")),
        Weighted(Sentence("b was made a"), 0.9, ("pair", "a", "b")),
        Weighted(Sentence("first"), 1.0),
        Weighted(Sentence("another detail"), 0.1),
    ]
    assert ranked(found) == [Sentence(text) for text in ("first", "b was made a", "detail", "another detail")]


def test_an_unknown_kind_has_the_section_that_shows_any_summary() -> None:
    assert type(section_of("nobody-knows")) is BaseSection
    assert type(section_of("robustness")).__name__ == "RobustnessSection"


def test_classes_that_go_by_number_are_called_by_the_image_set() -> None:
    assert LabelNames(["0", "1", "2"], ["cat", "dog"]).names == ("cat", "dog", "2")
    assert LabelNames(["a", "b"], ["cat", "dog"])("b") == "b"
    assert LabelNames(["0", "1"], ["1", "0"])(1) == "1"
