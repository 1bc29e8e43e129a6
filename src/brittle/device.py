"""Where things are computed, and in which numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.types import Precision


def pick_device(device: str | None) -> torch.device:
    """The device asked for, or a GPU where there is one."""
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return usable_device(device)


def sent(values: Tensor, device: torch.device) -> Tensor:
    """Values of the host on a device, without waiting for what it is still computing."""
    return values.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else values.to(device)


def inspectable(values: Tensor) -> bool:
    """Whether code may look at these numbers, for a faster way that depends on them: they are on a CPU, where nobody
    waits for them, and no graph is being exported, which is to hold for all numbers."""
    return values.device.type == "cpu" and not _exporting()


# Before torch 2.7 there is no telling a graph that is exported from one that is compiled.
_exporting = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)


def usable_device(device: str | torch.device) -> torch.device:
    """A device that numbers can be computed on and read back from: `meta` is a device, but holds none."""
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise BrittleError(f"unknown device {str(device)!r}", "Use cpu, cuda or cuda:1.") from error
    if place.type == "cuda" and not torch.cuda.is_available():
        raise BrittleError(
            f"device {str(device)!r} was asked for, but torch sees no GPU", "Use cpu, or install a CUDA build."
        )
    try:
        torch.zeros(1, device=place).add(1).item()
    except Exception as error:  # backends that are not there raise many kinds
        raise BrittleError(
            f"nothing can be computed on device {str(device)!r} here", "Use cpu, cuda or cuda:1."
        ) from error
    return place


@contextmanager
def products_in(precision: Precision) -> Iterator[None]:
    """Within it, matrix products and convolutions on a GPU have the precision that is asked for. Torch rounds the
    convolutions of float32 to TF32 unless it is told not to."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    if precision != "bf16":
        matmul.allow_tf32 = cudnn.allow_tf32 = precision == "tf32"
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before
