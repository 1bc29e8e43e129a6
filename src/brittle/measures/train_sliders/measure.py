"""Sliders are trained (Dünkel et al. 2025, section 3.2), as a measure over no classifier, no image set and no nuisance:
a unit is a class and a shift, and its row is the slider's file. Thousands of them are resumed, extended and spread over
workers as any other units are.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from torch import Tensor

from brittle.class_names import class_names
from brittle.device import pick_device
from brittle.diffusion.collection import CLASS, SHIFT, slider_file
from brittle.diffusion.options import SliderOptions
from brittle.diffusion.pipeline import EXTRA, TextToImage, check_words, load_pipeline
from brittle.diffusion.prompts import check_template, prompt, word_of
from brittle.diffusion.sampling import SamplingOptions
from brittle.diffusion.sliders import slider_bytes
from brittle.diffusion.tokens import load_tokens
from brittle.diffusion.train_sliders import SliderTask, made_latents, train_sliders
from brittle.diffusion.weights import weights_hash
from brittle.errors import BrittleError
from brittle.files import make_complete, real_path
from brittle.libraries import library
from brittle.measures import register
from brittle.measures.base import ROWS, About, Measure, MeasureInputs, Pending, RunView, Tables, Task, together
from brittle.measures.generate.presets import preset
from brittle.measures.plan import Plan, Unit
from brittle.measures.train_sliders.options import TrainSlidersOptions
from brittle.measures.training_losses import LOSSES, ends_of, loss_curves, losses_table
from brittle.memory import slices
from brittle.random import key_of

FILES = "files"
MOST = (1 << 60) - 1
USUAL: Mapping[str, Any] = {"steps": 50, "guidance": 1.0, "sampler": "own"}
KEYS = ("classes", "shifts", "pipeline", *USUAL)  # what a preset may give


class SliderPair(NamedTuple):
    """What one slider is for."""

    name: str
    shift: str


@dataclass(frozen=True)
class PairPlan(Plan):
    """Class by class, shift by shift. A unit's place on the axis is a number that the pair has whatever else is
    trained, so that a run is extended by more."""

    classes: tuple[str, ...]
    shifts: tuple[str, ...]
    columns = None  # rows are told apart by their units

    def __len__(self) -> int:
        return len(self.classes) * len(self.shifts)

    def pair(self, place: int) -> SliderPair:
        return SliderPair(self.classes[place // len(self.shifts)], self.shifts[place % len(self.shifts)])

    def unit(self, place: int) -> Unit:
        first = key_of(repr(tuple(self.pair(place)))) & MOST
        return Unit((), range(first, first + 1))


@register("train-sliders")
@dataclass(frozen=True, kw_only=True)
class TrainSliders(TrainSlidersOptions, Measure):
    """A slider for every class and shift."""

    over: ClassVar = frozenset()

    def __post_init__(self) -> None:
        """Fills in what is not given."""
        given = {} if self.preset is None else preset(self.preset)
        said = {**USUAL, **{key: value for key, value in given.items() if key in KEYS}}
        for key, value in said.items():
            if getattr(self, key) in (None, ()):
                object.__setattr__(self, key, value)
        object.__setattr__(self, "classes", class_names(self.classes) if self.classes else ())
        shifts = self.shifts.split("/") if isinstance(self.shifts, str) else self.shifts
        object.__setattr__(self, "shifts", tuple(shifts))
        if self.pipeline is not None and not self.weights:
            object.__setattr__(self, "weights", weights_hash(self.pipeline))

    def check(self, about: About, asked: MeasureInputs) -> None:
        for package in ("diffusers", "transformers", "peft"):
            library(package, EXTRA, "the measure 'train-sliders'")
        if self.pipeline is None:
            raise BrittleError("no pipeline is named", "Name a folder that save_pretrained wrote, or a preset.")
        if not self.classes or not self.shifts:
            what = "shifts" if self.classes else "classes"
            raise BrittleError(f"no {what} are named", f"Name them: {what}=a/b/c.")
        check_template(self.template, shift=False)
        check_template(self.shifted_template, shift=True)
        if self.weights != weights_hash(self.pipeline):
            raise BrittleError(
                f"the weights of {self.pipeline} are not those that this was begun with",
                "Restore them, or use another folder.",
            )

    def plan(self, about: About) -> PairPlan:
        return PairPlan(tuple(self.classes), tuple(self.shifts))

    def calls(self, unit: Unit) -> int:
        """Images that the U-Net sees with a slider."""
        return self.training_steps * self.batch

    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        pipeline, words = _loaded(str(self.pipeline), self.tokens, str(task.device))
        plan, parts = self.plan(task.about), list[Tables]()
        units = [(piece.unit, plan.pair(piece.unit)) for piece in task.pieces]
        if units[0][0] == 0:  # what is wrong with the last pair must not come up after hours
            every = (self._task(plan.pair(place), words) for place in range(len(plan)))
            check_words(pipeline.parts.tokenizer, [prompt for each in every for prompt in (each.prompt, each.shifted)])
        for part in slices(len(units), self.together):
            parts.append(self._trained(pipeline, words, units[part], task))
        return {"": lambda: {name: together([each[name] for each in parts]) for name in parts[0]}}

    def _trained(
        self, pipeline: TextToImage, words: Mapping[str, str], units: Sequence[tuple[int, SliderPair]], task: Task
    ) -> Tables:
        tasks = [self._task(pair, words) for _, pair in units]
        sampling = SamplingOptions(
            steps=self.steps or 1,
            guidance=self.guidance or 1.0,
            sampler=self.sampler or "own",
            images_at_once=self.at_once,
        )
        options = SliderOptions(
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(SliderOptions)}
        )
        prompts = dict.fromkeys(each.prompt for each in tasks)
        pools = {each: _pool(pipeline, each, options, sampling) for each in prompts}
        losses: list[Tensor] = []

        def said(_step: int, now: Tensor) -> None:
            losses.append(now)
            task.tick(self.batch * len(tasks))

        sliders = train_sliders(pipeline, tasks, pools, options, state=self._state(tasks), said=said)
        about = {"target": self.target, "eta": str(self.eta), "steps": str(self.training_steps)}
        contents = [
            slider_bytes(sliders, place, self._said(pair, tasks[place]) | about)
            for place, (_, pair) in enumerate(units)
        ]
        return _tables(units, contents, losses)

    def _task(self, pair: SliderPair, words: Mapping[str, str]) -> SliderTask:
        word = word_of(pair.name, words)
        shifted = prompt(self.shifted_template, word, pair.shift)
        return SliderTask(f"{pair.name} in {pair.shift}", prompt(self.template, word), shifted)

    def _said(self, pair: SliderPair, task: SliderTask) -> dict[str, str]:
        return {CLASS: pair.name, SHIFT: pair.shift, "prompt": task.prompt, "shifted": task.shifted}

    def _state(self, tasks: Sequence[SliderTask]) -> Path | None:
        """A file of their own for sliders that are trained side by side."""
        if self.state is None:
            return None
        name = hashlib.blake2b(repr((tasks, self.weights)).encode(), digest_size=8).hexdigest()
        return Path(real_path(self.state)) / f"{name}.pt"

    def summarise(self, run: RunView) -> dict[str, Any]:
        rows, curves = run.table(run.cell()).to_pylist(), loss_curves(run, run.cell())
        if self.folder is not None:
            files = (each for table in run.rows(run.cell(), FILES) for each in table["file"].to_pylist())
            folder = Path(real_path(self.folder))
            make_complete(folder, [slider_file(folder, row["class"], row["shift"]).name for row in rows], files)
        results = [
            {key: row[key] for key in ("class", "shift", "bytes")} | ends_of(curves[row["unit"]]) for row in rows
        ]
        about = {key: getattr(self, key) for key in ("pipeline", "weights", "tokens", "template", "shifted_template")}
        about |= {each.name: getattr(self, each.name) for each in dataclasses.fields(SliderOptions)}
        return {"folder": self.folder, "sliders": len(rows), "settings": about, "results": results}


def _tables(units: Sequence[tuple[int, SliderPair]], contents: Sequence[bytes], losses: Sequence[Tensor]) -> Tables:
    numbers = np.array([unit for unit, _ in units], np.int64)
    rows = pa.table(
        {
            "unit": numbers,
            "class": pa.array([pair.name for _, pair in units]),
            "shift": pa.array([pair.shift for _, pair in units]),
            "loss": losses[-1].double().cpu().numpy(),
            "bytes": np.array([len(content) for content in contents], np.int64),
        }
    )
    files = pa.table({"unit": numbers, "file": pa.array(contents, pa.binary())})
    return {ROWS: rows, FILES: files, LOSSES: losses_table(numbers.tolist(), losses)}


@lru_cache(maxsize=1)
def _loaded(pipeline: str, tokens: str | None, device: str) -> tuple[TextToImage, dict[str, str]]:
    """A pipeline with its words, kept between units."""
    found = load_pipeline(pipeline, device=pick_device(device))
    return found, {} if tokens is None else load_tokens(found, tokens)


@lru_cache(maxsize=8)
def _pool(pipeline: TextToImage, prompt: str, options: SliderOptions, sampling: SamplingOptions) -> Tensor:
    """What sliders are trained on: the same images for all shifts of a class, which follow one another."""
    return made_latents(pipeline, [prompt], options, sampling)[prompt]
