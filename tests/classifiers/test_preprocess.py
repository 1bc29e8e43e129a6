"""Preprocessing against PIL, against arithmetic, and against itself under gradients."""

import numpy as np
import pytest
import torch
from PIL import Image

from brittle.classifiers.preprocess import Preprocess
from brittle.errors import BrittleError

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def photo(height, width, channels=3):
    """Smooth structure and fine texture, so that a missing antialias filter shows."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [127 + 60 * np.sin(x / (3 + c)) + 60 * np.cos(x * y / (90.0 + 7 * c)) for c in range(channels)]
    return np.stack(waves, -1).clip(0, 255).astype(np.uint8)


def tensor(pixels):
    return torch.from_numpy(pixels).permute(2, 0, 1)[None].float() / 255


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
@pytest.mark.parametrize(("height", "width"), [(90, 140), (140, 90), (40, 50)])
def test_resize_crop_and_normalise_agree_with_pil(interpolation, height, width):
    pixels = photo(height, width)
    steps = Preprocess(size=64, crop=56, interpolation=interpolation, mean=MEAN, std=STD)
    resample = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}[interpolation]
    longer = int(64 * max(height, width) / min(height, width))
    new_height, new_width = (64, longer) if height <= width else (longer, 64)
    resized = Image.fromarray(pixels).resize((new_width, new_height), resample)
    left, top = round((new_width - 56) / 2), round((new_height - 56) / 2)
    cut = np.asarray(resized.crop((left, top, left + 56, top + 56)), dtype=np.float64) / 255
    expected = (cut - MEAN) / STD
    found = steps(tensor(pixels))[0].permute(1, 2, 0).numpy()
    # PIL rounds to whole grey values after each of its two passes.
    assert np.abs(found - expected).max() < 1.6 / 255 / min(STD)


@pytest.mark.parametrize("size", ["20x50", "20/50", (20, 50), [20, 50]])
def test_an_exact_size_is_height_by_width(size):
    assert Preprocess(size=size)(torch.rand(2, 3, 30, 30)).shape == (2, 3, 20, 50)


def test_oblong_images_keep_their_proportions():
    assert Preprocess(size=16)(torch.rand(1, 1, 32, 80)).shape == (1, 1, 16, 40)
    assert Preprocess(size=16)(torch.rand(1, 1, 80, 32)).shape == (1, 1, 40, 16)


def test_without_options_the_input_comes_back_untouched():
    images = torch.rand(2, 3, 8, 8)
    assert Preprocess()(images) is images
    assert Preprocess(size=8, crop=8, channels="rgb")(images).data_ptr() == images.data_ptr()


def test_grey_agrees_with_pil_and_bgr_is_rgb_backwards():
    pixels = photo(12, 20)
    grey = np.asarray(Image.fromarray(pixels).convert("L"), dtype=np.float64) / 255
    assert np.abs(Preprocess(channels="grey")(tensor(pixels))[0, 0].numpy() - grey).max() < 1 / 255
    assert torch.equal(Preprocess(channels="bgr")(tensor(pixels)), tensor(pixels[..., ::-1].copy()))


def test_grey_images_are_repeated_for_colour():
    images = torch.rand(2, 1, 4, 4)
    for channels in ("rgb", "bgr"):
        assert torch.equal(Preprocess(channels=channels)(images), images.repeat(1, 3, 1, 1))


def test_range_comes_before_mean_and_std():
    images = torch.rand(2, 3, 4, 4)
    found = Preprocess(range=255, mean=(100.0, 110.0, 120.0), std=2)(images)
    expected = (images * 255 - torch.tensor([100.0, 110.0, 120.0]).view(3, 1, 1)) / 2
    assert torch.allclose(found, expected, atol=1e-4)
    assert torch.equal(Preprocess(range=16)(images), images * 16)


def test_layout_moves_the_channels_last():
    images = torch.rand(2, 3, 4, 5)
    assert torch.equal(Preprocess(layout="nhwc")(images), images.permute(0, 2, 3, 1))


def test_it_is_differentiable_even_after_a_first_use_in_inference_mode():
    steps = Preprocess(size=6, crop=5, interpolation="bicubic", mean=0.4, std=0.17, channels="grey")
    images = torch.rand(1, 3, 9, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 0.5 + 0.25
    with torch.inference_mode():
        steps(images)
    assert torch.autograd.gradcheck(steps, images.requires_grad_(), eps=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("options", "channels", "message"),
    [
        ({"mean": MEAN}, 1, "mean has 3 numbers but the images have 1 channels.*channels=rgb"),
        ({"crop": 30}, 3, "crop=30 is larger than images of 8×8. Give size=30"),
        ({"channels": "grey"}, 4, "takes images of 1 or 3 channels, not 4"),
        ({"size": "big"}, 3, "'big' is not a size"),
        ({"size": 0}, 3, "size is 0, but must be a whole number between 1 and 4096.*Write size=224"),
        ({"std": 0}, 3, "divides by zero"),
        ({"channels": "gray"}, 3, "Did you mean 'grey'"),
        ({"interpolation": "lanczos"}, 3, "bilinear or bicubic"),
    ],
)
def test_options_that_will_not_do_are_one_line(options, channels, message):
    with pytest.raises(BrittleError, match=message) as caught:
        Preprocess(**options)(torch.rand(1, channels, 8, 8))
    assert caught.value.exit_status == 2
    assert "\n" not in str(caught.value)
