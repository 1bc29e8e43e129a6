"""Nuisances and classes by the names that people call them, wherever a page speaks of them.

Sections name things as the study does, in JSON too, where programs look them up. On a page `affine:alpha=50` becomes
"Affine map, α 50" with the spec behind it, and `tench (n01440764)` becomes "tench". Inside a sentence only what can't
be meant otherwise is renamed: specs with options. A name such as `fog` is, where it stands alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

from brittle.imagenet import words as imagenet_words
from brittle.report.blocks import Block, Column, Group, Pictures, Sentence, Table
from brittle.report.blocks.figure import Axis, Bars, Cells, Figure, Image, Mark, Panel, Points, Rule
from brittle.report.blocks.matrix import Matrix
from brittle.report.blocks.pictures import Answer, Strip
from brittle.report.blocks.text import Name, Span, Styled, TableCell, Text, spans

_CLASS = re.compile(r" \((n\d{8})\)")


@dataclass(frozen=True)
class SpokenNames:
    """`titles`: what the study calls a nuisance → what people call it."""

    titles: Mapping[str, str]

    @cached_property
    def _specs(self) -> re.Pattern[str] | None:
        """Names that mean nothing else in a sentence, the longest first."""
        sure = sorted((name for name in self.titles if ":" in name or "=" in name), key=len, reverse=True)
        return re.compile(rf"(?<![\w:=+])(?:{'|'.join(map(re.escape, sure))})(?![\w=+]|[.,:]\w)") if sure else None

    def blocks(self, blocks: Iterable[Block]) -> tuple[Block, ...]:
        return tuple(map(self.block, blocks))

    def block(self, block: Block) -> Block:
        match block:
            case Group():
                return replace(block, title=self.text(block.title), blocks=self.blocks(block.blocks))
            case Sentence():
                return replace(block, text=self.text(block.text))
            case Table():
                titles = tuple(
                    replace(each, title=self.text(each.title)) if isinstance(each, Column) else self.plain(each)
                    for each in block.columns
                )
                return replace(block, columns=titles, rows=tuple(tuple(map(self._cell, row)) for row in block.rows))
            case Matrix():
                rows, columns = (tuple(map(self._span, each)) for each in (block.rows, block.columns))
                alt, reading = self.plain(block.alt), self.text(block.reading)
                return replace(block, alt=alt, rows=rows, columns=columns, reading=reading)
            case Figure():
                panels = tuple(map(self._panel, block.panels))
                return replace(block, alt=self.plain(block.alt), panels=panels, reading=self.text(block.reading))
            case Pictures():
                return replace(block, strips=tuple(map(self.strip, block.strips)))
            case _:
                return block

    def text(self, text: Text) -> Text:
        """Names become spans of their own; text that has none stays as it is."""
        found = tuple(part for span in spans(text) for part in self._parts(span))
        return found[0] if len(found) == 1 and isinstance(found[0], str) else found if found else text

    def plain(self, text: str) -> str:
        """The same where there is room for plain text alone."""
        text = _without_ids(text)
        if text in self.titles:
            return self.titles[text]
        return text if self._specs is None else self._specs.sub(lambda found: self.titles[found[0]], text)

    def strip(self, strip: Strip) -> Strip:
        cards = tuple(
            replace(
                card,
                caption=self.text(card.caption),
                alt=self.plain(card.alt),
                beneath=self.text(card.beneath),
                answers=tuple(map(_answer, card.answers)),
            )
            for card in strip.cards
        )
        return Strip(cards, self.text(strip.text), strip.badge)

    def _parts(self, span: Span) -> Iterator[Span]:
        if not isinstance(span, str) or span in self.titles:
            yield self._span(span)
        elif self._specs is None:
            yield _without_ids(span)
        else:
            at = 0
            for found in self._specs.finditer(span):
                yield from filter(None, (_without_ids(span[at : found.start()]),))
                yield Name(self.titles[found[0]], found[0])
                at = found.end()
            yield from filter(None, (_without_ids(span[at:]),))

    def _span(self, span: Span) -> Span:
        """One that is nothing but a name."""
        if isinstance(span, Styled):
            return replace(span, text=self.plain(span.text)) if span.style != "code" else span
        if not isinstance(span, str):
            return span
        if (title := self.titles.get(span, span)) != span:
            return Name(title, span)
        return _without_ids(span)

    def _cell(self, cell: TableCell) -> TableCell:
        if cell is None:
            return None
        if isinstance(cell, tuple):
            return tuple(part for span in cell for part in self._parts(span))
        found = tuple(self._parts(cell))
        return found[0] if len(found) == 1 else found

    def _panel(self, panel: Panel) -> Panel:
        marks = tuple(_marked(mark, self.plain) for mark in panel.marks)
        title = "\n".join(map(self.plain, panel.title.split("\n")))
        return replace(panel, marks=marks, title=title, x=self._axis(panel.x), y=self._axis(panel.y))

    def _axis(self, axis: Axis) -> Axis:
        ticks = None if axis.ticks is None else tuple((at, self.plain(word)) for at, word in axis.ticks)
        return replace(axis, label=self.plain(axis.label), ticks=ticks)


def _marked(mark: Mark, plain: Callable[[str], str]) -> Mark:
    """A mark whose texts are renamed, and what it is of, where that has words of its own."""
    match mark:
        case Cells() | Image():
            return mark
        case Points() | Bars():
            mark = replace(mark, texts=tuple(map(plain, mark.texts)))
        case Rule():
            mark = replace(mark, text=plain(mark.text))
    return replace(mark, of=replace(mark.of, text=plain(mark.of.text))) if mark.of.text else mark


def _answer(answer: Answer) -> Answer:
    return replace(answer, label=_without_ids(answer.label))


def _without_ids(text: str) -> str:
    """ImageNet's classes without their WordNet ids, where the word alone is that of one class."""
    return _CLASS.sub(_id_or_nothing, text) if "(n" in text else text


def _id_or_nothing(found: re.Match[str]) -> str:
    known = imagenet_words()
    return "" if found[1] in known and _usual_words()[known[found[1]][0]] == 1 else found[0]


@cache
def _usual_words() -> Counter[str]:
    return Counter(words[0] for words in imagenet_words().values())
