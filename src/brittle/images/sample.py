"""The bundled sample: 1,000 FashionMNIST test images, the first 100 of each class in file order.

It was made by `python -m brittle.images.sample SOURCE`, where SOURCE holds FashionMNIST's t10k idx files.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from brittle.images import register
from brittle.images.arrays import from_arrays
from brittle.images.base import ImageSet
from brittle.images.idx import read_idx

CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
PER_CLASS = 100
FILE = Path(__file__).parent / "data" / "fashion-sample.npz"


@register("sample")
@dataclass(frozen=True)
class BundledSample:
    """1,000 FashionMNIST test images, 100 per class; an image's id is its index among the 10,000 test images."""

    def load(self) -> ImageSet:
        with np.load(FILE, allow_pickle=False) as archive:
            return from_arrays(archive["images"], archive["labels"], name="sample", classes=CLASSES, ids=archive["ids"])


def make(source: Path, file: Path = FILE) -> None:
    """Writes the sample from the test images in `source`. The same source gives the same bytes."""
    images, labels = (read_idx(_idx(source, name)) for name in ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"))
    chosen = [np.flatnonzero(labels == label)[:PER_CLASS] for label in range(len(CLASSES))]
    ids = np.sort(np.concatenate(chosen))
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(file, images=images[ids], labels=labels[ids], ids=ids)


def _idx(source: Path, name: str) -> Path:
    plain = source / name
    return plain if plain.exists() else source / f"{name}.gz"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m brittle.images.sample", description="Writes the bundled sample.")
    parser.add_argument("source", type=Path, help="folder with FashionMNIST's t10k idx files, plain or gzipped")
    make(parser.parse_args().source)
