"""Feldman & Zhang's (2020) estimator: which training images are memorised, and which test images they decide.

    python papers/marcu2022/memorisation.py train --seeds 0 250 --minutes 8 [--device cuda]   # resumed where it stopped
    python papers/marcu2022/memorisation.py pairs                         # what follows from all of them, on a CPU
    python papers/marcu2022/memorisation.py train --seeds 0 6 --small     # a few images, to see that it works

Several ranges of seeds may be trained side by side; each has a file of its own in --out.

Many small networks are trained, each on a random 70 % of FashionMNIST's training images, and of every image of both
splits it is kept whether they get it right. With P over networks,

    mem(i) = P(i right | i in the training set) − P(i right | i not in it)
    infl(i, j) = P(j right | i in the training set) − P(j right | i not in it)      test image j

and (i, j) is a pair where mem(i) ≥ 0.25 and infl(i, j) ≥ 0.15, as in their section 3. So many differences of shares are
estimated that some exceed 0.15 by chance: `pairs` counts how many do when networks exchange their training sets, too.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import data
import numpy as np
import torch
from numpy.typing import NDArray

from brittle.images.variants import Subsample
from brittle.memory import in_pieces
from brittle.training import trainable
from brittle.training.data import TrainingImages
from brittle.training.trainer import seeded
from brittle.training.trainer import train as fitted

HERE = Path(__file__).parent
SHARE, NETWORK, EPOCHS = 0.7, "small-plain", 12
MEMORY, INFLUENCE = 0.25, 0.15
AT_ONCE, KEPT_EVERY = 10_000, 20
SPLITS = ("train", "t10k")
Bits = NDArray[np.bool_]
Answers = dict[str, list[Any]]  # seeds, and by split the packed bits of each network


def training_set(whole: TrainingImages, seed: int) -> TrainingImages:
    return TrainingImages(Subsample(whole.set, share=SHARE, seed=seed).load(), whole.device)


@torch.inference_mode()
def right(module: torch.nn.Module, images: TrainingImages) -> Bits:
    """Which images (n,) the module gets right."""
    module.eval()
    said = []
    for rows in torch.split(torch.arange(len(images), device=images.device), AT_ONCE):
        batch = images.batch(rows)
        said.append(in_pieces(module, batch.images).argmax(1) == batch.labels)
    return np.asarray(torch.cat(said).cpu().numpy())


def train(options: argparse.Namespace) -> None:
    """Adds networks until there are enough, or the time is up."""
    end, kind = time.monotonic() + 60 * options.minutes, trainable.build(NETWORK)
    sets, (first, last) = splits(options, options.device), options.seeds
    file = options.out / f"{'small' if options.small else 'seeds'}-{first:05}.npz"
    kept: Answers = read(file) if file.exists() else {name: [] for name in ("seeds", *SPLITS)}
    recipe = replace(kind.recipe, epochs=1 if options.small else EPOCHS)
    for seed in range(first + len(kept["seeds"]), last):
        if time.monotonic() >= end:
            break
        module = seeded(kind.module, seed)
        fitted(module, training_set(sets[0], seed), recipe, seed=seed, capture=kind.capture)
        kept["seeds"].append(seed)
        for split, images in zip(SPLITS, sets, strict=True):
            kept[split].append(np.packbits(right(module, images)))
        if len(kept["seeds"]) % KEPT_EVERY == 0:
            write(file, kept)
    write(file, kept)
    print(f"{len(kept['seeds'])} of {last - first} networks", file=sys.stderr)


def splits(options: argparse.Namespace, device: str) -> list[TrainingImages]:
    """Both splits."""
    specs = [data.fashion(options.data, split) for split in SPLITS]
    specs = [data.part(each, 0.005) if options.small else each for each in specs]
    return [TrainingImages(data.load(each), device) for each in specs]


def read(file: Path) -> Answers:
    found = np.load(file)
    return {name: list(found[name]) for name in ("seeds", *SPLITS)}


def write(file: Path, kept: Answers) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    half = file.with_suffix(".half.npz")
    np.savez_compressed(half, **{name: np.asarray(values) for name, values in kept.items()})
    half.replace(file)


def members(whole: TrainingImages, seeds: list[int]) -> Bits:
    """Which training images (T, n) each network was trained on, drawn again."""
    subsets = (Subsample(whole.set, share=SHARE, seed=seed).load() for seed in seeds)
    return np.stack([np.isin(whole.set.ids.numpy(), each.ids.numpy()) for each in subsets])


def memory(seen: Bits, right_train: Bits) -> NDArray[np.float64]:
    """mem(i) (n,)."""
    within = (right_train & seen).sum(0) / np.maximum(seen.sum(0), 1)
    without = (right_train & ~seen).sum(0) / np.maximum((~seen).sum(0), 1)
    return np.asarray(within - without)


def influence(seen: Bits, right_test: Bits) -> NDArray[np.float32]:
    """infl(i, j) (n, m) of training images (T, n) on test images (T, m)."""
    inside, outside = (each.astype(np.float32) for each in (seen, ~seen))
    answers = right_test.astype(np.float32)
    return np.asarray(
        inside.T @ answers / np.maximum(inside.sum(0), 1)[:, None]
        - outside.T @ answers / np.maximum(outside.sum(0), 1)[:, None]
    )


def pairs(options: argparse.Namespace) -> None:
    """Prints how many pairs there are, and by chance; writes them beside the page."""
    files = sorted(options.out.glob(f"{'small' if options.small else 'seeds'}-*.npz"))
    if not files:
        raise SystemExit(f"{options.out} has no answers of networks: train some first")
    parts = [read(file) for file in files]
    kept = {name: [each for part in parts for each in part[name]] for name in ("seeds", *SPLITS)}
    whole, test = splits(options, "cpu")
    answers = [
        np.unpackbits(np.asarray(kept[split]), axis=1)[:, : len(each)].astype(bool)
        for split, each in zip(SPLITS, (whole, test), strict=True)
    ]
    seen = members(whole, [int(seed) for seed in kept["seeds"]])
    score = memory(seen, answers[0])
    few = np.flatnonzero(score >= MEMORY)
    strength = influence(seen[:, few], answers[1])
    exchanged = influence(np.random.default_rng(0).permutation(seen)[:, few], answers[1])
    found = np.argwhere(strength >= INFLUENCE)
    print(
        f"{len(seen)} networks: {len(few)} of {len(whole)} images with mem ≥ {MEMORY}; {len(found)} pairs with infl ≥ "
        f"{INFLUENCE}, {int((exchanged >= INFLUENCE).sum())} when networks exchange their training sets"
    )
    lines = ["train,test,memory,influence"]
    for i, j in found.tolist():
        lines.append(f"{int(whole.ids[few[i]])},{int(test.ids[j])},{score[few[i]]:.3f},{strength[i, j]:.3f}")
    options.pairs.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "pairs"))
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 1000), help="the first, and the one after the last")
    parser.add_argument("--minutes", type=float, default=1e6, help="after which no other network is begun")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, default=Path("build/memorisation"), help="folder for answers")
    parser.add_argument("--pairs", type=Path, default=HERE / "pairs.csv")
    parser.add_argument("--small", action="store_true", help="a few images, one epoch")
    options = parser.parse_args()
    (train if options.what == "train" else pairs)(options)


if __name__ == "__main__":
    main()
