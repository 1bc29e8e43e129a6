"""What every registered nuisance promises, whoever wrote it."""

import itertools

import pytest
import scipy.stats
import torch

from brittle.nuisances import nuisances, transformed
from brittle.random import draw_keys
from brittle.types import Batch

SHAPES = [(1, 28, 28), (3, 32, 48), (3, 256, 160)]
OTHER_WAYS = ["affine:metric=image", "piecewise-affine:grid=2", "elastic:length=0.9", "rotation+noise"]
COLOURS = {"hue", "saturation", "white-balance"}  # which are nothing to a grey image
NAMES = [name for name in nuisances.names() if name != "function"] + OTHER_WAYS  # test_function.py
every_nuisance = pytest.mark.parametrize("name", NAMES)
every_nuisance_and_shape = pytest.mark.parametrize(
    ("name", "shape"),
    [pair for pair in itertools.product(NAMES, SHAPES) if pair[0] not in COLOURS or pair[1][0] == 3],
    ids=lambda value: value if isinstance(value, str) else "x".join(map(str, value)),
)


def smooth_batch(count: int, shape: tuple[int, int, int], dtype: torch.dtype = torch.float32) -> Batch:
    """Random pictures without sharp edges, with values in [0.1, 0.9]; the bright parts are the salient ones."""
    coarse = torch.rand(count, shape[0], 5, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    images = torch.nn.functional.interpolate(0.1 + 0.8 * coarse, shape[1:], mode="bilinear", align_corners=True)
    extras = {"saliency": images[:, 0].to(dtype)}
    return Batch(images.to(dtype), torch.zeros(count, dtype=torch.int64), torch.arange(count) * 7 + 3, extras)


def built(name: str, shape: tuple[int, int, int]):
    nuisance = nuisances.build(name)
    nuisance.check(shape)
    return nuisance


def draw(nuisance, batch, draws=1, seed=0):
    return nuisance.sample(batch, draw_keys(seed, "test", batch.ids, torch.arange(draws)))


def has_density(name: str) -> bool:
    nuisance, batch = nuisances.build(name), smooth_batch(1, (3, 8, 8), torch.float64)
    return nuisance.log_prior(draw(nuisance, batch), batch) is not None


DIFFERENTIABLE = [name for name in NAMES if nuisances.build(name).differentiable]
DENSITIES = [name for name in NAMES if has_density(name)]


@every_nuisance_and_shape
def test_the_identity_changes_nothing(name, shape):
    nuisance, batch = built(name, shape), smooth_batch(3, shape)
    torch.testing.assert_close(nuisance.apply(batch, nuisance.identity(batch)), batch.images, atol=2e-5, rtol=0)


@every_nuisance
def test_the_same_key_gives_the_same_theta_and_another_seed_another(name):
    nuisance, batch = nuisances.build(name), smooth_batch(4, (3, 32, 48))
    assert torch.equal(draw(nuisance, batch, 3), draw(nuisance, batch, 3))
    assert not torch.equal(draw(nuisance, batch, 3), draw(nuisance, batch, 3, seed=1))


@every_nuisance_and_shape
def test_a_batch_gives_what_single_images_give(name, shape):
    nuisance, batch = built(name, shape), smooth_batch(3, shape)
    theta = draw(nuisance, batch)[:, 0]
    together = nuisance.apply(batch, theta)
    for place in range(3):
        one = batch.take(torch.tensor([place]))
        assert torch.equal(draw(nuisance, one)[:, 0], theta[place : place + 1])
        torch.testing.assert_close(nuisance.apply(one, theta[place : place + 1])[0], together[place], atol=1e-6, rtol=0)


@every_nuisance_and_shape
def test_severity_walks_away_from_the_identity(name, shape):
    nuisance, batch = built(name, shape), smooth_batch(8, shape)
    theta = draw(nuisance, batch)[:, 0]

    def change(severity):
        moved = nuisance.apply(batch, nuisance.at(theta, severity, batch))
        return (moved - batch.images).abs().mean()

    assert torch.equal(nuisance.at(theta, 0.0, batch), nuisance.identity(batch))
    assert torch.equal(transformed(nuisance, batch, theta, 0.0), batch.images)
    mixed = transformed(nuisance, batch, theta, torch.arange(8) % 2.0)
    assert torch.equal(mixed[::2], batch.images[::2])
    torch.testing.assert_close(mixed[1::2], nuisance.apply(batch, theta)[1::2], atol=1e-5, rtol=0)
    torch.testing.assert_close(nuisance.at(theta, 1.0, batch), theta)
    assert change(1.0) > change(0.1) > change(0.0)


@every_nuisance_and_shape
def test_values_stay_in_range(name, shape):
    nuisance, batch = built(name, shape), smooth_batch(8, shape)
    moved = nuisance.apply(batch, draw(nuisance, batch)[:, 0])
    assert moved.shape == batch.images.shape
    assert moved.dtype == batch.images.dtype
    assert moved.min() >= -1e-6
    assert moved.max() <= 1 + 1e-6


@every_nuisance
def test_theta_has_a_number_for_every_parameter(name):
    nuisance, batch = nuisances.build(name), smooth_batch(2, (3, 32, 48))
    numbers = nuisance.identity(batch).shape[-1]
    assert draw(nuisance, batch, 5).shape == (2, 5, numbers)
    assert len(nuisance.parameters) == numbers or (numbers > 64 and 1 <= len(nuisance.parameters) < numbers)
    assert nuisance.describe(32, 48)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_agree_with_finite_differences(name):
    nuisance, batch = nuisances.build(name), smooth_batch(1, (3, 12, 16), torch.float64)
    theta = draw(nuisance, batch)[:, 0].double().requires_grad_()
    # Random weights: a blur leaves the mean as it is, and its gradient would be nothing.
    weights = torch.randn(batch.images.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda t: (weights * nuisance.apply(batch, t)).sum(), theta, eps=1e-7, atol=1e-4, rtol=1e-3
    )


@pytest.mark.parametrize("name", DENSITIES)
def test_draws_have_a_finite_density(name):
    nuisance, batch = nuisances.build(name), smooth_batch(1, (3, 8, 8), torch.float64)
    assert nuisance.log_prior(draw(nuisance, batch, 200), batch).isfinite().all()


# Occlusion's corners are whole numbers: test_occlusion compares it with enumeration. What many numbers of
# piecewise-affine would show, its smaller grid among OTHER_WAYS shows too.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name == "piecewise-affine" else [])
        for name in DENSITIES
        if name != "occlusion"
    ],
)
def test_draws_match_the_density(name):
    """Given its other numbers, each number of a draw has the conditional distribution that log_prior implies: its place
    in that distribution, by quadrature, is uniform (Kolmogorov–Smirnov over many draws)."""
    nuisance, batch = nuisances.build(name), smooth_batch(1, (3, 8, 8), torch.float64)
    draws = draw(nuisance, batch, 1000)[0]
    for place in sorted({0, draws.shape[1] // 2, draws.shape[1] - 1}):
        own = draws[:, place]
        # As fine as the draws are dense, and even in the middle, where a density may have a gap.
        middle = torch.linspace(*own.quantile(torch.tensor([0.25, 0.75], dtype=own.dtype)).tolist(), 400)
        grid = torch.cat((own, middle)).sort().values
        tried = draws[:200, None].repeat(1, len(grid), 1)
        tried[..., place] = grid
        log_p = nuisance.log_prior(tried.view(1, -1, tried.shape[-1]), batch).view(200, -1)
        p = (log_p - log_p.max(1, keepdim=True).values).exp()
        below = torch.cumulative_trapezoid(p, grid.expand_as(p), dim=1)
        places = torch.searchsorted(grid, own[:200].contiguous()).clamp(min=1) - 1
        u = below[torch.arange(200), places] / below[:, -1]
        assert scipy.stats.kstest(u.numpy(), "uniform").pvalue > 1e-3, f"number {place}"
