"""A folder in CNS-Bench's layout, made on the spot: the colour of a picture says what it is a picture of."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = {1: "goldfish", 4: "hammerhead"}
SEEDS = (3, 34, 35)
SCALES = (0.0, 0.5, 1.0, 2.5)
SHIFTS = ("heavy_snow", "painting_style")


def colour(shift: str, label: int, seed: int, scale: float) -> tuple[int, int, int]:
    """At scale 0 one picture for every shift."""
    return 40 * label + seed, 200 if scale and shift == SHIFTS[0] else 100, int(scale * 80)


def write(path: Path, colour: tuple[int, int, int], side: int = 8) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((side, side, 3), colour, dtype=np.uint8)).save(path, quality=100, subsampling=0)


def relative(shift: str, label: int, seed: int, scale: float) -> str:
    return f"{shift}/{label:03d}_{CLASSES[label]}/seed_{seed:04d}_scale_{round(scale * 1000):04d}.jpg"


def make(root: Path, missing: Iterable[str] = (), annotations: bool = False) -> Path:
    """Writes all pictures but those that are `missing`, by relative path; with annotations of all where wanted."""
    listed = []
    for shift, label, seed, scale in itertools.product(SHIFTS, CLASSES, SEEDS, SCALES):
        file = relative(shift, label, seed, scale)
        listed.append({"image": file, "seed": seed, "scale": scale, "shift": shift, "class": label})
        if file not in missing:
            write(root / file, colour(shift, label, seed, scale))
    if annotations:
        told = {"info": {}, "scales": list(SCALES), "classes": list(CLASSES), "shifts": list(SHIFTS)}
        (root / "annotations_cns.json").write_text(json.dumps({**told, "images": listed}))
    return root
