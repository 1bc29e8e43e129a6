"""Ranks by hand; p-values against scipy and against every sign there is; rates of error by simulation."""

import itertools

import numpy as np
import pytest
from scipy import stats

from brittle.statistics.ranking import (
    better,
    holm,
    one_sigma,
    pair_differences,
    pairs,
    ranks_by_overlap,
    ranks_by_tests,
    sign_flip,
    swaps,
)


def test_overlap_is_not_transitive_so_ranks_count_who_lies_wholly_above():
    """b overlaps a and c; c lies below a alone."""
    low, high = np.array([0.8, 0.7, 0.6]), np.array([0.9, 0.85, 0.75])
    assert ranks_by_overlap(low, high).tolist() == [1, 1, 2]


def test_intervals_that_touch_are_a_tie():
    assert ranks_by_overlap(np.array([0.5, 0.6]), np.array([0.6, 0.7])).tolist() == [1, 1]


def test_one_sigma_of_right_answers_is_the_binomial_one():
    right = np.array([1.0] * 30 + [0.0] * 10)
    low, high = one_sigma(right)
    error = np.sqrt(0.75 * 0.25 / 40)
    assert (float(low), float(high)) == pytest.approx((0.75 - error, 0.75 + error))


@pytest.mark.parametrize(("ahead", "behind"), [(0, 0), (1, 0), (5, 1), (12, 30), (9, 9), (400, 300)])
def test_one_path_per_image_is_mcnemars_exact_test(ahead, behind):
    apart = np.array([1] * ahead + [-1] * behind + [0] * 50)[:, None]
    expected = stats.binomtest(ahead, ahead + behind, 0.5).pvalue if ahead + behind else 1.0
    assert sign_flip(apart)[0] == pytest.approx(expected)


@pytest.mark.parametrize("apart", [[2, 1, -1, 0, 2, 2], [3, -1, -2, 1, 1, 0, 2], [2, 2, -2, 1], [2, -2, 1, -1], [3, 3]])
def test_several_sizes_against_every_sign_there_is(apart):
    values = np.array(apart)
    sums = [abs(np.dot(signs, values)) for signs in itertools.product((-1, 1), repeat=len(values))]
    expected = np.mean(np.array(sums) >= abs(values.sum()))
    assert sign_flip(values[:, None])[0] == pytest.approx(expected)


def test_many_differences_of_several_sizes_against_a_permutation_test():
    random = np.random.default_rng(1)
    apart = random.choice([-2, -1, 0, 1, 2], 600, p=[0.1, 0.15, 0.4, 0.2, 0.15])
    signs = 2 * random.integers(2, size=(40000, 600), dtype=np.int8) - 1
    expected = (np.abs(signs.astype(np.float32) @ apart) >= abs(apart.sum())).mean()
    found = sign_flip(apart[:, None])[0]
    assert 0.001 < expected < 0.05
    assert found == pytest.approx(expected, abs=4 * np.sqrt(expected / 40000) + 0.001)


def test_holm_by_hand():
    """Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, made monotone."""
    assert holm(np.array([[0.04, 0.01], [0.03, 0.02]])).tolist() == [[0.06, 0.04], [0.06, 0.06]]
    assert holm(np.array([0.5, 0.9])).tolist() == [1.0, 1.0]


def test_ranks_by_tests_hold_all_that_they_leave_open():
    """a beats c, and nothing else is known: a is first or second, c second or third, b anything."""
    verdicts = np.array([[0], [1], [0]])  # a–b, a–c, b–c
    least, most = ranks_by_tests(3, verdicts)
    assert (least[:, 0].tolist(), most[:, 0].tolist()) == ([1, 1, 2], [2, 3, 3])


def test_a_swap_is_more_than_noise_if_both_are_better_somewhere():
    difference = np.array([[0.1, -0.1], [0.2, -0.01], [0.1, 0.2]])
    verdicts = np.array([[1, -1], [1, 0], [1, 1]])
    changed, real = swaps(difference, verdicts)
    assert changed.tolist() == [True, True, False]
    assert real.tolist() == [True, False, False]


def simulated(random, chances, images=250):
    """Right answers (K, M, S) of classifiers with these accuracies (K, S), correlated through how hard images are."""
    noise = 0.6 * random.standard_normal((len(chances), images, chances.shape[1]))
    hardness = 0.8 * random.standard_normal((1, images, 1))
    return (noise + hardness < stats.norm.ppf(chances)[:, None]).astype(np.int64)


def test_equal_classifiers_are_told_apart_no_more_often_than_stated():
    """In 300 studies of four equal classifiers at four scales, studies with any false difference: at most 5 %, and
    Binomial(300, 0.05) exceeds 26 with probability 0.002."""
    random = np.random.default_rng(0)
    chances, false = np.tile([0.9, 0.8, 0.7, 0.6], (4, 1)), 0
    for _ in range(300):
        found = pair_differences(simulated(random, chances), 1)
        false += bool(better(found.difference, holm(found.p_value), 0.05).any())
    assert false <= 26


@pytest.mark.parametrize("images", [40, 400])
def test_equal_drops_from_different_accuracies_are_told_apart_no_more_often_than_stated(images):
    """Differences are then not symmetric, which the null supposes. 600 comparisons at 5 %: Binomial exceeds 47 with
    probability 0.001. 0.98 → 0.78 beside 0.6 → 0.4."""
    random = np.random.default_rng(images)
    hardness = 0.8 * random.standard_normal((images, 600))

    def right(accuracy):
        return (hardness + 0.6 * random.standard_normal(hardness.shape) < stats.norm.ppf(accuracy)).astype(np.int64)

    apart = (right(0.78) - right(0.98)) - (right(0.4) - right(0.6))
    assert (sign_flip(apart) <= 0.05).sum() <= 47


def test_planted_differences_and_a_planted_swap_are_found():
    """Classifiers 0 and 1 change places along the scale; 2 is worse than both everywhere."""
    random = np.random.default_rng(1)
    chances = np.array([[0.9, 0.8, 0.4], [0.8, 0.75, 0.6], [0.6, 0.5, 0.2]])
    hit = np.zeros(2, int)
    for _ in range(50):
        found = pair_differences(simulated(random, chances, 600), 1)
        verdicts = better(found.difference, holm(found.p_value), 0.05)
        _, real = swaps(found.difference, verdicts)
        hit += [real[0], (verdicts[1:] == 1).all()]
    assert pairs(3) == [(0, 1), (0, 2), (1, 2)]
    assert hit.min() >= 45
