"""Error consistency against hand-worked tables and scikit-learn; the crossed bootstrap against closed forms."""

import itertools

import numpy as np
import pytest
from scipy.stats import binomtest, multivariate_normal, norm
from sklearn.metrics import cohen_kappa_score

from brittle.statistics.consistency import (
    consistency,
    design_effect,
    from_counts,
    interval,
    redrawn,
    redrawn_together,
)
from brittle.statistics.crossed import crossed_weights, enough, one_sided, quantiles, resampled
from brittle.statistics.intervals import simultaneous

ONE_PAIR = np.array([[0, 1]])


def test_kappa_of_a_table_worked_by_hand():
    """10 images: both right 5, both wrong 2, only the first right 2, only the second 1. p = 0.7 and 0.6, so that
    c_exp = 0.42 + 0.12 = 0.54; c_obs = 0.7; κ = 0.16 / 0.46."""
    right = np.array([[1, 1, 1, 1, 1, 0, 0, 1, 1, 0], [1, 1, 1, 1, 1, 0, 0, 0, 0, 1]], float)
    found = consistency(right, np.ones((2, 10)), ONE_PAIR)
    assert (found.images[0], found.observed[0], found.expected[0]) == pytest.approx((10, 0.7, 0.54))
    assert found.kappa[0] == pytest.approx(0.16 / 0.46)


def test_kappa_is_cohens():
    generator = np.random.default_rng(3)
    right = (generator.random((4, 300)) < np.array([[0.2], [0.5], [0.8], [0.9]])).astype(float)
    right[3, :200] = right[2, :200]
    pairs = np.array([(0, 1), (0, 2), (1, 2), (2, 3), (1, 3)])
    found = consistency(right, np.ones_like(right), pairs)
    expected = [cohen_kappa_score(right[first], right[second]) for first, second in pairs]
    assert found.kappa == pytest.approx(expected)
    assert found.kappa[3] > 0.5


def test_only_images_that_both_have_seen_count():
    right = np.array([[1, 0, 1, 1, 0, 1], [1, 1, 0, 0, 0, 1]], float)
    seen = np.array([[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 1, 1]], float)
    both = [0, 1, 2, 4]
    found = consistency(right, seen, ONE_PAIR)
    assert found.images[0] == 4
    assert found.kappa[0] == pytest.approx(cohen_kappa_score(right[0, both], right[1, both]))


def test_weights_count_images_several_times():
    right = np.array([[1, 0, 1, 0], [1, 1, 0, 0]], float)
    weights = np.array([[1, 1, 1, 1], [3, 0, 1, 2]], float)
    found = consistency(right, np.ones((2, 4)), ONE_PAIR, weights)
    repeated = [0, 0, 0, 2, 3, 3]
    assert found.kappa[0, 0] == pytest.approx(cohen_kappa_score(*right))
    assert found.kappa[1, 0] == pytest.approx(cohen_kappa_score(*right[:, repeated]))


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_two_who_are_always_right_or_always_wrong_have_no_kappa(value):
    found = consistency(np.full((2, 5), value), np.ones((2, 5)), ONE_PAIR)
    assert found.expected[0] == 1
    assert np.isnan(found.kappa[0])


def test_one_who_is_always_right_is_consistent_with_others_by_chance_alone():
    right = np.array([[1, 1, 1, 1], [1, 0, 1, 0]], float)
    assert consistency(right, np.ones((2, 4)), ONE_PAIR).kappa[0] == 0


def test_drawing_counts_is_drawing_images():
    """The quantiles of κ are the same either way, to within what 4,000 draws allow."""
    generator = np.random.default_rng(5)
    right = (generator.random((3, 200)) < 0.7).astype(float)
    right[1, :120] = right[0, :120]
    pairs = np.array([(0, 1), (0, 2), (1, 2)])
    by_images = redrawn_together(right, np.ones_like(right), pairs, [], 4000, 1)
    by_counts = redrawn(right, pairs, 4000, 2)
    assert by_counts.shape == by_images.shape
    middle = [np.quantile(each, [0.025, 0.5, 0.975], axis=0) for each in (by_images, by_counts)]
    assert np.abs(middle[0] - middle[1]).max() < 0.02


def test_with_many_errors_of_every_kind_quantiles_are_those_of_a_plain_bootstrap():
    right = (np.random.default_rng(5).random((2, 1000)) < 0.6).astype(float)
    plain = resampled(
        lambda weights: consistency(right, np.ones_like(right), ONE_PAIR, weights).kappa, 1000, [], 4000, 1
    )
    middle = [np.quantile(each, [0.025, 0.5, 0.975]) for each in (plain, redrawn(right, ONE_PAIR, 4000, 2))]
    assert np.abs(middle[0] - middle[1]).max() < 0.006


@pytest.mark.parametrize("together", [False, True])
def test_two_equal_deciders_with_one_error_get_room(together):
    """In 20 images, other errors of both may exist that none of these shows: κ = 1 is not known exactly."""
    right = np.ones((2, 20))
    right[:, 3] = 0
    drawn = redrawn_together(right, np.ones_like(right), ONE_PAIR, [], 2000, 0) if together else None
    drawn = redrawn(right, ONE_PAIR, 2000, 0) if drawn is None else drawn
    bounds = interval(1.0, drawn[:, 0], 0.95)
    assert bounds is not None
    assert bounds[0] < 0.3
    assert bounds[1] == 1


def test_an_undefined_kappa_has_no_interval():
    assert interval(np.nan, np.linspace(0, 1, 100), 0.95) is None


@pytest.mark.parametrize(
    "cells", [(0.97, 0.01, 0.01, 0.01), (0.95, 0.0005, 0.0005, 0.049), (0.902, 0.048, 0.048, 0.002)]
)
@pytest.mark.parametrize("count", [20, 100])
def test_intervals_of_kappa_hold_the_truth_with_few_errors(cells, count):
    """Where κ is defined, in 300 studies whose cell probabilities are known."""
    truth = float(from_counts(np.array(cells)).kappa)
    held = []
    for counts in np.random.default_rng(1).multinomial(count, np.array(cells) / sum(cells), 300):
        kappa = float(from_counts(counts.astype(float)).kappa)
        if np.isnan(kappa):
            continue
        first, second = np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)
        bounds = interval(kappa, redrawn(np.array([first, second], float), ONE_PAIR, 400, 1)[:, 0], 0.95)
        held.append(bounds[0] <= truth <= bounds[1])
    assert np.mean(held) > 0.92


def test_the_mean_over_many_people_holds_the_truth_with_few_errors():
    """Ten people and a classifier with independent errors, 3 % each, on 100 images: the mean κ is 0."""
    generator, pairs = np.random.default_rng(2), np.array([(0, person) for person in range(1, 11)])
    held = []
    for _ in range(100):
        right = (generator.random((11, 100)) > 0.03).astype(float)
        kappa = consistency(right, np.ones_like(right), pairs).kappa
        known = ~np.isnan(kappa)
        if not known.any():
            continue
        drawn = redrawn_together(right, np.ones_like(right), pairs[known], [], 300, 1)
        low, high = interval(float(kappa[known].mean()), drawn.mean(1), 0.95)
        held.append(low <= 0 <= high)
    assert np.mean(held) > 0.9


def test_crossed_stimuli_with_few_errors_hold_the_truth():
    """Ten shapes by ten textures, on which what makes a stimulus hard depends half and half, and two deciders with 5 %
    errors whose difficulties correlate by 0.8."""
    generator, held = np.random.default_rng(3), []
    shapes, textures = np.divmod(np.arange(100), 10)
    hardest = norm.ppf(0.05)
    both = float(multivariate_normal.cdf([hardest, hardest], [0, 0], [[1, 0.8], [0.8, 1]]))
    truth = float(from_counts(np.array([0.9 + both, 0.05 - both, 0.05 - both, both])).kappa)
    for _ in range(100):
        common = np.sqrt(0.4) * (generator.normal(size=10)[shapes] + generator.normal(size=10)[textures])
        right = (common + np.sqrt(0.2) * generator.normal(size=(2, 100)) > hardest).astype(float)
        kappa = float(consistency(right, np.ones((2, 100)), ONE_PAIR).kappa[0])
        if np.isnan(kappa):
            continue
        drawn = redrawn_together(right, np.ones((2, 100)), ONE_PAIR, [shapes, textures], 300, 1)[:, 0]
        low, high = interval(kappa, drawn, 0.95)
        held.append(low <= truth <= high)
    assert np.mean(held) > 0.92


def test_errors_that_hit_whole_shapes_hold_the_truth():
    """Twenty shapes by ten textures: one shape in twenty is hard for a decider, as a whole."""
    generator, held, rate, correlation = np.random.default_rng(4), [], 0.05, 0.5
    shapes, textures = np.divmod(np.arange(200), 10)
    hardest = norm.ppf(rate)
    both = float(multivariate_normal.cdf([hardest, hardest], [0, 0], [[1, correlation], [correlation, 1]]))
    truth = float(from_counts(np.array([1 - 2 * rate + both, rate - both, rate - both, both])).kappa)
    for _ in range(100):
        hard = np.sqrt(correlation) * generator.normal(size=20)
        hard = hard + np.sqrt(1 - correlation) * generator.normal(size=(2, 20))
        right = (hard > hardest).astype(float)[:, shapes]
        kappa = float(consistency(right, np.ones((2, 200)), ONE_PAIR).kappa[0])
        if np.isnan(kappa):
            continue
        drawn = redrawn_together(right, np.ones((2, 200)), ONE_PAIR, [shapes, textures], 300, 1)[:, 0]
        low, high = interval(kappa, drawn, 0.95)
        held.append(low <= truth <= high)
    assert np.mean(held) > 0.92


def test_a_design_effect_is_the_size_of_what_errors_hit_as_a_whole():
    shapes, textures = np.divmod(np.arange(80), 8)
    seen, right = np.ones((3, 80)), np.ones((3, 80))
    right[:2, shapes == 2] = 0  # both are wrong about all eight stimuli of a shape, the third about a diagonal
    right[2, (shapes == textures)] = 0
    pairs = np.array([(0, 1), (0, 2), (2, 2)])
    whole, mixed, scattered = design_effect(right, seen, pairs, [shapes, textures])
    assert whole == pytest.approx(8)
    assert 1 < mixed < 8
    assert scattered == 1
    assert design_effect(right, seen, pairs, []).tolist() == [1, 1, 1]


def test_images_that_only_one_has_seen_have_no_design_effect():
    shapes = np.repeat(np.arange(10), 8)
    right, seen = np.ones((2, 80)), np.ones((2, 80))
    right[:, shapes == 2] = 0
    seen[1, shapes == 2] = 0
    assert design_effect(right, seen, ONE_PAIR, [shapes]).tolist() == [1]


def test_many_pairs_are_counted_a_few_at_a_time(monkeypatch):
    right = (np.random.default_rng(5).random((6, 40)) < 0.6).astype(float)
    pairs = np.array(list(itertools.combinations(range(6), 2)))
    weights = np.random.default_rng(6).integers(0, 3, (7, 40)).astype(float)
    whole = consistency(right, np.ones_like(right), pairs, weights), redrawn(right, pairs, 50, 3)
    monkeypatch.setattr("brittle.statistics.consistency.MOST_NUMBERS", 80)
    parts = consistency(right, np.ones_like(right), pairs, weights), redrawn(right, pairs, 50, 3)
    assert np.array_equal(whole[0].kappa, parts[0].kappa, equal_nan=True)
    assert np.array_equal(whole[1], parts[1], equal_nan=True)


def test_without_factors_images_are_drawn_with_replacement():
    """The mean of n values then has the variance σ²/n (σ² with 1/n)."""
    values = np.random.default_rng(0).random(60)
    means = resampled(lambda weights: weights @ values / weights.sum(1), 60, [], 20000, 1)
    assert np.std(means) == pytest.approx(np.std(values) / np.sqrt(60), rel=0.03)


def test_with_a_factor_whole_groups_are_drawn():
    """What is the same within a group counts once per group: σ²/groups, not σ²/images."""
    of_group = np.random.default_rng(0).random(12)
    groups = np.repeat(np.arange(12), 10)
    means = resampled(lambda weights: weights @ of_group[groups] / weights.sum(1), 120, [groups], 20000, 1)
    assert np.std(means) == pytest.approx(np.std(of_group) / np.sqrt(12), rel=0.03)


def test_two_factors_multiply():
    """Every image's weight has the mean 1; on a full table the weights are products."""
    rows, columns = np.divmod(np.arange(20), 5)
    (weights,) = crossed_weights(20, [rows, columns], 4000, 0)
    assert weights.mean() == pytest.approx(1, abs=0.02)
    table = weights.reshape(-1, 4, 5)
    assert np.allclose(
        table * table.sum((1, 2), keepdims=True), table.sum(2, keepdims=True) * table.sum(1, keepdims=True)
    )


def test_draws_are_the_same_however_many_are_made_at_once(monkeypatch):
    several = list(crossed_weights(50, [], 30, 7))
    monkeypatch.setattr("brittle.statistics.crossed.MOST_NUMBERS", 250)
    few = list(crossed_weights(50, [], 30, 7))
    assert (len(several), len(few)) == (1, 6)
    assert np.array_equal(np.concatenate(several), np.concatenate(few))


def test_an_interval_where_only_one_answer_was_seen_is_that_of_clopper_and_pearson():
    none, all_of_them = (binomtest(successes, 10).proportion_ci(0.95) for successes in (0, 10))
    assert one_sided(0.0, 10, 0.95) == pytest.approx(tuple(none))
    assert one_sided(1.0, 10, 0.95) == pytest.approx(tuple(all_of_them))


@pytest.mark.parametrize("family", [1, 6, 190, 1225])
def test_there_are_draws_in_each_tail_however_large_the_family(family):
    confidence = simultaneous(0.95, family)
    assert enough(2000, confidence) * (1 - confidence) / 2 >= 10 - 1e-6
    assert enough(2000, 0.95) == 2000


def test_quantiles_need_draws_that_are_defined():
    assert quantiles(np.array([np.nan, np.nan, np.nan, 1.0]), 0.95) is None
    assert quantiles(np.arange(101.0), 0.9) == pytest.approx((5, 95))
