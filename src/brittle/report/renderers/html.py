"""Blocks as HTML, which needs nothing else to be shown and is complete without JavaScript."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jinja2.environment import TemplateModule
from markupsafe import Markup

from brittle.errors import BrittleError
from brittle.report.blocks import Block, Cell, Column, Group, Pictures, Sentence, Table
from brittle.report.blocks.figure import Figure
from brittle.report.blocks.matrix import Matrix
from brittle.report.blocks.pictures import Card, Pixels
from brittle.report.blocks.text import (
    ClassifierName,
    Count,
    Estimate,
    Span,
    TableCell,
    Text,
    Verdict,
    cell_spans,
    spans,
)
from brittle.report.blocks.wording import number_of, plain, span_words
from brittle.report.page.colours import ClassifierLook
from brittle.report.page.jinja import environment
from brittle.report.page.loaded import LoadedRun
from brittle.report.page.pictures import EXACT_UP_TO, data_uri, longest_side
from brittle.report.renderers.data import as_csv
from brittle.report.renderers.figures import as_svg
from brittle.report.renderers.matrices import ShownMatrix, shown_matrix
from brittle.report.renderers.readings import reading_of
from brittle.report.renderers.resolve import Confirmation, ResolvedPictures, pictures_of, resolve

TEMPLATE = "blocks.html.j2"
TIE = "#888888"
LEAST_SCALE = 0.05  # of the drawings of differences
STACKED = 9  # columns from which on intervals stand below their values
SHORT = 16  # letters: names that are longer may be broken
NEVER = 1e308  # where what has no value is sorted


class GroupPlace(NamedTuple):
    """A group that others may link to."""

    anchor: str
    title: str
    measure: str


Places = Mapping[Cell, Sequence[GroupPlace]]


def anchors(blocks: Iterable[Block], key: str) -> dict[int, str]:
    """The id on the page of every group, by the identity of the group."""
    numbers = itertools.count(1)
    return {id(group): f"{key}-{group.key or f'g{next(numbers)}'}" for group in groups_in(blocks)}


def groups_in(blocks: Iterable[Block]) -> Iterator[Group]:
    for block in blocks:
        if isinstance(block, Group):
            yield block
            yield from groups_in(block.blocks)


def in_contents(blocks: Iterable[Block]) -> Iterator[Group]:
    """The groups that the table of contents names."""
    return (block for block in blocks if isinstance(block, Group) and not block.fold and block.title)


@dataclass(frozen=True)
class HtmlRenderer:
    """Renders the blocks of one measure; `key` begins the ids of everything in them. Without a run there are no
    pictures."""

    run: LoadedRun | None
    looks: Mapping[str, ClassifierLook]
    key: str
    places: Places = field(default_factory=dict)  # groups about cells, of all measures
    anchors: Mapping[int, str] = field(default_factory=dict)
    limited: bool = False  # whether the page says what the measure's numbers don't say
    confirms: bool = True  # whether it is said that pictures are those of the run
    _figures: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def render(self, blocks: Sequence[Block]) -> Markup:
        pictures, problem = ResolvedPictures({}, Confirmation()), ""
        try:
            pictures = resolve(self.run, blocks) if self.run is not None else pictures
        except (BrittleError, OSError) as error:
            problem = f"The pictures can’t be made again: {error}"
        count = sum(len(strip.cards) for each in pictures_of(blocks) for strip in each.strips)
        shown = _Pictures(pictures, longest_side(count), problem, self._answering(blocks))
        return Markup(self._module(shown).render_all(tuple(blocks)))  # type: ignore[attr-defined]

    def inline(self, text: Text) -> Markup:
        """Text by itself, as it stands in a line."""
        nothing = _Pictures(ResolvedPictures({}, Confirmation()), 0, "", {})
        return Markup(self._module(nothing).text(text))  # type: ignore[attr-defined]

    def _module(self, pictures: _Pictures) -> TemplateModule:
        shown = {"page": self, "looks": self.looks, "pictures": pictures}
        helpers = {"headed": headed, "cell_spans": cell_spans, "row_colour": row_colour}
        return environment().get_template(TEMPLATE).make_module(shown | helpers)

    def _answering(self, blocks: Sequence[Block]) -> dict[str, ClassifierLook]:
        cards = (card for each in pictures_of(blocks) for strip in each.strips for card in strip.cards)
        names = {answer.classifier for card in cards for answer in card.answers}
        return {name: look for name, look in self.looks.items() if name in names}

    def anchor(self, group: Group, depth: int) -> str:
        """The id of a group that something may link to."""
        wanted = group.key or group.about or (depth == 0 and not group.fold and group.title)
        return self.anchors.get(id(group), "") if wanted else ""

    def see_also(self, group: Group) -> list[GroupPlace]:
        """The first group of every other measure that is about the same cell."""
        if group.about is None:
            return []
        there = (each for each in self.places.get(group.about, ()) if each.measure != self.key)
        return list({each.measure: each for each in reversed(list(there))}.values())[::-1]

    def figure(self, figure: Figure) -> Markup:
        return as_svg(f"{self.key}-f{next(self._figures)}", figure, self.looks)

    def reading(self, figure: Figure) -> Text:
        """How to read a figure, in the section's words or, where it has none, by what is drawn."""
        return figure.reading or reading_of(figure)

    def data(self, shown: Table | Matrix | Figure) -> str:
        """The same as CSV, as a script that a page holds."""
        return json.dumps(as_csv(shown), ensure_ascii=False).replace("<", "\\u003c")

    def matrix(self, matrix: Matrix) -> ShownMatrix:
        return shown_matrix(matrix)

    def spans(self, text: Text) -> tuple[Span, ...]:
        return spans(text)

    def said(self, span: Span) -> tuple[str, str]:
        return span_words(span)

    def plain(self, text: Text) -> str:
        return plain(text)

    def columns(self, table: Table) -> list[_Column]:
        return [_column(table, place) for place in range(len(table.columns))]


class _Pictures(NamedTuple):
    """The pictures of a measure as the template shows them."""

    resolved: ResolvedPictures
    longest: int
    problem: str
    answering: Mapping[str, ClassifierLook]  # the classifiers that are said to have answered

    def uri(self, card: Card) -> str:
        if isinstance(card.source, Pixels):
            return card.source.uri
        return "" if card.source is None else data_uri(self.resolved.pixels[card.source], self.longest)

    def crisp(self, pictures: Pictures) -> bool:
        """Whether pixels are shown as squares."""
        sources = [card.source for strip in pictures.strips for card in strip.cards]
        sizes = [
            max(self.resolved.pixels[each].shape[1:])
            for each in sources
            if each is not None and not isinstance(each, Pixels)
        ]
        return max(sizes, default=EXACT_UP_TO) <= EXACT_UP_TO


class _Column(NamedTuple):
    """A column of a table as the template shows it."""

    title: Text
    sort: str
    drawn: str
    stack: bool
    scale: float  # of drawn differences
    name: bool

    def value(self, cell: TableCell) -> float | None:
        if self.sort != "number":
            return None
        found = next((number for span in cell_spans(cell) if (number := number_of(span)) is not None), None)
        return NEVER if found is None else found

    def estimate(self, cell: TableCell) -> Estimate | None:
        return next((each for each in cell_spans(cell) if isinstance(each, Estimate) and each.value is not None), None)


def row_colour(row: Sequence[TableCell], drawn: str, looks: Mapping[str, ClassifierLook]) -> str:
    """Of what is drawn in a row: the better classifier's for differences, the row's own otherwise."""
    every = [span for cell in row for span in cell_spans(cell)]
    if drawn == "difference":
        better = next((each.classifier for each in every if isinstance(each, Verdict)), None)
        return looks[better].colour if better else TIE
    own = next((each.classifier for each in every if isinstance(each, ClassifierName)), None)
    return looks[own].colour if own is not None and own in looks else TIE


def _column(table: Table, place: int) -> _Column:
    column = table.columns[place]
    column = column if isinstance(column, Column) else Column(column)
    cells = [cell_spans(row[place]) for row in table.rows]
    every = [span for cell in cells for span in cell]
    numbers = any(isinstance(span, (Count, Estimate)) for span in every)
    estimates = [each for each in every if isinstance(each, Estimate)]
    bounds = [abs(end) for each in estimates for end in (each.value, each.low, each.high) if end is not None]
    first_estimate = not any(isinstance(cell, Estimate) for row in table.rows[:1] for cell in row[:place])
    return _Column(
        column.title,
        "number" if numbers else "text",
        column.drawn,
        len(table.columns) >= STACKED and not first_estimate,
        max([LEAST_SCALE, *bounds]),
        not numbers and max((len(plain(cell)) for cell in cells), default=0) > SHORT,
    )


def headed(blocks: Sequence[Block]) -> Iterator[tuple[str, Sequence[Block]]]:
    """Runs of blocks, sentences that are items of one list together."""
    for role, run in itertools.groupby(blocks, lambda block: block.role if isinstance(block, Sentence) else ""):
        if role in ("item", "finding"):
            yield role, list(run)
        else:
            yield from (("", [block]) for block in run)
