"""The interval of a ratio of sums over clusters, and the calibration error."""

import numpy as np
import pytest

from brittle.statistics.betting_ratio import quotient_bounds, ratio_of_sums
from brittle.statistics.calibration import calibration_error
from brittle.statistics.intervals import betting_bounds


def test_with_equal_weights_the_interval_is_that_of_cluster_means():
    means = np.random.default_rng(0).uniform(0, 1, 60)
    found = ratio_of_sums(3 * means, np.full(60, 3.0), 0.95).interval
    assert found == pytest.approx(betting_bounds(means, 0.95, planned=60).pair())


def test_the_interval_covers_the_ratio_of_clusters_of_unequal_size():
    """Weights 1 to 4, and large clusters have lower values: the mean of cluster means is another number."""
    random = np.random.default_rng(1)
    chance = np.array([0.9, 0.6, 0.3, 0.1])
    truth = (np.arange(1, 5) * chance).sum() / 10
    missed = 0
    for _ in range(40):
        weight = random.integers(1, 5, 80)
        total = random.binomial(weight, chance[weight - 1])
        low, high = ratio_of_sums(total, weight, 0.95).interval
        assert low <= total.sum() / weight.sum() <= high
        missed += not low <= truth <= high
    assert missed <= 5  # P(more than 5 of 40 at 5 %) < 0.02
    assert abs(truth - chance.mean()) > 0.1


def test_one_smaller_cluster_hardly_widens_the_interval():
    means = np.random.default_rng(2).uniform(-0.2, 0.8, 80)
    weight = np.full(80, 3.0)
    low, high = ratio_of_sums(3 * means, weight, 0.95, support=(-1.0, 1.0)).interval
    weight[0] = 2
    lower, higher = ratio_of_sums(weight * means, weight, 0.95, support=(-1.0, 1.0)).interval
    assert higher - lower == pytest.approx(high - low, rel=0.05)


def test_a_quotient_with_a_sure_denominator_has_the_interval_of_the_mean():
    values = np.random.default_rng(3).uniform(0, 1, (2, 50))
    found, mean = quotient_bounds(values, np.ones(50), 0.95), betting_bounds(values, 0.95, planned=50)
    assert found.low == pytest.approx(mean.low, rel=0.2)
    assert found.high == pytest.approx(mean.high, rel=0.2)


@pytest.mark.parametrize("right", [0.0, 1.0], ids=["nothing left", "everything left"])
def test_a_quotient_of_twenty_images_has_room_where_nothing_varies(right):
    low, high = quotient_bounds(np.full(20, right), np.ones(20), 0.95).pair()
    assert low <= right <= high
    assert high - low > 0.15


@pytest.mark.parametrize(("accuracy", "kept"), [(1.0, 0.99), (0.95, 0.98), (0.9, 0.6), (0.9, 0.02)])
@pytest.mark.parametrize("count", [20, 100])
def test_a_quotient_is_covered_however_few_images_there_are(count, accuracy, kept):
    random = np.random.default_rng(4)
    clean = (random.random((400, count)) < accuracy).astype(float)
    found = quotient_bounds(clean * (random.random((400, count)) < kept), clean, 0.95)
    assert ((found.low <= kept) & (kept <= found.high)).mean() >= 0.95


def test_a_denominator_that_may_be_zero_leaves_the_upper_end_open():
    low, high = quotient_bounds([1, 0, 0, 1], [0, 1, 0, 0], 0.95).pair()
    assert high == np.inf
    assert low < 2


def test_calibration_error_is_the_mean_gap_of_bins():
    """Two bins, (0.6, 0.8] and (0.8, 1]: |0.7 − 1/2| and |0.9 − 2/3|, weighted 2 to 3."""
    confidence, right = [0.7, 0.7, 0.9, 0.9, 0.9], [True, False, True, True, False]
    assert calibration_error(confidence, right, bins=5) == pytest.approx((2 * 0.2 + 3 * (0.9 - 2 / 3)) / 5)
