"""Runs that a report must bear: many classifiers, classes or nuisances, names of every kind, nothing that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from engine_runs import run_study

from brittle.study import Study

MOST = 3  # functions c0, c1, … where classifiers are named
CLASSIFIERS = """
import torch

def scores(images, seed, scale, classes):
    weights = torch.randn(images[0].numel(), classes, generator=torch.Generator().manual_seed(seed))
    flat = images.flatten(1)
    return scale * (flat - flat.mean(1, keepdim=True)) @ weights

def perfect(images):
    # The label is written into the first pixels, which these nuisances leave alone.
    return torch.nn.functional.one_hot((images[:, 0, 0, 0] * 255 / 20).round().long().clamp(0, 2), 3) * 20.0
"""


def write_odd_run(
    folder: Path,
    classifiers: int | dict[str, str] = 2,
    classes: list[str] | int = 3,
    images: int = 12,
    size: int = 16,
    channels: int = 3,
    **study: Any,
) -> Path:
    """A run of random images into `folder`/run; `study` are more keys of it. Classifiers are functions of CLASSIFIERS,
    or c0, c1, …, which are random."""
    names = [f"class {place}" for place in range(classes)] if isinstance(classes, int) else classes
    code = CLASSIFIERS
    for place in range(classifiers if isinstance(classifiers, int) else MOST):
        code += f"\ndef c{place}(images):\n    return scores(images, {place}, {1 + place % 3}.0, {len(names)})\n"
    if isinstance(classifiers, int):
        classifiers = {f"c{place:02}": f"c{place}" for place in range(classifiers)}
    (folder / "many.py").write_text(code)
    pixels = np.random.default_rng(0).integers(0, 256, (images, size, size, channels), dtype=np.uint8)
    labels = np.arange(images) % len(names)
    pixels[:, :2, :2] = (labels * 20)[:, None, None, None] % 256
    np.savez(folder / "images.npz", images=pixels, labels=labels, classes=np.array(names))
    asked = {
        "classifiers": {name: f"python:{folder}/many.py:{each}" for name, each in classifiers.items()},
        "images": {"random": f"npz:{folder}/images.npz"},
        "nuisances": ["rotation:sigma=15"],
        "robustness": {"samples": 4},
    }
    run_study(Study.of(asked | study), folder / "run", device="cpu")
    return folder / "run"
