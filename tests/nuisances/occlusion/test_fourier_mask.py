import itertools

import numpy as np
import pytest
import scipy.stats
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.random import draw_keys
from brittle.types import Batch


def blank(count: int, height: int, width: int) -> Batch:
    images = torch.ones(count, 1, height, width)
    return Batch(images, torch.zeros(count, dtype=torch.int64), torch.arange(count))


def thetas(space, batch: Batch) -> torch.Tensor:
    return space.sample(batch, draw_keys(2, "fourier", batch.ids, torch.arange(1)))[:, 0]


def fmix_noise(height: int, width: int, decay: float, count: int) -> np.ndarray:
    """FMix's recipe (Harris et al. 2020, section 4): white complex noise on the half-plane of frequencies, divided by
    the frequency to a power, and transformed back to a real picture."""
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width))
    white = np.random.default_rng(0).standard_normal((2, count, *frequency.shape))
    return np.fft.irfft2(
        (white[0] + 1j * white[1]) / np.maximum(frequency, 1 / max(height, width)) ** decay, (height, width)
    )


def covariance(noise: np.ndarray) -> np.ndarray:
    """Correlation of the central pixel with every pixel, each picture's mean taken off."""
    noise = noise - noise.mean((1, 2), keepdims=True)
    centre = noise[:, noise.shape[1] // 2, noise.shape[2] // 2]
    return (noise * centre[:, None, None]).mean(0) / np.sqrt((noise**2).mean(0) * (centre**2).mean())


@pytest.mark.parametrize(("height", "width", "decay"), [(16, 16, 3.0), (12, 21, 3.0), (16, 16, 1.5)])
def test_the_noise_has_the_correlations_of_fmix(height, width, decay):
    space, batch = nuisance("fourier-mask", decay=decay), blank(8000, height, width)
    ours = space.noise(thetas(space, batch), height, width).numpy()
    difference = covariance(ours) - covariance(fmix_noise(height, width, decay, 8000))
    assert np.abs(difference).max() < 0.07


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 1.0])
@pytest.mark.parametrize(("height", "width"), [(8, 8), (28, 28), (100, 61), (224, 224)])
def test_the_share_is_exact_to_the_pixel(share, height, width):
    space, batch = nuisance("fourier-mask", share=share), blank(4, height, width)
    hidden = space.hidden(thetas(space, batch), height, width).sum((1, 2, 3))
    assert hidden.tolist() == [round(share * height * width)] * 4


def test_every_image_has_its_own_share():
    space, batch = nuisances.build("fourier-mask:law=uniform,low=0,high=1"), blank(500, 20, 20)
    theta = thetas(space, batch)
    hidden = space.hidden(theta, 20, 20).sum((1, 2, 3))
    assert torch.equal(hidden, (theta[:, 0].double() * 400).round().long())
    assert scipy.stats.kstest(theta[:, 0].numpy(), "uniform").pvalue > 1e-3


def test_severity_scales_the_share_and_masks_are_nested():
    space, batch = nuisances.build("fourier-mask:share=0.4"), blank(20, 32, 48)
    theta = thetas(space, batch)
    severities = (0.0, 0.1, 0.5, 1.0, 1.5, 2.5, 4.0)
    masks = [space.hidden(space.at(theta, s, batch), 32, 48) for s in severities]
    for severity, mask in zip(severities, masks, strict=True):
        assert mask.sum((1, 2, 3)).tolist() == [round(min(0.4 * severity, 1) * 32 * 48)] * 20
    for smaller, larger in itertools.pairwise(masks):
        assert (smaller <= larger).all()


def test_the_hidden_pixels_are_those_with_the_largest_noise():
    space, batch = nuisances.build("fourier-mask:share=0.25"), blank(5, 30, 40)
    theta = thetas(space, batch)
    noise, hidden = space.noise(theta, 30, 40), space.hidden(theta, 30, 40)[:, 0]
    for each, mask in zip(noise, hidden, strict=True):
        assert torch.equal(mask.flatten().nonzero()[:, 0], each.flatten().topk(300).indices.sort().values)


def test_a_larger_decay_makes_smoother_masks():
    edges = []
    for decay in (1.0, 2.0, 3.0, 5.0):
        space, batch = nuisance("fourier-mask", decay=decay), blank(40, 64, 64)
        mask = space.hidden(thetas(space, batch), 64, 64)
        edges.append((mask[..., 1:] != mask[..., :-1]).sum().item())
    assert edges == sorted(edges, reverse=True)
    assert edges[0] > 3 * edges[-1]


def test_the_density_is_that_of_the_share_and_normal_coefficients():
    space, batch = nuisances.build("fourier-mask:law=beta"), blank(3, 12, 20)
    theta = thetas(space, batch).double()
    expected = scipy.stats.beta(2, 1).logpdf(theta[:, 0].numpy()) + scipy.stats.norm.logpdf(theta[:, 1:].numpy()).sum(1)
    np.testing.assert_allclose(space.log_prior(theta[:, None], batch)[:, 0].numpy(), expected, rtol=1e-6)
    assert scipy.stats.kstest(theta[:, 1:].flatten().numpy(), "norm").pvalue > 1e-3
    assert nuisances.build("fourier-mask").log_prior(theta[:, None], batch) is None


def test_a_flat_spectrum_is_refused():
    with pytest.raises(BrittleError, match="above 0"):
        nuisances.build("fourier-mask:decay=0")
