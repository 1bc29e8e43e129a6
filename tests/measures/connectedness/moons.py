"""Two half-moons in the plane as images of two pixels, and classifiers of them whose classes are known.

A class is where a sum of bumps along an arc exceeds a threshold, so that m and ∇m have closed forms; leaving bumps out
cuts the class in two."""

import numpy as np
import torch
from scipy import ndimage
from torch import nn

WIDTH = 0.05
CENTRE, RADIUS = np.array([0.5, 0.4]), 0.35


def arc(start, stop, count):
    """Points (count, 2) on the moon, angles in parts of a half circle."""
    angle = np.pi * np.linspace(start, stop, count)
    return CENTRE + RADIUS * np.stack((np.cos(angle), np.sin(angle)), 1)


ONE_PIECE = arc(0, 1, 45)
TWO_PIECES = np.concatenate((arc(0, 0.33, 15), arc(0.67, 1, 15)))


class Bumps(nn.Module):
    """Images (B, 1, 1, 2) → logits of (outside, the moon)."""

    def __init__(self, centres):
        super().__init__()
        self.register_buffer("centres", torch.tensor(centres, dtype=torch.float32))

    def forward(self, images):
        squares = (images.flatten(1)[:, None] - self.centres).square().sum(-1)
        inside = torch.logsumexp(-squares / (2 * WIDTH**2), 1) + 1.5
        return torch.stack((torch.zeros_like(inside), inside), 1)


def log_odds(centres, x):
    """m and ∇m at x (2,), in float64 and without torch."""
    ahead = centres - x
    exponents = -(ahead**2).sum(1) / (2 * WIDTH**2)
    top = exponents.max()
    weights = np.exp(exponents - top)
    return top + np.log(weights.sum()) + 1.5, (weights / weights.sum()) @ ahead / WIDTH**2


def flood_fill(module, points, label, cells=801, low=-0.5, high=1.5):
    """For each point (n, 2) the number of the piece of its class's region that it lies in, by a grid; 0 is outside."""
    axis = np.linspace(low, high, cells)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 1, 1, 2).astype(np.float32)
    with torch.no_grad():
        given = torch.cat([module(part).argmax(1) == label for part in torch.from_numpy(grid).split(100_000)])
    pieces, _ = ndimage.label(given.numpy().reshape(cells, cells))
    places = np.rint((np.asarray(points) - low) / (high - low) * (cells - 1)).astype(int)
    return pieces[places[:, 0], places[:, 1]]


def as_images(points):
    return np.asarray(points, dtype=np.float32).reshape(-1, 1, 1, 2)


def same_partition(first, second):
    """Whether two numberings of the same things put the same things together."""
    first, second = np.asarray(first), np.asarray(second)
    return np.array_equal(first[:, None] == first, second[:, None] == second)
