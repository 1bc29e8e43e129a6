"""Hardening: re-training a classifier on its weak points (Fawzi & Frossard 2016, section 4).

A round draws weak points of some of the training images from the classifier as it stands, and fine-tunes it on batches
that hold a share of them beside clean images. The images are split once: training; held-out, on which the round is
chosen; and test, on which nothing but before and after is measured, on the same images and the same θ.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from brittle.api import compare
from brittle.classifiers import classifier as open_classifier
from brittle.classifiers import classifiers
from brittle.classifiers.torch_module import TorchClassifier
from brittle.engine.folder import RunFolder
from brittle.engine.job import CHECKED_IMAGES, check_nuisance, reference_labels
from brittle.errors import BrittleError
from brittle.files import write_durably
from brittle.images import image_set
from brittle.images.base import ImageSet
from brittle.nuisances import nuisance as open_nuisance
from brittle.nuisances import nuisances
from brittle.progress import Silent
from brittle.random import shuffled
from brittle.registry import did_you_mean, option, options_of
from brittle.samplers import sampler as open_sampler
from brittle.samplers.chain import ChainSampler
from brittle.study import equipped, of_one_shape, pick_device
from brittle.training.before_after import AFTER, BEFORE, PairedRun, in_memory
from brittle.training.data import TrainingImages
from brittle.training.fine_tune import answers_of, fine_tune
from brittle.training.kept import Kept, Phases, State, save_weights, state_of
from brittle.training.pools import Drawn, prior_pool, weak_pool
from brittle.training.trainer import Recipe
from brittle.types import Nuisance

MOST_MEASURED = 2000  # images that choose, and that before and after are measured on
DRAWS_TO_CHOOSE = 10  # of θ, an image
FEWEST = 10  # images of a part
RATE, GENTLE, FEW = 1e-3, 3e-4, 5000  # few images are forgotten with less: benchmarks/harden_few.py
PRIOR = 0.5  # share of plain draws among weak points whose loss is corrected
CALLS_OF_A_STEP = 3  # an image's forward and backward pass cost as much as so many classifier calls

On = Literal["weak-points", "prior"]
Loss = Literal["equal", "corrected"]


@dataclass(frozen=True, kw_only=True)
class Hardening:
    """How a classifier is hardened."""

    on: On = option("weak-points", "what is trained on: weak-points, or plain draws of the prior")
    loss: Loss = option("corrected", "how weak points count: equal, or corrected so that the mean loss is the prior's")
    rounds: int = option(3, "how often weak points are sampled and trained on")
    steps: int = option(300, "gradient steps a round")
    batch_size: int = option(128, "images a gradient step")
    share: float = option(0.5, "share of a batch that is transformed; the others are clean")
    anchor: float = option(0.5, "share of the untouched classifier's answer in what transformed images are trained to")
    sampled: int = option(5000, "training images a round whose weak points are sampled, at most")
    calls: int = option(40_000, "classifier calls a round in sampling, at least one an image")
    sampler: str = option("importance", "how weak points are drawn: the spec of a sampler of populations")
    rate: float | None = option(
        None, f"learning rate, at its highest in a round: {RATE:g}, or {GENTLE:g} with fewer than {FEW} training images"
    )
    decay: float = option(0.01, "weight decay")
    held_out: float = option(
        0.2, f"share of the images that chooses the round, and as many test it: {MOST_MEASURED} each at most"
    )
    ways: tuple[float, ...] = option(
        (0.5, 0.75, 1.0), "how far from the untouched weights to a round's own the candidates lie, up to 1"
    )
    cost: float = option(0.01, "clean accuracy that a round may have lost on the held-out images to be chosen")
    samples: int = option(100, "draws of θ an image in measuring before and after")

    def __post_init__(self) -> None:
        for name, words in (("on", get_args(On)), ("loss", get_args(Loss))):
            if getattr(self, name) not in words:
                raise BrittleError(f"{name} is {getattr(self, name)!r}", f"Give {' or '.join(words)}.")
        for name in ("rounds", "steps", "batch_size", "sampled", "calls", "samples"):
            if getattr(self, name) < 1:
                raise BrittleError(f"{name.replace('_', '-')} is {getattr(self, name)}", "Give at least 1.")
        if not 0 < self.share <= 1:
            raise BrittleError(f"share is {self.share:g}", "Give a share of a batch above 0 and up to 1, such as 0.5.")
        if not 0 < self.held_out < 0.5:
            raise BrittleError(
                f"held-out is {self.held_out:g}", "Give a share below 0.5, since the test part is as large."
            )
        if not self.ways or not all(0 < way <= 1 for way in self.ways):
            raise BrittleError(f"ways are {self.ways}", "Give shares above 0 and up to 1, such as 0.5 and 1.")
        if not 0 <= self.anchor <= 1:
            raise BrittleError(f"anchor is {self.anchor:g}", "Give a share between 0 and 1, such as 0.5.")
        if not 0 <= self.cost <= 1:
            raise BrittleError(f"cost is {self.cost:g}", "Give a share of the images, such as 0.01.")
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise BrittleError(f"the learning rate is {self.rate:g}", "Give a positive number, such as 0.001.")
        if isinstance(open_sampler(self.sampler), ChainSampler):
            raise BrittleError(
                f"the sampler {self.sampler!r} walks in chains, which say nothing of how often an image fails",
                "Use importance, adaptive, smc or auto.",
            )

    @property
    def transformed(self) -> int:
        """Images of a batch that are transformed."""
        return max(1, round(self.share * self.batch_size))

    def recipe(self, images: int) -> Recipe:
        """How a round trains, with so many training images."""
        return Recipe(
            epochs=1,
            batch=self.batch_size,
            rate=self.rate or (RATE if images >= FEW else GENTLE),
            optimiser="adamw",
            decay=self.decay,
            schedule="cosine",
            warm_up=0.05,
        )

    @property
    def criterion(self) -> str:
        """How the round is chosen, said beforehand."""
        ways = ", ".join(f"{way:g}" for way in self.ways)
        points = f"{100 * self.cost:g} percentage point{'' if self.cost == 0.01 else 's'}"
        return (
            f"the greatest ρ̂ under the nuisance on the held-out images, among the untouched classifier (round 0) and, "
            f"after every round, the weights {ways} of the way from it to the round's own, whose clean accuracy there "
            f"is at most {points} below the untouched classifier's"
        )


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


@dataclass(frozen=True)
class Work:
    """A hardening, its things loaded and checked."""

    classifier: TorchClassifier  # a copy, trained in place
    data: TrainingImages
    answers: Tensor  # (n, K) of the untouched classifier
    held_out: ImageSet
    nuisance: Nuisance
    stream: str  # names the nuisance's random numbers
    settings: Hardening
    seed: int

    def round(self, number: int, start: State, progress: Phases) -> list[dict[str, Any]]:
        """One round: sample, train, and measure the candidates on the held-out images. Round 0 only measures.

        Weights between those before and after fine-tuning keep what was known and most of what was learnt (Wortsman et
        al. 2022). Training goes on from the round's own."""
        begun, module = time.monotonic(), self.classifier.module
        trained = self._trained(number, progress) if number else {}
        end, found = state_of(module), []
        for way in self.settings.ways if number else (1.0,):
            module.load_state_dict(between(start, end, way))
            found.append({"round": number, "way": way} | self._measured(number, progress))
        module.load_state_dict(end)
        found[-1] |= trained | {"seconds": round(time.monotonic() - begun, 3)}
        return found

    def _measured(self, number: int, progress: Phases) -> dict[str, Any]:
        progress.phase(f"round {number}: held-out images")
        told = compare(
            {"it": self.classifier},
            self.held_out,
            self.nuisance,
            samples=DRAWS_TO_CHOOSE,
            seed=self.seed,
            device=str(self.data.device),
            progress=progress,
        )["results"][0]
        return {key: told[key] for key in ("rho", "interval", "accuracy_nuisance", "accuracy_clean")}

    def _trained(self, number: int, progress: Phases) -> dict[str, Any]:
        settings, count = self.settings, self.settings.steps * self.settings.transformed
        sampled = settings.calls if settings.on == "weak-points" else 0
        progress.phase(f"round {number}: sampling" if sampled else f"round {number}: training")
        progress.start(sampled + settings.steps * settings.batch_size)
        stream = f"{self.stream} hardening, round {number}"
        drawn = self._drawn(count, stream, progress)
        progress.phase(f"round {number}: training")
        loss = fine_tune(
            self.classifier,
            self.data,
            self.nuisance,
            drawn.pool,
            settings.recipe(len(self.data)),
            steps=settings.steps,
            transformed=settings.transformed,
            answers=self.answers,
            anchor=settings.anchor,
            seed=self.seed,
            stream=stream,
            tick=progress.advance,
        )
        return {
            "loss": loss,
            "steps": settings.steps,
            "images_sampled": drawn.images,
            "failing": drawn.failing,
            "wrong": drawn.wrong,
            "calls_sampling": drawn.calls,
            "calls_training": CALLS_OF_A_STEP * settings.steps * settings.batch_size,
        }

    def _drawn(self, count: int, stream: str, progress: Phases) -> Drawn:
        settings = self.settings
        if settings.on == "prior":
            return prior_pool(self.nuisance, self.data, count, self.seed, stream)
        images = min(settings.sampled, settings.calls, len(self.data))
        return weak_pool(
            self.classifier,
            self.nuisance,
            self.data,
            count,
            images=images,
            sampler=settings.sampler,
            budget=settings.calls // images,
            prior=PRIOR if settings.loss == "corrected" else 0.0,
            seed=self.seed,
            stream=stream,
            tick=progress.advance,
        )


def harden_classifier(
    classifier: Any,
    images: Any,
    nuisance: Any,
    out: str | Path | None = None,
    *,
    test: Any = None,
    seed: int = 0,
    device: str | None = None,
    progress: Silent | None = None,
    **options: Any,
) -> Hardened:
    """See `brittle.harden`."""
    begun, settings, place = time.monotonic(), checked(options), pick_device(device)
    before = hardenable(classifier, str(place))
    space = equipped(open_nuisance(nuisance))
    name = nuisance if isinstance(nuisance, str) else nuisances.spec_of(space)
    split = split_images(image_set(images), None if test is None else image_set(test), settings.held_out, seed)
    check_nuisance(name, space, split.training.shape)
    before.check(split.training.batch(range(min(CHECKED_IMAGES, len(split.training))), place).images)
    right = reference_labels(before, before.name, split.training)
    data = TrainingImages(dataclasses.replace(split.training, labels=right, classes=()), place)
    work = Work(
        copy.deepcopy(before),
        data,
        answers_of(before, data),
        split.held_out,
        space,
        nuisances.name_of(space),
        settings,
        seed,
    )
    named = classifier if isinstance(classifier, str) else before.name
    about = {"classifier": named, "nuisance": name, "images": data.fingerprint(), "seed": seed} | asdict(settings)
    folder, phases = None if out is None else Path(out), Phases(progress or Silent())

    source = images if test is None else test
    after_spec = None
    if folder is not None and all(isinstance(each, str) for each in (classifier, source, nuisance)):
        after_spec = with_weights(classifier, before, folder / "weights.safetensors")
    tested = None
    if folder is not None and after_spec is not None:
        ids = tuple(split.test.ids.tolist())
        tested = PairedRun(folder, classifier, source, ids, name, settings.samples, seed, device)
        phases.phase("before")
        tested.begin(phases)
    with nullcontext() if folder is None else RunFolder(folder).locked():
        rounds, chosen, weights = carry_out_rounds(work, Kept(folder, about), phases)
        if folder is not None:
            save_weights(folder / "weights.safetensors", weights, {"about": about, "round": chosen})
    work.classifier.module.load_state_dict(weights)
    phases.phase("before and after" if tested is None else "after")
    if tested is not None and after_spec is not None:
        measured = tested.end(after_spec, phases)
    else:
        measured = in_memory(before, work.classifier, split.test, space, settings.samples, seed, str(place), phases)
    results = {row["classifier"]: row for row in measured.found["results"]}
    said = {
        "about": about,
        "criterion": settings.criterion,
        "parts": {key: len(part) for key, part in split._asdict().items()},
        "rounds": rounds,
        "chosen": chosen,
        "before": results[BEFORE],
        "after": results[AFTER],
        "difference": measured.difference,
        "calls": {key: sum(row.get(f"calls_{key}", 0) for row in rounds) for key in ("sampling", "training")},
        "weights": None if folder is None else str(folder / "weights.safetensors"),
        "classifier": after_spec,
        "warnings": measured.found["warnings"],
        "device": str(place),
        "seconds": round(time.monotonic() - begun, 3),
    }
    if folder is not None:
        write_durably(folder / "harden.json", lambda to: to.write_text(json.dumps(said, indent=1), encoding="utf-8"))
    return Hardened(
        work.classifier, said["before"], said["after"], measured.difference, rounds, chosen, said, measured.found
    )


def carry_out_rounds(work: Work, kept: Kept, progress: Phases) -> tuple[list[dict[str, Any]], int, State]:
    """Every round, or what is kept of it: all candidates, which was chosen, and its weights."""
    candidates: list[dict[str, Any]] = []
    module, chosen = work.classifier.module, 0
    start = weights = state_of(module)
    for number in range(work.settings.rounds + 1):
        found = kept.read(number, module)
        if found is None:
            found = work.round(number, start, progress)
            kept.write(number, module, found)
        candidates += found
        best = choose_round(candidates, work.settings.cost)
        if best >= len(candidates) - len(found):
            chosen, weights = best, between(start, state_of(module), candidates[best]["way"])
    return candidates, chosen, weights


def between(start: State, end: State, way: float) -> State:
    """Weights so far of the way from `start` to `end`; whole numbers are those of the end."""
    if way == 1:
        return end
    return {
        key: torch.lerp(start[key], value, way) if value.is_floating_point() else value for key, value in end.items()
    }


def choose_round(candidates: list[dict[str, Any]], cost: float) -> int:
    """The place of the greatest ρ̂ among those that cost no more clean accuracy than allowed; the first of equals."""
    least = candidates[0]["accuracy_clean"] - cost - 1e-9
    allowed = [place for place, row in enumerate(candidates) if row["accuracy_clean"] >= least]
    return max(allowed, key=lambda place: candidates[place]["rho"])


def checked(options: dict[str, Any]) -> Hardening:
    """The settings from options as a caller spells them."""
    known = {field.name for field in options_of(Hardening).values()}
    for key in options:
        if key not in known:
            raise BrittleError(f"harden has no option {key!r}", did_you_mean(key, known))
    try:
        return TypeAdapter(Hardening).validate_python(options)
    except ValidationError as error:
        first = error.errors()[0]
        raise BrittleError(f"harden, option {first['loc'][0]!r}: {first['msg']}", "Mend that value.") from error


def hardenable(what: Any, device: str) -> TorchClassifier:
    """The classifier, refused where it has no weights that could be trained."""
    found = open_classifier(what, device=device)
    named = what if isinstance(what, str) else getattr(found, "name", type(what).__name__)
    if not isinstance(found, TorchClassifier):
        raise BrittleError(
            f"{named} can't be hardened, since it is no torch module",
            "Give the network itself: torch:package.module:factory,weights=…, or an nn.Module from Python.",
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
    known = before.module.state_dict()
    if any(not torch.equal(value, known[key].cpu()) for key, value in again.state_dict().items()):
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
            f"Give more images, or a greater held-out share: {FEWEST} are needed for each.",
        )
    unlabelled = (source.labels < 0).nonzero()
    if len(unlabelled):
        raise BrittleError(f"{source.names[int(unlabelled[0])]} of {source.name!r} has no label", "Label it.")
    rest = of_one_shape(images) if test is not None else images.take(order[2 * part :])
    return Split(rest, source.take(order[:part]), source.take(order[part : 2 * part]))
