"""Blocks are data: JSON keeps them, a schema describes them, and no renderer takes their text for markup."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from brittle.report.blocks import Group, Sentence, Table
from brittle.report.blocks.text import ClassifierName, Count, Estimate, Styled, Verdict
from brittle.report.blocks.wording import plain
from brittle.report.page.colours import looks
from brittle.report.page.loaded import load
from brittle.report.page.shell import document
from brittle.report.renderers.html import HtmlRenderer
from brittle.report.renderers.json import SCHEMA, as_json, from_json, schema
from brittle.report.renderers.markdown import as_markdown
from brittle.report.sections import section_of

CONVERTED = ("clean", "ranking", "corruption-error")
NASTY = "<script>*a*|`b`_c_[d](e)&amp;"
BLOCKS = [
    Group(
        (NASTY, Styled(NASTY)),
        (
            Sentence((NASTY, ClassifierName(NASTY))),
            Table((NASTY, "n"), ((ClassifierName(NASTY), Estimate(0.5, 0.25, 0.75)), (NASTY, Count(3, 4)))),
        ),
    )
]


def test_the_schema_of_the_package_is_that_of_the_types() -> None:
    assert json.loads(SCHEMA.read_text()) == schema()


def test_the_blocks_of_a_run_keep_to_the_schema_and_come_back_from_json(
    tmp_path: Path, write_run: Callable[..., Path]
) -> None:
    asked = {"failure-points": {"severities": [10, 40]}, "ranking": {}, "corruption-error": {"reference": "plain"}}
    folder = write_run(tmp_path, robustness=None, nuisances=["noise"], clean={}, **asked)
    run = load(folder)
    made = document(run, section_of)
    text = as_json(made)
    jsonschema.validate(json.loads(text), json.loads(SCHEMA.read_text()))
    back, kept = from_json(text), [each.name in CONVERTED for each in made.measures]
    assert list(itertools.compress(back.measures, kept)) == list(itertools.compress(made.measures, kept))


@pytest.fixture
def page(run_folder: Path) -> HtmlRenderer:
    return HtmlRenderer(load(run_folder), looks([NASTY]), "key")


def test_names_that_look_like_markup_are_text_on_the_page(page: HtmlRenderer) -> None:
    made = str(page.render(BLOCKS))
    assert "<script>" not in made
    assert made.count("&lt;script&gt;*a*|`b`_c_[d](e)&amp;amp;") == 8  # one of them is the table's label


def test_names_that_look_like_markdown_are_text_in_markdown() -> None:
    made = as_markdown(BLOCKS)
    assert "*a*" not in made.replace(r"\*a\*", "")
    assert "<script>" not in made.replace(r"\<script\>", "")
    rows = [line for line in made.splitlines() if line.startswith("|")]
    assert {line.replace(r"\|", "").count("|") for line in rows} == {3}


@pytest.mark.parametrize(
    ("span", "said"),
    [
        (Estimate(0.5891, 0.568, 0.619), "0.589 [0.568, 0.619]"),
        (Estimate(1.0, 1.0, 1.0), "1.000 exact"),
        (Estimate(-0.02, signed=True, places=2), "−0.02"),
        (Estimate(0.25, 0.2, 0.3, places=0, format="percent"), "25 % [20, 30]"),
        (Estimate(255.0, places=0, censored=True), "> 255"),
        (Estimate(0.0001, format="p"), "< 0.001"),
        (Estimate(None), "–"),
        (Count(1200), "1,200"),
        (Count(1, noun="image"), "1 image"),
        (Count(5, 80), "5 of 80"),
        (Verdict(None), "tie"),
    ],
)
def test_numbers_are_worded_in_one_way(span: Any, said: str) -> None:
    assert plain((span,)) == said
