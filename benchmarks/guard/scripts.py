"""The same ρ̂ under affine maps as the shortest script with another library would compute it.

Scripts are handed θ, which Brittle draws itself; they share the classifier (onnxruntime, the same threads), the images
and bilinear interpolation. Each must come to Brittle's number.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from benchmarks.guard.material import DRAWS, IMAGES, NUISANCE, Material, column
from benchmarks.guard.turns import Case, Unequal
from torch import Tensor

import brittle

BATCH = 512
THETA = ("theta_a11", "theta_a12", "theta_shift_x", "theta_a21", "theta_a22", "theta_shift_y")
Warp = Callable[[Tensor, Tensor], Tensor]  # images (B, C, H, W), matrices (B, 2, 3) in [−1, 1] → images
NRTK = "its perturbers draw their own parameters, so that the same θ can't be given to them"


def cases(material: Material, skipped: dict[str, str]) -> Iterator[Case]:
    """A case for each library that is there; `skipped` is told of the others."""
    classifier = brittle.classifier(f"onnx:{material.onnx}", device="cpu")
    ours = partial(
        brittle.measure,
        *(classifier, material.sample, NUISANCE),
        samples=DRAWS,
        count=IMAGES,
        device="cpu",
        progress=False,
    )
    theta = Drawn(material, ours())
    for name, (package, warp, close) in WARPS.items():
        try:
            warp(material.chosen.images[:2], theta.matrices[:2])
        except Exception as error:  # missing, or broken beside these versions: no peer here
            skipped[f"script with {name}"] = f"{package}: {type(error).__name__}: {str(error).splitlines()[0]}"
            continue
        yield Case(
            name=f"script with {name}",
            about=f"ρ̂ of the CNN as ONNX over {IMAGES} images × {DRAWS} affine draws, against a script with {name} and "
            f"onnxruntime that is handed θ, batch {BATCH}",
            ours=ours,
            theirs=partial(rho, material, theta, warp),
            equal=partial(equal_rho, close),
            work=(1, 1),
            piece="measurements",
        )
    skipped["script with NRTK"] = NRTK


class Drawn:
    """The images and matrices of every row of a measurement, as a script would have them in memory."""

    def __init__(self, material: Material, found: Any) -> None:
        rows = brittle.rows(found, "robustness")
        place = {key: at for at, key in enumerate(material.chosen.ids.tolist())}
        self.places = torch.tensor([place[key] for key in column(rows, "image").tolist()])
        self.matrices = torch.tensor(np.stack([column(rows, name) for name in THETA], 1)).float().view(-1, 2, 3)


def rho(material: Material, theta: Drawn, warp: Warp) -> float:
    """The script: transform, classify, average p(label)."""
    images, labels, total = material.chosen.images, material.chosen.labels, 0.0
    for places, matrices in zip(theta.places.split(BATCH), theta.matrices.split(BATCH), strict=True):
        moved = warp(images[places], matrices)
        p = torch.from_numpy(material.by_onnx(moved.numpy())).softmax(1)
        total += float(p.gather(1, labels[places][:, None]).sum())
    return total / len(theta.places)


def equal_rho(close: float, found: Any, theirs: float) -> str:
    apart = abs(found["rho"] - theirs)
    if not apart <= close:
        raise Unequal(f"ρ̂ is {found['rho']:.5f} and the script's {theirs:.5f}")
    return f"ρ̂, to {close:g} ({apart:.1g} apart)"


def by_torch(images: Tensor, matrices: Tensor) -> Tensor:
    grid = torch.nn.functional.affine_grid(matrices, list(images.shape), align_corners=False)
    return torch.nn.functional.grid_sample(images, grid, align_corners=False)


def in_pixels(matrices: Tensor, height: int, width: int) -> Tensor:
    """[A | t] over [−1, 1] (B, 2, 3) → where each pixel (x, y) of the result comes from, (B, 3, 3) in pixels."""
    scale = torch.tensor([[2 / width, 0, 1 / width - 1], [0, 2 / height, 1 / height - 1], [0, 0, 1]]).double()
    whole = torch.cat([matrices.double(), torch.tensor([[[0.0, 0.0, 1.0]]]).double().expand(len(matrices), 1, 3)], 1)
    return torch.linalg.inv(scale) @ whole @ scale


def by_kornia(images: Tensor, matrices: Tensor) -> Tensor:
    geometry = importlib.import_module("kornia.geometry.transform")
    forward = torch.linalg.inv(in_pixels(matrices, *images.shape[-2:]))[:, :2].float()
    return geometry.warp_affine(images, forward, tuple(images.shape[-2:]))


def by_torchvision(images: Tensor, matrices: Tensor) -> Tensor:
    """`functional.affine` takes angles and zooms, which not every θ has; what it calls takes the matrix, of pixels
    about the centre."""
    importlib.import_module("torchvision.transforms.v2")
    functional = importlib.import_module("torchvision.transforms._functional_tensor")
    height, width = images.shape[-2:]
    half = torch.tensor([width / 2, height / 2])
    scaled = matrices.clone()
    scaled[:, :, :2] = matrices[:, :, :2] * half[:, None] / half
    scaled[:, :, 2] = matrices[:, :, 2] * half
    return torch.cat(
        [
            functional.affine(image[None], matrix, "bilinear")
            for image, matrix in zip(images, scaled.flatten(1).tolist(), strict=True)
        ]
    )


def by_albumentations(images: Tensor, matrices: Tensor) -> Tensor:
    change = importlib.import_module("albumentations").Affine(p=1.0)
    forward = np.linalg.inv(in_pixels(matrices, *images.shape[-2:]).numpy())
    moved = [
        change.apply(image, matrix, tuple(images.shape[-2:]))
        for image, matrix in zip(images.permute(0, 2, 3, 1).numpy(), forward, strict=True)
    ]
    return (
        torch.from_numpy(np.stack(moved).reshape(len(images), *images.shape[-2:], -1)).permute(0, 3, 1, 2).contiguous()
    )


# How close ρ̂ must come: OpenCV, which albumentations calls, places samples on a grid of 1/32 pixel.
WARPS: dict[str, tuple[str, Warp, float]] = {
    "torch": ("torch", by_torch, 1e-5),
    "torchvision": ("torchvision", by_torchvision, 1e-5),
    "Kornia": ("kornia", by_kornia, 1e-5),
    "albumentations": ("albumentations", by_albumentations, 2e-3),
}
