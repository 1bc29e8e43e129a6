"""Tests that need a GPU, which `make test-gpu` runs where there is one."""

from __future__ import annotations

import pytest
import torch
from on_gpu import DEVICE


@pytest.fixture
def gpu() -> torch.device:
    if not DEVICE:
        pytest.skip("needs a GPU")
    return torch.device(DEVICE)
