"""Hardening on weak points against hardening on plain draws of the prior, as Markdown and Parquet.

    python benchmarks/harden.py --mnist DIR --fashion DIR [--device cuda --workers 8] [--out FOLDER]

DIR holds the four idx files of a data set. MNIST: `brittle train cnn-2`, a network for every seed, or --classifier;
FashionMNIST: `bundled:plain`. A method gets --rounds rounds of --steps steps on --images training images. --test-images
test images are split into a part that chooses the round (the greatest ρ̂, whatever it costs, of the rounds' own
weights) and a part that is measured, the same images and θ for every method.

Compute is counted in classifier calls: one for every θ that sampling looks at, three for every image of a training step
(forward and backward). Weak points cost both, so "prior, as many calls" gets as many steps more as sampling would pay.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch

import brittle
from brittle.engine.store.run_folder import environment
from brittle.hardening.options import HardeningOptions
from brittle.hardening.prepare import split_images
from brittle.hardening.rounds import CALLS_OF_A_STEP
from brittle.training import train

METHODS = ("weak points, equal", "weak points, corrected", "prior, as many steps", "prior, as many calls")
NUMBERS = ("rho", "accuracy_nuisance", "accuracy_worst", "accuracy_clean")
BASE = "prior, as many calls"


def image_sets(folder: Path, options: argparse.Namespace) -> tuple[brittle.ImageSet, brittle.ImageSet]:
    """Training and test images."""
    training, test = (
        brittle.image_set(f"idx:{folder}/{part}-images-idx3-ubyte.gz,labels={folder}/{part}-labels-idx1-ubyte.gz")
        for part in ("train", "t10k")
    )
    return training.choose(options.images, 0), test.choose(options.test_images, 0)


def options_of(method: str, options: argparse.Namespace) -> dict[str, Any]:
    """How `brittle.harden` is called for a method."""
    settings = {"rounds": options.rounds, "steps": options.steps, "rate": options.lr, "calls": options.calls}
    settings |= {"ways": (1.0,), "cost": 1.0, "samples": 1}
    if method.startswith("weak points"):
        return settings | {"on": "weak-points", "loss": method.removeprefix("weak points, ")}
    if method == BASE:
        settings["steps"] += round(options.calls / (CALLS_OF_A_STEP * HardeningOptions().batch_size))
    return settings | {"on": "prior"}


def classifier_of(data: str, seed: int, options: argparse.Namespace) -> str:
    if data == "FashionMNIST":
        return "bundled:plain"
    if options.classifier:
        return str(options.classifier)
    folder = options.mnist
    out = options.weights / f"cnn-2-seed{seed}.safetensors"
    images = f"idx:{folder}/train-images-idx3-ubyte.gz,labels={folder}/train-labels-idx1-ubyte.gz"
    return str(train("cnn-2", images, out, epochs=options.epochs, seed=seed, device=options.device)["classifier"])


def run(data: str, nuisance: str, seed: int, spec: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Every method on one data set against one nuisance with one seed, all measured on the same images and θ."""
    torch.set_num_threads(options.threads)
    training, test = image_sets(options.mnist if data == "MNIST" else options.fashion, options)
    done: dict[str, Any] = {"before": brittle.classifier(spec, device=options.device)}
    facts: dict[str, dict[str, Any]] = {"before": {"seconds": 0.0, "calls": 0, "steps": 0, "chosen": 0, "rounds": []}}
    for method in METHODS:
        settings = options_of(method, options)
        found = brittle.harden(spec, training, nuisance, test=test, seed=seed, device=options.device, **settings)
        done[method] = found.classifier
        facts[method] = {
            "seconds": sum(row["seconds"] for row in found.rounds),
            "calls": sum(found.summary["calls"].values()),
            "steps": settings["rounds"] * settings["steps"],
            "chosen": found.chosen,
            "rounds": found.rounds,
        }
    part = split_images(training, test, 0.2, seed).test
    measured = brittle.compare(done, part, nuisance, samples=options.samples, seed=seed, device=options.device)
    pairs = {(each["first"], each["second"]): each for each in measured["comparisons"]}
    rows = []
    for row in measured["results"]:
        name = row["classifier"]
        pair = pairs.get((name, BASE))
        against = [None, None, None] if pair is None else [pair["rho_difference"], *pair["rho_interval"]]
        rows.append(
            {
                "data": data,
                "nuisance": nuisance,
                "seed": seed,
                "method": name,
                "images": row["images"],
                "samples": row["samples"],
            }
            | {key: row[key] for key in NUMBERS}
            | dict(zip(("rho_less_base", "low", "high"), against, strict=True))
            | {key: value for key, value in facts[name].items() if key != "rounds"}
            | {"rounds": json.dumps(facts[name]["rounds"])}
        )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """One row a method: means over seeds, and the range over seeds where it matters."""
    lines = []
    for data, nuisance in dict.fromkeys((row["data"], row["nuisance"]) for row in rows):
        mine = [row for row in rows if (row["data"], row["nuisance"]) == (data, nuisance)]
        lines += [
            f"### {data}, {nuisance}",
            "",
            f"| | ρ̂ | ρ̂ less “{BASE}” | accuracy under the nuisance | worst of 10 | clean accuracy | steps | calls |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for method in ("before", *METHODS):
            here = [row for row in mine if row["method"] == method]
            mean = {key: statistics.fmean(row[key] for row in here) for key in (*NUMBERS, "calls", "steps")}
            low, high = min(row["rho"] for row in here), max(row["rho"] for row in here)
            pairs = [
                f"{row['rho_less_base']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
                for row in here
                if row["rho_less_base"] is not None
            ]
            lines.append(
                f"| {method} | {mean['rho']:.3f} ({low:.3f}–{high:.3f}) | {'; '.join(pairs) or '–'} "
                f"| {mean['accuracy_nuisance']:.3f} | {mean['accuracy_worst']:.3f} | {mean['accuracy_clean']:.4f} "
                f"| {mean['steps']:,.0f} | {mean['calls'] / 1e3:,.0f} k |"
            )
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mnist", type=Path, help="folder of MNIST's idx files")
    parser.add_argument("--fashion", type=Path, help="folder of FashionMNIST's idx files")
    parser.add_argument("--weights", type=Path, default=Path("build/harden"), help="where trained networks go")
    parser.add_argument("--out", type=Path, default=Path("build/harden"), help="for harden-table.md and .parquet")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2, help="of a worker, on a CPU")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=50, help="of MNIST's networks")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300, help="a round")
    parser.add_argument("--samples", type=int, default=50, help="draws of θ an image, in measuring")
    parser.add_argument("--calls", type=int, default=HardeningOptions().calls, help="a round, in sampling weak points")
    parser.add_argument("--images", type=int, help="training images, drawn; all by default")
    parser.add_argument("--test-images", type=int, help="test images, drawn; all by default")
    parser.add_argument("--nuisance", nargs="+", default=["affine:alpha=100", "affine:alpha=400"])
    parser.add_argument("--classifier", help="spec of an MNIST network to use for every seed")
    parser.add_argument("--lr", type=float, help="that of `brittle harden` by default")
    options = parser.parse_args()
    if not (options.mnist or options.fashion):
        parser.error("give --mnist, --fashion or both")
    begun = time.monotonic()
    options.weights.mkdir(parents=True, exist_ok=True)
    sets = [name for name, folder in (("MNIST", options.mnist), ("FashionMNIST", options.fashion)) if folder]
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(options.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        specs = {(data, seed): classifier_of(data, seed, options) for data in sets for seed in options.seeds}
        wanted = itertools.product(sets, options.nuisance, options.seeds)
        waiting = [pool.submit(run, *each, specs[each[0], each[2]], options) for each in wanted]
        for each in waiting:
            rows += each.result()
            last = ", ".join(f"{rows[-1][key]}" for key in ("data", "nuisance", "seed"))
            print(f"{last}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
            pq.write_table(pa.Table.from_pylist(rows), options.out / "harden.parquet", compression="zstd")
            (options.out / "harden-table.md").write_text(table(rows), encoding="utf-8")
    print(table(rows))
    said = environment() | {"options": {key: str(value) for key, value in vars(options).items()}}
    said |= {"seconds": round(time.monotonic() - begun, 1)}
    (options.out / "harden-environment.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    print(f"{said['device']}, {said['seconds']:.0f} s")


if __name__ == "__main__":
    main()
