"""Kaplan–Meier against scipy's product-limit estimate, and closed forms."""

import numpy as np
import pytest
from scipy.stats import CensoredData, ecdf

from brittle.statistics.survival import kaplan_meier, median_interval, restricted_mean


def made(seed, count=200, limit=1.2):
    """Exponential times, some lost earlier at random, all that are left lost at the limit; rounded, so that there are
    ties."""
    generator = np.random.default_rng(seed)
    times, lost = generator.exponential(1.0, count), generator.exponential(3.0, count)
    end = np.minimum(lost, limit)
    return np.round(np.minimum(times, end), 2), times <= end


@pytest.mark.parametrize("seed", range(5))
def test_the_estimate_and_its_intervals_agree_with_scipy(seed):
    times, happened = made(seed)
    found = kaplan_meier(times, happened, 0.9)
    expected = ecdf(CensoredData(uncensored=times[happened], right=times[~happened])).sf
    at = found.times
    assert found.share == pytest.approx(expected.evaluate(at))
    ends = expected.confidence_interval(0.9, method="log-log")
    inside = found.share > 0
    assert found.low[inside] == pytest.approx(ends.low.evaluate(at)[inside])
    assert found.high[inside] == pytest.approx(ends.high.evaluate(at)[inside])


def test_with_one_common_limit_the_restricted_mean_is_the_mean_of_what_was_seen():
    times = np.minimum(np.random.default_rng(0).exponential(1.0, 500), 1.5)
    found = kaplan_meier(times, times < 1.5)
    assert restricted_mean(found, 1.5) == pytest.approx(times.mean())
    assert found.at([0, 1.5])[0] == 1
    assert found.at(1.5) == pytest.approx((times == 1.5).mean())


def test_earlier_losses_do_not_bias_the_restricted_mean():
    means = [restricted_mean(kaplan_meier(*made(seed, 2000)), 1.2) for seed in range(20)]
    assert np.mean(means) == pytest.approx(1 - np.exp(-1.2), abs=0.01)


def test_the_interval_of_a_median_covers_as_often_as_it_says():
    generator, covered = np.random.default_rng(1), 0
    for _ in range(2000):
        _, low, high = median_interval(generator.exponential(1.0, 41), 0.9)
        covered += low <= np.log(2) <= high
    assert 0.9 <= covered / 2000 <= 0.96


def test_a_median_among_the_censored_is_beyond_the_limit():
    middle, low, high = median_interval([1, 2, 3, *[np.inf] * 4], 0.5)
    assert middle == np.inf
    assert low < np.inf
    assert high == np.inf
