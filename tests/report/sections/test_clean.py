"""Clean predictions are shown where a study asks for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brittle.report.console import as_text, one_table

PageOf = Callable[[Path], Any]
WriteRun = Callable[..., Path]
ALONE: dict[str, Any] = {"robustness": None, "nuisances": None, "clean": {}}


def test_accuracy_and_confidence_are_shown_everywhere(tmp_path: Path, write_run: WriteRun, page_of: PageOf) -> None:
    folder = write_run(tmp_path, **ALONE)
    summary = json.loads((folder / "summary.json").read_text())
    page, text = page_of(folder), as_text(summary)
    assert "Clean predictions of" in page.text
    for row in one_table(summary).to_pylist():
        low, high = row["accuracy_clean_low"], row["accuracy_clean_high"]
        for shown in (f"{row['accuracy_clean']:.3f} [{low:.3f}, {high:.3f}]", f"{row['mean_confidence']:.3f}"):
            assert shown in page.text
            assert shown in text


def test_without_labels_there_is_confidence_alone(tmp_path: Path, write_run: WriteRun, page_of: PageOf) -> None:
    folder = write_run(tmp_path, labelled=False, **ALONE)
    page, table = page_of(folder), one_table(json.loads((folder / "summary.json").read_text()))
    assert table["accuracy_clean"].null_count == table.num_rows == 2
    assert f"{table['mean_confidence'][0].as_py():.3f}" in page.text
    assert "The images have no labels, so there is no accuracy." in page.text


def test_clean_accuracy_is_found_once_where_robustness_tells_it_too(
    tmp_path: Path, write_run: WriteRun, page_of: PageOf
) -> None:
    page = page_of(write_run(tmp_path, nuisances=["affine:alpha=50"], clean={}))
    assert "Clean accuracy, for comparison" in page.text
    assert "Accuracy on the untouched images" not in page.text
    assert {"clean", "robustness-results"} <= page.ids
