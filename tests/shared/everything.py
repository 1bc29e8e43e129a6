"""A study of every measure there is, each with options that make it cheap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import brittle

NETS = """
import torch

def _scores(images, seed):
    weights = torch.randn(images[0].numel(), 10, generator=torch.Generator().manual_seed(seed)).to(images.device)
    flat = images.flatten(1)
    return 0.2 * (flat - flat.mean(1, keepdim=True)) @ weights

def a(images):
    return _scores(images, 1)

def b(images):
    return _scores(images, 2)

def c(images):
    return _scores(images, 3)
"""
COUNT = 12
LAYERED, TEST = {"classifiers": ["plain", "augmented"]}, {"images": ["test"]}


def _asked() -> dict[str, dict[str, Any]]:
    """Every measure with options that make it cheap."""
    noise, few = {"nuisances": ["noise"]}, {"nuisances": ["translation", "occlusion"]}
    return {
        "clean": {"images": ["test", "train", "stimuli"]},
        "robustness": {"samples": 3} | few | TEST,
        "weak-points": {"budget": 60, "count": 3} | few | LAYERED | TEST,
        "breaking-points": {"step": 8.0} | noise | TEST,
        "failure-points": {"severities": [20, 60]} | noise | TEST,
        "ranking": {},
        "corruption-error": {"reference": "a"},
        "line": {},
        "perturbation": {"count": 1, "steps": 20, "targets": "2"} | LAYERED | TEST,
        "occlusion": {"shares": [0.3], "nuisances": ["patch"]} | TEST,
        "shuffling": {"samples": 2} | TEST,
        "interference": {},
        "augmentation": {} | TEST,
        "layer-noise": {"layers": "2", "step": 0.5} | LAYERED | TEST,
        "layer-changes": {"layers": "2", "steps": 20} | LAYERED | TEST,
        "connectedness": {} | LAYERED | TEST,
        "cue-conflict": {"images": ["stimuli"], "resamples": 100} | LAYERED,
        "error-consistency": {"resamples": 100} | TEST,
        "before-after": {"before": "plain", "after": "augmented"} | LAYERED,
    }


def _write_images(folder: Path) -> None:
    chosen = brittle.image_set("sample").choose(2 * COUNT, 0)
    batch, classes = chosen.batch(range(2 * COUNT)), np.array(list(chosen.classes))
    pixels, labels = (255 * batch.images[:, 0].numpy()).round().astype(np.uint8), batch.labels.numpy()
    wrong = np.where(np.arange(COUNT) % 4, labels[:COUNT], (labels[:COUNT] + 1) % 10)
    np.savez(folder / "test.npz", images=pixels[:COUNT], labels=wrong, classes=classes)
    np.savez(folder / "train.npz", images=pixels[COUNT:], labels=labels[COUNT:], classes=classes)
    for place, (shape, texture) in enumerate((s, t) for s in ("bag", "coat") for t in ("bag", "coat")):
        (folder / "stimuli" / shape).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels[place]).save(folder / "stimuli" / shape / f"{shape}1-{texture}1.png")


def study_of_everything(made: Path) -> dict[str, Any]:
    """The study; what it names is written into a folder."""
    _write_images(made)
    (made / "nets.py").write_text(NETS)
    return {
        "classifiers": {
            "plain": "bundled:plain",
            "augmented": "bundled:augmented",
            **{name: f"python:{made}/nets.py:{name}" for name in "abc"},
        },
        "images": {
            "test": {"spec": f"npz:{made}/test.npz", "train": "train"},
            "train": f"npz:{made}/train.npz",
            "stimuli": f"cue-conflict:{made}/stimuli",
        },
        "nuisances": {
            "translation": "translation:sigma=0.2",
            "occlusion": "occlusion:rectangles=1,scale=0.2",
            "patch": "patch",
            "noise": "noise",
        },
        "measures": {name: {"kind": name} | options for name, options in _asked().items()},
    }
