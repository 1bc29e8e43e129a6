"""Results print themselves: on the console, as text, as HTML for a notebook, and as Arrow tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brittle.errors import BrittleError
from brittle.report.console import as_text, one_table, print_found

SHOWN = 10  # images of an entry


def _summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def test_every_measure_is_printed_in_turn(both_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = _summary(both_folder)
    print_found(summary)
    out = capsys.readouterr().out
    results, entries = summary["measures"]["robustness"]["results"], summary["measures"]["weak-points"]["entries"]
    for row in results:
        low, high = row["interval"]
        assert f"{row['rho']:.3f} [{low:.3f}, {high:.3f}]" in out
    assert out.count("weak points of") == len(entries)
    assert out.index("95 % intervals for") < out.index("weak points of")
    for place, row in enumerate(entries[0]["per_image"]):
        assert (f" {row['name']} " in out) == (place < SHOWN)
    assert f"… and {len(entries[0]['per_image']) - SHOWN} more images" in out


def test_text_is_what_is_printed_and_the_warnings(both_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = _summary(both_folder) | {"warnings": ["this prior may destroy the label"]}
    print_found(summary)
    printed = capsys.readouterr().out.splitlines()
    text = as_text(summary).splitlines()
    assert [line.rstrip() for line in text[: len(printed)]] == [line.rstrip() for line in printed]
    assert text[len(printed) :] == ["warning: this prior may destroy the label"]


def test_lines_are_left_whole_and_tables_fit(both_folder: Path) -> None:
    text = as_text(_summary(both_folder)).splitlines()
    assert any(len(line) > 110 for line in text if line.startswith("  6 images") or "intervals for" in line)
    assert all(len(line.rstrip()) <= 110 for line in text if line.startswith(" index"))


def test_skipped_images_are_told(both_folder: Path) -> None:
    assert "shapes: 2 images can't be read and were skipped, the first torn.png" in as_text(
        _summary(both_folder) | {"skipped": {"shapes": ["torn.png", "empty.png"]}}
    )
    assert "shapes: 1 image can't be read and was skipped, the first torn.png" in as_text(
        _summary(both_folder) | {"skipped": {"shapes": ["torn.png"]}}
    )


def test_measures_of_one_kind_are_printed_with_their_names(run_folder: Path) -> None:
    summary = _summary(run_folder)
    entry = summary["measures"]["robustness"]
    text = as_text(summary | {"measures": {"coarse": entry, "fine": entry}}).splitlines()
    assert text.count("coarse") == text.count("fine") == 1


def test_a_result_in_a_notebook_is_shown_once(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The notebook shows what it is given; making it must not."""
    displayed: list[Any] = []
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *given: displayed.append(given))
    summary = _summary(run_folder)
    assert as_text(summary)
    assert displayed == []


def test_one_table_names_what_there_is_to_choose_from(both_folder: Path, run_folder: Path) -> None:
    both = _summary(both_folder)
    with pytest.raises(BrittleError, match=r"several measures: robustness, weak-points"):
        one_table(both)
    with pytest.raises(BrittleError, match="no measure called 'clean'"):
        one_table(both, "clean")
    assert one_table(_summary(run_folder)).num_rows == 6


def test_robustness_is_a_table_with_a_row_per_result_and_flat_columns(run_folder: Path) -> None:
    summary = _summary(run_folder)
    rows = one_table(summary).to_pylist()
    for row, result in zip(rows, summary["measures"]["robustness"]["results"], strict=True):
        assert (row["classifier"], row["nuisance"]) == (result["classifier"], result["nuisance"])
        assert row["rho"] == result["rho"]
        assert [row["rho_low"], row["rho_high"]] == result["interval"]
        assert [row["rho_simultaneous_low"], row["rho_simultaneous_high"]] == result["interval_simultaneous"]
        assert [row["accuracy_clean_low"], row["accuracy_clean_high"]] == result["accuracy_clean_interval"]
        assert not any(isinstance(value, (list, dict)) for value in row.values())


def test_weak_points_are_a_table_with_a_row_per_image(weak_folder: Path) -> None:
    summary = _summary(weak_folder)
    table = one_table(summary)
    entries = summary["measures"]["weak-points"]["entries"]
    assert table.num_rows == sum(len(entry["per_image"]) for entry in entries)
    last = table.to_pylist()[-1]
    assert {key: last[key] for key in entries[-1]["per_image"][-1]} == entries[-1]["per_image"][-1]
    assert (last["classifier"], last["nuisance"]) == (entries[-1]["classifier"], entries[-1]["nuisance"])
