"""Hardening with few images: what the recipe of `brittle harden` does to ρ̂ and to clean accuracy.

    python benchmarks/harden_few.py --fashion DIR [--device cuda --workers 8] [--try rate=0.0005,steps=100 …]

`bundled:plain` is hardened with the 1,000 images of `sample`, as someone with few images would, once for every seed (of
the split and of every draw) and every --try (options of `brittle.harden` that differ from the defaults). What comes out
is measured on FashionMNIST's 9,000 test images outside the sample, DIR holding its idx files.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch

import brittle
from brittle.registry import parse_spec

NUISANCE = "affine:alpha=100"
IN_SAMPLE = 100  # the first of each class
Moved = dict[str, float]


def outside(folder: Path) -> brittle.ImageSet:
    images = brittle.image_set(f"idx:{folder}/t10k-images-idx3-ubyte.gz,labels={folder}/t10k-labels-idx1-ubyte.gz")
    place = torch.stack([(images.labels == label).cumsum(0) for label in range(10)])
    return images.take((place.gather(0, images.labels[None])[0] > IN_SAMPLE).nonzero()[:, 0])


def options_of(text: str) -> dict[str, Any]:
    pairs = (part.partition("=") for part in parse_spec(f"harden:{text}").parts)
    return {key: tuple(map(float, value.split("/"))) if key == "ways" else value for key, _, value in pairs}


def moved(text: str, seed: int, options: argparse.Namespace) -> Moved:
    """What one hardening changes, on the images outside the sample and on its own test images."""
    torch.set_num_threads(options.threads)
    given = {"samples": 20} | options_of(text)
    done = brittle.harden(options.classifier, "sample", NUISANCE, seed=seed, device=options.device, **given)
    pair = {"after": done.classifier, "before": brittle.classifier(options.classifier, device=options.device)}
    found = brittle.compare(
        pair, outside(options.fashion), NUISANCE, samples=options.samples, seed=seed, device=options.device
    )["results"]
    after, before = (next(row for row in found if row["classifier"] == name) for name in pair)
    chosen = done.rounds[done.chosen]
    return {
        "rho": after["rho"] - before["rho"],
        "accuracy": after["accuracy_nuisance"] - before["accuracy_nuisance"],
        "clean": after["accuracy_clean"] - before["accuracy_clean"],
        "rho_here": done.difference["rho"],
        "clean_here": done.difference["accuracy_clean"],
        "round": chosen["round"],
        "way": chosen["way"],
    }


def line(text: str, rows: list[Moved]) -> str:
    def spread(key: str, scale: float = 1.0, digits: int = 3) -> str:
        values = [scale * row[key] for row in rows]
        return f"{statistics.mean(values):+.{digits}f} ({min(values):+.{digits}f} to {max(values):+.{digits}f})"

    chosen = ", ".join(f"{row['round']}·{row['way']:g}" for row in rows)
    numbers = (spread("rho"), spread("accuracy"), spread("clean", 100, 2), spread("rho_here"))
    return f"| {text or 'defaults'} | {' | '.join(numbers)} | {spread('clean_here', 100, 1)} | {chosen} |"


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--fashion", type=Path, default=Path("../shared/data/fashion-mnist"))
    parser.add_argument("--classifier", default="bundled:plain")
    parser.add_argument("--try", dest="tries", nargs="+", default=[""], help="option=value,…; the defaults by default")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--samples", type=int, default=5, help="draws of θ an image outside the sample")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2, help="of each worker")
    return parser.parse_args()


def main() -> None:
    options = parsed()
    print("| options | ρ̂ outside | accuracy under the nuisance | clean accuracy, points | ρ̂, own test images ", end="")
    print("| clean, own | round·way |\n| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    with ProcessPoolExecutor(options.workers, multiprocessing.get_context("spawn")) as workers:
        begun = [[workers.submit(moved, each, seed, options) for seed in options.seeds] for each in options.tries]
        for text, futures in zip(options.tries, begun, strict=True):
            print(line(text, [future.result() for future in futures]), flush=True)
            print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
