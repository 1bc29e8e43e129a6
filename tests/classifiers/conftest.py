import pytest
import torch
from torch import nn


@pytest.fixture
def images() -> torch.Tensor:
    return torch.rand(7, 1, 8, 8, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def network() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        layers = (nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))
        return nn.Sequential(*layers).eval()
