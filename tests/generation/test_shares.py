"""Shares, means and changes of images, beside scipy's intervals and draws of our own."""

import numpy as np
import pytest
from scipy import stats

from brittle.generation.shares import change_of_share, mean_of_images, share_of_images


def test_a_share_has_the_exact_binomial_interval_in_any_order():
    right = np.repeat([True, False], [60, 140])  # as if the first three of ten classes were right
    exact = stats.binomtest(60, 200).proportion_ci(0.95)
    assert share_of_images(right) == pytest.approx((0.3, exact.low, exact.high))
    assert share_of_images(right[::-1]) == share_of_images(right)
    assert share_of_images(np.ones(20, bool)).low == pytest.approx(0.025 ** (1 / 20))


def test_a_mean_has_students_interval():
    values = np.random.default_rng(0).normal(size=30)
    expected = stats.t.interval(0.9, 29, values.mean(), stats.sem(values))
    assert mean_of_images(values, 0.9) == pytest.approx((values.mean(), *expected))


def test_a_change_is_paired_and_covers_about_as_often_as_it_says():
    generator, covered = np.random.default_rng(1), 0
    for _ in range(300):
        before = generator.random(200) < 0.7
        after = np.where(generator.random(200) < 0.2, generator.random(200) < 0.9, before)
        found = change_of_share(before, after)
        assert found.value == pytest.approx(after.mean() - before.mean())
        covered += found.low <= 0.2 * (0.9 - 0.7) <= found.high
    assert 276 <= covered <= 297


def test_no_change_at_all_still_has_room():
    right = np.arange(50) % 2 == 0
    found = change_of_share(right, right)
    assert found.value == 0
    assert -0.1 < found.low < 0 < found.high < 0.1
