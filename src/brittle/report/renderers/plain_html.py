"""Blocks as plain HTML: headings, paragraphs, tables and figures that fit a notebook's cell or a small page. What looks
it needs is inline, since a notebook has its own style sheet. Pictures have no place here."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup, escape
from matplotlib.figure import Figure as Canvas

from brittle.report.blocks import Block, Column, Group, Raw, Sentence, Table
from brittle.report.blocks.figure import Figure
from brittle.report.blocks.text import Count, Estimate, Span, Styled, TableCell, Text, cell_spans, spans
from brittle.report.blocks.wording import span_words
from brittle.report.page.colours import ClassifierLook
from brittle.report.renderers.canvas import styled
from brittle.report.renderers.console import GATHERED
from brittle.report.renderers.figures import as_drawn

SHOWN = 40  # rows of a table
CELL = "padding:0.2em 0.7em;border-bottom:1px solid #8884;vertical-align:top"
TABLE = "border-collapse:collapse;margin:0.4em 0"
SCROLLS = "overflow-x:auto;max-width:100%"
SOFT = "opacity:0.75;font-size:90%"
TAGS = {"badge": "strong", "emphasis": "em", "wrong": "em", **{tag: tag for tag in ("strong", "code", "sub", "sup")}}


def as_plain_html(blocks: Sequence[Block], looks: Mapping[str, ClassifierLook] | None = None, depth: int = 3) -> Markup:
    """A fragment whose headings begin at a depth."""
    return Markup("\n").join(part for block in blocks for part in _block(block, looks or {}, depth))


def _block(block: Block, looks: Mapping[str, ClassifierLook], depth: int) -> Iterator[Markup]:
    match block:
        case Group():
            inside = as_plain_html(block.blocks, looks, depth + 1)
            yield Markup("<section><h{0}>{1}</h{0}>\n{2}</section>").format(min(6, depth), _text(block.title), inside)
        case Sentence() if block.role not in GATHERED:
            soft = Markup(' style="{}"').format(SOFT) if block.role == "note" else ""
            yield Markup("<p{}>{}</p>").format(soft, _text(block.text))
        case Table():
            yield _table(block)
        case Figure():
            yield picture_of(as_drawn(block, looks), block.alt)
            if block.reading:
                yield Markup('<p style="{}">{}</p>').format(SOFT, _text(block.reading))
        case Raw():
            yield escape(block.text)
        case _:
            pass


def picture_of(canvas: Canvas, alt: str) -> Markup:
    """A drawn figure as a picture of its own, which names nothing on the page and is never wider than it."""
    kept = io.BytesIO()
    with warnings.catch_warnings(), styled(**{"svg.hashsalt": alt}):
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's browser has the font for it
        canvas.savefig(kept, format="svg", metadata={"Date": None, "Creator": None}, facecolor="white")
    uri = f"data:image/svg+xml;base64,{base64.b64encode(kept.getvalue()).decode()}"
    return Markup('<img src="{}" alt="{}" style="max-width:100%;height:auto">').format(uri, alt)


def _text(text: Text) -> Markup:
    return Markup("").join(map(_span, spans(text)))


def _span(span: Span) -> Markup:
    tag = TAGS.get(span.style, "") if isinstance(span, Styled) else ""
    words = escape(str(span_words(span)))
    return Markup("<{0}>{1}</{0}>").format(tag, words) if tag else words


def _table(table: Table) -> Markup:
    rows = table.rows[: SHOWN if table.shown is None else table.shown]
    parts = [Markup('<div style="{}"><table style="{}">').format(SCROLLS, TABLE)]
    if table.layout == "table":
        titles = (_text(column.title if isinstance(column, Column) else column) for column in table.columns)
        head = Markup("").join(
            Markup('<th scope="col" style="{};text-align:{}">{}</th>').format(CELL, _side(table, place), title)
            for place, title in enumerate(titles)
        )
        parts.append(Markup("<thead><tr>{}</tr></thead>").format(head))
    body = (
        Markup("").join(
            Markup('<td style="{};text-align:{}">{}</td>').format(CELL, _side(table, place), _text(cell_spans(cell)))
            for place, cell in enumerate(row)
        )
        for row in rows
    )
    lines = Markup("\n").join(Markup("<tr>{}</tr>").format(each) for each in body)
    parts.append(Markup("<tbody>{}</tbody></table></div>").format(lines))
    if more := len(table.rows) - len(rows):
        parts.append(Markup('<p style="{}">… and {} more {}s</p>').format(SOFT, f"{more:,}", table.noun))
    return Markup("\n").join(parts)


def _side(table: Table, place: int) -> str:
    """Numbers stand at the right."""
    return "right" if any(_is_number(row[place]) for row in table.rows[:SHOWN]) else "left"


def _is_number(cell: TableCell) -> bool:
    return any(isinstance(span, (Count, Estimate)) for span in cell_spans(cell))
