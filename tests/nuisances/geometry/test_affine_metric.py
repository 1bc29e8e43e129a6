"""The prior p(θ | x) of affine maps from the metric that the image induces."""

import numpy as np
import pytest
import scipy.stats
import torch

from brittle.nuisances import nuisance
from brittle.nuisances.ops.image_metric import image_metric
from brittle.random import draw_keys
from brittle.types import Batch

IDENTITY = torch.tensor([1.0, 0, 0, 1, 0, 0], dtype=torch.float64)
UNIFORM = np.diag([1 / 3, 1 / 3, 1 / 3, 1 / 3, 1, 1])


def batch_of(images: torch.Tensor) -> Batch:
    return Batch(images, torch.zeros(len(images), dtype=torch.int64), torch.arange(len(images)))


def pictures(count, channels, height, width) -> torch.Tensor:
    """Noise at every scale, like a photograph's; float64."""
    generator = torch.Generator().manual_seed(0)
    total = torch.zeros(count, channels, height, width, dtype=torch.float64)
    for cells in (3, 6, 12, 24, 48):
        coarse = torch.randn(count, channels, cells, cells, generator=generator, dtype=torch.float64)
        total += torch.nn.functional.interpolate(coarse, (height, width), mode="bicubic") / cells**0.5
    return (0.5 + 0.15 * total).clamp(0, 1)


def stripes(height, width) -> torch.Tensor:
    """Horizontal stripes: a shift to the side changes nothing."""
    return (0.5 + 0.4 * torch.sin(torch.arange(height).double())).view(1, 1, height, 1).expand(1, 1, height, width)


def metric_by_warping(images: torch.Tensor) -> np.ndarray:
    """G(x) from central differences of the warp itself, at the pixels that don't see the outside."""
    space, batch, step = nuisance("affine"), batch_of(images), 1e-5
    derivatives = []
    for place in range(6):
        nudge = step * torch.eye(6, dtype=torch.float64)[place]
        ahead, behind = (space.apply(batch, (IDENTITY + way * nudge).expand(len(images), 6)) for way in (1, -1))
        derivatives.append(((ahead - behind) / (2 * step))[..., 1:-1, 1:-1].flatten(1))
    changes = torch.stack(derivatives, 1)
    return (changes @ changes.mT / changes.shape[-1]).numpy()


def covariance_by_warping(image: torch.Tensor, alpha: float) -> np.ndarray:
    """Σ(x) from the finite differences: a common size, a tenth of the uniform metric, the uniform displacement."""
    metric = metric_by_warping(image)[0]
    size = np.trace(np.linalg.inv(UNIFORM) @ metric) / 6
    inverse = np.linalg.inv(0.9 * metric / (size + 255.0**-2) + 0.1 * UNIFORM)
    return inverse * 6 / np.trace(UNIFORM @ inverse) / (alpha * 1.75)


def draws(space, batch, count, seed=0):
    return space.sample(batch, draw_keys(seed, "metric", batch.ids, torch.arange(count)))


@pytest.mark.parametrize("shape", [(1, 20, 31), (3, 28, 28), (3, 64, 50)])
def test_the_metric_is_the_squared_change_of_the_warped_picture(shape):
    images = pictures(3, *shape)
    np.testing.assert_allclose(image_metric(images).numpy(), metric_by_warping(images), rtol=1e-5, atol=1e-6)


def test_a_lattice_of_pixels_gives_the_metric_of_large_images_to_a_few_per_cent():
    images = pictures(4, 3, 224, 160)
    ours, exact = image_metric(images).numpy(), metric_by_warping(images)
    scale = np.sqrt(np.einsum("bii,bjj->bij", exact, exact))
    assert np.abs((ours - exact) / scale).max() < 0.06


def test_pixels_move_as_far_as_under_the_uniform_metric():
    """The mean squared displacement tr(DΣ) is 6/(ακ) on every image."""
    images = torch.cat((pictures(4, 1, 32, 40), stripes(32, 40), torch.full((1, 1, 32, 40), 0.3)))
    space, batch = nuisance("affine", metric="image", alpha=30.0), batch_of(images)
    precision = space.precision(batch)
    covariance = (precision @ precision.mT).inverse().numpy()
    np.testing.assert_allclose(np.trace(UNIFORM @ covariance, axis1=1, axis2=2), 6 / (30 * 1.75), rtol=1e-9)


def test_a_blank_image_has_the_uniform_prior():
    batch = batch_of(torch.full((2, 3, 32, 40), 0.7))
    by_image, uniform = (nuisance("affine", metric=metric) for metric in ("image", "uniform"))
    torch.testing.assert_close(draws(by_image, batch, 20), draws(uniform, batch, 20))
    theta = draws(uniform, batch, 20)
    torch.testing.assert_close(by_image.log_prior(theta, batch), uniform.log_prior(theta, batch))


def test_the_prior_is_wide_where_the_picture_does_not_change():
    batch = batch_of(stripes(32, 32))
    spread = draws(nuisance("affine", metric="image"), batch, 4000)[0].std(0)
    uniform = nuisance("affine").deviations(batch)
    # a11, a12 and shift x move along the stripes, a21, a22 and shift y across them.
    assert (spread[[0, 2, 4]] > 1.2 * uniform[[0, 2, 4]]).all()
    assert (spread[[1, 3, 5]] < 0.5 * uniform[[1, 3, 5]]).all()


def test_the_picture_changes_less_than_under_the_uniform_metric():
    """To first order the mean squared change is tr(GΣ); on stripes it is measured."""
    for image in pictures(6, 1, 40, 40).split(1):
        metric = metric_by_warping(image)[0]
        uniform = np.linalg.inv(UNIFORM) / (100 * 1.75)
        assert np.trace(metric @ covariance_by_warping(image, 100)) < np.trace(metric @ uniform)

    batch = batch_of(stripes(40, 40).expand(300, -1, -1, -1))

    def change(metric):
        space = nuisance("affine", metric=metric, alpha=1000.0)
        return (space.apply(batch, draws(space, batch, 1)[:, 0]) - batch.images)[..., 4:-4, 4:-4].square().mean()

    assert change("image") < 0.3 * change("uniform")


def test_draws_match_the_density_of_each_image():
    """Mahalanobis distances under a covariance found by warping are χ² with six degrees (Kolmogorov–Smirnov)."""
    images = torch.cat((pictures(3, 1, 24, 30), stripes(24, 30)))
    space, batch = nuisance("affine", metric="image", alpha=50.0), batch_of(images)
    theta = draws(space, batch, 3000)
    ours = space.log_prior(theta[:, :50], batch).numpy()
    for place in range(4):
        density = scipy.stats.multivariate_normal(
            IDENTITY.numpy(), covariance_by_warping(images[place : place + 1], 50)
        )
        offset = theta[place].numpy() - IDENTITY.numpy()
        distance = np.einsum("ni,ij,nj->n", offset, np.linalg.inv(density.cov), offset)
        assert scipy.stats.kstest(distance, scipy.stats.chi2(6).cdf).pvalue > 1e-3
        np.testing.assert_allclose(ours[place], density.logpdf(theta[place, :50].numpy()), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 224, 160)])
def test_an_image_has_the_same_draws_alone_and_in_a_batch(shape):
    space, batch = nuisance("affine", metric="image"), batch_of(pictures(5, *shape).float())
    together = draws(space, batch, 20)
    assert together.dtype == torch.float32
    for place in range(5):
        assert torch.equal(draws(space, batch.take(torch.tensor([place])), 3)[0], together[place, :3])


def test_gradients_of_the_density_agree_with_finite_differences():
    space, batch = nuisance("affine", metric="image"), batch_of(pictures(2, 1, 16, 20))
    theta = draws(space, batch, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: space.log_prior(t, batch), theta)
