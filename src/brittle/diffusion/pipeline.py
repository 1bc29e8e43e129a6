"""A text-to-image pipeline of diffusers, loaded by name or from a folder, and the few things that are asked of it.

Whatever has a tokenizer, a text encoder, a denoising U-Net, a decoder and a scheduler will do: Stable Diffusion 1 and
2, and the small pipeline that is trained here. Code that a repository brings along is never run, and weights are read
from safetensors alone.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from brittle.errors import BrittleError
from brittle.files import read_whole, real_path
from brittle.libraries import first_line, imported, library
from brittle.network_access import hugging_face_hub, reachable

EXTRA = "generate"
INDEX = "model_index.json"
PARTS = ("unet", "text_encoder", "tokenizer", "scheduler", "vae")
OURS = ("diffusers", "transformers")  # libraries whose classes a folder may name
LONGEST_LIST = 12  # words that a message lists


@dataclass(frozen=True, eq=False)
class TextToImage:
    """A pipeline on a device. Latents (B, C, h, w) are what it denoises, images (B, C, H, W) what comes of them."""

    name: str  # what it was loaded by
    parts: Any  # the pipeline of diffusers

    @property
    def unet(self) -> nn.Module:
        found: nn.Module = self.parts.unet
        return found

    @property
    def device(self) -> torch.device:
        return next(self.unet.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        return next(self.unet.parameters()).dtype

    @property
    def latent_shape(self) -> tuple[int, int, int]:
        size = self.parts.unet.config.sample_size
        height, width = (size, size) if isinstance(size, int) else size
        return int(self.parts.unet.config.in_channels), int(height), int(width)

    @property
    def time_steps(self) -> int:
        """Of training: time runs from 0, no noise, to one less than this."""
        return int(self.parts.scheduler.config.num_train_timesteps)

    def embedded(self, prompts: Sequence[str]) -> Tensor:
        """What the text encoder makes of prompts: (n, L, width)."""
        check_words(self.parts.tokenizer, prompts)
        with torch.no_grad():
            found: Tensor = self.parts.encode_prompt(list(prompts), self.device, 1, False)[0]
        return found

    def with_words_of_its_own(self) -> TextToImage:
        """The same pipeline with a tokenizer and a text encoder that may be changed."""
        parts = copy.copy(self.parts)
        parts.tokenizer, parts.text_encoder = copy.deepcopy((parts.tokenizer, parts.text_encoder))
        return TextToImage(self.name, parts)

    def start_noise(self, seeds: Sequence[int]) -> Tensor:
        """Latents (n, C, h, w) of pure noise: those that diffusers draws from a generator on the CPU with that seed."""
        drawn = [
            torch.randn((1, *self.latent_shape), generator=torch.Generator().manual_seed(seed), dtype=self.dtype)
            for seed in seeds
        ]
        return torch.cat(drawn).to(self.device)

    def predicted(self, latents: Tensor, time: Tensor | int, words: Tensor) -> Tensor:
        """What the U-Net says of noisy latents (B, C, h, w) at a time (B,) or for all, given words (B, L, width)."""
        found: Tensor = self.parts.unet(latents, time, encoder_hidden_states=words, return_dict=False)[0]
        return found

    @torch.no_grad()
    def decoded(self, latents: Tensor) -> Tensor:
        """Latents → images (B, C, H, W) in [0, 1]."""
        vae = self.parts.vae
        shift = getattr(vae.config, "shift_factor", None) or 0.0
        images: Tensor = vae.decode(latents / vae.config.scaling_factor + shift, return_dict=False)[0]
        return (images.float() / 2 + 0.5).clamp(0, 1)

    @torch.no_grad()
    def encoded(self, images: Tensor) -> Tensor:
        """Images (B, C, H, W) in [0, 1] → latents, without the noise that some encoders add."""
        vae = self.parts.vae
        found = vae.encode((2 * images - 1).to(self.device, self.dtype))
        latents = found.latent_dist.mode() if hasattr(found, "latent_dist") else found.latents
        scaled: Tensor = (latents - (getattr(vae.config, "shift_factor", None) or 0.0)) * vae.config.scaling_factor
        return scaled

    def noise_schedule(self) -> Tensor:
        """ᾱ_t (T,) of training: latents at time t are √ᾱ_t · x + √(1 − ᾱ_t) · ε."""
        found: Tensor = self.parts.scheduler.alphas_cumprod
        return found.to(self.device)


def load_pipeline(
    where: str, *, device: torch.device | str = "cpu", dtype: torch.dtype | None = None, revision: str | None = None
) -> TextToImage:
    """The pipeline in a folder that `save_pretrained` wrote, or of that name in Hugging Face's hub or its cache."""
    who = f"the pipeline {where}"
    for package in ("diffusers", "transformers"):
        library(package, EXTRA, who)
    folder = Path(real_path(where))
    if folder.is_dir():
        _check_folder(folder, who)
    elif where.startswith((".", "/", "~")) or where.count("/") > 1:
        raise BrittleError(f"there is no folder {where}", "Name a folder that save_pretrained wrote, or a model.")
    with imported("diffusers", EXTRA, who), quiet():
        parts = _made(str(folder) if folder.is_dir() else where, folder.is_dir(), revision, dtype, who)
    return TextToImage(where, _usable(parts.to(device), who))


def _made(where: str, is_folder: bool, revision: str | None, dtype: torch.dtype | None, who: str) -> Any:
    pipelines = library("diffusers", EXTRA, who).DiffusionPipeline
    options: dict[str, Any] = {
        "use_safetensors": True,
        "trust_remote_code": False,
        "dtype": dtype or torch.float32,
    }
    if revision and not is_folder:
        options["revision"] = revision
    said = f"{who} can't be loaded"
    remedy = "Name a text-to-image pipeline of diffusers, or a folder that save_pretrained wrote."
    try:
        return pipelines.from_pretrained(where, local_files_only=True, **options)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError) as error:
        if is_folder or not isinstance(error, OSError):
            raise BrittleError(f"{said}: {first_line(error)}", remedy) from error
        if not reachable(hugging_face_hub()):
            raise BrittleError(
                f"the weights of {who} are not on this machine and can't be fetched from {hugging_face_hub()}",
                "Connect, or name a folder that save_pretrained wrote.",
            ) from error
    try:
        return pipelines.from_pretrained(where, **options)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError) as error:
        raise BrittleError(f"{said}: {first_line(error)}", remedy) from error


def _check_folder(folder: Path, who: str) -> None:
    """Refuses, before anything is loaded, what is no pipeline, names code of its own, or lacks weights."""
    try:
        index = json.loads(read_whole(folder / INDEX))
        named = {name: tuple(what) for name, what in index.items() if isinstance(what, list)}
    except FileNotFoundError:
        raise BrittleError(f"{who} has no {INDEX}", "Name a folder that save_pretrained of diffusers wrote.") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BrittleError(f"{folder / INDEX} is damaged", "Save the pipeline again.") from error
    for name, (origin, kind) in ((name, (*what, None, None)[:2]) for name, what in named.items()):
        if origin is not None and origin not in OURS:
            raise BrittleError(
                f"{who} brings code of its own for {name}: {origin}.{kind}", "Only classes of diffusers are loaded."
            )
    for name in ("unet", "text_encoder", "vae"):
        if named.get(name, (None,))[0] is not None and not list((folder / name).glob("*.safetensors")):
            raise BrittleError(
                f"{who} has no weights in {name}/*.safetensors", "Save it again: save_pretrained(FOLDER)."
            )


def _usable(parts: Any, who: str) -> Any:
    """The pipeline, where it is of the sort that is understood, ready to be asked."""
    lacking = [name for name in PARTS if getattr(parts, name, None) is None]
    if lacking or not hasattr(parts, "encode_prompt"):
        raise BrittleError(
            f"{who} ({type(parts).__name__}) has no {' and no '.join(lacking) or 'encode_prompt'}",
            "Use a pipeline with a U-Net and one text encoder, such as Stable Diffusion 1 or 2.",
        )
    config = parts.unet.config
    if getattr(config, "addition_embed_type", None) or getattr(config, "class_embed_type", None):
        raise BrittleError(
            f"{who} ({type(parts).__name__}) wants more than words and time",
            "Use a pipeline with one text encoder, such as Stable Diffusion 1 or 2.",
        )
    for part in (parts.unet, parts.text_encoder, parts.vae):
        part.eval().requires_grad_(False)
    parts.set_progress_bar_config(disable=True)
    return parts


def check_words(tokenizer: Any, prompts: Sequence[str], who: str = "the pipeline") -> None:
    """Refuses words that the tokenizer knows nothing of, and prompts that it would cut off."""
    unknown, longest = tokenizer.unk_token_id, tokenizer.model_max_length
    for prompt in prompts:
        ids = tokenizer(prompt).input_ids
        if len(ids) > longest:
            raise BrittleError(f"the prompt {prompt!r} is longer than {longest} tokens", "Use fewer words.")
        if unknown is None or tokenizer.unk_token in (tokenizer.eos_token, tokenizer.pad_token) or unknown not in ids:
            continue
        words = [word for word in prompt.split() if unknown in tokenizer(word).input_ids]
        special = set(tokenizer.all_special_tokens)
        known = sorted(word for word in tokenizer.get_vocab() if word not in special)
        more = ", …" if len(known) > LONGEST_LIST else ""
        raise BrittleError(
            f"{who} knows no word {words[0] if words else prompt!r}, of the prompt {prompt!r}",
            f"It knows: {', '.join(known[:LONGEST_LIST])}{more}.",
        )


class quiet:
    """Without the bars and the remarks that the libraries print while they load."""

    def __enter__(self) -> None:
        self._loggers = [library(name, EXTRA, name).utils.logging for name in ("diffusers", "transformers")]
        self._levels = [each.get_verbosity() for each in self._loggers]
        for each in self._loggers:
            each.set_verbosity_error()
            each.disable_progress_bar()

    def __exit__(self, *_: object) -> None:
        for each, level in zip(self._loggers, self._levels, strict=True):
            each.set_verbosity(level)
            each.enable_progress_bar()
