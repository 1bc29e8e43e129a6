import math

import pytest
import torch

from brittle.nuisances import nuisance
from brittle.random import draw_keys
from brittle.types import Batch

BATCH = Batch(torch.rand(2, 3, 24, 24, generator=torch.Generator().manual_seed(0)), torch.zeros(2), torch.arange(2))
KEYS = draw_keys(0, "levels", BATCH.ids, torch.arange(1))
LEVELLED = ["noise", "speckle", "impulse", "shot", "brightness", "contrast", "saturation", "gaussian-blur", "jpeg"]


@pytest.mark.parametrize("name", LEVELLED)
@pytest.mark.parametrize("level", [2.0, 3.5, 5.0])
def test_from_level_1_severity_is_imagenet_cs_level(name, level):
    """The same keys: what level 1 becomes at severity 3.5 is what level 3.5 draws."""
    fixed = ",spread=0" if name in ("gaussian-blur", "jpeg") else ""
    first, there = nuisance(f"{name}:level=1{fixed}"), nuisance(f"{name}:level={level}{fixed}")
    walked = first.at(first.sample(BATCH, KEYS)[:, 0], level, BATCH)
    torch.testing.assert_close(walked, there.sample(BATCH, KEYS)[:, 0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spec", ["brightness:level=3", "saturation:level=4", "gaussian-blur:spread=0"])
def test_a_prior_of_one_point_allows_that_point_and_no_other(spec):
    space = nuisance(spec)
    theta = space.sample(BATCH, KEYS)
    assert (space.log_prior(theta.double(), BATCH) == 0).all()
    assert (space.log_prior(theta + 0.01, BATCH) == -math.inf).all()
