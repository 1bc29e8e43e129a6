"""Any function of images as a nuisance: how it is called, that results are repeatable, and what is refused."""

import functools
import random

import numpy as np
import pytest
import torch
from PIL import ImageFilter, ImageOps

import brittle
from brittle.errors import BrittleError
from brittle.nuisances import transformed
from brittle.random import draw_keys
from brittle.types import Batch


def batch(count=5, shape=(3, 12, 16), first=0):
    pixels = torch.rand(count, *shape, generator=torch.Generator().manual_seed(first))
    images = (pixels * 255).round() / 255  # as files hold them, so that 8 bits lose nothing
    return Batch(images, torch.zeros(count, dtype=torch.int64), first + torch.arange(count))


def applied(nuisance, given, draw=0, seed=0):
    theta = nuisance.sample(given, draw_keys(seed, "function", given.ids, torch.tensor([draw])))[:, 0]
    return nuisance.apply(given, theta)


def mean_of_channels(image):
    return image.mean(0, keepdim=True).expand_as(image)


def mean_of_channels_of_a_batch(images):
    assert images.ndim == 4
    return images.mean(1, keepdim=True).expand_as(images)


def softened(image):
    return image.filter(ImageFilter.BoxBlur(1))


def shifted(array):
    assert array.dtype == np.uint8
    return np.roll(array, 2, axis=1)


def test_each_kind_of_function_gets_what_it_takes():
    given = batch()
    expected = given.images.mean(1, keepdim=True).expand_as(given.images)
    torch.testing.assert_close(applied(brittle.nuisance(mean_of_channels, takes="image"), given), expected)
    torch.testing.assert_close(applied(brittle.nuisance(mean_of_channels_of_a_batch), given), expected)
    torch.testing.assert_close(applied(brittle.nuisance(shifted), given), given.images.roll(2, -1))
    torch.testing.assert_close(applied(brittle.nuisance(ImageOps.mirror), given), given.images.flip(-1))
    torch.testing.assert_close(applied(brittle.nuisance(ImageOps.invert), given), 1 - given.images)
    grey = batch(shape=(1, 12, 16))
    torch.testing.assert_close(applied(brittle.nuisance(ImageOps.mirror), grey), grey.images.flip(-1))
    torch.testing.assert_close(applied(brittle.nuisance(shifted), grey), grey.images.roll(2, -1))


def test_what_image_and_batch_mean_differently_is_asked_for():
    with pytest.raises(BrittleError, match=r"takes=image or takes=batch") as error:
        brittle.nuisance(mean_of_channels).check((3, 12, 16))
    assert "mean_of_channels makes something else of an image" in str(error.value)


def test_a_function_that_draws_nothing_is_called_once_for_a_batch():
    calls = []

    def darker(x):
        calls.append(x.shape)
        return x * 0.5

    nuisance, given = brittle.nuisance(darker), batch(7)
    nuisance.check((3, 12, 16))
    calls.clear()
    torch.testing.assert_close(applied(nuisance, given), given.images * 0.5)
    assert calls == [(7, 3, 12, 16)]
    assert nuisance.describe(12, 16) == (
        "what darker makes of the image, given as a tensor (C, H, W), the same at every draw"
    )


def test_a_function_that_looks_at_a_whole_batch_sees_one_image_at_a_time():
    nuisance, given = brittle.nuisance(lambda x: x / x.amax(), takes="batch"), batch()
    torch.testing.assert_close(applied(nuisance, given), given.images / given.images.amax((1, 2, 3), keepdim=True))


def noise_of_torch(x):
    return (x + 0.2 * torch.randn_like(x)).clamp(0, 1)


def noise_of_numpy(array):
    return (array * np.random.uniform(0.2, 1, array.shape)).astype(np.uint8)  # noqa: NPY002


def flipped_now_and_then(image):
    return ImageOps.mirror(image) if random.random() < 0.3 else image


@pytest.mark.parametrize("function", [noise_of_torch, noise_of_numpy, flipped_now_and_then])
def test_random_functions_depend_on_seed_image_and_draw_alone(function):
    nuisance, given = brittle.nuisance(function), batch(24)
    here = applied(nuisance, given)
    order = torch.randperm(24, generator=torch.Generator().manual_seed(3))
    assert torch.equal(applied(nuisance, given.take(order)), here[order])
    for part in torch.arange(24).split(5):
        assert torch.equal(applied(nuisance, given.take(part)), here[part])
    assert not torch.equal(applied(nuisance, given, draw=1), here)
    assert not torch.equal(applied(nuisance, given, seed=1), here)
    assert nuisance.describe(12, 16).endswith("with new random numbers at each draw")


def test_images_that_draw_only_sometimes_are_repeatable_too():
    """The trial sees no dark image, and so no draw: what it found out is given up when a generator moves."""

    def noise_in_the_dark(x):
        return torch.where(x.amax() < 0.05, torch.rand_like(x), x) if x.amax() < 0.05 else x

    dark = batch(6)
    dark = dark._replace(images=dark.images * 0.04)
    nuisance = brittle.nuisance(noise_in_the_dark)
    here = applied(nuisance, dark)
    assert not torch.equal(here, dark.images)
    assert torch.equal(torch.cat([applied(nuisance, dark.take(torch.tensor([row]))) for row in range(6)]), here)


def states():
    numpys = np.random.get_state()  # noqa: NPY002
    return torch.get_rng_state().tolist(), numpys[1].tolist(), numpys[2:], random.getstate()


@pytest.mark.parametrize("function", [noise_of_torch, noise_of_numpy, flipped_now_and_then, lambda x: x * 0.5])
def test_the_global_generators_are_left_as_they_were(function):
    before = states()
    nuisance = brittle.nuisance(function)
    nuisance.check((3, 12, 16))
    applied(nuisance, batch())
    assert states() == before
    with pytest.raises(BrittleError):
        brittle.nuisance(lambda x: torch.rand(3) + undefined).check((3, 12, 16))  # noqa: F821
    assert states() == before


def test_a_function_that_changes_its_input_spoils_nothing():
    def darkened(x):
        return x.mul_(0.5)

    for takes in ("auto", "image", "batch"):
        given = batch()
        before = given.images.clone()
        with torch.inference_mode():
            made = applied(brittle.nuisance(darkened, takes=takes), given)
        assert torch.equal(given.images, before)
        torch.testing.assert_close(made, before * 0.5)


def test_a_function_may_compute_gradients():
    def along_its_gradient(x):
        with torch.enable_grad():
            moving = x.requires_grad_()
            (slope,) = torch.autograd.grad(moving.square().sum(), moving)
        return (x - 0.1 * slope).clamp(0, 1)

    given = batch()
    with torch.inference_mode():
        torch.testing.assert_close(applied(brittle.nuisance(along_its_gradient), given), given.images * 0.8)


def own_generator():
    numbers = np.random.default_rng(0)
    return lambda x: x * float(numbers.uniform())


def a_number(x):
    return 3


def half_the_size(x):
    return x[..., ::2, ::2]


def misspelt(x):
    return x.floopy()


def two_arguments(x, y):
    return x


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            own_generator(),
            "gives another result each time, though the random seeds are the same. Let it draw from torch",
        ),
        (
            a_number,
            "the function a_number returned an object of type int. Let it return an image of the kind it is given",
        ),
        (half_the_size, "the function half_the_size made an image (3, 6, 8) of an image (3, 12, 16)"),
        (misspelt, "with a PIL image it raised AttributeError: 'Image' object has no attribute 'floopy'"),
        (two_arguments, "two_arguments raised TypeError: two_arguments() missing 1 required positional argument: 'y'"),
        (lambda x: None, "returned nothing"),
        (lambda x: (x > 0.5) if isinstance(x, torch.Tensor) else 0, "returned a tensor of bool"),
    ],
)
def test_what_is_not_a_function_of_images_is_refused_before_work_begins(function, words):
    with pytest.raises(BrittleError) as error:
        brittle.nuisance(function).check((3, 12, 16))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_pixels_outside_the_range_are_refused_or_clipped():
    given = batch()
    with pytest.raises(
        BrittleError, match=r"brighter made pixels from .* to 1\.\d+ of the image with id 0 \(seed 1 \d+"
    ) as error:
        applied(brittle.nuisance(brighter), given)
    assert "set clip=true" in str(error.value)
    torch.testing.assert_close(applied(brittle.nuisance(brighter, clip=True), given), (given.images * 1.5).clamp(0, 1))


def brighter(x):
    return x * 1.5


def test_nan_is_refused_with_the_image_and_the_seed():
    def holes(x):
        return x.masked_fill(x > 0.99, torch.nan)

    given = batch(4)
    given.images.clamp_(max=0.9)[2, 0, 0, 0] = 1.0
    for options in ({}, {"clip": True}):
        with pytest.raises(
            BrittleError, match=r"holes made NaN or infinite pixels of the image with id 2 \(seed 1 \d+, seed 2"
        ):
            applied(brittle.nuisance(holes, **options), given)


def test_whole_numbers_go_up_to_255():
    given = batch()
    inverted = brittle.nuisance(lambda x: 255 - (x * 255).round().to(torch.uint8))
    torch.testing.assert_close(applied(inverted, given), 1 - given.images)


def test_the_identity_leaves_images_alone_and_composition_works():
    nuisance, given = brittle.nuisance(noise_of_torch), batch()
    assert torch.equal(nuisance.apply(given, nuisance.identity(given)), given.images)
    theta = nuisance.sample(given, draw_keys(0, "x", given.ids, torch.arange(1)))[:, 0]
    mixed = transformed(nuisance, given, theta, torch.tensor([0.0, 1, 0, 1, 1]))
    assert torch.equal(mixed[::2][:2], given.images[::2][:2])
    assert torch.equal(mixed[1], nuisance.apply(given, theta)[1])
    assert torch.equal(nuisance.at(theta, 0.0, given), nuisance.identity(given))
    assert torch.equal(nuisance.at(theta, 1.0, given), theta)


def test_partials_and_objects_are_functions_too():
    class Darker:
        def __call__(self, x):
            return x * 0.5

    def scaled(x, factor):
        return x * factor

    given = batch()
    for function in (Darker(), functools.partial(scaled, factor=0.5), torch.nn.Dropout(0.0).eval()):
        nuisance = brittle.nuisance(function)
        assert applied(nuisance, given).shape == given.images.shape
    names = [brittle.nuisance(each).name for each in (Darker(), functools.partial(scaled, factor=2), scaled)]
    assert names == ["Darker", "scaled", "scaled"]
