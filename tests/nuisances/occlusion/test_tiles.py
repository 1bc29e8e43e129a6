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
    return space.sample(batch, draw_keys(2, "tiles", batch.ids, torch.arange(1)))[:, 0]


@pytest.mark.parametrize(
    ("share", "grid", "count"), [(0.3, 4, 5), (0.5, 4, 8), (1 / 3, 3, 3), (1.0, 5, 25), (0.02, 7, 1)]
)
def test_a_whole_number_of_whole_tiles_is_hidden(share, grid, count):
    """Every tile is black or untouched, with its odd-sized middle too."""
    size = 5 * grid
    space, batch = nuisance("tiles", share=share, grid=grid), blank(50, size, size)
    mask = space.hidden(thetas(space, batch), size, size).view(50, grid, 5, grid, 5)
    assert torch.equal(mask.any(4).any(2), mask.all(4).all(2))
    assert (mask.all(4).all(2).sum((1, 2)) == count).all()


def test_every_choice_of_tiles_is_equally_likely():
    """Two of four tiles: six choices (χ²)."""
    space, batch = nuisances.build("tiles:grid=2,share=0.5"), blank(6000, 2, 2)
    mask = space.hidden(thetas(space, batch), 2, 2).flatten(1).long()
    codes, counts = np.unique((mask * torch.tensor([1, 2, 4, 8])).sum(1).numpy(), return_counts=True)
    assert codes.tolist() == [3, 5, 6, 9, 10, 12]
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_a_side_that_the_grid_does_not_divide_is_covered_by_tiles_that_differ_by_a_pixel():
    space, batch = nuisances.build("tiles:grid=4,share=1"), blank(1, 50, 31)
    assert space.hidden(thetas(space, batch), 50, 31).all()
    one = torch.zeros(1, 17)
    widths = []
    for tile in range(4):
        one[0, 0], one[0, 1:] = 1 / 16, 1.0
        one[0, 1 + tile] = 0.0
        widths.append(space.hidden(one, 50, 31).any(2).sum().item())
    assert widths == [7, 8, 8, 8]


def test_severity_is_the_share_of_the_pixels_and_masks_are_nested():
    space, batch = nuisances.build("tiles"), blank(20, 160, 160)
    theta = thetas(space, batch)
    severities = (0.0, 0.1, 0.3, 0.5, 0.77, 1.0, 1.5, 3.0, 5.0)
    masks = [space.hidden(space.at(theta, s, batch), 160, 160) for s in severities]
    for severity, mask in zip(severities, masks, strict=True):
        shares = mask.double().mean((1, 2, 3))
        assert (shares - min(severity * 5 / 16, 1)).abs().max() < 0.004
    for smaller, larger in itertools.pairwise(masks):
        assert (smaller <= larger).all()


@pytest.mark.parametrize(("spec", "word"), [("tiles:grid=0", "between 1 and 64"), ("tiles:share=0.01", "half a tile")])
def test_a_grid_that_makes_no_sense_is_refused(spec, word):
    with pytest.raises(BrittleError, match=word):
        nuisances.build(spec)


def test_more_tiles_than_pixels_are_refused_before_work_starts():
    with pytest.raises(BrittleError, match=r"does not fit.*28"):
        nuisances.build("tiles:grid=32").check((1, 28, 40))


@pytest.mark.parametrize("share", [0.1, 0.3, 1.0])
def test_the_description_counts_the_tiles_that_are_hidden(share):
    space, batch = nuisance("tiles", share=share), blank(3, 20, 20)
    hidden = space.hidden(thetas(space, batch), 20, 20)[0].sum().item() / 25
    assert space.describe(20, 20).startswith(f"{hidden:.0f} of the 4×4 tiles")
