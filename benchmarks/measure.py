"""Images per second of a whole measurement as a ratio to the bare forward pass of the same classifier.

Both are timed in one run, turn by turn, since machines are noisy: the bare forward pass (log_softmax of the module on
one resident batch, at the best of several batch sizes, which is searched first) against `measure` from images in memory
to the summary with its interval. Printed are medians over the turns, with the lowest and highest, and where the time
inside a measurement goes, each part timed alone on the same batch. `python benchmarks/measure.py` prints Markdown.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from lenet import LeNet5
from torch import Tensor, nn

import brittle
from brittle.allocator import keep_mapped
from brittle.measures.draws import draw_theta
from brittle.measures.outcomes import outcome
from brittle.random import stream_root

IMAGES, DRAWS, TURNS = 1000, 60, 15
BATCHES = (32, 64, 128, 256, 512, 1024, 2048)


def timed(work: Callable[[], object], device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def bare_rate(module: nn.Module, images: Tensor, size: int) -> float:
    """Images per second of the module alone, over about as many images as a turn of `measure` classifies."""
    batch = images[:size].contiguous(memory_format=torch.channels_last)
    calls = max(1, IMAGES * DRAWS // size)

    def work() -> None:
        for _ in range(calls):
            module(batch).log_softmax(1)

    return calls * size / timed(work, images.device)


def parts(classifier: brittle.Classifier, module: nn.Module, size: int, device: torch.device) -> dict[str, float]:
    """Milliseconds per batch of each step of the hot loop, the median of many."""
    space, batch = brittle.nuisance("affine:alpha=50"), brittle.image_set("sample").batch(range(1000), device)
    rows = torch.arange(size, device=device) % 1000
    root, draws = stream_root(0, "affine", device), torch.arange(size, device=device)
    chosen = batch.take(rows)
    theta = draw_theta(space, chosen, draws, root)
    moved = space.apply(chosen, theta)
    log_probs = classifier.log_probs(moved)
    still = moved.contiguous(memory_format=torch.channels_last)
    steps: dict[str, Callable[[], object]] = {
        "gather the images": lambda: batch.take(rows),
        "draw θ": lambda: draw_theta(space, chosen, draws, root),
        "warp": lambda: space.apply(chosen, theta),
        "classify": lambda: module(still).log_softmax(1),
        "read off the outcomes": lambda: outcome(log_probs, chosen.labels),
    }
    return {name: 1000 * statistics.median(timed(step, device) for _ in range(40)) for name, step in steps.items()}


@torch.inference_mode()
def compare(name: str, module: nn.Module, device: torch.device) -> None:
    module.eval().to(device, memory_format=torch.channels_last)
    classifier = brittle.classifier(module, device=str(device))
    sample = brittle.image_set("sample")
    images = sample.batch(torch.arange(2048) % 1000, device).images
    for size in BATCHES:
        bare_rate(module, images, size)
    best = max(BATCHES, key=lambda size: max(bare_rate(module, images, size) for _ in range(3)))

    def measured() -> None:
        brittle.measure(classifier, sample, "affine:alpha=50", samples=DRAWS, device=str(device))

    measured()
    bare, whole = [], []
    for _ in range(TURNS):
        bare.append(bare_rate(module, images, best))
        whole.append(IMAGES * (DRAWS + 1) / timed(measured, device))
    ratios = [ours / theirs for ours, theirs in zip(whole, bare, strict=True)]
    print(
        f"| {name} | {statistics.median(bare):,.0f} ({best}) | {statistics.median(whole):,.0f} | "
        f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |",
        flush=True,
    )


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    device = torch.device(parser.parse_args().device)
    if device.type == "cpu":
        keep_mapped()  # for both sides: a bare loop that has not done this is slower than what it is compared with
    bundled = brittle.classifier("bundled:plain", device=str(device))
    print(f"torch {torch.__version__}, {device}, {torch.get_num_threads()} threads; {IMAGES} images × {DRAWS} draws\n")
    print("| classifier, 28×28 | bare forward, images/s (best batch) | measure, images/s | ratio, median (range) |")
    print("| --- | --- | --- | --- |")
    compare("LeNet-5", LeNet5(), device)
    compare("bundled:plain", bundled.module, device)
    size = 512 if device.type == "cpu" else 8192
    found = parts(bundled, bundled.module, size, device)
    print(f"\nWhere a batch of {size} goes, bundled:plain:\n\n| step | ms | share |\n| --- | --- | --- |")
    for step, milliseconds in found.items():
        print(f"| {step} | {milliseconds:.2f} | {milliseconds / sum(found.values()):.0%} |")


if __name__ == "__main__":
    main()
