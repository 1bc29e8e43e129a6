"""What the trainer's CUDA graphs and mixed precision are worth: images a second, as ratios measured in one run.

    python benchmarks/training.py [--device cuda]

Networks: two of `brittle train` and, where torchvision is there, ResNet-18 on 3×64×64 and 3×224×224; random images. The
ways take turns, --turns each; a turn is an epoch. The loss says whether bfloat16 trains as float32 does: it is the mean
over the last epoch of a training on `sample` (networks of 28×28 only).
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

import brittle
from brittle.training import trainable
from brittle.training.data import TrainingImages
from brittle.training.options import Recipe
from brittle.training.trainer import seeded, train

WAYS = {
    "float32": ("float32", False),
    "float32, captured": ("float32", True),
    "bfloat16": ("bfloat16", False),
    "bfloat16, captured": ("bfloat16", True),
}


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[], nn.Module]
    shape: tuple[int, int, int]
    images: int  # an epoch
    recipe: Recipe


def cases(share: float) -> list[Case]:
    small = [
        Case(name, kind.module, kind.shape, int(20_000 * share), replace(kind.recipe, epochs=1))
        for name in ("cnn-2", "small-plain")
        for kind in [trainable.build(name)]
    ]
    try:
        from torchvision.models import resnet18
    except ImportError:
        return small
    photographs = Recipe(epochs=1, batch=128, rate=0.01)
    return [
        *small,
        Case("ResNet-18, 64×64", resnet18, (3, 64, 64), int(8_000 * share), photographs),
        Case("ResNet-18, 224×224", resnet18, (3, 224, 224), int(4_000 * share), photographs),
    ]


def data_of(case: Case, device: str) -> TrainingImages:
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (case.images, *case.shape[1:], case.shape[0]), dtype=np.uint8)
    labels = random.integers(0, 10, case.images)
    return TrainingImages(brittle.image_set((pixels, labels), name="noise"), device)


def rate(case: Case, data: TrainingImages, way: str) -> float:
    """Images a second, the warm-up and the capture taken off by way of a short training before the long one."""
    precision, capture = WAYS[way]
    seconds = []
    for epochs in (1, 3):
        recipe = replace(case.recipe, epochs=epochs, precision=precision)  # type: ignore[arg-type]
        module = seeded(case.make, 0)
        begun = time.perf_counter()
        train(module, data, recipe, capture=capture)
        seconds.append(time.perf_counter() - begun)
    return 2 * len(data) / (seconds[1] - seconds[0])


def last_loss(case: Case, device: str, way: str) -> float:
    precision, capture = WAYS[way]
    recipe = replace(case.recipe, epochs=10, batch=50, precision=precision)  # type: ignore[arg-type]
    data = TrainingImages(brittle.image_set("sample"), device)
    return train(seeded(case.make, 0), data, recipe, capture=capture).losses[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0, help="of the images that an epoch has")
    options = parser.parse_args()
    where = torch.cuda.get_device_name() if options.device.startswith("cuda") else "CPU"
    ways = [way for way, (_, capture) in WAYS.items() if not capture or options.device.startswith("cuda")]
    print(f"{where}, torch {torch.__version__}; medians of {options.turns} turns (least to greatest)\n")
    print("| network | float32, images a second | " + " | ".join(f"{way} / float32" for way in ways[1:]), end="")
    print(" | last loss, " + " / ".join(ways) + " |")
    print("| --- | --- | " + " | ".join("---" for _ in ways[1:]) + " | --- |", flush=True)
    for case in cases(options.share):
        data = data_of(case, options.device)
        rates: dict[str, list[float]] = {way: [] for way in ways}
        for _, way in itertools.product(range(options.turns), ways):
            rates[way].append(rate(case, data, way))
        ratios: Any = [[new / old for new, old in zip(rates[way], rates["float32"], strict=True)] for way in ways[1:]]
        told = [f"{statistics.median(each):.2f} ({min(each):.2f} to {max(each):.2f})" for each in ratios]
        losses = "–"
        if case.shape[0] == 1:
            losses = " / ".join(f"{last_loss(case, options.device, way):.3f}" for way in ways)
        first = f"{statistics.median(rates['float32']):,.0f}"
        print(f"| {case.name} | {first} | {' | '.join(told)} | {losses} |", flush=True)


if __name__ == "__main__":
    main()
