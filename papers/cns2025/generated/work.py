"""What all parts share: the folder they work in, its tables, the data, and how much of everything there is."""

from __future__ import annotations

import json
import tarfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor

from brittle.classifiers.bundled import FASHION_LABELS
from brittle.generation.encoders import Encoder, encoder
from brittle.generation.train_small import DIGITS, SHIFTS, CaptionedImages, shifted_pictures
from brittle.images.idx import read_idx
from brittle.statistics.estimate import Estimate

CLASSES = tuple(" ".join(name.lower().replace("/", " ").split()) for name in FASHION_LABELS)
SCALES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
MORE_SCALES = (*SCALES, 3.0)  # of the comparison with real shifts (A.12)
PACKED = ".tgz"
BORDER = 2  # pixels around 28×28
ENCODERS_SEE = slice(0, 20_000)  # of FashionMNIST's training images, and of MNIST's
NETWORKS_SEE = slice(20_000, 60_000)  # of FashionMNIST's: the encoders have not seen these
ALL = slice(0, 60_000)


@dataclass(frozen=True)
class Sizes:
    """How much of everything there is, and with --tiny."""

    train_images: int = 60_000
    test_images: int = 10_000
    shifts: tuple[str, ...] = tuple(SHIFTS)
    seeds: int = 20  # of the benchmark
    gap_seeds: int = 200
    steps: int = 50  # noise steps
    at_once: int = 1000
    guidance: float = 1.0
    extra_seeds: int = 60  # of images to fine-tune on
    tuned_images: int = 12_000
    diffusion_samples: int = 20
    diffusion_shifts: int = 2
    real_images: int = 500  # per shift, that generated ones are compared with


TINY = Sizes(
    train_images=256,
    test_images=64,
    shifts=("fog", "noise"),
    seeds=2,
    gap_seeds=4,
    steps=4,
    at_once=64,
    extra_seeds=2,
    tuned_images=32,
    diffusion_samples=2,
    diffusion_shifts=1,
    real_images=8,
)


class Pictures(NamedTuple):
    """Images (n, H, W) uint8 with labels (n,)."""

    images: Tensor
    labels: Tensor

    def rows(self, rows: slice | Tensor) -> Pictures:
        return Pictures(self.images[rows], self.labels[rows])


@dataclass
class Work:
    """A folder, the clock, and what is found there."""

    folder: Path
    data: Path
    tiny: bool = False
    until: float | None = None  # by time.monotonic()
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        (self.folder / "tables").mkdir(parents=True, exist_ok=True)

    @property
    def sizes(self) -> Sizes:
        return TINY if self.tiny else Sizes()

    @cached_property
    def device(self) -> torch.device:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    @property
    def left(self) -> float:
        """Seconds until the call ends."""
        return float("inf") if self.until is None else self.until - time.monotonic()

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    def every(self, count: int, what: str) -> Any:
        """Says a step's loss now and then."""

        def said(step: int, losses: Tensor) -> None:
            if step == 1 or step % count == 0:
                self.say(f"{what}: step {step}, loss {float(losses.mean()):.5f}")

        return said

    def write(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """A table of the results."""
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), self.folder / "tables" / f"{name}.parquet")

    def picture(self, name: str) -> Path:
        """Where a picture of the results goes."""
        return self.folder / "tables" / f"{name}.png"

    def pack(self, name: str, without: str = "") -> None:
        """A folder of weights or images as one file, which can be carried; a folder within it may be left out."""
        file = self.folder / f"{name}{PACKED}"
        half = file.with_suffix(".half")  # a call that is ended here leaves no broken file behind
        with tarfile.open(half, "w:gz") as packed:
            packed.add(self.folder / name, name, filter=lambda each: None if each.name == f"{name}/{without}" else each)
        half.replace(file)

    def unpack(self) -> None:
        """Folders that are there only as files: what an earlier call on another machine left."""
        for file in sorted(self.folder.glob(f"*{PACKED}")):
            there = self.folder / file.name.removesuffix(PACKED)
            if not there.is_dir() or not any(there.iterdir()):
                with tarfile.open(file) as packed:
                    packed.extractall(self.folder, filter="data")

    def fashion(self, rows: slice = ALL) -> Pictures:
        """Training images; with --tiny the first few, whichever are asked for."""
        return _read(self.data / "fashion-mnist", "train", slice(0, self.sizes.train_images) if self.tiny else rows)

    def digits(self, rows: slice = ALL) -> Pictures:
        return _read(self.data / "mnist", "train", slice(0, self.sizes.train_images) if self.tiny else rows)

    def test(self) -> Pictures:
        """FashionMNIST's test images, which nothing here is trained on."""
        return _read(self.data / "fashion-mnist", "t10k", slice(0, self.sizes.test_images))

    def captioned(self, fashion: Pictures, digits: Pictures | None = None) -> CaptionedImages:
        """Images at 32×32, plain and under every shift."""
        images, labels, words = fashion.images, fashion.labels, CLASSES
        if digits is not None:
            images, labels = torch.cat([images, digits.images]), torch.cat([labels, digits.labels + len(CLASSES)])
            words = (*CLASSES, *DIGITS)
        return shifted_pictures(images, labels, words, SHIFTS, self.device)

    def encoder(self, name: str) -> Encoder:
        """clip or views."""
        return encoder(str(self.folder / "encoders" / name), str(self.device))


def spread(name: str, found: Estimate) -> dict[str, float | None]:
    """An estimate as columns of a table."""
    values = (found.value, found.low, found.high)
    names = (name, f"{name}_low", f"{name}_high")
    return {each: None if np.isnan(value) else float(value) for each, value in zip(names, values, strict=True)}


def read_table(folder: Path, name: str) -> list[dict[str, Any]]:
    file = folder / f"{name}.parquet"
    rows: list[dict[str, Any]] = pq.read_table(file).to_pylist() if file.is_file() else []
    return rows


def remember(folder: Path, name: str, values: Mapping[str, Any]) -> None:
    (folder / f"{name}.json").write_text(json.dumps(dict(values), indent=1), encoding="utf-8")


def recall(folder: Path, name: str) -> dict[str, Any]:
    file = folder / f"{name}.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


def tiled(lines: Iterable[Iterable[Tensor]]) -> Tensor:
    """Lines of images (1, H, W) in [0, 1] or uint8 as one picture (H, W) uint8."""
    rows = [torch.cat([_bytes(each)[0] for each in line], 1) for line in lines]
    return torch.cat(rows)


def _bytes(image: Tensor) -> Tensor:
    return image if image.dtype == torch.uint8 else image.mul(255).round().to(torch.uint8)


def _read(folder: Path, part: str, rows: slice) -> Pictures:
    images, labels = (_idx(folder / f"{part}-{what}") for what in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    if len(images) < rows.stop:
        raise SystemExit(f"{folder} holds {len(images)} images of {rows.stop}: carry all of them (carry.py)")
    return Pictures(torch.from_numpy(images[rows]), torch.from_numpy(labels[rows]).long())


def _idx(file: Path) -> Any:
    """Plain or gzipped, whichever is there."""
    return np.array(read_idx(file if file.is_file() else file.with_name(f"{file.name}.gz")))
