"""Datasets as people have them: dictionaries by the usual names, and DataLoaders."""

from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, SubsetRandomSampler, WeightedRandomSampler

import brittle
from brittle.errors import BrittleError

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 5, 4, 3), dtype=np.uint8)
LABELS = [0, 1, 1, 0, 2, 1]


class Items(Dataset):
    """Tensors (C, H, W) and labels, as a pair or under two names."""

    def __init__(self, image="", label=""):
        self.names, self.reads = (image, label), 0

    def __len__(self):
        return len(PIXELS)

    def __getitem__(self, place):
        self.reads += 1
        found = torch.from_numpy(PIXELS[place]).permute(2, 0, 1), LABELS[place]
        return dict(zip(self.names, found, strict=True)) if all(self.names) else found


def images_of(what, **options):
    return brittle.image_set(what, **options)


def pixels_of(found):
    return (found.batch(range(len(found))).images * 255).round().byte().permute(0, 2, 3, 1).numpy()


@pytest.mark.parametrize(
    ("image", "label"),
    [("image", "label"), ("img", "fine_label"), ("pixel_values", "labels"), ("jpg", "cls"), ("image", "target")],
)
def test_items_that_are_dictionaries_go_by_the_usual_names(image, label):
    found = images_of(Items(image, label))
    assert found.labels.tolist() == LABELS
    assert (pixels_of(found) == PIXELS).all()


def test_a_dictionary_without_a_label_is_an_image_without_one():
    found = images_of([{"image": pixels} for pixels in PIXELS])
    assert found.labels.tolist() == [-1] * 6
    assert (pixels_of(found) == PIXELS).all()


def test_a_dictionary_without_an_image_says_what_it_has():
    with pytest.raises(BrittleError, match="item 0 is a dictionary with 'text', 'label', none of which is an image"):
        images_of([{"text": "a", "label": 0}])


class Columns(Items):
    """A dataset in the manner of Hugging Face: columns that can be had alone, and features with names."""

    column_names = ("image", "label")
    features: ClassVar = {"image": None, "label": SimpleNamespace(names=["ant", "bee", "cat"])}

    def __len__(self):
        return 100 * len(PIXELS)

    def __getitem__(self, place):
        return 100 * LABELS if place == "label" else super().__getitem__(place % len(PIXELS))


def test_class_names_and_labels_of_a_dataset_with_columns_are_read_without_its_images():
    """But for a few, which are read again to see whether they stay the same."""
    items = Columns("image", "label")
    found = images_of(items)
    assert found.classes == ("ant", "bee", "cat")
    assert found.labels.tolist() == 100 * LABELS
    assert items.reads < 100


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("names", [("", ""), ("image", "label")])
def test_a_data_loader_is_the_dataset_behind_it(shuffle, names):
    found = images_of(DataLoader(Items(*names), batch_size=4, shuffle=shuffle))
    assert found.name == "Items"
    assert found.labels.tolist() == LABELS
    assert (pixels_of(found) == PIXELS).all()


def test_a_data_loader_of_some_images_keeps_their_places_as_ids():
    found = images_of(DataLoader(Items(), batch_size=2, sampler=SubsetRandomSampler([4, 1, 3])))
    assert found.ids.tolist() == [1, 3, 4]
    assert (pixels_of(found) == PIXELS[[1, 3, 4]]).all()


def test_what_a_loader_does_to_its_batches_is_done_to_each_image():
    def darker(items):
        images, labels = zip(*items, strict=True)
        return torch.stack(images) // 2, torch.tensor(labels)

    found = images_of(DataLoader(Items(), batch_size=4, collate_fn=darker))
    assert (pixels_of(found) == PIXELS // 2).all()
    assert found.labels.tolist() == LABELS


def test_a_loader_whose_images_have_no_fixed_place_is_refused():
    with pytest.raises(BrittleError, match="which images it gives is not fixed"):
        images_of(DataLoader(Items(), sampler=WeightedRandomSampler([1.0] * 6, 6)))


def test_an_image_set_is_shown_in_one_line():
    assert repr(images_of("sample")) == "<ImageSet 'sample': 1,000 images, 10 classes>"
    assert repr(images_of((PIXELS, None))) == "<ImageSet 'arrays': 6 images, no labels>"
