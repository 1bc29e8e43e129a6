"""The networks that are trained on FashionMNIST: which there are, and how each is trained and measured.

`grid` is every depth with every number of parameters, on all training images. `variants` are the networks of one number
of parameters on parts of them (UREM, section 4). A part is seen as often more as it is smaller, so that every network
takes about the same number of steps; `half-short` has half of them, which is what equal epochs give. `skips` are the
networks of the grid with skip connections, those of twice the greatest depth, and the plain ones of that depth. Seeds
are of weights and order, and also of which images or classes a part has.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import torch
from measuring import Tables, layer_rows, measured, told
from networks import BUDGETS, CLASSES, DEEPEST, DEPTHS, Plain, name_of, parameters, width_for

import brittle
from brittle.images.variants import Subclass, Subsample
from brittle.progress import Progress, ProgressBar
from brittle.training import train

BATCH, SMALL_BATCH = 2048, 64  # on a GPU, and on a CPU
RATES = (0.005, 0.001)  # of Adam, on values in [0, 1]: 1.3 and 0.26 of 255 per step
SEEDS = (0, 1, 2)
VARIED = 100_000  # the number of parameters of the networks that are trained on parts
PLAIN, SKIP = "full", "skip"  # on all images, without and with skip connections


class Variant(NamedTuple):
    """A part of the training images."""

    images: float = 1.0  # share of each class
    classes: float = 1.0  # share of the classes
    longer: float = 1.0  # how much more often than usual every image is seen

    def of(self, whole: brittle.ImageSet, seed: int) -> brittle.ImageSet:
        if self.images < 1:
            return Subsample(whole, share=self.images, seed=seed).load()
        if self.classes < 1:
            return Subclass(whole, share=self.classes, seed=seed).load()
        return whole


VARIANTS = {
    PLAIN: Variant(),
    SKIP: Variant(),
    "half": Variant(images=0.5, longer=2),
    "half-short": Variant(images=0.5),
    "tenth": Variant(images=0.1, longer=10),
    "five": Variant(classes=0.5, longer=2),
    "three": Variant(classes=0.3, longer=10 / 3),
}


@dataclass(frozen=True)
class Settings:
    """What all networks share."""

    data: Path
    weights: Path
    device: str
    epochs: int = 10
    images: int = 1000  # test images whose breaking points are found
    per_class: int = 10  # of these, so many of each class are changed to every other class
    rates: tuple[float, ...] = RATES
    steps: int = 1000  # of Adam, after which a search has failed
    small: bool = False


@dataclass(frozen=True)
class Trained:
    """One network to be trained and measured."""

    depth: int
    budget: int
    variant: str
    seed: int

    @property
    def name(self) -> str:
        return f"{name_of(self.depth, self.budget)}-{self.variant}-seed{self.seed}"

    @property
    def classes(self) -> int:
        return round(CLASSES * VARIANTS[self.variant].classes)


def grid(seeds: tuple[int, ...] = SEEDS) -> list[Trained]:
    """The largest first, since they take longest."""
    return [
        Trained(depth, budget, "full", seed)
        for budget in reversed(BUDGETS)
        for depth in reversed(DEPTHS)
        for seed in seeds
    ]


def variants(seeds: tuple[int, ...] = SEEDS) -> list[Trained]:
    """Those on parts; the networks on all images are the grid's."""
    parts = [name for name in VARIANTS if name not in (PLAIN, SKIP)]
    return [Trained(depth, VARIED, part, seed) for seed in seeds for depth in reversed(DEPTHS) for part in parts]


def skips(seeds: tuple[int, ...] = SEEDS) -> list[Trained]:
    """Seed by seed, so that what there is after any while can be compared."""
    kinds = [(DEEPEST, SKIP), (DEEPEST, PLAIN), *((depth, SKIP) for depth in reversed(DEPTHS))]
    return [
        Trained(depth, budget, kind, seed) for seed in seeds for budget in reversed(BUDGETS) for depth, kind in kinds
    ]


PARTS = {"grid": grid, "variants": variants, "skips": skips}


def idx(folder: Path, split: str) -> str:
    return f"idx:{folder}/{split}-images-idx3-ubyte.gz,labels={folder}/{split}-labels-idx1-ubyte.gz"


@cache
def images_of(folder: Path, split: str, small: bool) -> brittle.ImageSet:
    whole = brittle.image_set(idx(folder, split))
    return whole.choose(300, seed=0) if small else whole


def trained_and_measured(which: Trained, settings: Settings, progress: Progress | None = None) -> Tables:
    """One network: `networks` has one row about it, the other tables what `measured` gives."""
    begun = time.monotonic()
    part = VARIANTS[which.variant]
    training = part.of(images_of(settings.data, "train", settings.small), which.seed)
    testing = images_of(settings.data, "t10k", settings.small)
    own = part.of(testing, which.seed) if part.classes < 1 else testing
    told_of = train(
        Plain(which.depth, which.budget, which.classes, which.variant == SKIP),
        training,
        settings.weights / f"{which.name}.safetensors",
        test=own,
        seed=which.seed,
        epochs=max(1, round(settings.epochs * part.longer)),
        precision="bfloat16" if settings.device.startswith("cuda") else "float32",
        device=settings.device,
        progress=progress,
    )
    between = time.monotonic()
    chosen = testing.choose(settings.images, seed=0)
    few = [id for label in range(CLASSES) for id in chosen.ids[chosen.labels == label][: settings.per_class].tolist()]
    there = set(own.ids.tolist())
    classifier = brittle.classifier(told_of["classifier"], device=settings.device)
    about = {"depth": which.depth, "budget": which.budget, "variant": which.variant, "seed": which.seed}
    batch = BATCH if settings.device.startswith("cuda") else SMALL_BATCH
    found = measured(
        classifier,
        own.only([id for id in chosen.ids.tolist() if id in there]),
        [id for id in few if id in there],
        about,
        rates=settings.rates if which.variant == PLAIN and which.depth in DEPTHS else settings.rates[:1],
        steps=settings.steps,
        device=settings.device,
        batch=batch,
    )
    if which.variant in (PLAIN, SKIP) and which.budget == VARIED and which.seed == 0:
        found["layers"] = layer_rows(
            classifier, chosen, about, count=100, repeats=5, networks=20, device=settings.device, batch=batch
        )
    width = width_for(which.depth, which.budget)
    row = {
        "width": width,
        "parameters": parameters(which.depth, width, which.classes),
        "classes": list(map(int, own.classes)) or list(range(CLASSES)),
        "training_images": len(training),
        "epochs": told_of["epochs"],
        "loss": told_of["loss"],
        "accuracy": 1 - told_of["test_error"],
        "test_loss": told_of["test_loss"],
        "test_images": len(own),
        "seconds_training": round(between - begun, 1),
        "seconds_measuring": round(time.monotonic() - between, 1),
    }
    return {"networks": told(pa.Table.from_pylist([row]), about), **found}


def carried_out(
    wanted: list[Trained], settings: Settings, workers: int, seconds: float
) -> Iterator[tuple[Trained, Tables]]:
    """Every network as it is finished; none is begun once the time is up."""
    end = time.time() + seconds
    if workers == 1:
        for each in wanted:
            if time.time() < end:
                with ProgressBar() as progress:
                    yield each, trained_and_measured(each, settings, progress)
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_alone) as pool:
        begun = {pool.submit(_in_time, each, settings, end): each for each in wanted}
        for future in as_completed(begun):
            try:
                found = future.result()
            except Exception as error:  # one network's failure must not cost the others
                print(f"{begun[future].name} failed: {error!r}", file=sys.stderr, flush=True)
                continue
            if found is not None:
                yield begun[future], found


def _in_time(which: Trained, settings: Settings, end: float) -> Tables | None:
    return trained_and_measured(which, settings) if time.time() < end else None


def _alone() -> None:
    """One thread per process: there are as many processes as cores."""
    torch.set_num_threads(1)


def said(which: Trained, found: Tables) -> dict[str, Any]:
    """What a finished network says of itself in one line."""
    row: dict[str, Any] = found["networks"].to_pylist()[0]
    return {"name": which.name} | {key: row[key] for key in ("accuracy", "seconds_training", "seconds_measuring")}
