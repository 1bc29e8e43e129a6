"""R-hat, effective sizes and k-hat against closed forms, quadrature, and figures that ArviZ 0.23.4 gave."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from brittle.samplers.diagnostics import (
    _normal_scores,
    bulk_ess,
    family_kish,
    kish,
    pareto_k,
    split_rhat,
    tail_ess,
    weighted_ess,
)

INF, NAN = math.inf, math.nan


def autoregression(phi, shape, seed):
    """Stationary AR(1) chains (..., steps) with standard normal margins."""
    draws = np.random.default_rng(seed).standard_normal(shape)
    draws[..., 1:] *= math.sqrt(1 - phi**2)
    for step in range(1, shape[-1]):
        draws[..., step] += phi * draws[..., step - 1]
    return torch.from_numpy(draws)


@pytest.mark.parametrize("phi", [-0.4, 0.0, 0.5, 0.9])
def test_bulk_ess_of_an_autoregression_is_its_closed_form(phi):
    sizes = bulk_ess(autoregression(phi, (100, 4, 2000), seed=1))
    assert sizes.mean().item() == pytest.approx(8000 * (1 - phi) / (1 + phi), rel=0.04)


def test_independent_draws_count_in_full_and_agree():
    draws = torch.from_numpy(np.random.default_rng(2).standard_cauchy((100, 4, 1000)))
    assert bulk_ess(draws).mean().item() == pytest.approx(4000, rel=0.03)
    assert tail_ess(draws).mean().item() == pytest.approx(4000, rel=0.05)  # the smaller of two
    assert split_rhat(draws).amax() < 1.01


@pytest.mark.parametrize(
    ("one", "other", "folds"),
    [(stats.norm(-0.4), stats.norm(0.4), False), (stats.halfnorm(0, 1), stats.halfnorm(0, 3), True)],
    ids=["two places", "two widths"],
)
def test_rhat_of_chains_that_disagree_matches_quadrature(one, other, folds):
    # Normal scores of the mixture have mean ±m and variance 1 − m² in the two chains, thus in their four halves.
    def score(x):
        return stats.norm.ppf((one.cdf(x) + other.cdf(x)) / 2) * one.pdf(x)

    low, high = one.ppf(1e-12), one.ppf(1 - 1e-12)
    m = integrate.quad(score, low, high)[0]
    expected = math.sqrt(1 + 4 * m**2 / 3 / (1 - m**2))
    rng = np.random.default_rng(3)
    draws = np.stack([law.rvs((20, 20_000), random_state=rng) for law in (one, other)], 1)
    if folds:
        draws *= rng.choice([-1.0, 1.0], draws.shape)
    assert expected > 1.1
    assert split_rhat(torch.from_numpy(draws)).mean().item() == pytest.approx(expected, rel=0.003)


def test_rhat_sees_a_single_chain_that_drifts():
    steady = torch.from_numpy(np.random.default_rng(4).standard_normal((1, 1000)))
    assert split_rhat(steady) < 1.02
    assert split_rhat(steady + torch.linspace(0, 3, 1000)) > 1.3


# 0.1 is a number whose mean over many copies is not itself.
@pytest.mark.parametrize("steps", [4, 7, 1000])
def test_chains_that_never_moved_are_never_praised(steps):
    same = torch.full((4, steps), 0.1)
    apart = torch.tensor([0.1, 0.1, 0.3, 0.7])[:, None].expand(4, steps)
    assert split_rhat(same).isnan()
    assert split_rhat(apart) == INF
    assert split_rhat(torch.tensor([[0.1], [0.7]]).expand(2, steps)) == INF
    assert bulk_ess(same) == 1
    assert tail_ess(same) == 1


def test_long_chains_that_never_moved_apart_from_one_another_count_as_few_draws():
    apart = torch.tensor([0.1, 0.1, 0.3, 0.7])[:, None].expand(4, 1000)
    assert bulk_ess(apart) < 5
    assert tail_ess(apart) < 5


def test_one_move_in_a_thousand_steps_shows_no_tail():
    draws = torch.ones(4, 1000)
    draws[0, 0] = 0
    assert tail_ess(draws) == 1


def test_two_values_equally_far_from_the_median_are_judged_by_the_bulk():
    coins = torch.from_numpy(np.random.default_rng(5).permuted(np.tile([0.0, 1.0], (4, 500)), axis=1))
    assert split_rhat(coins) == pytest.approx(1, abs=0.01)


def test_what_cannot_be_judged_is_nan():
    draws = torch.from_numpy(np.random.default_rng(6).standard_normal((2, 4, 100)))
    draws[1, 2, 50] = NAN
    for figure in (split_rhat, bulk_ess, tail_ess):
        assert figure(draws).isnan().tolist() == [False, True]
        assert figure(draws[..., :3]).isnan().all()


def test_normal_scores_average_the_ranks_of_ties():
    draws = np.random.default_rng(7).integers(0, 20, (5, 3, 40)).astype(float)
    ranks = np.stack([stats.rankdata(each, method="average").reshape(3, 40) for each in draws])
    expected = stats.norm.ppf((ranks - 3 / 8) / (120 + 1 / 4))
    np.testing.assert_allclose(_normal_scores(torch.from_numpy(draws)), expected, rtol=1e-12, atol=1e-14)


def some_chains():
    """An autoregression, the same rounded so that draws tie, and one with heavy tails whose chains stand apart."""
    walk = np.random.default_rng(7).standard_normal((3, 4, 101))
    for step in range(1, 101):
        walk[:, :, step] += 0.8 * walk[:, :, step - 1]
    walk[1] = np.round(walk[1])
    walk[2] = np.sinh(walk[2]) + np.arange(4)[:, None]
    return walk


def some_log_weights():
    return np.random.default_rng(8).standard_normal((3, 300)) * np.array([[0.5], [2.0], [8.0]])


def test_figures_are_those_of_arviz():
    # python -c "import arviz as az; print([f(x) for x in some_chains()])" with ArviZ 0.23.4 and f = az.rhat,
    # az.ess(x, method="bulk"), az.ess(x, method="tail"); and az.psislw(some_log_weights())[1].
    draws = torch.from_numpy(some_chains())
    expected = {
        split_rhat: [1.0751050222806848, 1.1065630912133508, 1.1212913020384672],
        bulk_ess: [49.92097733521097, 39.01578072720943, 29.238689264622412],
        tail_ess: [63.96243877113386, 108.2830528011294, 102.86909311285771],
    }
    for figure, values in expected.items():
        np.testing.assert_allclose(figure(draws), values, rtol=1e-8)
    shapes = pareto_k(torch.from_numpy(some_log_weights()))
    np.testing.assert_allclose(shapes, [-0.1260057705577616, 0.919110217259464, 4.078290159674914], rtol=1e-8)


def test_figures_of_a_batch_are_those_of_its_items():
    draws = autoregression(0.7, (2, 3, 4, 60), seed=9)
    for figure in (split_rhat, bulk_ess, tail_ess):
        batched = figure(draws.float())
        assert batched.shape == (2, 3)
        assert batched.dtype == torch.float64
        torch.testing.assert_close(batched[1, 2], figure(draws[1, 2].float()))
    log_weights = torch.from_numpy(some_log_weights().reshape(3, 2, 150))
    torch.testing.assert_close(pareto_k(log_weights)[2, 1], pareto_k(log_weights[2, 1]))


@pytest.mark.parametrize(
    ("weights", "size"),
    [([1, 1, 1, 1], 4), ([3, 1], 1.6), ([2, 0, 2, 0], 2), ([5], 1), ([0, 0, 0], 0), ([1, 2, 3], 36 / 14)],
)
def test_kish_of_known_weights(weights, size):
    log_weights = torch.tensor(weights, dtype=torch.float64).log()
    for shift in (-5000, 0, 5000):
        assert kish(log_weights + shift).item() == pytest.approx(size, rel=1e-9)


def test_families_count_as_one_draw_with_their_summed_weight():
    log_weights = torch.tensor([[1.0, 1, 2, 0], [1, 2, 3, 4], [0, 0, 0, 0]]).log()
    families = torch.tensor([[9, -5, 9, 1], [7, 7, 7, 7], [0, 1, 2, 3]])
    np.testing.assert_allclose(family_kish(log_weights, families), [16 / 10, 1, 0])
    torch.testing.assert_close(family_kish(log_weights, torch.arange(4)), kish(log_weights))


def test_weighted_ess_is_its_formula_for_a_hand_worked_case():
    # W = 1/5, 1/5, 1/5, 2/5 at 0, 1, 2, 3: the mean is 1.8, Σ W d² = 1.36, Σ W² d² = 0.3872.
    log_weights = torch.tensor([1.0, 1, 1, 2], dtype=torch.float64).log()
    values = torch.tensor([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    np.testing.assert_allclose(weighted_ess(values, log_weights), [1.36 / 0.3872, 1])
    # With the first two of one family, Σ W d is −0.52, 0.04 and 0.48 in the three families.
    np.testing.assert_allclose(weighted_ess(values, log_weights, torch.tensor([4, 4, 1, 0])), [1.36 / 0.5024, 1])


def test_weighted_ess_is_the_variance_that_importance_sampling_has():
    # N(0, 1) from draws of N(0, 9): n · Var(mean) tends to ∫ x² p² / q, and Kish's share to 1 / ∫ p² / q.
    s, n = 3.0, 20_000
    draws = torch.from_numpy(np.random.default_rng(10).normal(0, s, (50, n, 1)))
    log_weights = (draws.square() * (1 / s**2 - 1) / 2)[..., 0]
    a = 1 - 1 / (2 * s**2)
    assert weighted_ess(draws, log_weights).mean().item() == pytest.approx(n * 2 * math.sqrt(2) * a**1.5 / s, rel=0.01)
    assert kish(log_weights).mean().item() == pytest.approx(n * math.sqrt(2 * a) / s, rel=0.01)
    means = (log_weights.softmax(-1) * draws[..., 0]).sum(-1)
    assert n * means.var().item() == pytest.approx(s / (2 * math.sqrt(2) * a**1.5), rel=0.5)


def test_copies_add_nothing_to_the_weighted_ess_of_families():
    rng = np.random.default_rng(11)
    values, log_weights = torch.from_numpy(rng.normal(size=(5, 40, 2))), torch.from_numpy(rng.normal(size=(5, 40)))
    copies = torch.arange(40).repeat_interleave(3).expand(5, 120)
    threefold = weighted_ess(values[:, copies[0]], log_weights[:, copies[0]], copies)
    torch.testing.assert_close(threefold, weighted_ess(values, log_weights))


def test_weighted_ess_does_not_praise_a_collapse():
    rng = np.random.default_rng(12)
    values = torch.from_numpy(rng.normal(size=(1000, 1)))
    dominated = torch.zeros(1000).index_fill(0, torch.tensor(3), math.log(999 * 999))
    assert weighted_ess(values, dominated) < 1.01
    assert weighted_ess(values, torch.zeros(1000), torch.zeros(1000, dtype=torch.int64)) == pytest.approx(1)
    assert weighted_ess(torch.full((1000, 1), 0.1), torch.zeros(1000)) == 1
    assert weighted_ess(values, torch.full((1000,), -INF)) == 0


def test_a_draw_of_no_weight_may_have_no_value():
    values, log_weights = torch.tensor([[0.0], [1.0], [NAN]]), torch.tensor([0.0, 0.0, -INF])
    assert weighted_ess(values, log_weights).item() == pytest.approx(2)


@pytest.mark.parametrize("k", [-0.4, 0.2, 0.5, 0.9])
def test_pareto_k_finds_the_shape_of_a_generalised_pareto(k):
    weights = stats.genpareto(k).rvs((100, 20_000), random_state=np.random.default_rng(13))
    assert pareto_k(torch.from_numpy(np.log(weights))).mean().item() == pytest.approx(k, abs=0.03)


def test_pareto_k_where_there_is_no_tail_to_fit():
    spread = torch.from_numpy(np.random.default_rng(14).standard_normal(100))
    assert pareto_k(spread[:20]) == INF
    assert pareto_k(spread[:21]).isfinite()
    assert pareto_k(torch.full((100,), -INF)) == INF
    assert pareto_k(torch.zeros(100).index_fill(0, torch.tensor(5), 800.0)) == INF
    assert pareto_k(torch.full((100,), -3.7)) == 0
    assert pareto_k(torch.full((100,), -INF).index_fill(0, torch.arange(50), 2.0)) == 0
    assert pareto_k(spread.index_fill(0, torch.tensor(5), NAN)).isnan()


def test_figures_match_arviz_on_many_inputs():
    arviz = pytest.importorskip("arviz")
    rng = np.random.default_rng(15)
    for steps in (5, 8, 30, 101, 500):
        for phi in (-0.8, 0.0, 0.6, 0.97):
            draws = autoregression(phi, (6, 3, steps), seed=steps).numpy()
            draws[1:3] = np.sinh(3 * draws[1:3])
            draws[3] = np.round(draws[3])
            draws[4] += rng.normal(size=(3, 1))
            draws[5] = draws[5][:, np.sort(rng.integers(0, steps, steps))]
            told = torch.from_numpy(draws)
            for figure, theirs in [
                (split_rhat, arviz.rhat),
                (bulk_ess, lambda x: arviz.ess(x, method="bulk")),
                (tail_ess, lambda x: arviz.ess(x, method="tail")),
            ]:
                # Of repeated draws ArviZ rounds the quantile, and from few steps it counts an unseen tail in full.
                rows = slice(0, 5) if figure is not tail_ess else slice(0, 3 if steps > 8 else 0)
                expected = [float(theirs(each)) for each in draws[rows]]
                np.testing.assert_allclose(figure(told)[rows], expected, rtol=1e-8)
    for n in (21, 60, 225, 226, 2000):
        log_weights = rng.standard_normal((6, n)) * np.array([[0.1], [1], [3], [30], [1], [1]])
        log_weights[4] = np.round(log_weights[4], 1)
        log_weights[5, : n // 2] = -INF
        expected = [float(arviz.psislw(each.copy())[1]) for each in log_weights]
        np.testing.assert_allclose(pareto_k(torch.from_numpy(log_weights)), expected, rtol=1e-8)
