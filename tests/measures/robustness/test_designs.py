"""Draws that depend on each other: each is a draw of the prior, and together they are spread as meant."""

import itertools

import numpy as np
import pytest
import scipy.stats
import torch

import brittle
from brittle.errors import BrittleError
from brittle.measures.designs import DESIGNS, draws_in_order
from brittle.measures.draws import design_theta, numbered_theta
from brittle.measures.robustness.estimate import PlanReach, estimate
from brittle.measures.robustness.measure import Robustness
from brittle.measures.robustness.tally import Tally
from brittle.random import fold, sobol, stream_root
from brittle.statistics.intervals import finite_bounds, rounds_bounds
from brittle.types import Batch

pytestmark = pytest.mark.warned("has a mean confidence of")

NUISANCE = "affine:alpha=50"


def nets(count: int, numbers: int) -> np.ndarray:
    """Points (count, 4, numbers) of so many nets."""
    keys = fold(stream_root(0, "nets"), torch.arange(count)).repeat_interleave(4)
    return sobol(keys, torch.arange(4).repeat(count), numbers).view(count, 4, numbers).numpy()


def test_a_net_has_the_points_of_scipys_sobol_sequence_in_every_square_of_a_half() -> None:
    points, plain = nets(50, 8), scipy.stats.qmc.Sobol(8, scramble=False).random(4)
    assert (np.sort((points * 4).astype(int), 1) == np.arange(4)[:, None]).all()
    for one, other in itertools.combinations(range(8), 2):
        squares = len(np.unique((plain[:, [one, other]] * 2).astype(int), axis=0))
        found = {len(np.unique((net[:, [one, other]] * 2).astype(int), axis=0)) for net in points}
        assert found == {squares}  # four, where the two numbers make a net of their own, or two


def test_every_point_of_a_net_is_uniform_and_nets_are_independent() -> None:
    points = nets(4000, 3)
    for place, number in itertools.product(range(4), range(3)):
        assert scipy.stats.kstest(points[:, place, number], "uniform").pvalue > 1e-3
    means = points.mean(1)
    assert np.abs(np.corrcoef(means[:-1, 0], means[1:, 0])[0, 1]) < 0.06
    # Of a sum of uniform numbers, stratifying leaves 1/16 of the variance (Owen 1997: n⁻³ rather than n⁻¹).
    assert means.sum(1).var() * 4 / (3 / 12) == pytest.approx(1 / 16, rel=0.1)


@pytest.mark.parametrize("design", ["antithetic", "sobol"])
def test_draws_of_a_design_are_of_the_prior(design: str) -> None:
    nuisance, ids = brittle.nuisance(NUISANCE), torch.arange(3000)
    batch = Batch(torch.zeros(3000, 1, 8, 8), ids, ids)
    root = stream_root(0, "affine")
    draws = [design_theta(design, nuisance, batch, torch.full((3000,), at), root) for at in range(4)]
    deviations = nuisance.deviations(batch)
    for theta in draws:
        z = (theta.double() - nuisance.centre(batch)) / deviations
        for number in range(6):
            assert scipy.stats.kstest(z[:, number], "norm").pvalue > 1e-3


def test_antithetic_draws_lie_on_opposite_sides_of_the_identity() -> None:
    nuisance, ids = brittle.nuisance(NUISANCE), torch.arange(50)
    batch, root = Batch(torch.zeros(50, 1, 8, 8), ids, ids), stream_root(0, "affine")
    first, second, third = (design_theta("antithetic", nuisance, batch, torch.full((50,), at), root) for at in range(3))
    torch.testing.assert_close(first + second, 2 * nuisance.identity(batch), atol=1e-6, rtol=0)
    assert not torch.isclose(first, third).any()


def test_a_number_of_a_draw_says_which_design_it_is_of() -> None:
    nuisance, ids = brittle.nuisance(NUISANCE), torch.tensor([4, 9, 11])
    batch, root = Batch(torch.zeros(3, 1, 8, 8), ids, ids), stream_root(0, "affine")
    numbers = torch.tensor([5, DESIGNS["antithetic"].first + 3, DESIGNS["sobol"].first + 6])
    theta = numbered_theta(nuisance, batch, numbers, root)
    for row, (design, own) in enumerate(zip(DESIGNS, (5, 3, 6), strict=True)):
        one = batch.take(torch.tensor([row]))
        assert torch.equal(theta[row : row + 1], design_theta(design, nuisance, one, torch.tensor([own]), root))
    assert draws_in_order(numbers.numpy()).tolist() == [5, 3, 6]


@pytest.mark.parametrize("design", DESIGNS)
def test_rows_have_the_answers_to_the_pictures_that_their_numbers_make_again(design: str) -> None:
    found = brittle.robustness(
        "bundled:plain", "sample", NUISANCE, samples=8, design=design, count=10, device="cpu", progress=False
    )
    rows, classifier, nuisance = (
        found.rows,
        brittle.classifier("bundled:plain", device="cpu"),
        brittle.nuisance(NUISANCE),
    )
    batch = brittle.image_set("sample").only(np.unique(rows["image"].to_numpy())).batch(range(10)).in_numbers()
    at = {int(each): place for place, each in enumerate(batch.ids.tolist())}
    every = batch.take(torch.tensor([at[each] for each in rows["image"].to_pylist()]))
    theta = numbered_theta(
        nuisance, every, torch.from_numpy(rows["draw"].to_numpy().copy()).long(), stream_root(0, "affine")
    )
    log_p = classifier.log_probs(nuisance.apply(every, theta)).detach()
    expected = log_p.gather(1, every.labels[:, None])[:, 0].numpy()
    np.testing.assert_allclose(rows["log_p_label"].to_numpy(), expected, atol=2e-4)


@pytest.mark.parametrize("design", ["antithetic", "sobol"])
def test_dependent_draws_are_one_observation_of_the_interval(design: str) -> None:
    block, p = DESIGNS[design].block, np.random.default_rng(0).random((8, 30)).astype(np.float32)
    tally = Tally(30, 10, 8)
    tally.draws += 8
    tally.confidence += p.sum(0)
    tally.confidence_by_round[:] = p
    reach, rounds = PlanReach(30, 8, 1, False), p.astype(np.float64).reshape(-1, block, 30).mean(1)
    of_set = estimate(Robustness(samples=8, estimand="set", design=design), tally, reach, 30)
    assert of_set[1:] == pytest.approx(rounds_bounds(rounds, 0.95, planned=8 // block, draws=block).pair())
    of_drawn = estimate(Robustness(samples=8, estimand="drawn", design=design), tally, reach, 90)
    expected = finite_bounds(rounds.mean(0), 0.95, population=90, draws=8 // block, planned=30)
    assert of_drawn[1:] == pytest.approx(expected.pair())


def test_designs_refuse_what_they_cannot_draw() -> None:
    with pytest.raises(BrittleError, match="no whole number of nets of four"):
        brittle.measure("bundled:plain", "sample", NUISANCE, samples=10, design="sobol", count=5, progress=False)
    with pytest.raises(BrittleError, match="has no form in Gaussian numbers"):
        brittle.measure("bundled:plain", "sample", "occlusion", samples=8, design="sobol", count=5, progress=False)


def test_the_worst_of_draws_that_depend_on_each_other_is_not_told() -> None:
    how = {"samples": 12, "count": 20, "device": "cpu", "progress": False}
    assert brittle.measure("bundled:plain", "sample", NUISANCE, **how)["accuracy_worst"] is not None
    assert brittle.measure("bundled:plain", "sample", NUISANCE, design="sobol", **how)["accuracy_worst"] is None
