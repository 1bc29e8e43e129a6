"""The ways of making a shift, side by side (A.8, section 3.2): sliders in the last 75 % of the noise steps, sliders
throughout, two prompts, and a difference of text embeddings. In what share of steps does alignment with the shift rise,
and how much of the picture stays?
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import torch
from benchmark import aligned, made, save_picture
from torch import Tensor
from torch.nn.functional import normalize
from train import generator, loaded
from work import CLASSES, SCALES, Work, spread

from brittle.diffusion.pipeline import TextToImage
from brittle.diffusion.prompts import CLASS_PROMPT, SHIFT_PROMPT, prompt
from brittle.diffusion.sampling import SamplingOptions, Wanted, sampled
from brittle.diffusion.train_tokens import token_of
from brittle.generation.alignment import rising_steps
from brittle.generation.shares import mean_of_images, share_of_images
from brittle.generation.text_ways import TEXT_WAYS, TextWay, words_at
from classifiers import opened, predicted

SLIDER_WAYS = {"slider": 0.75, "slider throughout": 1.0}
SHOWN = ((9, 1), (8, 2), (0, 1))  # class and seed


def ways(work: Work) -> None:
    """The same classes, seeds and scales of each way."""
    seeds = range(1, min(10, work.sizes.seeds) + 1)
    pipeline = loaded(work, with_tokens=True)
    clip, views, model = work.encoder("clip"), work.encoder("views"), opened(work, "resnet")
    rows, curves, lines = [], [], []
    for shift in work.sizes.shifts:
        for way in (*SLIDER_WAYS, *TEXT_WAYS):
            images = (
                _by_slider(work, shift, SLIDER_WAYS[way], seeds)
                if way in SLIDER_WAYS
                else _by_words(work, pipeline, way, shift, seeds)  # type: ignore[arg-type]
            )
            paths, labels = len(images) // len(SCALES), np.repeat(np.arange(len(CLASSES)), len(seeds))
            every = np.repeat(labels, len(SCALES))
            text = aligned(clip, images, every, shift).reshape(paths, -1)
            against = text - aligned(clip, images, every).reshape(paths, -1)
            features = views.images(images.float() / 255).view(paths, len(SCALES), -1)
            structure = _structure(images.view(paths, len(SCALES), -1))
            right = (predicted(model, images).numpy() == every).reshape(paths, -1)
            group = np.arange(paths)
            for what, values in (("shift words", text), ("shift against class words", against)):
                for first in (0, 1):
                    found = rising_steps(values[:, first:], SCALES[first:], group)
                    about = {"shift": shift, "way": way, "alignment": what, "from_scale": SCALES[first]}
                    about |= {"steps": found.steps, "gained": found.gained, "always": found.always}
                    rows.append(about | spread("share", found.share))
            alike = (features * features[:, :1]).sum(-1).double().numpy()
            for place, scale in enumerate(SCALES):
                curves.append(
                    {"shift": shift, "way": way, "scale": scale, "alignment": float(text[:, place].mean())}
                    | spread("structure", mean_of_images(structure[:, place]))
                    | spread("similarity", mean_of_images(alike[:, place]))
                    | spread("accuracy", share_of_images(right[:, place]))
                )
            shown = images.view(len(CLASSES), len(seeds), len(SCALES), 1, 32, 32)
            lines.append(torch.cat([shown[label, seed - 1] for label, seed in SHOWN]))
    work.write("ways-steps", rows)
    work.write("ways-curves", curves)
    save_picture(work.picture("ways"), lines)


def _by_slider(work: Work, shift: str, active: float, seeds: Sequence[int]) -> Tensor:
    every = itertools.product(range(len(CLASSES)), seeds, SCALES)
    wanted = [made(label, seed, {shift: scale}) for label, seed, scale in every]
    return generator(work, active=active).images(wanted)


def _by_words(work: Work, pipeline: TextToImage, way: TextWay, shift: str, seeds: Sequence[int]) -> Tensor:
    words = []
    for name in CLASSES:
        token = token_of(name)
        plain, shifted = (
            pipeline.embedded([each]) for each in (prompt(CLASS_PROMPT, token), prompt(SHIFT_PROMPT, token, shift))
        )
        words.append(words_at(way, plain, shifted, SCALES))
    wanted = [
        Wanted(label * len(SCALES) + place, seed, ())
        for label, seed, place in itertools.product(range(len(CLASSES)), seeds, range(len(SCALES)))
    ]
    options = SamplingOptions(steps=work.sizes.steps, guidance=work.sizes.guidance, images_at_once=work.sizes.at_once)
    return sampled(pipeline, torch.cat(words), wanted, None, options).mul(255).round().to(torch.uint8)


def _structure(images: Tensor) -> np.ndarray:
    """Correlation of pixels (paths, scales, n) with those at scale 0: what contrast and brightness leave alone."""
    centred = images.double() - images.double().mean(-1, keepdim=True)
    unit = normalize(centred, dim=-1)
    found: np.ndarray = (unit * unit[:, :1]).sum(-1).clamp(-1, 1).numpy()
    return found
