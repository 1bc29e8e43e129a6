"""EfficientNet-Lite 0, 1 and 2 on photographs: Table 1 in kind, a part of a perturbation matrix, and noise on layers.

    python papers/urem/lite.py --pack FOLDER     # weights as float16 and every fourth photograph, 42 MB

needs the packages that papers/fawzi2016/efficientnet.py names, on PYTHONPATH. Without that folder redo.py reads the
weights from the packages. The photographs are ImageNet's training images: see the page for what that means.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from measuring import Tables, layer_rows, measured, told
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import nn

import brittle

sys.path.append(str(Path(__file__).resolve().parents[1] / "fawzi2016"))

import efficientnet
from table2 import square

NAMES = tuple(efficientnet.SIDES)
EVERY = 4  # of the thousand classes' photographs
RATES = (0.002, 0.0005)  # of Adam, on values in [0, 1]: 0.5 and 0.13 of 255 per step
BATCH, SMALL_BATCH = 512, 8  # on a GPU, and on a CPU


@dataclass(frozen=True)
class Settings:
    """What the three networks share."""

    data: Path  # photographs
    weights: Path | None  # what --pack wrote, or None
    device: str
    images: int = 250
    matrix: int = 24  # images, one per class, that are changed to each other's classes
    rates: tuple[float, ...] = RATES
    steps: int = 500  # of Adam, after which a search has failed
    limit: float = 255  # of σ on the input, of 255
    layer_images: int = 50
    layer_repeats: int = 3
    layer_networks: int = 10  # whose weights are disturbed
    layer_limit: float = 5.0


def module_of(name: str, weights: Path | None) -> nn.Module:
    if weights is None:
        return efficientnet.network(name)
    made: nn.Module = importlib.import_module("efficientnet_lite_pytorch").EfficientNet.from_name(
        f"efficientnet-{name}"
    )
    made.load_state_dict(load_file(weights / f"{name}.safetensors"))
    return made


def classifier_of(name: str, settings: Settings) -> Any:
    side = efficientnet.SIDES[name]
    return brittle.classifier(
        module_of(name, settings.weights),
        size=side + efficientnet.MARGIN,
        crop=side,
        interpolation="bicubic",
        range=efficientnet.RANGE,
        mean=efficientnet.MEAN,
        std=efficientnet.STD,
        labels=tuple(map(str, range(1000))),
        device=settings.device,
    )


def photographs(folder: Path, count: int) -> brittle.ImageSet:
    """Squares of 256×256 from the middle of photographs, one of each fourth class; an id is the number of a class."""
    chosen = numbered(folder)[:count]
    squares = np.stack([square(Image.open(file).convert("RGB")) for _, file in chosen])
    numbers = np.asarray([number for number, _ in chosen])
    return brittle.image_set((squares, numbers), name="photographs", ids=numbers)


def numbered(folder: Path) -> list[tuple[int, Path]]:
    """Every fourth class's number and photograph, from all thousand photographs or from those that were packed."""
    files = sorted(folder.glob("*.jpg"))
    if len(files) == 1000:  # in the order of their WordNet ids, which is that of the classes
        return list(enumerate(files))[::EVERY]
    return [(int(file.name[:4]), file) for file in files]


def evaluated(name: str, settings: Settings) -> Tables:
    """One network: `networks` has one row about it, `layers` one for every layer, the others as `measured` gives."""
    begun = time.monotonic()
    batch = BATCH if settings.device.startswith("cuda") else SMALL_BATCH
    classifier = classifier_of(name, settings)
    images = photographs(settings.data, settings.images)
    spaced = images.ids[torch.linspace(0, len(images) - 1, settings.matrix).round().long()].tolist()
    about = {"network": name}
    found = measured(
        classifier,
        images,
        spaced,
        about,
        rates=settings.rates,
        steps=settings.steps,
        limit=settings.limit,
        targets=tuple(map(str, spaced)),
        device=settings.device,
        batch=batch,
    )
    between = time.monotonic()
    print(f"{name}: breaking points and targeted changes after {between - begun:.0f} s", file=sys.stderr, flush=True)
    layers = layer_rows(
        classifier,
        images,
        about,
        count=settings.layer_images,
        repeats=settings.layer_repeats,
        networks=settings.layer_networks,
        limit=settings.layer_limit,
        device=settings.device,
        batch=batch,
    )
    parts = [part for part in classifier.module.modules() if isinstance(part, nn.Conv2d | nn.Linear)]
    row = {
        "parameters": sum(each.numel() for each in classifier.module.parameters()),
        "depth": len(parts),
        "images": len(images),
        "accuracy": float(np.mean(found["clean"]["right"].to_numpy(zero_copy_only=False))),
        "seconds_measuring": round(between - begun, 1),
        "seconds_layers": round(time.monotonic() - between, 1),
    }
    return {"networks": told(pa.Table.from_pylist([row]), about), "layers": layers, **found}


def pack(folder: Path, photos: Path) -> None:
    """What a machine without the packages' own weights needs: 32 MB of weights and 8 MB of photographs."""
    (folder / "photographs").mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        state = efficientnet.network(name).state_dict()
        half = {key: value.half() if value.is_floating_point() else value for key, value in state.items()}
        save_file({key: value.contiguous() for key, value in half.items()}, folder / f"{name}.safetensors")
    for number, file in numbered(photos):
        shutil.copyfile(file, folder / "photographs" / f"{number:04d}-{file.name}")
    package = Path(importlib.import_module("efficientnet_lite_pytorch").__file__ or "").parent
    shutil.copytree(package, folder / package.name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pack", type=Path, required=True, help="folder for weights and photographs")
    parser.add_argument("--photographs", type=Path, default=Path("../shared/data/imagenet-sample"))
    options = parser.parse_args()
    pack(options.pack, options.photographs)
