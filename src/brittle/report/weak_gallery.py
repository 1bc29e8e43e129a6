"""Weak points as pictures (Fawzi & Frossard 2016, figures 2 to 4): an image, and what the classifier takes it for.

Pictures are made again from the θ that the run has stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.images.base import ImageSet
from brittle.images.pixels import by_shape
from brittle.measures.weak_points.diagnosis import NOTHING, TRUSTED
from brittle.report.gallery import AGREE, Check
from brittle.report.weak_draws import Draws, Row, prior_theta, random_mistakes
from brittle.types import Classifier, Nuisance

DRAWS = 8
PRIOR_DRAWS, PRIOR_NUMBERS = 512, 1 << 22


class Mistake(NamedTuple):
    """One transformed image, and what the classifier says it is."""

    image: Tensor  # (C, H, W)
    label: str
    predicted: int
    probability: float


class Strip(NamedTuple):
    """An image and some of its weak points; `badge` says why they can't be trusted, `note` why there are none."""

    name: str
    label: str
    original: Tensor  # (C, H, W)
    mistakes: tuple[Mistake, ...]
    badge: str = ""
    note: str = ""


class Smallest(NamedTuple):
    """The most probable transformation found that changes the label."""

    name: str
    label: str
    original: Tensor
    transformed: Tensor
    becomes: str
    likelier: float | None  # the share of the prior's own draws that have a lower density
    badge: str = ""


@dataclass(frozen=True)
class Called:
    """What a classifier's classes are called: its own words, or the image set's where its classes go by number."""

    labels: Sequence[str]  # as the classifier has them
    classes: Sequence[str]  # of the image set

    @cached_property
    def names(self) -> tuple[str, ...]:
        labels, classes = [str(label) for label in self.labels], list(self.classes)
        numbered = all(label == str(place) for place, label in enumerate(labels))
        if numbered and not set(classes) <= set(labels):
            return (*classes[: len(labels)], *labels[len(classes) :])
        return tuple(labels)

    @cached_property
    def _names(self) -> dict[str, str]:
        return dict(zip(map(str, self.labels), self.names, strict=True))

    def __call__(self, label: str | int) -> str:
        """The name of a class, given by its number or by the classifier's own word."""
        return self.names[label] if isinstance(label, int) else self._names[label]


@dataclass(frozen=True)
class Subject:
    """What pictures of weak points are made from."""

    images: ImageSet
    nuisance: Nuisance
    seed: int
    stream: str
    called: Called

    def place(self, row: Row) -> int:
        return int((self.images.ids == row["id"]).nonzero()[0])

    @torch.inference_mode()
    def transformed(self, place: int, theta: NDArray[Any] | Sequence[Sequence[float]]) -> Tensor:
        """T_θ x (k, C, H, W) of the image at `place` at each θ (k, d)."""
        at = torch.as_tensor(theta, dtype=torch.float32)
        batch = self.images.batch([place]).take(torch.zeros(len(at), dtype=torch.int64))
        return self.nuisance.apply(batch, at.to(batch.images.dtype))


def badge(row: Row) -> str:
    """What is wrong with an image's draws; "" where they can be trusted."""
    return "" if row["status"] == TRUSTED else str(row["status"])


def strips(subject: Subject, rows: Sequence[Row], draws: Mapping[int, Draws], most: int = DRAWS) -> list[Strip]:
    """A strip for each of the images in `rows`."""
    return [_strip(subject, row, draws.get(row["id"]), most) for row in rows]


def _strip(subject: Subject, row: Row, draws: Draws | None, most: int) -> Strip:
    place = subject.place(row)
    original = subject.images.batch([place]).images[0]
    bare = Strip(row["name"], subject.called(row["label"]), original, (), badge(row))
    if draws is None or row["status"] == NOTHING:
        return bare._replace(note="No weak point was found: the classifier never doubts the label where it was looked.")
    chosen = random_mistakes(draws, row["id"], subject.seed, most)
    if not chosen:
        kept = len(draws.theta)
        return bare._replace(
            note=f"None of the {kept} kept draws changes the label: the classifier only doubts it there."
        )
    pictures = subject.transformed(place, draws.theta[chosen])
    return bare._replace(
        mistakes=tuple(
            Mistake(
                picture,
                subject.called(int(draws.predicted[at])),
                int(draws.predicted[at]),
                float(draws.probability[at]),
            )
            for picture, at in zip(pictures, chosen, strict=True)
        )
    )


def smallest(subject: Subject, rows: Sequence[Row], most: int) -> list[Smallest]:
    """Of the images that change their label most easily, the most probable θ found that does it."""
    known = [row for row in rows if row["smallest"] is not None and not row["already_wrong"]]
    found = []
    for row in sorted(known, key=lambda each: -each["smallest_log_prior"])[:most]:
        place = subject.place(row)
        found.append(
            Smallest(
                row["name"],
                subject.called(row["label"]),
                subject.images.batch([place]).images[0],
                subject.transformed(place, [row["smallest"]])[0],
                subject.called(row["smallest_label"]),
                _likelier(subject, place, row),
                badge(row),
            )
        )
    return found


@torch.inference_mode()
def _likelier(subject: Subject, place: int, row: Row) -> float | None:
    batch = subject.images.batch([place])
    count = max(1, min(PRIOR_DRAWS, PRIOR_NUMBERS // len(row["smallest"])))
    theta = prior_theta(subject.nuisance, batch, subject.seed, subject.stream, count)
    density = subject.nuisance.log_prior(theta.double(), batch)
    return None if density is None else float((density < row["smallest_log_prior"]).double().mean())


@torch.inference_mode()
def check(classifier: Classifier, shown: Sequence[Strip], most: int) -> Check:
    """Classifies some of the pictures again and holds the answers against the stored ones."""
    # The first picture of every image before the second of any: one image's would all pass or fail together.
    turns = [strip.mistakes[turn : turn + 1] for turn in range(DRAWS) for strip in shown]
    again = [mistake for turn in turns for mistake in turn][:most]
    found = Check()
    for places in by_shape(mistake.image.shape for mistake in again).values():
        answers = classifier.log_probs(torch.stack([again[place].image for place in places])).exp()
        for place, answer in zip(places, answers, strict=True):
            gap = abs(float(answer[again[place].predicted]) - again[place].probability)
            found = found.plus(Check(1, int(gap > AGREE), gap))
    return found
