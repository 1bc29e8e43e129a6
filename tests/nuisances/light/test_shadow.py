import itertools
import math

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.random import draw_keys
from brittle.types import Batch

WHITE = Batch(torch.ones(1, 3, 40, 60), torch.zeros(1, dtype=torch.int64), torch.arange(1))


def cast(direction: float, position: float, softness: float, depth: float) -> torch.Tensor:
    """What is left of a white image, (40, 60)."""
    return nuisance("shadow").apply(WHITE, torch.tensor([[direction, position, softness, depth]]))[0, 0]


@pytest.mark.parametrize(
    ("direction", "dark"), [(0.0, np.s_[:, 31:]), (90.0, np.s_[21:, :]), (180.0, np.s_[:, :29]), (270.0, np.s_[:19, :])]
)
def test_the_shadow_lies_where_its_direction_points(direction, dark):
    light = cast(direction, 0.0, 0.01, math.log(2))
    expected = torch.ones(40, 60, dtype=torch.bool)
    expected[dark] = False
    inside = light[dark]
    torch.testing.assert_close(inside, torch.full_like(inside, 0.5), atol=1e-3, rtol=0)
    assert light[expected].mean() > 0.97


def test_every_pixel_is_the_formula_in_pixels_about_the_centre():
    direction, position, softness, depth = 37.0, 0.4, 0.5, 1.2
    rows, columns = np.mgrid[0:40, 0:60]
    x, y = (columns + 0.5 - 30) / 20, (rows + 0.5 - 20) / 20
    along = math.cos(math.radians(direction)) * x + math.sin(math.radians(direction)) * y
    shade = scipy.special.expit(4 * (along - position) / softness)
    expected = 1 - shade * (1 - math.exp(-depth))
    np.testing.assert_allclose(cast(direction, position, softness, depth).numpy(), expected, atol=2e-6)


def test_the_edge_is_as_wide_as_softness_says():
    """Between 12 % and 88 % of the shade lie `softness` halves of the shorter side: here 0.6 · 20 = 12 pixels."""
    row = cast(0.0, 0.0, 0.6, 30.0)[0]
    within = ((row > scipy.special.expit(-2)) & (row < scipy.special.expit(2))).sum().item()
    assert within == 12


def test_severity_deepens_the_shadow_and_leaves_it_where_it_is():
    space = nuisance("shadow")
    theta = torch.tensor([[200.0, -0.3, 0.4, 0.9]])
    moved = space.at(theta, 2.0, WHITE)
    torch.testing.assert_close(moved, torch.tensor([[200.0, -0.3, 0.4, 1.8]]))
    assert torch.equal(space.at(theta, 0.0, WHITE), space.identity(WHITE))
    lights = [space.apply(WHITE, space.at(theta, severity, WHITE)) for severity in (0.0, 0.5, 1.0, 2.0)]
    assert all((less >= more).all() for less, more in itertools.pairwise(lights))


def test_draws_and_density_follow_the_stated_prior():
    space = nuisances.build("shadow:sigma=0.7,softness=0.2")
    theta = space.sample(WHITE, draw_keys(0, "shadow", WHITE.ids, torch.arange(4000)))[0].double()
    laws = (
        scipy.stats.uniform(0, 360),
        scipy.stats.norm(0, 0.5),
        scipy.stats.lognorm(0.5, scale=0.2),
        scipy.stats.halfnorm(scale=0.7),
    )
    for numbers, law, name in zip(theta.T.numpy(), laws, space.parameters, strict=True):
        assert scipy.stats.kstest(numbers, law.cdf).pvalue > 1e-3, name
    assert np.abs(np.corrcoef(theta.T.numpy()) - np.eye(4)).max() < 0.07
    expected = sum(law.logpdf(numbers) for law, numbers in zip(laws, theta[:50].T.numpy(), strict=True))
    np.testing.assert_allclose(space.log_prior(theta[None, :50], WHITE)[0].numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize("wrong", [(-1.0, 0, 0.3, 1), (361.0, 0, 0.3, 1), (9.0, 0, -0.3, 1), (9.0, 0, 0.3, -1)])
def test_what_cannot_be_drawn_has_no_density(wrong):
    assert nuisance("shadow").log_prior(torch.tensor([[wrong]]), WHITE).item() == -math.inf


def test_a_shadow_without_depth_or_edge_is_refused():
    for spec in ("shadow:sigma=0", "shadow:softness=-1"):
        with pytest.raises(BrittleError, match="above 0"):
            nuisances.build(spec)
