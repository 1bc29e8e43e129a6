"""A whole measurement beside the bare forward pass of the same classifier at its best batch: what is left to gain.

The bare side classifies as many images as the measurement, one resident batch again and again, and does nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from benchmarks.guard.material import DRAWS, IMAGES, NUISANCE, Material, column
from benchmarks.guard.turns import Case, Unequal
from torch import Tensor, nn

import brittle

CLOSE = 2e-4  # in log-probability, between two ways to compute one forward pass
Classify = Callable[[Tensor], Tensor]  # images (B, C, H, W) → log-probabilities (B, K)


def cases(material: Material) -> Iterator[Case]:
    def by_onnx(images: Tensor) -> Tensor:
        return torch.from_numpy(material.by_onnx(images.numpy())).log_softmax(1)

    yield beside_bare(
        material,
        "CNN as ONNX",
        "conv 5×5×32 – conv 5×5×64 – linear on 28×28, against onnxruntime alone",
        brittle.classifier(f"onnx:{material.onnx}", device="cpu"),
        by_onnx,
        goal="at least 0.9 of bare onnxruntime at its best batch",
    )
    yield beside_bare(
        material,
        "CNN in torch",
        "the same network, against its bare forward pass in torch",
        brittle.classifier(material.network, device="cpu"),
        partial(bare_torch, material.network),
    )
    plain = brittle.classifier("bundled:plain", device="cpu")
    yield beside_bare(
        material,
        "small network in torch",
        "`bundled:plain` (conv 16 – conv 32 – 96), against its bare forward pass",
        plain,
        partial(bare_torch, plain.module),
        draws=3 * DRAWS,
    )


def bare_torch(network: nn.Module, images: Tensor) -> Tensor:
    with torch.inference_mode():
        return network(images.contiguous(memory_format=torch.channels_last)).log_softmax(1)


def beside_bare(
    material: Material,
    name: str,
    about: str,
    classifier: Any,
    bare: Classify,
    *,
    draws: int = DRAWS,
    goal: str = "",
) -> Case:
    """`measure` of IMAGES × draws, and as many images through the network alone."""
    resident = material.sample.batch(torch.arange(2048) % len(material.sample)).images
    size = material.best_batch(name, bare, resident)
    batch, count = resident[:size].clone(), IMAGES * (draws + 1)
    calls = -(-count // size)

    def theirs() -> None:
        for _ in range(calls):
            bare(batch)

    def equal(found: Any, _: None) -> str:
        """The two compute the same network: log p of every untouched image's label."""
        if found["calls"] != count:
            raise Unequal(f"{name}: {found['calls']} images were classified, and {count} were meant to be")
        rows = brittle.clean(classifier, material.sample, count=IMAGES, device="cpu", progress=False).rows
        here = bare(material.chosen.images).gather(1, material.chosen.labels[:, None])[:, 0].numpy()
        place = {key: at for at, key in enumerate(material.chosen.ids.tolist())}
        alone = here[[place[key] for key in column(rows, "image").tolist()]]
        apart = float(np.abs(np.maximum(alone, -15) - np.maximum(column(rows, "log_p_label"), -15)).max())
        if len(rows) != IMAGES or not apart <= CLOSE:
            raise Unequal(f"{name}: log-probabilities of untouched images differ by up to {apart:.2g}")
        return f"log p(label) of the {IMAGES} untouched images, to {CLOSE:g}"

    measure = partial(brittle.measure, classifier, material.sample, NUISANCE, samples=draws, count=IMAGES, device="cpu")
    return Case(
        name=name,
        about=f"{about}; {IMAGES} images × {draws} affine draws, batch {size} for the bare side",
        ours=partial(measure, progress=False),
        theirs=theirs,
        equal=equal,
        work=(count, calls * size),
        profile=partial(measure, progress=False),
        goal=goal,
    )
