"""Reshapes small tensors so that they broadcast against what they multiply."""

from __future__ import annotations

from torch import Tensor


def as_factor(severity: Tensor | float, theta: Tensor) -> Tensor:
    """Severity with an axis for θ's numbers, created on θ's device: a copy from the host would make a GPU wait."""
    return severity.to(theta)[..., None] if isinstance(severity, Tensor) else theta.new_full((1,), severity)


def per_image(numbers: Tensor) -> Tensor:
    """(B,) → (B, 1, 1, 1), and (B, k) → (B, k, 1, 1)."""
    return numbers.reshape(len(numbers), -1, 1, 1)
