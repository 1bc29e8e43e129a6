"""Transforms of torchvision, albumentations and Kornia as nuisances, and stand-ins that are called as theirs are."""

import random

import numpy as np
import pytest
import torch
from torch import nn

import brittle
from brittle.engine.live_objects import nuisance_text
from brittle.random import draw_keys

ANGLE = 20.0


class OfAlbumentations:
    """Called with image=, draws from generators of its own, and is given others by `set_random_state`."""

    __module__ = "albumentations.core.transforms_interface"

    def __init__(self, *transforms):
        self.transforms, self.random_generator, self.py_random = transforms, np.random.default_rng(), random.Random()

    def set_random_state(self, random_generator, py_random):
        self.random_generator, self.py_random = random_generator, py_random
        for each in self.transforms:
            each.set_random_state(random_generator, py_random)

    def __call__(self, *, image):
        for each in self.transforms:
            image = each(image=image)["image"]
        assert image.dtype == np.uint8
        shift = self.py_random.randrange(-4, 5)
        return {"image": np.roll(image, shift + int(self.random_generator.integers(3)), axis=1)}


class OfKornia(nn.Module):
    """Takes a batch, draws a number for each of its images, and remembers what it drew."""

    __module__ = "kornia.augmentation._2d.base"

    def __init__(self):
        super().__init__()
        self.flags, self._params = {"p": 0.5}, {}

    def forward(self, images):
        assert images.ndim == 4
        self._params = {"gain": torch.rand(len(images), 1, 1, 1)}
        return images * self._params["gain"]


def sample(count=6):
    return brittle.image_set("sample").batch(range(count))


def applied(nuisance, given, draw=0):
    theta = nuisance.sample(given, draw_keys(0, "function", given.ids, torch.tensor([draw])))[:, 0]
    return nuisance.apply(given, theta)


def is_repeatable(transform):
    """One draw of an image is the same in any batch; other draws are others; the transform is left as it was."""
    nuisance, given = brittle.nuisance(transform), sample(12)
    held = nuisance_text(nuisance)
    whole = applied(nuisance, given)
    for part in torch.arange(12).flip(0).split(5):
        assert torch.equal(applied(nuisance, given.take(part)), whole[part])
    assert len({applied(nuisance, given, draw).numpy().tobytes() for draw in range(12)}) == 12
    assert nuisance_text(nuisance) == held


@pytest.mark.parametrize("make", [OfAlbumentations, lambda: OfAlbumentations(OfAlbumentations()), OfKornia])
def test_transforms_that_are_called_as_theirs_are(make):
    is_repeatable(make())


def test_a_transform_keeps_its_own_generators_and_memory():
    outer, inner = OfAlbumentations(OfAlbumentations()), OfKornia()
    generators = outer.random_generator, outer.py_random, outer.transforms[0].py_random
    for transform in (outer, inner):
        applied(brittle.nuisance(transform), sample())
    assert (outer.random_generator, outer.py_random, outer.transforms[0].py_random) == generators
    assert inner._params == {}


def own_rotation(given, angle=ANGLE):
    """As Brittle rotates, clockwise."""
    return brittle.nuisance("rotation").apply(given, torch.full((len(given.images), 1), -angle))


def test_torchvision(torchvision):
    from torchvision.transforms import v2

    bilinear = v2.InterpolationMode.BILINEAR
    is_repeatable(v2.Compose([v2.RandomRotation(30), v2.RandomHorizontalFlip(0.3), v2.ColorJitter(0.3)]))
    turned = applied(brittle.nuisance(v2.RandomRotation((ANGLE, ANGLE), interpolation=bilinear)), sample())
    assert (turned - own_rotation(sample())).abs().mean() < 0.002  # its grid is off by a rounding of half a pixel
    spec = "function:torchvision.transforms.v2:GaussianBlur,arguments=kernel_size=3"
    blurred = applied(brittle.nuisance(spec), sample())
    assert 0 < (blurred - sample().images).abs().mean() < 0.1
    with pytest.raises(brittle.BrittleError, match=r"made an image \(1, 20, 20\) of an image \(1, 28, 28\)"):
        brittle.nuisance(v2.RandomResizedCrop(20)).check((1, 28, 28))


def test_rho_under_torchvisions_rotation_is_rho_under_ours(torchvision):
    from torchvision.transforms.v2 import InterpolationMode, functional

    def rotated(image):
        return functional.rotate(image, 15 * float(torch.randn(())), interpolation=InterpolationMode.BILINEAR)

    theirs = brittle.measure("bundled:plain", "sample", rotated, samples=4)
    ours = brittle.measure("bundled:plain", "sample", "rotation:sigma=15", samples=4)
    # Two means over the same 1,000 images and other draws: four standard errors of their difference.
    assert theirs["rho"] == pytest.approx(ours["rho"], abs=0.02)


def test_albumentations():
    albumentations = pytest.importorskip("albumentations")
    flips = albumentations.Compose([albumentations.Rotate(30, p=0.7), albumentations.GaussNoise(p=1.0)])
    is_repeatable(flips)
    turn = albumentations.Rotate((ANGLE, ANGLE), p=1.0, border_mode=0)
    assert (applied(brittle.nuisance(turn), sample()) - own_rotation(sample())).abs().mean() < 0.002  # of 8 bits
    spec = "function:albumentations:GaussNoise,arguments=p=1"
    assert not torch.equal(applied(brittle.nuisance(spec), sample()), sample().images)


def test_kornia():
    augmentation = pytest.importorskip("kornia.augmentation")
    is_repeatable(augmentation.RandomRotation(30.0, p=1.0))
    is_repeatable(augmentation.AugmentationSequential(augmentation.RandomRotation(30.0, p=0.9), data_keys=["input"]))
    turned = applied(brittle.nuisance(augmentation.RandomRotation((ANGLE, ANGLE), p=1.0)), sample())
    torch.testing.assert_close(turned, own_rotation(sample()), atol=1e-4, rtol=0)
    blur = brittle.nuisance(pytest.importorskip("kornia.filters").GaussianBlur2d((3, 3), (1.0, 1.0)))
    blur.check((1, 28, 28))
    assert blur.describe(28, 28).endswith("given as a tensor (B, C, H, W), the same at every draw")
