"""The shared vocabulary as types: batch, classifier, nuisance. Any module may import them; they import none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

UNLABELLED = -1

LayerChange = Callable[[Tensor], Tensor]  # of what a layer gives, or of a classifier's weights


def in_numbers(images: Tensor) -> Tensor:
    """Images (B, C, H, W) as floats in [0, 1]: uint8 is divided by 255, to the same float32 on every device.

    On a CPU in numpy: while a classifier is busy, waking torch's threads costs more than the division. On a GPU by a
    tensor: by a number, torch multiplies with its rounded inverse."""
    if images.is_floating_point():
        return images
    if images.device.type == "cpu":
        return torch.from_numpy(np.divide(images.numpy(), np.float32(255)))
    return images / torch.full((), 255.0, device=images.device)


class Batch(NamedTuple):
    """Images of one shape, with what is known about each."""

    images: Tensor  # (B, C, H, W) float in [0, 1]; uint8 where they come as stored, and `in_numbers` is yet to be asked
    labels: Tensor  # (B,) int64, UNLABELLED where there is none
    ids: Tensor  # (B,) int64, stable across runs and machines
    extras: Mapping[str, Tensor] = {}

    def take(self, rows: Tensor) -> Batch:
        """The items at `rows` (R,), repeats allowed: turns images × draws into one flat batch."""
        extras = {name: values[rows] for name, values in self.extras.items()}
        return Batch(self.images[rows], self.labels[rows], self.ids[rows], extras)

    def in_numbers(self) -> Batch:
        """The same with images in floats."""
        return self if self.images.is_floating_point() else self._replace(images=in_numbers(self.images))


@runtime_checkable
class Classifier(Protocol):
    """p(c | x), batched. It owns its preprocessing and its value range."""

    @property
    def labels(self) -> Sequence[str]:
        """One name per class, in output order."""
        ...

    @property
    def can(self) -> frozenset[str]:
        """What is peculiar to its outputs: "hard" where they are only 0 and 1."""
        ...

    def log_probs(self, images: Tensor) -> Tensor:
        """images (B, C, H, W) in [0, 1] → log p(c | x) (B, K), on the images' device."""
        ...


@runtime_checkable
class Differentiable(Protocol):
    """A classifier through which gradients flow."""

    def logits(self, images: Tensor) -> Tensor:
        """images (B, C, H, W) → z (B, K) whose softmax is p(c | x); gradients with respect to the images flow."""
        ...


@runtime_checkable
class Layered(Protocol):
    """A classifier whose layers can be changed while it computes."""

    @property
    def layers(self) -> Sequence[str]:
        """ "input", then what it is made of in the order of computation, up to the outputs, and last "weights"."""
        ...

    def perturbed(self, layer: str, change: LayerChange) -> AbstractContextManager[None]:
        """Within it, `change` replaces what the layer gives, (B, …) for a call with B images. "input" is the images
        themselves; "weights" are all of them as one row (1, n), changed once. Afterwards all is as it was."""
        ...


@runtime_checkable
class Told(Protocol):
    """A nuisance whose θ can be told in other numbers, which say more to people than its own."""

    @property
    def told(self) -> Sequence[str]:
        """Their names."""
        ...

    def tell(self, theta: Tensor, height: int, width: int) -> Tensor:
        """θ (…, d) on images of this size → (…, k)."""
        ...


@runtime_checkable
class Nuisance(Protocol):
    """A parameter space, a prior p(θ | x), a transform T_θ x, and an identity that changes nothing."""

    @property
    def parameters(self) -> Sequence[str]:
        """A readable name for each number of θ; a single name where θ is a field over the pixels."""
        ...

    @property
    def needs(self) -> frozenset[str]:
        """Extras it reads, such as "saliency"; if there are any, T_θ x is not shared between classifiers."""
        ...

    @property
    def differentiable(self) -> bool:
        """Whether gradients with respect to θ flow through `apply`."""
        ...

    def check(self, shape: tuple[int, int, int]) -> None:
        """Raises, before any work begins, if images of shape (C, H, W) can't be transformed."""
        ...

    def latent(self, batch: Batch) -> int | None:
        """Length of z where θ = push(z) with z ~ N(0, I); None where no such form exists."""
        ...

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        """keys (B, n), one per image and draw → θ (B, n, d) from the prior."""
        ...

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        """z (B, n, latent) → θ (B, n, d), in the dtype of z, so that float64 draws are rounded once, at the end."""
        ...

    def identity(self, batch: Batch) -> Tensor:
        """The θ (B, d) that changes nothing."""
        ...

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor | None:
        """θ (B, n, d) → log p(θ | x) (B, n); None where no density exists."""
        ...

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        """The path from the identity (severity 0) through θ (severity 1) and beyond; same shape as θ."""
        ...

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        """T_θ x for θ (B, d), one per image → images (B, C, H, W), on the images' device."""
        ...

    def describe(self, height: int, width: int) -> str:
        """What the prior means on images of this size, in pixels or shares that a person can picture."""
        ...


@runtime_checkable
class ExchangeableParts(Protocol):
    """A nuisance without a latent form may still have one for each of the exchangeable parts that make up θ.

    p(θ) is then the product of the priors of the parts alone, times a coupling that is symmetric in them: as a density
    of z, N(z; 0, I) · exp(log_coupling)."""

    def parts(self, batch: Batch) -> int:
        """The number of parts; 0 where θ also contains other numbers."""
        ...

    def from_parts(self, z: Tensor, batch: Batch) -> Tensor:
        """z (B, n, d) → θ (B, n, d), part by part, in the dtype of z."""
        ...

    def to_parts(self, theta: Tensor, keys: Tensor, batch: Batch) -> Tensor:
        """θ (B, n, d), keys (B, n) → z (B, n, d), drawn from N(0, I) restricted to the z that map to θ."""
        ...

    def log_coupling(self, theta: Tensor, batch: Batch) -> Tensor:
        """θ (B, n, d) → (B, n); 0 where the parts are independent."""
        ...


@runtime_checkable
class InScales(Nuisance, Protocol):
    """A nuisance whose images are stored at some severities and can't be made at others, such as a shift of an image
    set that comes in scales. θ is the severity itself: `at` gives the severity asked for, whatever θ was."""

    @property
    def scales(self) -> Sequence[float]:
        """The severities above 0 that are stored, rising."""
        ...

    def exists(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """ids (B,) → (B,) whether the image is stored at every scale. Paths of others are not followed."""
        ...

    def fingerprint(self) -> bytes:
        """A hash of what is stored, without reading all of it."""
        ...
