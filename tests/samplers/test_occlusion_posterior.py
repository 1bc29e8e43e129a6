"""Weak points under occlusion against enumeration: one rectangle on 8×8 pixels, two on 6×6."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import pytest
import scipy.stats
import torch

from brittle.measures.answers import Answers
from brittle.measures.outcomes import Outcome
from brittle.measures.weak_points.posterior import Posterior
from brittle.nuisances import nuisance
from brittle.nuisances.ops.rectangles import rectangles_mask
from brittle.random import fold, stream_root
from brittle.samplers import sampler
from brittle.samplers.diagnostics import kish
from brittle.samplers.target import Budget
from brittle.types import Batch

SIDES = {1: 8, 2: 6}  # of the images, by how many rectangles hide them
REPETITIONS = 40
BUDGET = Budget(calls=800)


class Pixels:
    """Wrong where two pixels near the middle are hidden, or else four fifths of the image."""

    labels = ("right", "wrong")
    can = frozenset()

    def log_probs(self, images):
        side = images.shape[-1]
        hidden = 1 - images.double()
        both = hidden[:, 0, side // 2 - 1, side // 2 - 2] + hidden[:, 0, side // 2, side // 2]
        logit = 7 * both + 6 * hidden.mean((1, 2, 3)) - 13.5
        return torch.stack((-logit / 2, logit / 2), 1).log_softmax(1).float()

    logits = log_probs


def posterior(rectangles, images=REPETITIONS, space="latent", known=None, **options):
    side = SIDES[rectangles]
    batch = Batch(torch.ones(images, 1, side, side), torch.zeros(images).long(), torch.arange(images))
    roots = (fold(stream_root(0, stream), batch.ids) for stream in ("sampler", "prior"))
    space_of_theta = nuisance("occlusion", rectangles=rectangles, **options)
    return Posterior(
        Answers(batch, {"pixels": Pixels()}, 4096), "pixels", batch.labels, *roots, space_of_theta, space, known
    )


def every_theta(rectangles):
    """(n, 4 b) every tuple of rectangles once."""
    side = SIDES[rectangles]
    spans = [(low, high) for low in range(side) for high in range(low + 1, side + 1)]
    one = torch.tensor([[x[0], y[0], x[1], y[1]] for x, y in itertools.product(spans, spans)]).double()
    if rectangles == 1:
        return one
    return torch.cat((one.repeat_interleave(len(one), 0), one.repeat(len(one), 1)), 1)


def hidden(theta, side):
    """θ (..., 4 b) → (..., H·W) which pixels are hidden."""
    corners = theta.reshape(-1, theta.shape[-1] // 4, 4)
    return rectangles_mask(corners, side, side).view(*theta.shape[:-1], side * side)


class Truth(NamedTuple):
    evidence: float
    mean: torch.Tensor  # (H·W,) how probable each pixel is to be hidden, given a wrong answer


@pytest.fixture(scope="module")
def truth():
    def enumerated(rectangles):
        theta, target = every_theta(rectangles), posterior(rectangles, 1, "parameters")
        pixels = hidden(theta, SIDES[rectangles])
        images = (~pixels).float().view(len(theta), 1, SIDES[rectangles], SIDES[rectangles])
        prior = target.log_prior(theta[None])[0].exp()
        joint = prior / prior.sum() * Pixels().log_probs(images)[:, 1].double().exp()
        return Truth(joint.sum().item(), (joint @ pixels.double()) / joint.sum())

    return {rectangles: enumerated(rectangles) for rectangles in SIDES}


def hidden_means(target, found, rectangles):
    """(B, H·W) each image's estimate."""
    theta = target.theta(found.position[:, 0].double())
    weights = found.log_weight[:, 0].softmax(1)
    return (weights[:, None] @ hidden(theta, SIDES[rectangles]).double())[:, 0]


@pytest.mark.parametrize("rectangles", SIDES)
def test_every_theta_is_found_again_from_its_cell(rectangles):
    theta, target = every_theta(rectangles), posterior(rectangles, 1)
    keys = fold(stream_root(1, "cells"), torch.arange(len(theta)))[None]
    z = target.nuisance.to_parts(theta[None], keys, target.batch)
    assert z.isfinite().all()
    assert torch.equal(target.theta(z)[0], theta)


def test_the_coordinates_of_one_rectangle_are_standard_normal():
    target = posterior(1, 1)
    assert target.gaussian
    z = target.draw(fold(target.keys[:, None], torch.arange(20_000)))[0]
    for column in z.T:
        assert scipy.stats.kstest(column.numpy(), "norm").pvalue > 1e-4
    assert torch.allclose(torch.corrcoef(z.T), torch.eye(4).double(), atol=4.5 / math.sqrt(20_000))


def test_the_density_of_two_rectangles_coordinates_is_normalised():
    """∫ N(z) · coupling dz is a sum over all pairs, of what each rectangle is alone times the coupling."""
    theta, target = every_theta(2), posterior(2, 1)
    alone = nuisance("occlusion").log_prior(theta.view(1, -1, 4), target.batch).view(-1, 2).sum(-1)
    total = (alone + target.nuisance.log_coupling(theta[None], target.batch)[0]).exp().sum().item()
    assert total == pytest.approx(1, abs=0.02)


@pytest.fixture(scope="module")
def learnt():
    """Draws of every repetition, by how many rectangles there are."""
    return {rectangles: sampler("auto").sample(posterior(rectangles), BUDGET) for rectangles in SIDES}


@pytest.mark.parametrize("rectangles", SIDES)
def test_draws_match_enumeration(rectangles, truth, learnt, agrees):
    found = learnt[rectangles]
    assert set(found.method) == {"adaptive"}
    assert (found.calls == BUDGET.calls).all()
    # Several rectangles' prior is normalised to about a hundredth, which these draws don't resolve.
    assert agrees(found.evidence.exp(), truth[rectangles].evidence)
    means = hidden_means(posterior(rectangles), found, rectangles)
    for pixel in (truth[rectangles].mean > 0.1).nonzero()[:, 0]:
        assert agrees(means[:, pixel], truth[rectangles].mean[pixel])


@pytest.mark.parametrize(("rectangles", "times"), [(1, 4), (2, 1.5)])  # in the second, one seldom hides both pixels
def test_a_learnt_mixture_keeps_what_it_claims_and_far_more_than_the_prior_gives(rectangles, times, truth, learnt):
    mean, target = truth[rectangles].mean, posterior(rectangles, space="parameters")

    def kept(target, found):
        """As many independent draws as would have the same error."""
        errors = (hidden_means(target, found, rectangles) - mean).square().mean(0)
        return ((mean * (1 - mean)).sum() / errors.sum()).item()

    assert 0.003 < truth[rectangles].evidence < 0.02
    size = kept(posterior(rectangles), learnt[rectangles])
    assert size > times * kept(target, sampler("importance").sample(target, BUDGET))
    assert size > 0.6 * kish(learnt[rectangles].log_weight[:, 0]).median().item()


def test_draws_that_robustness_has_seen_are_not_looked_at_again():
    seen = posterior(2, 3, "parameters").prior(50)
    target = posterior(2, 3, known=Outcome.unpacked(seen.evaluation.outcomes))
    again = target.prior(60)
    assert again.calls == 10
    assert torch.equal(target.theta(again.position[:, :50]), seen.position)
    assert (sampler("auto").sample(target, Budget(calls=100)).calls == 100).all()


def test_a_filling_with_numbers_of_its_own_is_sampled_as_before():
    target = posterior(1, 2, fill="noise")
    assert target.parts == 0
    assert set(sampler("auto").sample(target, Budget(calls=100)).method) <= {"importance", "smc"}
