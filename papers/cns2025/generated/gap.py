"""Table 2a: how far images by learned words, and by the classes' names, are from real ones."""

from __future__ import annotations

import itertools

import numpy as np
import torch
from benchmark import made, with_border
from train import generator
from work import CLASSES, Work, spread

from brittle.generation.frechet import distance_name, floor
from brittle.generation.gap import GeneratedSample, gaps
from classifiers import MEASURED, opened, predicted

BLOCKS = 10
FIRST_SEED = 5001  # the benchmark's are others


def gap(work: Work) -> None:
    """Against the test images, which nothing here has seen."""
    seeds = range(FIRST_SEED, FIRST_SEED + work.sizes.gap_seeds)
    wanted = list(itertools.product(range(len(CLASSES)), seeds))
    labels = torch.tensor([label for label, _ in wanted])
    block = np.array([seed % min(BLOCKS, work.sizes.gap_seeds) for _, seed in wanted])
    images = {
        way: generator(work, with_tokens=way == "learned words", with_sliders=False).images(
            [made(label, seed, {}) for label, seed in wanted]
        )
        for way in ("names", "learned words")
    }
    test = work.test()
    rows = []
    for name in ("views", "clip"):
        each = work.encoder(name)
        real = each.features(with_border(test.images)).double().numpy()
        features = {way: each.features(found.float() / 255).double().numpy() for way, found in images.items()}
        lowest = floor(real, min(len(wanted), len(real) // 2))
        for network in MEASURED:
            model = opened(work, network)
            clean = float((predicted(model, test.images) == test.labels).float().mean())
            ways = {
                way: GeneratedSample(features[way], (predicted(model, found) == labels).numpy())
                for way, found in images.items()
            }
            for found in gaps(real, ways, block):
                about = {"way": found.way, "distance_is": distance_name(name), "classifier": network}
                about |= {"images": found.images, "floor": lowest, "accuracy_on_real": clean}
                for column in ("distance", "accuracy", "distance_apart", "accuracy_apart"):
                    about |= spread(column, getattr(found, column))
                rows.append(about)
    work.write("gap", rows)
