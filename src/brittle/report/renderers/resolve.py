"""Where pictures come from, turned into pixels; and whether classifiers say of them again what was stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.engine.replay import Replay
from brittle.images.pixels import by_shape
from brittle.nuisances import nuisance as open_nuisance
from brittle.report.blocks import Block, Group, Pictures
from brittle.report.blocks.pictures import At, Card, Drawn, Original, Source
from brittle.report.page.loaded import LoadedRun
from brittle.types import Classifier

MOST = 400  # pictures classified again, over all blocks of a measure
AGREE = 0.01  # in probability: more than devices differ
Made = Mapping[Source | None, Tensor]  # pixels (C, H, W) of every source that is made again


class Confirmation(NamedTuple):
    """How many pictures were classified again, and how the answers compare with those stored."""

    pictures: int = 0
    differing: int = 0
    largest: float = 0.0

    def plus(self, other: Confirmation) -> Confirmation:
        return Confirmation(
            self.pictures + other.pictures, self.differing + other.differing, max(self.largest, other.largest)
        )


class RemadePicture(NamedTuple):
    """A picture made again, and what was stored of it."""

    image: Tensor  # (C, H, W)
    predicted: int
    probability: float  # of the predicted class


class ResolvedPictures(NamedTuple):
    """The pictures, and how the answers compare with those stored."""

    pixels: Made
    confirmation: Confirmation


def resolve(run: LoadedRun, blocks: Iterable[Block]) -> ResolvedPictures:
    """The pictures of some blocks, groups within groups included."""
    cards = list(_cards(blocks))
    pixels = _made(run, cards)
    stored: dict[str, list[RemadePicture]] = {}
    for card in cards:
        for answer in card.answers:
            if (picture := pixels.get(card.source)) is not None and answer.predicted is not None:
                again = RemadePicture(picture, answer.predicted, answer.probability)
                stored.setdefault(answer.classifier, []).append(again)
    found = Confirmation()
    for name, answers in stored.items():
        classifier = run.classifier(name)
        if classifier is not None:
            found = found.plus(_confirm(classifier, answers[: max(1, MOST // len(stored))]))
    return ResolvedPictures(pixels, found)


@torch.inference_mode()
def _confirm(classifier: Classifier, stored: Sequence[RemadePicture]) -> Confirmation:
    """Classifies the pictures and compares the answers with the stored ones."""
    found = Confirmation()
    for places in by_shape(each.image.shape for each in stored).values():
        answers = classifier.log_probs(torch.stack([stored[place].image for place in places])).exp()
        for place, answer in zip(places, answers, strict=True):
            gap = abs(float(answer[stored[place].predicted]) - stored[place].probability)
            found = found.plus(Confirmation(1, int(gap > AGREE), gap))
    return found


def pixels_of(run: LoadedRun, blocks: Iterable[Block]) -> Made:
    """The pictures alone, without asking a classifier."""
    return _made(run, _cards(blocks))


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


def _made(run: LoadedRun, cards: Iterable[Card]) -> dict[Source | None, Tensor]:
    """What can be made at once is: the draws of a nuisance, and one image at several θ."""
    found: dict[Source | None, Tensor] = {}
    drawn: dict[Drawn, list[Drawn]] = {}
    placed: dict[At, list[At]] = {}
    for source in dict.fromkeys(card.source for card in cards):
        match source:
            case Original():
                images = run.job.images[source.image_set].images
                found[source] = images.batch([place_of(images.ids, source.image)]).images[0]
            case At():
                placed.setdefault(replace(source, theta=()), []).append(source)
            case Drawn():
                drawn.setdefault(replace(source, image=0, draw=0), []).append(source)
    for one, ats in placed.items():
        replay = run.replay(one.image_set, one.nuisance, one.classifier)
        theta = torch.tensor([each.theta for each in ats], dtype=torch.float32)
        found |= zip(ats, replay.at(place_of(replay.images.ids, one.image), theta, one.severity), strict=True)
    for like, draws in drawn.items():
        replay = _replay(run, like)
        pairs = [(place_of(replay.images.ids, each.image), each.draw) for each in draws]
        found |= zip(draws, replay.draws(pairs, like.severity, like.within), strict=True)
    return found


def _replay(run: LoadedRun, like: Drawn) -> Replay:
    if not like.stream:
        return run.replay(like.image_set, like.nuisance, like.classifier)
    return Replay(run.job.images[like.image_set].images, open_nuisance(like.nuisance), like.stream, run.job.seed)


def place_of(ids: Tensor, image: int) -> int:
    """Where an image stands in planned order."""
    return int((ids == image).nonzero()[0])
