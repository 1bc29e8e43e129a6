"""The four scores of every image (CNS-Bench, equations 4 and 5), kept by shift so that a killed scoring is resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import torch
from torch import Tensor

from brittle.diffusion.prompts import check_template, prompt
from brittle.errors import BrittleError
from brittle.files import write_durably
from brittle.generation.encoders import Encoder, cosine, words
from brittle.generation.filter.rule import SCORES, Array
from brittle.generation.stored import StoredImages
from brittle.images.scales.cns import CnsFile
from brittle.progress import Progress

BATCH = 256  # images read and encoded at once
WHAT = b"brittle"  # key of the metadata that says what scores were made with


@dataclass(frozen=True)
class Scorer:
    """What images are scored with."""

    text: Encoder  # reads text and images
    first: Encoder
    second: Encoder
    prompt: str  # with {class}
    prompt_in_shift: str  # with {class} and {shift}

    def __post_init__(self) -> None:
        check_template(self.prompt, shift=False)
        check_template(self.prompt_in_shift, shift=True)

    def score(self, images: StoredImages, files: Sequence[CnsFile], origins: dict[str, tuple[Tensor, Tensor]]) -> Array:
        """files (B,) → scores (B, 4); `origins` are the features of images at scale 0 by (class, seed)."""
        pixels = images.pixels(files)
        in_text = self.text.images(pixels)
        first = in_text if self.first is self.text else self.first.images(pixels)
        second = self.second.images(pixels)
        prompts = [prompt(self.prompt, words(each.name)) for each in files]
        shifted = [prompt(self.prompt_in_shift, words(each.name), words(each.shift)) for each in files]
        return np.stack(
            [
                cosine(in_text, self._texts(prompts)).double().numpy(),
                cosine(in_text, self._texts(shifted)).double().numpy(),
                cosine(first, torch.stack([origins[each.key][0] for each in files])).double().numpy(),
                cosine(second, torch.stack([origins[each.key][1] for each in files])).double().numpy(),
            ],
            1,
        )

    def _texts(self, prompts: Sequence[str]) -> Tensor:
        each = list(dict.fromkeys(prompts))
        vectors = dict(zip(each, self.text.texts(each), strict=True))
        return torch.stack([vectors[prompt] for prompt in prompts])

    def origins(self, images: StoredImages, files: Sequence[CnsFile]) -> dict[str, tuple[Tensor, Tensor]]:
        """The features of the images at scale 0 that these belong to."""
        keys = list(dict.fromkeys(each.key for each in files))
        missing = next((key for key in keys if key not in images.origins), None)
        if missing is not None:
            raise BrittleError(
                f"{images.root} has no image of {missing} at scale 0",
                "Generate scale 0, which others are compared with.",
            )
        pixels = images.pixels([images.origins[key] for key in keys])
        pairs = zip(self.first.images(pixels), self.second.images(pixels), strict=True)
        return dict(zip(keys, pairs, strict=True))

    def signature(self, files: Sequence[CnsFile]) -> bytes:
        """What scores of these files depend on."""
        names = hashlib.blake2b("\n".join(each.file for each in files).encode(), digest_size=16).hexdigest()
        models = [each.fingerprint for each in (self.text, self.first, self.second)]
        return json.dumps([models, self.prompt, self.prompt_in_shift, names]).encode()


def all_scores(scorer: Scorer, images: StoredImages, folder: Path, progress: Progress) -> Array:
    """Scores (n, 4) of all images, in their order; each shift's are kept in the folder once they are complete."""
    found = np.empty((len(images), len(SCORES)))
    places: dict[str, list[int]] = {}
    for place, each in enumerate(images.files):
        places.setdefault(each.shift, []).append(place)
    progress.start(len(images))
    for shift, where in places.items():
        progress.at(f"scores of {shift}")
        found[where] = _of_shift(scorer, images, [images.files[place] for place in where], folder, shift, progress)
    return found


def _of_shift(
    scorer: Scorer, images: StoredImages, files: list[CnsFile], folder: Path, shift: str, progress: Progress
) -> Array:
    path, signature = folder / f"{shift}.parquet", scorer.signature(files)
    if path.is_file():
        table = pyarrow.parquet.read_table(path)
        if (table.schema.metadata or {}).get(WHAT) == signature:
            progress.advance(len(files))
            return np.stack([table[name].to_numpy() for name in SCORES], 1)
    files_by_key = sorted(range(len(files)), key=lambda place: files[place].key)
    found = np.empty((len(files), len(SCORES)))
    for start in range(0, len(files), BATCH):
        where = files_by_key[start : start + BATCH]
        batch = [files[place] for place in where]
        found[where] = scorer.score(images, batch, scorer.origins(images, batch))
        progress.advance(len(batch))
    write_durably(path, lambda to: pyarrow.parquet.write_table(_table(files, found, signature), to))
    return found


def _table(files: Sequence[CnsFile], scores: Array, signature: bytes) -> pa.Table:
    columns = {
        "image": [each.file for each in files],
        "class": [each.label for each in files],
        "seed": [each.seed for each in files],
        "shift": [each.shift for each in files],
        "scale": [each.scale for each in files],
        **dict(zip(SCORES, scores.T, strict=True)),
    }
    return pa.table(columns).replace_schema_metadata({WHAT: signature})
