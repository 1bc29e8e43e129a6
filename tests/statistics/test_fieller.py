"""Fieller's and Newcombe's intervals against brute force, simulation, published tables, and known answers."""

import math

import numpy as np
import pytest
import scipy.stats

from brittle.statistics.fieller import SignedSample, difference_of_ratios, difference_of_shares, ratio, standard_errors

EXTREMES = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])


def two(random, count, shift=0.3):
    """Training and test images: right on the clean image, and right on the occluded one more rarely."""
    found = []
    for sign, right in ((1, 0.6 + shift), (-1, 0.6)):
        clean = (random.random(count) < right).astype(float)
        found.append(SignedSample(clean * (random.random(count) < 0.7), clean, sign))
    return found


def test_it_holds_every_ratio_at_which_the_difference_may_be_zero():
    """The set {r : |N − rD| ≤ z·se(N − rD)}, by trying many r on the items themselves, doubled, and four more, so that
    two of 302 are at the extremes; of doubled items only half are independent."""
    samples = two(np.random.default_rng(1), 300)
    found, z = ratio(samples, 0.9), scipy.stats.norm.ppf(0.95)
    x, y = ([np.concatenate([each[at], each[at], more]) for each in samples] for at, more in enumerate(EXTREMES))
    inside = []
    for r in np.linspace(0, 2, 10_001):
        rest = [above - r * below for above, below in zip(x, y, strict=True)]
        error = math.sqrt(sum(each.var() / 301 for each in rest))
        if abs(rest[0].mean() - rest[1].mean()) <= z * error:
            inside.append(r)
    assert found.low == pytest.approx(min(inside), abs=3e-4)
    assert found.high == pytest.approx(max(inside), abs=3e-4)
    assert found.value == pytest.approx(
        (samples[0].x.mean() - samples[1].x.mean()) / (samples[0].y.mean() - samples[1].y.mean())
    )


def test_it_covers_as_often_as_it_says():
    """The true ratio is 0.7, whatever the gap."""
    random, covered = np.random.default_rng(2), []
    for _ in range(2000):
        found = ratio(two(random, 250, shift=0.25), 0.95)
        covered.append(found.interval is None or found.low <= 0.7 <= found.high)
    assert 0.935 <= np.mean(covered) <= 0.975


def test_a_denominator_that_may_be_zero_is_not_divided_by():
    random = np.random.default_rng(3)
    assert ratio(two(random, 200, shift=0.0), 0.95).interval is None
    backwards = [each._replace(sign=-each.sign) for each in two(random, 200)]
    assert ratio(backwards, 0.95).interval is None
    nothing = np.zeros(10)
    assert ratio([SignedSample(nothing, nothing, 1), SignedSample(nothing, nothing, -1)], 0.95).interval is None


@pytest.mark.parametrize("count", [20, 333])
def test_where_nothing_changes_the_ratio_is_one_and_its_interval_has_room(count):
    samples = [each._replace(x=each.y) for each in two(np.random.default_rng(4), count, shift=0.4)]
    found = ratio(samples, 0.95)
    assert found.value == 1
    assert found.low < 1 - 2 / count < 1 + 2 / count < found.high
    assert difference_of_ratios(samples, samples, 0.95).high > 2 / count


@pytest.mark.parametrize("count", [20, 100])
def test_fiellers_interval_covers_where_answers_rarely_change(count):
    """Gaps of 0.5 and 0.4; 98 and 99.5 % of answers stay as they are. Without pseudo-items about 0.45 and
    0.15 of 20 images are covered."""
    random = np.random.default_rng(9)
    for accuracy, truth in ((0.5, 0.98), (0.6, 0.995)):
        covered = []
        for _ in range(400):
            samples = []
            for sign, right in ((1, 0.99), (-1, accuracy)):
                clean = (random.random(count) < right).astype(float)
                samples.append(SignedSample(clean * (random.random(count) < truth), clean, sign))
            found = ratio(samples, 0.95)
            covered += [] if found.interval is None else [found.low <= truth <= found.high]
        assert len(covered) > 350
        assert np.mean(covered) >= 0.95


def test_an_interval_of_one_sample_agrees_with_the_bootstrap():
    random = np.random.default_rng(5)
    clean = (random.random(800) < 0.9).astype(float)
    occluded = clean * (random.random(800) < 0.6)
    found = ratio([SignedSample(occluded, clean)], 0.95)
    resampled = scipy.stats.bootstrap(
        (occluded, clean), lambda x, y, axis: x.mean(axis) / y.mean(axis), paired=True, n_resamples=4000,
        method="percentile", vectorized=True, random_state=np.random.default_rng(6),
    ).confidence_interval  # fmt: skip
    assert found.interval == pytest.approx(list(resampled), abs=0.004)


# Newcombe 1998, "Interval estimation for the difference between independent proportions", Statistics in Medicine 17,
# table II, method 10: what statsmodels' confint_proportions_2indep calls "newcomb".
NEWCOMBE = [
    ((56, 70), (48, 80), (0.0524, 0.3339)),
    ((9, 10), (3, 10), (0.1705, 0.8090)),
    ((6, 7), (2, 7), (0.0582, 0.8062)),
    ((5, 56), (0, 29), (-0.0381, 0.1926)),
    ((0, 10), (0, 20), (-0.1611, 0.2775)),
    ((0, 10), (0, 10), (-0.2775, 0.2775)),
    ((10, 10), (0, 20), (0.6791, 1.0)),
    ((10, 10), (0, 10), (0.6075, 1.0)),
]


def answers(right, count):
    return (np.arange(count) < right).astype(float)


@pytest.mark.parametrize(("first", "second", "expected"), NEWCOMBE)
def test_a_difference_of_shares_has_newcombes_published_interval(first, second, expected):
    found = difference_of_shares(answers(*first), answers(*second), 0.95)
    assert found.interval == pytest.approx(expected, abs=5e-5)
    assert found.value == first[0] / first[1] - second[0] / second[1]


@pytest.mark.parametrize(("train", "test"), [(1.0, 0.98), (0.98, 0.95), (0.9, 0.7), (1.0, 0.5)])
def test_a_gap_of_twenty_images_is_covered(train, test):
    """Exactly, over all numbers of right answers; by the central limit theorem it is 0.33 in the first case."""
    chances = [scipy.stats.binom.pmf(np.arange(21), 20, each) for each in (train, test)]
    covered = 0.0
    for one, other in np.ndindex(21, 21):
        found = difference_of_shares(answers(one, 20), answers(other, 20), 0.95)
        covered += chances[0][one] * chances[1][other] * (found.low <= train - test <= found.high)
    assert covered >= 0.945


def test_the_difference_of_two_ratios_has_fiellers_width_where_the_denominator_is_sure():
    """Of a ratio and one that is 0 for certain."""
    samples = two(np.random.default_rng(8), 40_000, shift=0.4)
    none = [each._replace(x=np.zeros(40_000), y=np.full(40_000, 0.5 + each.sign / 2)) for each in samples]
    found, apart = ratio(samples, 0.95), difference_of_ratios(samples, none, 0.95)
    assert apart.value == pytest.approx(found.value)
    assert apart.high - apart.low == pytest.approx(found.high - found.low, rel=0.01)


def test_standard_errors_are_those_of_welchs_statistic():
    samples = two(np.random.default_rng(7), 3000)
    welch = scipy.stats.ttest_ind(samples[0].y, samples[1].y, equal_var=False)
    assert standard_errors(samples) == pytest.approx(welch.statistic, rel=0.01)
