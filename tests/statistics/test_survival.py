"""Shares that have not broken yet, against Kaplan–Meier, exact binomial intervals and known truths; medians."""

import numpy as np
import pytest
from scipy.stats import CensoredData, binom, binomtest, ecdf

from brittle.statistics.survival import median_interval, survival

LIMIT = 1.2


def broken(seed, count=200, paths=1):
    """Exponential times, rounded so that there are ties, as times up to the limit and whether they lie before it."""
    times = np.random.default_rng(seed).exponential(1.0, (count, paths)).round(2)
    return np.minimum(times, LIMIT), times <= LIMIT


@pytest.mark.parametrize("seed", range(3))
def test_with_one_common_limit_the_share_is_kaplan_and_meiers(seed):
    times, happened = broken(seed)
    at = np.linspace(0.1, LIMIT, 12)
    expected = ecdf(CensoredData(uncensored=times[happened], right=times[~happened])).sf
    assert survival(times, happened, at, 0.9).share == pytest.approx(expected.evaluate(at))


def test_with_one_path_intervals_are_the_exact_binomial_ones():
    times, happened = broken(1, 40)
    at = np.array([0.001, 0.5, LIMIT])
    found = survival(times, happened, at, 0.9)
    for place, moment in enumerate(at):
        whole = 40 - int((happened & (times <= moment)).sum())
        ends = binomtest(whole, 40).proportion_ci(0.9, "exact")
        assert (found.low[place], found.high[place]) == pytest.approx((ends.low, ends.high))


@pytest.mark.parametrize("paths", [1, 4])
@pytest.mark.parametrize("count", [1, 20])
def test_before_the_first_break_and_after_the_last_there_is_room(paths, count):
    """Rows: nothing has broken; everything has."""
    times = np.full((count, paths), 0.5)
    found = survival(times, times > 0, np.array([0.4, 0.6]), 0.95)
    assert found.share.tolist() == [1, 0]
    assert found.low[0] < 1 - 1 / count if count > 1 else found.low[0] < 0.1
    assert found.high[1] > 1 / count if count > 1 else found.high[1] > 0.9
    assert (found.high[0], found.low[1]) == (1, 0)


@pytest.mark.parametrize("paths", [2, 5])
def test_the_curve_of_several_paths_never_leaves_its_band(paths):
    at = np.linspace(0.01, LIMIT, 25)
    for seed in range(40):
        found = survival(*broken(seed, 20, paths), at, 0.95)
        assert (found.low <= found.share).all()
        assert (found.share <= found.high).all()


@pytest.mark.parametrize(("count", "share"), [(20, 0.98), (100, 0.98), (20, 0.02)])
def test_with_one_path_the_band_covers_however_few_images_there_are(count, share):
    """Exactly, over all numbers that can have broken."""
    covered = 0.0
    for whole in range(count + 1):
        times = np.where(np.arange(count) < whole, LIMIT, 0.5)[:, None]
        found = survival(times, times < LIMIT, np.array([1.0]), 0.95)
        covered += binom.pmf(whole, count, share) * (found.low[0] <= share <= found.high[0])
    assert covered >= 0.95


def test_with_several_paths_the_band_covers_however_few_images_there_are():
    """Half of the images break on all four paths with chance 0.04, the others never: S = 0.98."""
    random, covered = np.random.default_rng(3), 0
    for _ in range(300):
        often = np.where(random.random(20) < 0.5, 0.04, 0.0)
        happened = random.random((20, 4)) < often[:, None]
        found = survival(np.where(happened, 0.5, LIMIT), happened, np.array([1.0]), 0.95)
        covered += found.low[0] <= 0.98 <= found.high[0]
    assert covered >= 0.95 * 300


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
