"""Fawzi & Frossard 2016, Table 1: test error and affine robustness of eight MNIST networks.

    python papers/fawzi2016/table1.py [--device cuda --workers 8]

Trains every network with every seed (what lies in --weights already is gone on with or only read), measures ρ̂ under
the affine prior at three α on the same images and draws for all of them, and writes table1.md, table1.parquet,
environment.json and table1.toml into --out: the study that was measured, which `brittle run` measures again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

import brittle
from brittle.engine.store.run_folder import environment
from brittle.progress import Progress, ProgressBar
from brittle.training import train

HERE = Path(__file__).parent
ALPHAS = (100, 50, 10)
PAPER = {  # test error in %, ρ̂ at α = 100, 50, 10
    "cnn-1": (1.26, 0.90, 0.76, 0.30),
    "cnn-1-dropout": (0.88, 0.90, 0.77, 0.31),
    "cnn-1-da": (1.04, 0.93, 0.85, 0.44),
    "cnn-1-stn": (0.93, 0.96, 0.90, 0.52),
    "cnn-2": (1.16, 0.94, 0.83, 0.36),
    "cnn-2-dropout": (0.68, 0.93, 0.82, 0.37),
    "cnn-2-da": (1.09, 0.94, 0.87, 0.48),
    "cnn-2-stn": (0.79, 0.96, 0.90, 0.53),
}
NEAR = 0.03
HEADER = "# What papers/fawzi2016/table1.py measures, once it has trained the weights.\n"


def trained(network: str, seed: int, options: argparse.Namespace, progress: Any = None) -> dict[str, Any]:
    """One network, trained into a file of its own."""
    out = options.weights / f"{network}-seed{seed}.safetensors"
    spec = f"{network}:shift={options.shift}" if options.shift is not None and network[6:] in ("da", "stn") else network
    return train(
        spec,
        options.train,
        out,
        test=options.test,
        epochs=options.epochs,
        seed=seed,
        device=options.device,
        progress=progress,
    )


def train_all(options: argparse.Namespace) -> dict[tuple[str, int], dict[str, Any]]:
    """(network, seed) → how its training went; several at a time with --workers, since small networks leave a GPU
    waiting for their Python."""
    wanted = list(itertools.product(options.networks, options.seeds))
    found = {}
    if options.workers == 1:
        for each in wanted:
            with ProgressBar() as progress:
                found[each] = trained(*each, options, progress)
            say_trained(each, found[each])
        return found
    with pool(options) as workers:
        longest_first = sorted(wanted, key=lambda each: (not each[0].endswith("stn"), -list(PAPER).index(each[0])))
        begun = {workers.submit(trained, *each, options): each for each in longest_first}
        for future in as_completed(begun):
            found[begun[future]] = future.result()
            say_trained(begun[future], future.result())
    return found


def pool(options: argparse.Namespace) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(options.workers, multiprocessing.get_context("spawn"))


def say_trained(which: tuple[str, int], went: dict[str, Any]) -> None:
    network, seed = which
    error, seconds = went["test_error"], went["seconds"]
    print(f"{network}, seed {seed}: test error {error:.2%}, {seconds:.0f} s", file=sys.stderr, flush=True)


def measure(went: dict[tuple[str, int], dict[str, Any]], options: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for every network, seed and α."""
    if options.workers == 1:
        found = [row for seed in options.seeds for row in measure_seed(went, seed, options, ProgressBar())]
    else:
        with pool(options) as workers:
            begun = [workers.submit(measure_seed, went, seed, options) for seed in options.seeds]
            found = [row for future in begun for row in future.result()]
    return sorted(found, key=lambda row: (list(PAPER).index(row["network"]), row["seed"], -row["alpha"]))


def study_of(
    went: dict[tuple[str, int], dict[str, Any]], seeds: list[int], options: argparse.Namespace
) -> dict[str, Any]:
    """What is measured, as a study file has it."""
    trained_with = itertools.product(options.networks, seeds)
    return {
        "title": "Fawzi & Frossard 2016, Table 1",
        "classifiers": {f"{net}-seed{seed}": went[net, seed]["classifier"] for net, seed in trained_with},
        "images": {"test": {"spec": options.test, "count": options.images}},
        "nuisances": {f"alpha={alpha}": f"affine:alpha={alpha}" for alpha in ALPHAS},
        "robustness": {"samples": options.samples},
    }


def measure_seed(
    went: dict[tuple[str, int], dict[str, Any]],
    seed: int,
    options: argparse.Namespace,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Rows of the networks trained with one seed, measured on the same images and draws, as those of every seed are."""
    study = study_of(went, [seed], options)
    with progress or Progress() as shown:
        results = brittle.run(study, device=options.device, progress=shown)["measures"]["robustness"]["results"]
    rows = []
    for result in results:
        network = result["classifier"].removesuffix(f"-seed{seed}")
        alpha = int(result["nuisance"].removeprefix("alpha="))
        paper_error, *paper_rho = PAPER[network]
        printed = paper_rho[ALPHAS.index(alpha)]
        rows.append(
            {
                "network": network,
                "seed": seed,
                "alpha": alpha,
                "test_error": went[network, seed]["test_error"],
                "paper_test_error": paper_error / 100,
                "rho": result["rho"],
                "low": result["interval"][0],
                "high": result["interval"][1],
                "paper_rho": printed,
                "difference": result["rho"] - printed,
                "accuracy_nuisance": result["accuracy_nuisance"],
                "images": result["images"],
                "samples": result["samples"],
                "epochs": options.epochs,
            }
        )
    return rows


def table(rows: list[dict[str, Any]], options: argparse.Namespace) -> str:
    """The table as Markdown: means over the seeds beside the paper's figures, then every training."""
    networks = list(dict.fromkeys(row["network"] for row in rows))
    seeds = sorted({row["seed"] for row in rows})
    near, cells, lines = 0, 0, []
    for network in networks:
        of = [row for row in rows if row["network"] == network]
        errors = [row["test_error"] for row in of if row["alpha"] == ALPHAS[0]]
        shown = [f"{statistics.mean(errors):.2%} ({of[0]['paper_test_error']:.2%})"]
        for alpha in ALPHAS:
            rho = [row["rho"] for row in of if row["alpha"] == alpha]
            printed = next(row["paper_rho"] for row in of if row["alpha"] == alpha)
            difference = statistics.mean(rho) - printed
            cells, near = cells + 1, near + (abs(difference) <= NEAR)
            spread = f" [{min(rho):.3f}, {max(rho):.3f}]" if len(rho) > 1 else ""
            mark = "" if abs(difference) <= NEAR else " **"
            shown.append(f"{statistics.mean(rho):.3f}{spread} ({printed:.2f}, {difference:+.3f}){mark}")
        lines.append(f"| {network} | " + " | ".join(shown) + " |")
    each = [
        f"| {row['network']} | {row['seed']} | {row['alpha']} | {row['test_error']:.2%} | {row['rho']:.3f} "
        f"[{row['low']:.3f}, {row['high']:.3f}] | {row['accuracy_nuisance']:.3f} | {row['paper_rho']:.2f} "
        f"| {row['difference']:+.3f} |"
        for row in rows
    ]
    heads = " | ".join(f"ρ̂ (α = {alpha})" for alpha in ALPHAS)
    first = rows[0]
    return "\n".join(
        [
            "# Fawzi & Frossard 2016, Table 1",
            "",
            f"{len(networks)} MNIST networks, {options.epochs} epochs, seeds {', '.join(map(str, seeds))}; "
            f"M = {first['images']} test images, N = {first['samples']} draws each.",
            "Mean over the seeds [least, greatest] (paper, difference); ** marks a mean more than "
            f"{NEAR} from the paper's figure: {near} of {cells} cells are nearer.",
            "",
            f"| network | test error (paper) | {heads} |",
            "| --- | --- | --- | --- | --- |",
            *lines,
            "",
            "Every training, with 95 % intervals for the population that the images were drawn from:",
            "",
            "| network | seed | α | test error | ρ̂ [interval] | accuracy | paper ρ̂ | difference |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
            *each,
            "",
        ]
    )


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/mnist"), help="folder with the idx files")
    parser.add_argument("--train", help="training images' spec, instead of those in --data")
    parser.add_argument("--test", help="test images' spec, instead of those in --data")
    parser.add_argument("--networks", nargs="+", choices=list(PAPER), default=list(PAPER), help="all by default")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--images", type=int, default=1000, help="M, drawn from the test images")
    parser.add_argument("--samples", type=int, default=1000, help="N, draws of θ an image")
    parser.add_argument("--shift", type=int, help="pixels by which augmentation translates; the networks' own, 3")
    parser.add_argument("--device", help="cpu, cuda …; a GPU where there is one")
    parser.add_argument("--workers", type=int, default=1, help="trainings at a time")
    parser.add_argument("--weights", type=Path, default=Path("build/fawzi2016"), help="folder for the weights")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for the table")
    options = parser.parse_args(arguments)
    options.train = options.train or idx(options.data, "train")
    options.test = options.test or idx(options.data, "t10k")
    return options


def idx(folder: Path, split: str) -> str:
    """The spec of one of MNIST's two halves, gzipped or plain."""
    end = ".gz" if (folder / f"{split}-images-idx3-ubyte.gz").exists() else ""
    return f"idx:{folder}/{split}-images-idx3-ubyte{end},labels={folder}/{split}-labels-idx1-ubyte{end}"


def main() -> None:
    options = parsed()
    begun = time.monotonic()
    went = train_all(options)
    between = time.monotonic()
    rows = measure(went, options)
    seconds = {"training": round(between - begun, 1), "measuring": round(time.monotonic() - between, 1)}
    options.out.mkdir(parents=True, exist_ok=True)
    page = table(rows, options)
    (options.out / "table1.md").write_text(page, encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows), options.out / "table1.parquet")
    study = tomli_w.dumps(study_of(went, options.seeds, options))
    (options.out / "table1.toml").write_text(HEADER + study, encoding="utf-8")
    said = environment() | {"options": {key: str(value) for key, value in vars(options).items()}, "seconds": seconds}
    (options.out / "environment.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
