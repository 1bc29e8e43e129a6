"""The gallery: what the classifiers saw and said. First draws as they come, and confident mistakes, chosen.

Nothing but rows is stored of a run, so pictures are made again from seed, id, nuisance and draw number; some of them
are classified again, so that the report can say whether they are what the classifiers saw.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.images.pixels import by_shape
from brittle.measures.evaluate import draw_theta
from brittle.random import stream_root
from brittle.report.loaded import Run
from brittle.report.outcomes import Answer, Mistake, Rows
from brittle.report.pictures import EXACT_UP_TO, data_uri

IMAGES, DRAWS, MISTAKES = 6, 6, 6
CHECKED = 400  # pictures classified again, over all classifiers and nuisances
AGREE = 0.01  # in probability: more than devices differ
PHOTOS_IN_FULL = 500  # past this many photographs they are shown smaller
LONGEST, LONGEST_OF_MANY = 160, 96


class Said(NamedTuple):
    """An answer in words."""

    classifier: str
    label: str
    probability: float
    right: bool


class Picture(NamedTuple):
    uri: str
    caption: str
    said: tuple[Said, ...] = ()


class Strip(NamedTuple):
    """One image and its transformed versions."""

    name: str
    label: str  # "" where there is none
    original: Picture
    draws: tuple[Picture, ...]


class Gallery(NamedTuple):
    """One image set under one nuisance; `note` says why there is nothing to see."""

    image_set: str
    nuisance: str
    strips: tuple[Strip, ...] = ()
    mistakes: Mapping[str, tuple[Strip, ...]] = {}
    change: float | None = None  # mean absolute change of a pixel over the pictures shown
    note: str = ""


class Check(NamedTuple):
    """How many pictures were classified again, and how the answers compare with those stored."""

    pictures: int = 0
    differing: int = 0
    largest: float = 0.0

    def plus(self, other: Check) -> Check:
        return Check(self.pictures + other.pictures, self.differing + other.differing, max(self.largest, other.largest))


def galleries(run: Run) -> tuple[list[Gallery], Check]:
    """A gallery for every image set and nuisance, in the study's order; none where robustness was not measured."""
    found: list[Gallery] = []
    check = Check()
    if "results" not in run.summary:
        return found, check
    for images in run.study.images:
        for nuisance in run.study.nuisances:
            gallery = Gallery(images, nuisance, note=why_not(run, images, nuisance))
            if not gallery.note:
                try:
                    gallery, checked = _Painter(run, images, nuisance).paint()
                    check = check.plus(checked)
                except (BrittleError, OSError) as error:
                    gallery = gallery._replace(note=f"The pictures can't be made again: {error}")
            found.append(gallery)
    return found, check


def why_not(run: Run, images: str, nuisance: str) -> str:
    """Why there can be no pictures of an image set under a nuisance; "" if there can be."""
    if images not in run.images:
        return f"The image set {images} can't be loaded any more, so there are no pictures of it."
    if nuisance not in run.nuisances:
        return f"The nuisance {nuisance} can't be loaded any more, so there are no pictures of it."
    if needs := run.nuisances[nuisance].needs:
        return f"This nuisance reads {', '.join(sorted(needs))}, which differ by classifier and are not stored."
    return ""


class _Painter:
    def __init__(self, run: Run, images: str, nuisance: str) -> None:
        self.run, self.name, self.nuisance = run, images, nuisance
        self.set, self.space = run.images[images].images, run.nuisances[nuisance]
        self.rows = Rows(run.folder.store, images, self.set.ids.numpy())
        results = run.results(images, nuisance)
        self.reach = {row["classifier"]: (row["images"], row["samples"]) for row in results}
        self.common = (min(row["images"] for row in results), min(row["samples"] for row in results))
        self.labelled = bool((self.set.labels[: self.common[0]] >= 0).all())
        job = run.job
        self.root = stream_root(job.seed, job.streams[nuisance])
        cells = len(run.study.images) * len(run.study.nuisances)
        photos = cells * (IMAGES * (DRAWS + 1) + 2 * MISTAKES * len(self.reach))
        many = photos > PHOTOS_IN_FULL and max(self.set.shape[1:]) > EXACT_UP_TO
        self.longest = LONGEST_OF_MANY if many else LONGEST
        self.checked = max(1, CHECKED // (cells * len(self.reach)))

    def paint(self) -> tuple[Gallery, Check]:
        places = self._first_of_each_class()
        draws = range(min(DRAWS, self.common[1]))
        pairs = [(place, draw) for place in places for draw in draws]
        groups = self.set.labels.numpy() if self.labelled else None
        mistakes = {
            name: self.rows.mistakes(name, self.nuisance, reach, groups, MISTAKES) for name, reach in self.reach.items()
        }
        wanted = {*pairs, *(pair for chosen in mistakes.values() for pair in chosen)}
        answers = {name: self.rows.answers(name, self.nuisance, wanted, reach) for name, reach in self.reach.items()}
        clean = {name: self.rows.clean(name, sorted({place for place, _ in wanted})) for name in self.reach}
        transformed = self.transformed(pairs)
        strips = [
            self._strip(
                place, pairs[start : start + len(draws)], transformed[start : start + len(draws)], answers, clean
            )
            for place, start in zip(places, range(0, len(pairs), len(draws)), strict=True)
        ]
        originals = {place: self.set.batch([place]).images[0] for place in places}
        changes = [
            float((new - originals[place]).abs().mean()) for new, (place, _) in zip(transformed, pairs, strict=True)
        ]
        gallery = Gallery(
            self.name,
            self.nuisance,
            tuple(strips),
            {name: tuple(self._mistakes(chosen, answers, clean)) for name, chosen in mistakes.items()},
            statistics.fmean(changes),
        )
        return gallery, self._check(pairs, transformed, answers)

    def _first_of_each_class(self) -> list[int]:
        """The first images in planned order, one per class while there are classes; the same under every nuisance."""
        labels = self.set.labels[: min(row["images"] for row in self.run.results(self.name))].tolist()
        if not self.labelled:
            return list(range(min(IMAGES, len(labels))))
        firsts: dict[int, int] = {}
        for place, label in enumerate(labels):
            firsts.setdefault(label, place)
        rest = [place for place in range(len(labels)) if place not in firsts.values()]
        return [*firsts.values(), *rest][:IMAGES]

    @torch.inference_mode()
    def transformed(self, pairs: Sequence[tuple[int, int]]) -> list[Tensor]:
        """T_θ x (C, H, W) at each of (place, draw) pairs, with the θ of the run."""
        found: dict[int, Tensor] = {}
        draws = torch.tensor([draw for _, draw in pairs])
        for rows, batch in self.set.groups([place for place, _ in pairs]):
            theta = draw_theta(self.space, batch, draws[rows], self.root)
            found |= zip(rows.tolist(), self.space.apply(batch, theta), strict=True)
        return [found[row] for row in range(len(pairs))]

    def _mistakes(
        self,
        chosen: Sequence[Mistake],
        answers: Mapping[str, Mapping[tuple[int, int], Answer]],
        clean: Mapping[str, Mapping[int, Answer]],
    ) -> Iterator[Strip]:
        for pair in chosen:
            yield self._strip(pair.place, [pair], self.transformed([pair]), answers, clean)

    def _strip(
        self,
        place: int,
        pairs: Sequence[tuple[int, int]],
        transformed: Sequence[Tensor],
        answers: Mapping[str, Mapping[tuple[int, int], Answer]],
        clean: Mapping[str, Mapping[int, Answer]],
    ) -> Strip:
        label = int(self.set.labels[place])
        classes = self.set.classes
        original = data_uri(self.set.batch([place]).images[0], self.longest)
        pictures = tuple(
            Picture(
                data_uri(image, self.longest),
                f"draw {pair[1]}",
                self._said({name: found[pair] for name, found in answers.items() if pair in found}),
            )
            for pair, image in zip(pairs, transformed, strict=True)
        )
        said = self._said({name: found[place] for name, found in clean.items() if place in found})
        named = "" if label < 0 else classes[label] if label < len(classes) else str(label)
        return Strip(self.set.names[place], named, Picture(original, "original", said), pictures)

    def _said(self, answers: Mapping[str, Answer]) -> tuple[Said, ...]:
        return tuple(
            Said(name, self.run.class_name(name, self.set, each.predicted), each.probability, each.right)
            for name, each in answers.items()
        )

    @torch.inference_mode()
    def _check(
        self,
        pairs: Sequence[tuple[int, int]],
        transformed: Sequence[Tensor],
        answers: Mapping[str, Mapping[tuple[int, int], Answer]],
    ) -> Check:
        """Classifies some of the pictures again and holds the answers against the stored ones."""
        check = Check()
        # Spread over the images, since one image's draws would all pass or fail together.
        order = sorted(range(len(pairs)), key=lambda row: pairs[row][1])[: self.checked]
        for name in answers.keys() & self.run.classifiers.keys():
            for places in by_shape(transformed[row].shape for row in order).values():
                rows = [order[place] for place in places]
                images = torch.stack([transformed[row] for row in rows])
                for row, found in zip(rows, self.run.classifiers[name].log_probs(images).exp(), strict=True):
                    stored = answers[name][pairs[row]]
                    gap = abs(float(found[stored.predicted]) - stored.probability)
                    check = check.plus(Check(1, int(gap > AGREE), gap))
        return check
