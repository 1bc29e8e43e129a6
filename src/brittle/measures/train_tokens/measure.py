"""Words are learned (IN*, Dünkel et al. 2025, section 3.1), as a measure over an image set alone: a unit is all images
of a class, and its row is the file of its word.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.nn import functional

from brittle.diffusion.collection import plain_name
from brittle.diffusion.options import TokenOptions
from brittle.diffusion.pipeline import EXTRA, TextToImage, load_pipeline
from brittle.diffusion.prompts import check_template
from brittle.diffusion.tokens import CLASS, token_bytes
from brittle.diffusion.train_tokens import token_of, train_tokens
from brittle.diffusion.weights import weights_hash
from brittle.errors import BrittleError
from brittle.files import make_complete, real_path
from brittle.libraries import library
from brittle.measures import register
from brittle.measures.base import IMAGES, ROWS, About, Measure, MeasureInputs, Pending, RunView, Tables, Task, together
from brittle.measures.plan import Unit, UnitList
from brittle.measures.train_tokens.options import TrainTokensOptions
from brittle.measures.training_losses import LOSSES, ends_of, loss_curves, losses_table
from brittle.memory import slices

FILES = "files"


@register("train-tokens")
@dataclass(frozen=True, kw_only=True)
class TrainTokens(TrainTokensOptions, Measure):
    """A word for every class of an image set."""

    over: ClassVar = frozenset({IMAGES})

    def __post_init__(self) -> None:
        if self.pipeline is not None and not self.weights:
            object.__setattr__(self, "weights", weights_hash(self.pipeline))

    def check(self, about: About, asked: MeasureInputs) -> None:
        for package in ("diffusers", "transformers"):
            library(package, EXTRA, "the measure 'train-tokens'")
        if self.pipeline is None:
            raise BrittleError("no pipeline is named", "Name a folder that save_pretrained wrote.")
        check_template(self.template, shift=False)
        about.refuse_unlabelled("a word is learned from the images of its class")
        if self.weights != weights_hash(self.pipeline):
            raise BrittleError(
                f"the weights of {self.pipeline} are not those that this was begun with",
                "Restore them, or use another folder.",
            )

    def plan(self, about: About) -> UnitList:
        """Class by class."""
        labels = about.subject.labels
        chosen = [np.flatnonzero(labels == label)[: self.most].tolist() for label in np.unique(labels)]
        return UnitList([Unit(tuple(places), range(1)) for places in chosen])

    def calls(self, unit: Unit) -> int:
        """Images that the U-Net sees."""
        return self.training_steps * self.batch

    @torch.inference_mode(False)
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        pipeline = _loaded(str(self.pipeline), str(task.device))
        plan, subject = self.plan(task.about), task.about.subject
        images: dict[str, Tensor] = {}
        units: dict[str, int] = {}
        for piece in task.pieces:
            label = int(subject.labels[plan[piece.unit].images[0]])
            name = subject.class_name(label)
            if len(piece.rows) != len(plan[piece.unit].images):
                raise BrittleError(
                    f"images of the class {name} differ in size", "Give them one: size=512,crop=512 of the image set."
                )
            units[name], images[name] = piece.unit, self._fitted(pipeline, task.take(piece.rows).images)
        names, parts = sorted(images, key=lambda name: units[name]), list[Tables]()
        for part in slices(len(names), self.together):
            parts.append(self._learned(pipeline, {name: images[name] for name in names[part]}, units, task))
        return {"": lambda: {name: together([each[name] for each in parts]) for name in parts[0]}}

    def _learned(
        self, pipeline: TextToImage, images: Mapping[str, Tensor], units: Mapping[str, int], task: Task
    ) -> Tables:
        options = TokenOptions(**{each.name: getattr(self, each.name) for each in dataclasses.fields(TokenOptions)})
        losses: list[Tensor] = []

        def said(_step: int, now: Tensor) -> None:
            losses.append(now)
            task.tick(self.batch * len(images))

        own = pipeline.with_words_of_its_own()  # or the same words could not be learned again
        vectors = train_tokens(own, images, options, template=self.template, said=said)
        about = {"template": self.template, "steps": str(self.training_steps)}
        contents = [token_bytes(token_of(name), vectors[token_of(name)], {CLASS: name, **about}) for name in images]
        return _tables({name: units[name] for name in images}, contents, losses)

    def _fitted(self, pipeline: TextToImage, images: Tensor) -> Tensor:
        """Images (n, C, H, W) in the size, and with the channels, that the pipeline makes."""
        vae, (_, height, width) = pipeline.parts.vae, pipeline.latent_shape
        factor, channels = int(pipeline.parts.vae_scale_factor), int(vae.config.in_channels)
        size = (factor * height, factor * width)
        if images.shape[1] != channels:
            images = images.expand(-1, 3, -1, -1) if channels == 3 else images.mean(1, keepdim=True)
        spare = (size[0] - images.shape[-2], size[1] - images.shape[-1])
        if self.fit == "pad" and min(spare) >= 0:
            top, left = spare[0] // 2, spare[1] // 2
            return functional.pad(images, (left, spare[1] - left, top, spare[0] - top))
        if spare == (0, 0):
            return images
        return functional.interpolate(images, size, mode="bilinear", antialias=True, align_corners=False)

    def summarise(self, run: RunView) -> dict[str, Any]:
        results = []
        for cell in run.cells():
            rows = run.table(cell).to_pylist()
            if self.folder is not None:
                files = (each for table in run.rows(cell, FILES) for each in table["file"].to_pylist())
                names = [f"{plain_name(row['class'])}.safetensors" for row in rows]
                make_complete(Path(real_path(self.folder)), names, files)
            curves = loss_curves(run, cell)
            results += [
                {"image_set": cell.images, "class": row["class"], "token": row["token"]} | ends_of(curves[row["unit"]])
                for row in rows
            ]
        about = {key: getattr(self, key) for key in ("pipeline", "weights", "template", "fit", "most")}
        about |= {each.name: getattr(self, each.name) for each in dataclasses.fields(TokenOptions)}
        return {"folder": self.folder, "tokens": len(results), "settings": about, "results": results}


def _tables(units: Mapping[str, int], contents: Sequence[bytes], losses: Sequence[Tensor]) -> Tables:
    numbers = np.array(list(units.values()), np.int64)
    rows = pa.table(
        {
            "unit": numbers,
            "class": pa.array(list(units)),
            "token": pa.array([token_of(name) for name in units]),
            "loss": losses[-1].double().cpu().numpy(),
        }
    )
    files = pa.table({"unit": numbers, "file": pa.array(contents, pa.binary())})
    return {ROWS: rows, FILES: files, LOSSES: losses_table(numbers.tolist(), losses)}


@lru_cache(maxsize=1)
def _loaded(pipeline: str, device: str) -> TextToImage:
    """A pipeline, kept between units."""
    return load_pipeline(pipeline, device=device)
