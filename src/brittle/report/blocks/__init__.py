"""Blocks: what a section has to say, as data. Page, console, Markdown and JSON are renderings of them.

Blocks are frozen, typed and serialisable; `VERSION` rises with every change of what they look like as JSON. What fills
them is in the modules `text`, `figure` and `pictures`, and here under one name for other packages.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from brittle.report.blocks.base import piece
from brittle.report.blocks.figure import (
    Axis,
    Band,
    Bars,
    Cells,
    Figure,
    Image,
    Intervals,
    Line,
    Mark,
    Of,
    Panel,
    Points,
    Role,
    Rule,
    Series,
    category_axis,
)
from brittle.report.blocks.matrix import Matrix, Square
from brittle.report.blocks.pictures import Answer, At, Card, Drawn, Original, Pixels, Source, Strip
from brittle.report.blocks.text import (
    ClassifierName,
    Count,
    Estimate,
    Link,
    Name,
    Span,
    Styled,
    TableCell,
    Text,
    Verdict,
    cell_spans,
    spans,
)

VERSION = 2

__all__ = [
    "VERSION", "Answer", "At", "Axis", "Band", "Bars", "Block", "Card", "Cell", "Cells", "ClassifierName", "Column",
    "Count", "Drawn", "Estimate", "Figure", "Group", "Image", "Intervals", "Line", "Link", "Mark", "Matrix", "Name",
    "Of", "Original", "Panel", "Pictures", "Pixels", "Points", "Raw", "Role", "Rule", "Sentence", "Series",
    "Source", "Span", "Square", "Strip", "Styled", "Table", "TableCell", "Text", "Verdict", "Weighted",
    "category_axis", "cell_spans", "spans",
]  # fmt: skip

SentenceRole = Literal[
    "text",
    "note",  # small print, such as how to read a figure
    "caution",  # must not be overlooked, where it stands
    "item",  # of a list
    "finding",  # of a list of findings
    # What the page gathers from all sections and puts in one place:
    "warning",  # to be read before the numbers
    "definition",  # of the words in findings
    "limit",  # what the numbers do not say
    "citation",  # what to give beside the numbers when they are cited
    "reference",  # a paper
]


@piece
class Sentence:
    """One sentence or a few, with the part that they play."""

    text: Text
    role: SentenceRole = "text"


@piece
class Column:
    """The title of a column; `drawn` adds a small picture of its estimates: as bars from 0 to 1, or as differences."""

    title: Text
    drawn: Literal["", "share", "difference"] = ""


@piece
class Table:
    """Rows of cells. Pairs are rows of two cells, the first naming the second. A line is drawn where a cell of the
    column `by` changes; `chosen` is a row that stands out. Where there is little room `shown` rows are shown, and the
    rest counted in `noun`s."""

    columns: tuple[Column | str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    layout: Literal["table", "pairs"] = "table"
    by: int | None = None
    chosen: int | None = None
    shown: int | None = None
    noun: str = "row"


@piece
class Pictures:
    """Strips of pictures, one below the other, or pairs side by side."""

    strips: tuple[Strip, ...]
    layout: Literal["strips", "film", "pairs"] = "strips"


@piece
class Raw:
    """Markup, and the same as plain text, for sections of third parties that nothing else serves."""

    html: str
    text: str = ""


@piece
class Cell:
    """An image set under a nuisance."""

    image_set: str
    nuisance: str


@piece
class Group:
    """Blocks under a heading, which can be folded away. The page links groups about the same cell with one another."""

    title: Text
    blocks: tuple[Block, ...]
    fold: Literal["", "open", "closed"] = ""
    key: str = ""  # by which a link finds it
    about: Cell | None = None


Block = Group | Sentence | Table | Matrix | Figure | Pictures | Raw


class Weighted(NamedTuple):
    """Something for the top of the report. Of those about the same thing only the weightiest is kept."""

    block: Block
    weight: float  # 1: the first thing to say; 0: a detail
    about: tuple[str, ...] = ()
