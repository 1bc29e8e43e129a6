"""`metropolis:algorithm=1` against the printed algorithm (Fawzi & Frossard 2016), state by state in floats."""

import math

import pytest
import torch

from brittle.errors import BrittleError
from brittle.random import fold, normal, uniform
from brittle.samplers import sampler
from brittle.samplers.chain import COIN, MOVE, NOISE
from brittle.samplers.target import Budget

SIGMA = 0.4
BUDGET = Budget(chains=2, steps=40, burn_in=25, start="worst", tries=16)


def steep(z, facts):
    """log p(not ℓ | z), and no failure at all on one side."""
    return torch.where(z[..., 0] < -1.5, -torch.inf, -torch.nn.functional.softplus(2 - 3 * z[..., 0].double()))


def as_printed(target, image, chain):
    """The states θ(1), θ(2), … of one chain; q is symmetric and cancels."""
    key = fold(fold(target.keys, MOVE)[:, None], torch.arange(BUDGET.chains))[image, chain]
    theta = target.prior(BUDGET.chains).position[image, chain].tolist()

    def density(theta):
        at = torch.tensor(theta, dtype=torch.float64)[None, None]
        return math.exp(float(steep(at, None))) * math.exp(-0.5 * sum(each**2 for each in theta))

    states = []
    for step in range(1, BUDGET.steps + 1):
        here = fold(key, step)
        moved = [a + SIGMA * b for a, b in zip(theta, normal(fold(here, NOISE), len(theta)).tolist(), strict=True)]
        current = density(theta)
        ratio = math.inf if current == 0 and density(moved) > 0 else density(moved) / current if current else 0.0
        if float(uniform(fold(here, COIN), 1)[0]) <= min(1.0, ratio):
            theta = moved
        states.append(theta)
    return states


def test_algorithm_1_keeps_every_state_that_the_printed_algorithm_visits(toy):
    target = toy(steep, 3, 4)
    found = sampler(f"metropolis:algorithm=1,sigma={SIGMA}").sample(target, BUDGET)
    for image in range(4):
        for chain in range(BUDGET.chains):
            expected = torch.tensor(as_printed(target, image, chain))
            assert found.position[image, chain].numpy() == pytest.approx(expected.numpy(), abs=1e-5)


def test_algorithm_1_calls_the_classifier_once_for_the_start_and_once_per_proposal(toy):
    found = sampler(f"metropolis:algorithm=1,sigma={SIGMA}").sample(toy(steep, 3, 4), BUDGET)
    assert found.calls.tolist() == [BUDGET.chains * (1 + BUDGET.steps)] * 4


def test_algorithm_1_stands_for_settings_that_can_be_spelled_out(toy):
    """As papers/fawzi2016/figure1.py did when its draws were kept."""
    spelled = sampler(f"metropolis:sigma={SIGMA}").sample(
        toy(steep, 3, 4), BUDGET._replace(burn_in=0, start="prior", tries=1)
    )
    found = sampler(f"metropolis:algorithm=1,sigma={SIGMA}").sample(toy(steep, 3, 4), BUDGET)
    assert torch.equal(found.position, spelled.position)


def test_algorithm_1_needs_its_sigma(toy):
    with pytest.raises(BrittleError, match="was given no σ"):
        sampler("metropolis:algorithm=1").sample(toy(steep, 3, 4), BUDGET)
