"""What the weather is made of, taken out of pictures again: veils and their depth, streaks, specks, grains and flakes.

A black and a white image under the same θ tell it all. Where T x = x·p + q at every place, the white one less the
black one is p, the light that arrives, and what the black one shows is what the air and its particles add.
"""

import math
from typing import NamedTuple

import numpy as np
import pytest
import scipy.ndimage
import scipy.stats
import torch

from brittle.nuisances import nuisance
from brittle.random import draw_keys
from brittle.types import Batch

GREY_OF = (0.299, 0.587, 0.114)


def batch_of(images: torch.Tensor) -> Batch:
    return Batch(images, torch.zeros(len(images), dtype=torch.int64), torch.arange(len(images)))


def flat(value: float, count: int, *shape: int) -> Batch:
    return batch_of(torch.full((count, *shape), value, dtype=torch.float64))


class Seen(NamedTuple):
    arrives: torch.Tensor  # (B, C, H, W): p
    added: torch.Tensor  # (B, C, H, W): q


def drawn(space, batch: Batch, level: float, direction: float | None = None) -> torch.Tensor:
    """θ (B, d) from the prior, with this level and direction: every image its own seed."""
    theta = space.sample(batch, draw_keys(0, "air", batch.ids, torch.arange(1)))[:, 0]
    theta[:, space.parameters.index("level")] = level
    if direction is not None:
        theta[:, space.parameters.index("direction")] = direction
    return theta


def seen_through(spec: str, level: float, direction: float | None = None, count: int = 8, shape=(3, 224, 224)) -> Seen:
    """`count` seeds."""
    space = nuisance(spec)
    theta = drawn(space, flat(0.0, count, *shape), level, direction)
    black, white = (space.apply(flat(value, count, *shape), theta) for value in (0.0, 1.0))
    return Seen(white - black, black)


def particles(name: str, level: float, direction: float | None = None, **how) -> torch.Tensor:
    """How much of each place is covered by specks or grains (B, H, W).

    Haze alone is T x = x·t + A·(1 − t). Laying a share s of the colour G over it leaves p = t·(1 − s) and
    q = A·(1 − p) + (G − A)·s, which is solved for s."""
    seen = seen_through(name, level, direction, **how)
    air = torch.tensor(nuisance(name).COLOUR, dtype=torch.float64)[:, None, None]
    lit = torch.tensor({"dust": (0.95, 0.88, 0.74), "sandstorm": (0.93, 0.74, 0.46)}[name])[:, None, None]
    shares = (seen.added - air * (1 - seen.arrives)) / (lit - air)
    torch.testing.assert_close(shares[:, 0], shares[:, 2], atol=1e-5, rtol=0)  # one share for all three colours
    return shares.mean(1)


def drops(level: float, direction: float, **how) -> torch.Tensor:
    """How much of each place is covered by rain (B, H, W): p = (1 − veil)·(1 − s), and somewhere there is no drop."""
    arrives = seen_through("rain", level, direction, **how).arrives[:, 0]
    return 1 - arrives / arrives.amax((1, 2), keepdim=True)


def orientation(pictures: torch.Tensor) -> tuple[float, float]:
    """The direction of streaks, in degrees from 0 to 180 with 90 down, and how decided it is, from 0 to 1: along them
    the picture changes least, which is an eigenvector of the mean of ∇x ∇xᵀ (the structure tensor)."""
    smooth = scipy.ndimage.gaussian_filter(pictures.numpy(), (0, 1.5, 1.5))  # square pixels prefer the axes
    down, across = np.gradient(smooth, axis=(1, 2))
    tensor = np.array([[(a * b).mean() for b in (across, down)] for a in (across, down)])
    (least, most), vectors = np.linalg.eigh(tensor)
    return math.degrees(math.atan2(vectors[1, 0], vectors[0, 0])) % 180, (most - least) / (most + least)


def turned(degrees: float, other: float) -> float:
    """Between two undirected directions."""
    return abs((degrees - other + 90) % 180 - 90)


# As their documentation says; between the first and the last level it is linear but for the optical density.
LEVELS = (1, 3, 5)
DENSITY = {"smog": (0.3, 0.8, 1.5), "dust": (0.2, 0.6, 1.1), "sandstorm": (0.4, 1.1, 2.0)}


@pytest.mark.parametrize("name", DENSITY)
@pytest.mark.parametrize("place", range(3))
def test_haze_has_the_stated_optical_density(name, place):
    """−log p, where no particle is in the way; the depth is 1 in the mean over clouds and pictures."""
    arrives = seen_through(name, float(LEVELS[place]), count=60, shape=(3, 48, 64)).arrives
    clear = arrives[:, 0].flatten(1).log().neg().median(1).values
    assert clear.mean().item() == pytest.approx(DENSITY[name][place], rel=0.12)


def test_haze_is_deeper_by_half_at_the_top_than_at_the_bottom():
    """Clouds cancel in the mean over many seeds, and what is left falls evenly from 1.25 to 0.75 times the density."""
    depth = seen_through("smog", 3.0, count=300, shape=(1, 32, 32)).arrives.log().neg().mean((0, 1, 3)) / 0.8
    slope, middle = np.polyfit(np.linspace(-0.5, 0.5, 32), depth.numpy(), 1)
    assert slope == pytest.approx(-0.5, abs=0.06)
    assert middle == pytest.approx(1, abs=0.03)


def test_smog_has_soft_clouds_and_sandstorms_have_rough_ones():
    """As in the test of fog below, dust's clouds being those of fog at level 3."""
    soft, usual, rough = (roughness(-seen_through(name, 2.0).arrives[:, 0].log()) for name in DENSITY)
    assert soft < 0.8 * usual < 0.6 * rough


def roughness(pictures: torch.Tensor) -> float:
    """Of clouds, whatever their contrast: the median step from pixel to pixel, which no particle moves."""
    return (pictures.diff(dim=2).abs().flatten(1).median(1).values / pictures.std((1, 2))).mean().item()


# A particle's light is u ~ U(0, 1), its length (½ + u)·length, and a streak's sum light·length·2/3: together
# (¼ + ⅓)·⅔·length of the stated strength.
PARTICLE = (1 / 4 + 1 / 3) * 2 / 3


@pytest.mark.parametrize(("level", "light"), [(1.0, 0.3), (3.0, 0.6), (5.0, 0.9)])
def test_dust_is_512_specks_of_the_stated_length_and_light(level, light):
    assert particles("dust", level).sum((1, 2)).mean().item() == pytest.approx(512 * 4 * PARTICLE * light, rel=0.06)


@pytest.mark.parametrize(("level", "strength"), [(1.0, 0.2), (3.0, 0.4), (5.0, 0.6)])
def test_a_sandstorm_is_512_grains_of_the_stated_length_and_strength(level, strength):
    share = particles("sandstorm", level, 0.0).sum((1, 2)).mean().item()
    assert share == pytest.approx(512 * 16 * PARTICLE * strength, rel=0.06)


def test_a_small_picture_has_as_many_fewer_particles_as_it_is_smaller():
    """At 56 pixels a quarter of them, each a pixel long where it would be less: dust is 128 specks of one pixel."""
    share = particles("dust", 3.0, count=24, shape=(3, 56, 56)).sum((1, 2)).mean().item()
    assert share == pytest.approx(128 * 1 * PARTICLE * 0.6, rel=0.1)


@pytest.mark.parametrize("direction", [-20.0, 7.0, 20.0])
def test_sand_flies_where_the_wind_blows(direction):
    found, decided = orientation(particles("sandstorm", 3.0, direction))
    assert turned(found, direction) < 2
    assert decided > 0.6


def test_specks_of_dust_point_everywhere():
    assert orientation(particles("dust", 3.0))[1] < 0.05


@pytest.mark.parametrize(("level", "veil"), [(1.0, 0.06), (2.0, 0.12), (3.0, 0.18), (4.0, 0.24), (5.0, 0.32)])
def test_rain_fades_the_image_by_the_stated_share_into_grey(level, veil):
    """Between the drops p = 1 − veil and q = veil·grey."""
    seen = seen_through("rain", level, 90.0, count=4)
    between = seen.arrives.flatten(2).argmax(2, keepdim=True)
    torch.testing.assert_close(seen.arrives.amax((2, 3)), torch.full((4, 3), 1 - veil, dtype=torch.float64))
    grey = seen.added.flatten(2).gather(2, between)[..., 0] / veil
    torch.testing.assert_close(grey, torch.tensor([0.55, 0.57, 0.60], dtype=torch.float64).expand(4, 3))


@pytest.mark.parametrize(
    ("side", "level", "number", "light", "length"),
    [(224, 1.0, 100, 0.35, 14), (224, 3.0, 240, 0.45, 20), (224, 5.0, 400, 0.55, 26), (56, 3.0, 60, 0.45, 5)],
)
def test_rain_is_as_many_drops_of_the_stated_length(side, level, number, light, length):
    """A drop is (½ + u) times as light and as long, u ~ U(0, 1) for how near it is, and E(½ + u)² = 13/12. An image a
    quarter as large has a quarter of the drops, a quarter as long."""
    share = drops(level, 90.0, count=12, shape=(3, side, side)).sum((1, 2)).mean().item()
    assert share == pytest.approx(number * light * length * 13 / 12 * 2 / 3, rel=0.06)


def test_drops_have_their_colour():
    """q = veil·grey·(1 − s) + s·colour, with the veil's 32 % at level 5."""
    seen = seen_through("rain", 5.0, 90.0, count=4)
    share = 1 - seen.arrives / 0.68
    grey, colour = (
        torch.tensor(c, dtype=torch.float64)[:, None, None] for c in ((0.55, 0.57, 0.60), (0.86, 0.88, 0.92))
    )
    torch.testing.assert_close(seen.added, 0.32 * grey * (1 - share) + share * colour)


@pytest.mark.parametrize("direction", [70.0, 90.0, 110.0])
def test_rain_falls_in_its_direction(direction):
    found, decided = orientation(drops(3.0, direction))
    assert turned(found, direction) < 2
    assert decided > 0.6


@pytest.mark.parametrize("direction", [45.0, 80.0, 135.0])
def test_snow_is_drawn_out_in_its_direction(direction):
    found, decided = orientation(seen_through("snow", 3.0, direction, count=2, shape=(1, 224, 224)).added[:, 0])
    assert turned(found, direction) < 3
    assert decided > 0.5


def test_flakes_are_as_wide_as_published():
    """Enlarged noise of the same mean and threshold (levels 4 and 5): across the wind, the lag at which correlation
    falls to a half grows with the enlargement, 4.5 against 2.5; roughly, since more of level 5 is cut off at white."""
    widths = []
    for level in (4.0, 5.0):
        snow = seen_through("snow", level, 90.0, count=2, shape=(1, 224, 224)).added.clamp(max=0.999)
        snow = snow - snow.mean((2, 3), keepdim=True)
        spectrum = torch.fft.rfft(snow).abs().square().mean((0, 1, 2))
        correlation = torch.fft.irfft(spectrum, 224)[:20] / torch.fft.irfft(spectrum, 224)[0]
        widths.append(np.interp(-0.5, -correlation.numpy(), np.arange(20.0)))
    assert widths[0] / widths[1] == pytest.approx(4.5 / 2.5, rel=0.3)


def test_snow_lies_upright_and_upside_down():
    """Flakes and their half turn are added to a flat image, so that the whole is its own half turn."""
    snow = seen_through("snow", 2.0, 70.0, shape=(1, 40, 56)).added
    torch.testing.assert_close(snow, snow.flip(2, 3))
    assert (snow - snow.flip(2)).abs().mean() > 0.01


@pytest.mark.parametrize(("level", "kept"), [(1.0, 0.8), (2.0, 0.7), (3.0, 0.7), (4.0, 0.65), (5.0, 0.55)])
def test_snow_whitens_what_it_does_not_keep(level, kept):
    """Hendrycks & Dietterich: kept·x + (1 − kept)·max(x, 1.5·grey + 0.5), before flakes are added.

    Two dark colours of like brightness have the same flakes; their difference is what is left of them."""
    dark = torch.tensor([0.04, 0.02, 0.03], dtype=torch.float64)[:, None, None].expand(3, 32, 32)
    other = dark.flip(0)
    space = nuisance("snow")
    theta = drawn(space, flat(0.0, 1, 3, 32, 32), level)
    one, two = space.apply(batch_of(torch.stack((dark, other))), theta.expand(2, -1))
    brightness = [(image[:, 0, 0] * torch.tensor(GREY_OF)).sum() for image in (dark, other)]
    expected = kept * (dark - other) + (1 - kept) * 1.5 * (brightness[0] - brightness[1])
    unclipped = (one < 1).all(0) & (two < 1).all(0)
    assert unclipped.any()
    torch.testing.assert_close((one - two)[:, unclipped], expected[:, unclipped], atol=1e-7, rtol=0)


def test_below_level_1_the_flakes_of_level_1_fade_in():
    """On black, level ½ has half of level 1's flakes and half of its whitening."""
    half, one = (seen_through("snow", level, 90.0, count=3, shape=(1, 64, 64)).added for level in (0.5, 1.0))
    torch.testing.assert_close((2 * half).clamp(max=1), one)


# Of 200 of imagecorruptions' maps: mean step from pixel to pixel over standard deviation, at the decays of levels
# 1 and 2 (2.0), 3 (1.7), 4 (1.5) and 5 (1.4). Fog on a flat image is such a map, scaled.
@pytest.mark.parametrize(
    ("level", "roughness"),
    [
        (1.0, 0.0029 / 0.151),
        (2.0, 0.0029 / 0.151),
        (3.0, 0.0036 / 0.162),
        (4.0, 0.0053 / 0.172),
        (5.0, 0.0082 / 0.181),
    ],
)
def test_fog_is_as_fine_as_its_level(level, roughness):
    space, grey = nuisance("fog"), batch_of(torch.full((60, 1, 224, 224), 0.5))
    fog = space.apply(grey, drawn(space, grey, level))[:, 0]
    found = fog.diff(dim=2).abs().mean() / fog.std((1, 2)).mean()
    assert found.item() == pytest.approx(roughness, rel=0.1)


@pytest.mark.parametrize(("level", "amount"), [(1.0, 1.5), (2.0, 2.0), (3.0, 2.5), (4.0, 2.5), (5.0, 3.0), (0.5, 0.75)])
def test_fog_keeps_the_published_share_of_contrast(level, amount):
    """(x + a·clouds)·m/(m + a): x differs by 0.3 between two pictures whose brightest value m is 0.8."""
    images = torch.full((2, 1, 32, 40), 0.8, dtype=torch.float64)
    images[0, :, 5:], images[1, :, 5:] = 0.5, 0.2
    space = nuisance("fog")
    theta = drawn(space, batch_of(images[:1]), level)
    high, low = space.apply(batch_of(images), theta.expand(2, -1))
    left = torch.full((1, 27, 40), 0.3 * 0.8 / (0.8 + amount), dtype=torch.float64)
    torch.testing.assert_close((high - low)[:, 5:], left)


@pytest.mark.parametrize(("level", "kept"), [(1.0, 1.0), (2.0, 0.8), (3.0, 0.7), (4.0, 0.65), (5.0, 0.6)])
def test_frost_keeps_the_published_share_and_adds_bluish_ice(level, kept):
    images = torch.zeros(2, 3, 224, 224, dtype=torch.float64)
    images[1] = 0.1
    space = nuisance("frost")
    black, dark = space.apply(batch_of(images), drawn(space, batch_of(images[:1]), level).expand(2, -1))
    unclipped = dark < 1
    assert unclipped.double().mean() > 0.9
    torch.testing.assert_close((dark - black)[unclipped], torch.full_like(dark, 0.1 * kept)[unclipped])
    red, green, blue = black.clamp(max=0.99).mean((1, 2)).tolist()
    # The photographs' mean colour is 0.57, 0.65 and 0.69.
    assert red / green == pytest.approx(0.57 / 0.65, abs=0.03)
    assert blue / green == pytest.approx(0.69 / 0.65, abs=0.03)


def test_frost_has_needles_brighter_than_the_ice_around_them():
    """The median over 9×9 pixels takes lines out; what clouds differ from it by is as often dark as bright."""
    ice = seen_through("frost", 3.0, count=2).added.mean(1)
    lines = torch.from_numpy(ice.numpy() - scipy.ndimage.median_filter(ice.numpy(), (1, 9, 9)))
    bright, dark = ((sign * lines > 0.03).double().mean().item() for sign in (1, -1))
    assert bright > 0.03
    assert bright > 2 * dark


@pytest.mark.parametrize(("name", "low", "high"), [("sandstorm", -20, 20), ("rain", 70, 110), ("snow", 45, 135)])
def test_directions_are_uniform_over_the_stated_range(name, low, high):
    batch, space = flat(0.5, 1, 1, 8, 8), nuisance(name)
    theta = space.sample(batch, draw_keys(0, name, batch.ids, torch.arange(3000)))[0]
    directions = theta[:, space.parameters.index("direction")].numpy()
    assert scipy.stats.kstest(directions, scipy.stats.uniform(low, high - low).cdf).pvalue > 1e-3
