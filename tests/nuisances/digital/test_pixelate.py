import numpy as np
import pytest
import torch
from PIL import Image

from brittle.nuisances import nuisance
from brittle.types import Batch


def clear_of_borders(count: int, cells: int) -> np.ndarray:
    """The pixels whose cell has no pixel's centre exactly on its border, where Pillow's floating point decides."""
    cell, remainder = np.divmod((2 * np.arange(count) + 1) * cells, 2 * count)
    touched = cell[remainder == 0]
    return ~np.isin(cell, [*touched, *(touched - 1)])


@pytest.mark.parametrize(("level", "share"), [(1, 0.6), (2, 0.5), (3, 0.4), (4, 0.3), (5, 0.25), (2.5, 0.45)])
@pytest.mark.parametrize("size", [(224, 224), (61, 47), (29, 29)])
def test_cells_are_those_of_pillows_box_and_nearest_filters(level, share, size):
    height, width = size
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    small = Image.fromarray(pixels).resize((int(width * share), int(height * share)), Image.Resampling.BOX)
    theirs = np.asarray(small.resize((width, height), Image.Resampling.NEAREST), dtype=float)
    images = torch.from_numpy(pixels).permute(2, 0, 1)[None] / 255
    batch = Batch(images, torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    ours = nuisance("pixelate").apply(batch, torch.tensor([[float(level)]]))[0].permute(1, 2, 0).numpy() * 255
    clear = clear_of_borders(height, int(height * share))[:, None] & clear_of_borders(width, int(width * share))
    assert clear.mean() > 0.5
    assert np.abs(ours - theirs)[clear].max() <= 1.01  # Pillow rounds to whole values twice


def test_far_beyond_level_5_one_cell_is_left():
    images = torch.rand(1, 3, 20, 24, generator=torch.Generator().manual_seed(0))
    batch = Batch(images, torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    moved = nuisance("pixelate").apply(batch, torch.tensor([[50.0]]))
    torch.testing.assert_close(moved, images.mean((2, 3), keepdim=True).expand_as(images))


def test_cells_go_one_at_a_time_from_the_image_itself():
    """Along a ramp, the number of different columns counts the cells."""
    ramp = torch.linspace(0, 1, 28).expand(301, 1, 28, 28)
    batch = Batch(ramp, torch.zeros(301, dtype=torch.int64), torch.zeros(301, dtype=torch.int64))
    moved = nuisance("pixelate").apply(batch, torch.linspace(0, 3, 301)[:, None])
    cells = (moved[:, 0, 0].diff(dim=-1) > 1e-4).sum(-1) + 1
    assert cells[0] == 28
    assert cells[-1] == 11
    assert set(cells.diff().tolist()) == {0, -1}


@pytest.mark.parametrize("side", [28, 64, 224])
def test_the_first_cell_goes_when_rounding_that_turns_from_up_to_down_says(side):
    """Below level 1 there are ⌊(1 − 0.4·l)·n + 1 − l⌋ cells: fewer than n from l = 1/(0.4·n + 1) on, not at once."""
    due = 1 / (0.4 * side + 1)
    ramp = torch.linspace(0, 1, side).expand(3, 1, side, side)
    batch = Batch(ramp, torch.zeros(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64))
    moved = nuisance("pixelate").apply(batch, torch.tensor([[0.1 * due], [0.9 * due], [1.1 * due]]))
    torch.testing.assert_close(moved[:2], batch.images[:2])
    assert moved[2, 0, 0].unique().numel() == side - 1


@pytest.mark.parametrize("size", [(28, 28), (224, 224), (37, 90)])
def test_numpys_cells_are_those_of_the_matrices_that_pass_gradients_on(size):
    levels = torch.tensor([0.0, 0.02, 0.5, 1.3, 1.3, 3.0, 4.9, 6.2, 30.0])[:, None]
    images = torch.rand(9, 3, *size, generator=torch.Generator().manual_seed(2))
    batch = Batch(images, torch.zeros(9, dtype=torch.int64), torch.zeros(9, dtype=torch.int64))
    plain = nuisance("pixelate").apply(batch, levels)
    learnt = nuisance("pixelate").apply(batch._replace(images=images.clone().requires_grad_()), levels)
    assert learnt.requires_grad
    torch.testing.assert_close(plain, learnt.detach(), atol=1e-6, rtol=0)
