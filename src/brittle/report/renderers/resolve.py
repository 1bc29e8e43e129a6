"""Where pictures come from, turned into pixels; and whether classifiers say of them again what was stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.engine.replay import Replay
from brittle.nuisances import nuisance as open_nuisance
from brittle.report.blocks import Answer, At, Block, Card, Drawn, Group, Original, Pictures, Pixels, Source
from brittle.report.page.confirmation import MOST, Confirmation, StoredAnswer, confirm
from brittle.report.page.loaded import LoadedRun

Remade = Original | Drawn | At


class Resolved(NamedTuple):
    """Pixels (C, H, W) of every source that is made again, and how the answers compare with those stored."""

    pixels: Mapping[Remade, Tensor]
    confirmation: Confirmation


def resolve(run: LoadedRun, blocks: Iterable[Block]) -> Resolved:
    """The pictures of some blocks, groups within groups included."""
    cards = list(_cards(blocks))
    sources = dict.fromkeys(source for card in cards if isinstance(source := card.source, Remade))
    pixels = _made(run, list(sources))
    stored: dict[str, list[StoredAnswer]] = {}
    for card, answer in _asked(cards):
        if (picture := _pixels(card.source, pixels)) is not None and answer.predicted is not None:
            stored.setdefault(answer.classifier, []).append(StoredAnswer(picture, answer.predicted, answer.probability))
    found = Confirmation()
    for name, answers in stored.items():
        classifier = run.classifier(name)
        if classifier is not None:
            found = found.plus(confirm(classifier, answers[: max(1, MOST // len(stored))]))
    return Resolved(pixels, found)


def pictures_of(blocks: Iterable[Block]) -> Iterator[Pictures]:
    for block in blocks:
        if isinstance(block, Pictures):
            yield block
        elif isinstance(block, Group):
            yield from pictures_of(block.blocks)


def _cards(blocks: Iterable[Block]) -> Iterator[Card]:
    """The first card of every strip before the second of any: one image's would all pass or fail together."""
    strips = [strip.cards for pictures in pictures_of(blocks) for strip in pictures.strips]
    for turn in range(max(map(len, strips), default=0)):
        yield from (cards[turn] for cards in strips if turn < len(cards))


def _asked(cards: Iterable[Card]) -> Iterator[tuple[Card, Answer]]:
    for card in cards:
        yield from ((card, answer) for answer in card.answers if answer.predicted is not None)


def _pixels(source: Source | None, pixels: Mapping[Remade, Tensor]) -> Tensor | None:
    return None if source is None or isinstance(source, Pixels) else pixels[source]


def _made(run: LoadedRun, sources: Sequence[Remade]) -> dict[Remade, Tensor]:
    found: dict[Remade, Tensor] = {}
    draws: dict[tuple[str, str, str, str, float | None, int | None], list[Drawn]] = {}
    for source in sources:
        match source:
            case Original():
                images = run.job.images[source.image_set].images
                found[source] = images.batch([place_of(images.ids, source.image)]).images[0]
            case At():
                replay = run.replay(source.image_set, source.nuisance, source.classifier)
                theta = torch.tensor([source.theta], dtype=torch.float32)
                found[source] = replay.at(_place(replay, source), theta, source.severity)[0]
            case Drawn():
                key = (
                    *(source.image_set, source.nuisance, source.classifier),
                    *(source.stream, source.severity, source.within),
                )
                draws.setdefault(key, []).append(source)
    for (images_name, nuisance, classifier, stream, severity, within), together in draws.items():
        if stream:
            replay = Replay(run.job.images[images_name].images, open_nuisance(nuisance), stream, run.job.seed)
        else:
            replay = run.replay(images_name, nuisance, classifier)
        pairs = [(_place(replay, each), each.draw) for each in together]
        found |= zip(together, replay.draws(pairs, severity, within), strict=True)
    return found


def _place(replay: Replay, source: At | Drawn) -> int:
    return place_of(replay.images.ids, source.image)


def place_of(ids: Tensor, image: int) -> int:
    """Where an image stands in planned order."""
    return int((ids == image).nonzero()[0])
