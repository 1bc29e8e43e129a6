"""Forty classifiers: what is printed stays short and the report small, and both say what they leave out."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brittle.cli.output import warn
from brittle.report.console import as_text, print_found
from brittle.report.html import write_report
from brittle.report.page.choose_few import some_of
from brittle.report.page.colours import looks
from brittle.report.sections.weak_points.section import with_pictures

FORTY = [f"net-{place:02d}" for place in range(40)]
PARTS = ("<h4>Confident mistakes of ", "<h4>Whether the draws can be trusted</h4>")


@pytest.fixture(scope="module")
def forty_folder(tmp_path_factory: pytest.TempPathFactory, write_run: Callable[..., Path]) -> Path:
    folder = tmp_path_factory.mktemp("forty")
    kinds = ("first", "second")
    return write_run(
        folder,
        classifiers={name: f"python:{folder}/tiny.py:{kinds[place % 2]}" for place, name in enumerate(FORTY)},
        nuisances=["translation:sigma=0.2", "affine:alpha=10"],
        robustness={"samples": 2},
        **{"weak-points": {"count": 2, "budget": 40}},
    )


def _summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


@pytest.mark.slow
def test_forty_classifiers_print_fewer_than_200_lines(forty_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = _summary(forty_folder)
    print_found(summary)
    warn(summary["warnings"])
    told = capsys.readouterr()
    assert len(told.out.splitlines()) + len(told.err.splitlines()) < 200
    assert all(told.out.count(f" {name} ") >= 4 for name in FORTY)  # a row in each of the four tables
    assert told.out.count("--json or --out has all 780 differences, with their intervals") == 2


@pytest.mark.slow
def test_the_report_of_forty_classifiers_is_small_and_says_whom_it_shows(forty_folder: Path) -> None:
    report = write_report(forty_folder)
    text = report.read_text(encoding="utf-8")
    assert report.local.stat().st_size < 10_000_000
    assert "Of 40 classifiers 8 are shown below" in text
    assert "Of 40 classifiers 8 are shown in full" in text
    assert "All 1,560 comparisons are in summary.json." in text
    assert [text.count(part) for part in PARTS] == [16, 16]  # eight classifiers under two nuisances
    others = text[text.index(">The other classifiers</h3>") :]
    assert len(re.findall(r"net-\d\d</th>", others)) == 2 * 32


def test_no_two_of_twenty_eight_classifiers_look_alike_even_where_colours_repeat() -> None:
    every = looks([f"c{place}" for place in range(28)]).values()
    assert len({each.swatch for each in every}) == 28


def test_few_classifiers_are_all_shown(both_folder: Path, page_of: Callable[[Path], Any]) -> None:
    entries, page = _summary(both_folder)["measures"]["weak-points"]["entries"], page_of(both_folder)
    assert with_pictures(entries) == entries
    assert page.text.count("Confident mistakes of ") == 4
    assert page.text.count("Whether the draws can be trusted") == 4
    assert "are shown" not in page.text
    assert "The other classifiers" not in page.text


def test_the_best_is_named_with_those_it_is_not_told_apart_from(run_folder: Path) -> None:
    """Six classifiers whose comparisons are made up: c5 beats three of them in ρ, and loses to one in accuracy."""
    summary = _summary(run_folder)
    entry = summary["measures"]["robustness"]
    cell = ("shapes", "translation:sigma=0.1")
    row = next(row for row in entry["results"] if (row["image_set"], row["nuisance"]) == cell)
    pair = next(pair for pair in entry["comparisons"] if (pair["image_set"], pair["nuisance"]) == cell)
    names = [f"c{place}" for place in range(6)]
    entry["results"] = [row | {"classifier": name, "rho": 0.1 * place} for place, name in enumerate(names)]
    better = {("c0", "c5"): "second", ("c1", "c5"): "second", ("c2", "c5"): "second"}
    entry["comparisons"] = [
        pair
        | {"first": first, "second": second, "family": 15}
        | {"rho_better": better.get((first, second), "tie")}
        | {"accuracy_nuisance_better": "first" if (first, second) == ("c4", "c5") else "tie"}
        for place, first in enumerate(names)
        for second in names[place + 1 :]
    ]
    lines = [line.strip() for line in as_text(summary).splitlines()]
    assert "c5 has the highest ρ. Paired with it (simultaneous over 15 comparisons):" in lines
    assert "ρ: 3 worse (c0, c1 and c2), 2 not told apart (c3 and c4)" in lines
    assert "accuracy: 1 better (c4), 4 not told apart (c0, c1, c2 and c3)" in lines
    assert "--json or --out has all 15 differences, with their intervals" in lines
    assert not any(" − " in line for line in lines)  # no difference by itself


def test_a_table_of_very_many_classifiers_shows_both_ends(run_folder: Path) -> None:
    summary = _summary(run_folder)
    entry = summary["measures"]["robustness"]
    row = entry["results"][0]
    entry["comparisons"] = []
    entry["results"] = [row | {"classifier": f"c{place:03d}", "rho": place / 100} for place in range(100)]
    text = as_text(summary)
    shown = [int(found) for found in re.findall(r"^ c(\d\d\d) ", text, re.MULTILINE)]
    assert shown == [*range(99, 79, -1), *range(19, -1, -1)]
    assert "the 20 highest and lowest ρ; 60 more between (--json or --out has them all)" in text


def test_warnings_are_printed_up_to_ten(capsys: pytest.CaptureFixture[str]) -> None:
    warn([f"number {place}" for place in range(10)])
    assert capsys.readouterr().err.splitlines() == [f"warning: number {place}" for place in range(10)]
    warn([f"number {place}" for place in range(120)])
    lines = capsys.readouterr().err.splitlines()
    assert lines[9:] == ["warning: number 9", "warning: 110 more are not printed (--json or --out has them all)"]


def test_the_first_the_highest_and_the_lowest_are_chosen() -> None:
    names = list("abcdefghij")
    scores = dict(zip(names, (5, 1, 9, 3, 7, 2, 8, 4, 6, 0), strict=True))
    assert some_of(names, scores, 10) == names
    assert some_of(names, scores, 5) == ["a", "b", "c", "g", "j"]  # a; c, j; b; g
    assert some_of(names, scores, 1) == ["a"]


def test_entries_in_full_are_those_of_the_same_classifiers_under_every_nuisance(weak_folder: Path) -> None:
    entries = _summary(weak_folder)["measures"]["weak-points"]["entries"]
    one = copy.deepcopy(entries[0])
    many = [
        one | {"classifier": name, "nuisance": nuisance, "one_minus_mu": place / 40}
        for nuisance in ("a", "b", "c")
        for place, name in enumerate(FORTY)
    ]
    shown = with_pictures(many)
    assert [entry["nuisance"] for entry in shown] == [nuisance for nuisance in "abc" for _ in range(8)]
    assert {entry["classifier"] for entry in shown} == {
        *("net-00", "net-01", "net-02"), *("net-39", "net-38", "net-37"), "net-03", "net-36",
    }  # fmt: skip
