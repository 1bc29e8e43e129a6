"""Images changed a few at a time on a CPU, so that what is computed on the way stays in its caches.

Each step over a large batch would write hundreds of megabytes to memory, mapped anew, and read them back, which takes
longer than the arithmetic. Only the result is as large as the batch.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def learning(*tensors: Tensor) -> bool:
    """Whether a gradient of any of these is asked for."""
    return torch.is_grad_enabled() and any(each.requires_grad for each in tensors)


def at_once(images: Tensor, values: int) -> int:
    """How many of these images to change at a time, if each of a CPU's threads is to handle about `values` numbers."""
    if images.device.type != "cpu" or torch.compiler.is_compiling():
        return max(1, len(images))
    return max(1, values * torch.get_num_threads() // max(1, images[:1].numel()))


def by_pieces(
    change: Callable[..., Tensor], values: int, images: Tensor, *numbers: Tensor, scattered: bool = False
) -> Tensor:
    """change(images, *numbers) for images (B, C, H, W) and numbers (B, …) each, `values` at a time in each thread.

    `scattered`: images are read in another order than they are stored, which from memory takes three times as long as
    from the caches; so a piece is copied there first."""
    some = at_once(images, values)
    if some >= len(images) or learning(images, *numbers):
        return change(images, *numbers)
    result = torch.empty_like(images, memory_format=torch.contiguous_format)
    for piece, place, *each in zip(*(torch.split(part, some) for part in (images, result, *numbers)), strict=True):
        place.copy_(change(piece.clone() if scattered else piece, *each))
    return result
