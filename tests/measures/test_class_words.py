"""A network whose classes go by number is told in the words of the images it is measured on."""

import numpy as np
import pytest
import torch
from torch import nn

import brittle
from brittle.report.page.label_names import LabelNames

WORDS = ("Bag", "Coat", "Shoe")


@pytest.fixture(scope="module")
def given():
    """A random network of three classes, and images whose labels are its answers."""
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
    random = np.random.default_rng(0)
    net[1].weight.data = torch.tensor(random.normal(size=(3, 64)), dtype=torch.float32)
    pixels = random.integers(0, 256, (30, 8, 8), dtype=np.uint8)
    labels = net(torch.tensor(pixels, dtype=torch.float32) / 255).argmax(1).numpy()
    return net, brittle.image_set((pixels, labels), classes=WORDS)


def test_labels_fallen_into_have_the_words_of_the_image_set(given):
    (row,) = brittle.failure_points(*given, "noise:level=1", progress=False)["results"]
    assert row["falls"]
    assert {each["label"] for each in row["falls"]} <= set(WORDS)


def test_breaking_points_have_them(given):
    (row,) = brittle.breaking_points(*given, "affine", progress=False)["results"]
    assert row["flows"]
    assert {word for each in row["flows"] for word in (each["from"], each["to"])} <= set(WORDS)


def test_weak_points_have_them(given):
    entry = brittle.sample(*given, "affine", count=3, progress=False)
    assert {each["label"] for each in entry["per_image"]} <= set(WORDS)
    assert {each["from_label"] for each in entry["flows"]} <= set(WORDS)


def test_words_that_are_numbers_are_not_taken_for_places(given):
    """Classes whose words are the numbers of others: one name in the summary and on the page."""
    net, images = given
    pixels, labels = images.batch(range(30)).images[:, 0].numpy(), images.labels.numpy()
    found = brittle.sample(net, brittle.image_set((pixels, labels), classes=("2", "0", "1")), "affine", count=8)
    names = LabelNames(("0", "1", "2"), ("2", "0", "1"), named=False)
    for row in found["per_image"]:
        place = int(labels[int(row["name"].removeprefix("index "))])
        assert row["label"] == ("2", "0", "1")[place] == names(row["label"]) == names(place)
