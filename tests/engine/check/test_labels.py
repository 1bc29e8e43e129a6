"""Classes named by numbers: names that nobody gave take no part in matching, and what disagrees is reported."""

import tracemalloc

import numpy as np
import pytest
import torch
from PIL import Image

from brittle.api import measure
from brittle.classifiers import classifier
from brittle.engine.check.labels import matching_warning, reference_labels
from brittle.engine.job import subject_of
from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.base import MOST_CLASSES
from brittle.images.selection import ChosenImages
from brittle.measures.base import ClassifierFacts

CLASSES = sorted(map(str, range(12)))  # "0", "1", "10", "11", "2", …, as ImageFolder has them


class Dataset:
    """Image i is white in column i of a row and has the label i."""

    classes = CLASSES

    def __len__(self):
        return 12

    def __getitem__(self, place):
        image = np.zeros((12, 12), np.uint8)
        image[:, place] = 255
        return Image.fromarray(image), place


def perfect(images):
    return images.mean((1, 2)) * 50  # (B, 12)


def said(found):
    return "\n".join(found["warnings"])


@pytest.mark.warned("if they mean its classes of these numbers")
def test_a_perfect_model_is_perfect_though_classes_are_named_by_numbers_in_the_order_of_text():
    found = measure(perfect, Dataset(), "translation:sigma=0.001", samples=2)
    assert found["accuracy_clean"] == 1.0
    assert "go to those of 'classifier', which has no names, by their place ('10' to 2)" in said(found)


@pytest.mark.warned("if they mean its classes of these numbers")
def test_folders_named_by_numbers_are_counted_as_they_are_sorted(tmp_path):
    for place, name in enumerate(CLASSES):
        (tmp_path / name).mkdir()
        Dataset()[place][0].save(tmp_path / name / "image.png")
    found = measure(perfect, f"folder:{tmp_path}", "translation:sigma=0.001", samples=2)
    assert found["accuracy_clean"] == 1.0
    assert "by their place ('10' to 2)" in said(found)


@pytest.mark.warned("if they mean places, give the classifier no labels")
def test_names_that_were_given_count_and_where_they_are_numbers_it_is_told():
    in_order = classifier(
        lambda images: perfect(images)[:, [CLASSES.index(str(n)) for n in range(12)]],
        labels="/".join(map(str, range(12))),
    )
    found = measure(in_order, Dataset(), "translation:sigma=0.001", samples=2)
    assert found["accuracy_clean"] == 1.0
    assert "by their names, which are numbers ('10' to the one in place 10, not 2)" in said(found)


def subject(labels, classes=()):
    images = np.zeros((len(labels), 4, 4), np.uint8)
    whole = image_set((images, np.array(labels)), name="toy", classes=classes)
    return subject_of(ChosenImages(whole, whole))


@pytest.mark.parametrize(
    ("facts", "about", "right", "told"),
    [
        (ClassifierFacts("c", ("3", "7")), subject([3, 7, 3]), [0, 1, 0], ""),  # an estimator fitted on 3 and 7
        (ClassifierFacts("c", ("1", "0")), subject([0, 1]), [1, 0], "'0' to the one in place 1, not 0"),
        (ClassifierFacts("c", ("0", "1"), named=False), subject([0, 1]), [0, 1], ""),
        (ClassifierFacts("c", ("0", "1"), named=False), subject([0, 1], ("1", "0")), [0, 1], "'1' to 0"),
        (ClassifierFacts("c", ("cat", "dog")), subject([0, 1], ("dog", "cat")), [1, 0], ""),
        (
            ClassifierFacts("c", ("0", "1"), named=False),
            subject([0, 1], ("dog", "cat")),
            [0, 1],
            "0 = dog, 1 = cat; if",
        ),
        (ClassifierFacts("c", ("Hund", "Katze")), subject([0, 1], ("dog", "cat")), [0, 1], "which lacks some of these"),
        (ClassifierFacts("c", ("a", "b")), subject([0, 1]), [0, 1], ""),
    ],
)
def test_what_goes_by_name_what_by_number_and_what_is_told(facts, about, right, told):
    assert reference_labels(facts, about).tolist() == right
    found = matching_warning(facts, about)
    assert told in found
    assert bool(told) == bool(found)


def test_a_classifier_knows_whether_its_names_were_given():
    bare, named = classifier(perfect), classifier(perfect, labels="/".join(CLASSES))
    bare.check(torch.zeros(2, 1, 12, 12))
    assert (bare.named, named.named) == (False, True)


def test_matching_takes_no_more_for_a_large_label():
    """A class without a name goes by its number: those that do not occur are not counted up to it."""
    about, most = subject([0, -1, MOST_CLASSES - 1]), str(MOST_CLASSES - 1)
    tracemalloc.start()
    assert reference_labels(ClassifierFacts("c", ("0", most, "x")), about).tolist() == [0, -1, 1]
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()
    with pytest.raises(BrittleError, match=f"has label {most}, but the classifier 'c' knows 2 classes"):
        reference_labels(ClassifierFacts("c", ("a", "b")), about)


def test_class_names_of_thousands_of_digits_are_names():
    told = matching_warning(ClassifierFacts("c", ("0", "1"), named=False), subject([0, 1], ("0", "9" * 5000)))
    assert "are named by numbers" in told
