"""Memory in the hot loop: work in pieces, and what to do when memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import torch
from torch import Tensor

from brittle.errors import Failure

T = TypeVar("T")
_OUT_OF_MEMORY = ("can't allocate memory", "out of memory", "failed to allocate memory", "alloc_failed")


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out: on a GPU, on the CPU, or in another library."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error).lower()
    return any(words in text for words in _OUT_OF_MEMORY)


def halving(compute: Callable[[int], T], size: int, note: Callable[[str], None] = lambda _: None) -> tuple[T, int]:
    """compute(size), with the size halved while memory runs out; also returns the size that worked."""
    while True:
        try:
            return compute(size), size
        except Exception as error:
            if not out_of_memory(error):
                raise
            if size == 1:
                raise Failure(
                    "out of memory even with one image at a time", "Use a smaller image size or another device."
                ) from error
        size //= 2
        note(f"out of memory: the batch is halved to {size}")
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def slices(total: int, size: int) -> Iterator[slice]:
    """[0, total) in stretches of at most `size`."""
    return (slice(start, min(start + size, total)) for start in range(0, total, size))


def in_pieces(compute: Callable[[Tensor], Tensor], images: Tensor) -> Tensor:
    """compute(images), in as many pieces as memory requires."""
    return halving(lambda size: torch.cat([compute(part) for part in torch.split(images, size)]), len(images))[0]
