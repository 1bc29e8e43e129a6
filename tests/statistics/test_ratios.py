"""Fieller's interval against brute force, simulation, and cases whose answer is known."""

import math

import numpy as np
import pytest
import scipy.stats

from brittle.statistics.ratios import Sample, influence, ratio, signed_mean


def two(random, count, shift=0.3):
    """Training and test images: right on the clean image, and right on the occluded one more rarely."""
    found = []
    for sign, right in ((1, 0.6 + shift), (-1, 0.6)):
        clean = (random.random(count) < right).astype(float)
        found.append(Sample(clean * (random.random(count) < 0.7), clean, sign))
    return found


def test_it_holds_every_ratio_at_which_the_difference_may_be_zero():
    """The set {r : |N − rD| ≤ z·se(N − rD)}, by trying many r on the items themselves."""
    samples = two(np.random.default_rng(1), 300)
    found, z = ratio(samples, 0.9), scipy.stats.norm.ppf(0.95)
    inside = []
    for r in np.linspace(0, 2, 10_001):
        rest = [each.x - r * each.y for each in samples]
        error = math.sqrt(sum(each.var(ddof=1) / len(each) for each in rest))
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
        covered.append(found is None or found.low <= 0.7 <= found.high)
    assert 0.935 <= np.mean(covered) <= 0.975


def test_a_denominator_that_may_be_zero_is_not_divided_by():
    random = np.random.default_rng(3)
    assert ratio(two(random, 200, shift=0.0), 0.95) is None
    backwards = [each._replace(sign=-each.sign) for each in two(random, 200)]
    assert ratio(backwards, 0.95) is None
    nothing = np.zeros(10)
    assert ratio([Sample(nothing, nothing, 1), Sample(nothing, nothing, -1)], 0.95) is None


def test_the_same_numerator_and_denominator_give_exactly_one():
    samples = [each._replace(x=each.y) for each in two(np.random.default_rng(4), 333)]
    assert ratio(samples, 0.95) == (1.0, 1.0, 1.0)


def test_an_interval_of_one_sample_agrees_with_the_bootstrap():
    random = np.random.default_rng(5)
    clean = (random.random(800) < 0.9).astype(float)
    occluded = clean * (random.random(800) < 0.6)
    found = ratio([Sample(occluded, clean)], 0.95)
    resampled = scipy.stats.bootstrap(
        (occluded, clean), lambda x, y, axis: x.mean(axis) / y.mean(axis), paired=True, n_resamples=4000,
        method="percentile", vectorized=True, rng=np.random.default_rng(6),
    ).confidence_interval  # fmt: skip
    assert found.interval == pytest.approx(list(resampled), abs=0.004)


def test_a_signed_mean_agrees_with_welchs_standard_error():
    random = np.random.default_rng(7)
    first, second = random.random(300), random.random(200) ** 2
    found = signed_mean([(first, 1), (second, -1)], 0.95)
    welch = scipy.stats.ttest_ind(first, second, equal_var=False)
    half = scipy.stats.norm.ppf(0.975) * (first.mean() - second.mean()) / welch.statistic
    assert found.interval == pytest.approx([found.value - half, found.value + half])


def test_the_influence_of_items_gives_fiellers_width_where_the_denominator_is_sure():
    samples = two(np.random.default_rng(8), 40_000, shift=0.4)
    found = ratio(samples, 0.95)
    below = samples[0].y.mean() - samples[1].y.mean()
    added = [influence(each, found.value, below) for each in samples]
    half = scipy.stats.norm.ppf(0.975) * math.sqrt(sum(each.var(ddof=1) / len(each) for each in added))
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.01)
