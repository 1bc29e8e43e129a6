"""The words of the house as types: batch, classifier, nuisance. Everyone may use them; they use nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor

UNLABELLED = -1


class Batch(NamedTuple):
    """Images of one shape, with what is known about each."""

    images: Tensor  # (B, C, H, W) float in [0, 1]
    labels: Tensor  # (B,) int64, UNLABELLED where there is none
    ids: Tensor  # (B,) int64, stable across runs and machines
    extras: Mapping[str, Tensor] = {}

    def take(self, rows: Tensor) -> Batch:
        """The items at `rows` (R,), repeats allowed: what turns images × draws into one flat batch."""
        extras = {name: values[rows] for name, values in self.extras.items()}
        return Batch(self.images[rows], self.labels[rows], self.ids[rows], extras)


@runtime_checkable
class Classifier(Protocol):
    """p(c | x), batched. Owns its preprocessing and its value range."""

    @property
    def labels(self) -> Sequence[str]:
        """A name per class, in output order."""
        ...

    @property
    def can(self) -> frozenset[str]:
        """What it offers beyond log-probabilities: "gradients", "layers"; "hard" for 0/1 outputs."""
        ...

    def log_probs(self, images: Tensor) -> Tensor:
        """images (B, C, H, W) in [0, 1] → log p(c | x) (B, K), on the images' device."""
        ...


@runtime_checkable
class Nuisance(Protocol):
    """A parameter space, a prior p(θ | x), a transform T_θ x, and an identity that changes nothing."""

    @property
    def parameters(self) -> Sequence[str]:
        """A readable name per number of θ; one name for all of it where θ is a field over the pixels."""
        ...

    @property
    def needs(self) -> frozenset[str]:
        """Extras it reads, such as "saliency"; if any, T_θ x is not shared between classifiers."""
        ...

    @property
    def differentiable(self) -> bool:
        """Whether gradients with respect to θ flow through `apply`."""
        ...

    def check(self, shape: tuple[int, int, int]) -> None:
        """Raises before work begins if images of (C, H, W) can't be transformed."""
        ...

    def latent(self, batch: Batch) -> int | None:
        """Length of z where θ = push(z) with z ~ N(0, I); None where there is no such form."""
        ...

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        """keys (B, n), one per image and draw → θ (B, n, d) from the prior."""
        ...

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        """z (B, n, latent) → θ (B, n, d), in the dtype of z: θ drawn in float64 is rounded only once, at the end."""
        ...

    def identity(self, batch: Batch) -> Tensor:
        """The θ (B, d) that changes nothing."""
        ...

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor | None:
        """θ (B, n, d) → log p(θ | x) (B, n); None where there is no density."""
        ...

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        """Walks from the identity (severity 0) through θ (severity 1) and on; shapes as θ."""
        ...

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        """T_θ x for θ (B, d), one per image → images (B, C, H, W), on the images' device."""
        ...

    def describe(self, height: int, width: int) -> str:
        """What the prior means on images of this size, in pixels or shares a person can picture."""
        ...


@runtime_checkable
class ExchangeableParts(Protocol):
    """What a nuisance without a latent form may have: θ made of alike parts, each of which alone has a latent form.

    p(θ) is a coupling, in which the parts can change places, times the product of what the parts are alone: as a
    density of z, N(z; 0, I) · exp(log_coupling)."""

    def parts(self, batch: Batch) -> int:
        """How many; 0 where θ has other numbers besides."""
        ...

    def from_parts(self, z: Tensor, batch: Batch) -> Tensor:
        """z (B, n, d) → θ (B, n, d), part by part, in the dtype of z."""
        ...

    def to_parts(self, theta: Tensor, keys: Tensor, batch: Batch) -> Tensor:
        """θ (B, n, d), keys (B, n) → a draw of N(0, I) among the z that stand for it."""
        ...

    def log_coupling(self, theta: Tensor, batch: Batch) -> Tensor:
        """θ (B, n, d) → (B, n), 0 where the parts are independent."""
        ...
