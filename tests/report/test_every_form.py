"""A run of every measure, as page, console, Markdown and JSON: all forms say the same, and no section of Brittle's own
needs raw markup."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from everything import study_of_everything
from without_classifiers import MAKING

import brittle
from brittle.measures import measures
from brittle.report import console as printing
from brittle.report import sections as sections_package
from brittle.report.blocks import Block, Group, Matrix, Raw, Sentence
from brittle.report.blocks.figure import Figure
from brittle.report.blocks.wording import plain
from brittle.report.console import as_text, print_screenful
from brittle.report.html import write_as, write_report
from brittle.report.page.loaded import load
from brittle.report.page.measured import spoken_names
from brittle.report.page.shell import render
from brittle.report.renderers.json import SCHEMA, Document, from_json
from brittle.report.sections import register, section_of
from brittle.report.sections.base import BaseSection

pytestmark = pytest.mark.warned("")  # of a run as small as this one there is much to warn of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("everything")
    brittle.run(study_of_everything(made), out=made / "run")
    return made / "run"


@pytest.fixture(scope="module")
def written(folder: Path) -> Document:
    return from_json(write_as(folder, "json").read_text(encoding="utf-8"))


def _summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def _within(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, Group):
            yield from _within(block.blocks)


def test_the_run_has_every_measure_there_is(written: Document) -> None:
    own = {name for name, kind in measures.loaded().items() if kind.__module__.startswith("brittle.")}
    assert {each.kind for each in written.measures} == own - MAKING


def test_the_report_of_every_measure_as_json_keeps_to_the_committed_schema(folder: Path) -> None:
    found = json.loads(write_as(folder, "json").read_text(encoding="utf-8"))
    jsonschema.validate(found, json.loads(SCHEMA.read_text(encoding="utf-8")))
    (weak,) = (each for each in found["measures"] if each["kind"] == "weak-points")
    assert len(weak["blocks"]) > 5
    del weak["blocks"][0]["text"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_no_section_of_brittle_makes_raw_markup(written: Document) -> None:
    for measure in written.measures:
        assert not any(isinstance(block, Raw) for block in _within(measure.blocks)), measure.kind
    for path in Path(sections_package.__file__).parent.rglob("*.py"):
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert not names & {"Raw", "Markup"}, path


def test_every_figure_says_itself_how_to_read_it(written: Document) -> None:
    figures = [block for measure in written.measures for block in _within(measure.blocks) if isinstance(block, Figure)]
    assert len(figures) > 20
    assert [block.alt for block in figures if not plain(block.reading)] == []


def test_page_json_and_console_have_the_same_findings(
    folder: Path, written: Document, page_of: Callable[[Path], Any], capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """JSON calls nuisances as the study does, and the others as people do."""
    run = load(folder)
    findings = [spoken_names(run).plain(plain(block.text)) for block in written.top if isinstance(block, Sentence)]
    assert len(findings) > 10
    assert any("weak points of" in text.lower() for text in findings)
    page = page_of(folder).text
    monkeypatch.setattr(printing, "SCREENFUL", 400)
    print_screenful(_summary(folder), render(run, section_of).findings)
    console = " ".join(capsys.readouterr().out.split()).replace("\xa0", " ")
    for text in findings:
        assert text in page
        assert " ".join(text.split()) in console


def test_a_card_has_the_verdict_the_matrix_three_pictures_and_the_cautions(folder: Path, written: Document) -> None:
    card = re.sub(r"\\(.)", r"\1", write_as(folder, "markdown").read_text(encoding="utf-8"))
    names = spoken_names(load(folder))
    verdict = next(plain(block.text) for block in written.top if isinstance(block, Sentence))
    matrix = next(block for block in written.top if isinstance(block, Matrix))
    assert f"**{names.plain(verdict)}**" in card
    for square in (square for row in matrix.squares for square in row if square is not None):
        for number in square.numbers:
            assert f"{number.value:.3f}" in card
    pictures = re.findall(r"!\[.+\]\((report-\d\.png)\)", card)
    assert pictures
    assert len(pictures) <= 3
    for name in pictures:
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    assert card.count("## Cautions") == 1
    assert len(card.splitlines()) < 80


def test_the_csv_of_a_report_is_the_matrix_of_its_first_screen(folder: Path, written: Document) -> None:
    rows = list(csv.DictReader(io.StringIO(write_as(folder, "csv").read_text(), newline="")))
    matrix = next(block for block in written.top if isinstance(block, Matrix))
    squares = [square for row in matrix.squares for square in row if square is not None]
    assert len(rows) == len(squares)
    for row, square in zip(rows, squares, strict=True):
        accuracy, rho = square.numbers
        told = [accuracy.value, accuracy.low, accuracy.high, rho.value, rho.low, rho.high, square.tick]
        found = [
            row[key] for key in ("accuracy", "accuracy low", "accuracy high", "ρ", "ρ low", "ρ high", "clean accuracy")
        ]
        assert [float(each) for each in found] == pytest.approx(told, rel=1e-5)


class LetterSection(BaseSection):
    """Somebody else's section, which has markup of its own."""

    def brief(self, summary: Any) -> Sequence[Block]:
        return [Raw("<b>letters</b>", "LETTERS *in brief*")]

    def blocks(self, run: Any) -> Sequence[Block]:
        return [Raw('<b class="own">letters</b>', "LETTERS")]


def test_a_third_partys_section_may_bring_raw_markup(
    foreign_folder: Path, letters: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections_package.sections.names()
    monkeypatch.setattr(sections_package.sections, "_kinds", dict(sections_package.sections.loaded()))
    register(letters)(LetterSection)
    assert '<b class="own">letters</b>' in write_report(foreign_folder).read_text(encoding="utf-8")
    assert "LETTERS *in brief*" in as_text(_summary(foreign_folder))
    assert "LETTERS \\*in brief\\*" in write_as(foreign_folder, "markdown").read_text(encoding="utf-8")
    (mine,) = from_json(write_as(foreign_folder, "json").read_text(encoding="utf-8")).measures
    assert mine.blocks == (Raw('<b class="own">letters</b>', "LETTERS"),)
    assert isinstance(section_of(letters), LetterSection)
