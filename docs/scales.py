"""Writes the folder that docs/scales.md measures: bundled images in CNS-Bench's layout, under two shifts.

    python docs/scales.py FOLDER

A few files are then damaged on purpose: one is missing, one is cut short, one class folder has a wrong index.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from PIL import Image

from brittle.engine.replay import Replay
from brittle.images import image_set
from brittle.nuisances import nuisance

SHIFTS = {"fog": "fog:level=1", "rotation": "rotation"}
SCALES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
IMAGES = 60


def main(folder: Path) -> None:
    images = image_set("sample").choose(IMAGES, seed=0)
    pairs = [(place, 0) for place in range(len(images))]
    for shift, spec in SHIFTS.items():
        space = nuisance(spec)
        replay = Replay(images, space, shift, seed=0)
        for scale in SCALES:
            for place, made in enumerate(replay.draws(pairs, severity=scale)):
                label, seed = int(images.labels[place]), int(images.ids[place])
                name = images.classes[label].replace("/", " or ")
                path = folder / shift / f"{label:03d}_{name}" / f"seed_{seed:04d}_scale_{round(1000 * scale):04d}.jpg"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(made[0].mul(255).round().to(torch.uint8).numpy()).save(path, quality=95)
    damage(folder)


def damage(folder: Path) -> None:
    """What a folder that was copied about may look like."""
    first, second, *_ = sorted((folder / "fog").glob("001_*/*scale_1500.jpg"))
    first.unlink()
    second.write_bytes(second.read_bytes()[:-100])
    (folder / "fog" / "009_Ankle boot").rename(folder / "fog" / "008_Ankle boot")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes bundled images in CNS-Bench's layout.")
    parser.add_argument("folder", type=Path)
    main(parser.parse_args().folder)
