"""Failure points beside plain `measure` on the same number of evaluations, and what ending paths early saves.

1,000 images × 20 severities against 1,000 images × 20 draws: both from images in memory to the summary, turn by turn in
one run. Then the same paths ended at their first failure. `python benchmarks/sweeps.py` prints Markdown. With
`--cpu-time`, time is that of the processor, which says more on a machine that is busy with something else.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import brittle
from brittle.allocator import keep_mapped

Clock = Callable[[], float]

IMAGES, SEVERITIES = 1000, 20
NUISANCES = {
    "affine": {"step": 0.125, "limit": 2.5},
    "noise:sigma=0.1": {"step": 5, "limit": 100},
    "fog:level=1,spread=0": {"step": 0.25, "limit": 5},
}


def seconds(work: Callable[[], object], device: torch.device, clock: Clock) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
    start = clock()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return clock() - start


def compare(spec: str, grid: dict[str, float], device: torch.device, turns: int, clock: Clock) -> None:
    classifier = brittle.classifier("bundled:plain", device=str(device))
    sample = brittle.image_set("sample")

    def measured() -> None:
        brittle.measure(classifier, sample, spec, samples=SEVERITIES, count=IMAGES, device=str(device))

    def followed(**options: Any) -> dict[str, Any]:
        return brittle.failure_points(classifier, sample, spec, count=IMAGES, device=str(device), **grid, **options)

    whole, short = followed(), followed(only="first")
    measured()
    ratios, faster = [], []
    for _ in range(turns):
        plain, all_of_it = seconds(measured, device, clock), seconds(followed, device, clock)
        ratios.append(plain / all_of_it)
        faster.append(all_of_it / seconds(lambda: followed(only="first"), device, clock))
    saved = short["calls_saved"] / (short["calls"] + short["calls_saved"])
    print(
        f"| {spec} | {whole['calls']:,} | {_told(ratios)} | {short['calls']:,} ({saved:.0%} saved) | {_told(faster)} |",
        flush=True,
    )


def _told(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--cpu-time", action="store_true", help="time of the processor, not of the clock")
    asked = parser.parse_args()
    device = torch.device(asked.device)
    if device.type == "cpu":
        keep_mapped()
    machine = f"torch {torch.__version__}, {device}, {torch.get_num_threads()} threads"
    work = f"bundled:plain, {IMAGES} images × {SEVERITIES} severities"
    of = " of processor time" if asked.cpu_time else ""
    print(f"{machine}; {work}; medians of {asked.turns} turns (range){of}\n")
    print("| nuisance | calls | speed ÷ `measure` | calls with `only=first` | its speed-up |")
    print("| --- | --- | --- | --- | --- |")
    for spec, grid in NUISANCES.items():
        compare(spec, grid, device, asked.turns, time.process_time if asked.cpu_time else time.perf_counter)


if __name__ == "__main__":
    main()
