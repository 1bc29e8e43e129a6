"""The gallery: what the classifiers saw and said. First draws as they come, and confident mistakes, selected.

Only rows are stored of a run, so pictures are made again from seed, id, nuisance and draw number; some of them are
classified again, so that the report can say whether they are what the classifiers saw.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from torch import Tensor

from brittle.errors import BrittleError
from brittle.images.base import ImageSet
from brittle.report.page.confirmation import MOST, Confirmation, StoredAnswer, confirm
from brittle.report.page.pictures import EXACT_UP_TO, LONGEST, data_uri, longest_side
from brittle.report.page.section import MeasureRun
from brittle.report.sections.robustness.answers import Answer, Place, Reach, StoredAnswers
from brittle.report.sections.robustness.results import Results

IMAGES, DRAWS, MISTAKES = 6, 6, 6


class NamedAnswer(NamedTuple):
    """What a classifier said of a picture, in words."""

    classifier: str
    label: str
    probability: float
    right: bool


class Picture(NamedTuple):
    uri: str
    caption: str
    answers: tuple[NamedAnswer, ...] = ()


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
    only: str = ""  # the classifier that sees these pictures, where others see other ones


class Galleries(NamedTuple):
    by_cell: dict[tuple[str, str], Gallery]  # by image set and nuisance
    confirmation: Confirmation


def galleries(run: MeasureRun) -> Galleries:
    """A gallery for every image set and nuisance."""
    results = Results(run.summary)
    cells = [(images, nuisance) for images in results.image_sets for nuisance in results.on(images).nuisances]
    found, confirmation = {}, Confirmation()
    for images, nuisance in cells:
        gallery = Gallery(images, nuisance, note=run.whole.why_unreadable(images, nuisance, results.shown))
        if not gallery.note:
            try:
                shown = run.whole.seen_by(nuisance, results.shown)
                maker = GalleryMaker(run, results.on(images), shown, images, nuisance, len(cells))
                gallery, confirmed = maker.gallery(), maker.confirmation()
                confirmation = confirmation.plus(confirmed)
            except (BrittleError, OSError) as error:
                gallery = gallery._replace(note=f"The pictures can't be made again: {error}")
        found[images, nuisance] = gallery
    return Galleries(found, confirmation)


@dataclass(frozen=True)
class GalleryMaker:
    """Makes the pictures of one image set under one nuisance again, and finds what was said of them."""

    run: MeasureRun
    on_set: Results  # of this image set, under every nuisance
    shown: Sequence[str]  # classifiers
    name: str
    nuisance: str
    cells: int  # how many galleries there are

    @cached_property
    def images(self) -> ImageSet:
        return self.run.whole.job.images[self.name].images

    @cached_property
    def stored(self) -> StoredAnswers:
        return StoredAnswers(self.run.whole.view(self.run.name), self.name)

    @cached_property
    def reach(self) -> dict[str, Reach]:
        rows = [row for row in self.on_set.under(self.nuisance).rows if row["classifier"] in self.shown]
        return {row["classifier"]: Reach(row["images"], row["samples"]) for row in rows}

    @cached_property
    def labelled(self) -> bool:
        common = min(reach.images for reach in self.reach.values())
        return bool((self.images.labels[:common] >= 0).all())

    @cached_property
    def longest(self) -> int:
        pictures = self.cells * (IMAGES * (DRAWS + 1) + 2 * MISTAKES * len(self.reach))
        return longest_side(pictures) if max(self.images.shape[1:]) > EXACT_UP_TO else LONGEST

    @cached_property
    def first(self) -> list[Place]:
        """The first draws of the images shown."""
        common = min(reach.draws for reach in self.reach.values())
        return [(place, draw) for place in self._first_of_each_class() for draw in range(min(DRAWS, common))]

    @cached_property
    def mistakes(self) -> dict[str, list[Place]]:
        groups = self.images.labels.numpy() if self.labelled else None
        return {
            name: [
                (each.place, each.draw) for each in self.stored.mistakes(name, self.nuisance, reach, groups, MISTAKES)
            ]
            for name, reach in self.reach.items()
        }

    @cached_property
    def pictures(self) -> dict[Place, Tensor]:
        """T_θ x (C, H, W) of everything shown."""
        wanted = list(dict.fromkeys([*self.first, *(place for chosen in self.mistakes.values() for place in chosen)]))
        replay = self.run.whole.replay(self.name, self.nuisance, self.shown[0])
        return dict(zip(wanted, replay.draws(wanted), strict=True))

    @cached_property
    def answers(self) -> dict[str, dict[Place, Answer]]:
        return {
            name: self.stored.answers(name, self.nuisance, self.pictures, reach) for name, reach in self.reach.items()
        }

    @cached_property
    def clean(self) -> dict[str, dict[int, Answer]]:
        places = sorted({place for place, _ in self.pictures})
        return {name: self.stored.clean(name, places) for name in self.reach}

    def gallery(self) -> Gallery:
        shown: dict[int, list[Place]] = {}
        for place in self.first:
            shown.setdefault(place[0], []).append(place)
        originals = {place: self.images.batch([place]).images[0] for place in shown}
        changes = [float((self.pictures[each] - originals[each[0]]).abs().mean()) for each in self.first]
        return Gallery(
            self.name,
            self.nuisance,
            tuple(self._strip(place, draws) for place, draws in shown.items()),
            {name: tuple(self._strip(each[0], [each]) for each in chosen) for name, chosen in self.mistakes.items()},
            statistics.fmean(changes),
            only=self.shown[0] if self.run.whole.job.needs(self.nuisance) else "",
        )

    def _first_of_each_class(self) -> list[int]:
        """The first images in planned order, one per class while there are classes; the same under every nuisance."""
        labels = self.images.labels[: min(row["images"] for row in self.on_set.rows)].tolist()
        if not self.labelled:
            return list(range(min(IMAGES, len(labels))))
        firsts: dict[int, int] = {}
        for place, label in enumerate(labels):
            firsts.setdefault(label, place)
        rest = [place for place in range(len(labels)) if place not in firsts.values()]
        return [*firsts.values(), *rest][:IMAGES]

    def _strip(self, place: int, draws: Sequence[Place]) -> Strip:
        label = int(self.images.labels[place])
        original = data_uri(self.images.batch([place]).images[0], self.longest)
        pictures = tuple(
            Picture(
                data_uri(self.pictures[each], self.longest),
                f"draw {each[1]}",
                self._named({name: found[each] for name, found in self.answers.items() if each in found}),
            )
            for each in draws
        )
        clean = self._named({name: found[place] for name, found in self.clean.items() if place in found})
        named = "" if label < 0 else self.stored.subject.class_name(label)
        return Strip(self.images.names[place], named, Picture(original, "original", clean), pictures)

    def _named(self, answers: Mapping[str, Answer]) -> tuple[NamedAnswer, ...]:
        return tuple(
            NamedAnswer(name, self.run.whole.label_names(name, self.name)(each.predicted), each.probability, each.right)
            for name, each in answers.items()
        )

    def confirmation(self) -> Confirmation:
        """Classifies some of the first draws again."""
        most = max(1, MOST // (self.cells * len(self.reach)))
        # Spread over the images, since one image's draws would all pass or fail together.
        shown = sorted(self.first, key=lambda each: each[1])[:most]
        found = Confirmation()
        for name, answers in self.answers.items():
            classifier = self.run.whole.classifier(name)
            if classifier is not None:
                stored = [
                    StoredAnswer(self.pictures[each], answers[each].predicted, answers[each].probability)
                    for each in shown
                ]
                found = found.plus(confirm(classifier, stored))
        return found
