import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisance
from brittle.random import draw_keys
from brittle.types import Batch


def batch_of(images: torch.Tensor) -> Batch:
    return Batch(images, torch.zeros(len(images), dtype=torch.int64), torch.arange(len(images)))


def draws(space, batch, count, seed=0):
    return space.sample(batch, draw_keys(seed, "elastic", batch.ids, torch.arange(count)))


def blank(height, width, dtype=torch.float32) -> Batch:
    return batch_of(torch.zeros(1, 1, height, width, dtype=dtype))


def pixel_map(space, theta, height, width):
    """(B, 2, H, W): the row and column, in pixels, from which each pixel takes its value."""
    sources = space.sources(theta, height, width).double()
    column, row = ((sources[..., way] + 1) / 2 * side - 0.5 for way, side in ((0, width), (1, height)))
    return torch.stack((row, column), 1).numpy()


def still(height, width):
    return np.stack(np.mgrid[0:height, 0:width]).astype(float)


def velocity_at(space, theta, height, width):
    """A function of pixels (row, column): the velocity (down, right) in pixels, with scipy's B-splines."""
    count, spacing = space.knots, space.length / 0.843
    right, down = theta.double().numpy().reshape(2, count, count) * min(height, width)
    start = -(count - 1) / 2 - 2
    spline = scipy.interpolate.BSpline(np.arange(count + 4) + start, np.eye(count), 3)

    def velocity(row, column):
        inside = [np.clip(place, 0, side - 1) for place, side in ((row, height), (column, width))]
        y, x = (
            spline(((place + 0.5) / side - 0.5) / spacing) for place, side in zip(inside, (height, width), strict=True)
        )
        return np.stack([np.einsum("pi,ij,pj->p", y, field, x) for field in (down, right)])

    return velocity


def folded_share(maps):
    """The share of pixels at which the Jacobian determinant of maps (B, 2, H, W) is not positive."""
    down, across = maps[..., 1:, :-1] - maps[..., :-1, :-1], maps[..., :-1, 1:] - maps[..., :-1, :-1]
    return float((down[:, 0] * across[:, 1] - down[:, 1] * across[:, 0] <= 0).mean())


@pytest.mark.parametrize(("height", "width"), [(28, 28), (48, 32), (224, 224)])
def test_no_pixel_is_folded_where_the_same_motion_added_as_a_displacement_folds(height, width):
    space, batch = nuisance("elastic"), blank(height, width)
    theta = 2 * draws(space, batch, 40 if height < 200 else 12)[0]
    assert folded_share(pixel_map(space, theta / 2, height, width)) == 0
    assert folded_share(pixel_map(space, theta, height, width)) == 0
    row, column = still(height, width)
    plain = [
        still(height, width)
        - velocity_at(space, one, height, width)(row.ravel(), column.ravel()).reshape(2, height, width)
        for one in theta
    ]
    assert folded_share(np.stack(plain)) > 0.004


@pytest.mark.parametrize(("height", "width", "pixels"), [(32, 32, 0.1), (224, 160, 0.2)])
def test_the_flow_agrees_with_scipys_integration_of_the_velocity(height, width, pixels):
    space, batch = nuisance("elastic"), blank(height, width)
    theta = draws(space, batch, 1)[:, 0]
    ours = pixel_map(space, theta, height, width)[0]
    rows, columns = (np.random.default_rng(0).integers(0, side, 60) for side in (height, width))
    velocity = velocity_at(space, theta, height, width)
    path = scipy.integrate.solve_ivp(
        lambda _, place: -velocity(*place.reshape(2, -1)).ravel(), (0, 1), np.concatenate((rows, columns)), rtol=1e-7
    )
    motion = path.y[:, -1].reshape(2, -1)
    assert np.abs(motion - np.stack((rows, columns))).max() > 0.05 * min(height, width)
    np.testing.assert_allclose(ours[:, rows, columns], motion, atol=pixels)


def test_severity_2_is_the_map_of_severity_1_applied_twice_and_minus_1_its_inverse():
    space, batch = nuisance("elastic"), blank(64, 64)
    theta = draws(space, batch, 1)[:, 0]
    once, twice, back = (pixel_map(space, severity * theta, 64, 64)[0] for severity in (1, 2, -1))

    def after(second, first):
        return np.stack([scipy.ndimage.map_coordinates(each, second, order=1) for each in first])

    inside = ((once > 1) & (once < 62)).all(0)
    assert inside.mean() > 0.7
    np.testing.assert_allclose(after(once, once)[:, inside], twice[:, inside], atol=0.1)
    np.testing.assert_allclose(after(once, back)[:, inside], still(64, 64)[:, inside], atol=0.1)


def test_a_constant_velocity_moves_the_content_right_and_down_by_whole_pixels():
    space = nuisance("elastic", unit="pixels")
    batch = batch_of(torch.rand(1, 3, 30, 44, generator=torch.Generator().manual_seed(0)))
    count = space.knots**2
    moved = space.apply(batch, torch.cat((torch.full((1, count), 3.0), torch.full((1, count), 5.0)), 1))
    torch.testing.assert_close(moved[..., 5:, 3:], batch.images[..., :-5, :-3], atol=5e-5, rtol=0)


def test_motions_have_the_stated_deviation_and_correlate_by_061_at_the_stated_length():
    """Small motions are the velocity itself."""
    space, batch = nuisance("elastic", amplitude=1e-3, length=0.25), blank(40, 40, torch.float64)
    theta = draws(space, batch, 1500)[0]
    motion = (still(40, 40) - pixel_map(space, theta, 40, 40)) / (1e-3 * 40)
    assert np.sqrt((motion**2).mean()) == pytest.approx(1, rel=0.03)
    apart = (motion[..., 10:] * motion[..., :-10]).mean() / (motion**2).mean()
    assert apart == pytest.approx(np.exp(-0.5), abs=0.03)


def test_a_length_below_a_pixel_is_refused():
    nuisance("elastic", length=0.031).check((3, 28, 64))
    with pytest.raises(BrittleError, match=r"less than a pixel.*length=0.031 or more"):
        nuisance("elastic", length=0.03).check((3, 28, 64))
