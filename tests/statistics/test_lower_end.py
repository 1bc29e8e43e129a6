"""The end of a betting interval is found in a few looks at the capital, and is the one that bisection finds."""

import itertools

import numpy as np
import pytest

from brittle.statistics import betting
from brittle.statistics.betting import BISECTIONS, Horizon, bets, log_capital, lower_end, possible

RANDOM = np.random.default_rng(5)
KINDS = {
    "confidences": lambda size: RANDOM.beta(4, 1, size),
    "answers": lambda size: (RANDOM.random(size) < 0.9).astype(float),
    "differences": lambda size: (1 + RANDOM.integers(-1, 2, size) * (RANDOM.random(size) < 0.1)) / 2,
    "rare": lambda size: np.where(RANDOM.random(size) < 0.002, 1.0, 0.01),
    "constant": lambda size: np.full(size, 0.37),
    "nothing": np.zeros,
    "everything": np.ones,
    "rising": lambda size: np.sort(RANDOM.random(size), -1),
}


def by_bisection(values, delta, horizon, population):
    """Halving what is possible, one study at a time, always on the capital itself."""
    wager, threshold = bets(values, delta, horizon), np.log(2 / delta)

    def excluded(mean):
        return log_capital(values, wager, np.asarray(mean), population).max() >= threshold

    outside, inside = (float(each) for each in possible(values, population))
    if excluded(inside):
        return np.inf
    if not excluded(outside):
        return outside
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if excluded(middle) else (middle, outside)
    return outside


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 7, 60, 800])
def test_the_end_is_where_bisection_ends(kind, count):
    """To the last bit, whatever is planned, and with and without replacement."""
    values = KINDS[kind]((3, count))
    for delta, horizon, times in itertools.product(
        (0.05, 1e-5), (Horizon(count), Horizon(), Horizon(10 * count, 0.01)), (None, 1, 3)
    ):
        population = None if times is None else times * count
        found = lower_end(values, delta, horizon, population)
        expected = [by_bisection(each, delta, horizon, population) for each in values]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["confidences", "answers", "differences"])
def test_a_few_looks_at_the_capital_are_enough(kind, monkeypatch):
    """Bisection takes 38."""
    looks = []
    seen = betting.left_means
    monkeypatch.setattr(betting, "left_means", lambda *given: looks.append(1) or seen(*given))
    for _ in range(10):
        lower_end(KINDS[kind]((2000,)), 1e-4, Horizon(2000), None)
    assert len(looks) / 10 < 8


def test_leading_dimensions_are_separate_studies():
    values = RANDOM.random((2, 3, 50))
    together = lower_end(values, 0.05, Horizon(50), None)
    assert together.shape == (2, 3)
    assert together[1, 2] == lower_end(values[1, 2], 0.05, Horizon(50), None)
