import colorsys
import math

import numpy as np
import pytest
import scipy.stats
import torch
from PIL import Image, ImageEnhance

from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.nuisances.base.levels import at_level
from brittle.random import draw_keys
from brittle.types import Batch


def batch_of(images: torch.Tensor) -> Batch:
    return Batch(images, torch.zeros(len(images), dtype=torch.int64), torch.arange(len(images)))


@pytest.fixture(scope="module")
def picture() -> Batch:
    coarse = torch.rand(4, 3, 20, 31, generator=torch.Generator().manual_seed(0))
    return batch_of((coarse * 255).round() / 255)


def keys(batch, draws=1):
    return draw_keys(0, "light", batch.ids, torch.arange(draws))


def test_brightness_adds_and_cuts_off(picture):
    theta = torch.tensor([[0.3], [-0.2], [0.0], [2.0]])
    expected = np.clip(picture.images.numpy() + theta.numpy()[:, :, None, None], 0, 1)
    np.testing.assert_allclose(nuisance("brightness").apply(picture, theta).numpy(), expected, atol=1e-7)


def test_contrast_scales_the_spread_about_each_channels_mean():
    mild = batch_of(0.4 + 0.2 * torch.rand(2, 3, 20, 31, generator=torch.Generator().manual_seed(1)))
    changed = nuisance("contrast").apply(mild, torch.tensor([[math.log(2.0)], [math.log(0.5)]]))
    torch.testing.assert_close(changed.mean((2, 3)), mild.images.mean((2, 3)))
    torch.testing.assert_close(changed.std((2, 3)), mild.images.std((2, 3)) * torch.tensor([[2.0], [0.5]]))


def test_contrast_of_a_grey_image_is_pillows():
    """Pillow's contrast is about the mean of the grey image, rounded to a whole number of 255."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (30, 40), dtype=np.uint8)
    images = torch.from_numpy(pixels).float()[None, None] / 255
    for factor in (0.3, 1.7):
        expected = np.asarray(ImageEnhance.Contrast(Image.fromarray(pixels)).enhance(factor), dtype=np.float64) / 255
        changed = nuisance("contrast").apply(batch_of(images), torch.tensor([[math.log(factor)]]))
        np.testing.assert_allclose(changed[0, 0].numpy(), expected, atol=1.9 / 255)


def test_gamma_is_a_power_that_keeps_black_and_white(picture):
    theta = torch.tensor([[math.log(2.0)], [-math.log(2.0)], [0.0], [1.3]])
    changed = nuisance("gamma").apply(picture, theta)
    torch.testing.assert_close(changed[0], picture.images[0] ** 2)
    torch.testing.assert_close(changed[1], picture.images[1].sqrt())
    torch.testing.assert_close(changed[2], picture.images[2], atol=2e-7, rtol=0)
    ends = batch_of(torch.tensor([0.0, 1.0]).view(1, 1, 1, 2))
    assert torch.equal(nuisance("gamma").apply(ends, theta[3:]), ends.images)


@pytest.mark.parametrize("severity", [0.01, 1.0, 3.0])
def test_gamma_is_the_same_power_in_numpy_and_where_gradients_flow(severity):
    """Every grey value, a few images at a time; the exponents of four standard deviations, against float64."""
    batch = batch_of(torch.linspace(0, 1, 256 * 300).view(1, 1, 256, 300).repeat(9, 1, 1, 1))
    theta = severity * torch.linspace(-1.6, 1.6, 9)[:, None]
    expected = batch.images.double() ** theta.double().exp()[..., None, None]
    changed = nuisance("gamma").apply(batch, theta)
    torch.testing.assert_close(changed.double(), expected, atol=2e-7, rtol=0)
    learnt = nuisance("gamma").apply(batch, theta.requires_grad_())
    torch.testing.assert_close(changed, learnt.detach(), atol=2e-7, rtol=0)


def test_the_gradient_of_gamma_at_black_is_zero_not_nan():
    theta = torch.tensor([[0.3]], requires_grad=True)
    nuisance("gamma").apply(batch_of(torch.zeros(1, 1, 4, 4)), theta).sum().backward()
    assert theta.grad.item() == 0


@pytest.mark.parametrize("name", ["brightness", "contrast", "gamma", "saturation", "hue", "white-balance"])
def test_draws_and_density_are_gaussian_about_the_identity(name, picture):
    space = nuisances.build(name)
    theta = space.sample(picture, keys(picture, 1000)).double()
    law = scipy.stats.norm(0, space.sigma)
    for numbers in theta.flatten(0, 1).T.numpy():
        assert scipy.stats.kstest(numbers, law.cdf).pvalue > 1e-3
    np.testing.assert_allclose(
        space.log_prior(theta[:, :9], picture).numpy(), law.logpdf(theta[:, :9].numpy()).sum(-1), rtol=1e-9
    )


# imagecorruptions 1.1.2: brightness adds to the value of HSV, contrast keeps a share of the deviation from the mean.
BRIGHTNESS, CONTRAST = (0.1, 0.2, 0.3, 0.4, 0.5), (0.4, 0.3, 0.2, 0.1, 0.05)


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_levels_are_imagenet_cs(level, picture):
    with_black = batch_of(picture.images.clone())
    with_black.images[:, :, 0, 0] = 0
    space = nuisance("brightness", level=float(level))
    changed = space.apply(with_black, space.sample(with_black, keys(with_black))[:, 0])
    for place in ((0, 0), (3, 4), (7, 30), (19, 2)):
        hue, saturation, value = colorsys.rgb_to_hsv(*with_black.images[(1, slice(None), *place)].tolist())
        expected = colorsys.hsv_to_rgb(hue, saturation, min(1.0, value + BRIGHTNESS[level - 1]))
        assert changed[(1, slice(None), *place)].tolist() == pytest.approx(expected, abs=1e-5)

    space = nuisance("contrast", level=float(level))
    images = picture.images.numpy()
    mean = images.mean((2, 3), keepdims=True)
    expected = np.clip((images - mean) * CONTRAST[level - 1] + mean, 0, 1)
    changed = space.apply(picture, space.sample(picture, keys(picture))[:, 0])
    np.testing.assert_allclose(changed.numpy(), expected, atol=1e-5)


def test_a_level_is_one_point_and_severity_walks_to_it(picture):
    for name in ("brightness", "contrast", "saturation"):
        space = nuisance(name, level=4.0)
        theta = space.sample(picture, keys(picture, 5))
        assert theta.shape == (4, 5, len(space.parameters))
        assert torch.equal(theta, theta[:1, :1].expand_as(theta))
        assert space.latent(picture) == 0
        assert torch.equal(space.push(torch.zeros(4, 5, 0), picture), theta)
        assert space.log_prior(theta, picture).unique().tolist() == [0]
        assert space.log_prior(theta + 0.01, picture).unique().tolist() == [-math.inf]
        assert torch.equal(space.at(theta[:, 0], 0.0, picture), space.identity(picture))
        torch.testing.assert_close(
            space.apply(picture, space.identity(picture)), picture.images, atol=1e-6, rtol=0, msg=name
        )


def test_every_level_between_is_defined_and_monotone(picture):
    def strength(name, level):
        return at_level(nuisance(name, level=level).tables[0], level)

    levels = np.linspace(0.1, 7, 60)
    for name, sign in (("brightness", 1), ("contrast", -1)):
        assert (sign * np.diff([strength(name, float(level)) for level in levels]) > 0).all()
    assert math.exp(strength("contrast", 1.5)) == pytest.approx(math.sqrt(0.4 * 0.3))


def test_a_black_image_under_a_level_has_finite_gradients():
    space, batch = nuisance("brightness", level=2.0), batch_of(torch.zeros(1, 3, 4, 4))
    theta = torch.tensor([[0.2]], requires_grad=True)
    space.apply(batch, theta).sum().backward()
    assert theta.grad.item() == pytest.approx(48)


def test_level_and_sigma_together_are_refused():
    with pytest.raises(BrittleError, match="Give one"):
        nuisances.build("contrast:level=2,sigma=0.1")
    for spec in ("brightness:sigma=0", "gamma:sigma=inf", "contrast:level=0"):
        with pytest.raises(BrittleError, match="above 0"):
            nuisances.build(spec)
