import matplotlib.tri
import numpy as np
import pytest
import scipy.stats
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.random import draw_keys
from brittle.types import Batch


def batch_of(images: torch.Tensor) -> Batch:
    return Batch(images, torch.zeros(len(images), dtype=torch.int64), torch.arange(len(images)))


def pictures(count=1, height=30, width=44, channels=3, dtype=torch.float32) -> Batch:
    return batch_of(torch.rand(count, channels, height, width, generator=torch.Generator().manual_seed(0), dtype=dtype))


def draws(space, batch, count, seed=0):
    return space.sample(batch, draw_keys(seed, "piecewise", batch.ids, torch.arange(count)))


def triangles(grid, height, width):
    """The mesh by hand, in pixels from the corner: diagonals fall where row + column is even and rise elsewhere."""
    x, y = np.meshgrid(np.linspace(0, width, grid), np.linspace(0, height, grid))
    corners = []
    for row in range(grid - 1):
        for column in range(grid - 1):
            a = row * grid + column
            b, c, d = a + 1, a + grid, a + grid + 1
            corners += [(a, b, d), (a, d, c)] if (row + column) % 2 == 0 else [(a, b, c), (b, d, c)]
    return matplotlib.tri.Triangulation(x.ravel(), y.ravel(), corners)


def motions_in_pixels(space, theta, height, width):
    """(2, H, W): how far right and down the content that arrives at each pixel has moved."""
    still = torch.stack(torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij"))
    sources = (space.sources(theta, height, width)[0] + 1) / 2 * torch.tensor([width, height])
    return (still.flip(0) - sources.permute(2, 0, 1)).double().numpy()


def test_one_cell_with_an_affine_motion_is_the_affine_warp():
    batch = pictures()
    theta = draws(nuisance("affine", alpha=30.0), batch, 1)[:, 0]
    matrix = theta.view(3, 2).T
    corners = torch.tensor([[-1.0, -1], [1, -1], [-1, 1], [1, 1]]).T
    motion = (corners - (matrix[:, :2] @ corners + matrix[:, 2:])) * torch.tensor([[22.0], [15.0]])
    space = nuisance("piecewise-affine", grid=2, unit="pixels")
    torch.testing.assert_close(
        space.apply(batch, motion.reshape(1, 8)), nuisance("affine").apply(batch, theta), atol=2e-5, rtol=0
    )


def test_a_motion_shared_by_all_points_moves_the_content_right_and_down_by_whole_pixels():
    batch = pictures()
    theta = torch.cat((torch.full((1, 49), 3.0), torch.full((1, 49), 5.0)), 1)
    moved = nuisance("piecewise-affine", unit="pixels").apply(batch, theta)
    torch.testing.assert_close(moved[..., 5:, 3:], batch.images[..., :-5, :-3], atol=2e-5, rtol=0)
    by_share = nuisance("piecewise-affine").apply(batch, theta / 30)
    torch.testing.assert_close(by_share, moved, atol=2e-5, rtol=0)


@pytest.mark.parametrize(("grid", "height", "width"), [(2, 20, 20), (4, 31, 50), (7, 64, 40), (7, 8, 8)])
def test_motions_between_points_agree_with_matplotlibs_linear_interpolation_on_triangles(grid, height, width):
    space, batch = nuisance("piecewise-affine", grid=grid), pictures(1, height, width, dtype=torch.float64)
    theta = draws(space, batch, 1)[:, 0]
    ours = motions_in_pixels(space, theta, height, width)
    mesh = triangles(grid, height, width)
    x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    for way, values in enumerate(theta.view(2, -1).numpy() * min(height, width)):
        expected = matplotlib.tri.LinearTriInterpolator(mesh, values)(x, y)
        np.testing.assert_allclose(ours[way], expected.filled(np.nan), atol=1e-5)


def test_the_map_is_exactly_affine_on_every_triangle():
    space, batch = nuisance("piecewise-affine", grid=5), pictures(1, 90, 70, dtype=torch.float64)
    sources = space.sources(draws(space, batch, 1)[:, 0], 90, 70)[0].numpy()
    x, y = np.meshgrid(np.arange(70) + 0.5, np.arange(90) + 0.5)
    owner = triangles(5, 90, 70).get_trifinder()(x, y)
    assert set(np.unique(owner)) == set(range(32))
    for triangle in range(32):
        mine = owner == triangle
        design = np.stack([x[mine], y[mine], np.ones(mine.sum())], 1)
        fitted = design @ np.linalg.lstsq(design, sources[mine], rcond=None)[0]
        np.testing.assert_allclose(sources[mine], fitted, atol=1e-12)


def test_the_map_is_continuous_across_cells_and_diagonals():
    """Neighbouring pixels differ by no more than the steepest edge of the mesh allows, at any resolution."""
    space, theta = nuisance("piecewise-affine"), draws(nuisance("piecewise-affine"), pictures(1, 600, 600), 1)[:, 0]
    points = theta.double().view(2, 7, 7) * 2
    points = torch.stack(torch.meshgrid(*[torch.linspace(-1, 1, 7, dtype=torch.float64)] * 2, indexing="xy")) - points
    sources = space.sources(theta.double(), 600, 600)[0].permute(2, 0, 1)
    for axis in (1, 2):
        steepest = points.diff(dim=axis).abs().amax((1, 2)) * 6 / 600
        assert (sources.diff(dim=axis).abs().amax((1, 2)) <= steepest + 1e-12).all()


def covariance(grid, length, amplitude, height, width):
    """exp(−d²/2ℓ²) between all pairs of control points, distances in pixels, by brute force."""
    x, y = np.meshgrid(np.linspace(0, width, grid), np.linspace(0, height, grid))
    squared = (x.ravel()[:, None] - x.ravel()) ** 2 + (y.ravel()[:, None] - y.ravel()) ** 2
    return amplitude**2 * np.kron(np.eye(2), np.exp(-squared / 2 / (length * min(height, width)) ** 2))


def test_draws_have_the_covariance_that_decays_with_distance():
    space, batch = nuisance("piecewise-affine", grid=4, length=0.3, amplitude=0.05), pictures()
    theta = draws(space, batch, 40_000)[0].double().numpy()
    expected = covariance(4, 0.3, 0.05, 30, 44)
    noise = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / 40_000)
    assert np.abs((theta.T @ theta / 40_000 - expected) / noise).max() < 4.8
    assert space.deviations(batch).numpy() == pytest.approx(np.sqrt(np.diag(expected)))


def test_the_density_is_that_of_the_covariance():
    space, batch = nuisance("piecewise-affine", grid=4, length=0.2, amplitude=0.05), pictures(dtype=torch.float64)
    theta = draws(space, batch, 50)
    density = scipy.stats.multivariate_normal(np.zeros(32), covariance(4, 0.2, 0.05, 30, 44))
    expected = density.logpdf(theta[0].numpy())
    np.testing.assert_allclose(space.log_prior(theta, batch)[0].numpy(), expected, atol=0.05)


@pytest.mark.parametrize("spec", ["piecewise-affine", "piecewise-affine:grid=15,length=0.4"])
def test_draws_rounded_to_float32_match_the_density(spec):
    """−2 log p(θ) is χ² with as many degrees as numbers, up to a constant that −2 log p(0) holds."""
    space, batch = nuisances.build(spec), pictures()
    theta = draws(space, batch, 3000)
    distance = 2 * (space.log_prior(torch.zeros_like(theta[:, :1]), batch) - space.log_prior(theta, batch))[0]
    assert scipy.stats.kstest(distance.numpy(), scipy.stats.chi2(theta.shape[-1]).cdf).pvalue > 1e-3


def test_the_default_has_98_numbers_named_by_way_and_place():
    space = nuisance("piecewise-affine")
    assert len(space.parameters) == space.latent(pictures()) == 98
    assert space.parameters[:2] == ("right 1,1", "right 1,2")
    assert space.parameters[-1] == "down 7,7"


def test_draws_do_not_depend_on_how_many_there_are():
    space, batch = nuisance("piecewise-affine"), pictures(5, dtype=torch.float64)
    together = draws(space, batch, 40)
    for place in range(5):
        assert torch.equal(draws(space, batch.take(torch.tensor([place])), 3)[0], together[place, :3])


def test_more_control_points_than_pixels_are_refused():
    space = nuisance("piecewise-affine", grid=9)
    space.check((1, 9, 28))
    with pytest.raises(BrittleError, match="more points than pixels"):
        space.check((1, 8, 28))
    with pytest.raises(BrittleError, match="at least 2"):
        nuisance("piecewise-affine", grid=1)
