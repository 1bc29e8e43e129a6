"""What a diffusion model says the noise of an image is, if the image is of a class: by the class's words, or by its
number where the model was trained on classes (DiT)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from brittle.diffusion.pipeline import EXTRA, INDEX, TextToImage, load_pipeline, quiet
from brittle.diffusion.prompts import check_template, prompt, word_of
from brittle.errors import BrittleError
from brittle.files import real_path
from brittle.libraries import first_line, library

CLASS_CONDITIONAL = "DiTPipeline"


class Denoiser(Protocol):
    """A model with K classes. Latents (B, C, h, w) are what it denoises."""

    names: tuple[str, ...]

    @property
    def classes(self) -> int: ...

    @property
    def channels(self) -> int:
        """Of the images that latents are made from."""
        ...

    @property
    def image_size(self) -> tuple[int, int]: ...

    @property
    def latent_shape(self) -> tuple[int, int, int]: ...

    @property
    def time_steps(self) -> int: ...

    @property
    def schedule(self) -> Tensor:
        """ᾱ_t (T,)."""
        ...

    def latents(self, images: Tensor) -> Tensor:
        """Images (B, C, H, W) in [0, 1] → latents."""
        ...

    def noise_of(self, noisy: Tensor, time: int, place: Tensor) -> Tensor:
        """ε_θ (B, C, h, w) of latents at one time, each if it is of the class at its place (B,)."""
        ...


class WordDenoiser:
    """A text-to-image pipeline, asked with a prompt per class."""

    def __init__(self, pipeline: TextToImage, names: Sequence[str], template: str) -> None:
        check_template(template, shift=False)
        self.pipeline, self.names = pipeline, tuple(names)
        self.words = pipeline.embedded([prompt(template, word_of(name, {})) for name in names])
        self.schedule = pipeline.noise_schedule()
        self.time_steps, self.latent_shape = pipeline.time_steps, pipeline.latent_shape
        self.classes = len(self.names)

    @cached_property
    def channels(self) -> int:
        return int(self.pipeline.parts.vae.config.in_channels)

    @cached_property
    def image_size(self) -> tuple[int, int]:
        factor, (_, height, width) = int(self.pipeline.parts.vae_scale_factor), self.latent_shape
        return factor * height, factor * width

    def latents(self, images: Tensor) -> Tensor:
        return self.pipeline.encoded(images)

    def noise_of(self, noisy: Tensor, time: int, place: Tensor) -> Tensor:
        found = self.pipeline.predicted(noisy.to(self.pipeline.dtype), time, self.words[place])
        kind = self.pipeline.parts.scheduler.config.prediction_type
        return as_noise(found.float(), noisy.float(), self.schedule[time], kind)


class ClassDenoiser:
    """A transformer that was trained on numbered classes."""

    def __init__(self, parts: Any, names: Sequence[str]) -> None:
        self.parts, self.names = parts, tuple(names)
        config = parts.transformer.config
        self.classes, self.time_steps = len(self.names), int(parts.scheduler.config.num_train_timesteps)
        self.latent_shape = (int(config.in_channels), int(config.sample_size), int(config.sample_size))
        factor = 2 ** (len(parts.vae.config.block_out_channels) - 1)
        self.image_size = (factor * self.latent_shape[1], factor * self.latent_shape[2])
        self.channels = int(parts.vae.config.in_channels)
        self.schedule: Tensor = parts.scheduler.alphas_cumprod.to(parts.device)

    @torch.no_grad()
    def latents(self, images: Tensor) -> Tensor:
        vae = self.parts.vae
        found: Tensor = vae.encode((2 * images - 1).to(vae.dtype)).latent_dist.mode() * vae.config.scaling_factor
        return found

    def noise_of(self, noisy: Tensor, time: int, place: Tensor) -> Tensor:
        transformer = self.parts.transformer
        times = torch.full((len(noisy),), time, device=noisy.device)
        found = transformer(noisy.to(transformer.dtype), timestep=times, class_labels=place).sample
        kept = found[:, : self.latent_shape[0]].float()  # what may follow is its idea of the variance
        return as_noise(kept, noisy.float(), self.schedule[time], self.parts.scheduler.config.prediction_type)


def as_noise(predicted: Tensor, noisy: Tensor, kept: Tensor, kind: str) -> Tensor:
    """ε from what a model predicts of √ᾱ x + √(1 − ᾱ) ε, where `kept` is ᾱ: ε itself, v = √ᾱ ε − √(1 − ᾱ) x, or x."""
    if kind == "epsilon":
        return predicted
    if kind == "v_prediction":
        return kept.sqrt() * predicted + (1 - kept).sqrt() * noisy
    if kind == "sample":
        return (noisy - kept.sqrt() * predicted) / (1 - kept).sqrt()
    raise BrittleError(f"the model predicts {kind!r}", "Use one that predicts epsilon, v_prediction or sample.")


def denoiser_of(where: str, names: Sequence[str] | None, template: str, device: str) -> Denoiser:
    """The model of a name or folder; class-conditional ones are told by their index."""
    index = Path(real_path(where)) / INDEX
    try:
        kind = json.loads(index.read_text(encoding="utf-8")).get("_class_name") if index.is_file() else None
    except (OSError, ValueError, AttributeError):
        kind = None  # load_pipeline says what is wrong with it
    if kind == CLASS_CONDITIONAL or Path(where).name.startswith("DiT-"):
        return _class_conditional(where, names, device)
    if names is None:
        raise BrittleError(
            f"diffusion:{where} needs the names of its classes", "Give them: labels=goldfish/hammerhead, or a file."
        )
    return WordDenoiser(load_pipeline(where, device=device), names, template)


def _class_conditional(where: str, names: Sequence[str] | None, device: str) -> ClassDenoiser:
    diffusers = library("diffusers", EXTRA, f"the classifier diffusion:{where}")
    try:
        with quiet():
            parts = diffusers.DiTPipeline.from_pretrained(where, use_safetensors=True)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
        raise BrittleError(
            f"the pipeline {where} can't be loaded: {first_line(error)}",
            "Name a DiT pipeline of diffusers, or a folder that save_pretrained wrote.",
        ) from error
    parts.to(device).set_progress_bar_config(disable=True)
    for part in (parts.transformer, parts.vae):
        part.eval().requires_grad_(False)
    count = int(parts.transformer.config.num_embeds_ada_norm)
    known: dict[int, str] = {}
    for name, place in (getattr(parts, "labels", None) or {}).items():  # several names of a class, its first one first
        known.setdefault(place, name)
    named = tuple(names) if names is not None else tuple(known.get(place, str(place)) for place in range(count))
    if len(named) > count:
        raise BrittleError(f"diffusion:{where} has {count} classes and {len(named)} labels", "Name its own classes.")
    return ClassDenoiser(parts, named)
