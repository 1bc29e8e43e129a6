"""Two small encoders for the small pipeline's images, in transformers' own format: 32×32 grey pictures.

One is a CLIPModel, trained on images and their captions; one is a Dinov2Model, trained on pairs of views of an image
without any word (SimCLR, Chen et al. 2020). Both are loaded like CLIP and DINOv2 themselves. What they can't be is what
those are: strangers to the classes. Captions name the classes, so the first encoder has seen labels, if as words; the
second has seen none, but only images of these classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from brittle.diffusion.pipeline import EXTRA
from brittle.generation.small import LONGEST, SIDE, word_tokenizer
from brittle.libraries import library
from brittle.registry import option

MEAN, STD = 0.5, 0.5


@dataclass(frozen=True, kw_only=True)
class EncoderShape:
    """How large the encoders are."""

    width: int = option(128, "numbers per token", least=8)
    layers: int = option(4, "layers", least=1)
    heads: int = option(4, "attention heads", least=1)
    patch: int = option(4, "pixels of a patch's side", least=1)
    features: int = option(64, "numbers that texts and images have in common", least=2)


def small_clip(words: Sequence[str], shape: EncoderShape, seed: int = 0) -> tuple[Any, Any]:
    """An untrained CLIPModel, and its tokenizer, which knows the words of the templates and these."""
    transformers = library("transformers", EXTRA, "an encoder")
    tokenizer = word_tokenizer(words, transformers)
    common = {"hidden_size": shape.width, "intermediate_size": 2 * shape.width, "num_attention_heads": shape.heads}
    text = common | {
        "vocab_size": len(tokenizer),
        "num_hidden_layers": 2,
        "max_position_embeddings": LONGEST,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    vision = common | {
        "num_hidden_layers": shape.layers,
        "image_size": SIDE,
        "patch_size": shape.patch,
        "num_channels": 1,
    }
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=shape.features)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return transformers.CLIPModel(config), tokenizer


def small_dino(shape: EncoderShape, seed: int = 0) -> Any:
    """An untrained Dinov2Model."""
    transformers = library("transformers", EXTRA, "an encoder")
    config = transformers.Dinov2Config(
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        mlp_ratio=2,
        image_size=SIDE,
        patch_size=shape.patch,
        num_channels=1,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return transformers.Dinov2Model(config)


def save_encoder(folder: Path, model: Any, tokenizer: Any = None) -> None:
    """Model, processor and tokenizer, as `encoder` reads them."""
    transformers = library("transformers", EXTRA, "an encoder")
    model.save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    size = {"height": SIDE, "width": SIDE}
    transformers.ViTImageProcessor(size=size, image_mean=[MEAN], image_std=[STD]).save_pretrained(folder)
