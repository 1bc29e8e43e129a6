"""Images that a diffusion pipeline makes, and sliders that lead away from them (Dünkel et al. 2025): class by class,
seed by seed. They are made when they are wanted, at any scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from brittle.class_names import class_names
from brittle.diffusion.dial import SliderDial
from brittle.diffusion.generator import SEEDS, Generator, Made
from brittle.diffusion.prompts import CLASS_PROMPT, check_template
from brittle.diffusion.sampling import SamplingOptions
from brittle.errors import BrittleError
from brittle.images import register
from brittle.images.base import ImageSet, LazyNames, alternatives
from brittle.registry import option


@register("slider")
@dataclass(frozen=True)
class Slider:
    """Images that a text-to-image pipeline makes of each class, and every shift that there are sliders for in a
    nuisance's place; an id is the label times a million, plus the seed."""

    in_scales: ClassVar[bool] = True

    pipeline: str = option(
        MISSING, "a folder that save_pretrained of diffusers wrote, or a name on the hub", positional=True
    )
    classes: str | tuple[str, ...] = option(MISSING, "class names a/b/c, or a text file with one per line")
    labels: tuple[int, ...] = option((), "the classes' labels, 3/17/240; 0, 1, 2, … by default")
    sliders: str | None = option(None, "the folder of sliders")
    shifts: str | tuple[str, ...] | None = option(None, "only these shifts, a/b/c")
    added: str | tuple[str, ...] | None = option(None, "also these shifts, added up as one: fog+snow/fog+blur")
    tokens: str | None = option(None, "the folder of learned words, one per class; without it classes go by name")
    seeds: int = option(20, "images per class: seeds 1, 2, …", least=1, most=SEEDS - 1)
    scales: tuple[float, ...] = option((0.5, 1.0, 1.5, 2.0, 2.5), "the coarse grid of severities", above=0)
    template: str = option(CLASS_PROMPT, "what is asked for, with {class} in it")
    steps: int = option(50, "noise steps", least=1)
    guidance: float = option(1.0, "classifier-free guidance; 1: none. Stable Diffusion is used with 7.5", least=1)
    sampler: Literal["own", "ddim", "unipc"] = option("own", "own: the pipeline's scheduler; or ddim, or unipc")
    active: float = option(0.75, "share of the noise steps, the last, in which sliders are active", least=0, most=1)
    crop: int | None = option(None, "crop the central square of this many pixels", least=1)
    at_once: int = option(64, "images per batch of the pipeline", least=1, rows=False)
    prefix: str = option("", "what the shifts' names begin with, to tell them from other nuisances of a study")
    device: str | None = option(None, "where images are made: cpu, cuda …; a GPU where there is one", rows=False)

    def load(self) -> ImageSet:
        check_template(self.template, shift=False)
        classes = class_names(self.classes)
        labels = self.labels or tuple(range(len(classes)))
        if len(labels) != len(classes) or len(set(labels)) != len(labels) or min(labels, default=0) < 0:
            raise BrittleError(
                f"there are {len(classes)} classes and the labels {', '.join(map(str, labels))}",
                "Give each class a label of its own.",
            )
        generator = Generator(
            self.pipeline,
            classes,
            tuple(labels),
            self.sliders,
            self.tokens,
            self.template,
            SamplingOptions(
                steps=self.steps,
                guidance=self.guidance,
                sampler=self.sampler,
                active=self.active,
                images_at_once=self.at_once,
            ),
            self.crop,
            self.device,
        )
        of_label = dict(zip(labels, classes, strict=True))
        ids = torch.tensor([label * SEEDS + seed for label in sorted(of_label) for seed in range(1, self.seeds + 1)])
        names = tuple(of_label.get(label, str(label)) for label in range(max(of_label) + 1))
        found = tuple(ids.tolist())
        return ImageSet(
            f"slider:{self.pipeline}",
            ids,
            ids // SEEDS,
            names,
            ClassAndSeed(found, of_label),
            {"seed": [each % SEEDS for each in found]},
            GeneratedReader(generator, found),
            shifts=self._shifts(generator, of_label),
        )

    def _shifts(self, generator: Generator, of_label: dict[int, str]) -> dict[str, SliderDial]:
        if self.sliders is None:
            return {}
        there = generator.shifts()
        wanted = self.shifts if isinstance(self.shifts, str) or self.shifts is None else "/".join(self.shifts)
        chosen = sorted(there) if wanted is None else sorted(alternatives(wanted, set(there), "slider: the shift"))
        added = (self.added.split("/") if isinstance(self.added, str) else self.added) or ()
        made = {}
        for parts in [(each,) for each in chosen] + [tuple(each.split("+")) for each in added]:
            for part in parts:
                alternatives(part, set(there), "slider: the shift")
            classes = set.intersection(*(there[part] for part in parts))
            labels = frozenset(label for label, name in of_label.items() if name.lower() in classes)
            name = self.prefix + "+".join(parts)
            made[name] = SliderDial(name, generator, dict.fromkeys(parts, 1.0), tuple(self.scales), labels)
        return made


class GeneratedReader:
    """Makes the images at scale 0 of some ids."""

    def __init__(self, generator: Generator, ids: tuple[int, ...]) -> None:
        self.generator, self.ids = generator, ids

    def __call__(self, positions: Sequence[int]) -> Tensor:
        return self.generator.images([Made.of(self.ids[place], {}) for place in positions])

    @property
    def identity(self) -> str:
        """What images follow from."""
        return self.generator.identity


class ClassAndSeed(LazyNames):
    """ "coat, seed 17" for each image."""

    def __init__(self, ids: tuple[int, ...], classes: dict[int, str]) -> None:
        self.ids, self.classes = ids, classes

    def __len__(self) -> int:
        return len(self.ids)

    def word(self, place: int) -> str:
        return f"{self.classes[self.ids[place] // SEEDS]}, seed {self.ids[place] % SEEDS}"
