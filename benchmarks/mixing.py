"""What augmentation costs: the rate of whole epochs as a share of the bare training step's, measured in one run.

    python benchmarks/mixing.py [--device cuda] [--batch 128] [--compile]

The bare step is forward, backward and SGD on one batch that stays on the device, with the same network, precision,
capture and compilation. An epoch is everything that `brittle train` does in one: order, draws, fetching, crop and flip
(but for "none"), mixing, losses. Images are random ones of FashionMNIST's shape. The ways take turns, --turns each, and
each ratio is of one turn's two rates.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import brittle
from brittle.training import trainable
from brittle.training.data import TrainingImages
from brittle.training.options import Recipe, TrainingOptions
from brittle.training.plan import TrainingPlan, training_plan
from brittle.training.trainer import optimiser_for, seeded, train

MIXES = ("mixup", "cutmix", "fmix", "random-masks", "cutout")
WARM_UP = 5  # bare steps before the clock starts, three of them before capture


def random_images(count: int, shape: tuple[int, int, int], classes: int, device: str) -> TrainingImages:
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (count, *shape[1:], shape[0]), dtype=np.uint8)
    return TrainingImages(brittle.image_set((pixels, random.integers(0, classes, count)), name="noise"), device)


def plans(kind: Any, device: torch.device, others: TrainingImages) -> dict[str, TrainingPlan]:
    moves: dict[str, Any] = {"crop": 4, "flip": True}
    wanted = {"none": TrainingOptions(), "crop and flip": TrainingOptions(**moves)}
    wanted |= {mix: TrainingOptions(mix=mix, **moves) for mix in MIXES}
    wanted["fmix, reformulated, with other images"] = TrainingOptions(
        mix="fmix", objective="reformulated", mix_with=others, **moves
    )
    return {name: training_plan(kind, options, 0, device) for name, options in wanted.items()}


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def bare_step(module: nn.Module, data: TrainingImages, recipe: Recipe, compiled: bool) -> Callable[[], None]:
    """A function that trains on the same batch again."""
    module.to(data.device, memory_format=torch.channels_last).train()  # type: ignore[call-overload]
    batch = data.batch(torch.arange(recipe.batch, device=data.device))
    images = batch.images.contiguous(memory_format=torch.channels_last)
    optimiser = optimiser_for(recipe, module)
    called = torch.compile(module, dynamic=False) if compiled else module

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(data.device.type, torch.bfloat16, enabled=recipe.precision == "bfloat16"):
            loss = F.cross_entropy(called(images), batch.labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    if data.device.type != "cuda":
        return step
    stream = torch.cuda.Stream(data.device)  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream(data.device))
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream(data.device).wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    held = graph, step  # a graph reads the memory that the step's tensors lie in
    return lambda: held[0].replay()


def bare_rate(step: Callable[[], None], recipe: Recipe, steps: int, device: torch.device) -> float:
    for _ in range(WARM_UP):
        step()
    synchronise(device)
    begun = time.perf_counter()
    for _ in range(steps):
        step()
    synchronise(device)
    return steps * recipe.batch / (time.perf_counter() - begun)


def epoch_rate(
    module: nn.Module, data: TrainingImages, recipe: Recipe, plan: TrainingPlan, compiled: bool, epochs: int
) -> float:
    """Images a second; start, warm-up and capture are taken off by way of a training of one epoch."""
    seconds = []
    for count in (1, 1 + epochs):
        begun = time.perf_counter()
        train(
            module,
            data,
            replace(recipe, epochs=count),
            transform=plan.augmentation,
            loss=plan.loss,
            record=plan.record,
            capture=True,
            compiled=compiled,
        )
        seconds.append(time.perf_counter() - begun)
    return epochs * len(data) / (seconds[1] - seconds[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--network", default="preact-resnet-18")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--precision", default="bfloat16", choices=("float32", "bfloat16"))
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--images", type=int, default=60_000)
    parser.add_argument("--epochs", type=int, default=2, help="that are timed, per turn")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    device, kind = torch.device(options.device), trainable.build(options.network)
    recipe = replace(kind.recipe, batch=options.batch, precision=options.precision, rate=1e-3)
    data = random_images(options.images, kind.shape, kind.classes, options.device)
    ways = plans(kind, device, random_images(options.images, kind.shape, kind.classes, options.device))
    bare_module, module = seeded(kind.module, 0), seeded(kind.module, 0)
    step = bare_step(bare_module, data, recipe, options.compile)
    bare, rates = list[float](), {name: list[float]() for name in ways}
    for _ in range(options.turns):
        bare.append(bare_rate(step, recipe, options.epochs * options.images // options.batch, device))
        for name, plan in ways.items():
            rates[name].append(epoch_rate(module, data, recipe, plan, options.compile, options.epochs))
    where = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    how = ", compiled" if options.compile else ""
    print(f"{where}, torch {torch.__version__}; {options.network}, {options.precision}, batch {options.batch}{how}")
    alone = f"{statistics.median(bare):,.0f} images a second"
    print(f"bare step: {alone}; medians of {options.turns} turns (least to greatest)\n")
    print("| augmentation | images a second | epoch / bare step |")
    print("| --- | --- | --- |")
    for name, found in rates.items():
        ratios = [epoch / one for epoch, one in zip(found, bare, strict=True)]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"| {name} | {statistics.median(found):,.0f} | {spread} |")


if __name__ == "__main__":
    main()
