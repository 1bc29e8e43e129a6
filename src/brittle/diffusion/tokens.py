"""Learned words (IN*, Dünkel et al. 2025, section 3.1): one token per class, in files that plain diffusers loads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.diffusion.pipeline import EXTRA, TextToImage
from brittle.errors import BrittleError
from brittle.files import read_whole, real_path, write_durably
from brittle.libraries import first_line, library, quietly

CLASS = "class"  # key of a file's metadata


def write_token(path: Path, token: str, vector: Tensor, about: Mapping[str, str]) -> None:
    """A token as `load_textual_inversion` of diffusers loads it."""
    content = token_bytes(token, vector, about)
    write_durably(path, lambda file: file.write_bytes(content))


def token_bytes(token: str, vector: Tensor, about: Mapping[str, str]) -> bytes:
    """What such a file holds."""
    import safetensors.torch

    return bytes(safetensors.torch.save({token: vector.detach().cpu().float().contiguous()}, dict(about)))


class TokenFile(NamedTuple):
    """A file that holds a learned word."""

    file: Path
    token: str


def tokens_in(folder: Path | str) -> dict[str, TokenFile]:
    """Class in lower case → the file of its word."""
    import safetensors

    place = Path(real_path(str(folder)))
    files = sorted(place.glob("*.safetensors"))
    if not files:
        raise BrittleError(f"{folder} holds no tokens", "Name a folder with .safetensors files of learned words.")
    found = {}
    for file in files:
        try:
            with safetensors.safe_open(file, "pt") as opened:
                about, keys = opened.metadata() or {}, list(opened.keys())
        except (safetensors.SafetensorError, OSError) as error:
            raise BrittleError(f"{file} is not a learned word: {first_line(error)}", "Learn it again.") from error
        if len(keys) != 1:
            raise BrittleError(f"{file} is not a learned word: it holds {len(keys)} tensors", "Learn it again.")
        found[about.get(CLASS, file.stem).lower()] = TokenFile(file, keys[0])
    return found


def load_tokens(pipeline: TextToImage, folder: Path | str) -> dict[str, str]:
    """Puts the tokens of a folder into a pipeline; returns the word that stands for each class, by its name
    in lower case."""
    import safetensors

    found = tokens_in(folder)
    for file, token in found.values():
        try:
            if token not in pipeline.parts.tokenizer.get_vocab():
                with quietly():  # transformers says how it would fill in what is given here
                    pipeline.parts.load_textual_inversion(safetensors_of(file))
        except (safetensors.SafetensorError, ValueError, OSError) as error:
            raise BrittleError(f"{file} is not a learned word: {first_line(error)}", "Learn it again.") from error
    return {name: each.token for name, each in found.items()}


def safetensors_of(file: Path) -> dict[str, Tensor]:
    import safetensors.torch

    return safetensors.torch.load(read_whole(file))


def add_tokens(pipeline: TextToImage, tokens: Mapping[str, str]) -> list[int]:
    """Puts new tokens in, each with the mean of the vectors of the words that it begins as; returns their numbers."""
    library("transformers", EXTRA, "a learned word")
    tokenizer, text = pipeline.parts.tokenizer, pipeline.parts.text_encoder
    first = {}
    for token, words in tokens.items():
        if token in tokenizer.get_vocab():
            raise BrittleError(f"the pipeline has a word {token!r} already", "Choose another token.")
        ids = tokenizer(words, add_special_tokens=False).input_ids
        first[token] = text.get_input_embeddings().weight[torch.tensor(ids, device=pipeline.device)].mean(0)
    tokenizer.add_tokens(list(tokens))
    text.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    numbers = [int(tokenizer.convert_tokens_to_ids(token)) for token in tokens]
    with torch.no_grad():
        for number, vector in zip(numbers, first.values(), strict=True):
            text.get_input_embeddings().weight[number] = vector
    text.requires_grad_(False)
    return numbers
