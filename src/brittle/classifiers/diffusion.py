"""A diffusion model as a classifier (Li et al. 2023): the class whose words denoise an image best.

    c* = argmin_c  mean_j ‖ε_j − ε_θ(√ᾱ_{t_j} x + √(1 − ᾱ_{t_j}) ε_j, t_j, c)‖

with the L1 norm by default, which CNS-Bench uses. The times t_j are spread evenly over the noise levels, and the noises
ε_j follow from the seed and j alone: every image and class meets the same, so that answers depend neither on the batch
nor on the machine, and differences between classes are not blurred by different noise. What it costs is one pass of the
denoiser per image, class and noise level.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from brittle.classifiers import register
from brittle.classifiers.base import AdaptedClassifier, AdapterOptions
from brittle.errors import BrittleError
from brittle.memory import slices
from brittle.random import fold, normal_field, stream_root
from brittle.registry import option

if TYPE_CHECKING:
    from brittle.diffusion.denoisers import Denoiser

STREAM = "diffusion-classifier"
AT_ONCE = 64  # images × classes in one pass of the denoiser


class DiffusionClassifier(AdaptedClassifier):
    """Log-probabilities are a softmax of the negative errors, summed over an image's numbers and divided by the
    temperature. Their order says which class is the answer; how far they lie apart follows from the temperature, so
    confidences mean little."""

    def __init__(self, denoiser: Denoiser, how: DiffusionLoader, **settings: Any) -> None:
        super().__init__(**settings)
        self.denoiser, self.how = denoiser, how

    @cached_property
    def times(self) -> Tensor:
        """(S,): the middles of as many equal parts of the noise levels."""
        count = self.how.samples
        return ((torch.arange(count, dtype=torch.float64) + 0.5) * self.denoiser.time_steps / count).long()

    @cached_property
    def noise(self) -> Tensor:
        """(S, C, h, w), the same for all images and classes."""
        shape = self.denoiser.latent_shape
        keys = fold(stream_root(self.how.seed, STREAM), torch.arange(self.how.samples))
        return normal_field(keys, shape[0] * shape[1] * shape[2]).view(-1, *shape).to(self.device)

    @torch.no_grad()
    def scores(self, prepared: Tensor) -> Tensor:
        latents = self.denoiser.latents(fitted(prepared, self.denoiser.image_size, self.how.fit))
        size = max(1, AT_ONCE // self.denoiser.classes)
        return torch.cat([self._errors(latents[part]) for part in slices(len(latents), size)]).neg()

    def _errors(self, latents: Tensor) -> Tensor:
        """Latents (B, C, h, w) → errors (B, K), over the temperature."""
        count, classes = len(latents), self.denoiser.classes
        place = torch.arange(classes, device=latents.device).repeat(count)  # of an image's class, image by image
        repeated, total = latents.repeat_interleave(classes, 0), latents.new_zeros(count * classes, dtype=torch.float64)
        schedule = self.denoiser.schedule
        for time, noise in zip(self.times.tolist(), self.noise, strict=True):
            kept, added = schedule[time].sqrt(), (1 - schedule[time]).sqrt()
            noisy = kept * repeated + added * noise
            parts = slices(len(noisy), AT_ONCE)
            found = torch.cat([self.denoiser.noise_of(noisy[part], time, place[part]) for part in parts])
            apart = (found - noise).double()
            total += (apart.abs() if self.how.norm == "l1" else apart.square()).flatten(1).sum(1)
        return (total / (self.how.samples * self.how.temperature)).view(count, classes)


def fitted(images: Tensor, size: tuple[int, int], how: str) -> Tensor:
    """Images (B, C, H, W) in the size that a model takes: resized, or in the middle of a black one."""
    height, width = images.shape[-2:]
    if (height, width) == size:
        return images
    if how == "pad" and height <= size[0] and width <= size[1]:
        top, left = (size[0] - height) // 2, (size[1] - width) // 2
        return functional.pad(images, (left, size[1] - width - left, top, size[0] - height - top))
    return functional.interpolate(images, size, mode="bilinear", antialias=True, align_corners=False)


@register("diffusion")
@dataclasses.dataclass(frozen=True, kw_only=True)
class DiffusionLoader(AdapterOptions):
    """A diffusion model of diffusers as a classifier: the class whose words, or whose number, denoise an image best. Of
    a text-to-image pipeline the classes are given as labels; of a class-conditional one (DiT) it knows them."""

    pipeline: str = option(
        dataclasses.MISSING, "its name on the hub, or a folder that save_pretrained wrote", positional=True
    )
    prompt: str = option("a picture of a {class}", "the words that a class's name is put into")
    samples: int = option(20, "noise levels per image and class, each with a noise of its own", least=1)
    norm: Literal["l1", "l2"] = option("l1", "how errors are summed up: l1 or l2")
    fit: Literal["resize", "pad"] = option("resize", "how images come to the model's size: resize, or pad with black")
    temperature: float = option(1.0, "what errors are divided by before the softmax; changes no answer", above=0)
    seed: int = option(0, "the seed of the noise")

    def load(self, device: str = "cpu") -> DiffusionClassifier:
        from brittle.diffusion.denoisers import denoiser_of  # diffusers, where one is wanted

        settings = self.settings()
        if settings["labels"] is not None and len(settings["labels"]) < 2:
            raise BrittleError(f"diffusion:{self.pipeline} has one class", "Name two or more: labels=a/b.")
        denoiser = denoiser_of(self.pipeline, settings["labels"], self.prompt, device)
        if settings["preprocess"].channels is None:
            channels: Literal["grey", "rgb"] = "grey" if denoiser.channels == 1 else "rgb"
            settings["preprocess"] = dataclasses.replace(settings["preprocess"], channels=channels)
        settings |= {"labels": denoiser.names, "output": "logits"}
        return DiffusionClassifier(denoiser, self, name=f"diffusion:{self.pipeline}", device=device, **settings)
