"""What sections show of stored images: whether they can be had, what they are called, and what was said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from brittle.engine.view import MeasureView
from brittle.report.blocks import Block, Sentence
from brittle.report.blocks.pictures import Answer, Card, Original
from brittle.report.blocks.text import Text
from brittle.report.page.section import MeasureRun

MOST_CLASSIFIERS = 4  # whose answers stand beneath a picture


class Readable(NamedTuple):
    """The rows of a measure, or what is said where there are none."""

    view: MeasureView | None
    instead: list[Block]


def readable(run: MeasureRun, images: str, nuisance: str = "", classifiers: Sequence[str] = ()) -> Readable:
    """Whether pictures of an image set, as some classifiers saw them, can be made again."""
    why_not = run.whole.why_unreadable(images, nuisance, classifiers)
    return Readable(None, [Sentence(why_not, "note")]) if why_not else Readable(run.view, [])


class ShownImage(NamedTuple):
    """An image of a set."""

    image_set: str
    id: int
    name: str
    label: str

    @property
    def alt(self) -> str:
        return f"{self.name}, {self.label}"

    def original(self, caption: Text = "", answers: tuple[Answer, ...] = (), beneath: Text = "") -> Card:
        """The image as it is, under its label."""
        source = Original(self.image_set, self.id)
        return Card(source, caption or self.label, f"{self.alt}: original", answers, beneath)


def shown_image(view: MeasureView, images: str, place: int) -> ShownImage:
    """The image at a place in planned order."""
    subject = view.images[images]
    label = subject.class_name(int(subject.labels[place]))
    return ShownImage(images, int(subject.ids[place]), subject.names[place], label)


def answer(run: MeasureRun, classifier: str, images: str, predicted: int, p: float, right: bool, **more: Any) -> Answer:
    """What a classifier said, in words."""
    label = run.whole.label_names(classifier, images)(predicted)
    return Answer(classifier, label, float(p), bool(right), predicted, **more)


def answer_of(run: MeasureRun, classifier: str, images: str, row: Mapping[str, Any], **more: Any) -> Answer:
    """The same of a row of outcomes."""
    p = np.exp(float(row["log_p_predicted"]))
    return answer(run, classifier, images, int(row["predicted"]), p, row["rank"] == 0, **more)


def clean_answers(
    run: MeasureRun, clean: Mapping[str, Mapping[str, Any]], images: str, place: int
) -> tuple[Answer, ...]:
    """What each classifier says of an untouched image."""
    return tuple(
        answer_of(run, name, images, {key: values[place] for key, values in columns.items()})
        for name, columns in clean.items()
    )
