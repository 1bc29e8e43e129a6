"""Three failures that tell most, out of the pictures that sections show anyway.

A failure is a picture on which a classifier is wrong that is right on the original. Of those that it is sure of, the
ones that differ least from their originals come first: what a person would not be fooled by. They show how classifiers
fail, not how often."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from brittle.errors import BrittleError
from brittle.report.blocks import Block, Pictures
from brittle.report.blocks.pictures import Answer, At, Card, Drawn, Original, Strip
from brittle.report.blocks.text import ClassifierName, Name, Span
from brittle.report.blocks.wording import plain
from brittle.report.page.loaded import LoadedRun
from brittle.report.page.measured import spoken_name
from brittle.report.page.words import number
from brittle.report.renderers.resolve import pictures_of, pixels_of

SHOWN = 3
SURE = 0.6  # the least probability of a wrong answer that is taken for a conviction
LOOKED_AT = 60  # pictures that are compared with their originals
PER_NUISANCE = 6  # of these
MOST_OTHERS = 3  # classifiers whose answers stand beside


class PicturedFailure(NamedTuple):
    """An original, the same image changed, and who is wrong about it."""

    original: Card
    failing: Card
    wrong: Answer

    @property
    def nuisance(self) -> str:
        source = self.failing.source
        return source.nuisance if isinstance(source, (At, Drawn)) else ""


def telling_failures(run: LoadedRun, blocks: Iterable[Block]) -> tuple[Strip, ...]:
    """At most three, of different images, and as far as there are such of different nuisances, classes and
    classifiers."""
    sure = sorted(_failures(blocks), key=lambda each: -each.wrong.probability)
    looked: list[PicturedFailure] = []
    per: dict[str, int] = {}
    for each in sure:
        per[each.nuisance] = per.get(each.nuisance, 0) + 1
        if per[each.nuisance] <= PER_NUISANCE:
            looked.append(each)
    try:
        ranked = _by_change(run, looked[:LOOKED_AT])
    except (BrittleError, OSError):  # said where the pictures should stand
        return ()
    return tuple(_shown(each, spoken_name(run, each.nuisance)) for each in _different(ranked))


def _failures(blocks: Iterable[Block]) -> Iterator[PicturedFailure]:
    for pictures in pictures_of(blocks):
        for strip in pictures.strips:
            original, *others = strip.cards
            if strip.badge or not isinstance(original.source, Original):
                continue
            wrong_already = {answer.classifier for answer in original.answers if not answer.right}
            for card in others:
                wrong = [each for each in card.answers if not each.right and each.classifier not in wrong_already]
                if wrong and isinstance(card.source, (At, Drawn)):
                    most = max(wrong, key=lambda each: each.probability)
                    if most.probability >= SURE:
                        yield PicturedFailure(original, card, most)


def _by_change(run: LoadedRun, failures: Sequence[PicturedFailure]) -> list[PicturedFailure]:
    """The mean absolute change of a pixel decides; then the order in which they stand."""
    pixels = pixels_of(run, [Pictures(tuple(Strip((each.original, each.failing)) for each in failures))])

    def change(each: PicturedFailure) -> float:
        return float((pixels[each.failing.source] - pixels[each.original.source]).abs().mean())

    return sorted(failures, key=change)


def _different(ranked: Sequence[PicturedFailure]) -> list[PicturedFailure]:
    """The first of those that have nothing in common with what is chosen; where there are too few, less is asked."""
    chosen: list[PicturedFailure] = []
    apart: list[Callable[[PicturedFailure], Hashable]] = [
        lambda each: each.original.source,
        lambda each: plain(each.original.caption),
        lambda each: each.nuisance,
        lambda each: each.wrong.classifier,
    ]
    while apart:
        for each in ranked:
            if len(chosen) < SHOWN and not any(key(each) == key(other) for key in apart for other in chosen):
                chosen.append(each)
        apart.pop()
    return chosen


def _shown(failure: PicturedFailure, title: str) -> Strip:
    """Two pictures, and who said what under a nuisance of that title."""
    original, failing, wrong = failure
    before = next((each for each in original.answers if each.classifier == wrong.classifier), None)
    untouched = f"; untouched, {before.label} ({number(before.probability, 2)})" if before is not None else ""
    said: list[Span] = [
        ClassifierName(wrong.classifier),
        f" says {wrong.label} ({number(wrong.probability, 2)}) under ",
    ]
    said += [Name(title, failure.nuisance), f"{untouched}."]
    others = [each for each in failing.answers if each.classifier != wrong.classifier]
    for each in others[:MOST_OTHERS]:
        verb = "is right" if each.right else f"says {each.label}"
        said += [" ", ClassifierName(each.classifier), f" {verb} ({number(each.probability, 2)})."]
    cards = (
        Card(original.source, ("✓ ", plain(original.caption)), original.alt),
        Card(failing.source, ("✗ ", wrong.label), failing.alt, role="wrong"),
    )
    return Strip(cards, tuple(said))
