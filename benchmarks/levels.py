"""How much each level of a few corruptions changes an image: whether a higher level is always a larger change.

    python benchmarks/levels.py

The mean absolute change of a pixel, in hundredths of the range of values, over the same 20 draws at every level
(`spread=0`, seed 0), on a photograph of 224×224 pixels (scikit-learn's flower.jpg) and on 20 images of the bundled
sample. A step down is marked.
"""

from __future__ import annotations

import itertools

import numpy as np
import torch
from PIL import Image
from sklearn.datasets import load_sample_image

from brittle.images import image_set
from brittle.nuisances import nuisance
from brittle.random import draw_keys
from brittle.types import Batch

LEVELS = np.arange(1.0, 5.01, 0.5).tolist()
DRAWS = 20


def photograph() -> torch.Tensor:
    """(20, 3, 224, 224), the same picture for every draw."""
    picture = Image.fromarray(load_sample_image("flower.jpg")).resize((341, 228)).crop((58, 2, 282, 226))
    return torch.from_numpy(np.array(picture)).permute(2, 0, 1).expand(DRAWS, -1, -1, -1) / 255


def change(name: str, images: torch.Tensor, level: float) -> float:
    """Mean |T_θ x − x|, a draw per image."""
    batch = Batch(images, torch.zeros(len(images), dtype=torch.int64), torch.arange(len(images)))
    space = nuisance(name, level=level, spread=0.0)
    theta = space.sample(batch, draw_keys(0, name, batch.ids, torch.arange(1)))[:, 0]
    return float((space.apply(batch, theta) - images).abs().mean())


def main() -> None:
    pictures = {"photograph": photograph(), "sample": image_set("sample").batch(range(DRAWS)).images}
    print(f"| nuisance | on | {' | '.join(f'{level:g}' for level in LEVELS)} |")
    print("| --- " * (2 + len(LEVELS)) + "|")
    for name in ("frost", "snow", "elastic-transform"):
        for on, images in pictures.items():
            changes = [change(name, images, level) for level in LEVELS]
            falls = [False, *(later < before for before, later in itertools.pairwise(changes))]
            cells = [f"{100 * each:.2f}{' ↓' if fall else ''}" for each, fall in zip(changes, falls, strict=True)]
            print(f"| {name} | {on} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
