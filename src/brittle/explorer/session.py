"""A run that is open: its things by name, its classifiers ready to answer, and the reader's own pictures."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from torch import Tensor

from brittle.engine.replay import Replay
from brittle.errors import BrittleError
from brittle.explorer.spaces import Parameter, parameters_of
from brittle.images.arrays import from_arrays
from brittle.registry import did_you_mean
from brittle.report.page.loaded import LoadedRun
from brittle.types import UNLABELLED, Classifier

OWN_PICTURES = 64  # that are remembered


class ImagePlace(NamedTuple):
    """Where an image set under a nuisance stands, and which of its images is meant."""

    replay: Replay
    place: int


@dataclass
class Session:
    """One opened run, to be asked one question at a time."""

    run: LoadedRun
    _own: OrderedDict[str, Tensor] = field(default_factory=OrderedDict)

    def of(self, run: LoadedRun) -> Session:
        """The same reader's session of the run as it is now."""
        return Session(run, self._own)

    @cached_property
    def spaces(self) -> list[tuple[str, str]]:
        """Each image set under each nuisance that the study measures it under, as far as both can be loaded."""
        job = self.run.job
        asked = (each for each in job.assignments.values() if each.asked)
        pairs = dict.fromkeys((cell.images, cell.nuisance) for each in asked for cell in each.cells())
        return [(images, nuisance) for images, nuisance in pairs if images in job.images and nuisance in job.nuisances]

    def parameters(self, images: str, nuisance: str) -> list[Parameter]:
        """The numbers of θ with their ranges, the same for all images of a set; none where θ has too many."""
        known: dict[tuple[str, str], list[Parameter]] = self.__dict__.setdefault("_parameters", {})
        if (images, nuisance) not in known:
            run = self.run
            seen_by = (run.seen_by(nuisance, list(run.study.classifiers)) or [""])[0]
            known[images, nuisance] = parameters_of(run.replay(images, nuisance, seen_by), 0)
        return known[images, nuisance]

    def classifier(self, name: str) -> Classifier:
        found = self.run.classifier(name)
        if found is None:
            known = self.run.job.classifiers
            raise BrittleError(f"there is no live classifier {name!r}", did_you_mean(name, known))
        return found

    def check_space(self, images: str, nuisance: str) -> None:
        if (images, nuisance) not in self.spaces:
            raise BrittleError(f"the run has no {nuisance!r} on {images!r}", "Choose among those of the page.")

    def shape(self, images: str) -> tuple[int, int, int]:
        """(C, H, W) of the images of a set; of one in the middle where they differ."""
        if images not in self.run.job.images:
            raise BrittleError(f"there is no image set {images!r}", did_you_mean(images, self.run.job.images))
        return self.run.job.images[images].images.median_shape

    def place_of(self, images: str, image: int | None) -> int:
        """Where an image stands in planned order, by its id."""
        self.shape(images)
        found = None if image is None else self._places(images).get(image)
        if found is None:
            raise BrittleError(f"{images!r} has no image with the id {image}", "Choose among those of the run.")
        return found

    def _places(self, images: str) -> dict[int, int]:
        known = self.__dict__.setdefault("_ids", {})
        if images not in known:
            ids = self.run.job.images[images].images.ids.tolist()
            known[images] = {image: place for place, image in enumerate(ids)}
        found: dict[int, int] = known[images]
        return found

    def at(self, images: str, image: int | None, nuisance: str, classifier: str, own: str | None) -> ImagePlace:
        """What makes the pictures of an image, or of the reader's own, under a nuisance, as a classifier sees them."""
        self.check_space(images, nuisance)
        replay = self.run.replay(images, nuisance, classifier)
        if own is None:
            return ImagePlace(replay, self.place_of(images, image))
        if needs := self.run.job.needs(nuisance):
            raise BrittleError(
                f"{nuisance!r} reads {', '.join(sorted(needs))}, which is known of the run's images only",
                "Choose another nuisance, or an image of the run.",
            )
        return ImagePlace(replace(replay, images=from_arrays(self.own(own).numpy()[None], name="your own")), 0)

    def label(self, classifier: str, images: str, place: int, own: str | None) -> int:
        """The right class of an image as a classifier counts; −1 where none is known."""
        return UNLABELLED if own is not None else int(self.run.job.references(classifier, images)[place])

    def keep_own(self, image: Tensor) -> str:
        """Remembers a picture (C, H, W) in [0, 1] of the reader's; the oldest is forgotten."""
        name = secrets.token_hex(8)
        self._own[name] = image
        while len(self._own) > OWN_PICTURES:
            self._own.popitem(last=False)
        return name

    def own(self, name: str) -> Tensor:
        if name not in self._own:
            raise BrittleError("that picture of your own is no longer there", "Choose it again.")
        return self._own[name]


def finite(value: float) -> float | None:
    """A number that JSON has."""
    return float(value) if np.isfinite(value) else None
