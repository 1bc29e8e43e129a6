import io

import numpy as np
import pytest
import scipy.ndimage
import torch
from PIL import Image

from brittle.nuisances import nuisance
from brittle.nuisances.digital.jpeg import CHROMINANCE, LUMINANCE, jpeg, quantisation
from brittle.types import Batch


def colourful(height: int, width: int, seed: int = 0) -> np.ndarray:
    """A picture with edges, gradients and grain, as 8-bit colours."""
    generator = np.random.default_rng(seed)
    shapes = scipy.ndimage.gaussian_filter(generator.random((height, width, 3)), (4, 4, 0))
    shapes = (shapes - shapes.min()) / np.ptp(shapes)
    shapes[height // 4 : height // 2, width // 3 : width // 2] = generator.random(3)
    grain = generator.normal(0, 0.02, shapes.shape)
    return np.uint8(np.clip(shapes + grain, 0, 1) * 255)


def through_pillow(pixels: np.ndarray, quality: int) -> Image.Image:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality)
    return Image.open(file)


@pytest.mark.parametrize("quality", [1, 7, 10, 15, 18, 25, 50, 75, 95, 100])
@pytest.mark.parametrize("size", [(224, 224), (75, 100), (28, 28), (9, 17)])
def test_colours_agree_with_pillow(quality, size):
    """To half a grey value in the mean over six pictures; libjpeg rounds once more inside its cosine transform."""
    pixels = np.stack([colourful(*size, seed) for seed in range(6)])
    theirs = np.stack([np.asarray(through_pillow(picture, quality), dtype=float) for picture in pixels])
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255
    ours = jpeg(images, torch.full((6,), quality, dtype=torch.float64)).permute(0, 2, 3, 1).numpy() * 255
    assert np.abs(ours - theirs).mean() < 0.75
    assert np.abs(ours - theirs).mean() < 0.2 * np.abs(pixels - theirs).mean() + 0.3


@pytest.mark.parametrize("quality", [7, 25, 75])
def test_grey_agrees_with_pillow(quality):
    pixels = colourful(60, 90)[..., 1]
    theirs = np.asarray(through_pillow(pixels, quality), dtype=float)
    ours = jpeg(torch.from_numpy(pixels)[None, None] / 255, torch.tensor([float(quality)], dtype=torch.float64))
    assert np.abs(ours[0, 0].numpy() * 255 - theirs).mean() < 0.3


def test_the_tables_are_libjpegs_at_every_quality():
    qualities = torch.arange(1, 101, dtype=torch.float64)
    ours = [quantisation(torch.tensor(t, dtype=torch.float64).flatten(), qualities) for t in (LUMINANCE, CHROMINANCE)]
    for place, quality in enumerate(range(1, 101)):
        for table, theirs in zip(ours, through_pillow(colourful(8, 8), quality).quantization.values(), strict=True):
            assert table[place].tolist() == list(theirs), quality


def test_no_bit_depends_on_the_batch():
    pixels = np.stack([colourful(33, 47, seed) for seed in range(7)])
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255
    quality = torch.linspace(3, 97, 7, dtype=torch.float64)
    together = jpeg(images, quality)
    for place in range(7):
        assert torch.equal(jpeg(images[place : place + 1], quality[place : place + 1])[0], together[place])


@pytest.mark.parametrize(("level", "quality"), [(1, 25), (2, 18), (3, 15), (4, 10), (5, 7), (0.5, 62.5), (9, 1)])
def test_levels_are_imagenet_cs_qualities(level, quality):
    images = torch.from_numpy(colourful(32, 32)).permute(2, 0, 1)[None] / 255
    batch = Batch(images, torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    expected = jpeg(images, torch.tensor([float(quality)], dtype=torch.float64))
    torch.testing.assert_close(nuisance("jpeg").apply(batch, torch.tensor([[float(level)]])), expected)


@pytest.mark.parametrize("size", [(224, 224), (75, 100), (28, 28), (9, 17), (1, 1)])
@pytest.mark.parametrize("channels", [1, 3])
def test_rows_on_a_cpu_are_the_planes_of_any_device_bit_for_bit(size, channels):
    """The latter is what passes gradients on."""
    pixels = np.stack([colourful(*size, seed) if min(size) > 1 else np.full((1, 1, 3), 9 * seed) for seed in range(5)])
    images = (torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255)[:, :channels].contiguous()
    batch = Batch(images, torch.zeros(5, dtype=torch.int64), torch.arange(5))
    theta = torch.tensor([[0.0], [0.5], [3.0], [5.0], [9.0]])
    on_a_cpu = nuisance("jpeg").apply(batch, theta)
    anywhere = nuisance("jpeg").apply(batch._replace(images=images.clone().requires_grad_()), theta)
    assert anywhere.requires_grad
    assert torch.equal(on_a_cpu, anywhere)
    assert torch.equal(nuisance("jpeg").apply(batch.take(torch.arange(1, 5)), theta[1:]), on_a_cpu[1:])
