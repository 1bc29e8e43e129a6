"""Drops along the scale and their growth, beside least squares and draws of our own."""

import numpy as np
import pytest

from brittle.errors import BrittleError
from brittle.generation.drops import drop_curve, growth_apart, slope
from brittle.generation.real_shift import association, matching_scale

SCALES = (0.0, 0.5, 1.0, 1.5, 2.0)


def right(seed, loss, count=300):
    """Paths that are right at 0 and lose their class at a scale drawn for each."""
    lost_at = np.random.default_rng(seed).exponential(1 / loss, count)
    return (np.array(SCALES)[None] < lost_at[:, None]).astype(float)


def test_growth_is_least_squares_through_the_origin():
    drops = np.array([0.0, 0.1, 0.15, 0.3, 0.5])
    along = np.array(SCALES)
    assert slope(drops, along) == pytest.approx(np.linalg.lstsq(along[:, None], drops, rcond=None)[0][0])
    assert slope(0.2 * along, along) == pytest.approx(0.2)


def test_accuracies_and_drops_are_means_with_intervals_that_cover_them():
    rows = right(0, 0.4)
    found = drop_curve(rows, SCALES, np.arange(len(rows)))
    assert [each.value for each in found.accuracy] == pytest.approx(rows.mean(0).tolist())
    assert [each.value for each in found.drop] == pytest.approx((rows[:, 0].mean() - rows.mean(0)).tolist())
    assert found.drop[0] == pytest.approx((0, 0, 0))
    share = rows[:, -1].mean()
    half = 1.96 * np.sqrt(share * (1 - share) / len(rows))
    assert found.accuracy[-1].half_width == pytest.approx(half, rel=0.1)


def test_the_growth_interval_covers_the_truth_about_as_often_as_it_says():
    expected = slope(1 - np.exp(-0.4 * np.array(SCALES)), np.array(SCALES))
    covered = 0
    for seed in range(60):
        rows = right(seed, 0.4, count=120)
        growth = drop_curve(rows, SCALES, np.arange(len(rows))).growth
        covered += growth.low <= expected <= growth.high
    assert 50 <= covered <= 60


def test_a_slower_drop_is_told_and_a_like_one_is_not():
    slow, fast = right(1, 0.2), right(2, 0.8)
    group = np.arange(len(slow))
    assert growth_apart(slow, fast, SCALES, group).verdict == "more slowly"
    assert growth_apart(fast, slow, SCALES, group).verdict == "faster"
    assert growth_apart(right(3, 0.4), right(4, 0.4), SCALES, group).verdict == "can't be told"
    found = growth_apart(slow, fast, SCALES, group)
    drops = [slow[:, :1].mean() - slow.mean(0), fast[:, :1].mean() - fast.mean(0)]
    assert [each.value for each in found.drop] == pytest.approx((drops[0] - drops[1]).tolist())


def test_scales_begin_at_0():
    with pytest.raises(BrittleError, match="at scale 0"):
        drop_curve(np.ones((3, 2)), (0.5, 1.0), np.arange(3))


def test_the_scale_that_matches_a_real_accuracy_is_where_the_line_between_scales_meets_it():
    assert matching_scale((0, 1, 2), (0.9, 0.8, 0.4), 0.6) == pytest.approx(1.5)
    assert matching_scale((0, 1, 2), (0.9, 0.8, 0.4), 0.95) == 0
    assert matching_scale((0, 1, 2), (0.9, 0.8, 0.4), 0.3) is None
    assert matching_scale((0, 1, 2), (0.9, 0.5, 0.7), 0.5) == 1


def test_association_counts_all_orders_of_few_shifts():
    """Of the 4! orders of four drops the right one and its reverse are as extreme: p = 2 / 24."""
    found = association((0.1, 0.2, 0.3, 0.4), (0.2, 0.25, 0.5, 0.6))
    assert (found.pairs, found.spearman) == (4, pytest.approx(1))
    assert found.p_value == pytest.approx(2 / 24)
    assert association((0.1, 0.1, 0.1), (0.2, 0.3, 0.4)).spearman is None
    noise = np.random.default_rng(0).normal(size=(2, 40))
    assert association(*noise).p_value > 0.05
