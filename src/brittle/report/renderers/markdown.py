"""Blocks as Markdown: headings, paragraphs and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from brittle.report.blocks import Block, Column, Group, Pictures, Raw, Sentence, Table
from brittle.report.blocks.figure import Figure
from brittle.report.blocks.matrix import Matrix
from brittle.report.blocks.text import Span, Styled, TableCell, Text, cell_spans, spans
from brittle.report.blocks.wording import span_words
from brittle.report.renderers.console import SHOWN
from brittle.report.renderers.data import as_table

_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|~$&])")  # `+`, `-`, `.` mean something only where a line begins
_BEGINS = re.compile(r"^(\s*)([-+=]|\d+[.)])(?=\s)")
_WRAPS = {"strong": "**", "badge": "**", "emphasis": "*", "wrong": "*", "code": ""}


def as_markdown(blocks: Sequence[Block], depth: int = 2) -> str:
    return "\n\n".join(part for block in blocks for part in _block(block, depth) if part)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    one_line = _SIGNS.sub(r"\\\1", " ".join(text.split("\n")))
    return _BEGINS.sub(r"\1\\\2", one_line)


def _block(block: Block, depth: int) -> Iterator[str]:
    match block:
        case Group():
            yield f"{'#' * min(6, depth)} {_text(block.title)}"
            for each in block.blocks:
                yield from _block(each, depth + 1)
        case Sentence():
            yield f"- {_text(block.text)}" if block.role in ("item", "finding") else _text(block.text)
        case Table():
            yield "\n".join(_table(block))
        case Matrix():
            yield "\n".join(_table(as_table(block)))
        case Figure():
            yield f"*{escaped(block.alt)}*"
        case Raw():
            yield escaped(block.text)
        case Pictures():
            pass


def _text(text: Text) -> str:
    return "".join(map(_span, spans(text)))


def _span(span: Span) -> str:
    text = escaped(str(span_words(span)))
    mark = _WRAPS.get(span.style, "") if isinstance(span, Styled) else ""
    return f"{mark}{text}{mark}" if text.strip() else text


def _table(table: Table) -> Iterator[str]:
    rows = table.rows[: SHOWN if table.shown is None else table.shown]
    if table.layout == "pairs":
        yield from (f"- {_cell(name)}: {_cell(value)}" for name, value in rows)
        return
    titles = [_text(column.title) if isinstance(column, Column) else escaped(column) for column in table.columns]
    yield f"| {' | '.join(titles)} |"
    yield f"|{' --- |' * len(titles)}"
    yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)
    if len(table.rows) > len(rows):
        yield f"\n… and {len(table.rows) - len(rows)} more"


def _cell(cell: TableCell) -> str:
    return _text(cell_spans(cell))
