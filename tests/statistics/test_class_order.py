"""Orders of classes: found where answers are shuffled, and not where they are wrong for another reason."""

import itertools

import numpy as np
import pytest

from brittle.statistics.class_order import best_order, reordering

SIZES = [(2, 20), (2, 200), (10, 20), (10, 60), (10, 1000), (1000, 2000)]


def answers(rng, labels, classes, accuracy):
    """Right with that probability, and otherwise any class."""
    return np.where(rng.random(len(labels)) < accuracy, labels, rng.integers(classes, size=len(labels)))


def balanced(classes, images):
    return np.arange(images) % classes


@pytest.mark.parametrize(("classes", "images"), SIZES)
def test_a_shuffled_classifier_is_found_and_its_order_given_back(classes, images):
    for seed in range(5 if classes > 100 else 20):
        rng = np.random.default_rng(seed)
        labels, order = balanced(classes, images), np.roll(rng.permutation(classes), 1)
        if (order == np.arange(classes)).mean() > 0.4:  # the order of two classes, or most, may stay
            order = np.roll(np.arange(classes), 1)
        found = reordering(labels, order[answers(rng, labels, classes, 0.97)], 0.95)
        assert found is not None
        assert found.reordered > 0.6
        # With two images of a class both may be wrong, and then nothing tells where it is.
        assert np.mean([found.answers[label] == order[label] for label in range(classes)]) > 0.95


def test_two_classes_of_ten_that_are_exchanged_are_found():
    rng = np.random.default_rng(0)
    labels, order = balanced(10, 200), np.array([0, 1, 2, 8, 4, 5, 6, 7, 3, 9])
    found = reordering(labels, order[answers(rng, labels, 10, 0.95)], 0.95)
    assert {label: to for label, to in found.answers.items() if label != to} == {3: 8, 8: 3}


@pytest.mark.parametrize("confidence", [0.3, 0.6, 0.99])
@pytest.mark.parametrize("accuracy", [0.0, 0.3, 0.7])
@pytest.mark.parametrize(("classes", "images"), SIZES)
def test_random_weak_and_miscalibrated_classifiers_are_not_taken_for_shuffled_ones(
    classes, images, accuracy, confidence
):
    """`accuracy` 0: an untrained one, whose answers have nothing to do with the labels."""
    labels, alarms = balanced(classes, images), 0
    for seed in range(3 if classes > 100 else 200):
        rng = np.random.default_rng(seed)
        alarms += reordering(labels, answers(rng, labels, classes, accuracy), confidence) is not None
    assert alarms <= 1  # of 200 at a level of 0.001: two or more with probability 0.02 at most


@pytest.mark.parametrize(("classes", "images"), SIZES)
def test_one_answer_for_all_images_is_no_order(classes, images):
    labels = balanced(classes, images)
    assert reordering(labels, np.ones_like(labels), 0.99) is None


def test_answers_that_go_a_little_with_the_classes_are_no_order():
    """As an untrained network's do: a class has a favourite answer in three of ten images."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        labels, favourite = balanced(10, 1000), rng.permutation(10)
        predicted = np.where(rng.random(1000) < 0.2, favourite[labels], rng.integers(10, size=1000))
        assert reordering(labels, predicted, 0.7) is None


def test_the_order_is_the_best_of_all_and_stays_where_nothing_speaks_against_it():
    rng = np.random.default_rng(0)
    for _ in range(50):
        labels, predicted = rng.integers(4, size=12), rng.integers(4, size=12)
        found = best_order(labels, predicted)
        best = max(
            sum(order[label] == to for label, to in zip(labels, predicted, strict=True))
            for order in itertools.permutations(range(4))
        )
        assert sum(found[label] == to for label, to in zip(labels.tolist(), predicted, strict=True)) == best
    assert best_order(np.array([0, 1, 2]), np.array([5, 5, 2])) in ({0: 5, 1: 1, 2: 2}, {0: 0, 1: 5, 2: 2})


def test_labels_may_be_a_few_of_many_classes():
    """Ten of a thousand classes, each answered with another of the thousand."""
    rng = np.random.default_rng(0)
    labels, order = rng.integers(10, size=200), rng.choice(1000, 10, replace=False)
    found = reordering(labels, order[labels], 0.9)
    assert found.answers == dict(enumerate(order.tolist()))
    assert (found.accuracy, found.reordered) == (0, 1)
