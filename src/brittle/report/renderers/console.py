"""Blocks on the console, where there is room for text and tables alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text as RichText

from brittle.report.blocks import Block, Column, Group, Pictures, Raw, Sentence, Table
from brittle.report.blocks.figure import Figure
from brittle.report.blocks.matrix import Matrix
from brittle.report.blocks.text import ClassifierName, Name, Styled, Text, cell_spans, spans
from brittle.report.blocks.wording import plain, span_words
from brittle.report.page.words import EVERYTHING, counted
from brittle.report.renderers.data import as_table
from brittle.report.renderers.names_table import NamesTable
from brittle.terminal import visible

STYLES = {"strong": "bold", "emphasis": "italic", "soft": "dim", "wrong": "red", "badge": "bold red"}
SHOWN = 40  # rows of a table
GATHERED = ("warning", "definition", "limit", "citation", "reference")  # what only a page has room for


def printed(blocks: Sequence[Block]) -> Iterator[RenderableType]:
    """Every block in turn, with an empty line between groups."""
    for place, block in enumerate(blocks):
        if place and (isinstance(block, Group) or isinstance(blocks[place - 1], Group)):
            yield line()
        yield from _block(block, "")


def _block(block: Block, indent: str) -> Iterator[RenderableType]:
    match block:
        case Group():
            yield _line(block.title, indent, "" if _has_style(block.title) else "bold")
            for each in block.blocks:
                yield from _block(each, indent + "  ")
        case Sentence() if block.role not in GATHERED:
            yield _line(block.text, indent)
        case Table():
            yield from _table(block, indent)
        case Matrix():
            yield from _table(as_table(block), indent)
        case Raw():
            yield RichText(visible(block.text))
        case Sentence() | Figure() | Pictures():
            pass


def line(*parts: str | tuple[str, str]) -> RichText:
    """A line that the terminal wraps, so that it can be copied whole; a part may have a style."""
    made = RichText.assemble(*parts)
    made.no_wrap, made.overflow = True, "ignore"
    return made


def _line(text: Text, indent: str = "", style: str = "") -> RichText:
    parts = [(visible(str(span_words(span))), STYLES.get(_style(span), style)) for span in spans(text)]
    return line(indent, *parts)


def _style(span: object) -> str:
    return span.style if isinstance(span, Styled) else ""


def _has_style(text: Text) -> bool:
    return any(map(_style, spans(text)))


def _table(table: Table, indent: str) -> Iterator[RenderableType]:
    shown = SHOWN if table.shown is None else table.shown
    if table.layout == "pairs":
        for name, value in table.rows[:shown]:
            yield _line((*cell_spans(name), ": ", *cell_spans(value)), indent)
        return
    titles = [plain(column.title) if isinstance(column, Column) else column for column in table.columns]
    made = NamesTable(*map(visible, titles), names=_leading_names(table))
    for row in table.rows[:shown]:
        made.add_row(*(visible(plain(cell_spans(cell))) for cell in row))
    yield made
    if (more := len(table.rows) - shown) > 0:
        yield line(f"{indent}… and {counted(more, f'more {table.noun}')} ({EVERYTHING})")


def _leading_names(table: Table) -> int:
    """How many columns from the left hold names, which a narrow terminal may break."""
    names = 0
    for place in range(len(table.columns)):
        if not all(isinstance(row[place], (str, ClassifierName, Name)) for row in table.rows):
            break
        names += 1
    return max(1, names)
