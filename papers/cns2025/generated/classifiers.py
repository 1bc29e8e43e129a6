"""The classifiers: three that are measured, and two that label in place of people, which are a proxy and called one.

All see the last 40,000 training images of FashionMNIST. Those that are measured see them clean; those that label see
each also under one of the shifts, so that a shift as such is no reason for them to say "not class".
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor
from train import keep
from work import BORDER, CLASSES, NETWORKS_SEE, Pictures, Work, recall, remember

from brittle.classifiers import classifier
from brittle.classifiers.base import AdaptedClassifier
from brittle.images.arrays import from_arrays
from brittle.images.base import ImageSet
from brittle.memory import slices
from brittle.training import train
from brittle.training.data import TrainingImages

MEASURED = {"small": "small-plain", "cnn-2": "cnn-2", "resnet": "preact-resnet-18:width=16"}
JUDGES = {"judge-resnet": "preact-resnet-18:width=16", "judge-vgg": "small-vgg:width=16"}
EPOCHS = {"small": 12, "cnn-2": 12, "resnet": 8, "judge-resnet": 8, "judge-vgg": 8}
BATCH = 1000


def classifiers(work: Work) -> None:
    """Weights go to WORK/networks, specs to networks.json there."""
    seen = work.fashion(NETWORKS_SEE)
    test = TrainingImages(as_set(work.test()), work.device)
    sets = {"clean": TrainingImages(as_set(seen), work.device), "shifted": None}
    sets["shifted"] = TrainingImages(as_set(also_shifted(work, seen)), work.device)
    folder, specs, errors = work.folder / "networks", {}, {}
    folder.mkdir(exist_ok=True)
    began = time.monotonic()
    for name, network in {**MEASURED, **JUDGES}.items():
        found = train(
            f"{network.replace('width=16', 'width=4')}" if work.tiny else network,
            sets["shifted" if name in JUDGES else "clean"],
            folder / f"{name}.safetensors",
            test=test,
            device=str(work.device),
            epochs=1 if work.tiny else EPOCHS[name],
            batch_size=256,
        )
        specs[name], errors[name] = found["classifier"], found["test_error"]
        work.say(f"{name}: test error {found['test_error']:.4f}")
    remember(folder, "networks", specs)
    work.pack("networks")
    keep(work, "networks", **{f"{name} test error": error for name, error in errors.items()})
    keep(work, "networks in all", seconds=time.monotonic() - began)


def also_shifted(work: Work, seen: Pictures) -> Pictures:
    """Every image as it is, and under a shift drawn for it."""
    pixels = cropped(work.captioned(seen).pixels)
    which = torch.randint(1, len(pixels), (len(seen.labels),), generator=torch.Generator().manual_seed(0))
    shifted = pixels[which.to(pixels.device), torch.arange(len(which), device=pixels.device)]
    return Pictures(torch.cat([seen.images, shifted.cpu()]), torch.cat([seen.labels, seen.labels]))


def really_shifted(work: Work, pictures: Pictures) -> dict[str, Pictures]:
    """Real images clean, and under each shift as a corruption of ours, at 32×32: the border is shifted, too, as it is
    where the pipeline and the encoders learned of shifts."""
    made = work.captioned(pictures)
    names = ("clean", *made.shifts)
    return {name: Pictures(each, pictures.labels) for name, each in zip(names, made.pixels.cpu(), strict=True)}


def spec_of(work: Work, name: str) -> str:
    """Of a classifier that takes images at 28×28 as well as with their border."""
    specs: dict[str, Any] = recall(work.folder / "networks", "networks")
    return f"{specs[name]},crop=28"


def opened(work: Work, name: str) -> AdaptedClassifier:
    return classifier(spec_of(work, name), device=str(work.device))


@torch.no_grad()
def predicted(model: AdaptedClassifier, images: Tensor) -> Tensor:
    """Classes (n,) of images (n, H, W) or (n, 1, H, W), uint8."""
    every = images if images.ndim == 4 else images[:, None]
    parts = [
        model.log_probs(every[part].to(model.device).float() / 255).argmax(1).cpu()
        for part in slices(len(every), BATCH)
    ]
    return torch.cat(parts)


def cropped(images: Tensor) -> Tensor:
    """Images (…, 32, 32) without their border."""
    return images[..., BORDER:-BORDER, BORDER:-BORDER]


def as_set(pictures: Pictures) -> ImageSet:
    return from_arrays(pictures.images.numpy(), pictures.labels.numpy(), name="pictures", classes=CLASSES)
