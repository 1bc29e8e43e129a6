"""What a hardening needs before it begins: images split into three parts, and a classifier that can be trained on them.

The images are split once, by their ids alone: training; held-out, on which the round is chosen; and test, on which
nothing but before and after is measured.
"""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from brittle.classifiers import classifier as open_classifier
from brittle.classifiers import classifiers
from brittle.classifiers.torch_module import TorchClassifier
from brittle.engine.check.before_work import CHECKED_IMAGES
from brittle.engine.check.labels import reference_labels
from brittle.engine.job import subject_of
from brittle.errors import BrittleError
from brittle.hardening.fine_tune import answers_of, check_trainable
from brittle.hardening.options import MOST_MEASURED, HardeningOptions
from brittle.hardening.rounds import HardeningWork
from brittle.imagenet import shown_labels
from brittle.images.base import ImageSet, of_one_shape
from brittle.images.selection import ChosenImages
from brittle.measures.base import ClassifierFacts
from brittle.nuisances import nuisances
from brittle.random import shuffled
from brittle.registry import options_of
from brittle.samplers import sampler as open_sampler
from brittle.samplers.chain import ChainSampler
from brittle.training.data import TrainingImages
from brittle.training.weights import fingerprint, state_of
from brittle.types import Nuisance

FEWEST = 10  # images of a part


class Split(NamedTuple):
    """Three parts that share no image."""

    training: ImageSet
    held_out: ImageSet
    test: ImageSet


def prepared(
    before: TorchClassifier,
    split: Split,
    nuisance: Nuisance,
    settings: HardeningOptions,
    seed: int,
    device: torch.device,
) -> HardeningWork:
    """What is trained: a copy of the classifier, with the training images and the answers of the untouched one."""
    training = split.training
    before.check(training.batch(range(min(CHECKED_IMAGES, len(training))), device).images)
    check_classes(before, split)
    right = torch.from_numpy(right_labels(before, training))
    data = TrainingImages(dataclasses.replace(training, labels=right, classes=()), device)
    trained = copy.deepcopy(before)
    check_trainable(trained, data)
    answers = answers_of(before, data)
    stream = nuisances.name_of(nuisance)
    return HardeningWork(trained, data, answers, split.held_out, nuisance, stream, settings, seed)


def right_labels(classifier: TorchClassifier, images: ImageSet) -> NDArray[np.int64]:
    """Labels as the classifier counts its classes."""
    facts = ClassifierFacts(classifier.name, shown_labels(classifier.labels), named=classifier.named)
    return reference_labels(facts, subject_of(ChosenImages(images, images)))


def check_classes(classifier: TorchClassifier, split: Split) -> None:
    """Refuses training and test images that count a class of the same name differently."""

    def numbers(part: ImageSet) -> dict[str, int]:
        right = right_labels(classifier, part)
        pairs = zip(part.labels.tolist(), right.tolist(), strict=True)
        return {part.classes[label]: number for label, number in pairs if 0 <= label < len(part.classes)}

    here, there = numbers(split.training), numbers(split.test)
    for name in sorted(here.keys() & there.keys()):
        if here[name] != there[name]:
            raise BrittleError(
                f"{name!r} is class {here[name]} of the training images and {there[name]} of the test images",
                "Name the classifier's classes with labels=…, or give both the same classes.",
            )


def check_sampler(spec: str) -> None:
    if isinstance(open_sampler(spec), ChainSampler):
        raise BrittleError(
            f"the sampler {spec!r} walks in chains, which say nothing about how often an image fails",
            "Use importance, adaptive, smc or auto.",
        )


def hardenable(what: Any, device: str) -> TorchClassifier:
    """The classifier, refused where it has no weights that could be trained."""
    found = open_classifier(what, device=device)
    named = what if isinstance(what, str) else getattr(found, "name", type(what).__name__)
    if not isinstance(found, TorchClassifier):
        raise BrittleError(
            f"{named} can't be hardened, since it is not a torch module",
            "Give the network itself: torch:package.module:factory,weights=…, or an nn.Module from Python.",
        )
    if found.mapping is not None:
        raise BrittleError(
            f"{named} can't be hardened while its classes are mapped: its outputs are trained, which are others",
            "Leave classes=… out, and give images labelled as the network counts its classes.",
        )
    if not any(each.requires_grad and each.is_floating_point() for each in found.module.parameters()):
        raise BrittleError(f"{named} has no weights that can be trained", "Let some of its parameters require_grad.")
    return found


def with_weights(spec: str, before: TorchClassifier, path: Path) -> str | None:
    """The spec of the same classifier with other weights; None where its kind takes none."""
    loader: Any = classifiers.build(spec)
    if "weights" not in options_of(type(loader)):
        return None
    again = hardenable(spec, "cpu").module
    if again is before.module:
        raise BrittleError(
            f"{spec} names a network that lies ready, so that before and after would be the same one",
            "Name a function that makes it.",
        )
    if fingerprint(state_of(again)) != fingerprint(state_of(before.module)):
        raise BrittleError(f"{spec} makes other weights each time", "Save them, and name the file: weights=….")
    return classifiers.spec_of(dataclasses.replace(loader, weights=str(path)))


def split_images(images: ImageSet, test: ImageSet | None, share: float, seed: int) -> Split:
    """A seeded draw that depends on ids alone. With a test set of its own, half of that chooses the round."""
    source = of_one_shape(images if test is None else test)
    order = shuffled(source.ids, seed, "hardening split")
    part = min(MOST_MEASURED, round((share if test is None else 0.5) * len(source)))
    if part < FEWEST or (test is None and len(source) - 2 * part < 1):
        raise BrittleError(
            f"{len(source)} images of {source.name!r} leave {part} to choose the round and as many to test it",
            f"{FEWEST} are needed for each: give more images" + (", or a greater --held-out." if test is None else "."),
        )
    unlabelled = (source.labels < 0).nonzero()
    if len(unlabelled):
        raise BrittleError(f"{source.names[int(unlabelled[0])]} of {source.name!r} has no label", "Label it.")
    rest = of_one_shape(images) if test is not None else images.take(order[2 * part :])
    return Split(rest, source.take(order[:part]), source.take(order[part : 2 * part]))
