"""Intervals cover what they are of, read once or stopped by their own width."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from brittle.statistics.intervals import (
    Bounds,
    betting_bounds,
    finite_bounds,
    hoeffding_half_width,
    rounds_bounds,
    theorem1_images,
    theorem1_pairs,
)


def covered(bounds: Bounds, truth: float) -> float:
    return float(np.mean((bounds.low <= truth) & (truth <= bounds.high)))


def stopped(bounds_at: Callable[[int], Bounds], sizes: Iterable[int], tolerance: float) -> Bounds:
    """The interval of each study at the first size at which it is narrow enough, or at the last size."""
    low = high = np.empty(0)
    running = np.empty(0, dtype=bool)
    for size in sizes:
        now = bounds_at(size)
        if low.size == 0:
            low, high, running = now.low.copy(), now.high.copy(), np.ones(now.low.shape, dtype=bool)
        low[running], high[running] = now.low[running], now.high[running]
        running &= (high - low) / 2 > tolerance
    assert running.mean() < 0.5, "most studies should have stopped early, or the test says nothing about stopping"
    return Bounds(low, high)


def at_least(confidence: float, studies: int) -> float:
    """What the observed share may fall to by chance when the coverage is exactly the confidence."""
    return confidence - 3 * math.sqrt(confidence * (1 - confidence) / studies)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("plan", [{}, {"planned": 300}, {"target": 0.06}, {"planned": 300, "target": 0.06}])
def test_betting_covers_the_population_mean_at_fixed_size_and_when_stopped(
    confidence: float, plan: dict[str, float]
) -> None:
    rng = np.random.default_rng(1)
    studies = 2000
    mu = rng.beta(2, 0.5, (studies, 300))
    means = rng.binomial(10, mu) / 10
    truth = 2 / 2.5
    fixed = betting_bounds(means, confidence, **plan)
    early = stopped(lambda m: betting_bounds(means[:, :m], confidence, **plan), range(25, 301, 25), 0.06)
    assert covered(fixed, truth) >= at_least(confidence, studies)
    assert covered(early, truth) >= at_least(confidence, studies)


def test_many_draws_of_few_images_break_theorem_1s_second_bound_and_not_the_betting_interval() -> None:
    tolerance, delta, images, draws = 0.05, 0.05, 8, 100
    assert images * draws >= theorem1_pairs(tolerance, delta)
    rng = np.random.default_rng(2)
    studies = 4000
    # p(ℓ | θ, x) is µ(x) for every θ, so that µ̂ = µ whatever the number of draws.
    mu = rng.beta(0.5, 0.5, (studies, images))
    within = np.mean(np.abs(mu.mean(-1) - 0.5) <= tolerance)
    assert within < 0.4  # promised: 0.95
    assert covered(betting_bounds(mu, 1 - delta, planned=images), 0.5) >= at_least(0.95, studies)


def test_theorem_1s_first_bound_holds_in_the_same_case() -> None:
    rng = np.random.default_rng(3)
    images = theorem1_images(0.05, 0.05)
    error = np.abs(rng.beta(0.5, 0.5, (1000, images)).mean(-1) - 0.5)
    assert np.mean(error <= 0.05) >= at_least(0.95, 1000)


def test_betting_covers_paired_differences() -> None:
    rng = np.random.default_rng(4)
    differences = rng.choice([-1.0, 0.0, 1.0], p=[0.05, 0.8, 0.15], size=(2000, 200))
    bounds = betting_bounds(differences, 0.9, planned=200, support=(-1, 1))
    assert covered(bounds, 0.1) >= at_least(0.9, 2000)
    assert bounds.half_width.mean() < hoeffding_half_width(200, 0.9, (-1, 1))


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_rounds_cover_the_mean_of_very_different_images_at_fixed_size_and_when_stopped(confidence: float) -> None:
    rng = np.random.default_rng(5)
    studies, images, most = 2000, 40, 24
    mu = np.concatenate([np.full(10, 0.001), np.full(20, 0.999), np.linspace(0.1, 0.9, 10)])
    values = (rng.random((studies, most, images)) < mu).astype(float)
    truth = float(mu.mean())
    fixed = rounds_bounds(values, confidence, planned=most)
    early = stopped(lambda r: rounds_bounds(values[:, :r], confidence, planned=most), range(1, most + 1), 0.04)
    assert covered(fixed, truth) >= at_least(confidence, studies)
    assert covered(early, truth) >= at_least(confidence, studies)


def test_rounds_cover_however_wrong_the_plan_was() -> None:
    rng = np.random.default_rng(6)
    values = (rng.random((2000, 10, 30)) < 0.5).astype(float)
    for planned in (1, 10_000):
        assert covered(rounds_bounds(values, 0.8, planned=planned), 0.5) >= at_least(0.8, 2000)


def test_rounds_do_not_pay_for_the_differences_between_images() -> None:
    rng = np.random.default_rng(7)
    mu = np.linspace(0, 1, 200)
    values = np.clip(mu + rng.uniform(-0.02, 0.02, (20, 200)), 0, 1)
    as_a_sample = betting_bounds(values.mean(0), 0.95, planned=200).half_width
    assert rounds_bounds(values, 0.95, planned=20).half_width < as_a_sample / 4


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_finite_covers_the_mean_of_the_named_set_at_fixed_size_and_when_stopped(confidence: float) -> None:
    rng = np.random.default_rng(8)
    studies, population, draws, images = 2000, 400, 20, 250
    mu = rng.beta(3, 0.5, population)
    order = rng.permuted(np.tile(np.arange(population), (studies, 1)), axis=-1)[:, :images]
    means = rng.binomial(draws, mu[order]) / draws
    truth = float(mu.mean())

    def at(m: int) -> Bounds:
        return finite_bounds(means[:, :m], confidence, population=population, draws=draws, planned=images)

    assert covered(at(images), truth) >= at_least(confidence, studies)
    assert covered(stopped(at, range(50, images + 1, 25), 0.06), truth) >= at_least(confidence, studies)


def test_betting_without_replacement_covers_at_every_share_of_the_population() -> None:
    rng = np.random.default_rng(9)
    studies, population = 2000, 100
    numbers = (np.arange(population) < 30).astype(float)
    drawn = rng.permuted(np.tile(numbers, (studies, 1)), axis=-1)
    for count in (20, 60, 95):
        bounds = betting_bounds(drawn[:, :count], 0.8, planned=count, population=population)
        assert covered(bounds, 0.3) >= at_least(0.8, studies)
