import dataclasses
import math

import numpy as np
import pytest
import scipy.stats
import torch
import torch.nn.functional as F

from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.random import draw_keys
from brittle.types import Batch

OCCLUDERS = ["occlusion", "occlusion:rectangles=3", "patch", "fourier-mask", "tiles"]
every_occluder = pytest.mark.parametrize("spec", OCCLUDERS)


def photo(count: int, channels: int = 3, height: int = 24, width: int = 32) -> Batch:
    images = torch.rand(count, channels, height, width, generator=torch.Generator().manual_seed(4)) * 0.5 + 0.25
    return Batch(images, torch.zeros(count, dtype=torch.int64), torch.arange(count) * 3)


class Pictures:
    """A texture set in memory: picture i is everywhere i / count, plus a ramp across if asked for."""

    def __init__(self, count: int, shape: tuple[int, int, int], ramp: bool = False) -> None:
        self.shape, self.count, self.ramp = shape, count, ramp

    def __len__(self) -> int:
        return self.count

    def batch(self, positions) -> Batch:
        level = torch.as_tensor(positions).float().view(-1, 1, 1, 1) / self.count
        images = torch.linspace(0, 1, self.shape[2]) if self.ramp else level
        return Batch(images.expand(len(level), *self.shape), torch.zeros(len(level)), torch.zeros(len(level)))


def build(spec: str, **options):
    return dataclasses.replace(nuisances.build(spec), **options)


def drawn(space, batch: Batch, draws: int = 1) -> torch.Tensor:
    return space.sample(batch, draw_keys(1, "fill", batch.ids, torch.arange(draws)))


FILLINGS = {
    "nothing": ({}, lambda images, numbers: torch.zeros_like(images)),
    "grey": ({"fill": 0.5}, lambda images, numbers: torch.full_like(images, 0.5)),
    "mean": ({"fill": "mean"}, lambda images, numbers: images.mean((2, 3), keepdim=True).expand_as(images)),
    "texture": (
        {"texture": Pictures(7, (3, 24, 32))},
        lambda images, numbers: (numbers[:, 0] / 7).view(-1, 1, 1, 1).expand_as(images),
    ),
}


@every_occluder
@pytest.mark.parametrize("filling", FILLINGS)
def test_what_is_not_hidden_stays_and_what_is_hidden_is_filled(spec, filling):
    options, expected = FILLINGS[filling]
    space, batch = build(spec, **options), photo(6)
    space.check((3, 24, 32))
    theta = drawn(space, batch)[:, 0]
    shown = space.apply(batch, theta)
    hidden = space.hidden(theta[:, : space.mask_size(batch)], 24, 32)
    assert hidden.any()
    assert torch.equal(shown.masked_fill(hidden, 0), batch.images.masked_fill(hidden, 0))
    filled = expected(batch.images, theta[:, space.mask_size(batch) :])
    torch.testing.assert_close(shown[hidden.expand_as(shown)], filled[hidden.expand_as(shown)])


@every_occluder
def test_noise_fills_what_is_hidden_with_values_in_range(spec):
    space, batch = build(spec, fill="noise"), photo(6)
    theta = drawn(space, batch)[:, 0]
    shown = space.apply(batch, theta)
    hidden = space.hidden(theta[:, : space.mask_size(batch)], 24, 32)
    assert hidden.any()
    assert torch.equal(shown.masked_fill(hidden, 0), batch.images.masked_fill(hidden, 0))
    filled = shown[hidden.expand_as(shown)]
    assert filled.min() >= 0
    assert filled.max() <= 1
    assert theta[:, space.mask_size(batch) :].shape == (6, 2)


@every_occluder
@pytest.mark.parametrize("fill", ["noise", "texture"])
def test_the_filling_stays_along_the_severity_path(spec, fill):
    options = {"texture": Pictures(7, (3, 24, 32), ramp=True)} if fill == "texture" else {"fill": "noise"}
    space, batch = build(spec, **options), photo(6)
    theta = drawn(space, batch)[:, 0]
    assert torch.equal(space.at(theta, 0.0, batch), space.identity(batch))
    torch.testing.assert_close(space.apply(batch, space.identity(batch)), batch.images)
    less, more = (space.at(theta, severity, batch) for severity in (0.6, 1.4))
    size = space.mask_size(batch)
    both = (space.hidden(less[:, :size], 24, 32) & space.hidden(more[:, :size], 24, 32)).expand_as(batch.images)
    assert torch.equal(space.apply(batch, less)[both], space.apply(batch, more)[both])


def test_noise_is_uniform_and_new_for_every_draw():
    space, batch = nuisances.build("patch:share=1,fill=noise"), photo(2, height=90, width=91)
    first, second = drawn(space, batch, 2).unbind(1)
    shown = torch.stack((space.apply(batch, first), space.apply(batch, second)))
    values = torch.cat([each.flatten() for each in shown.flatten(0, 2)]).numpy()
    assert scipy.stats.kstest(values, "uniform").pvalue > 1e-3
    table = np.corrcoef(shown.flatten(0, 2).flatten(1).numpy())
    assert np.abs(table - np.eye(len(table))).max() < 5 / math.sqrt(90 * 91)
    assert np.abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 5 / math.sqrt(len(values))
    assert torch.equal(space.apply(batch, first), shown[0])


def test_pictures_of_another_size_are_made_to_cover_the_image_and_cut_where_theta_says():
    """Ramps of 48×160 over images of 24×32: halved to 24×80, and 48 pixels of room across."""
    space, batch = nuisance("patch", share=1.0, texture=Pictures(3, (3, 48, 160), ramp=True)), photo(3)
    theta = torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 0, 0, 1, 0.5, 0.5], [1.0, 0, 0, 2, 1.0, 1.0]])
    ramp = torch.linspace(0, 1, 160).expand(1, 3, 48, 160)
    small = F.interpolate(ramp, (24, 80), mode="bilinear", antialias=True)[0]
    shown = space.apply(batch, theta)
    for place, left in enumerate((0, 24, 48)):
        torch.testing.assert_close(shown[place], small[..., left : left + 32])


def test_pictures_are_drawn_evenly():
    space, batch = nuisance("tiles", texture=Pictures(5, (3, 24, 32))), photo(1)
    theta = drawn(space, batch, 5000)[0, :, -3:].double()
    assert scipy.stats.chisquare(np.bincount(theta[:, 0].long().numpy(), minlength=5)).pvalue > 1e-3
    assert scipy.stats.kstest(theta[:, 1].numpy(), "uniform").pvalue > 1e-3


def test_the_filling_has_its_part_in_the_density():
    batch = photo(2)
    plain, noisy = nuisances.build("occlusion"), nuisances.build("occlusion:fill=noise")
    theta = drawn(noisy, batch, 4)
    expected = plain.log_prior(theta[..., :4], batch) - 2 * 24 * math.log(2)
    torch.testing.assert_close(noisy.log_prior(theta, batch), expected)
    theta[..., -1] = -1
    assert noisy.log_prior(theta, batch).eq(-math.inf).all()
    textured = nuisance("occlusion", texture=Pictures(5, (3, 24, 32)))
    theta = drawn(textured, batch, 4)
    expected = plain.log_prior(theta[..., :4], batch) - math.log(5)
    torch.testing.assert_close(textured.log_prior(theta, batch), expected)


def test_a_texture_with_other_channels_is_refused_before_work_starts():
    with pytest.raises(BrittleError, match=r"3 channels.*images 1"):
        nuisance("patch", texture=Pictures(5, (3, 24, 32))).check((1, 28, 28))


def test_a_texture_that_is_still_a_spec_is_refused_with_the_remedy():
    space = nuisances.build(r"patch:texture=npz:other.npz\,size=32")
    assert space.texture == "npz:other.npz,size=32"
    with pytest.raises(BrittleError, match="not been loaded"):
        space.check((3, 32, 32))
    assert nuisances.build(nuisances.spec_of(space)) == space


@pytest.mark.parametrize("spec", ["patch:fill=1.5", "tiles:fill=-0.1", "occlusion:fill=mean,texture=sample"])
def test_a_filling_that_makes_no_sense_is_refused(spec):
    with pytest.raises(BrittleError, match="fill"):
        nuisances.build(spec)
