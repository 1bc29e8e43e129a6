"""The first screen: a verdict, one matrix or table, three failures, and at most three cautions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from brittle.report.blocks import Block, Group, Sentence, Table
from brittle.report.blocks.matrix import Matrix
from brittle.report.blocks.pictures import Strip
from brittle.report.blocks.text import Text


class FirstScreen(NamedTuple):
    """What a reader sees in ten seconds, as far as the run has it."""

    verdict: Text
    shown: Matrix | Table | None
    failures: tuple[Strip, ...]
    others: Sequence[Block]  # further matrices, such as those of other image sets
    findings: Sequence[Text]  # all others, the weightiest first
    instead: Sequence[Block]  # the briefs, where there is nothing to be shown


def first_screen(top: Sequence[Block], briefs: Sequence[Block], failures: tuple[Strip, ...]) -> FirstScreen:
    """From the blocks that sections put on top, the weightiest first. The weightiest sentence is the verdict; where no
    section has a matrix, the first table of a brief stands in its place."""
    said = [block.text for block in top if isinstance(block, Sentence)]
    drawn = [block for block in top if isinstance(block, (Matrix, Table))]
    shown = drawn[0] if drawn else next(_tables(briefs), None)
    return FirstScreen(
        said[0] if said else "", shown, failures, drawn[1:], said[1:], () if shown is not None else briefs
    )


def _tables(blocks: Iterable[Block]) -> Iterator[Table]:
    for block in blocks:
        if isinstance(block, Group):
            yield from _tables(block.blocks)
        elif isinstance(block, Table) and block.layout == "table":
            yield block
