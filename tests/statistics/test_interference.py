"""The DI index by hand, and its chance levels in closed form."""

import itertools
from collections import Counter

import numpy as np
import pytest

from brittle.statistics.interference import all_to_one, bootstrap, increases, index, spread_at_random


def test_a_small_table_worked_by_hand():
    """Two runs, three classes, shares of all images. Increases × 3: run 1 (0.6, 0.3, 0), run 2 (0.3, 0, 0.3).

    Means (0.45, 0.15, 0.15), so c_max is class 0: shares 2/3 and 1/2, mean 7/12; DI = 7/12 · 0.45."""
    clean = np.array([[0.0, 0.1, 0.2], [0.1, 0.1, 0.0]])
    now = np.array([[0.2, 0.2, 0.1], [0.2, 0.0, 0.1]])
    found = index(increases(now, clean))
    assert found.value == pytest.approx(7 / 12 * 0.45)
    assert (found.top, found.agreeing, found.undefined) == (0, 2, 0)
    assert found.share == pytest.approx(7 / 12)
    assert found.worst == pytest.approx(0.6 * 0.6 / 0.9)


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
