"""Images changed a few at a time on a CPU, so that what is computed on the way stays in its caches.

Each step over a large batch would write hundreds of megabytes to memory, mapped anew, and read them back, which takes
longer than the arithmetic. Only the result is as large as the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor


def learning(*tensors: Tensor) -> bool:
    """Whether a gradient of any of these is asked for."""
    return torch.is_grad_enabled() and any(each.requires_grad for each in tensors)


def on_host(*tensors: Tensor) -> bool:
    """Whether what only a CPU is fast at will do for these: no gradient is asked for, and no graph recorded."""
    if torch.compiler.is_compiling() or learning(*tensors):
        return False
    return all(each.device.type == "cpu" and each.dtype in (torch.float32, torch.float64) for each in tensors)


def at_once(images: Tensor, values: int) -> int:
    """How many of these images to change at a time, if each of a CPU's threads is to handle about `values` numbers."""
    if images.device.type != "cpu" or torch.compiler.is_compiling():
        return max(1, len(images))
    return max(1, values * torch.get_num_threads() // max(1, images[:1].numel()))


def pieces(values: int, images: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Images and what goes with each, a few at a time."""
    some = at_once(images, values)
    return zip(*(torch.split(each, some) for each in (images, *others)), strict=True)


def by_pieces(
    change: Callable[..., Tensor], values: int, images: Tensor, *numbers: Tensor, scattered: bool = False
) -> Tensor:
    """change(images, *numbers) for images (B, C, H, W) and numbers (B, …) each, `values` at a time in each thread.

    `scattered`: images are read in another order than they are stored, which from memory takes three times as long as
    from the caches; so a piece is copied there first."""
    if at_once(images, values) >= len(images) or learning(images, *numbers):
        return change(images, *numbers)
    result = torch.empty_like(images, memory_format=torch.contiguous_format)
    for some, place, *each in pieces(values, images, result, *numbers):
        place.copy_(change(some.clone() if scattered else some, *each))
    return result
