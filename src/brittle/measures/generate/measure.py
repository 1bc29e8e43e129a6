"""A benchmark is generated (Dünkel et al. 2025, sections 3.1, 3.2 and 5.1), as a measure over no classifier, no image
set and no nuisance: its rows are images. That they are resumed, extended and made by several workers is the engine's.

Table `rows` says of every image what it is of, `pictures` holds them encoded. Once all are there, they are written as a
folder in CNS-Bench's layout.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image
from torch import Tensor

from brittle.class_names import class_names
from brittle.diffusion.collection import sliders_in
from brittle.diffusion.generator import SEEDS, Generator, Made
from brittle.diffusion.pipeline import EXTRA
from brittle.diffusion.prompts import check_template, prompt, word_of
from brittle.diffusion.sampling import SamplingOptions
from brittle.diffusion.tokens import tokens_in
from brittle.diffusion.weights import WeightFiles, weights_hash
from brittle.errors import BrittleError
from brittle.files import real_path
from brittle.libraries import library
from brittle.measures import register
from brittle.measures.base import ROWS, About, Measure, MeasureInputs, Pending, RunView, Tables, Task
from brittle.measures.generate.benchmark import BenchmarkSettings, write_benchmark
from brittle.measures.generate.change import PixelChange
from brittle.measures.generate.options import GenerateOptions
from brittle.measures.generate.paths import ImagePath, PathPlan
from brittle.measures.generate.presets import USUAL, preset
from brittle.measures.plan import Unit

PICTURES = "pictures"


@register("generate")
@dataclass(frozen=True)
class Generate(GenerateOptions, Measure):
    """Images of classes, seeds and shifts at every scale."""

    over: ClassVar = frozenset()

    def __post_init__(self) -> None:
        """Fills in what is not given: from the preset, from what there are sliders for, and from the files."""
        said = {**USUAL, **(preset(self.preset) if self.preset is not None else {})}
        if not self.classes and self.labels:
            raise BrittleError("labels are given, and no classes", "Name the classes that they are of.")
        if self.classes:
            said = {key: value for key, value in said.items() if key not in ("classes", "labels")}
        for key, value in said.items():
            if getattr(self, key) in (None, ()):
                object.__setattr__(self, key, value)
        classes = class_names(self.classes) if self.classes else ()
        self._set("classes", classes)
        self._set("labels", tuple(self.labels) or tuple(range(len(classes))))
        shifts = tuple(self.shifts.split("/")) if isinstance(self.shifts, str) else tuple(self.shifts)
        if not shifts and self.sliders is not None:
            there = sliders_in(self.sliders)
            shifts = tuple(sorted({shift for name, shift in there if name in {each.lower() for each in classes}}))
        self._set("shifts", shifts)
        self._set("scales", tuple(self.scales))
        if self.pipeline is not None and not self.weights:
            self._set("weights", weights_hash(self.pipeline))

    def _set(self, key: str, value: Any) -> None:
        object.__setattr__(self, key, value)

    @property
    def generator(self) -> Generator:
        """What makes the images, wherever it is."""
        assert self.pipeline is not None
        sampling = SamplingOptions(
            steps=self.steps or 1,
            guidance=self.guidance or 1.0,
            sampler=self.sampler or "own",
            active=0.0 if self.active is None else self.active,
        )
        return Generator(
            self.pipeline,
            tuple(self.classes),
            self.labels,
            self.sliders,
            self.tokens,
            self.template,
            sampling,
            self.crop,
            dtype=self.dtype,
        )

    def check(self, about: About, asked: MeasureInputs) -> None:
        self.refuse_wrong()

    def refuse_wrong(self) -> None:
        """Raises where the options, or the files that they name, can't be used."""
        for package in ("diffusers", "transformers"):
            library(package, EXTRA, "the measure 'generate'")
        if self.pipeline is None:
            raise BrittleError("no pipeline is named", "Name a folder that save_pretrained wrote, or a preset.")
        check_template(self.template, shift=False)
        self._check_classes()
        if self.weights != weights_hash(self.pipeline):
            raise BrittleError(
                f"the weights of {self.pipeline} are not those that this was begun with",
                "Restore them, or use another folder.",
            )
        if self.first_seed + (self.seeds or 0) > SEEDS:
            raise BrittleError(f"there are no seeds from {SEEDS:,} on", "Begin with a lower one, or ask for fewer.")
        if list(self.scales) != sorted(set(self.scales)):
            scales = _some(list(map(str, self.scales)))
            raise BrittleError(f"the scales {scales} do not rise", "Write them in order, each once.")
        if self.shifts:
            self._check_sliders()
        words = None if self.tokens is None else tokens_in(self.tokens)
        if words is not None and (lacking := [each for each in self.classes if each.lower() not in words]):
            raise BrittleError(
                f"{self.tokens} has no word for {_some(lacking)}", "Learn them, or leave tokens or the classes out."
            )

    def _check_classes(self) -> None:
        names = [each.lower() for each in self.classes]
        if not names:
            raise BrittleError("no classes are named", "Name them: classes=a/b/c, or a file with one per line.")
        if len(set(names)) < len(names):
            twice = next(each for each in names if names.count(each) > 1)
            raise BrittleError(f"the class {twice!r} is named twice", "Give each class a name of its own.")
        if len(set(self.labels)) != len(names) or len(self.labels) != len(names) or min(self.labels) < 0:
            raise BrittleError(
                f"there are {len(names)} classes and the labels {_some(list(map(str, self.labels)))}",
                "Give each class a label of its own.",
            )

    def _check_sliders(self) -> None:
        if self.sliders is None:
            raise BrittleError(
                f"there are no sliders for {_some(list(self.shifts))}",
                "Name their folder (sliders); `brittle train-sliders` trains them.",
            )
        there = sliders_in(self.sliders)
        pairs = [(name, part) for name in self.classes for shift in self.shifts for part in parts_of(shift)]
        lacking = [f"{name} in {shift}" for name, shift in pairs if (name.lower(), shift) not in there]
        if lacking:
            raise BrittleError(
                f"{self.sliders} has no slider for {_some(lacking)}", "Train them, or leave the class or shift out."
            )

    def plan(self, about: About) -> PathPlan:
        seeds = range(self.first_seed, self.first_seed + (self.seeds or 0))
        return PathPlan(tuple(self.classes), self.labels, tuple(self.shifts), seeds, len(self.scales))

    def calls(self, unit: Unit) -> int:
        """Passes of the denoiser: work is cut by what it costs."""
        return len(unit.axis) * self.passes

    @property
    def passes(self) -> int:
        """Of the denoiser, per image, where none are shared."""
        return (self.steps or 1) * (2 if (self.guidance or 1.0) > 1 else 1)

    def images_of(self, path: ImagePath) -> list[tuple[float, Made]]:
        """The images of a unit, with their scales."""
        identifier = path.label * SEEDS + path.seed
        scales = self.scales if path.shift else (0.0,)
        return [(scale, Made.of(identifier, dict.fromkeys(parts_of(path.shift), scale))) for scale in scales]

    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        plan = self.plan(task.about)
        paths = [(piece.unit, plan.path(piece.unit)) for piece in task.pieces]
        wanted = [made for _, path in paths for _, made in self.images_of(path)]
        generator = self.generator.on(task.device)
        images = generator.images(
            wanted, min(self.at_once, task.batch_size), lambda count: task.tick(count * self.passes)
        )
        return {"": partial(self._tables, paths, images, generator.files)}

    def _tables(self, paths: Sequence[tuple[int, ImagePath]], images: Tensor, files: WeightFiles) -> Tables:
        pictures = [encoded(each, self.format, self.quality) for each in images]
        found = [(unit, path, scale) for unit, path in paths for scale, _ in self.images_of(path)]
        units = np.array([unit for unit, _, _ in found], np.int64)
        weights = {path: files.hash(path.name, parts_of(path.shift)) for _, path in paths}
        rows = pa.table(
            {
                "unit": units,
                "label": np.array([path.label for _, path, _ in found], np.int64),
                "class": pa.array([path.name for _, path, _ in found]),
                "seed": np.array([path.seed for _, path, _ in found], np.int64),
                "shift": pa.array([path.shift for _, path, _ in found]),
                "scale": np.array([scale for _, _, scale in found], np.float64),
                "bytes": np.array([len(each) for each in pictures], np.int64),
                "weights": pa.array([weights[path] for _, path, _ in found]),
            }
        )
        return {ROWS: rows, PICTURES: pa.table({"unit": units, "picture": pa.array(pictures, pa.binary())})}

    def summarise(self, run: RunView) -> dict[str, Any]:
        rows = run.table(run.cell())
        self._check_rows(rows)
        changes = PixelChange(rows)
        pictures = changes.along(run.rows(run.cell(), PICTURES))
        if self.folder is not None:
            write_benchmark(Path(real_path(self.folder)), rows, pictures, self.settings)
        else:
            deque(pictures, 0)
        return {
            "folder": self.folder,
            "images": rows.num_rows,
            "bytes": pc.sum(rows["bytes"]).as_py(),
            "settings": self.settings.about,
            "results": [
                {
                    "shift": shift or "scale 0",
                    **_counted(rows.filter(pc.equal(rows["shift"], shift))),
                    "changes": changes.of(shift),
                }
                for shift in ("", *self.shifts)
            ],
        }

    def _check_rows(self, rows: pa.Table) -> None:
        """Refuses images of one class and shift that were made with several sliders, as where one was trained again
        meanwhile; files that are gone by now tell nothing."""
        if any(each is not None and not Path(real_path(each)).is_dir() for each in (self.sliders, self.tokens)):
            return
        now = WeightFiles.of(self.sliders, self.tokens)
        seen = rows.group_by(["class", "shift", "weights"]).aggregate([])
        for row in seen.to_pylist():
            if now.hash(row["class"], parts_of(row["shift"])) != row["weights"]:
                what = f"{row['class']}{' in ' + row['shift'] if row['shift'] else ''}"
                raise BrittleError(
                    f"images of {what} were made with another slider or word than the one that is there now",
                    "Put it back, or generate into another folder.",
                )

    @property
    def settings(self) -> BenchmarkSettings:
        """What annotations and datasheet say of all images."""
        about = {
            "pipeline": self.pipeline,
            "weights": self.weights,
            "preset": self.preset,
            "sliders": self.sliders,
            "tokens": self.tokens,
            "template": self.template,
            "steps": self.steps,
            "guidance": self.guidance,
            "sampler": self.sampler,
            "active": self.active,
            "dtype": self.dtype,
            "scales": [0.0, *self.scales],
            "crop": self.crop,
            "quality": self.quality if self.format == "jpg" else None,
        }
        words = {} if self.tokens is None else {name: each.token for name, each in tokens_in(self.tokens).items()}
        prompts = {
            label: prompt(self.template, word_of(name, words))
            for label, name in zip(self.labels, self.classes, strict=True)
        }
        return BenchmarkSettings(self.format, prompts, about)


def _counted(rows: pa.Table) -> dict[str, int]:
    return {
        "images": rows.num_rows,
        "classes": pc.count_distinct(rows["label"]).as_py(),
        "seeds": pc.count_distinct(rows["seed"]).as_py(),
        "scales": pc.count_distinct(rows["scale"]).as_py(),
    }


def parts_of(shift: str) -> list[str]:
    """The sliders that a shift moves; none at scale 0."""
    return shift.split("+") if shift else []


def encoded(image: Tensor, format: str, quality: int) -> bytes:
    """An image (C, H, W) uint8 as the bytes of a file."""
    pixels = image[0].numpy() if len(image) == 1 else image.permute(1, 2, 0).contiguous().numpy()
    file = io.BytesIO()
    if format == "jpg":
        Image.fromarray(pixels).save(file, "JPEG", quality=quality, subsampling=0)
    else:
        Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
