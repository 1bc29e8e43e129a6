"""Images per second of every nuisance, batch 64, beside the peers that have the same thing, in one run.

Ours draws θ and transforms the batch. Kornia (batched) draws and transforms likewise. albumentations and
imagecorruptions take one uint8 image after another, which is how they are used. Turns alternate between ours and the
peers; printed are medians, and ours as a ratio to each peer. Peers that are not installed are left out: `make bench`
installs them. `python benchmarks/nuisances.py [NAME …]` prints Markdown.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch

from brittle.allocator import keep_mapped
from brittle.nuisances import nuisances
from brittle.random import draw_keys
from brittle.registry import options_of
from brittle.types import Batch

BATCH, SIZES, TURNS, SECONDS = 64, (32, 224), 5, 0.15
Work = Callable[[], object]

KORNIA: dict[str, tuple[str, tuple[object, ...], dict[str, object]]] = {
    "affine": ("RandomAffine", (10.0, (0.1, 0.1), (0.9, 1.1), (5.0, 5.0)), {}),
    "rotation": ("RandomRotation", (15.0,), {}),
    "scaling": ("RandomAffine", (0.0,), {"scale": (0.8, 1.2)}),
    "similarity": ("RandomAffine", (10.0, (0.05, 0.05), (0.9, 1.1)), {}),
    "translation": ("RandomTranslate", ((-0.1, 0.1), (-0.1, 0.1)), {}),
    "projective": ("RandomPerspective", (0.3,), {}),
    "elastic": ("RandomElasticTransform", (), {}),
    "piecewise-affine": ("RandomThinPlateSpline", (), {}),
    "patch": ("RandomErasing", (), {}),
    "shuffle": ("RandomJigsaw", ((4, 4),), {}),
    "noise": ("RandomGaussianNoise", (0.0, 0.1), {}),
    "impulse": ("RandomSaltAndPepperNoise", (), {}),
    "brightness": ("RandomBrightness", ((0.8, 1.2),), {}),
    "contrast": ("RandomContrast", ((0.8, 1.2),), {}),
    "gamma": ("RandomGamma", ((0.8, 1.2),), {}),
    "saturation": ("RandomSaturation", ((0.8, 1.2),), {}),
    "hue": ("RandomHue", ((-0.1, 0.1),), {}),
    "white-balance": ("RandomPlanckianJitter", (), {}),
    "shadow": ("RandomLinearIllumination", (), {}),
    "jpeg": ("RandomJPEG", ((15.0, 15.0),), {}),
    "snow": ("RandomSnow", (), {}),
    "rain": ("RandomRain", (), {"number_of_drops": (200, 280)}),
}
IMAGECORRUPTIONS = {
    "noise": "gaussian_noise",
    "shot": "shot_noise",
    "impulse": "impulse_noise",
    "speckle": "speckle_noise",
    "gaussian-blur": "gaussian_blur",
    "defocus-blur": "defocus_blur",
    "glass-blur": "glass_blur",
    "motion-blur": "motion_blur",
    "zoom-blur": "zoom_blur",
    "snow": "snow",
    "frost": "frost",
    "fog": "fog",
    "brightness": "brightness",
    "contrast": "contrast",
    "saturation": "saturate",
    "elastic": "elastic_transform",
    "pixelate": "pixelate",
    "jpeg": "jpeg_compression",
}
ALBUMENTATIONS = {
    "affine": "Affine",
    "rotation": "Rotate",
    "projective": "Perspective",
    "elastic": "ElasticTransform",
    "piecewise-affine": "PiecewiseAffine",
    "occlusion": "CoarseDropout",
    "tiles": "GridDropout",
    "shuffle": "RandomGridShuffle",
    "noise": "GaussNoise",
    "shot": "ShotNoise",
    "gamma": "RandomGamma",
    "hue": "HueSaturationValue",
    "gaussian-blur": "GaussianBlur",
    "defocus-blur": "Defocus",
    "glass-blur": "GlassBlur",
    "motion-blur": "MotionBlur",
    "zoom-blur": "ZoomBlur",
    "jpeg": "ImageCompression",
    "pixelate": "Downscale",
    "fog": "RandomFog",
    "rain": "RandomRain",
    "snow": "RandomSnow",
    "shadow": "RandomShadow",
}


def images_of(size: int) -> torch.Tensor:
    """Smooth colour pictures: what a photograph costs, without one."""
    coarse = torch.rand(BATCH, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    return torch.nn.functional.interpolate(coarse, (size, size), mode="bilinear")


def ours(name: str, images: torch.Tensor) -> Work:
    # Corruptions at exactly level 3, as the peers are set: by default some images of a batch get larger kernels.
    fixed = "spread" in options_of(nuisances.get(name))
    space = nuisances.build(f"{name}:spread=0" if fixed else name)
    batch = Batch(images, torch.zeros(BATCH, dtype=torch.int64), torch.arange(BATCH))
    space.check((3, *images.shape[-2:]))
    keys = draw_keys(0, name, batch.ids, torch.arange(1))
    return lambda: space.apply(batch, space.sample(batch, keys)[:, 0])


def kornia_peer(name: str, images: torch.Tensor) -> Work | None:
    # Blurs as wide as ours at level 3, whose lengths go with the image's side.
    scale = images.shape[-1] / 224
    blurs = {
        "gaussian-blur": ("RandomGaussianBlur", ((_odd(25 * scale),) * 2, (3 * scale, 3 * scale + 1e-3)), {}),
        "motion-blur": ("RandomMotionBlur", (_odd(31 * scale), 180.0, 1.0), {}),
    }
    if name not in KORNIA | blurs:
        return None
    kind, positional, named = (KORNIA | blurs)[name]
    augmentation = getattr(importlib.import_module("kornia.augmentation"), kind)(*positional, p=1.0, **named)
    return lambda: augmentation(images)


def _odd(length: float) -> int:
    return max(3, 2 * round(length / 2) + 1)


def per_image(change: Callable[[np.ndarray], object], images: torch.Tensor) -> Work:
    pictures = list((images.permute(0, 2, 3, 1) * 255).byte().numpy())
    return lambda: [change(picture) for picture in pictures[:8]]


def albumentations_peer(name: str, images: torch.Tensor) -> Work | None:
    if name not in ALBUMENTATIONS:
        return None
    change = getattr(importlib.import_module("albumentations"), ALBUMENTATIONS[name])(p=1.0)
    return per_image(lambda picture: change(image=picture)["image"], images)


def imagecorruptions_peer(name: str, images: torch.Tensor) -> Work | None:
    if name not in IMAGECORRUPTIONS:
        return None
    corrupt = importlib.import_module("imagecorruptions").corrupt
    return per_image(lambda picture: corrupt(picture, corruption_name=IMAGECORRUPTIONS[name], severity=3), images)


PEERS = {"kornia": kornia_peer, "albumentations": albumentations_peer, "imagecorruptions": imagecorruptions_peer}


def rate(work: Work, count: int) -> float:
    """Images per second over about SECONDS of calls."""
    start, calls = time.perf_counter(), 0
    while calls == 0 or time.perf_counter() - start < SECONDS:
        work()
        calls += 1
    return calls * count / (time.perf_counter() - start)


def compare(name: str, size: int) -> dict[str, float]:
    images = images_of(size)
    works: dict[str, tuple[Work, int]] = {"ours": (ours(name, images), BATCH)}
    for peer, make in PEERS.items():
        try:
            work = make(name, images)
            if work is not None:
                work()
                works[peer] = (work, BATCH if peer == "kornia" else 8)
        except Exception:  # a peer that is missing, or broken beside these libraries, is no peer here
            continue
    works["ours"][0]()
    turns: dict[str, list[float]] = {key: [] for key in works}
    for _ in range(TURNS):
        for key, (work, count) in works.items():
            turns[key].append(rate(work, count))
    return {key: statistics.median(rates) for key, rates in turns.items()}


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only these nuisances")
    chosen = parser.parse_args().names or [
        name
        for name in nuisances.names()
        if nuisances.get(name).__module__.startswith("brittle.")
        and name != "function"  # which is as fast as what it calls: benchmarks/functions.py
        and not nuisances.build(name).needs
    ]
    warnings.simplefilter("ignore")
    keep_mapped()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, batch {BATCH}, 3 channels; images/s\n")
    header = [f"{size}×{size} {what}" for size in SIZES for what in ("ours", *(f"÷ {peer}" for peer in PEERS))]
    print("| nuisance | " + " | ".join(header) + " |\n" + "| --- " * (len(header) + 1) + "|")
    for name in chosen:
        cells = []
        for size in SIZES:
            try:
                found = compare(name, size)
            except Exception as error:
                cells += [f"({type(error).__name__})", "", "", ""]
                continue
            cells.append(f"{found['ours']:,.0f}")
            cells += [f"{found['ours'] / found[peer]:.1f}" if peer in found else "" for peer in PEERS]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
