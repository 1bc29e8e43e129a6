"""Images per second of every nuisance, batch 64, beside the peers that have the same thing, in one run.

Ours draws θ and transforms a batch of floats. Kornia (batched) draws and transforms likewise. albumentations and
imagecorruptions take one uint8 image after another and return uint8, which is how they are used: their images are a
quarter of the bytes, and what turns them into a classifier's floats is not counted. Everyone has as many threads, and
does as much: corruptions at ImageNet-C's level 3, or with `--as-they-come` what albumentations does by default. Where a
peer computes the same, its pictures are held against ours first (`SAME`): if they differ, there is no table.

Turns alternate between ours and the peers; printed are medians, and ours as a ratio to each peer, of the processor's
time, which other processes disturb least, or with `--clock wall` of the time on the clock. Peers that are not installed
are left out: `make bench` installs them. `python benchmarks/nuisances.py [NAME …]` prints Markdown.
"""

from __future__ import annotations

import argparse
import contextlib
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

BATCH, SIZES, TURNS, SECONDS = 64, (32, 224), 9, 0.15
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
ALBUMENTATIONS: dict[str, tuple[str, dict[str, object]]] = {
    # As far as ours go with their default priors: left as they come, these maps are the identity, which it skips.
    "affine": (
        "Affine",
        {"scale": (0.87, 1.13), "translate_percent": (-0.04, 0.04), "rotate": (-7, 7), "shear": (-7, 7)},
    ),
    "rotation": ("Rotate", {}),
    "projective": ("Perspective", {}),
    "elastic": ("ElasticTransform", {}),
    "piecewise-affine": ("PiecewiseAffine", {}),
    "occlusion": ("CoarseDropout", {}),
    "tiles": ("GridDropout", {}),
    "shuffle": ("RandomGridShuffle", {}),
    "noise": ("GaussNoise", {}),
    "shot": ("ShotNoise", {}),
    "gamma": ("RandomGamma", {}),
    "hue": ("HueSaturationValue", {}),
    "glass-blur": ("GlassBlur", {}),
    "zoom-blur": ("ZoomBlur", {"max_factor": (1.2, 1.2), "step_factor": (0.02, 0.02)}),
    "jpeg": ("ImageCompression", {"quality_range": (15, 15)}),
    "pixelate": ("Downscale", {"scale_range": (0.4, 0.4), "interpolation_pair": {"downscale": 3, "upscale": 0}}),
    "fog": ("RandomFog", {}),
    "rain": ("RandomRain", {}),
    "snow": ("RandomSnow", {"method": "texture"}),  # left as it comes, it brightens dark pixels, and nothing falls
    "shadow": ("RandomShadow", {}),
}
# What computes the same as ours: how far apart their pictures may be, in grey values, as a mean over grainy pictures of
# 224×224. Theirs are rounded to whole values, some at every step.
SAME = {
    ("gaussian-blur", "albumentations"): 0.6,
    ("gaussian-blur", "kornia"): 0.2,
    ("zoom-blur", "albumentations"): 2.5,  # whose enlargements are moved by up to a pixel
    ("jpeg", "imagecorruptions"): 0.8,  # albumentations hands OpenCV red for blue, or would be as close
    ("pixelate", "imagecorruptions"): 0.8,
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


def albumentations_peer(name: str, images: torch.Tensor, as_they_come: bool = False) -> Work | None:
    # Blurs as wide as ours at level 3, like Kornia's.
    scale = images.shape[-1] / 224
    radius = max(1, round(6 * scale))
    blurs: dict[str, tuple[str, dict[str, object]]] = {
        "gaussian-blur": ("GaussianBlur", {"sigma_limit": (3 * scale, 3 * scale)}),
        "defocus-blur": ("Defocus", {"radius": (radius, radius)}),
        "motion-blur": ("MotionBlur", {"blur_limit": (_odd(31 * scale), _odd(31 * scale))}),
    }
    if name not in ALBUMENTATIONS | blurs:
        return None
    kind, settings = (ALBUMENTATIONS | blurs)[name]
    change = getattr(importlib.import_module("albumentations"), kind)(p=1.0, **({} if as_they_come else settings))
    return per_image(lambda picture: change(image=picture)["image"], images)


def imagecorruptions_peer(name: str, images: torch.Tensor) -> Work | None:
    if name not in IMAGECORRUPTIONS:
        return None
    corrupt = importlib.import_module("imagecorruptions").corrupt
    return per_image(lambda picture: corrupt(picture, corruption_name=IMAGECORRUPTIONS[name], severity=3), images)


PEERS: dict[str, Callable[..., Work | None]] = {
    "kornia": kornia_peer,
    "albumentations": albumentations_peer,
    "imagecorruptions": imagecorruptions_peer,
}


class Unequal(Exception):
    """A peer whose pictures are not ours, though it is said to compute the same."""


def held_against_ours(name: str, peer: str) -> None:
    """Raises `Unequal` where `SAME` promises more than the peer's pictures keep."""
    if (name, peer) not in SAME:
        return
    grain = torch.rand(8, 3, 224, 224, generator=torch.Generator().manual_seed(1))
    grainy = torch.lerp(images_of(224)[:8], grain, 0.3).mul_(255).floor_().div_(255)
    images = grainy.repeat(BATCH // 8, 1, 1, 1)
    work = PEERS[peer](name, images)
    if work is None:
        return
    theirs = work()
    if not isinstance(theirs, torch.Tensor):
        pictures = np.stack([np.asarray(picture, dtype=np.float32) for picture in theirs])
        theirs = torch.from_numpy(pictures).permute(0, 3, 1, 2) / 255
    away, changed = (255 * (each[:8] - theirs[:8]).abs().mean().item() for each in (ours(name, images)(), grainy))
    if away > min(SAME[name, peer], 0.2 * changed):
        raise Unequal(
            f"{name}: {peer} is {away:.2f} grey values from ours, and {changed:.2f} from the untouched picture"
        )


CLOCKS = {"processor": time.process_time, "wall": time.perf_counter}


def rate(work: Work, count: int, clock: Callable[[], float]) -> float:
    """Images per second over about SECONDS of calls."""
    begun, start, calls = clock(), time.perf_counter(), 0
    while calls == 0 or time.perf_counter() - start < SECONDS:
        work()
        calls += 1
    return calls * count / (clock() - begun)


def compare(name: str, size: int, clock: Callable[[], float], as_they_come: bool) -> dict[str, float]:
    """Images per second of ours, and the ratio to each peer."""
    images = images_of(size)
    works: dict[str, tuple[Work, int]] = {"ours": (ours(name, images), BATCH)}
    for peer, make in PEERS.items():
        try:
            work = make(name, images, True) if peer == "albumentations" and as_they_come else make(name, images)
            if work is not None:
                work()
                works[peer] = (work, BATCH if peer == "kornia" else 8)
        except Exception:  # a peer that is missing, or broken beside these libraries, is no peer here
            continue
        if not as_they_come and peer in works:
            held_against_ours(name, peer)
    works["ours"][0]()
    turns: dict[str, list[float]] = {key: [] for key in works}
    for _ in range(TURNS):
        for key, (work, count) in works.items():
            turns[key].append(rate(work, count, clock))
    ratios = {
        peer: statistics.median(one / other for one, other in zip(turns["ours"], rates, strict=True))
        for peer, rates in turns.items()
    }
    return ratios | {"ours": statistics.median(turns["ours"])}


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only these nuisances")
    parser.add_argument("--clock", choices=CLOCKS, default="processor", help="the time that counts")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="sides of images")
    parser.add_argument("--as-they-come", action="store_true", help="albumentations with what it does by default")
    asked = parser.parse_args()
    chosen = asked.names or [
        name
        for name in nuisances.names()
        if nuisances.get(name).__module__.startswith("brittle.")
        and name != "function"  # which is as fast as what it calls: benchmarks/functions.py
        and not nuisances.build(name).needs
    ]
    warnings.simplefilter("ignore")
    keep_mapped()
    with contextlib.suppress(ImportError):  # OpenCV counts its threads itself
        importlib.import_module("cv2").setNumThreads(torch.get_num_threads())
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, batch {BATCH}, 3 channels; images/s of the "
        f"{'clock' if asked.clock == 'wall' else 'processor'}\n"
    )
    header = [f"{size}×{size} {what}" for size in asked.sizes for what in ("ours", *(f"÷ {peer}" for peer in PEERS))]
    print("| nuisance | " + " | ".join(header) + " |\n" + "| --- " * (len(header) + 1) + "|")
    for name in chosen:
        cells = []
        for size in asked.sizes:
            try:
                found = compare(name, size, CLOCKS[asked.clock], asked.as_they_come)
            except Unequal:
                raise
            except Exception as error:
                cells += [f"({type(error).__name__})", "", "", ""]
                continue
            cells.append(f"{found['ours']:,.0f}")
            cells += [f"{found[peer]:.2f}" if peer in found else "" for peer in PEERS]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
