"""What fits a screen: names are not broken inside words, long results are cut to their findings, lists to names."""

import io
import json
import re

import pytest
from rich.console import Console

import brittle
from brittle.report import console as printing
from brittle.report.console import print_screenful, show
from brittle.report.page.loaded import load
from brittle.report.page.shell import render
from brittle.report.renderers.names_table import FoldedName, NamesTable
from brittle.report.sections import section_of

NUMBERS = ("0.706 [0.684, 0.721]", "0.757 [0.734, 0.772]", "0.335", "0.928", "0.222")
HEADS = ("ρ", "accuracy", "worst/10", "clean", "flips")
NAMES = ("bundled:plain", "my-classifier-with-a-name", "resnet50.a1_in1k", "affine:alpha=100,metric=image", "plain")


def shown(table, width):
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)
    show(console, table)
    return console.file.getvalue().splitlines()


def table_of(*names):
    table = NamesTable(*("" for _ in names), *HEADS, names=len(names))
    table.add_row(*names, *NUMBERS)
    return table


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("others", [(), ("translation:sigma=0.1",)])
def test_names_are_broken_between_words_and_numbers_never(name, others):
    for width in (70, 80, 100, 140):
        lines = shown(table_of(*others, name), width)
        text = " ".join(lines)
        assert all(number in text for number in NUMBERS)
        words = [piece for each in (*others, name) for piece in FoldedName(each).pieces]
        assert all(any(word.strip() in line for line in lines) for word in words)
        assert "…" not in text
        assert max(map(len, lines)) <= width


def test_where_names_and_numbers_do_not_fit_names_have_lines_of_their_own():
    assert shown(table_of("translation:sigma=0.1", "augmented"), 80) == [
        "   ρ                     accuracy              worst/10  clean  flips",
        "translation:sigma=0.1 · augmented",
        "   0.706 [0.684, 0.721]  0.757 [0.734, 0.772]  0.335     0.928  0.222",
    ]


def test_the_worst_of_one_draw_is_shown_nowhere(tmp_path):
    for nuisance, options in {"jpeg:level=3,spread=0": {"samples": 1}, "affine": {"samples": 3, "worst_of": 1}}.items():
        found = brittle.measure("bundled:plain", "sample", nuisance, count=20, out=tmp_path / nuisance, **options)
        assert found["worst_of"] is found["accuracy_worst"] is found["accuracy_worst_interval"] is None
        assert "worst" not in str(found)
        page = re.sub(r"<(style|script)[\s\S]*?</\1>", "", found.report().read_text())
        assert not re.search(r"worst of (1|None)|first 1 draws", page, re.IGNORECASE)
    assert "20 images × 1 draw:" in str(brittle.measure("bundled:plain", "sample", "affine", count=20, samples=1))


def test_a_long_result_ends_in_its_findings_and_where_the_rest_is(both_folder, capsys, monkeypatch):
    summary = json.loads((both_folder / "summary.json").read_text())
    findings = render(load(both_folder), section_of).findings
    monkeypatch.setattr(printing, "SCREENFUL", 500)
    assert print_screenful(summary, findings) == 0
    whole = capsys.readouterr().out.splitlines()
    assert len(whole) > 30
    monkeypatch.setattr(printing, "SCREENFUL", 30)
    assert print_screenful(summary, findings) >= len(whole)
    short = capsys.readouterr().out
    assert len(short.splitlines()) <= 30
    assert " ".join(findings[0].split()) in " ".join(short.replace("\n  ", " ").split())
    assert print_screenful(summary, ()) >= len(whole)
    assert capsys.readouterr().out.splitlines() == whole[: 30 - printing.LINES_AROUND]
