import colorsys
import math

import numpy as np
import pytest
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.types import Batch

COLOUR = ["saturation", "hue", "white-balance"]


def batch_of(images: torch.Tensor) -> Batch:
    return Batch(images, torch.zeros(len(images), dtype=torch.int64), torch.arange(len(images)))


@pytest.fixture(scope="module")
def colours() -> Batch:
    """An image of 300 colours, with black, white, a grey and the pure ones among them."""
    pixels = torch.rand(300, 3, generator=torch.Generator().manual_seed(0))
    pixels[:8] = torch.tensor(
        [[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]]
    )
    return batch_of(pixels.T.reshape(1, 3, 15, 20).contiguous())


def pixels_of(images: torch.Tensor) -> list[tuple[float, float, float]]:
    return [tuple(pixel) for pixel in images[0].flatten(1).T.double().tolist()]


def by_pixel(batch: Batch, change) -> np.ndarray:
    return np.array([change(*pixel) for pixel in pixels_of(batch.images)])


@pytest.mark.parametrize("gain", [0.0, 0.3, 1.0, 2.0, 20.0])
def test_saturation_multiplies_that_of_hsv(gain, colours):
    def change(*rgb):
        hue, saturation, value = colorsys.rgb_to_hsv(*rgb)
        return colorsys.hsv_to_rgb(hue, min(1.0, gain * saturation), value)

    changed = nuisance("saturation").apply(colours, torch.tensor([[math.log(gain) if gain else -40.0]]))
    np.testing.assert_allclose(np.array(pixels_of(changed)), by_pixel(colours, change), atol=1e-6)


# imagecorruptions 1.1.2: saturate multiplies the saturation of HSV and adds to it.
SATURATE = ((0.3, 0.0), (0.1, 0.0), (2.0, 0.0), (5.0, 0.1), (20.0, 0.2))


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_saturation_levels_are_imagenet_cs(level, colours):
    gain, added = SATURATE[level - 1]

    def change(*rgb):
        hue, saturation, value = colorsys.rgb_to_hsv(*rgb)
        return colorsys.hsv_to_rgb(hue, min(1.0, gain * saturation + added), value)

    space = nuisance("saturation", level=float(level))
    theta = space.sample(colours, torch.zeros(1, 1, dtype=torch.int64))[:, 0]
    np.testing.assert_allclose(np.array(pixels_of(space.apply(colours, theta))), by_pixel(colours, change), atol=1e-5)


@pytest.mark.parametrize("degrees", [-120.0, -20.0, 0.0, 33.0, 180.0])
def test_hue_turns_the_chroma_of_yiq(degrees, colours):
    """Against Python's own YIQ, which cuts values off at 0 and 1 as we do. There, from red to yellow is backwards."""
    angle = -math.radians(degrees)

    def change(*rgb):
        luma, i, q = colorsys.rgb_to_yiq(*rgb)
        turned = (math.cos(angle) * i - math.sin(angle) * q, math.sin(angle) * i + math.cos(angle) * q)
        return colorsys.yiq_to_rgb(luma, *turned)

    changed = nuisance("hue").apply(colours, torch.tensor([[degrees]]))
    np.testing.assert_allclose(np.array(pixels_of(changed)), by_pixel(colours, change), atol=1e-5)


def test_a_positive_angle_turns_the_hue_of_hsv_forward(colours):
    """Red towards yellow, yellow towards green, green towards blue: for pale colours the two angles nearly agree."""
    wheel = torch.tensor([colorsys.hsv_to_rgb(place / 24, 0.2, 0.6) for place in range(24)]).T.reshape(1, 3, 1, 24)
    turned = nuisance("hue").apply(batch_of(wheel.contiguous()), torch.tensor([[30.0]]))
    moved = [
        (colorsys.rgb_to_hsv(*after)[0] - colorsys.rgb_to_hsv(*before)[0]) % 1 * 360
        for before, after in zip(pixels_of(wheel), pixels_of(turned), strict=True)
    ]
    assert 10 < min(moved) < max(moved) < 60
    assert np.mean(moved) == pytest.approx(30, abs=3)


def test_a_full_turn_of_hue_changes_nothing(colours):
    mild = batch_of(0.3 + 0.4 * colours.images)
    torch.testing.assert_close(nuisance("hue").apply(mild, torch.tensor([[360.0]])), mild.images, atol=2e-6, rtol=0)


def test_white_balance_scales_red_and_blue_and_leaves_green(colours):
    changed = nuisance("white-balance").apply(colours, torch.tensor([[math.log(1.5), math.log(0.5)]]))
    expected = colours.images * torch.tensor([1.5, 1.0, 0.5]).view(1, 3, 1, 1)
    torch.testing.assert_close(changed, expected.clamp(max=1))


@pytest.mark.parametrize("name", COLOUR)
@pytest.mark.parametrize("channels", [1, 4])
def test_images_without_three_channels_are_refused_with_the_remedy(name, channels):
    with pytest.raises(BrittleError, match=rf"'{name}'.*{channels} channel.*channels=rgb"):
        nuisances.build(name).check((channels, 28, 28))
    nuisances.build(name).check((3, 28, 28))


@pytest.mark.parametrize("name", COLOUR)
def test_greys_stay_grey_but_for_white_balance(name):
    grey = batch_of(torch.linspace(0, 1, 50).view(1, 1, 5, 10).repeat(1, 3, 1, 1))
    space = nuisances.build(name)
    theta = space.deviations(grey).float()[None] * torch.tensor([1.0, -1.0])[: len(space.parameters)]
    changed = space.apply(grey, theta)
    spread = (changed.amax(1) - changed.amin(1)).max()
    assert (spread > 0.1) if name == "white-balance" else (spread < 1e-5)


@pytest.mark.parametrize("level", [None, 5.0])
def test_gradients_of_saturation_agree_with_finite_differences_in_colour(level, colours):
    space = nuisance("saturation", level=level)
    batch = batch_of(0.2 + 0.6 * colours.images[:, :, :4].double())
    theta = torch.tensor([[0.3] if level is None else [0.3, 0.05]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: space.apply(batch, t).mean(), theta, eps=1e-7, atol=1e-5)
