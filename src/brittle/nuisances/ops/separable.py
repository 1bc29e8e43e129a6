"""Filters that act on rows and then on columns, as matrices: any width, any border, no kernel size.

A filter along an axis is a matrix product, whatever its reach. So every image can have its own reach, nothing about θ
needs to be known on the host, and at level 0 the matrix is the identity.
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.device import inspectable
from brittle.nuisances.ops.pieces import on_host
from brittle.nuisances.ops.rows import filter_both_ways

# Gaussians are cut off at four standard deviations, as in ImageNet-C; numbers near float32's smallest would also slow
# the products down a hundredfold.
REACH = 4.0
FAINTEST = 0.99 * math.exp(-0.5 * REACH**2)


def filter_rows_and_columns(images: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """images (B, C, H, W), down (B, H, H), across (B, W, W) → Y = down · X · acrossᵀ in every channel."""
    count, channels, height, width = images.shape
    filtered = torch.bmm(images.reshape(count, channels * height, width), across.transpose(1, 2))
    filtered = filtered.view(count, channels, height, width)
    return torch.matmul(down[:, None], filtered)


@lru_cache(maxsize=16)
def _distances(count: int, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        places = torch.arange(count, device=device)
        return (places[:, None] - places).abs().flatten()


@lru_cache(maxsize=16)
def _edges(count: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """Two rows (count,) that are 1 at the first and at the last pixel, respectively."""
    with torch.inference_mode(False):
        unit = torch.eye(count, dtype=dtype, device=device)
        return unit[0], unit[-1]


def gaussian_weights(sigma: Tensor, count: int) -> Tensor:
    """sigma (B,) in pixels → g(d) at distances d = 0 … count − 1 (B, count), both sides summing to 1."""
    far = torch.arange(count, dtype=sigma.dtype, device=sigma.device)
    precision = 0.5 / sigma.square().clamp(min=1e-4)
    weights = F.threshold(torch.exp(-precision[:, None] * far.square()), FAINTEST, 0.0)
    weights = weights / (2 * weights.sum(-1, keepdim=True) - 1)
    # Below 0.7 pixels, samples no longer capture the Gaussian's width; three taps (δ/2, 1 − δ, δ/2) do.
    variance = 2 * (weights * far.square()).sum(-1)
    missing = (sigma.clamp(max=1).square() - variance).clamp(min=0)[:, None]
    before, after = torch.cat((weights[:, 1:2], weights[:, :-1]), 1), F.pad(weights[:, 1:], (0, 1))
    return torch.lerp(weights, 0.5 * (before + after), missing)


def gaussian_matrix(sigma: Tensor, count: int) -> Tensor:
    """sigma (B,) in pixels → (B, count, count): a sampled Gaussian, with the edge pixels repeated outside.

    Row i contains g(|i − j|); what would fall outside is a tail sum of g and is added to the first or last pixel."""
    weights = gaussian_weights(sigma, 2 * count)
    matrix = weights[:, :count].index_select(1, _distances(count, sigma.device)).view(-1, count, count)
    beyond = weights.flip(-1).cumsum(-1).flip(-1)[:, 1 : count + 1]  # Σ over d > i of g(d)
    first, last = _edges(count, sigma.dtype, sigma.device)
    return torch.addcmul(torch.addcmul(matrix, beyond[..., None], first), beyond.flip(-1)[..., None], last)


@lru_cache(maxsize=16)
def _mirrored_distances(count: int, device: torch.device) -> Tensor:
    """From each pixel to each pixel's image in the edges' mirrors, the nearest one (count²,)."""
    with torch.inference_mode(False):
        places = torch.arange(count, device=device)
        beyond = places[:, None] + places + 1
        return torch.minimum(beyond, 2 * count - beyond).flatten()


def mirrored_gaussian_matrix(sigma: Tensor, count: int, reach: float, widest: float) -> Tensor:
    """sigma (B,) in pixels, none above `widest` → (B, count, count): a sampled Gaussian, cut off after `reach` standard
    deviations, with the image mirrored at its edges (… b a | a b … y z | z y …) as often as it takes."""
    if inspectable(sigma):  # where inspecting it costs nothing
        widest = float(sigma.detach().max())
    turns = math.ceil((reach * widest + 1 + count) / (2 * count))
    # Mirrored, an image repeats after twice its side: W(d) = Σₖ g(d + 2·count·k), and row i has W(|i − j|) for pixel j
    # and W(i + j + 1) for its image in the mirror.
    repeats = 2 * count * torch.arange(-turns, turns + 1, device=sigma.device)
    away = (torch.arange(count + 1, device=sigma.device)[:, None] + repeats).abs()
    precision = (0.5 / sigma.square().clamp(min=1e-4))[:, None, None]
    weights = torch.exp(-precision * away.square()).masked_fill(
        away > (reach * sigma + 0.5).floor()[:, None, None], 0.0
    )
    folded = weights.sum(-1)
    direct = folded.index_select(1, _distances(count, sigma.device))
    matrix = (direct + folded.index_select(1, _mirrored_distances(count, sigma.device))).view(-1, count, count)
    return matrix / matrix.sum(-1, keepdim=True)


def gaussian_rows(images: Tensor, sigma: Tensor) -> Tensor:
    """sigma (B,) in pixels → what each row weighs at distances 0, 1, … (B, r) from a blurred one, up to half of the
    image. r is 0 where only a CPU's way of adding rows would do: on a GPU, for gradients, in a graph."""
    if not on_host(images, sigma) or images.dtype != torch.float32:
        return sigma[:, None][:, :0]
    return gaussian_weights(sigma, max(1, min(_reach(sigma) + 1, min(images.shape[-2:]) // 2)))


def _reach(sigma: Tensor) -> int:
    return max(2, math.ceil(REACH * float(sigma.max())))


def gaussian_blur(images: Tensor, sigma: Tensor, rows: Tensor) -> Tensor:
    """images (B, C, H, W), sigma (B,) in pixels, their `gaussian_rows` → blurred, with the edge pixels repeated
    outside. Rows take a fifth of the time of matrices at common widths, and longer than these if all rows count."""
    height, width = images.shape[-2:]
    if rows.numel() and (reach := _reach(sigma)) < rows.shape[1]:
        half = rows[:, : reach + 1]
        return filter_both_ways(images, torch.cat((half[:, 1:].flip(-1), half), 1))
    across = gaussian_matrix(sigma, width)
    down = across if height == width else gaussian_matrix(sigma, height)
    return filter_rows_and_columns(images, down, across)
