import itertools
import math

import numpy as np
import pytest
import scipy.stats
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.random import draw_keys
from brittle.types import Batch


def photo(count: int, height: int, width: int, channels: int = 3) -> Batch:
    images = torch.rand(count, channels, height, width, generator=torch.Generator().manual_seed(5))
    return Batch(images, torch.zeros(count, dtype=torch.int64), torch.arange(count))


def thetas(space, batch: Batch) -> torch.Tensor:
    return space.sample(batch, draw_keys(2, "shuffle", batch.ids, torch.arange(1)))[:, 0]


@pytest.mark.parametrize(("grid", "height", "width"), [(4, 28, 28), (2, 32, 48), (8, 224, 160)])
def test_patches_come_from_where_the_permutation_says(grid, height, width):
    """Against cutting and pasting one patch at a time."""
    space, batch = nuisance("shuffle", grid=grid), photo(3, height, width)
    theta = thetas(space, batch)
    shown, source = space.apply(batch, theta), space.sources(theta)
    h, w = height // grid, width // grid
    for image, place in itertools.product(range(3), range(grid**2)):
        (y, x), (v, u) = divmod(place, grid), divmod(int(source[image, place]), grid)
        pasted = shown[image, :, y * h : (y + 1) * h, x * w : (x + 1) * w]
        assert torch.equal(pasted, batch.images[image, :, v * h : (v + 1) * h, u * w : (u + 1) * w])


@pytest.mark.parametrize("grid", [2, 3, 4, 8])
def test_every_patch_moves_and_none_is_lost(grid):
    space, batch = nuisance("shuffle", grid=grid), photo(200, 8, 8, 1)
    source = space.sources(thetas(space, batch))
    assert torch.equal(source.sort(1).values, torch.arange(grid**2).expand(200, -1))
    assert not (source == torch.arange(grid**2)).any()


def test_every_cycle_is_equally_likely():
    """Four patches have 3! = 6 cycles through all of them (χ²)."""
    space, batch = nuisances.build("shuffle:grid=2"), photo(6000, 2, 2, 1)
    source = space.sources(thetas(space, batch))
    codes, counts = np.unique((source * torch.tensor([64, 16, 4, 1])).sum(1).numpy(), return_counts=True)
    assert len(codes) == math.factorial(3)
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_every_permutation_is_equally_likely_if_asked_for():
    """Four patches have 4! = 24 permutations, the identity among them (χ²)."""
    space, batch = nuisances.build("shuffle:grid=2,moves=permutation"), photo(12000, 2, 2, 1)
    source = space.sources(thetas(space, batch))
    codes, counts = np.unique((source * torch.tensor([64, 16, 4, 1])).sum(1).numpy(), return_counts=True)
    assert len(codes) == math.factorial(4)
    assert scipy.stats.chisquare(counts).pvalue > 1e-3
    assert (source == torch.arange(4)).all(1).float().mean() == pytest.approx(1 / 24, abs=0.006)


def test_a_permutation_of_a_share_leaves_the_other_patches_alone():
    """Each of the C(9, 3) sets of three patches is permuted in 3! ways; 1 + C(9, 2) + 2·C(9, 3) = 205 results, the
    identity in a sixth of the draws."""
    space, batch = nuisances.build("shuffle:grid=3,share=0.34,moves=permutation"), photo(20000, 3, 3, 1)
    source = space.sources(thetas(space, batch))
    moved = (source != torch.arange(9)).sum(1)
    assert torch.equal(source.sort(1).values, torch.arange(9).expand(20000, -1))
    assert len(torch.unique(source, dim=0)) == 205
    shares = [float((moved == count).float().mean()) for count in (0, 2, 3)]
    assert shares == pytest.approx([1 / 6, 1 / 2, 1 / 3], abs=0.015)


def test_severity_is_the_share_of_patches_moved():
    space, batch = nuisances.build("shuffle:grid=5"), photo(100, 20, 20, 1)
    theta = thetas(space, batch)
    stays = torch.arange(25)
    moved_before = torch.zeros(100, 25, dtype=torch.bool)
    for severity in (0.0, 0.04, 0.12, 0.2, 0.48, 0.8, 1.0, 3.0):
        moved = space.sources(space.at(theta, severity, batch)) != stays
        count = round(25 * min(severity, 1))
        assert (moved.sum(1) == (count if count > 1 else 0)).all()
        assert (moved_before <= moved).all()
        moved_before = moved
    half = nuisances.build("shuffle:grid=5,share=0.4")
    assert ((half.sources(thetas(half, batch)) != stays).sum(1) == 10).all()


@pytest.mark.parametrize(("height", "width"), [(50, 50), (28, 30), (30, 28), (9, 13)])
def test_patches_that_differ_by_a_pixel_are_aligned_at_their_first_pixel(height, width):
    """Place j begins at ⌊j·side/4⌋; a pixel takes the one at the same distance from its patch's beginning."""
    space, batch = nuisances.build("shuffle"), photo(4, height, width)
    theta = thetas(space, batch)
    shown, source = space.apply(batch, theta), space.sources(theta)
    top, left = ([place * side // 4 for place in range(5)] for side in (height, width))
    for image, place in itertools.product(range(4), range(16)):
        (y, x), (v, u) = divmod(place, 4), divmod(int(source[image, place]), 4)
        h, w = top[y + 1] - top[y], left[x + 1] - left[x]
        pasted = shown[image, :, top[y] : top[y + 1], left[x] : left[x + 1]]
        assert torch.equal(pasted, batch.images[image, :, top[v] : top[v] + h, left[u] : left[u] + w])
    assert torch.equal(space.apply(batch, space.identity(batch)), batch.images)


@pytest.mark.parametrize(("spec", "word"), [("shuffle:grid=1", "between 2 and 64"), ("shuffle:share=0", "above 0")])
def test_a_shuffle_that_makes_no_sense_is_refused(spec, word):
    with pytest.raises(BrittleError, match=word):
        nuisances.build(spec)


def test_more_patches_than_pixels_are_refused_before_work_starts():
    with pytest.raises(BrittleError, match=r"does not fit.*28"):
        nuisances.build("shuffle:grid=32").check((1, 28, 40))


@pytest.mark.parametrize(("share", "said"), [(1.0, "16"), (0.3, "5"), (0.05, "none")])
def test_the_description_counts_the_patches_that_move(share, said):
    space, batch = nuisance("shuffle", share=share), photo(3, 20, 20)
    moved = (space.sources(thetas(space, batch)) != torch.arange(16)).sum(1)
    assert moved.tolist() == [0 if said == "none" else int(said)] * 3
    assert space.describe(20, 20).startswith(f"{said} of the 4×4 patches")
