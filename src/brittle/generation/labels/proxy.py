"""Where no people label: classifiers stand in, each as one labeller, and are called a proxy wherever they are used.

A classifier says "class" where the class is its first answer, "partly" where it is among its first few, and "not class"
otherwise. Such labels know what classifiers get wrong and nothing of what people would see: a classifier that is
measured on what they keep, or was trained like them, is flattered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from brittle.classifiers import classifier
from brittle.classifiers.base import AdaptedClassifier
from brittle.errors import BrittleError
from brittle.files import printable
from brittle.generation.encoders import words
from brittle.generation.labels.store import SUFFIX, ImageLabel, write_labels
from brittle.generation.stored import StoredImages
from brittle.images.scales.cns import CnsFile
from brittle.progress import Progress

BATCH = 256


def label_by_proxy(
    images: StoredImages, specs: Sequence[str], partly: int, folder: Path, device: str, progress: Progress
) -> None:
    """Writes a file of labels per classifier."""
    progress.start(len(images) * len(specs))
    for number, spec in enumerate(specs):
        progress.at(f"labels of {spec}")
        model = classifier(spec, device=device)
        answers: list[ImageLabel] = []
        for start in range(0, len(images), BATCH):
            files = images.files[start : start + BATCH]
            answers += answers_of(model, images, files, partly)
            progress.advance(len(files))
        name = re.sub(r"[^\w-]+", "-", printable(spec)).strip("-")[:32]
        write_labels(folder / f"proxy-{number}-{name}{SUFFIX}", spec, answers)


@torch.no_grad()
def answers_of(
    model: AdaptedClassifier, images: StoredImages, files: Sequence[CnsFile], partly: int
) -> list[ImageLabel]:
    """One classifier's answers to some images."""
    logs = model.log_probs(images.pixels(files))
    place = class_places(model, images.classes)
    own = torch.tensor([place[each.label] for each in files])
    rank = (logs > logs.gather(1, own[:, None])).sum(1).tolist()
    said = ["class" if each == 0 else "partly" if each < partly else "not" for each in rank]
    return [ImageLabel(each.file, label) for each, label in zip(files, said, strict=True)]


def class_places(model: AdaptedClassifier, classes: Mapping[int, str]) -> dict[int, int]:
    """Index of a benchmark's class → place among the classifier's: by name where names match, else the index."""
    names = [words(each).lower() for each in model.labels]
    found = {index: names.index(words(name).lower()) for index, name in classes.items() if words(name).lower() in names}
    if len(found) == len(classes):
        return found
    highest = max(classes)
    if highest >= len(names):
        raise BrittleError(
            f"{model.name} has {len(names)} classes, and the benchmark has one with the index {highest}",
            "Use a classifier of the benchmark's classes.",
        )
    return {index: index for index in classes}
