"""Where things are computed."""

from __future__ import annotations

import torch
from torch import Tensor

from brittle.errors import BrittleError


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
    return values.device.type == "cpu" and not torch.compiler.is_exporting()


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
