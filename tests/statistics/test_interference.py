"""The DI index by hand, and its chance levels in closed form."""

import itertools
from collections import Counter

import numpy as np
import pytest

from brittle.statistics.interference import all_to_one, bootstrap, evenly, increases, index, spread_at_random


def test_a_small_table_worked_by_hand():
    """Two runs, three classes, shares of all images. Increases × 3: run 1 (0.6, 0.3, 0), run 2 (0.3, 0, 0.3).

    Means (0.45, 0.15, 0.15), so c_max is class 0: shares 2/3 and 1/2, mean 7/12; DI = 7/12 · 0.45."""
    clean = np.array([[0.0, 0.1, 0.2], [0.1, 0.1, 0.0]])
    now = np.array([[0.2, 0.2, 0.1], [0.2, 0.0, 0.1]])
    found = index(increases(now, clean))
    assert found.value == pytest.approx(7 / 12 * 0.45)
    assert (found.top, found.agreeing, found.undefined) == (0, 2, 0)
    assert found.share == pytest.approx(7 / 12)
    assert found.worst == pytest.approx(7 / 12 * 0.6)  # its greatest increase is that of run 1


def test_the_worst_case_may_be_of_another_class_and_is_the_index_itself_for_one_run():
    """Means (0.4, 0.3), but class 1 has 0.6 in one run: shares 0.6 / 1 and 0, times 0.6."""
    found = index(np.array([[0.4, 0.6], [0.4, 0.0]]))
    assert (found.top, found.agreeing) == (0, 1)
    assert found.worst == pytest.approx((0.6 + 0.0) / 2 * 0.6)
    alone = index(np.array([[0.1, 0.3, 0.2]]))
    assert alone.worst == pytest.approx(alone.value)


def test_without_any_increase_it_is_undefined():
    found = index(np.zeros((3, 4)))
    assert found.value is None
    assert found.top is None
    assert found.undefined == 3


def test_a_run_without_increase_counts_for_the_mean_increase_and_not_for_the_share():
    found = index(np.array([[0.4, 0.4], [0.0, 0.0]]))
    assert found.value == pytest.approx(0.5 * 0.2)
    assert found.undefined == 1


def test_errors_spread_evenly_give_a_tenth_of_the_increase_for_ten_classes():
    even = np.full((5, 10), 0.3 / 10)
    assert index(increases(even, np.zeros((5, 10)))).value == pytest.approx(0.3 / 10)


def test_all_errors_of_a_run_to_one_random_class_give_1_4216_of_the_increase():
    """By enumeration: DI = 10·E·E[(m/5)²], m the greatest number of runs that share a class out of ten."""
    expected = np.mean([10 * (max(Counter(each).values()) / 5) ** 2 for each in itertools.product(range(10), repeat=5)])
    assert expected == pytest.approx(1.4216, abs=5e-5)
    wrong, clean = np.full((5, 10), 0.02), np.zeros((5, 10))
    found = all_to_one(wrong, clean, observed=1.0, draws=100_000)
    assert found.mean == pytest.approx(1.4216 * 0.2, rel=0.01)


def test_a_classifier_whose_errors_are_spread_evenly_is_at_its_chance_level():
    """The index lies above E/K by its bias, which the simulation has too: p-values are about uniform."""
    generator, images, p_values = np.random.default_rng(0), 1000, []
    clean = np.full((5, 10), 0.005)
    for seed in range(60):
        wrong = generator.multinomial(250, np.full(10, 0.1), 5) / images
        found = index(increases(wrong, clean))
        p_values.append(spread_at_random(wrong, clean, images, found.value, 400, seed).p_value)
    assert 0.3 < np.mean(p_values) < 0.7
    assert np.mean(np.array(p_values) < 0.05) < 0.15


def test_with_unequal_classes_errors_spread_evenly_are_at_their_chance_level():
    """Of 1000 images 900 are of class 0, which can't be wrongly given them: every error is one of the two others'. By
    brute force, image by image; if all classes were thought to be alike, it would seem far from chance."""
    generator, images = np.random.default_rng(0), 1000
    labels = np.repeat([0, 1, 2], [900, 50, 50])
    p_values, naive = [], []
    for seed in range(60):
        wrong = generator.random((5, images)) < 0.3
        given = (labels + generator.integers(1, 3, (5, images))) % 3
        shares = np.stack([np.bincount(run[which], minlength=3) for run, which in zip(given, wrong, strict=True)])
        gained = np.stack([np.bincount(labels[which], minlength=3) / images for which in wrong])
        shares, clean = shares / images, np.zeros((5, 3))
        value = index(increases(shares, clean)).value
        towards = np.stack([evenly(each) for each in gained])
        p_values.append(spread_at_random(shares, clean, images, value, 200, seed, towards).p_value)
        naive.append(spread_at_random(shares, clean, images, value, 200, seed).p_value)
    assert 0.3 < np.mean(p_values) < 0.7
    assert max(naive) < 0.05


def test_a_planted_class_is_far_above_chance():
    wrong = np.full((5, 10), 0.01)
    wrong[:, 8] = 0.1
    clean = np.full((5, 10), 0.005)
    found = index(increases(wrong, clean))
    chance = spread_at_random(wrong, clean, 2000, found.value)
    assert found.top == 8
    assert found.agreeing == 5
    assert found.value > 3 * chance.high
    assert chance.p_value < 0.001


def test_the_bootstrap_of_equal_runs_is_a_point_and_of_two_runs_is_not_given():
    equal = np.tile([0.4, 0.1, 0.0], (5, 1))
    low, high = bootstrap(equal, 0.95)
    assert low == pytest.approx(high)
    assert bootstrap(equal[:2], 0.95) is None


def test_a_tie_goes_to_the_more_consistent_class_whatever_the_order_of_classes():
    """Both gain 0.3 on average; the first has 0.75 and 0 of a run's increase, the second 0.25 and 1."""
    table = np.array([[0.6, 0.2], [0.0, 0.4]])
    for order in ([0, 1], [1, 0]):
        found = index(table[:, order])
        assert found.value == pytest.approx(0.3 * (0.25 + 1) / 2)
        assert order[found.top] == 1
        assert [order[each] for each in found.tied] == [0]
        assert found.agreeing == 1


def test_rounding_decides_no_tie():
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in floating point."""
    table = np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]])
    assert table.mean(0)[0] != table.mean(0)[1]
    for each in (table, table[:, ::-1]):
        assert (index(each).top, index(each).tied) == (0, (1,))


def test_a_run_in_which_two_classes_lead_agrees_with_either():
    tied = np.array([[0.3, 0.3], [0.5, 0.1]])
    assert index(tied).agreeing == index(tied[:, ::-1]).agreeing == 2


def test_by_chance_the_top_class_gains_more_than_an_equal_share():
    """By brute force: of 100 errors among ten classes the most frequent class has not 10, but as many as the fullest of
    ten boxes into which 100 balls are thrown."""
    wrong, clean = np.full((1, 10), 0.01), np.zeros((1, 10))
    boxes = np.random.default_rng(1).integers(10, size=(4000, 100))
    fullest = np.mean([np.bincount(each, minlength=10).max() for each in boxes])
    assert fullest > 14
    found = spread_at_random(wrong, clean, 1000, observed=1.0, draws=4000)
    assert 1000 * found.increase / 10 == pytest.approx(fullest, rel=0.01)
