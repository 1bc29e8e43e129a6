import math

import numpy as np
import pytest
import scipy.ndimage
import torch

from brittle.nuisances import nuisance
from brittle.nuisances.ops import convolve
from brittle.nuisances.ops.separable import filter_rows_and_columns, gaussian_blur, gaussian_matrix, gaussian_rows
from brittle.types import Batch


def batch_of(images: torch.Tensor) -> Batch:
    return Batch(images, torch.zeros(len(images), dtype=torch.int64), torch.arange(len(images)))


@pytest.fixture(scope="module")
def picture() -> Batch:
    return batch_of(torch.rand(1, 2, 60, 80, generator=torch.Generator().manual_seed(0)))


@pytest.mark.parametrize(("level", "sigma"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 6), (2.5, 2.5)])
def test_gaussian_blur_is_scipys_with_imagenet_cs_sigma(level, sigma, picture):
    ours = nuisance("gaussian-blur", scaled=False).apply(picture, torch.tensor([[float(level)]]))
    for channel, blurred in zip(picture.images[0].double().numpy(), ours[0], strict=True):
        np.testing.assert_allclose(blurred, scipy.ndimage.gaussian_filter(channel, sigma, mode="nearest"), atol=5e-4)


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.3, 0.45, 0.6, 1.0, 3.0])
def test_the_variance_of_a_blurred_point_is_sigma_squared(sigma):
    """Also below a pixel, where samples of the Gaussian alone would miss it."""
    row = gaussian_matrix(torch.tensor([sigma], dtype=torch.float64), 41)[0, 20]
    places = torch.arange(41, dtype=torch.float64) - 20
    assert row.sum().item() == pytest.approx(1, abs=1e-9)
    assert (row * places.square()).sum().item() == pytest.approx(sigma**2, rel=1e-3)


def test_a_very_wide_gaussian_still_keeps_a_flat_image_flat():
    flat = batch_of(torch.full((1, 1, 20, 30), 0.7))
    torch.testing.assert_close(nuisance("gaussian-blur").apply(flat, torch.tensor([[500.0]])), flat.images)


def test_lengths_are_those_of_224_pixels_on_the_shorter_side(picture):
    by_size = nuisance("gaussian-blur").apply(picture, torch.tensor([[4.0]]))  # σ = 4·60/224 pixels
    in_pixels = nuisance("gaussian-blur", scaled=False).apply(picture, torch.tensor([[4 * 60 / 224]]))
    torch.testing.assert_close(by_size, in_pixels)


@pytest.mark.parametrize(("level", "radius"), [(1, 3), (2, 4), (3, 6), (4, 8), (5, 10), (1.3, 3.3)])
def test_defocus_is_a_convolution_with_a_disk(level, radius, picture):
    """scipy's "mirror" is the border of ImageNet-C's filter; the disk by counting a fine grid of points."""
    ours = nuisance("defocus-blur", scaled=False).apply(picture, torch.tensor([[float(level)]]))
    fine = (np.arange(-13 * 9, 13 * 9 + 9) + 0.5) / 9 - 0.5
    inside = (np.hypot(*np.meshgrid(fine, fine)) <= radius).astype(float)
    disk = inside.reshape(27, 9, 27, 9).mean((1, 3))
    disk /= disk.sum()
    for channel, blurred in zip(picture.images[0].double().numpy(), ours[0], strict=True):
        expected = scipy.ndimage.convolve(channel, disk, mode="mirror")
        assert np.abs(blurred.numpy() - expected).max() < 0.02
        assert np.abs(blurred.numpy() - expected).mean() < 0.003


@pytest.mark.parametrize("radius", [0.05, 0.2, 0.4])
def test_a_disk_within_a_pixel_has_the_variance_of_a_disk(radius):
    """r²/4 across and down; samples of the disk alone would change nothing."""
    point = torch.zeros(1, 1, 21, 21, dtype=torch.float64)
    point[..., 10, 10] = 1
    disk = nuisance("defocus-blur", scaled=False).apply(batch_of(point), torch.tensor([[radius / 3]]).double())[0, 0]
    places = torch.arange(21.0, dtype=torch.float64) - 10
    assert (disk.sum(0) * places.square()).sum().item() == pytest.approx(radius**2 / 4, rel=0.1)


@pytest.mark.parametrize("sigmas", [[0.01], [0.4], [1.3], [5.0], [0.0, 0.7, 6.9, 2.0, 15.0]])
def test_sums_of_rows_and_matrices_are_the_same_gaussian_blur(sigmas, picture):
    sigma = torch.tensor(sigmas)
    images = picture.images.repeat(len(sigmas), 1, 1, 1)
    matrices = [gaussian_matrix(sigma, side) for side in (60, 80)]
    expected = filter_rows_and_columns(images, *matrices)
    for some in (slice(0, 1), slice(None)):
        rows = gaussian_rows(images, sigma)[some]
        assert rows.numel()
        found = gaussian_blur(images[some], sigma[some], rows)
        torch.testing.assert_close(found, expected[some], atol=1e-6, rtol=0)


@pytest.mark.parametrize("size", [(28, 28), (224, 224), (37, 90)])
@pytest.mark.parametrize("name", ["gaussian-blur", "glass-blur"])
def test_blurring_by_rows_is_what_passes_gradients_on(name, size):
    batch = batch_of(torch.rand(6, 3, *size, generator=torch.Generator().manual_seed(4)))
    theta = nuisance(name).identity(batch)
    theta[:, 0] = torch.tensor([0.0, 0.2, 1.0, 3.0, 4.4, 30.0])
    plain = nuisance(name).apply(batch, theta)
    learnt = nuisance(name).apply(batch._replace(images=batch.images.clone().requires_grad_()), theta)
    assert learnt.requires_grad
    torch.testing.assert_close(plain, learnt.detach(), atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", ["defocus-blur", "motion-blur"])
def test_the_fourier_transform_and_direct_convolution_agree(name, picture, monkeypatch):
    batch = picture.take(torch.tensor([0, 0, 0]))
    theta = torch.tensor([[0.5, -40.0], [3.0, 10.0], [5.0, 44.0]])[:, : len(nuisance(name).parameters)]
    directly = nuisance(name).apply(batch, theta)
    monkeypatch.setattr(convolve, "_MOST_DIRECT_TAPS", 0)
    torch.testing.assert_close(nuisance(name).apply(batch, theta), directly, atol=2e-6, rtol=0)


def test_the_descriptions_say_the_pixels():
    assert "1.5 pixels" in nuisance("gaussian-blur").describe(112, 200)
    assert "3 pixels" in nuisance("defocus-blur").describe(112, 200)


def test_a_disk_or_a_streak_that_the_image_is_too_small_for_is_described_as_it_is_drawn():
    images = torch.zeros(1, 1, 24, 24)
    images[..., 12, 16] = 1
    batch = Batch(images, torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    disk = nuisance("defocus-blur", level=8.0, scaled=False)
    said = float(disk.describe(24, 24).split("radius of ")[1].split(" ")[0])
    seen = (disk.apply(batch, torch.tensor([[8.0]]))[0, 0] > 1e-4).sum().item()
    assert math.pi * (said + 0.5) ** 2 == pytest.approx(seen, rel=0.1)  # the rim falls off over one pixel
    streak = nuisance("motion-blur", level=8.0, scaled=False)
    said = float(streak.describe(24, 24).split("streaks ")[1].split(" ")[0])
    seen = (streak.apply(batch, torch.tensor([[8.0, 0.0]]))[0, 0].sum(0) > 1e-4).sum().item()
    assert said == pytest.approx(seen, abs=1.5)
