"""Encoders of images and texts, by name or folder: any model of transformers that gives features.

CLIP and its like (`get_image_features`, `get_text_features`) encode both. Of other models of images the features are
the pooled output, or for want of one the first token, which in DINOv2 is the class token after its last norm. A folder
is one that `save_pretrained` wrote, with the processor beside it; code that a repository brings along is never run.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from brittle.classifiers.configured import missing_weights
from brittle.classifiers.preprocess import Preprocess
from brittle.classifiers.transformers_model import image_processor, processor_steps, quiet
from brittle.diffusion.pipeline import EXTRA, check_words
from brittle.errors import BrittleError
from brittle.files import printable, real_path
from brittle.libraries import first_line, imported, library
from brittle.network_access import hugging_face_hub, reachable

AT_ONCE = 64  # images or texts encoded at once


class Encoder:
    """images (B, C, H, W) in [0, 1], or texts, → features (B, D) of length 1, float32 on the CPU."""

    def __init__(self, name: str, module: nn.Module, preprocess: Preprocess, tokenizer: Any, device: str) -> None:
        self.name, self.preprocess, self.tokenizer = name, preprocess, tokenizer
        self.device = torch.device(device)
        self.module = module.eval().to(self.device)

    @property
    def reads_text(self) -> bool:
        return hasattr(self.module, "get_text_features") and self.tokenizer is not None

    def images(self, images: Tensor) -> Tensor:
        return _unit(self.features(images))

    @torch.no_grad()
    def features(self, images: Tensor) -> Tensor:
        """The features themselves, float32 on the CPU."""
        parts = [self._features(images[start : start + AT_ONCE]) for start in range(0, len(images), AT_ONCE)]
        return torch.cat(parts)

    def _features(self, images: Tensor) -> Tensor:
        prepared = self.preprocess(images.to(self.device))
        if hasattr(self.module, "get_image_features"):
            return _vectors(self.module.get_image_features(pixel_values=prepared))  # type: ignore[operator]
        return _vectors(self.module(pixel_values=prepared))

    @torch.no_grad()
    def texts(self, texts: Sequence[str]) -> Tensor:
        if not self.reads_text:
            raise BrittleError(f"the encoder {self.name} reads no text", "Name a model such as CLIP as --text.")
        parts = [self._texts(texts[start : start + AT_ONCE]) for start in range(0, len(texts), AT_ONCE)]
        return _unit(torch.cat(parts))

    def _texts(self, texts: Sequence[str]) -> Tensor:
        check_words(self.tokenizer, texts, f"the encoder {self.name}")
        tokens = self.tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")
        known = {key: tokens[key].to(self.device) for key in ("input_ids", "attention_mask")}
        return _vectors(self.module.get_text_features(**known))  # type: ignore[operator]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of its weights and preprocessing."""
        digest = hashlib.blake2b(repr(self.preprocess).encode(), digest_size=16)
        for name, values in sorted(self.module.state_dict().items()):
            digest.update(name.encode())
            digest.update(values.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()


def encoder(what: str, device: str = "cpu") -> Encoder:
    """An encoder from its name on the hub or its folder."""
    who = f"the encoder {what}"
    library("transformers", EXTRA, who)
    folder = Path(real_path(what))
    where = str(folder) if folder.is_dir() else what
    with imported("transformers", EXTRA, who), quiet(), located_at(what):
        module, local = _loaded(where, folder.is_dir(), what)
        processor = image_processor(where, local_files_only=local)
        tokenizer = _tokenizer(where, local) if hasattr(module, "get_text_features") else None
    return Encoder(printable(what), module, _steps(module, processor, what), tokenizer, device)


def _loaded(where: str, is_folder: bool, what: str) -> tuple[nn.Module, bool]:
    """The model, and whether it was found on this machine."""
    models: Any = importlib.import_module("transformers").AutoModel
    try:
        return models.from_pretrained(where, local_files_only=True, trust_remote_code=False), True
    except OSError:
        if is_folder:
            raise
        if not reachable(hugging_face_hub()):
            remedy = "Connect, or name a folder that save_pretrained wrote."
            raise missing_weights(f"the encoder {what}", hugging_face_hub(), remedy) from None
    return models.from_pretrained(where, trust_remote_code=False), False


@contextmanager
def located_at(what: str) -> Iterator[None]:
    """transformers' own errors as one line."""
    try:
        yield
    except BrittleError:
        raise
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise BrittleError(
            f"the encoder {what} can't be loaded: {first_line(error)}",
            "Name a model such as openai/clip-vit-base-patch16, or a folder that save_pretrained wrote.",
        ) from error


def _tokenizer(where: str, local: bool) -> Any:
    tokenizers: Any = importlib.import_module("transformers").AutoTokenizer
    return tokenizers.from_pretrained(where, local_files_only=local, trust_remote_code=False)


def _steps(module: Any, processor: Any, what: str) -> Preprocess:
    """The processor's steps; grey images are given to a model of one channel as they are."""
    vision = getattr(module.config, "vision_config", module.config)
    steps = Preprocess() if processor is None else processor_steps(processor.to_dict(), what)
    values = {field: getattr(steps, field) for field in ("size", "crop", "interpolation", "range", "mean", "std")}
    return Preprocess(**values, channels="grey" if getattr(vision, "num_channels", 3) == 1 else "rgb")


def _vectors(found: Any) -> Tensor:
    """Features (B, D) from what a model of transformers returns."""
    if not isinstance(found, Tensor):
        pooled = getattr(found, "pooler_output", None)
        found = pooled if pooled is not None else found.last_hidden_state[:, 0]
    vectors: Tensor = found.flatten(1).float().cpu()
    return vectors


def _unit(vectors: Tensor) -> Tensor:
    return functional.normalize(vectors, dim=1)


def cosine(first: Tensor, second: Tensor) -> Tensor:
    """cos (B,) of unit vectors (B, D), row by row."""
    return (first * second).sum(1)


def words(name: str) -> str:
    """A folder's name as words of a prompt: heavy_snow → heavy snow."""
    return " ".join(name.replace("_", " ").split())
