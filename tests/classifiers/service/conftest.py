"""Services in processes of their own, and what they should answer."""

import pytest
import torch
import toy_service
from services import served

__all__ = ["served"]


@pytest.fixture
def images() -> torch.Tensor:
    return torch.rand(7, 1, 8, 8, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def expected(images: torch.Tensor) -> torch.Tensor:
    """What the toy's classifier says of these images."""
    return torch.from_numpy(toy_service.scores(images.numpy())).double().log_softmax(1)
