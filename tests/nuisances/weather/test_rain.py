"""Rain's own promises; test_weather.py holds what all weather shares."""

import pytest
import torch

from brittle.nuisances import nuisance
from brittle.nuisances.weather.rain import GREY, WHITE
from brittle.types import Batch


def uniform(value: float, count: int = 1, size: int = 224) -> Batch:
    images = torch.full((count, 3, size, size), value, dtype=torch.float64)
    return Batch(images, torch.zeros(count, dtype=torch.int64), torch.arange(count))


@pytest.mark.parametrize("level", [0.5, 3.0, 5.0, 9.0])
def test_rain_is_a_grey_veil_under_white_streaks(level):
    """Two images under the same rain tell how much of each pixel is kept and what is added to it."""
    theta = torch.tensor([[level, 80.0, 1.0, 2.0]], dtype=torch.float64)
    dark, light = (nuisance("rain").apply(uniform(value), theta)[0] for value in (0.0, 1.0))
    kept = (light - dark)[0]
    torch.testing.assert_close(light - dark, kept.expand(3, -1, -1))
    veil = 1 - kept.max()  # somewhere no streak falls
    fall = 1 - kept / (1 - veil)
    for channel, (grey, white) in enumerate(zip(GREY, WHITE, strict=True)):
        torch.testing.assert_close(dark[channel], torch.lerp(grey * veil.expand_as(fall), fall.new_tensor(white), fall))


def test_a_veil_can_hide_the_image_but_not_turn_it_around():
    theta = torch.tensor([[40.0, 80.0, 1.0, 2.0]], dtype=torch.float64)
    dark, light = (nuisance("rain").apply(uniform(value), theta) for value in (0.0, 1.0))
    torch.testing.assert_close(dark, light)


@pytest.mark.parametrize(("size", "said"), [(224, "512 drops"), (32, "73 drops")])
def test_the_description_knows_how_many_drops_and_pixels_there_are_at_most(size, said):
    text = nuisance("rain", level=20.0, spread=0.0).describe(size, size)
    assert text.startswith(said)
    assert f"{30 * size / 224:.2g} pixels" in text
