"""Tests that need a GPU, which `make test-gpu` runs where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from on_gpu import DEVICE


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.skipif(not DEVICE, reason="needs a GPU"))


@pytest.fixture
def gpu() -> torch.device:
    return torch.device(DEVICE)
