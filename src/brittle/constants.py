"""A few numbers as a tensor, cached on the device: copying them anew each time would wait for it."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

FEW = 16


@lru_cache(maxsize=1024)
def constant(values: tuple[float, ...], device: torch.device, dtype: torch.dtype = torch.float64) -> Tensor:
    """(n,) on the device; must not be changed in place.

    Torch looks behind the cache while it makes a graph. There numbers are made on the device: what is copied from the
    host would be copied at every call, and each would wait."""
    if torch.compiler.is_compiling() and len(values) <= FEW:
        return torch.cat([torch.full((1,), value, dtype=dtype, device=device) for value in values])
    with torch.inference_mode(False):  # cached for later calls, some of which need gradients
        return torch.tensor(values, dtype=torch.float64).to(dtype=dtype, device=device)
