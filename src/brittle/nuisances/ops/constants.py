"""A few numbers as a tensor, kept where they are used: copying them there anew would wait for the device."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor


@lru_cache(maxsize=1024)
def constant(values: tuple[float, ...], device: torch.device, dtype: torch.dtype = torch.float64) -> Tensor:
    """(n,) on the device; not to be changed in place."""
    with torch.inference_mode(False):  # kept for later calls, some of which want gradients
        return torch.tensor(values, dtype=torch.float64).to(dtype=dtype, device=device)
