"""Datasets that give another image, or another label, when they are asked again: refused before work begins, or at the
first image that is found to differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import brittle
from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.base import ImageSet, IndexNames
from brittle.images.compared_reader import READS

PIXELS = np.random.default_rng(0).integers(0, 256, (100, 6, 6), dtype=np.uint8)
TWICE = 0.1**2 + 0.9**2  # that two reads agree, with a flip of probability 0.1


class Flipped:
    """Images that are mirrored with probability `chance` whenever they are read."""

    def __init__(self, seed: int = 0, chance: float = 0.1, count: int = 100) -> None:
        self.rng, self.chance, self.count, self.reads = np.random.default_rng(seed), chance, count, 0

    def __len__(self) -> int:
        return self.count

    def image(self, place: int) -> Any:
        self.reads += 1
        return PIXELS[place][:, :: -1 if self.rng.random() < self.chance else 1].copy()

    def __getitem__(self, place: int) -> Any:
        if not 0 <= place < self.count:
            raise IndexError(place)
        return self.image(place), place % 10


class InDictionaries(Flipped):
    def __getitem__(self, place: int) -> Any:
        return {"pixel_values": self.image(place), "labels": place % 10}


class WithTargets(Flipped):
    """Labels stand apart, as torchvision has them: no image is read for their sake."""

    @property
    def targets(self) -> list[int]:
        return [place % 10 for place in range(self.count)]


def loader(seed: int, **options: Any) -> DataLoader[Any]:
    return DataLoader(Flipped(seed, **options), batch_size=4)


def collated(seed: int, chance: float = 0.1, count: int = 100) -> DataLoader[Any]:
    """The transform is in `collate_fn`."""
    rng = np.random.default_rng(seed)

    def joined(items: list[Any]) -> Any:
        images = torch.stack([torch.from_numpy(image)[None] / 255 for image, _ in items])
        return images.flip(-1) if rng.random() < chance else images, torch.tensor([label for _, label in items])

    return DataLoader(Flipped(chance=0, count=count), collate_fn=joined)  # type: ignore[arg-type]


def hugging_face(seed: int, chance: float = 0.1, count: int = 100) -> Any:
    datasets = pytest.importorskip("datasets")
    inner = Flipped(seed, chance, count)
    made = datasets.Dataset.from_dict({"n": list(range(count)), "label": [place % 10 for place in range(count)]})
    made.set_transform(lambda rows: rows | {"image": [inner.image(place) for place in rows.get("n", [])]})
    return made


KINDS = pytest.mark.parametrize("kind", [Flipped, InDictionaries, WithTargets, loader, collated, hugging_face])


@KINDS
def test_a_flip_of_probability_a_tenth_is_found_before_work_begins(kind: Any) -> None:
    """Missed with probability 0.82³² = 0.0017, where 32 images are read twice."""
    for seed in range(6):
        with pytest.raises(BrittleError, match=r"index \d+ differs .* Turn off its random transforms"):
            image_set(kind(seed))


@KINDS
def test_a_dataset_that_stays_the_same_passes(kind: Any) -> None:
    images = image_set(kind(0, chance=0.0))
    assert images.labels.tolist() == [place % 10 for place in range(100)]
    assert torch.equal(images.batch([7, 7]).images[0], images.batch([7]).images[0])


def test_misses_are_as_rare_as_claimed() -> None:
    def missed(seed: int, count: int) -> bool:
        try:
            image_set(WithTargets(seed, count=count))
        except BrittleError:
            return False
        return True

    assert TWICE ** (READS // 2) < 0.002
    for count in (1, 2, 5, 31, 100):
        assert sum(missed(seed, count) for seed in range(300)) <= 4  # P < 0.001 with 300 · 0.002 expected


@pytest.mark.parametrize("count", [1, 20, 100])
def test_few_images_are_read_for_it_where_labels_stand_apart(count: int) -> None:
    dataset = WithTargets(chance=0.0, count=count)
    image_set(dataset)
    assert dataset.reads <= 110


class LateChange(Flipped):
    """The same until it has been opened."""

    late = False

    def image(self, place: int) -> Any:
        return PIXELS[place][::-1].copy() if self.late and place == 41 else PIXELS[place]


def test_what_is_read_again_during_a_run_is_compared() -> None:
    dataset = LateChange()
    images = image_set(dataset)
    images.batch(range(100))
    dataset.late = True
    with pytest.raises(BrittleError, match="index 41 differs"):
        brittle.measure(lambda x: x.mean((2, 3)).repeat(1, 10), images, "affine", samples=2)


class OtherLabels(Flipped):
    """Labels are drawn anew each time."""

    def __getitem__(self, place: int) -> Any:
        return PIXELS[place], int(self.rng.integers(10))


def test_labels_that_change_are_refused() -> None:
    with pytest.raises(BrittleError, match=r"index \d+ has the label \d, and had the label \d before"):
        image_set(OtherLabels())


class OtherTargets(WithTargets):
    """Its list of labels agrees with the items only at first."""

    @property
    def targets(self) -> list[int]:
        return [min(place, 9) for place in range(self.count)]


def test_a_list_of_labels_that_disagrees_with_the_items_is_not_believed() -> None:
    assert image_set(OtherTargets(chance=0.0)).labels.tolist() == [place % 10 for place in range(100)]


@pytest.mark.parametrize("part", [False, True])
def test_a_reader_of_somebody_else_is_tried_too(part: bool) -> None:
    dataset = Flipped()
    ids = torch.arange(100)

    def read(places: Any) -> torch.Tensor:
        return torch.stack([torch.from_numpy(dataset[place][0])[None] / 255 for place in places])

    images = ImageSet("theirs", ids, ids % 3, (), IndexNames(ids.numpy()), {}, read)
    images = images.take(range(10, 90)) if part else images
    with pytest.raises(BrittleError, match=r"theirs: the image at index \d+ differs"):
        brittle.measure(lambda x: x.mean((2, 3)).repeat(1, 3), images, "affine", samples=2)
