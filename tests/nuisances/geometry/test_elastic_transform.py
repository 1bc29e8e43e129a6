import numpy as np
import pytest
import scipy.ndimage
import torch

from brittle.nuisances import nuisance
from brittle.nuisances.base.corruption import field_keys
from brittle.random import draw_keys, uniform_field
from brittle.types import Batch

# ImageNet-C's (strength, sigma, corner) at levels 1 to 5, as multiples of 244 pixels.
PUBLISHED = [(2, 0.7, 0.1), (2, 0.08, 0.2), (0.05, 0.01, 0.02), (0.07, 0.01, 0.02), (0.12, 0.01, 0.02)]


def photograph(height: int = 224, width: int = 224) -> torch.Tensor:
    """(1, 2, height, width), smooth, and different everywhere."""
    coarse = torch.rand(1, 2, 9, 9, generator=torch.Generator().manual_seed(3))
    return torch.nn.functional.interpolate(coarse, (height, width), mode="bicubic", align_corners=True).clamp(0, 1)


def drawn(space, images):
    batch = Batch(images, torch.zeros(len(images), dtype=torch.int64), torch.arange(len(images)))
    return batch, space.sample(batch, draw_keys(2, "elastic", batch.ids, torch.arange(1)))[:, 0]


def by_scipy(image: np.ndarray, theta: torch.Tensor, strength: float, sigma: float, corner: float) -> np.ndarray:
    """The published recipe, from scipy: an affine map that moves the corners, then moves by blurred noise."""
    height, width = image.shape[1:]
    middle, third = np.array([width // 2, height // 2]), min(height, width) // 3
    before = middle + third * np.array([[1, 1], [1, -1], [-1, -1]])
    after = before + corner * theta[0, 1:7].numpy().astype(float).reshape(3, 2)
    back = np.linalg.solve(np.c_[after, np.ones(3)], before)  # (x, y, 1) of the result → (x, y) of the image
    flipped = back[[1, 0, 2]][:, [1, 0]]  # scipy counts rows first
    bent = [
        scipy.ndimage.affine_transform(channel, flipped[:2].T, flipped[2], order=1, mode="mirror") for channel in image
    ]
    noise = 2 * uniform_field(field_keys(theta[:, 1:], 0), 2 * height * width).view(2, height, width).numpy() - 1
    dx, dy = (
        strength * scipy.ndimage.gaussian_filter(each.astype(float), sigma, mode="reflect", truncate=3)
        for each in noise
    )
    rows, columns = np.mgrid[:height, :width]
    return np.stack(
        [scipy.ndimage.map_coordinates(each, (rows + dy, columns + dx), order=1, mode="reflect") for each in bent]
    )


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_levels_are_imagenet_cs_recipe(level):
    space = nuisance("elastic-transform", level=float(level), spread=0.0)
    batch, theta = drawn(space, photograph())
    strength, sigma, corner = (244 * share for share in PUBLISHED[level - 1])
    expected = by_scipy(batch.images[0].double().numpy(), theta, strength, sigma, corner)
    np.testing.assert_allclose(space.apply(batch, theta)[0].numpy(), expected, atol=2e-4)
    assert np.abs(expected - batch.images[0].numpy()).mean() > 0.005


@pytest.mark.parametrize("size", [(28, 28), (40, 61)])
@pytest.mark.parametrize("level", [1, 2, 5])
def test_lengths_stay_in_pixels_where_they_are_not_scaled(level, size):
    """The blur then reaches across a small image many times over."""
    space = nuisance("elastic-transform", level=float(level), spread=0.0, scaled=False)
    batch, theta = drawn(space, photograph(*size))
    strength, sigma, corner = (244 * share for share in PUBLISHED[level - 1])
    expected = by_scipy(batch.images[0].double().numpy(), theta, strength, sigma, corner)
    np.testing.assert_allclose(space.apply(batch, theta)[0].numpy(), expected, atol=5e-4)


@pytest.mark.parametrize("level", [2.0, 5.0])
def test_moves_grow_with_the_image(level):
    """A ramp shows how far its pixels come from: the same share of the side at 56 and at 224 pixels. Corners stay."""
    shares = []
    for side in (56, 224):
        ramp = torch.linspace(0, 1, side).expand(60, 1, side, side)
        space = nuisance("elastic-transform", level=level, spread=0.0)
        batch, theta = drawn(space, ramp)
        theta[:, 1:7] = 0
        shares.append((space.apply(batch, theta) - ramp)[..., side // 4 : -side // 4].std().item())
    assert shares[0] == pytest.approx(shares[1], rel=0.1)
