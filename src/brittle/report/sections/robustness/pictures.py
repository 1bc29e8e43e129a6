"""The gallery: what the classifiers saw and said. First draws as they come, and confident mistakes, selected."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from brittle.errors import BrittleError
from brittle.images.base import ImageSet
from brittle.measures.designs import DESIGNS, draws_in_order
from brittle.report.blocks import Block, Cell, Group, Pictures, Sentence
from brittle.report.blocks.pictures import Answer, Card, Drawn, Original, Strip
from brittle.report.page.choose_few import MOST_CLASSIFIERS
from brittle.report.page.pictures import EXACT_UP_TO
from brittle.report.page.section import MeasureRun
from brittle.report.page.words import pixels
from brittle.report.sections.robustness.answers import CountedDraws, Place, StoredAnswer, StoredAnswers
from brittle.report.sections.robustness.figures import Curve
from brittle.report.sections.robustness.results import RobustnessRows

MOST_PICTURES = 1200  # of all nuisances together: a page of 75 stays as small as one of five


class PictureCounts(NamedTuple):
    """How much a gallery shows."""

    images: int = 6
    draws: int = 6  # of each
    mistakes: int = 6  # of each classifier
    classifiers: int = MOST_CLASSIFIERS  # whose mistakes are shown

    def of_a_gallery(self, classifiers: int) -> int:
        return self.images * (self.draws + 1) + 2 * self.mistakes * min(self.classifiers, classifiers)


LESS = (PictureCounts(), PictureCounts(4, 4, 3), PictureCounts(3, 2, 2, 4), PictureCounts(2, 2, 1, 3))


def picture_counts(nuisances: int, classifiers: int) -> PictureCounts:
    """As much as there is room for, the same under every nuisance."""
    fitting = (each for each in LESS if nuisances * each.of_a_gallery(classifiers) <= MOST_PICTURES)
    return next(fitting, LESS[-1])


def sizes(run: MeasureRun, images: str) -> Iterator[Sentence]:
    """What is not shown pixel by pixel."""
    chosen = run.whole.chosen(images)
    if chosen is not None and max(chosen.images.shape[1:]) > EXACT_UP_TO:
        got = pixels(chosen.images.shapes)
        yield Sentence(f"Shown compressed, and smaller: the classifiers got {got}.", "note")


def gallery(run: MeasureRun, images: str, nuisance: str, unfolded: bool) -> Group:
    """One image set under one nuisance."""
    results = RobustnessRows(run.summary)
    here = results.on(images)
    blocks: list[Block] = [Sentence(here.under(nuisance).first["prior"], "note")]
    if why_not := run.whole.why_unreadable(images, nuisance, results.shown):
        blocks.append(Sentence(why_not, "caution"))
    else:
        try:
            blocks += _Gallery(run, here, run.whole.seen_by(nuisance, results.shown), images, nuisance).blocks()
        except (BrittleError, OSError) as error:
            blocks.append(Sentence(f"The pictures can’t be made again: {error}", "caution"))
    return Group(nuisance, tuple(blocks), "open" if unfolded else "closed", about=Cell(images, nuisance))


def falling(run: MeasureRun, images: str, here: RobustnessRows, curve: Curve) -> bool | None:
    """Whether smaller values of the option change images more, judging by the pictures themselves; None if unclear."""
    shown = RobustnessRows(run.summary).shown
    if any(run.whole.why_unreadable(images, nuisance, shown) for nuisance in curve.points.values()):
        return None
    galleries = (
        _Gallery(run, here, run.whole.seen_by(nuisance, shown), images, nuisance) for nuisance in curve.points.values()
    )
    try:
        changes = [each.change() for each in galleries]
    except (BrittleError, OSError):  # said where the pictures should stand
        return None
    if len(set(changes)) == 1:
        return None
    slope = statistics.correlation(range(len(changes)), changes)
    return slope < 0 if abs(slope) > 0.5 else None


@dataclass(frozen=True)
class _Gallery:
    """Chooses what is shown of one image set under one nuisance, and finds what was said of it."""

    run: MeasureRun
    on_set: RobustnessRows  # of this image set, under every nuisance
    shown: Sequence[str]  # classifiers
    name: str
    nuisance: str

    @cached_property
    def counts(self) -> PictureCounts:
        every = RobustnessRows(self.run.summary)
        return picture_counts(len({(row["image_set"], row["nuisance"]) for row in every.rows}), len(self.shown))

    @cached_property
    def images(self) -> ImageSet:
        return self.run.whole.job.images[self.name].images

    @cached_property
    def stored(self) -> StoredAnswers:
        return StoredAnswers(self.run.whole.view(self.run.name), self.name)

    @cached_property
    def reach(self) -> dict[str, CountedDraws]:
        rows = [row for row in self.on_set.under(self.nuisance).rows if row["classifier"] in self.shown]
        return {row["classifier"]: CountedDraws(row["images"], row["samples"]) for row in rows}

    @cached_property
    def labelled(self) -> bool:
        common = min(reach.images for reach in self.reach.values())
        return bool((self.images.labels[:common] >= 0).all())

    @cached_property
    def first(self) -> dict[int, list[Place]]:
        """The first draws of the images shown."""
        common = min(reach.draws for reach in self.reach.values())
        first = DESIGNS[self.on_set.under(self.nuisance).first.get("design", "independent")].first
        return {
            place: [(place, first + draw) for draw in range(min(self.counts.draws, common))]
            for place in self._first_of_each_class()
        }

    @cached_property
    def mistakes(self) -> dict[str, list[Place]]:
        groups = self.images.labels.numpy() if self.labelled else None
        return {
            name: [
                (each.place, each.draw)
                for each in self.stored.mistakes(name, self.nuisance, reach, groups, self.counts.mistakes)
            ]
            for name, reach in list(self.reach.items())[: self.counts.classifiers]
        }

    @cached_property
    def answers(self) -> dict[str, dict[Place, StoredAnswer]]:
        every = (*self.first.values(), *self.mistakes.values())
        wanted = list(dict.fromkeys(place for places in every for place in places))
        return {name: self.stored.answers(name, self.nuisance, wanted, reach) for name, reach in self.reach.items()}

    @cached_property
    def clean(self) -> dict[str, dict[int, StoredAnswer]]:
        places = sorted({place for found in self.answers.values() for place, _ in found})
        return {name: self.stored.clean(name, places) for name in self.reach}

    def change(self) -> float:
        """The mean absolute change of a pixel over the pictures shown."""
        pairs = [each for draws in self.first.values() for each in draws]
        made = self.run.whole.replay(self.name, self.nuisance, self.shown[0]).draws(pairs)
        originals = {place: self.images.batch([place]).images[0] for place in self.first}
        return statistics.fmean(
            float((picture - originals[place]).abs().mean()) for picture, (place, _) in zip(made, pairs, strict=True)
        )

    def blocks(self) -> Iterator[Block]:
        own = bool(self.run.whole.job.needs(self.nuisance))
        note = [Sentence("What this nuisance does differs by classifier.", "note")] if own else []
        first = Pictures(tuple(self._strip(place, draws, True) for place, draws in self.first.items()))
        yield Group(f"First draws, not selected{f', as {self.shown[0]} sees them' * own}", (*note, first))
        for name, places in self.mistakes.items():
            shown = Pictures(tuple(self._strip(place[0], [place], False) for place in places), "pairs")
            none = Sentence("None among the images that it gets right untouched.", "note")
            yield Group(f"Confident mistakes of {name}, selected", (shown if places else none,))

    def _first_of_each_class(self) -> list[int]:
        """The first images in planned order, one per class while there are classes; the same under every nuisance."""
        labels = self.images.labels[: min(row["images"] for row in self.on_set.rows)].tolist()
        if not self.labelled:
            return list(range(min(self.counts.images, len(labels))))
        firsts: dict[int, int] = {}
        for place, label in enumerate(labels):
            firsts.setdefault(label, place)
        rest = [place for place in range(len(labels)) if place not in firsts.values()]
        return [*firsts.values(), *rest][: self.counts.images]

    def _strip(self, place: int, draws: Iterable[Place], confirmed: bool) -> Strip:
        """An image and some draws of it, whose answers are to be confirmed or not."""
        label, image, name = int(self.images.labels[place]), int(self.images.ids[place]), self.images.names[place]
        named = "" if label < 0 else self.stored.subject.class_name(label)
        alt = f"{name}, {named}" if named else name
        said = {who: found[place] for who, found in self.clean.items() if place in found}
        cards = [Card(Original(self.name, image), named or name, f"{alt}: original", self._named(said, False))]
        for each in draws:
            source = Drawn(self.name, image, self.nuisance, each[1], classifier=self.shown[0])
            number = int(draws_in_order(np.array(each[1])))
            said = {who: found[each] for who, found in self.answers.items() if each in found}
            about = f"{alt} under {self.nuisance}: draw {number}"
            cards.append(Card(source, f"draw {number}", about, self._named(said, confirmed)))
        return Strip(tuple(cards))

    def _named(self, answers: Mapping[str, StoredAnswer], confirmed: bool) -> tuple[Answer, ...]:
        return tuple(
            Answer(
                name,
                self.run.whole.label_names(name, self.name)(each.predicted),
                each.probability,
                each.right,
                each.predicted if confirmed else None,
            )
            for name, each in answers.items()
        )
