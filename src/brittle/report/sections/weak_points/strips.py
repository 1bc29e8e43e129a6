"""Weak points as pictures (Fawzi & Frossard 2016, figures 2 to 4): an image, and what the classifier takes it for.

Pictures are made again from the θ that the run has stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.engine.replay import Replay
from brittle.measures.weak_points.diagnosis import NOTHING, TRUSTED
from brittle.report.page.confirmation import Confirmation, StoredAnswer, confirm
from brittle.report.page.label_names import LabelNames
from brittle.report.sections.weak_points.draws import Draws, Row, random_mistakes
from brittle.types import Classifier

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
class PictureSource:
    """What pictures of weak points are made from: an image set under a nuisance, and words for the labels."""

    replay: Replay
    names: LabelNames

    def place(self, row: Row) -> int:
        """Where an image stands in planned order."""
        return int((self.replay.images.ids == row["id"]).nonzero()[0])

    def original(self, row: Row) -> Tensor:
        return self.replay.images.batch([self.place(row)]).images[0]

    def prior(self, row: Row, count: int) -> Tensor:
        """θ (n, d): the prior's first draws for one image."""
        return self.replay.prior(self.replay.batch([self.place(row)]), count)[0]


def badge(row: Row) -> str:
    """What is wrong with an image's draws; "" where they can be trusted."""
    return "" if row["status"] == TRUSTED else str(row["status"])


def strips(source: PictureSource, rows: Sequence[Row], draws: Mapping[int, Draws], most: int = DRAWS) -> list[Strip]:
    """A strip for each of the images in `rows`."""
    return [_strip(source, row, draws.get(row["id"]), most) for row in rows]


def _strip(source: PictureSource, row: Row, draws: Draws | None, most: int) -> Strip:
    bare = Strip(row["name"], source.names(row["label"]), source.original(row), (), badge(row))
    if draws is None or row["status"] == NOTHING:
        return bare._replace(note="No weak point was found: the classifier never doubts the label where it was looked.")
    chosen = random_mistakes(draws, row["id"], source.replay.seed, most)
    if not chosen:
        kept = len(draws.theta)
        return bare._replace(
            note=f"None of the {kept} kept draws changes the label: the classifier only doubts it there."
        )
    pictures = source.replay.at(source.place(row), torch.from_numpy(draws.theta[chosen]))
    return bare._replace(
        mistakes=tuple(
            Mistake(
                picture,
                source.names(int(draws.predicted[at])),
                int(draws.predicted[at]),
                float(draws.probability[at]),
            )
            for picture, at in zip(pictures, chosen, strict=True)
        )
    )


def smallest(source: PictureSource, rows: Sequence[Row], most: int) -> list[Smallest]:
    """Of the images that change their label most easily, the most probable θ found that does it."""
    known = [row for row in rows if row["smallest"] is not None and not row["already_wrong"]]
    return [
        Smallest(
            row["name"],
            source.names(row["label"]),
            source.original(row),
            source.replay.at(source.place(row), torch.tensor([row["smallest"]], dtype=torch.float32))[0],
            source.names(row["smallest_label"]),
            _likelier(source, row),
            badge(row),
        )
        for row in sorted(known, key=lambda each: -each["smallest_log_prior"])[:most]
    ]


@torch.inference_mode()
def _likelier(source: PictureSource, row: Row) -> float | None:
    count = max(1, min(PRIOR_DRAWS, PRIOR_NUMBERS // len(row["smallest"])))
    theta, batch = source.prior(row, count)[None], source.replay.batch([source.place(row)])
    density = source.replay.nuisance.log_prior(theta.double(), batch)
    return None if density is None else float((density < row["smallest_log_prior"]).double().mean())


def confirmed(classifier: Classifier, shown: Sequence[Strip], most: int) -> Confirmation:
    """Classifies some of the pictures again and compares the answers with the stored ones."""
    # The first picture of every image before the second of any: one image's would all pass or fail together.
    turns = [strip.mistakes[turn : turn + 1] for turn in range(DRAWS) for strip in shown]
    again = [mistake for turn in turns for mistake in turn][:most]
    return confirm(classifier, [StoredAnswer(each.image, each.predicted, each.probability) for each in again])
