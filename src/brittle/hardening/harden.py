"""Hardening: re-training a classifier on its weak points (Fawzi & Frossard 2016, section 4).

A round draws weak points of some of the training images from the classifier as it stands, and fine-tunes it on batches
that hold a share of them beside clean images. Before and after are measured on the same test images and the same θ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from brittle.classifiers.restore import restored_afterwards
from brittle.classifiers.torch_module import TorchClassifier
from brittle.device import pick_device
from brittle.engine.assemble import with_image_sets
from brittle.engine.check.before_work import check_nuisance
from brittle.engine.check.nuisance_trial import try_nuisance
from brittle.engine.run import FinishedRun
from brittle.engine.store.run_folder import RunFolder, folder_path
from brittle.errors import BrittleError
from brittle.files import write_durably
from brittle.hardening.before_after import AFTER, BEFORE, BeforeAfterRun, PairedRun, in_memory
from brittle.hardening.options import HardeningOptions
from brittle.hardening.prepare import Split, check_sampler, hardenable, prepared, split_images, with_weights
from brittle.hardening.rounds import HardeningWork, run_rounds
from brittle.hardening.rounds_folder import FILES, WEIGHTS, PhasedProgress, RoundsFolder
from brittle.images import image_set
from brittle.images.base import ImageSet
from brittle.images.fingerprint import fingerprint as images_fingerprint
from brittle.nuisances import nuisance as open_nuisance
from brittle.nuisances import nuisances
from brittle.progress import Progress
from brittle.registry import checked
from brittle.training.weights import State, fingerprint, save_weights, state_of
from brittle.types import Nuisance

KEPT = ("rounds", *FILES)  # what a hardening's folder holds beside a run


@dataclass(frozen=True)
class HardenedClassifier:
    """What `brittle.harden` gives back."""

    classifier: TorchClassifier  # the hardened one
    before: dict[str, Any]  # on the test images: what `brittle measure --json` prints
    after: dict[str, Any]
    difference: dict[str, Any]  # after − before, paired: rho, accuracy_nuisance, accuracy_clean, and by class
    rounds: list[dict[str, Any]]  # candidates on the held-out images; the first is round 0, the untouched classifier
    chosen: int  # which of them it is
    summary: dict[str, Any]  # what `brittle harden --json` prints
    found: dict[str, Any]  # what `brittle run` would give for the two classifiers on the test images
    run: FinishedRun  # that run


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
) -> HardenedClassifier:
    """See `brittle.harden`."""
    with restored_afterwards([classifier]):
        settings = HardeningOptions(**checked(HardeningOptions, options, "harden"))
        asked = HardeningRequest(classifier, images, nuisance, test, seed, device, settings)
        return OpenedHardening.of(asked, out).run(PhasedProgress(progress or Progress()))


@dataclass(frozen=True)
class HardeningRequest:
    """What is to be hardened on what, as it was given."""

    classifier: Any
    images: Any
    nuisance: Any
    test: Any
    seed: int
    device: str | None
    settings: HardeningOptions

    @property
    def warnings(self) -> list[str]:
        images, test = self.images, self.test
        if test is None or (images is not test and not (isinstance(images, str) and images == test)):
            return []
        return ["the test images are the training images: before and after flatter both"]


@dataclass(frozen=True)
class OpenedHardening:
    """The same with everything opened and checked."""

    asked: HardeningRequest
    before: TorchClassifier
    space: Nuisance
    split: Split
    measured_on: ImageSet  # of which the test images are a part
    work: HardeningWork
    place: torch.device
    folder: Path | None
    weights_file: Path | None
    after_spec: str | None  # of what becomes of the classifier, where it will have a spec

    @classmethod
    def of(cls, asked: HardeningRequest, out: str | Path | None) -> OpenedHardening:
        settings, place = asked.settings, pick_device(asked.device)
        check_sampler(settings.sampler)
        before = hardenable(asked.classifier, str(place))
        space = with_image_sets(open_nuisance(asked.nuisance))
        whole, tests = image_set(asked.images), None if asked.test is None else image_set(asked.test)
        split = split_images(whole, tests, settings.held_out, asked.seed)
        _check_nuisance(_name(asked.nuisance, space), space, split)
        work = prepared(before, split, space, settings, asked.seed, place)
        folder = None if out is None else folder_path(out).local
        weights_file = None if folder is None else folder / WEIGHTS
        after_spec = None
        if weights_file is not None and isinstance(asked.classifier, str):
            after_spec = with_weights(asked.classifier, before, weights_file)
        measured_on = whole if tests is None else tests
        return cls(asked, before, space, split, measured_on, work, place, folder, weights_file, after_spec)

    @property
    def name(self) -> str:
        """Of the nuisance."""
        return _name(self.asked.nuisance, self.space)

    @property
    def named(self) -> str:
        """What the classifier is called."""
        return self.asked.classifier if isinstance(self.asked.classifier, str) else self.before.name

    @cached_property
    def about(self) -> dict[str, Any]:
        """Plain values that tell this hardening from others."""
        parts = {"training": self.work.data.fingerprint()}
        parts |= {key: images_fingerprint(getattr(self.split, key)) for key in ("held_out", "test")}
        weights = fingerprint(state_of(self.before.module))
        about = {"classifier": self.named, "weights": weights, "nuisance": self.name, "images": parts}
        return about | {"seed": self.asked.seed} | asdict(self.asked.settings)

    def run(self, phases: PhasedProgress) -> HardenedClassifier:
        kept = RoundsFolder(self.folder, self.about)
        tested = self._begun(kept, phases)
        rounds, chosen, weights = self._trained(kept, phases)
        self.work.classifier.module.load_state_dict(weights)
        measured = self._measured(tested, phases)
        said = self._summary(rounds, chosen, measured)
        if self.folder is not None:
            _write(self.folder, said)
        return HardenedClassifier(
            self.work.classifier,
            said[BEFORE],
            said[AFTER],
            measured.difference,
            rounds,
            chosen,
            said,
            measured.found,
            measured.run,
        )

    def _begun(self, kept: RoundsFolder, phases: PhasedProgress) -> PairedRun | None:
        """The run folder, in which the classifier as it was has been measured."""
        if self.folder is None:
            return None
        asked = self.asked
        source = asked.images if asked.test is None else asked.test
        tested = PairedRun(
            self.folder,
            f"{self.named}, hardened against {self.name}",
            asked.classifier if isinstance(asked.classifier, str) else self.before,
            source if isinstance(source, str) else self.measured_on,
            self.measured_on,
            tuple(self.split.test.ids.tolist()),
            asked.nuisance,
            asked.settings.samples,
            asked.seed,
            asked.device,
        )
        kept.refuse_changes()
        phases.phase("before")
        tested.begin(phases)
        return tested

    def _trained(self, kept: RoundsFolder, phases: PhasedProgress) -> tuple[list[dict[str, Any]], int, State]:
        """All candidates, which was chosen, and its weights."""
        with nullcontext() if self.folder is None else RunFolder(self.folder).locked(also=KEPT):
            kept.remove_half_written(self.asked.settings.rounds)
            rounds, chosen, weights = run_rounds(self.work, kept, phases)
            if self.weights_file is not None:
                save_weights(self.weights_file, weights, "hardening", {"about": self.about, "round": chosen})
        return rounds, chosen, weights

    def _measured(self, tested: PairedRun | None, phases: PhasedProgress) -> BeforeAfterRun:
        phases.phase("before and after" if tested is None else "after")
        after = self.work.classifier
        if tested is not None:
            return tested.end(self.after_spec or after, phases)
        samples, seed = self.asked.settings.samples, self.asked.seed
        return in_memory(self.before, after, self.split.test, self.space, samples, seed, str(self.place), phases)

    def _summary(self, rounds: list[dict[str, Any]], chosen: int, measured: BeforeAfterRun) -> dict[str, Any]:
        return {
            "about": self.about,
            "criterion": self.asked.settings.criterion,
            "parts": {key: len(part) for key, part in self.split._asdict().items()},
            "rounds": rounds,
            "chosen": chosen,
            **{row["classifier"]: row for row in measured.results},  # before and after
            "difference": measured.difference,
            "calls": {key: sum(row.get(f"calls_{key}", 0) for row in rounds) for key in ("sampling", "training")},
            "weights": None if self.weights_file is None else str(self.weights_file),
            "classifier": self.after_spec,
            "warnings": [*self.asked.warnings, *measured.found["warnings"]],
            "device": str(self.place),
            "seconds": round(sum(row.get("seconds", 0.0) for row in rounds), 3),
        }


def _name(given: Any, space: Nuisance) -> str:
    return given if isinstance(given, str) else nuisances.spec_of(space)


def _check_nuisance(name: str, space: Nuisance, split: Split) -> None:
    check_nuisance(name, space, split.training.shape)
    if space.needs:
        raise BrittleError(
            f"the nuisance {name!r} needs {', '.join(sorted(space.needs))} of the classifier, which changes while it "
            "is trained",
            "Harden on another nuisance.",
        )
    try_nuisance(space, split.training.shape)


def _write(folder: Path, said: Mapping[str, Any]) -> None:
    with RunFolder(folder).locked(also=KEPT):
        text = json.dumps(said, indent=1)
        write_durably(folder / "harden.json", lambda to: to.write_text(text, encoding="utf-8"))
