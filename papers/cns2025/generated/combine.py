"""Two sliders are added (A.11, figure 29): three scales of each, alone and together."""

from __future__ import annotations

import itertools

import numpy as np
import torch
from benchmark import aligned, made, save_picture
from train import generator
from work import CLASSES, Work, spread

from brittle.generation.shares import share_of_images
from classifiers import opened, predicted

BOTH = ("fog", "noise")
SCALES = (0.0, 1.0, 2.0)
SHOWN = 9  # ankle boot


def combine(work: Work) -> None:
    """Is each shift still there where the other one is?"""
    seeds = range(1, work.sizes.seeds + 1)
    cells = list(itertools.product(SCALES, SCALES))
    every = list(itertools.product(cells, range(len(CLASSES)), seeds))
    images = generator(work).images(
        [made(label, seed, dict(zip(BOTH, cell, strict=True))) for cell, label, seed in every]
    )
    labels = np.array([label for _, label, _ in every])
    clip, right = work.encoder("clip"), predicted(opened(work, "resnet"), images).numpy() == labels
    text = {shift: aligned(clip, images, labels, shift) - aligned(clip, images, labels) for shift in BOTH}
    rows = []
    for place, cell in enumerate(cells):
        here = slice(place * len(every) // len(cells), (place + 1) * len(every) // len(cells))
        row = dict(zip((f"scale of {shift}" for shift in BOTH), cell, strict=True))
        row |= spread("accuracy", share_of_images(right[here]))
        rows.append(row | {f"alignment with {shift}": float(text[shift][here].mean()) for shift in BOTH})
    work.write("combination", rows)
    shown = images.view(len(cells), len(CLASSES), len(seeds), 1, 32, 32)[:, SHOWN, 0]
    save_picture(work.picture("combination"), list(torch.split(shown, len(SCALES))), zoom=4)
