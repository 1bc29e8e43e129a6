import math

import numpy as np
import pytest
import scipy.stats
import torch
from PIL import Image

from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.random import draw_keys
from brittle.types import Batch

IDENTITY = torch.tensor([[1.0, 0, 0, 1, 0, 0, 0, 0]])


def batch_of(images: torch.Tensor) -> Batch:
    return Batch(images, torch.zeros(len(images), dtype=torch.int64), torch.arange(len(images)))


@pytest.fixture(scope="module")
def picture() -> Batch:
    return batch_of(torch.rand(1, 1, 40, 56, generator=torch.Generator().manual_seed(0)))


def draws(space, batch, count, seed=0):
    return space.sample(batch, draw_keys(seed, "projective", batch.ids, torch.arange(count)))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_homographies_agree_with_pillow_away_from_the_border(seed, picture):
    """Pillow works in pixels counted from the corner: x = 2 column / W − 1 carries one into the other."""
    space = nuisance("projective", alpha=300.0)
    theta = draws(space, picture, 1, seed)[:, 0]
    a11, a21, a12, a22, t1, t2, p1, p2 = theta[0].double().tolist()
    in_coordinates = np.array([[a11, a12, t1], [a21, a22, t2], [p1, p2, 1]])
    to_coordinates = np.array([[2 / 56, 0, -1], [0, 2 / 40, -1], [0, 0, 1]])
    in_pixels = np.linalg.inv(to_coordinates) @ in_coordinates @ to_coordinates
    coefficients = (in_pixels / in_pixels[2, 2]).ravel()[:8]
    expected = np.array(
        Image.fromarray(picture.images[0, 0].numpy()).transform(
            (56, 40), Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BILINEAR
        )
    )
    rows, columns = np.mgrid[0:40, 0:56] + 0.5
    x, y, w = np.tensordot(in_pixels, np.stack([columns, rows, np.ones_like(rows)]), 1)
    inside = (x / w > 1) & (x / w < 55) & (y / w > 1) & (y / w < 39)
    assert inside.mean() > 0.3
    np.testing.assert_allclose(space.apply(picture, theta)[0, 0].numpy()[inside], expected[inside], atol=1e-4)


def test_without_perspective_it_is_affine(picture):
    theta = draws(nuisance("affine"), picture, 1)[:, 0]
    flat = torch.cat((theta, torch.zeros(1, 2)), 1)
    torch.testing.assert_close(
        nuisance("projective").apply(picture, flat), nuisance("affine").apply(picture, theta), atol=1e-5, rtol=0
    )


def test_positive_perspective_enlarges_the_right_and_the_bottom():
    spots = torch.zeros(1, 1, 60, 60)
    spots[..., 28:32, 12:16] = spots[..., 28:32, 44:48] = 1
    moved = nuisance("projective").apply(batch_of(spots), IDENTITY + torch.tensor([0, 0, 0, 0, 0, 0, 0.2, 0]))
    assert moved[..., 30:].sum() > 1.2 * 16 > 0.8 * 16 > moved[..., :30].sum()
    turned = nuisance("projective").apply(batch_of(spots.mT), IDENTITY + torch.tensor([0, 0, 0, 0, 0, 0, 0, 0.2]))
    torch.testing.assert_close(turned, moved.mT, atol=1e-5, rtol=0)


@pytest.mark.parametrize("size", [1.0, 3.0, 1e3, 1e8])
def test_the_divisor_stays_positive_over_the_image_whatever_theta(size):
    """A linear form is smallest at a corner, here the outermost corners of the pixels."""
    space = nuisance("projective")
    theta = IDENTITY + size * torch.randn(500, 8, generator=torch.Generator().manual_seed(0))
    last = space.homographies(theta)[:, 2]
    corners = torch.tensor([[x, y, 1.0] for x in (-1, 1) for y in (-1, 1)])
    assert (last @ corners.T).min() > 0.1 - 1e-6
    assert space.sources(theta, 20, 30).isfinite().all()


def test_theta_is_the_homography_itself_where_it_is_not_limited():
    theta = IDENTITY + torch.tensor([0.1, 0.2, -0.3, 0.1, 0.4, -0.2, 0.6, -0.29])
    expected = torch.tensor([[1.1, -0.3, 0.4], [0.2, 1.1, -0.2], [0.6, -0.29, 1.0]])
    torch.testing.assert_close(nuisance("projective").homographies(theta)[0], expected)


def test_three_draws_in_a_thousand_are_limited_at_severity_2(picture):
    """|p₁| + |p₂| = max |p₁ ± p₂|, two independent normals of standard deviation √2 σ."""
    space = nuisance("projective")
    theta = space.at(draws(space, picture, 100_000)[0], 2.0, picture)
    limited = (space.homographies(theta)[:, 2, :2] != theta[:, 6:]).any(1).double().mean()
    expected = 1 - (1 - 2 * scipy.stats.norm.sf(0.9 / (math.sqrt(2) * 0.2))) ** 2
    assert expected == pytest.approx(0.003, abs=0.0005)
    assert float(limited) == pytest.approx(expected, abs=4 * math.sqrt(expected / 100_000))


def test_draws_match_the_density(picture):
    space = nuisance("projective", perspective=0.07, alpha=40.0)
    theta = draws(space, picture, 4000)[0].double().numpy()
    spread = np.array([*[(40 * 1.75 / 3) ** -0.5] * 4, *[(40 * 1.75) ** -0.5] * 2, 0.07, 0.07])
    for name, z in zip(space.parameters, ((theta - IDENTITY.numpy()) / spread).T, strict=True):
        assert scipy.stats.kstest(z, "norm").pvalue > 1e-3, name
    density = scipy.stats.multivariate_normal(IDENTITY[0].numpy(), np.diag(spread**2))
    ours = space.log_prior(torch.tensor(theta[None, :50]), picture)[0]
    np.testing.assert_allclose(ours.numpy(), density.logpdf(theta[:50]), rtol=1e-6)


def test_the_description_is_the_measured_root_mean_square_displacement():
    space, blank = nuisance("projective", perspective=0.02, alpha=1e12), batch_of(torch.zeros(1, 1, 30, 50))
    theta = draws(space, blank, 3000)[0]
    moved = (space.sources(theta, 30, 50) - space.sources(IDENTITY, 30, 50)) * torch.tensor([25.0, 15.0])
    said = float(space.describe(30, 50).split(" perspective moves it by ")[1].split(" ")[0])
    assert said == pytest.approx(float(moved.square().sum(-1).mean().sqrt()), rel=0.06)


def test_a_perspective_without_width_is_refused():
    with pytest.raises(BrittleError, match="above 0"):
        nuisances.build("projective:perspective=0")
