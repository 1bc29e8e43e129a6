"""The image sets of the reproduction: FashionMNIST, MNIST as the other set, parts of them, and small objects.

The paper's hard hats (appendix C.6) are not to be had. In their place stand images 56×56 with four shrunken pieces of
clothing on black, and the question whether one of them is a bag: the object is small, anywhere, and of varying size.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

import brittle
from brittle.classifiers.bundled import FASHION_LABELS
from brittle.images.idx import read_idx
from brittle.registry import written

SIDE, CELLS = 56, 2  # of small objects' images, and how many pieces there are across and down
SMALLEST, LARGEST = 12, 22  # sides of a piece
CLASSES = Path(__file__).parent / "classes.txt"  # in a spec, T-shirt/top would be two
BAG = FASHION_LABELS.index("Bag")
SPLITS = {"train": 20_000, "t10k": 5_000}  # images of small objects made from each


def idx(folder: Path, split: str, classes: Path | None = None) -> str:
    """The spec of a split of MNIST or FashionMNIST."""
    labels = f"labels={folder}/{split}-labels-idx1-ubyte.gz"
    return f"idx:{folder}/{split}-images-idx3-ubyte.gz,{labels}" + (f",classes={classes}" if classes else "")


def fashion(data: Path, split: str) -> str:
    return idx(data / "fashion-mnist", split, CLASSES)


def mnist(data: Path, split: str) -> str:
    return idx(data / "mnist", split)


def without(spec: str, label: int) -> str:
    """All classes but one, counted anew."""
    kept = tuple(name for place, name in enumerate(FASHION_LABELS) if place != label)
    return f"subclass:{written(spec)},classes={written(kept)}"


def part(spec: str, share: float, seed: int = 0) -> str:
    return f"subsample:{written(spec)},share={share},seed={seed}"


def small_objects(data: Path, split: str, out: Path) -> str:
    """Makes the images once, from a split of FashionMNIST; every choice is drawn by a fixed seed."""
    file = out / f"small-objects-{split}.npz"
    if not file.exists():
        folder = data / "fashion-mnist"
        pieces = read_idx(folder / f"{split}-images-idx3-ubyte.gz")
        labels = read_idx(folder / f"{split}-labels-idx1-ubyte.gz")
        draw = np.random.default_rng(17)
        bags, others = (labels == BAG).nonzero()[0], (labels != BAG).nonzero()[0]
        count, cell = SPLITS[split], SIDE // CELLS
        canvas, present = np.zeros((count, SIDE, SIDE), np.uint8), np.arange(count) % 2
        for place in range(count):
            chosen = draw.choice(others, CELLS**2)
            if present[place]:
                chosen[draw.integers(CELLS**2)] = draw.choice(bags)
            for number, piece in enumerate(chosen):
                side = int(draw.integers(SMALLEST, LARGEST + 1))
                top, left = draw.integers(0, cell - side + 1, 2) + cell * np.array(divmod(number, CELLS))
                canvas[place, top : top + side, left : left + side] = _shrunk(pieces[piece], side)
        out.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, images=canvas, labels=present.astype(np.int64))
    return f"npz:{file},classes=without/with"


def _shrunk(piece: np.ndarray, side: int) -> np.ndarray:  # type: ignore[type-arg]
    image = torch.from_numpy(piece)[None, None].float()
    made = F.interpolate(image, (side, side), mode="bilinear", antialias=True)
    return made[0, 0].round().clamp(0, 255).byte().numpy()


def load(spec: str) -> brittle.ImageSet:
    return brittle.image_set(spec)
