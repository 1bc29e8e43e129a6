"""Functions as nuisances: images per second through `brittle.nuisance(fn)` beside calling the function plainly.

A function that draws nothing is called once per batch, as it would be plainly. A random one is called once per image,
with generators seeded for each; beside it stands a plain loop over the images without seeding. Torchvision,
albumentations and Kornia are left out where they are not installed.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

import brittle
from brittle.types import Batch

BATCH, TURNS, SIZES = 128, 7, ((1, 28), (3, 224))


def blur(images: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.avg_pool2d(images, 3, 1, 1)


def noise(image: torch.Tensor) -> torch.Tensor:
    return (image + 0.1 * torch.randn_like(image)).clamp(0, 1)


def each(function: Callable[[Any], Any]) -> Callable[[torch.Tensor], Any]:
    return lambda images: torch.stack([function(image) for image in images])


def array(image: torch.Tensor) -> np.ndarray:
    return np.ascontiguousarray((image * 255).byte().permute(1, 2, 0).numpy())


def cases() -> Iterator[tuple[str, Any, Callable[[torch.Tensor], Any]]]:
    """What is timed, the function, and the plain way to call it on a batch."""
    yield "3×3 mean of a batch, draws nothing", blur, blur
    yield "noise on an image, random", noise, each(noise)
    try:
        transforms: Any = importlib.import_module("torchvision.transforms.v2")
        turn = transforms.RandomRotation(30)
        yield "torchvision v2 RandomRotation", turn, each(turn)
    except (ImportError, RuntimeError):
        pass
    try:
        albumentations: Any = importlib.import_module("albumentations")
        rotate = albumentations.Rotate(30, p=1.0)
        yield "albumentations Rotate", rotate, lambda images: [rotate(image=array(image)) for image in images]
    except ImportError:
        pass
    try:
        kornia: Any = importlib.import_module("kornia.augmentation")
        turned = kornia.RandomRotation(30.0, p=1.0)
        yield "Kornia RandomRotation, against one image at a time", turned, each(lambda image: turned(image[None])[0])
        yield "Kornia RandomRotation, against whole batches", turned, turned
    except ImportError:
        pass


def rate(work: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    work()
    return count / (time.perf_counter() - start)


@torch.inference_mode()
def main() -> None:
    print(f"torch {torch.__version__}, {torch.get_num_threads()} thread, batch {BATCH}; images/s, median of {TURNS}\n")
    print("| function | size | plainly | as a nuisance | ratio |\n| --- | --- | --- | --- | --- |")
    for channels, side in SIZES:
        count = BATCH if side < 100 else BATCH // 4
        ids = torch.arange(count)
        batch = Batch(torch.rand(count, channels, side, side), ids, ids)
        for name, function, plain in cases():
            nuisance = brittle.nuisance(function)
            nuisance.check((channels, side, side))
            theta = nuisance.sample(batch, ids[:, None])[:, 0]
            rates: tuple[list[float], list[float]] = ([], [])
            for _ in range(TURNS):
                rates[0].append(rate(partial(plain, batch.images), count))
                rates[1].append(rate(partial(nuisance.apply, batch, theta), count))
            before, after = map(statistics.median, rates)
            print(f"| {name} | {channels}×{side}×{side} | {before:,.0f} | {after:,.0f} | {after / before:.2f} |")


if __name__ == "__main__":
    main()
