import numpy as np
import pytest
import scipy.stats
import torch

from brittle.nuisances import nuisance
from brittle.nuisances.glass import DISPLACEMENT, displacements
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
    barely = nuisance("glass-blur").apply(batch, torch.tensor([[0.02, 5.0]]))
    assert (barely - coarse).abs().max() < 0.01  # too little to move a pixel
    moved = nuisance("glass-blur").apply(batch, torch.tensor([[3.0, 5.0]]))
    assert moved.mean().item() == pytest.approx(coarse.mean().item(), abs=0.02)
    assert (moved - coarse).abs().mean() > 0.05
