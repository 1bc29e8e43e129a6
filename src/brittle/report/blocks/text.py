"""Text as data: spans, which also fill the cells of tables. Nothing in them is ever parsed as markup."""

from __future__ import annotations

from typing import Literal

from brittle.report.blocks.base import piece

Style = Literal["strong", "emphasis", "code", "sub", "sup", "soft", "wrong", "badge"]
Format = Literal["fixed", "significant", "percent", "p"]


@piece
class Styled:
    """Text that looks other than the rest; a badge says what is wrong with a thing."""

    text: str
    style: Style = "strong"


@piece
class Link:
    """A link to the group of the same measure that has this key."""

    text: str
    key: str


@piece
class ClassifierName:
    """A classifier of the study; `text` is what it is called here, where that is another word."""

    classifier: str
    text: str = ""


@piece
class Name:
    """What people call a thing that the study calls otherwise, such as a nuisance by its spec."""

    text: str
    spec: str


@piece
class Count:
    """How many: 1,234; 5 of 80; 5 images."""

    value: int | None
    of: int | None = None
    noun: str = ""


@piece
class Estimate:
    """A number, with the interval where it has one. Percent is a share, and shown times 100; a p-value has its own
    form; `censored` is a value that is only known to be exceeded. An interval with `low` alone has no upper end."""

    value: float | None
    low: float | None = None
    high: float | None = None
    places: int = 3
    signed: bool = False
    format: Format = "fixed"
    unit: str = ""
    censored: bool = False
    simultaneous: int = 1  # how many intervals hold at once, with the same confidence
    confidence: float | None = None
    missing: str = "–"  # what stands where there is no value


@piece
class Verdict:
    """Which of two classifiers is better; none: a tie."""

    classifier: str | None


Span = str | Styled | Link | ClassifierName | Name | Count | Estimate | Verdict
Text = str | tuple[Span, ...]


TableCell = Span | tuple[Span, ...] | None


def cell_spans(cell: TableCell) -> tuple[Span, ...]:
    """A cell of a table as text; – where there is nothing."""
    return ("–",) if cell is None else cell if isinstance(cell, tuple) else (cell,)


def spans(text: Text) -> tuple[Span, ...]:
    """Text in its general form."""
    return (text,) if isinstance(text, str) else text
