"""What is known before work begins: of a classifier, of an image set, of a cell, and of all that a measure is asked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from brittle.class_names import displayed_classes
from brittle.errors import BrittleError
from brittle.imagenet import shown_labels
from brittle.registry import did_you_mean
from brittle.types import Batch, Classifier, ClassNames, Layered, Nuisance, TrainingRecord


@dataclass(frozen=True)
class ClassifierFacts:
    """What is known of a classifier without loading it."""

    name: str
    labels: tuple[str, ...]  # a name per class, in output order
    can: frozenset[str] = frozenset()
    layers: tuple[str, ...] = ()
    group: str = ""  # several trainings of one model share one
    attributes: Mapping[str, Any] = field(default_factory=dict)
    named: bool = True  # False where the labels are numbers for want of names
    trained: Mapping[str, Any] = field(default_factory=dict)  # what its weights say of their training

    @classmethod
    def of(cls, name: str, classifier: Classifier, entry: ClassifierFacts | None) -> ClassifierFacts:
        """What a classifier has shown once it was tried, and what its entry says."""
        return cls(
            name,
            shown_labels(classifier.labels),
            frozenset(classifier.can),
            tuple(classifier.layers) if isinstance(classifier, Layered) else (),
            entry.group if entry is not None else "",
            entry.attributes if entry is not None else {},
            classifier.named if isinstance(classifier, ClassNames) else True,
            dict(classifier.trained) if isinstance(classifier, TrainingRecord) else {},
        )

    def with_class_names_of(self, subject: ImageSetFacts) -> ClassifierFacts:
        """The same with the image set's words for classes that go by number."""
        return replace(self, labels=displayed_classes(self.labels, subject.classes, self.named))

    def stored_values(self) -> dict[str, Any]:
        """What only the classifier could tell, as plain values to be kept."""
        return {
            "labels": list(self.labels),
            "named": self.named,
            "can": sorted(self.can),
            "layers": list(self.layers),
        } | ({"trained": dict(self.trained)} if self.trained else {})

    def with_stored(self, kept: Mapping[str, Any]) -> ClassifierFacts:
        """The same with what a run has kept, whether the classifier can be loaded now or not."""
        return replace(
            self,
            labels=tuple(kept.get("labels", ())),
            can=frozenset(kept.get("can", ())),
            layers=tuple(kept.get("layers", ())),
            named=bool(kept.get("named", True)),
            trained=dict(kept.get("trained", {})),
        )


def members(classifiers: Mapping[str, ClassifierFacts]) -> dict[str, list[str]]:
    """The classifiers of each model: those of one group, or one that has none."""
    found: dict[str, list[str]] = {}
    for name, facts in classifiers.items():
        found.setdefault(facts.group or name, []).append(name)
    return found


@dataclass(frozen=True)
class ImageSetFacts:
    """What is known of an image set without reading images: those of the study in planned order, and the set they were
    drawn from."""

    name: str
    ids: NDArray[np.int64]  # (M,)
    labels: NDArray[np.int64]  # (M,), −1 where there is none
    classes: Sequence[str]
    names: Sequence[str]  # (M,)
    shape: tuple[int, int, int]  # of the largest
    population: int
    population_labels: NDArray[np.int64]
    asked: int | None = None  # how many images the study asks for
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    train: str = ""  # the image set that the classifiers were trained on
    origin: bool = True  # False: it has no images at severity 0, and those of the set merely stand in for them

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def labelled(self) -> bool:
        """Whether every image has a label."""
        return bool((self.labels >= 0).all())

    @property
    def reference(self) -> str:
        """What an answer is right by, in words."""
        return "label" if self.labelled else "clean prediction"

    def class_name(self, label: int) -> str:
        return self.classes[label] if 0 <= label < len(self.classes) else str(label)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.argsort(self.ids, kind="stable")
        return order, self.ids[order]

    def places(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Places in planned order of the images with these ids."""
        order, ordered = self._sorted
        return order[np.minimum(np.searchsorted(ordered, ids), len(ordered) - 1)]


NO_IMAGES = ImageSetFacts("", np.zeros(0, np.int64), np.zeros(0, np.int64), (), (), (1, 1, 1), 0, np.zeros(0, np.int64))
NO_CLASSIFIER = ClassifierFacts("", ())


def evaluated_image_sets(images: Mapping[str, ImageSetFacts]) -> list[str]:
    """The names of those that are not merely what others were trained on."""
    trained = {subject.train for subject in images.values()}
    return [name for name, subject in images.items() if name not in trained or subject.train]


@dataclass(frozen=True)
class About:
    """What a cell is about: all that a plan may depend on."""

    seed: int
    subject: ImageSetFacts = NO_IMAGES
    nuisance: Nuisance | None = None
    nuisance_name: str = ""
    stream: str = ""  # names the nuisance's random numbers
    classifier: ClassifierFacts = NO_CLASSIFIER
    images: str = ""  # what the study calls the subject

    @property
    def count(self) -> int:
        """Images."""
        return len(self.subject)

    @property
    def numbers(self) -> int:
        """Numbers per image, of the largest."""
        return math.prod(self.subject.shape)

    @property
    def theta_size(self) -> int:
        """Numbers of θ, for the largest image."""
        if self.nuisance is None or not self.images:
            return 0
        one = Batch(torch.zeros(1, *self.subject.shape), torch.zeros(1).long(), torch.zeros(1).long())
        return int(self.nuisance.identity(one).shape[-1])

    def refuse_unlabelled(self, why: str) -> None:
        """Raises where images lack labels that the measure rests on: `why` says so, as in "affinity is accuracy"."""
        if not self.subject.labelled:
            raise BrittleError(
                f"{why}, and some images of {self.images!r} have no label",
                "Choose images with labels; in a study, name the image sets that have them: images = […].",
            )


@dataclass(frozen=True)
class MeasureInputs:
    """All that a measure is asked about, by the names that the study gives them."""

    classifiers: Mapping[str, ClassifierFacts]
    images: Mapping[str, ImageSetFacts]
    nuisances: Mapping[str, Nuisance]


def refuse_unknown(name: str, known: Iterable[str], wrong: str) -> None:
    """Raises where a name is none of those known; `wrong` says so of {!r}."""
    known = list(known)
    if name not in known:
        raise BrittleError(wrong.format(name), did_you_mean(name, known))
