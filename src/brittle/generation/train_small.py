"""The small pipeline is trained: FashionMNIST and MNIST, with captions in the paper's templates.

Half of the images are put through corruptions of ours, and their captions say so: "a picture of a coat in fog". A tenth
of the captions are dropped, so that guidance is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from brittle.diffusion.noising import Schedule, noised
from brittle.diffusion.pipeline import TextToImage
from brittle.diffusion.prompts import CLASS_PROMPT, SHIFT_PROMPT, prompt
from brittle.generation.small import SIDE
from brittle.memory import slices
from brittle.nuisances import nuisance
from brittle.random import draw_keys
from brittle.registry import option
from brittle.types import Batch, Nuisance

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
# What the shifts of captions are: corruptions of ours.
SHIFTS: Mapping[str, str] = {
    "fog": "fog:level=3",
    "noise": "noise:level=3",
    "blur": "gaussian-blur:level=1.5,scaled=no",
    "contrast": "contrast:level=3",
    "snow": "snow:level=3",
}
CHUNK = 4096


@dataclass(frozen=True, kw_only=True)
class SmallTraining:
    """How the small pipeline is trained."""

    training_steps: int = option(4000, "steps", least=1)
    batch: int = option(512, "images per step", least=1)
    rate: float = option(6e-4, "peak learning rate of AdamW", above=0)
    shifted: float = option(0.5, "share of the images that are shifted", least=0, most=1)
    dropped: float = option(0.1, "share of the captions that are dropped", least=0, below=1)
    average: float = option(0.999, "decay of the average of weights that is kept", least=0, below=1)
    seed: int = option(0, "the seed of order, noise and times")
    compile: bool = option(False, "compile the U-Net (torch.compile)")
    bf16: bool = option(False, "compute in bfloat16")


class CaptionedImages(NamedTuple):
    """Images with captions, on the device."""

    pixels: Tensor  # (1 + shifts, n, H, W) uint8, first without a shift
    labels: Tensor  # (n,) places among the words
    words: tuple[str, ...]  # a word per class
    shifts: tuple[str, ...]


def shifted_pictures(
    images: Tensor, labels: Tensor, words: Sequence[str], shifts: Mapping[str, str], device: torch.device
) -> CaptionedImages:
    """Images (n, h, w) uint8, brought to 32×32 by black borders, and each shift of them."""
    border = (SIDE - images.shape[-1]) // 2
    padded = torch.nn.functional.pad(images.to(device), (border,) * 4)
    found = [padded]
    for shift, spec in shifts.items():
        space = nuisance(spec)
        made = torch.empty_like(padded)
        for part in slices(len(padded), CHUNK):
            made[part] = _changed(space, padded[part], part.start, shift)
        found.append(made)
    return CaptionedImages(torch.stack(found), labels.to(device), tuple(words), tuple(shifts))


def _changed(space: Nuisance, images: Tensor, first: int, shift: str) -> Tensor:
    """Images (B, H, W) uint8 with θ drawn from the nuisance's prior, each its own."""
    ids = torch.arange(first, first + len(images), device=images.device)
    batch = Batch(images[:, None].float() / 255, torch.full_like(ids, -1), ids)
    theta = space.sample(batch, draw_keys(0, f"pictures/{shift}", ids, ids.new_zeros(1)))[:, 0]
    return space.apply(batch, theta)[:, 0].clamp(0, 1).mul(255).round().to(torch.uint8)


def captions(words: Sequence[str], shifts: Sequence[str]) -> list[str]:
    """Every caption: for each class without a shift, then with each of them; last, none."""
    plain = [prompt(CLASS_PROMPT, word) for word in words]
    return plain + [prompt(SHIFT_PROMPT, word, shift) for shift in shifts for word in words] + [""]


def train_small(
    pipeline: TextToImage,
    pictures: CaptionedImages,
    options: SmallTraining,
    *,
    limit: float | None = None,
    said: Callable[[int, Tensor], None] = lambda _step, _loss: None,
) -> int:
    """Trains the U-Net and the text encoder; returns how many steps it took. The averages of weights are kept."""
    device = pipeline.device
    networks: list[Any] = [pipeline.parts.unet, pipeline.parts.text_encoder]
    for each in networks:
        each.train().requires_grad_(True)
    weights = [value for each in networks for value in each.parameters()]
    averages = [value.detach().clone() for value in weights]
    optimiser = torch.optim.AdamW(weights, lr=options.rate, weight_decay=0.01, fused=device.type == "cuda")
    rate = Schedule(options.rate, options.training_steps, limit)
    prompts = captions(pictures.words, pictures.shifts)
    tokens = pipeline.parts.tokenizer(
        prompts, padding="max_length", max_length=pipeline.parts.tokenizer.model_max_length, return_tensors="pt"
    ).input_ids.to(device)
    unet = torch.compile(pipeline.parts.unet) if options.compile else pipeline.parts.unet
    generator = torch.Generator(device).manual_seed(options.seed)
    schedule = pipeline.noise_schedule()
    while rate.done < 1:
        images, which = _drawn(pictures, options, generator)
        given = noised(images, schedule, generator)
        with torch.autocast(device.type, torch.bfloat16, enabled=options.bf16):
            words = pipeline.parts.text_encoder(tokens)[0][which]
            found = unet(given.latents, given.times, encoder_hidden_states=words, return_dict=False)[0]
        loss = (found.float() - given.noise).square().mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        rate.set_rate(optimiser)
        optimiser.step()
        rate.step += 1
        decay = min(options.average, rate.step / (rate.step + 10))
        torch._foreach_lerp_(averages, [value.detach() for value in weights], 1 - decay)
        said(rate.step, loss.detach())
    with torch.no_grad():
        for own, average in zip(weights, averages, strict=True):
            own.copy_(average)
    for each in networks:
        each.eval().requires_grad_(False)
    return rate.step


def _drawn(pictures: CaptionedImages, options: SmallTraining, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Latents (B, 1, 32, 32), and which of the captions each has."""
    device, count, classes = pictures.pixels.device, len(pictures.labels), len(pictures.words)

    def uniform() -> Tensor:
        return torch.rand(options.batch, generator=generator, device=device)

    rows = torch.randint(count, (options.batch,), generator=generator, device=device)
    shift = (uniform() * len(pictures.shifts)).long() + 1
    shift = torch.where(uniform() < options.shifted, shift, 0)
    images = pictures.pixels[shift, rows].float()[:, None] / 127.5 - 1
    which = shift * classes + pictures.labels[rows]
    nothing = classes * (len(pictures.shifts) + 1)
    return images, torch.where(uniform() < options.dropped, nothing, which)
