"""Stimuli, classifiers and decisions made so that shape, texture and errors are known."""

import csv
import itertools

import torch
from PIL import Image
from torch import nn

import brittle
from brittle.images import image_set

CLASSES = ("bear", "cat", "dog", "elephant")
SHAPES, TEXTURES = 3, 2  # images of each class that shapes and textures are from


def made_stimuli(folder):
    """Red tells the shape, green the texture, blue the number of the shape image: every combination of 12 shapes and 8
    textures, 96 stimuli of which 72 are in conflict."""
    for shape, texture in itertools.product(range(4), range(4)):
        (folder / CLASSES[shape]).mkdir(exist_ok=True)
        for first, second in itertools.product(range(1, SHAPES + 1), range(1, TEXTURES + 1)):
            name = f"{CLASSES[shape]}/{CLASSES[shape]}{first}-{CLASSES[texture]}{second}.png"
            Image.new("RGB", (4, 4), (60 * shape, 60 * texture, 60 * first)).save(folder / name)
    return image_set(f"cue-conflict:{folder}")


class Reads(nn.Module):
    """Says the shape of images whose number is among `numbers`, otherwise the texture."""

    def __init__(self, *numbers):
        super().__init__()
        self.numbers = torch.tensor(numbers)

    def forward(self, images):
        shape, texture, number = (255 * images.mean((2, 3)) / 60).round().long().T
        said = torch.where(torch.isin(number, self.numbers), shape, texture)
        return 9.0 * nn.functional.one_hot(said, 4).float()


def reader(*numbers):
    return brittle.classifier(Reads(*numbers), labels=CLASSES)


def written(path, rows):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [("subj", "session", "trial", "rt", "object_response", "category", "condition", "imagename"), *rows]
        )
    return str(path)


def two_people(stimuli, folder):
    """Files of one who says the shape except once, where she says nothing, and of another who was shown only cats, and
    says the texture. Files from the laboratory put session and trial before the image's name."""
    names = [name.rpartition("/")[2] for name in stimuli.names]
    shapes, textures = stimuli.columns["shape"], stimuli.columns["texture"]
    first = [
        ("subject-01", 1, k, 0.5, "na" if name == "dog1-cat1.png" else shape, shape, 0, f"0001_cue_s01_{name}")
        for k, (name, shape) in enumerate(zip(names, shapes, strict=True))
    ]
    second = [
        ("subject-02", 1, k, 0.5, texture, shape, 0, name)
        for k, (name, shape, texture) in enumerate(zip(names, shapes, textures, strict=True))
        if shape == "cat"
    ]
    return [written(folder / "one.csv", first), written(folder / "two.csv", second)]
