import numpy as np
import pytest
import scipy.ndimage
import scipy.stats
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisance
from brittle.random import draw_keys
from brittle.types import Batch


def batch_of(images: torch.Tensor) -> Batch:
    return Batch(images, torch.zeros(len(images), dtype=torch.int64), torch.arange(len(images)))


def smooth(height: int, width: int) -> np.ndarray:
    noise = np.random.default_rng(0).random((height, width))
    blurred = scipy.ndimage.gaussian_filter(noise, 1.5)
    return (blurred - blurred.min()) / np.ptp(blurred)


def shifted(image: np.ndarray, dy: float, dx: float) -> np.ndarray:
    return scipy.ndimage.shift(image, (dy, dx), order=1, mode="nearest")


@pytest.mark.parametrize(("level", "length", "sigma"), [(1, 20, 3), (2, 30, 5), (3, 30, 8), (4, 30, 12), (5, 40, 15)])
@pytest.mark.parametrize("degrees", [0.0, 30.0, -45.0])
def test_motion_blur_is_imagenet_cs_sum_of_shifted_images(level, length, sigma, degrees):
    """Σᵢ kᵢ · image moved i pixels to the left, half a Gaussian for k; ImageNet-C's moves are whole pixels."""
    image = smooth(160, 180)
    steps = np.arange(length + 1)
    weights = np.exp(-0.5 * (steps / sigma) ** 2)
    angle = np.deg2rad(degrees)
    moved = [shifted(image, -step * np.sin(angle), -step * np.cos(angle)) for step in steps]
    expected = np.tensordot(weights / weights.sum(), moved, 1)
    batch = batch_of(torch.from_numpy(image)[None, None])
    theta = torch.tensor([[level, degrees]], dtype=torch.float64)
    ours = nuisance("motion-blur", scaled=False).apply(batch, theta)[0, 0].numpy()
    inner = (slice(45, -45), slice(0, -45))
    # Their sum has its first term whole, an integral would have it by half: the blurred picture lies up to half a
    # step further along.
    assert np.abs(ours - expected)[inner].mean() < 0.15 * np.abs(image - expected)[inner].mean()


def test_a_point_is_drawn_out_to_the_left_and_up_for_positive_directions():
    point = torch.zeros(2, 1, 64, 64)
    point[..., 40, 40] = 1
    left, up = nuisance("motion-blur", turn=180.0).apply(batch_of(point), torch.tensor([[5.0, 0.0], [5.0, 90.0]]))
    assert left[0, 40, 32:41].sum() > 0.9
    assert up[0, 32:41, 40].sum() > 0.9
    assert left.sum().item() == pytest.approx(1, abs=1e-4)


def test_edge_pixels_repeat_outside():
    """A streak to the left brings in what lies to the right: at the right edge of a ramp nothing but its last value."""
    ramp = batch_of(torch.linspace(0, 1, 64, dtype=torch.float64).expand(1, 1, 64, 64))
    blurred = nuisance("motion-blur").apply(ramp, torch.tensor([[5.0, 0.0]], dtype=torch.float64))
    torch.testing.assert_close(blurred[..., -1], torch.ones(1, 1, 64, dtype=torch.float64))


@pytest.mark.parametrize("turn", [10.0, 45.0, 180.0])
def test_directions_are_uniform_within_the_turn(turn):
    batch, space = batch_of(torch.zeros(1, 1, 8, 8)), nuisance("motion-blur", turn=turn)
    directions = space.sample(batch, draw_keys(0, "turn", batch.ids, torch.arange(3000)))[0, :, 1]
    assert scipy.stats.kstest(directions.numpy(), scipy.stats.uniform(-turn, 2 * turn).cdf).pvalue > 1e-3
    theta = torch.tensor([[[3.0, 0.99 * turn], [3.0, 1.01 * turn]]])
    inside, outside = space.log_prior(theta, batch)[0].tolist()
    assert inside == pytest.approx(scipy.stats.lognorm(0.25, scale=3.0).logpdf(3.0) - np.log(2 * turn), abs=1e-5)
    assert outside == -np.inf


def test_a_direction_that_is_none_is_refused():
    with pytest.raises(BrittleError, match="turn"):
        nuisance("motion-blur", turn=0.0)


@pytest.mark.parametrize(("level", "most"), [(1, 0.10), (2, 0.15), (3, 0.20), (4, 0.24), (5, 0.30), (0.5, 0.05)])
def test_zoom_blur_is_the_mean_of_enlarged_images(level, most):
    image = smooth(40, 52)
    centre = (np.array(image.shape) - 1) / 2
    total = image.copy()
    for zoom in 1 + np.linspace(0, most, 11):
        inverse = np.eye(2) / zoom
        total += scipy.ndimage.affine_transform(image, inverse, centre - inverse @ centre, order=1, mode="nearest")
    ours = nuisance("zoom-blur").apply(
        batch_of(torch.from_numpy(image)[None, None]), torch.tensor([[level]], dtype=torch.float64)
    )
    np.testing.assert_allclose(ours[0, 0].numpy(), total / 12, atol=1e-5)


@pytest.mark.parametrize("size", [(28, 28), (224, 224), (31, 47), (230, 160)])
def test_enlargements_by_rows_are_those_of_the_warp_that_passes_gradients_on(size):
    levels = torch.tensor([0.0, 0.1, 1.0, 2.5, 3.0, 6.0, 20.0])[:, None]
    batch = batch_of(torch.rand(7, 3, *size, generator=torch.Generator().manual_seed(3)))
    plain = nuisance("zoom-blur").apply(batch, levels)
    learnt = nuisance("zoom-blur").apply(batch._replace(images=batch.images.clone().requires_grad_()), levels)
    assert learnt.requires_grad
    torch.testing.assert_close(plain, learnt.detach(), atol=1e-6, rtol=0)
