import numpy as np
import pytest
import scipy.stats
import torch

from brittle.nuisances import nuisance
from brittle.nuisances.blur.glass import DISPLACEMENT, displacements
from brittle.random import draw_keys
from brittle.types import Batch


@pytest.mark.parametrize(("level", "delta", "iterations"), [(1, 1, 2), (2, 2, 1), (3, 2, 3), (4, 3, 2), (5, 4, 2)])
def test_pixels_move_as_far_as_in_imagenet_cs_scan_of_swaps(level, delta, iterations):
    """The scan itself, on where each pixel came from; delta and iterations are ImageNet-C's."""
    side, generator = 112, np.random.default_rng(level)
    sources = [[(row, column) for column in range(side)] for row in range(side)]
    for _ in range(iterations):
        steps = generator.integers(-delta, delta, (side, side, 2)).tolist()
        for row in range(side - delta, delta, -1):
            for column in range(side - delta, delta, -1):
                down, across = steps[row - 1][column - 1]
                near = sources[row + down]
                sources[row][column], near[column + across] = near[column + across], sources[row][column]
    moved = np.array(sources) - np.stack(np.mgrid[:side, :side], -1)
    measured = moved[15:-15, 15:-15].std()
    assert pytest.approx(measured, rel=0.06) == DISPLACEMENT[level]


def test_displacements_follow_the_stated_law():
    keys = torch.tensor([3, 4])
    drawn = displacements(keys, 30_001, torch.float64)
    law = scipy.stats.gamma(2, loc=-(2**0.5), scale=0.5**0.5)
    assert drawn.shape == (2, 30_001)
    for row in drawn.numpy():
        assert scipy.stats.kstest(row, law.cdf).pvalue > 1e-3
    assert abs(np.corrcoef(drawn[0, :-1], drawn[0, 1:])[0, 1]) < 0.02


def test_pixels_only_change_places():
    """Without scaling down to sub-pixel blur nothing is left but the moves: every value is one that was there."""
    coarse = torch.rand(1, 1, 40, 40, generator=torch.Generator().manual_seed(0)).mul(4).floor().div(4)
    batch = Batch(coarse, torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    barely = nuisance("glass-blur").apply(batch, torch.tensor([[0.02, 0.0, 5.0]]))
    assert (barely - coarse).abs().max() < 0.01  # too little to move a pixel
    moved = nuisance("glass-blur").apply(batch, torch.tensor([[3.0, 0.0, 5.0]]))
    assert moved.mean().item() == pytest.approx(coarse.mean().item(), abs=0.02)
    assert (moved - coarse).abs().mean() > 0.05


def through_glass(image: torch.Tensor, level: float) -> torch.Tensor:
    """Lengths in pixels, as published; four seeds (4, 1, H, W)."""
    batch = Batch(image.expand(4, 1, -1, -1), torch.zeros(4, dtype=torch.int64), torch.arange(4))
    space = nuisance("glass-blur", scaled=False)
    theta = space.sample(batch, draw_keys(0, "glass", batch.ids, torch.arange(1)))[:, 0]
    theta[:, 0] = level
    return space.apply(batch, theta)


@pytest.mark.parametrize("level", [3.0, 4.0, 5.0])
def test_what_is_finer_than_the_blur_is_gone_before_pixels_move(level):
    """Stripes a pixel wide are wiped out by a Gaussian of a pixel (e^(−π²σ²/2) < 0.01); pixels of them that moved
    first would be noise, of which a blur leaves a standard deviation of 1/(2·√(4πσ²)), 0.09 and more."""
    stripes = (torch.arange(96) % 2).float().expand(96, 96)
    assert through_glass(stripes, level)[..., 8:-8, 8:-8].std() < 0.01


@pytest.mark.parametrize(("level", "sigma"), [(2.0, 0.9), (3.0, 1.0), (5.0, 1.5)])
def test_moved_pixels_are_blurred_again(level, sigma):
    """By how much two seeds differ is white noise, since every pixel moves by itself; blurred, neighbours correlate as
    e^(−1/4σ²), the Gaussian with itself."""
    noise = torch.rand(128, 128, generator=torch.Generator().manual_seed(0))
    seen = through_glass(noise, level)[..., 8:-8, 8:-8]
    differ = (seen[::2] - seen[1::2]).numpy()
    beside = np.corrcoef(differ[..., :-1].ravel(), differ[..., 1:].ravel())[0, 1]
    below = np.corrcoef(differ[..., :-1, :].ravel(), differ[..., 1:, :].ravel())[0, 1]
    assert [beside, below] == pytest.approx([np.exp(-0.25 / sigma**2)] * 2, abs=0.03)


@pytest.mark.parametrize(("level", "spread", "sigma"), [(3.0, 3.18, 1.0), (4.0, 3.64, 1.1), (5.0, 4.72, 1.5)])
@pytest.mark.parametrize("along", [0, 1])
def test_pixels_move_by_the_stated_spread_across_and_down(level, spread, sigma, along):
    """A ramp shows how far its pixels came, and rounding to whole pixels adds 1/12 to the variance; of independent
    moves the second blur leaves a standard deviation of 1/(2√π·σ)."""
    ramp = torch.linspace(0, 1, 160).expand(160, 160)
    moved = (through_glass(ramp if along else ramp.T, level) - (ramp if along else ramp.T))[..., 24:-24, 24:-24] * 159
    assert moved.std().item() == pytest.approx(np.sqrt(spread**2 + 1 / 12) / (2 * np.sqrt(np.pi) * sigma), rel=0.05)


def test_nothing_comes_in_from_the_other_side():
    halves = (torch.arange(96) >= 48).float().expand(96, 96)
    for image in (halves, halves.T):
        seen = through_glass(image, 5.0)
        torch.testing.assert_close(seen[:, :, :8, :8], torch.zeros(4, 1, 8, 8))
        torch.testing.assert_close(seen[:, :, -8:, -8:], torch.ones(4, 1, 8, 8))
