"""Claims about the intervals: they are what the papers say, as narrow as they should be, and hold their own mean."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import gamma

from brittle.errors import BrittleError
from brittle.statistics import betting, rounds
from brittle.statistics.intervals import (
    betting_bounds,
    finite_bounds,
    hoeffding_half_width,
    rounds_bounds,
    simultaneous,
    theorem1_images,
    theorem1_pairs,
)

# confseq 0.0.11 (Howard, Waudby-Smith & Ramdas; PyPI) gave the figures named CONFSEQ for these values.
SAMPLE = np.sqrt(np.modf(np.arange(1, 201) * 0.6180339887498949)[0])


def test_the_whole_population_gives_its_exact_mean() -> None:
    for values in (SAMPLE, np.sort(SAMPLE), np.sort(SAMPLE)[::-1]):
        low, high = betting_bounds(values, 0.95, population=SAMPLE.size).pair()
        assert low == high == pytest.approx(SAMPLE.mean(), abs=1e-14)
    wide = finite_bounds(SAMPLE, 0.95, population=SAMPLE.size, draws=10)
    assert float(wide.half_width) == pytest.approx(hoeffding_half_width(2000, 1 - 0.2 * 0.05))


def test_without_replacement_is_narrower_than_with() -> None:
    narrow = betting_bounds(SAMPLE, 0.95, planned=200, population=250)
    assert narrow.half_width < betting_bounds(SAMPLE, 0.95, planned=200).half_width / 1.5


CONFSEQ_LOG_CAPITAL = {
    # betting_mart(SAMPLE, m, theta=1 or 0, trunc_scale=3/4, N=N, lambdas_fn_…=lambda_predmix_eb(x, alpha=0.025))
    (None, 0.4): (31.830703503692497, -45.30038164660983),
    (None, 0.6): (5.863242820546775, -14.66725908417555),
    (None, 0.75): (-13.670645507773731, 8.079581910173262),
    (1000, 0.4): (34.53046269865825, -48.92130493064842),
    (1000, 0.6): (6.62037800928097, -15.492097268526368),
    (1000, 0.75): (-14.642830346108838, 8.996151797366792),
}


@pytest.mark.parametrize(("population", "mean"), list(CONFSEQ_LOG_CAPITAL))
def test_capital_is_that_of_confseq(population: int | None, mean: float) -> None:
    up, down = CONFSEQ_LOG_CAPITAL[population, mean]
    flipped = 1 - SAMPLE
    ours = betting.log_capital(SAMPLE, betting.bets(SAMPLE, 0.05, betting.Horizon()), np.asarray(mean), population)
    mirror = betting.log_capital(
        flipped, betting.bets(flipped, 0.05, betting.Horizon()), np.asarray(1 - mean), population
    )
    assert ours[-1] == pytest.approx(up, abs=1e-10)
    assert mirror[-1] == pytest.approx(down, abs=1e-10)


@pytest.mark.parametrize(
    ("population", "planned", "low", "high"),
    [
        # hedged_cs(SAMPLE, alpha=0.05, trunc_scale=3/4, breaks=20000, N=N)
        (None, None, 0.6166, 0.72045),
        (1000, None, 0.6207, 0.7169),
        # betting_ci(SAMPLE, alpha=0.05, trunc_scale=3/4, m_trunc=True, breaks=20000, N=N)
        (None, 200, 0.621, 0.70975),
        (1000, 200, 0.62585, 0.70545),
    ],
)
def test_betting_bounds_are_those_of_confseq_to_its_grid(
    population: int | None, planned: int | None, low: float, high: float
) -> None:
    ours = betting_bounds(SAMPLE, 0.95, planned=planned, population=population)
    assert ours.pair() == pytest.approx((low, high), abs=2 / 20000)


def surviving(values: np.ndarray, delta: float, population: int | None, grid: np.ndarray) -> np.ndarray:
    """Which candidates survive, straight from the definition: one candidate and one value at a time."""
    alive = []
    for m in grid:
        up = down = 1.0
        survives = True
        total = squares = 0.0
        for t, x in enumerate(values, start=1):
            mean = m if population is None else (population * m - total) / (population - t + 1)
            variance = (0.25 + squares) / t
            bet = math.sqrt(2 * math.log(2 / delta) / (variance * t * math.log(1 + t)))
            if not 0 <= mean <= 1:
                survives = False
                break
            up *= 1 + min(bet, 0.75 / mean if mean else math.inf) * (x - mean)
            down *= 1 - min(bet, 0.75 / (1 - mean) if mean < 1 else math.inf) * (x - mean)
            survives &= max(up, down) / 2 < 1 / delta
            total += x
            squares += (x - (0.5 + total) / (t + 1)) ** 2
        alive.append(survives)
    return np.array(alive)


@pytest.mark.parametrize("population", [None, 80])
def test_bisection_agrees_with_a_brute_force_grid(population: int | None) -> None:
    rng = np.random.default_rng(10)
    grid = np.linspace(0, 1, 1001)
    for values in (rng.random(60), rng.beta(8, 0.4, 60), (rng.random(60) < 0.9).astype(float), np.ones(60)):
        kept = grid[surviving(values, 0.1, population, grid)]
        low, high = betting_bounds(values, 0.9, population=population).pair()
        assert low <= kept.min() <= low + 0.001 + 1e-9
        assert high - 0.001 - 1e-9 <= kept.max() <= high


def test_bets_and_predictions_look_only_at_earlier_values() -> None:
    other = SAMPLE.copy()
    other[100:] = 1 - other[100:]
    for horizon in (betting.Horizon(), betting.Horizon(200), betting.Horizon(None, 0.05), betting.Horizon(200, 0.05)):
        np.testing.assert_array_equal(
            betting.bets(SAMPLE, 0.05, horizon)[:101], betting.bets(other, 0.05, horizon)[:101]
        )
    before, after = (rounds.predictions(values) for values in (SAMPLE, other))
    np.testing.assert_allclose(before[:101], after[:101], rtol=0, atol=1e-14)
    assert not np.allclose(before[101:], after[101:])


def mixture_by_quadrature(s: float, v: float, rho: float) -> float:
    """∫ exp(λs − ψ(λ)v) over y = 1 − λ ~ Gamma(ρ, rate ρ) on (0, 1], straight from the definition."""

    def integrand(y: float) -> float:
        return math.exp((1 - y) * s + (math.log(y) + 1 - y) * v) * float(gamma.pdf(y, rho, scale=1 / rho))

    area: float = quad(integrand, 0, 1, points=[0.5, 0.9], epsabs=0, epsrel=1e-10, limit=400)[0]
    return area / float(gamma.cdf(1, rho, scale=1 / rho))


@pytest.mark.parametrize("rho", [0.3, 5.0, 80.0])
def test_the_gamma_exponential_mixture_matches_quadrature(rho: float) -> None:
    for s, v in itertools.product((0.0, 3.0, 20.0), (0.5, 10.0, 100.0)):
        expected = math.log(mixture_by_quadrature(s, v, rho))
        assert rounds.log_mixture(np.asarray(s), np.asarray(v), rho) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("planned", [6, 5])
def test_rounds_are_the_mixture_of_pairs_with_half_of_delta_on_each_side(planned: int) -> None:
    delta, images, alone = 0.1, 40, planned % 2
    values = SAMPLE.reshape(5, images)
    threshold = 2 * math.log(2 / delta)
    rho = planned * images / 32 / (threshold + math.log(1 + threshold))
    variance, lows, highs = 0.0, [0.0], [1.0]
    for r in range(5):
        if r < alone:
            before = [(0.5 + sum(values[0, :j])) / (j + 1) for j in range(images)]
            variance += sum((values[0, j] - before[j]) ** 2 for j in range(images))
        elif (r - alone) % 2:
            variance += sum((values[r, j] - values[r - 1, j]) ** 2 for j in range(images))
        else:
            continue
        size = (r + 1) * images
        width = brentq(lambda s, v=variance: mixture_by_quadrature(s, v, rho) - 2 / delta, 0, 200) / size
        lows.append(float(values[: r + 1].mean()) - width)
        highs.append(float(values[: r + 1].mean()) + width)
    ours = rounds_bounds(values, 1 - delta, planned=planned)
    held = values.mean()  # an interval always holds the mean of its values, those of a round not yet paired included
    assert ours.pair() == pytest.approx((min(max(lows), held), max(min(highs), held)), abs=1e-8)


def test_what_pairs_bet_never_grows_on_average() -> None:
    """E exp(λ(y + y' − 2µ) − ψ(λ)(y − y')²) ≤ 1, summed exactly for made-up distributions on up to four points, many of
    them at the ends of the range; y and y' need not be distributed alike."""
    rng = np.random.default_rng(15)
    for points in (2, 3, 4):
        y = rng.random((2, 4000, points))
        y = np.where((ends := rng.random(y.shape)) < 0.3, 0.0, np.where(ends > 0.7, 1.0, y))
        weights = rng.dirichlet([0.3] * points, (2, 4000))
        for a, p, b, q in ((y[0], weights[0], y[0], weights[0]), (y[0], weights[0], y[1], weights[1])):
            a, b = a - (a * p).sum(-1, keepdims=True), b - (b * q).sum(-1, keepdims=True)
            near = np.abs(a[:, :, None] - b[:, None, :]).max((1, 2)) <= 1  # of one mean, both lie in [0, 1]
            for strength in (0.1, 0.5, 0.9, 0.99):
                total, apart = a[:, :, None] + b[:, None, :], a[:, :, None] - b[:, None, :]
                bet = np.exp(strength * total + (math.log1p(-strength) + strength) * apart**2)
                assert np.einsum("ni,nij,nj->n", p, bet, q)[near].max() <= 1 + 1e-12


def test_a_round_without_its_partner_says_nothing_more() -> None:
    values = SAMPLE.reshape(8, 25)
    assert rounds_bounds(values[:1], 0.95, planned=8).pair() == (0, 1)
    assert rounds.round_ends(values[:7], 0.05, 8, None)[0].shape == (3,)
    assert rounds.round_ends(values[:7], 0.05, 7, None)[0].shape == (4,)


def test_the_boundary_is_that_of_confseq() -> None:
    # gamma_exponential_mixture_bound(v, 0.025, 100, 1, 0.0125): its one-sided rule for ρ doubles alpha_opt
    variance = np.array([1.0, 10.0, 100.0, 1000.0, 10000.0])
    confseq = [10.686410360249283, 14.219959637730426, 33.586107662563336, 107.73889610135257, 365.4193921303772]
    ours = rounds.boundary(variance, 0.025, rounds.tuned_rho(100, 0.025))
    np.testing.assert_allclose(ours, confseq, rtol=1e-8)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4, 1e8])
def test_the_boundary_is_where_the_mixture_reaches_its_threshold(size: float) -> None:
    variance = size * np.geomspace(0.01, 100, 9)
    rho = rounds.tuned_rho(size, 0.01)
    crossing = rounds.log_mixture(rounds.boundary(variance, 0.01, rho), variance, rho)
    # Older versions of SciPy (1.14, say) have fewer digits of the incomplete gamma function of so many observations.
    np.testing.assert_allclose(crossing, math.log(100), atol=1e-4)


@pytest.mark.parametrize("count", [100, 1000])
def test_betting_beside_hoeffding(count: int) -> None:
    rng = np.random.default_rng(11)
    fixed = hoeffding_half_width(count, 0.95)
    confident = betting_bounds(rng.beta(8, 0.4, (200, count)), 0.95, planned=count)
    assert confident.half_width.mean() < fixed / 3
    coin = (rng.random((200, count)) < 0.5).astype(float)
    assert betting_bounds(coin, 0.95, planned=count).half_width.max() < 1.05 * fixed
    assert betting_bounds(coin, 0.95).half_width.max() < 2.6 * fixed
    assert betting_bounds(coin[:, : count // 4], 0.95, planned=count).half_width.mean() < 1.3 * 2 * fixed


def test_rounds_beside_hoeffding() -> None:
    rng = np.random.default_rng(12)
    fixed = hoeffding_half_width(20 * 500, 0.95)
    coin = (rng.random((100, 20, 500)) < 0.5).astype(float)
    assert rounds_bounds(coin, 0.95, planned=20).half_width.max() < 1.6 * fixed
    steady = rng.beta(30, 3, (100, 20, 500))
    assert rounds_bounds(steady, 0.95, planned=20).half_width.max() < fixed / 2


@pytest.mark.parametrize("planned", [None, 200])
@pytest.mark.parametrize("population", [None, 220])
def test_more_data_widen_the_interval_only_as_far_as_its_mean(planned: int | None, population: int | None) -> None:
    ends = [
        (betting_bounds(SAMPLE[:t], 0.95, planned=planned, population=population).pair(), SAMPLE[:t].mean())
        for t in range(10, 201, 10)
    ]
    rows = SAMPLE.reshape(20, 10)
    by_round = [(rounds_bounds(rows[:r], 0.95).pair(), rows[:r].mean()) for r in range(1, 21)]
    for sequence in (ends, by_round):
        for ((low, high), _), ((later_low, later_high), mean) in itertools.pairwise(sequence):
            assert later_low >= min(low, mean) - 1e-10
            assert later_high <= max(high, mean) + 1e-10


# Found by search: high at first, so that low candidates are excluded, which the mean then falls below.
FALLING = np.concatenate([np.full(40, 0.9), np.zeros(9)])


def test_an_interval_holds_a_mean_that_the_running_intersection_excludes() -> None:
    alone = betting.lower_end(FALLING, 0.05, betting.Horizon(), None)
    assert alone > FALLING.mean()
    low, high = betting_bounds(FALLING, 0.95).pair()
    assert low == FALLING.mean() < alone < high < 1
    by_round = np.concatenate([np.full((4, 5), 0.9), np.zeros((3, 5))])
    lows, highs = rounds.round_ends(by_round, 0.05, None, None)
    assert by_round.mean() < lows.max() < highs.min()
    assert rounds_bounds(by_round, 0.95).pair() == pytest.approx((by_round.mean(), highs.min()), abs=1e-15)


@pytest.mark.parametrize("support", [(0.0, 1.0), (-1.0, 1.0)])
def test_every_interval_holds_the_mean_of_its_values(support: tuple[float, float]) -> None:
    rng = np.random.default_rng(14)
    start, width = support[0], support[1] - support[0]
    values = start + width * (rng.random((2000, 300)) < 0.97)
    for size in range(20, 301, 20):
        here, mean = values[:, :size], values[:, :size].mean(-1)
        of_rounds = here.reshape(2000, -1, 20)
        for bounds in (
            betting_bounds(here, 0.8, planned=300, support=support),
            betting_bounds(here, 0.8, target=0.05, support=support),
            finite_bounds(here, 0.8, population=300, draws=10**9, planned=300, support=support),
            rounds_bounds(of_rounds, 0.8, planned=1, support=support),
        ):
            assert (bounds.low <= mean + 1e-12).all()
            assert (bounds.high >= mean - 1e-12).all()


def test_studies_side_by_side_equal_studies_one_by_one() -> None:
    studies = np.random.default_rng(13).random((2, 3, 4, 15))
    together, by_round = betting_bounds(studies, 0.9), rounds_bounds(studies, 0.9)
    assert together.low.shape == (2, 3, 4)
    assert by_round.low.shape == (2, 3)
    assert betting_bounds(studies[1, 2, 3], 0.9).pair() == (together.low[1, 2, 3], together.high[1, 2, 3])
    assert rounds_bounds(studies[1, 2], 0.9).pair() == pytest.approx((by_round.low[1, 2], by_round.high[1, 2]))


def test_the_support_only_moves_and_stretches() -> None:
    for bounds, shifted in (
        (betting_bounds(SAMPLE, 0.95), betting_bounds(6 * SAMPLE - 2, 0.95, support=(-2, 4))),
        (
            rounds_bounds(SAMPLE.reshape(8, 25), 0.95),
            rounds_bounds(6 * SAMPLE.reshape(8, 25) - 2, 0.95, support=(-2, 4)),
        ),
    ):
        assert shifted.pair() == pytest.approx((6 * bounds.low - 2, 6 * bounds.high - 2), abs=1e-9)


def test_mirrored_values_give_the_mirrored_interval() -> None:
    low, high = betting_bounds(SAMPLE, 0.95, population=300).pair()
    assert betting_bounds(1 - SAMPLE, 0.95, population=300).pair() == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_no_values_say_nothing() -> None:
    assert betting_bounds([], 0.95, support=(-1, 1)).pair() == (-1, 1)
    assert rounds_bounds(np.empty((0, 10)), 0.95).pair() == (0, 1)
    assert finite_bounds([], 0.95, population=10, draws=1).pair() == (0, 1)


def test_data_that_refute_every_candidate_claim_nothing() -> None:
    drift = np.concatenate([np.zeros(200), np.ones(400)])
    assert betting_bounds(drift, 0.95).pair() == (0, 1)
    assert rounds_bounds(np.repeat(drift[:, None], 50, axis=1), 0.95).pair() == (0, 1)
    # Without replacement, what is left open is still known: 400 of 1000 were 1 and 200 were 0.
    assert betting_bounds(drift, 0.95, population=1000).pair() == pytest.approx((0.4, 0.8))


def test_a_family_shares_delta() -> None:
    assert simultaneous(0.95, 10) == pytest.approx(0.995)
    assert simultaneous(0.95, 1) == pytest.approx(0.95)


def test_theorem_1_asks_for_18445_images_at_one_percent() -> None:
    assert theorem1_images(0.01, 0.05) == 18445
    assert hoeffding_half_width(18445, 0.95) <= 0.01 < hoeffding_half_width(18444, 0.95)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: betting_bounds([0.2, math.nan], 0.95), "nan at \\[1\\]"),
        (lambda: betting_bounds([0.2, 1.5], 0.95), "1.5 at \\[1\\] is not in \\[0, 1\\]"),
        (lambda: rounds_bounds([[0.2], [-3.0]], 0.95, support=(-1, 1)), "-3.0 at \\[1, 0\\] is not in \\[-1, 1\\]"),
        (lambda: rounds_bounds([0.2], 0.95), "at least 2"),
        (lambda: betting_bounds([0.2], 95), "confidence is 95"),
        (lambda: betting_bounds([0.2], 0.95, support=(1, 0)), "support"),
        (lambda: betting_bounds([0.2, 0.3], 0.95, population=1), "population is 1"),
        (lambda: betting_bounds([0.2], 0.95, planned=0), "planned is 0"),
        (lambda: finite_bounds([0.2], 0.95, population=3, draws=0), "draws is 0"),
        (lambda: theorem1_images(0, 0.05), "tolerance is 0"),
        (lambda: theorem1_pairs(0.1, 5), "delta is 5"),
        (lambda: simultaneous(0.95, 0), "count is 0"),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], object], named: str) -> None:
    with pytest.raises(BrittleError, match=named):
        call()


def test_rounding_past_the_support_is_clipped() -> None:
    assert betting_bounds(np.float32([1.0000001, 1]), 0.95).high <= 1
