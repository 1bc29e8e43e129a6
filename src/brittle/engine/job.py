"""A job: a study's things, loaded and checked, ready to be carried out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from torch import Tensor

from brittle.errors import BrittleError, Failure
from brittle.images.base import ImageSet, ShapeGroup, shape_of
from brittle.images.pixels import Shape, ragged
from brittle.measures.base import Measure, Subject
from brittle.measures.evaluate import slices
from brittle.measures.plan import Unit, by_image, rows_per_unit
from brittle.memory import halving
from brittle.types import Batch, Classifier, Nuisance

CLEAN = "clean"
CHECKED_IMAGES = 8
FAINTEST = -15.0


@dataclass(frozen=True)
class Chosen:
    """The images of a study in planned order, and the whole set they were drawn from."""

    images: ImageSet
    whole: ImageSet
    asked: int | None = None  # how many were asked for

    @property
    def subject(self) -> Subject:
        images, whole = self.images, self.whole
        return Subject(
            images.labels.numpy(), images.classes, len(whole), whole.labels.numpy(), images.ids.numpy(), images.names
        )


@dataclass(frozen=True)
class Job:
    """Everything of one run, by name. `streams` names each nuisance's random numbers: its kind, so that the same
    z is behind every alpha and curves over an option are compared draw by draw."""

    classifiers: Mapping[str, Classifier]
    images: Mapping[str, Chosen]
    nuisances: Mapping[str, Nuisance]
    streams: Mapping[str, str]
    measures: Mapping[str, Measure]  # in the order in which they are carried out
    seed: int = 0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    batch: int | None = None

    def __post_init__(self) -> None:
        if CLEAN in self.nuisances:
            raise BrittleError(f"a nuisance can't go by the name {CLEAN!r}, which is that of no nuisance", "Rename it.")

    def units(self, measure: str, images: str, nuisance: str) -> list[Unit]:
        """The plan of a measure on one image set under one nuisance, or of the untouched images."""
        chosen = self.images[images].images
        numbers = int(np.prod(chosen.shape))
        if measure == CLEAN:
            return by_image(len(chosen), 1, min(256, rows_per_unit(numbers)), 1)
        return self.measures[measure].plan(len(chosen), numbers, self.theta_size(images, nuisance))

    def theta_size(self, images: str, nuisance: str) -> int:
        """Numbers of θ for the images of a set, for its largest where they differ."""
        one = Batch(torch.zeros(1, *self.images[images].images.shape), torch.zeros(1).long(), torch.zeros(1).long())
        return int(self.nuisances[nuisance].identity(one).shape[-1])

    def batch_size(self, images: str) -> int:
        """Pairs classified at once: what fits the caches of a CPU, or fills a GPU."""
        if self.batch is not None:
            return self.batch
        numbers = int(np.prod(self.images[images].images.shape))
        if self.device.type == "cuda":
            return _power_of_two((1 << 26) // numbers, 64, 8192)
        least = _power_of_two((1 << 26) // numbers, 1, 16)  # 16 photographs as they come from a camera are gigabytes
        return _power_of_two((1 << 19) // numbers, least, 512)

    def check(self) -> dict[str, dict[str, list[list[float]]]]:
        """Tries every classifier on a few images of every set before work begins.

        Returns the log-probabilities found, which a resumed run compares with its own to notice changed weights."""
        answers: dict[str, dict[str, list[list[float]]]] = {}
        for set_name, chosen in self.images.items():
            images = chosen.images
            count = min(CHECKED_IMAGES, len(images))
            tried = [*range(count), *(place for place in _extremes(images) if place >= count)]
            groups = images.groups(tried, self.device)
            for name, classifier in self.classifiers.items():
                found = _answers(classifier, images, tried, groups)[:count]
                reference_labels(classifier, name, images)
                answers.setdefault(name, {})[set_name] = found.double().round(decimals=4).tolist()
            for name, nuisance in self.nuisances.items():
                for shape, places in images.shapes.items():
                    check_nuisance(name, nuisance, shape, images.names[places[0]] if len(images.shapes) > 1 else "")
        return answers


def check_nuisance(name: str, nuisance: Nuisance, shape: Shape, image: str = "") -> None:
    """Refuses, before work begins, what is no nuisance or can't transform these images, or the one image named."""
    members = {member for member in vars(Nuisance) if not member.startswith("_")}
    lacking = sorted(members - set(dir(nuisance)))
    if lacking:
        raise BrittleError(
            f"{name!r} is no nuisance: it lacks {', '.join(lacking)}",
            "Write what `brittle.Nuisance` lists, or start from brittle.nuisances.base.gaussian.GaussianNuisance.",
        )
    if nuisance.needs:
        raise BrittleError(
            f"the nuisance {name!r} needs {', '.join(sorted(nuisance.needs))}, which no measure gives yet",
            "Use another.",
        )
    try:
        nuisance.check(shape)
    except BrittleError as error:
        if not image:
            raise
        raise BrittleError(f"{image}: {error.what}", error.remedy) from error


def _extremes(images: ImageSet) -> list[int]:
    """Where shapes differ, an image each of the least and greatest channels, height, width and aspect: what a
    classifier can't take shows there."""
    if len(images.shapes) == 1:
        return []
    keys: list[Callable[[Shape], float]] = [lambda s: s[0], lambda s: s[1], lambda s: s[2], lambda s: s[1] / s[2]]
    return list({images.shapes[pick(images.shapes, key=key)][0]: None for key in keys for pick in (min, max)})


def _answers(
    classifier: Classifier, images: ImageSet, positions: Sequence[int], groups: Sequence[ShapeGroup]
) -> Tensor:
    """log p(c | x) (B, K) of the images at `positions`, tried one shape after the other."""
    found = []
    for places, batch in groups:
        try:
            found.append(halving(partial(_first_answers, classifier, batch.images), len(places))[0])
        except BrittleError as error:
            shape = shape_of(batch.images)
            other = next((each for each in images.shapes if each != shape), None)
            if other is None or isinstance(error, Failure):
                raise
            name, other_name = images.names[positions[int(places[0])]], images.names[images.shapes[other][0]]
            differing = ragged(name, shape, other_name, other)
            raise BrittleError(f"{error.what}, and {differing.what}", f"{error.remedy} {differing.remedy}") from error
    return torch.cat(found)[torch.cat([group.places for group in groups]).argsort()]


def _first_answers(classifier: Classifier, images: Tensor, size: int) -> Tensor:
    """log p(c | x) (B, K), no less than FAINTEST: below it devices differ."""
    if (check := getattr(classifier, "check", None)) is not None:
        check(images[:size])
    with torch.inference_mode():
        found = [classifier.log_probs(images[part]).cpu() for part in slices(len(images), size)]
    return torch.cat(found).clamp(min=FAINTEST)


def _power_of_two(value: int, least: int, most: int) -> int:
    return max(least, min(most, 1 << max(value, 1).bit_length() - 1))


def reference_labels(classifier: Classifier, name: str, images: ImageSet) -> Tensor:
    """Labels (n,) as the classifier counts its classes: by name where every class of the set is one of the
    classifier's labels (a class without a name goes by its number), by number otherwise. UNLABELLED stays."""
    labels, classes = images.labels, len(classifier.labels)
    counts = Counter(classifier.labels)
    places = {label: place for place, label in enumerate(classifier.labels) if counts[label] == 1}
    named = images.classes or tuple(map(str, range(int(labels.max()) + 1)))
    if all(named[label] in places for label in set(labels.tolist()) if label >= 0):
        by_name = torch.tensor([places.get(label, -1) for label in named], dtype=torch.int64)
        return torch.where(labels >= 0, by_name[labels.clamp(min=0)], labels) if len(named) else labels
    outside = (labels >= classes).nonzero()
    if len(outside):
        place = int(outside[0])
        raise BrittleError(
            f"{images.names[place]} of the image set {images.name!r} has label {int(labels[place])}, "
            f"but the classifier {name!r} knows {classes} classes (0 to {classes - 1})",
            "Give the images this classifier was made for, or name its classes with labels=….",
        )
    moved = next((word for place, word in enumerate(images.classes) if places.get(word, place) != place), None)
    if moved is not None:
        lacking = next(word for word in named if word not in places)
        raise BrittleError(
            f"the image set {images.name!r} and the classifier {name!r} count their classes differently"
            f" ({moved!r} is {images.classes.index(moved)} and {places[moved]}), and the classifier has no {lacking!r}",
            "Name the classes alike in both: labels=… for the classifier, classes=… or folder names for the images.",
        )
    return labels
