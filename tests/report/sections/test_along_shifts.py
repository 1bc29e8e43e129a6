"""What corruption errors, rankings and accuracy on the line show: on the console, on the page, as tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from brittle.report.console import as_text, one_table
from brittle.report.page.words import p_value
from brittle.report.sections.line.section import _correlated
from brittle.report.sections.ranking import words as rank_words

KINDS = ("corruption-error", "ranking", "line")
MEASURES = {
    "failure-points": {"severities": [1, 2, 3]},
    "corruption-error": {"reference": "net-1"},
    "ranking": {},
    "line": {"baseline": [f"net-{place}" for place in range(5)]},
}


def asked(folder: Path, count: int) -> dict[str, Any]:
    """Classifiers that differ in their weights, and all three measures under two nuisances."""
    code = "\n".join(
        f"def net{place}(images):\n    return _scores(images, {place % 7}, {1 + place % 7}.0)\n"
        for place in range(count)
    )
    tiny = Path(__file__).parents[1] / "conftest.py"
    scores = tiny.read_text().split('TINY = """')[1].split("def first")[0]
    (folder / "nets.py").write_text(scores + code)
    return {
        "classifiers": {
            f"net-{place}": {"spec": f"python:{folder}/nets.py:net{place}", "parameters": 10 + place}
            for place in range(count)
        },
        "nuisances": ["translation:sigma=0.2", "affine:alpha=10"],
        "robustness": None,
        **MEASURES,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, write_run: Callable[..., Path]) -> Path:
    where = tmp_path_factory.mktemp("along")
    return write_run(where, **asked(where, 6))


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def printed(folder: Path, kind: str) -> str:
    whole = summary(folder)
    return as_text(whole | {"measures": {kind: whole["measures"][kind]}, "warnings": []})


def test_the_console_names_the_reference_what_is_a_mean_over_what_and_its_intervals(folder: Path) -> None:
    said = printed(folder, "corruption-error")
    assert "against net-1" in said
    assert "means over 2 shifts, lower is better; drop: over images, all shifts pooled; 95 % intervals" in said
    row = summary(folder)["measures"]["corruption-error"]["results"][0]
    assert f"{row['mce']:.3f} [{row['mce_interval'][0]:.3f}, {row['mce_interval'][1]:.3f}]" in said


def test_the_console_ranks_by_both_numbers_and_says_what_a_tie_is(folder: Path) -> None:
    said = printed(folder, "ranking")
    assert said.count("Ranking by accuracy under") == said.count("Ranking by drop under") == 2
    assert "McNemar’s exact test with Holm’s correction over all 120 comparisons by accuracy" in said
    assert "along the scale" in said


def test_the_console_says_which_accuracy_is_in_distribution(folder: Path) -> None:
    said = printed(folder, "line")
    assert "against clean accuracy on shapes" in said
    assert "partial correlation of parameters, given accuracy" in said


def test_the_page_has_all_three_with_figures_and_what_they_do_not_say(
    folder: Path, page_of: Callable[[Path], Any]
) -> None:
    page = page_of(folder)
    for heading in ("Corruption errors", "Rankings", "Accuracy on the line"):
        assert heading in page.text
    about = [attributes.get("aria-label") or "" for tag, attributes in page.tags if tag == "svg"]
    assert sum(text.startswith("CE and rCE of") for text in about) == 1
    assert sum(text.startswith("rank by") for text in about) == 4  # two shifts, by accuracy and by drop
    assert sum(text.startswith("accuracy under shifts against accuracy without") for text in about) == 1
    assert sum(text.startswith("slope, correlation and p-value") for text in about) == 1
    assert "filled where it is among the baseline" in page.text
    assert "A tie says that these images don’t tell two classifiers apart" in page.text


def test_tables_have_a_row_for_each_thing(folder: Path) -> None:
    whole = summary(folder)
    assert one_table(whole, "corruption-error").num_rows == 6 * 2
    assert one_table(whole, "ranking").num_rows == 2 * 6 * (4 + 3)
    assert one_table(whole, "line").num_rows == 6
    assert {"ce", "ce_low", "ce_high", "mce"} <= set(one_table(whole, "corruption-error").column_names)


def test_ranks_severities_and_swaps_in_words() -> None:
    assert [rank_words.rank(2, 2), rank_words.rank(1, 3)] == ["2", "1–3"]
    assert rank_words.severities([1]) == "1"
    assert rank_words.severities([1, 2.5, 3]) == "1, 2.5 and 3"
    assert rank_words.severities([1, 2, 3, 4, 5]) == "1 to 5 (5 of them)"
    pair = {"first": "a", "second": "b", "first_better_at": [1], "second_better_at": [4, 5]}
    assert rank_words.swap({"unit": "level"}, pair) == "a is better at 1, and b at 4 and 5 (level)"


def test_findings_say_how_the_best_stands_beside_the_reference_and_whether_rankings_change(
    folder: Path, page_of: Callable[[Path], Any]
) -> None:
    rows = summary(folder)["measures"]["corruption-error"]["results"]
    best = min((row for row in rows if row["classifier"] != "net-1"), key=lambda row: row["mce"])
    page = page_of(folder).text
    assert f"{best['classifier']}, the best of 5, makes " in page
    assert f"mCE {best['mce']:.3f}" in page
    assert "change places along the scale, none by more than noise." in page


def test_p_values_in_words() -> None:
    assert [p_value(None), p_value(0.0001), p_value(0.642)] == ["–", "< 0.001", "0.64"]
    entry = {"correlation": -0.358, "p_value": 0.642, "models": 5}
    assert _correlated(entry) == "−0.36 (p = 0.64; 5 models)"


def test_classifiers_that_are_all_alike_leave_no_line_and_a_page_that_says_so(
    tmp_path_factory: pytest.TempPathFactory, write_run: Callable[..., Path], page_of: Callable[[Path], Any]
) -> None:
    where = tmp_path_factory.mktemp("alike")
    study = asked(where, 6)
    study["classifiers"] = dict.fromkeys(study["classifiers"], study["classifiers"]["net-0"]["spec"])
    page = page_of(write_run(where, **study))
    assert "no line: accuracies do not vary" in page.text
    assert "no line goes through them" in page.text
    assert "rankings by accuracy are the same at every severity" in page.text


@pytest.mark.slow
def test_forty_classifiers_stay_short_and_small(
    tmp_path_factory: pytest.TempPathFactory, write_run: Callable[..., Path], page_of: Callable[[Path], Any]
) -> None:
    where = tmp_path_factory.mktemp("forty-along")
    folder = write_run(where, **asked(where, 40))
    assert sum(len(printed(folder, kind).splitlines()) for kind in KINDS) < 200
    assert "Of 40 classifiers 8 are drawn." in page_of(folder).text
    assert (folder / "report.html").stat().st_size < 10_000_000
