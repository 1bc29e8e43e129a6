"""A measure without a section is shown everywhere, whatever its summary holds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brittle.report.console import as_text, one_table
from brittle.report.sections import sections
from brittle.report.sections.flatten import arrow_of, rows_of, text


def _summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def test_somebody_elses_measure_is_printed_with_its_name(foreign_folder: Path, names: tuple[str, str]) -> None:
    said = as_text(_summary(foreign_folder))
    lines = said.splitlines()
    assert lines[0] == "Letter counts"
    assert next(line.split() for line in lines if "mean_low" in line) == [
        "classifier", "labels", "mean", "mean_low", "mean_high", "about_can",
    ]  # fmt: skip
    assert any(line.split()[:5] == ["plain", "3", "1", "0.25", "8.5"] for line in lines)
    assert names[0] in said
    assert "warning: labels are short" in lines


def test_somebody_elses_measure_is_a_table(foreign_folder: Path, names: tuple[str, str]) -> None:
    table = one_table(_summary(foreign_folder), "mine")
    assert table.column_names == ["least", "classifier", "labels", "mean", "mean_low", "mean_high", "about_can"]
    assert table["classifier"].to_pylist() == list(names)
    assert table["mean_high"].to_pylist() == [8.5, 8.5]


def test_somebody_elses_measure_is_in_the_report(foreign_folder: Path, page_of: Callable[[Path], Any]) -> None:
    page = page_of(foreign_folder)
    assert "mine" in page.ids
    for words in ("Letter counts", "counts", "mean_low", "8.5", "Labels are short.", "least"):
        assert words in page.text
    assert "What its prior means" not in page.text


def test_any_summary_becomes_rows() -> None:
    summary = {
        "kind": "odd",
        "score": 0.5,
        "score_interval": [0.25, 0.75],
        "missing_interval": None,
        "by_name": {"a": {"x": 1}, "b": {"x": 2, "y": None}},
        "nested": {"deep": {"er": 3}, "flat": 4},
        "list": [{"x": 1, "inner": {"y": 2}}, {"z": "word"}],
        "numbers": [1, 2, 3],
        "nothing": [],
    }
    assert rows_of(summary) == {
        "": [
            {
                "score": 0.5,
                "score_low": 0.25,
                "score_high": 0.75,
                "missing_low": None,
                "missing_high": None,
                "nested_deep_er": 3,
                "nested_flat": 4,
                "numbers": [1, 2, 3],
                "nothing": [],
            }
        ],
        "by_name": [{"name": "a", "x": 1}, {"name": "b", "x": 2, "y": None}],
        "list": [{"x": 1, "inner_y": 2}, {"z": "word"}],
    }
    table = arrow_of(summary)
    assert table["part"].to_pylist() == ["by_name", "by_name", "list", "list"]
    assert table["x"].to_pylist() == [1, 2, 1, None]
    assert rows_of({"kind": "empty"}) == {}
    assert arrow_of({"kind": "empty"}).num_rows <= 1


def test_values_of_several_types_become_text() -> None:
    assert arrow_of({"rows": [{"x": 1}, {"x": "one"}, {}]})["x"].to_pylist() == ["1", "one", None]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (True, "yes"),
        (-0.123456, "−0.1235"),
        (12, "12"),
        ([1, 2], "1, 2"),
        (list(range(20)), "0, 1, 2, 3, 4, 5, 6, 7, … (20 in all)"),
        ([{"a": 1}], "1 row"),
    ],
)
def test_values_are_written_briefly(value: Any, shown: str) -> None:
    assert text(value) == shown


OTHER = """
from brittle.report.blocks import Group, Raw, Sentence, Table, Weighted
from brittle.report.blocks.text import ClassifierName, Estimate
from brittle.report.sections.base import BaseSection

class LetterSection(BaseSection):
    title = "Letters & words"

    def blocks(self, run):
        rows = tuple((ClassifierName(row["classifier"]), Estimate(1.0, 0.25, 8.5)) for row in run.summary["counts"])
        return [
            Group("All letters", (Table(("classifier", "letters"), rows),), key="all"),
            Raw("<b>markup of its own</b>"),
            Sentence("Letters say nothing of robustness.", "limit"),
        ]

    def top(self, run):
        return [Weighted(Sentence(f"{len(run.summary['counts'])} classifiers have words."), 0.7)]
"""


def test_another_packages_section_comes_through_an_entry_point(
    tmp_path: Path,
    foreign_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    page_of: Callable[[Path], Any],
    names: tuple[str, str],
) -> None:
    package, installed = tmp_path / "lettering", tmp_path / "lettering-1.0.dist-info"
    for folder in (package, installed):
        folder.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "letters.py").write_text(OTHER)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: lettering\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[brittle.sections]\nletter-counts = lettering.letters:LetterSection\n")
    monkeypatch.syspath_prepend(tmp_path)
    sections.names()  # loads all of them, which is done once
    monkeypatch.setattr(sections, "_kinds", dict(sections.loaded()))
    folder = shutil.copytree(foreign_folder, tmp_path / "run")
    page, text = page_of(folder), (folder / "report.html").read_text()
    assert f"Letters & words of {' and '.join(names)}" in page.text
    assert "2 classifiers have words." in page.text
    assert "1.000 [0.250, 8.500]" in page.text
    assert "Letters say nothing of robustness." in page.text
    assert {"mine", "mine-all"} <= page.ids
    assert '<a href="#mine-all">All letters</a>' in text
    assert "<b>markup of its own</b>" in text
    assert as_text(_summary(folder)).startswith("Letters & words")
