"""Hardening: re-training a classifier on its weak points (Fawzi & Frossard 2016, section 4).

A round draws weak points of some of the training images from the classifier as it stands, and fine-tunes it on batches
that hold a share of them beside clean images. The images are split once: training; held-out, on which the round is
chosen; and test, on which nothing but before and after is measured, on the same images and the same θ.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from brittle.classifiers import classifier as open_classifier
from brittle.classifiers import classifiers
from brittle.classifiers.as_it_was import lent
from brittle.classifiers.torch_module import TorchClassifier
from brittle.device import pick_device
from brittle.engine.assemble import with_image_sets
from brittle.engine.carry_out import Done
from brittle.engine.check import CHECKED_IMAGES, check_nuisance
from brittle.engine.job import subject_of
from brittle.engine.labels import reference_labels
from brittle.engine.live import Opened
from brittle.engine.nuisance_trial import try_nuisance
from brittle.engine.runs import RunFolder, named_folder
from brittle.errors import BrittleError
from brittle.files import write_durably
from brittle.hardening.before_after import AFTER, BEFORE, PairedRun, in_memory
from brittle.hardening.fine_tune import answers_of, check_trainable
from brittle.hardening.kept import FILES, Kept, Phases
from brittle.hardening.options import MOST_MEASURED, HardeningOptions
from brittle.hardening.rounds import Work, carry_out_rounds
from brittle.imagenet import shown_labels
from brittle.images import image_set
from brittle.images.base import ImageSet, of_one_shape
from brittle.images.fingerprint import fingerprint as images_fingerprint
from brittle.images.selection import Chosen
from brittle.measures.base import ClassifierFacts
from brittle.nuisances import nuisance as open_nuisance
from brittle.nuisances import nuisances
from brittle.progress import Progress
from brittle.random import shuffled
from brittle.registry import checked, options_of
from brittle.samplers import sampler as open_sampler
from brittle.samplers.chain import ChainSampler
from brittle.training.data import TrainingImages
from brittle.training.weights import fingerprint, save_weights, state_of
from brittle.types import Nuisance

FEWEST = 10  # images of a part
KEPT = ("rounds", *FILES)  # what a hardening's folder holds beside a run


class Split(NamedTuple):
    """Three parts that share no image."""

    training: ImageSet
    held_out: ImageSet
    test: ImageSet


@dataclass(frozen=True)
class Hardened:
    """What `brittle.harden` gives back."""

    classifier: TorchClassifier  # the hardened one
    before: dict[str, Any]  # on the test images: what `brittle measure --json` prints
    after: dict[str, Any]
    difference: dict[str, Any]  # after − before, paired: rho, accuracy_nuisance, accuracy_clean, and by class
    rounds: list[dict[str, Any]]  # candidates on the held-out images; the first is round 0, the untouched classifier
    chosen: int  # which of them it is
    summary: dict[str, Any]  # what `brittle harden --json` prints
    found: dict[str, Any]  # what `brittle run` would give for the two classifiers on the test images
    done: Done  # that run


def harden_classifier(
    classifier: Any,
    images: Any,
    nuisance: Any,
    out: str | Path | None = None,
    *,
    test: Any = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Hardened:
    """See `brittle.harden`."""
    with lent([classifier]):
        return _hardened(classifier, images, nuisance, out, test, seed, device, progress or Progress(), options)


def _hardened(
    classifier: Any,
    images: Any,
    nuisance: Any,
    out: str | Path | None,
    test: Any,
    seed: int,
    device: str | None,
    progress: Progress,
    options: Mapping[str, Any],
) -> Hardened:
    settings, place = HardeningOptions(**checked(HardeningOptions, options, "harden")), pick_device(device)
    check_sampler(settings.sampler)
    before = hardenable(classifier, str(place))
    space = with_image_sets(open_nuisance(nuisance))
    name = nuisance if isinstance(nuisance, str) else nuisances.spec_of(space)
    whole, tests = image_set(images), None if test is None else image_set(test)
    split = split_images(whole, tests, settings.held_out, seed)
    check_nuisance(name, space, split.training.shape)
    if space.needs:
        raise BrittleError(
            f"the nuisance {name!r} needs {', '.join(sorted(space.needs))} of the classifier, which changes while it "
            "is trained",
            "Harden on another nuisance.",
        )
    try_nuisance(space, split.training.shape)
    work = prepared(before, split, space, settings, seed, place)
    named = classifier if isinstance(classifier, str) else before.name
    parts = {"training": work.data.fingerprint()}
    parts |= {key: images_fingerprint(getattr(split, key)) for key in ("held_out", "test")}
    about = {"classifier": named, "weights": fingerprint(state_of(before.module)), "nuisance": name, "images": parts}
    about |= {"seed": seed} | asdict(settings)
    folder, phases = None if out is None else named_folder(out), Phases(progress)
    kept, weights_file = Kept(folder, about), None if folder is None else folder / "weights.safetensors"

    source, measured_on = (images, whole) if tests is None else (test, tests)
    after_spec = None
    if weights_file is not None and isinstance(classifier, str):
        after_spec = with_weights(classifier, before, weights_file)
    tested = None
    if folder is not None:
        there = Opened(source, measured_on) if isinstance(source, str) else measured_on
        title, ids = f"{named}, hardened against {name}", tuple(split.test.ids.tolist())
        given = classifier if isinstance(classifier, str) else before
        tested = PairedRun(folder, title, given, there, ids, nuisance, settings.samples, seed, device)
        kept.refuse_changes()
        phases.phase("before")
        tested.begin(phases)
    with nullcontext() if folder is None else RunFolder(folder).locked(also=KEPT):
        kept.tidy(settings.rounds)
        rounds, chosen, weights = carry_out_rounds(work, kept, phases)
        if weights_file is not None:
            save_weights(weights_file, weights, "hardening", {"about": about, "round": chosen})
    work.classifier.module.load_state_dict(weights)
    phases.phase("before and after" if tested is None else "after")
    if tested is not None:
        measured = tested.end(after_spec or work.classifier, phases)
    else:
        measured = in_memory(before, work.classifier, split.test, space, settings.samples, seed, str(place), phases)
    said = {
        "about": about,
        "criterion": settings.criterion,
        "parts": {key: len(part) for key, part in split._asdict().items()},
        "rounds": rounds,
        "chosen": chosen,
        **{row["classifier"]: row for row in measured.results},  # before and after
        "difference": measured.difference,
        "calls": {key: sum(row.get(f"calls_{key}", 0) for row in rounds) for key in ("sampling", "training")},
        "weights": None if weights_file is None else str(weights_file),
        "classifier": after_spec,
        "warnings": [*same_images(images, test), *measured.found["warnings"]],
        "device": str(place),
        "seconds": round(sum(row.get("seconds", 0.0) for row in rounds), 3),
    }
    if folder is not None:
        with RunFolder(folder).locked(also=KEPT):
            text = json.dumps(said, indent=1)
            write_durably(folder / "harden.json", lambda to: to.write_text(text, encoding="utf-8"))
    return Hardened(
        work.classifier,
        said[BEFORE],
        said[AFTER],
        measured.difference,
        rounds,
        chosen,
        said,
        measured.found,
        measured.done,
    )


def prepared(
    before: TorchClassifier,
    split: Split,
    nuisance: Nuisance,
    settings: HardeningOptions,
    seed: int,
    device: torch.device,
) -> Work:
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
    return Work(trained, data, answers, split.held_out, nuisance, stream, settings, seed)


def same_images(images: Any, test: Any) -> list[str]:
    if test is None or (images is not test and not (isinstance(images, str) and images == test)):
        return []
    return ["the test images are the training images: before and after flatter both"]


def right_labels(classifier: TorchClassifier, images: ImageSet) -> NDArray[np.int64]:
    """Labels as the classifier counts its classes."""
    facts = ClassifierFacts(classifier.name, shown_labels(classifier.labels), named=classifier.named)
    return reference_labels(facts, subject_of(Chosen(images, images)))


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
            f"{named} can't be hardened, since it is no torch module",
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
