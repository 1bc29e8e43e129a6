"""The Fréchet distance beside scipy's matrix root and closed forms, and the gap of generated images."""

import numpy as np
import pytest
from scipy import linalg, stats

from brittle.errors import BrittleError
from brittle.generation.frechet import (
    FeatureMoments,
    distance_between,
    distance_name,
    floor,
    frechet_distance,
    moments,
)
from brittle.generation.gap import GeneratedSample, gaps, jackknife


def normal(count, seed, shift=0.0, width=4):
    mixing = np.random.default_rng(99).normal(size=(width, width))
    return np.random.default_rng(seed).normal(size=(count, width)) @ mixing + shift


def test_the_distance_is_that_of_scipys_matrix_root():
    first, second = normal(60, 0), normal(50, 1, 0.3) * 1.4
    one, other = (np.cov(each, rowvar=False) for each in (first, second))
    expected = ((first.mean(0) - second.mean(0)) ** 2).sum()
    expected += np.trace(one + other - 2 * np.real(linalg.sqrtm(one @ other)))
    assert distance_between(first, second) == pytest.approx(expected, rel=1e-9)


def test_commuting_covariances_have_a_closed_form():
    first = FeatureMoments(np.array([1.0, 0.0]), np.diag([4.0, 9.0]), 10)
    second = FeatureMoments(np.array([0.0, 2.0]), np.diag([1.0, 16.0]), 10)
    assert frechet_distance(first, second) == pytest.approx(1 + 4 + (2 - 1) ** 2 + (3 - 4) ** 2)
    assert frechet_distance(first, first) == pytest.approx(0, abs=1e-12)


def test_a_singular_covariance_is_no_obstacle():
    """Fewer images than features: scipy's root is then complex, and the distance still that of the line they span."""
    line = np.outer(np.array([-1.0, 0.0, 1.0]), [3.0, 4.0, 0.0, 0.0])
    assert distance_between(line, 2 * line) == pytest.approx((5.0 - 10.0) ** 2)


def test_few_images_have_a_floor_that_more_images_lower():
    many = normal(4000, 2)
    assert floor(many, 50) > 4 * floor(many, 1000) > 0
    assert floor(many[:100], 50) > 1.5 * floor(many, 50)


def test_only_inception_makes_it_fid():
    assert distance_name("inception-v3") == "FID"
    assert distance_name("views") == "Fréchet distance in the features of views"
    with pytest.raises(BrittleError, match="needs two images"):
        moments(np.ones((1, 3)))


def test_the_jackknife_of_a_mean_is_its_t_interval():
    values = np.random.default_rng(3).normal(size=12)
    found = jackknife(lambda kept: float(values[kept].mean()), np.arange(12), 0.9)
    expected = stats.t.interval(0.9, 11, values.mean(), values.std(ddof=1) / np.sqrt(12))
    assert found == pytest.approx((values.mean(), *expected))


def test_the_nearer_way_has_the_smaller_gap_and_an_interval_that_says_so():
    real, block = normal(3000, 4), np.arange(400) % 10
    right = np.random.default_rng(5).random((2, 400)) < [[0.5], [0.9]]
    ways = {
        "names": GeneratedSample(normal(400, 6, shift=1.0), right[0]),
        "tokens": GeneratedSample(normal(400, 7), right[1]),
    }
    names, tokens = gaps(real, ways, block)
    assert names.distance.value == pytest.approx(distance_between(ways["names"].features, real))
    assert tokens.distance_apart.value == pytest.approx(tokens.distance.value - names.distance.value)
    assert tokens.distance_apart.high < 0 < tokens.accuracy_apart.low
    assert (names.distance_apart.value, names.accuracy_apart.value) == (0, 0)
    assert tokens.accuracy.value == pytest.approx(right[1].mean())
