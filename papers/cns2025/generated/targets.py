"""What a slider is trained to say (equation 2): the default, the printed formula, concept sliders' own, and η = 4."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from benchmark import aligned
from train import loaded, task, trained_sliders
from work import CLASSES, SCALES, Work, spread

from brittle.diffusion.options import SliderOptions
from brittle.diffusion.prompts import CLASS_PROMPT, prompt
from brittle.diffusion.sampling import SamplingOptions, Wanted, sampled
from brittle.diffusion.train_tokens import token_of
from brittle.generation.shares import share_of_images
from classifiers import opened, predicted

TARGETS: dict[str, dict[str, Any]] = {
    "direction": {"target": "direction"},
    "printed": {"target": "printed"},
    "unconditional": {"target": "unconditional"},
    "direction, η = 4": {"target": "direction", "eta": 4.0},
}
SHIFT, SECONDS = "fog", 15.0


def targets(work: Work) -> None:
    """One shift, all classes."""
    made, seeds = loaded(work, with_tokens=True), range(1, min(10, work.sizes.seeds) + 1)
    words = made.embedded([prompt(CLASS_PROMPT, token_of(name)) for name in CLASSES])
    clip, model, rows = work.encoder("clip"), opened(work, "resnet"), []
    every = list(itertools.product(SCALES, range(len(CLASSES)), seeds))
    labels = np.array([label for _, label, _ in every])
    options = SamplingOptions(steps=work.sizes.steps, images_at_once=work.sizes.at_once)
    for name, given in TARGETS.items():
        sizes: dict[str, int] = {"batch": 2, "training_steps": 2, "pool": 2} if work.tiny else {"training_steps": 150}
        lesson = SliderOptions(**given, **sizes)
        losses: list[float] = []
        tasks = [task(each, SHIFT) for each in CLASSES]
        said = lambda _, found, kept=losses: kept.append(float(found.mean()))  # noqa: E731
        sliders = trained_sliders(work, made, tasks, lesson, SECONDS, None, said)
        wanted = [
            Wanted(label, seed, tuple(scale if one == label else 0.0 for one in range(len(CLASSES))))
            for scale, label, seed in every
        ]
        images = sampled(made, words, wanted, sliders, options).mul(255).round().byte()
        right = predicted(model, images).numpy() == labels
        text = aligned(clip, images, labels, SHIFT) - aligned(clip, images, labels)
        count = len(CLASSES) * len(seeds)
        for place, scale in enumerate(SCALES):
            here = slice(place * count, (place + 1) * count)
            row = {"target": name, "scale": scale, "alignment": float(text[here].mean()), "first_loss": losses[0]}
            rows.append(row | {"last_loss": losses[-1]} | spread("accuracy", share_of_images(right[here])))
    work.write("targets", rows)
