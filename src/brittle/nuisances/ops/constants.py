"""A few numbers as a tensor, cached on the device: copying them anew each time would wait for it."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor


@lru_cache(maxsize=1024)
def constant(values: tuple[float, ...], device: torch.device, dtype: torch.dtype = torch.float64) -> Tensor:
    """(n,) on the device; must not be changed in place."""
    with torch.inference_mode(False):  # cached for later calls, some of which need gradients
        return torch.tensor(values, dtype=torch.float64).to(dtype=dtype, device=device)
