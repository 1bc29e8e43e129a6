"""Parts of an image set to train on: a share of every class, or some of the classes."""

from collections import Counter

import numpy as np
import pytest
import torch

import brittle
from brittle.errors import BrittleError
from brittle.images import image_set, image_sets
from brittle.types import UNLABELLED

LABELS = np.repeat([0, 1, 2], [10, 20, 41])


def uneven(labels=LABELS, **options):
    """Classes of 10, 20 and 41 images; an image's pixels are its id / 1000."""
    ids = np.arange(len(labels)) + 100
    pixels = np.broadcast_to((ids / 1000).astype(np.float32)[:, None, None], (len(ids), 2, 2))
    return image_set((pixels, labels), ids=ids, name="uneven", **options)


def test_a_subsample_holds_its_share_of_each_class_and_the_same_images_under_the_same_ids():
    half = image_set("subsample:sample")
    whole = image_set("sample")
    assert Counter(half.labels.tolist()) == dict.fromkeys(range(10), 50)
    assert half.classes == whole.classes
    same = whole.only(half.ids)
    assert torch.equal(same.labels, half.labels)
    assert torch.equal(same.batch(range(20)).images, half.batch(range(20)).images)
    uneven_share = image_set("subsample", images=uneven(), share=0.25)
    assert Counter(uneven_share.labels.tolist()) == {0: 2, 1: 5, 2: 10}


def test_a_subsample_is_drawn_by_its_seed_from_the_ids_alone():
    def ids(spec, **options):
        return set(image_set(spec, **options).ids.tolist())

    assert ids("subsample:sample") == ids("subsample:sample,seed=0")
    assert ids("subsample:sample") != ids("subsample:sample,seed=1")
    assert ids("subsample:sample,share=0.1") < ids("subsample:sample,share=0.4")
    whole = uneven()
    backwards = whole.take(range(len(whole))[::-1])
    assert ids("subsample", images=whole, share=0.3) == ids("subsample", images=backwards, share=0.3)


def test_the_smallest_share_still_holds_an_image_of_each_class():
    least = image_set("subsample", images=uneven(), share=0.001)
    assert least.labels.tolist() == [0, 1, 2]


def test_a_subsample_of_images_without_labels_is_a_share_of_them_all():
    assert len(image_set("subsample", images=uneven(np.full(30, UNLABELLED)))) == 15


def test_a_subclass_holds_all_images_of_some_classes_counted_anew_under_their_names():
    whole, part = image_set("sample"), image_set("subclass:sample,share=0.3")
    assert Counter(part.labels.tolist()) == {0: 100, 1: 100, 2: 100}
    assert len(part.classes) == 3
    old = whole.only(part.ids)
    assert [part.classes[label] for label in part.labels] == [whole.classes[label] for label in old.labels]
    assert list(part.columns["class"]) == list(old.columns["class"])
    assert torch.equal(old.batch(range(20)).images, part.batch(range(20)).images)
    assert list(part.where(f"class={part.classes[1]}").labels.unique()) == [1]


def test_the_classes_of_a_subclass_are_drawn_by_its_seed():
    chosen = {image_set(f"subclass:sample,share=0.3,seed={seed}").classes for seed in range(8)}
    assert len(chosen) > 1
    assert set(image_set("subclass:sample,share=0.3").classes) < set(image_set("subclass:sample,share=0.5").classes)
    assert image_set("subclass:subsample:sample,share=0.3").classes == image_set("subclass:sample,share=0.3").classes


def test_a_subclass_has_at_least_two_classes():
    assert len(image_set("subclass:sample").classes) == 2
    with pytest.raises(BrittleError, match="'uneven' has images of 1 class, too few"):
        image_set("subclass", images=uneven(np.zeros(5, dtype=int)))
    with pytest.raises(BrittleError, match="'uneven' has images of 0 classes, too few"):
        image_set("subclass", images=uneven(np.full(5, UNLABELLED)))


def test_classes_can_be_named_also_those_with_a_slash():
    part = image_set("subclass:sample,classes=Bag/T-shirt/top")
    assert part.classes == ("T-shirt/top", "Bag")
    assert image_set("subclass", images="sample", classes=("Bag", "T-shirt/top")).classes == part.classes
    with pytest.raises(BrittleError, match=r"sample: the class never has the value 'Bog'. Did you mean 'Bag'"):
        image_set("subclass:sample,classes=Bog")


def test_classes_without_names_are_named_by_their_old_numbers_and_images_without_labels_are_left_out():
    part = image_set("subclass", images=uneven(np.where(LABELS == 1, UNLABELLED, LABELS)), share=1.0)
    assert part.classes == ("0", "2")
    assert Counter(part.labels.tolist()) == {0: 10, 1: 41}


def test_a_variant_of_a_variant_of_a_file_is_one_spec(tmp_path):
    np.savez(tmp_path / "a.npz", pictures=np.zeros((71, 2, 2), dtype=np.uint8), labels=LABELS)
    inner = f"npz:{tmp_path}/a.npz\\\\,images-key=pictures"
    part = image_set(f"subsample:subclass:{inner}\\,classes=1/2,share=0.1")
    assert Counter(part.labels.tolist()) == {0: 2, 1: 4}
    assert part.classes == ("1", "2")
    assert image_sets.build("subsample:sample,share=0.1").images == "sample"


def test_a_classifier_of_all_classes_meets_those_of_a_subclass_by_name():
    def measured(images, **options):
        found = brittle.measure("bundled:plain", images, "rotation:sigma=1", samples=1, count=100, **options)
        return found["rho"], found["accuracy_clean"]

    part = image_set("subclass", images="sample", classes=("Bag", "Ankle boot"))
    assert measured(part) == measured("sample", where="class=Bag/Ankle boot")
