"""The small encoders are trained, on captioned images and on pairs of views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from brittle.diffusion.noising import Schedule
from brittle.generation.small_encoders import MEAN, STD
from brittle.generation.train_small import CaptionedImages, captions
from brittle.registry import option

Said = Callable[[int, Tensor], None]


@dataclass(frozen=True, kw_only=True)
class EncoderTraining:
    """How an encoder is trained."""

    training_steps: int = option(3000, "steps", least=1)
    batch: int = option(512, "images per step", least=2)
    rate: float = option(1e-3, "peak learning rate of AdamW", above=0)
    temperature: float = option(0.1, "of the softmax over pairs", above=0)
    seed: int = option(0, "the seed of order and views")
    bf16: bool = option(False, "compute in bfloat16")


def contrast(first: Tensor, second: Tensor, same: Tensor, temperature: float | Tensor) -> Tensor:
    """Symmetric cross-entropy between unit vectors first (B, D) and second (B, D), where `same` (B, B) says which pairs
    belong together: all of these share the target, so that equal captions are no rivals (Yang et al. 2022, UniCL)."""
    logits = first @ second.T / temperature
    targets = same / same.sum(1, keepdim=True)
    return (functional.cross_entropy(logits, targets) + functional.cross_entropy(logits.T, targets.T)) / 2


def two_views(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """NT-Xent (Chen et al. 2020, equation 1) of unit vectors of two views (B, D) each: the other view against all other
    2B − 2 images."""
    both = torch.cat([first, second])
    count = len(first)
    logits = (both @ both.T / temperature).fill_diagonal_(-torch.inf)
    partner = torch.arange(2 * count, device=both.device).roll(count)
    return functional.cross_entropy(logits, partner)


def views(images: Tensor, generator: torch.Generator) -> Tensor:
    """Images (B, 1, H, W) in [0, 1], each turned, scaled, moved, mirrored and made lighter or darker by chance."""
    count, device = len(images), images.device

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(count, generator=generator, device=device)

    angle, scale = uniform(-0.26, 0.26), uniform(0.8, 1.2)
    mirror = uniform(-1, 1).sign()
    theta = torch.zeros(count, 2, 3, device=device)
    theta[:, 0, 0], theta[:, 0, 1] = mirror * scale * angle.cos(), -scale * angle.sin()
    theta[:, 1, 0], theta[:, 1, 1] = mirror * scale * angle.sin(), scale * angle.cos()
    theta[:, 0, 2], theta[:, 1, 2] = uniform(-0.2, 0.2), uniform(-0.2, 0.2)
    grid = functional.affine_grid(theta, list(images.shape), align_corners=False)
    moved = functional.grid_sample(images, grid, align_corners=False)
    gain, offset = uniform(0.6, 1.4).view(-1, 1, 1, 1), uniform(-0.1, 0.1).view(-1, 1, 1, 1)
    return (moved * gain + offset).clamp(0, 1)


def train_on_captions(
    model: Any, tokenizer: Any, images: CaptionedImages, options: EncoderTraining, limit: float | None, said: Said
) -> int:
    """Trains a CLIPModel on images, half of them shifted, and their captions; returns how many steps it took."""
    device = images.pixels.device
    model.to(device).train()
    texts = captions(images.words, images.shifts)[:-1]
    tokens = tokenizer(texts, padding=True, return_tensors="pt").to(device)
    generator = torch.Generator(device).manual_seed(options.seed)

    def loss() -> Tensor:
        pixels, caption = _captioned(images, options.batch, generator)
        found = _vectors(model.get_image_features(pixel_values=_normal(views(pixels, generator))))
        words = _vectors(
            model.get_text_features(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"])
        )
        same = (caption[:, None] == caption).float()
        return contrast(found, words[caption], same, options.temperature)

    return _descended(model.parameters(), loss, options, limit, said, device)


def train_on_views(
    model: Any, images: CaptionedImages, options: EncoderTraining, limit: float | None, said: Said
) -> int:
    """Trains a Dinov2Model so that two views of an image, each under a shift or none, have like features. No caption
    and no label is used."""
    device = images.pixels.device
    model.to(device).train()
    width = model.config.hidden_size
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width // 2)).to(device)
    generator = torch.Generator(device).manual_seed(options.seed)

    def loss() -> Tensor:
        rows = torch.randint(len(images.labels), (options.batch,), generator=generator, device=device)
        pair = []
        for _ in range(2):
            shift = torch.randint(len(images.pixels), (options.batch,), generator=generator, device=device)
            pixels = views(images.pixels[shift, rows].float()[:, None] / 255, generator)
            found = model(pixel_values=_normal(pixels)).pooler_output
            pair.append(functional.normalize(head(found).float(), dim=1))
        return two_views(pair[0], pair[1], options.temperature)

    return _descended([*model.parameters(), *head.parameters()], loss, options, limit, said, device)


def _captioned(images: CaptionedImages, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Images (B, 1, H, W) in [0, 1], half of them shifted, and the place of each one's caption."""
    device = images.pixels.device
    rows = torch.randint(len(images.labels), (count,), generator=generator, device=device)
    shift = torch.randint(1, len(images.pixels), (count,), generator=generator, device=device)
    shift = torch.where(torch.rand(count, generator=generator, device=device) < 0.5, shift, 0)
    return images.pixels[shift, rows].float()[:, None] / 255, shift * len(images.words) + images.labels[rows]


def _normal(images: Tensor) -> Tensor:
    return (images - MEAN) / STD


def _vectors(found: Any) -> Tensor:
    vectors = found if isinstance(found, Tensor) else found.pooler_output
    return functional.normalize(vectors.float(), dim=1)


def _descended(
    parameters: Any,
    loss: Callable[[], Tensor],
    options: EncoderTraining,
    limit: float | None,
    said: Said,
    device: torch.device,
) -> int:
    weights = list(parameters)
    optimiser = torch.optim.AdamW(weights, lr=options.rate, weight_decay=0.05, fused=device.type == "cuda")
    rate = Schedule(options.rate, options.training_steps, limit)
    while rate.done < 1:
        with torch.autocast(device.type, torch.bfloat16, enabled=options.bf16):
            value = loss()
        optimiser.zero_grad(set_to_none=True)
        value.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        rate.set_rate(optimiser)
        optimiser.step()
        rate.step += 1
        said(rate.step, value.detach())
    return rate.step
