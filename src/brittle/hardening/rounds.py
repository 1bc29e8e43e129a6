"""The rounds of a hardening: sample, train, measure the candidates on the held-out images, and choose one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from brittle.classifiers.torch_module import TorchClassifier
from brittle.hardening.before_after import held_out_result
from brittle.hardening.fine_tune import fine_tune
from brittle.hardening.options import HardeningOptions
from brittle.hardening.pools import FilledPool, prior_pool, weak_pool
from brittle.hardening.rounds_folder import PhasedProgress, RoundsFolder
from brittle.images.base import ImageSet
from brittle.samplers import sampler as open_sampler
from brittle.samplers.importance import Importance
from brittle.samplers.rejection import Rejection
from brittle.training.data import TrainingImages
from brittle.training.weights import State, state_of
from brittle.types import Nuisance

DRAWS_TO_CHOOSE = 10  # of θ, an image
PRIOR = 0.5  # share of plain draws among weak points whose loss is corrected
FEWEST_CALLS = 200  # per image, of a sampler that learns as it draws
CALLS_OF_A_STEP = 3  # an image's forward and backward pass cost as much as so many classifier calls


@dataclass(frozen=True)
class HardeningWork:
    """A hardening, its things loaded and checked."""

    classifier: TorchClassifier  # a copy, trained in place
    data: TrainingImages
    answers: Tensor  # (n, K) of the untouched classifier
    held_out: ImageSet
    nuisance: Nuisance
    stream: str  # names the nuisance's random numbers
    settings: HardeningOptions
    seed: int

    def round(self, number: int, start: State, progress: PhasedProgress) -> list[dict[str, Any]]:
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

    def _measured(self, number: int, progress: PhasedProgress) -> dict[str, Any]:
        progress.phase(f"round {number}: held-out images")
        told = held_out_result(
            self.classifier,
            self.held_out,
            self.nuisance,
            DRAWS_TO_CHOOSE,
            self.seed,
            str(self.data.device),
            progress,
        )
        return {key: told[key] for key in ("rho", "interval", "accuracy_nuisance", "accuracy_clean")}

    def _trained(self, number: int, progress: PhasedProgress) -> dict[str, Any]:
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

    def _drawn(self, count: int, stream: str, progress: PhasedProgress) -> FilledPool:
        settings = self.settings
        if settings.on == "prior":
            return prior_pool(self.nuisance, self.data, count, self.seed, stream)
        images = min(settings.sampled, max(1, settings.calls // fewest_calls(settings.sampler)), len(self.data))
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


def run_rounds(
    work: HardeningWork, kept: RoundsFolder, progress: PhasedProgress
) -> tuple[list[dict[str, Any]], int, State]:
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


def fewest_calls(spec: str) -> int:
    """Classifier calls per image that a sampler can do something with."""
    return 1 if isinstance(open_sampler(spec), (Importance, Rejection)) else FEWEST_CALLS


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
