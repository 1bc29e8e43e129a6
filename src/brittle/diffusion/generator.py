"""What makes the images of a benchmark: a pipeline with its learned words and sliders, as plain values that can be sent
to another process, and the images that it has made.

An image is known by its class, its seed and how far each slider is moved; those are the same numbers on every machine.
"""

from __future__ import annotations

import functools
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.device import pick_device
from brittle.diffusion.collection import slider_of, sliders_in
from brittle.diffusion.pipeline import TextToImage, check_words, load_pipeline
from brittle.diffusion.prompts import CLASS_PROMPT, prompt, word_of
from brittle.diffusion.sampling import Begun, SamplingOptions, Wanted, sampled
from brittle.diffusion.sliders import Dial, Sliders, applied, joined
from brittle.diffusion.tokens import load_tokens
from brittle.diffusion.weights import WeightFiles, weights_hash
from brittle.errors import BrittleError, Failure

TIMED = 3  # calls that a rate is the median of
KEPT = 1 << 28  # bytes of images
SEEDS = 1_000_000  # ids are label · SEEDS + seed


class Made(NamedTuple):
    """Which image: rounded to 1e-6, one scale is one image."""

    label: int
    seed: int
    scales: tuple[tuple[str, float], ...] = ()  # shift and scale, of those that are not 0

    @classmethod
    def of(cls, identifier: int, scales: Mapping[str, float]) -> Made:
        moved = tuple((shift, round(float(scale), 6)) for shift, scale in sorted(scales.items()) if abs(scale) > 1e-6)
        return cls(identifier // SEEDS, identifier % SEEDS, moved)


@dataclass(frozen=True)
class Generator:
    """A pipeline by name or folder, with classes, words and sliders. Nothing is loaded until an image is wanted."""

    pipeline: str
    classes: tuple[str, ...]
    labels: tuple[int, ...]  # of the classes
    sliders: str | None = None  # folder
    tokens: str | None = None  # folder
    template: str = CLASS_PROMPT
    sampling: SamplingOptions = field(default_factory=SamplingOptions)
    crop: int | None = None  # pixels of the central square that is kept
    device: str | None = None
    dtype: str = "float32"

    def images(
        self, wanted: Sequence[Made], at_once: int | None = None, done: Callable[[int], None] = lambda _: None
    ) -> Tensor:
        """(n, C, H, W) uint8, on the CPU: as a file without losses would hold them; so many `at_once`. `done` is told
        how many more there are."""
        return _loaded(self).images(wanted, at_once or self.sampling.images_at_once, done)

    def on(self, device: torch.device) -> Generator:
        """The same there."""
        return replace(self, device=str(device))

    def rates(self, count: int) -> tuple[float, float]:
        """Passes of the denoiser, each over one of `count` images, and images decoded, per second, measured now."""
        return _loaded(self).rates(count)

    @property
    def files(self) -> WeightFiles:
        """What is loaded besides the pipeline."""
        return _loaded(self).files

    def shifts(self) -> dict[str, set[str]]:
        """Shift → the classes, in lower case, that there is a slider for."""
        found: dict[str, set[str]] = {}
        for name, shift in sliders_in(self.sliders) if self.sliders is not None else ():
            found.setdefault(shift, set()).add(name)
        return found

    @property
    def identity(self) -> str:
        """Everything that images follow from, as text: also the contents of files, where they are on this machine."""
        places = [each for each in (self.pipeline, self.sliders, self.tokens) if each is not None]
        options = {**vars(self.sampling), "images_at_once": 0}
        hashes = [weights_hash(each) for each in places]
        return repr((self.classes, self.labels, self.template, self.crop, sorted(options.items()), hashes))


@functools.lru_cache(maxsize=2)
def _loaded(plan: Generator) -> _Loaded:
    return _Loaded(plan)


class _Loaded:
    """A generator with its pipeline in memory, and the images that it has made last."""

    def __init__(self, plan: Generator) -> None:
        self.plan = plan
        dtype = getattr(torch, plan.dtype)
        self.pipeline: TextToImage = load_pipeline(plan.pipeline, device=pick_device(plan.device), dtype=dtype)
        words = {} if plan.tokens is None else load_tokens(self.pipeline, plan.tokens)
        self.words = dict(zip(plan.labels, (word_of(name, words) for name in plan.classes), strict=True))
        # All of them now: an unknown word of the last class must not come up after hours.
        check_words(self.pipeline.parts.tokenizer, [prompt(plan.template, word) for word in self.words.values()])
        self.names = dict(zip(plan.labels, plan.classes, strict=True))
        self.files = WeightFiles.of(plan.sliders, plan.tokens)
        self._embedded: dict[int, Tensor] = {}
        self._sliders: OrderedDict[tuple[int, str], Sliders] = OrderedDict()
        self._kept: OrderedDict[Made, Tensor] = OrderedDict()
        self._begun: OrderedDict[tuple[int, int], Begun] = OrderedDict()  # by label and seed

    def images(self, wanted: Sequence[Made], at_once: int, done: Callable[[int], None]) -> Tensor:
        lacking = list(dict.fromkeys(each for each in wanted if each not in self._kept))
        made = dict(zip(lacking, self._made(lacking, at_once, done), strict=True)) if lacking else {}
        found = torch.stack([made[each] if each in made else self._kept[each] for each in wanted])
        self._kept |= made
        while self._kept and len(self._kept) * found[0].numel() > KEPT:
            self._kept.popitem(last=False)
        return found

    def _made(self, wanted: Sequence[Made], at_once: int, done: Callable[[int], None]) -> Sequence[Tensor]:
        labels = list(dict.fromkeys(each.label for each in wanted))
        unknown = next((label for label in labels if label not in self.words), None)
        if unknown is not None:
            raise BrittleError(
                f"the image set has no class with the label {unknown}", "Use slider shifts on their own image set."
            )
        words = torch.cat([self._words(label) for label in labels])
        used = list(dict.fromkeys((each.label, shift) for each in wanted for shift, _ in each.scales))
        sliders = joined([self._slider(*each) for each in used]) if used else None
        asked = []
        for each in wanted:
            scales = [0.0] * len(used)
            for shift, scale in each.scales:
                scales[used.index((each.label, shift))] = scale
            asked.append(Wanted(labels.index(each.label), each.seed, tuple(scales)))
        options = replace(self.plan.sampling, images_at_once=at_once)
        begun = {
            (place, seed): self._begun[label, seed]
            for place, label in enumerate(labels)
            for seed in {each.seed for each in wanted if each.label == label}
            if (label, seed) in self._begun
        }
        found = sampled(self.pipeline, words, asked, sliders, options, begun=begun, done=done)
        self._keep_begun({(labels[place], seed): each for (place, seed), each in begun.items()})
        if not bool(found.isfinite().all()):
            raise Failure(
                f"the pipeline {self.plan.pipeline} makes images that are not numbers",
                "Check its weights, and those of the sliders.",
            )
        return _cropped(found, self.plan.crop).mul(255).round().to(torch.uint8).unbind()

    def _keep_begun(self, begun: Mapping[tuple[int, int], Begun]) -> None:
        """Early steps serve shifts and scales that are asked for later."""
        for key, each in begun.items():
            self._begun[key] = each
            self._begun.move_to_end(key)
        size = next((each.latents.numel() * each.latents.element_size() for each in begun.values()), 1)
        while len(self._begun) * size > KEPT // 4:  # some schedulers remember a few times as much
            self._begun.popitem(last=False)

    def rates(self, count: int) -> tuple[float, float]:
        pipeline, label = self.pipeline, self.plan.labels[0]
        words = self._words(label).expand(count, -1, -1)
        latents = pipeline.start_noise(range(count))
        shift = next((shift for name, shift in self.files.sliders if name == self.names[label].lower()), None)
        middle = pipeline.time_steps // 2
        rows = torch.arange(count, device=pipeline.device)[None]

        def denoised() -> Tensor:
            if shift is None:
                return pipeline.predicted(latents, middle, words)
            with applied(pipeline.unet, self._slider(label, shift), Dial(rows, torch.ones_like(rows).float())):
                return pipeline.predicted(latents, middle, words)

        return count / _seconds(denoised), count / _seconds(lambda: pipeline.decoded(latents))

    def _words(self, label: int) -> Tensor:
        if label not in self._embedded:
            self._embedded[label] = self.pipeline.embedded([prompt(self.plan.template, self.words[label])])
        return self._embedded[label]

    def _slider(self, label: int, shift: str) -> Sliders:
        if (label, shift) not in self._sliders:
            found = slider_of(self.files.sliders, self.names[label], shift)
            self._sliders[label, shift] = found.to(self.pipeline.device, self.pipeline.dtype)
            if len(self._sliders) > 256:
                self._sliders.popitem(last=False)
        return self._sliders[label, shift]


@torch.no_grad()
def _seconds(work: Callable[[], Tensor]) -> float:
    """What one call takes, the first, in which libraries prepare themselves, left out."""
    times = []
    for _ in range(TIMED + 1):
        began = time.perf_counter()
        work().sum().item()  # until the device has done it
        times.append(time.perf_counter() - began)
    return sorted(times[1:])[TIMED // 2]


def _cropped(images: Tensor, side: int | None) -> Tensor:
    if side is None:
        return images
    height, width = images.shape[-2:]
    if side > min(height, width):
        raise BrittleError(f"images of {width}×{height} can't be cropped to {side}", "Leave crop=… out.")
    top, left = (height - side) // 2, (width - side) // 2
    return images[..., top : top + side, left : left + side]
