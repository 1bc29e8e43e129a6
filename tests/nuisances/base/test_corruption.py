"""What the corruptions share: levels, their prior, seeds, and working in pieces."""

import numpy as np
import pytest
import scipy.stats
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.nuisances.base.levels import at_level, strengths
from brittle.random import draw_keys
from brittle.types import Batch

SEEDED = ["glass-blur", "fog", "snow", "frost", "rain", "smog", "dust", "sandstorm"]
EVERY = ["gaussian-blur", "defocus-blur", "motion-blur", "zoom-blur", "jpeg", "pixelate", *SEEDED]


def pictures(count: int, *shape: int) -> Batch:
    coarse = torch.rand(count, shape[0], 9, 9, generator=torch.Generator().manual_seed(2))
    images = torch.nn.functional.interpolate(coarse, shape[1:], mode="bilinear")
    return Batch(images, torch.zeros(count, dtype=torch.int64), torch.arange(count))


def test_strengths_run_through_the_table_and_straight_on():
    table = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0)
    levels = torch.linspace(0, 5, 41, dtype=torch.float64)
    np.testing.assert_allclose(strengths(levels, table)[0], np.interp(levels, range(6), table), atol=1e-12)
    assert strengths(torch.tensor([6.5]), table)[0].item() == 9.0
    for level in (0.0, 0.4, 3.0, 4.7, 8.0):
        assert strengths(torch.tensor([level]), table)[0].item() == pytest.approx(at_level(table, level))


@pytest.mark.parametrize("name", EVERY)
def test_the_level_is_log_normal_about_the_option(name):
    batch = pictures(1, 3, 16, 16)
    space = nuisance(name, level=2.0, spread=0.4)
    levels = space.sample(batch, draw_keys(1, name, batch.ids, torch.arange(4000)))[0, :, 0].double().numpy()
    assert scipy.stats.kstest(levels, scipy.stats.lognorm(0.4, scale=2.0).cdf).pvalue > 1e-3
    fixed = nuisance(name, level=2.0, spread=0.0).sample(batch, draw_keys(1, name, batch.ids, torch.arange(9)))
    assert torch.equal(fixed[..., 0], torch.full((1, 9), 2.0))


def test_the_density_is_that_of_the_draws():
    batch = pictures(1, 1, 16, 16)
    theta = torch.tensor([[[1.5, 10.0], [4.0, -44.0], [3.0, 46.0], [0.0, 0.0]]], dtype=torch.float64)
    log_level = scipy.stats.lognorm(0.25, scale=3.0).logpdf([1.5, 4.0, 3.0])
    np.testing.assert_allclose(nuisance("gaussian-blur").log_prior(theta[:, :3, :1], batch)[0], log_level)
    motion = nuisance("motion-blur").log_prior(theta, batch)[0].numpy()
    np.testing.assert_allclose(motion, [*(log_level[:2] - np.log(90)), -np.inf, -np.inf])


@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_is_of_whole_numbers_that_stays_along_the_path(name):
    batch = pictures(2, 3, 16, 16)
    space = nuisance(name)
    theta = space.sample(batch, draw_keys(0, name, batch.ids, torch.arange(500)))
    seeds = theta[..., -2:].double()
    assert torch.equal(seeds, seeds.floor())
    assert scipy.stats.kstest(seeds.flatten().numpy(), scipy.stats.uniform(0, 2**24).cdf).pvalue > 1e-3
    moved = space.at(theta, torch.tensor([[0.5], [3.0]]), batch)
    assert torch.equal(moved[..., 1:], theta[..., 1:])
    torch.testing.assert_close(moved[1, :, 0], 3 * theta[1, :, 0])
    assert space.log_prior(theta, batch) is None


@pytest.mark.parametrize("name", SEEDED)
def test_another_seed_is_another_picture(name):
    batch = pictures(1, 3, 32, 32).take(torch.tensor([0, 0]))
    theta = torch.full((2, len(nuisance(name).parameters)), 3.0)
    theta[1, -1] = 4.0
    one, other = nuisance(name).apply(batch, theta)
    assert (one - other).abs().mean() > 0.003


@pytest.mark.parametrize("name", EVERY)
def test_pieces_give_what_the_whole_batch_gives(name, monkeypatch):
    batch = pictures(5, 3, 40, 56)
    space = nuisance(name)
    theta = space.sample(batch, draw_keys(0, name, batch.ids, torch.arange(1)))[:, 0]
    whole = space.apply(batch, theta)
    monkeypatch.setattr(type(space), "piece", 2 * 3 * 40 * 56)
    torch.testing.assert_close(space.apply(batch, theta), whole, atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", EVERY)
def test_the_memory_layout_of_the_images_does_not_matter(name):
    batch = pictures(2, 3, 24, 32)
    space = nuisance(name)
    theta = space.sample(batch, draw_keys(0, name, batch.ids, torch.arange(1)))[:, 0]
    other = batch._replace(images=batch.images.contiguous(memory_format=torch.channels_last))
    torch.testing.assert_close(space.apply(other, theta), space.apply(batch, theta), atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", EVERY)
def test_small_and_large_levels_are_defined(name):
    batch = pictures(6, 1, 12, 9)
    theta = torch.full((6, len(nuisance(name).parameters)), 7.0)
    theta[:, 0] = torch.tensor([0.0, 1e-3, 0.5, 6.0, 12.0, 40.0])
    moved = nuisance(name).apply(batch, theta)
    assert moved.isfinite().all()
    assert moved.min() >= 0
    assert moved.max() <= 1
    assert (moved[1] - batch.images[1]).abs().max() < 0.05


@pytest.mark.parametrize("spec", ["fog:level=0", "jpeg:level=-1", "snow:spread=-0.1", "rain:level=nan"])
def test_a_level_that_is_none_is_refused(spec):
    with pytest.raises(BrittleError, match=r"(level|spread) is .* but must be (a number )?(above|at least) 0"):
        nuisances.build(spec)
