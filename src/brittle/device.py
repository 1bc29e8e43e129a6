"""Where things are computed."""

from __future__ import annotations

import torch

from brittle.errors import BrittleError


def pick_device(device: str | None) -> torch.device:
    """The device asked for, or a GPU where there is one."""
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise BrittleError(f"unknown device {device!r}", "Use cpu, cuda or cuda:1.") from error
    if place.type == "cuda" and not torch.cuda.is_available():
        raise BrittleError(
            f"device {device!r} was asked for, but torch sees no GPU", "Use cpu, or install a CUDA build."
        )
    return place
