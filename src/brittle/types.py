"""The shared vocabulary as types: batch, classifier, nuisance. Any module may import them; they import none."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

UNLABELLED = -1
OF_255 = "σ of 255"  # a unit of severity: the standard deviation of noise where white is 255

Precision = Literal["float32", "tf32", "bf16"]
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
class AnswersLater(Protocol):
    """A classifier that computes elsewhere, such as behind a service: several batches are on their way at a time."""

    def submit(self, images: Tensor) -> Callable[[], Tensor]:
        """images (B, C, H, W) in [0, 1] are taken as they are now; what is returned waits for log p(c | x) (B, K), on
        their device, however often and by whatever thread it is called. Blocks while too many are on their way."""
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
        themselves; "weights" are all of them as one row (1, n), changed once. Afterwards all is as it was. Changes of
        several layers may stand within one another, and gradients flow through what a change returns."""
        ...


class Graph(Protocol):
    """What a classifier computes, as a function of tensors alone, from which a compiled graph is made."""

    @property
    def traceable(self) -> bool:
        """Whether torch compiles it; otherwise it is asked as it is."""
        ...

    @property
    def structure(self) -> Hashable:
        """The same for graphs that differ in the values of their tensors at most: these are compiled once."""
        ...

    def __call__(self, images: Tensor) -> Tensor:
        """images (B, C, H, W) in [0, 1] → log p(c | x) (B, K)."""
        ...


@runtime_checkable
class Graphable(Protocol):
    """A classifier that can become part of a compiled graph."""

    def graph(self, images: Tensor) -> Graph:
        """`log_probs` for images like these (B, C, H, W), on which it has been tried."""
        ...


@runtime_checkable
class AnyPrecision(Protocol):
    """A classifier that can compute in other numbers than its weights are stored in."""

    def in_dtype(self, dtype: torch.dtype) -> Classifier:
        """Another classifier that computes in numbers of this type; this one stays as it is."""
        ...


@runtime_checkable
class ClassNames(Protocol):
    """A classifier that says whether its labels are names; without this they are taken for names."""

    @property
    def named(self) -> bool:
        """False where the labels are numbers for want of names."""
        ...


@runtime_checkable
class TrainingRecord(Protocol):
    """A classifier whose weights say how they were trained."""

    @property
    def trained(self) -> Mapping[str, Any]:
        """Plain values by name, such as {"mix": "cutmix"}."""
        ...


@runtime_checkable
class SettlesOnImages(Protocol):
    """A classifier that wants to see some images before work begins, to find out about its own outputs or to raise."""

    def check(self, images: Tensor) -> None: ...


@runtime_checkable
class SeesPart(Protocol):
    """A classifier that looks at a part of each image only, such as its middle."""

    def seen(self, height: int, width: int) -> tuple[int, int, int, int]:
        """Top, left, bottom and right end of that part of an image of this size."""
        ...


@runtime_checkable
class Remarks(Protocol):
    """A classifier about which a reader of the numbers must know something."""

    @property
    def remarks(self) -> Sequence[str]:
        """Each continues a sentence: the classifier 'a' …"""
        ...


@runtime_checkable
class ReadableTheta(Protocol):
    """A nuisance whose θ can be given in other numbers, which say more to people than its own."""

    @property
    def readings(self) -> Sequence[str]:
        """Their names."""
        ...

    def read_theta(self, theta: Tensor, height: int, width: int) -> Tensor:
        """θ (…, d) on images of this size → (…, k)."""
        ...


@runtime_checkable
class ParameterUnits(Protocol):
    """A nuisance that says what its parameters, or the readings of its θ, are measured in."""

    @property
    def parameter_units(self) -> Mapping[str, str]:
        """By name, such as {"shift x": "pixels"}; "angle" and "direction" are in degrees unless said otherwise."""
        ...


@runtime_checkable
class Titled(Protocol):
    """A nuisance that people call by other words than its kind; its options follow in either case."""

    @property
    def title(self) -> str:
        """With a capital, such as "Gaussian noise"."""
        ...


@runtime_checkable
class Traceable(Protocol):
    """A nuisance that says whether it may become part of a compiled graph on a GPU; without this it may not."""

    @property
    def traceable(self) -> bool:
        """Whether `sample`, `at` and `apply` there compute with tensors alone, whatever the numbers in them."""
        ...


@runtime_checkable
class Clamping(Protocol):
    """A nuisance whose images may leave [0, 1] and are then to be clamped; those of others are refused."""

    @property
    def clamps(self) -> bool: ...


@runtime_checkable
class Clipped(Protocol):
    """A nuisance that can do without clipping its images to [0, 1], and says whether it does."""

    @property
    def clipped(self) -> bool: ...


@runtime_checkable
class InBenchmark(Protocol):
    """A nuisance that is part of a benchmark whose results are published."""

    @property
    def benchmark(self) -> str:
        """Benchmark and corruption, such as "imagenet-c:fog"; "" where it is not."""
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
class HidesPixels(Nuisance, Protocol):
    """A nuisance that hides pixels of the image."""

    @property
    def filled_with(self) -> str:
        """What the hidden pixels become, in words."""
        ...

    def hidden_pixels(self, theta: Tensor, batch: Batch) -> Tensor:
        """θ (B, d), one per image → which pixels are hidden, bool (B, 1, H, W)."""
        ...

    def unfilled(self) -> Nuisance:
        """The same mask with black in place of whatever the hidden pixels become."""
        ...


@runtime_checkable
class HidesShare(Protocol):
    """A nuisance that hides a share of the image which can be set."""

    @property
    def share_is_exact(self) -> bool:
        """Whether the share that θ says is exactly what is hidden, and is not drawn."""
        ...

    @property
    def share_of(self) -> str:
        """What it is a share of: "pixels" or "sides"."""
        ...

    def with_share(self, theta: Tensor, share: Tensor) -> Tensor:
        """θ (…, d) that hides another share (…) at the same place."""
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


class SeverityScale(NamedTuple):
    """How severity is counted under a nuisance, by whoever walks it. A nuisance that declares none has the defaults."""

    unit: str = "severity"
    per_severity: float = 1.0  # how many of the unit a severity of 1 is
    coarse: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 2.5)  # a few values above 0, rising, in the unit
    step: float = 0.1  # of the fine grid: step, 2·step, … up to the limit, in the unit
    limit: float = 10.0
    fixed: bool = False  # whether no others than the coarse values exist


@runtime_checkable
class Scaled(Protocol):
    """A nuisance that says how its severity is counted."""

    @property
    def severity_scale(self) -> SeverityScale: ...


@runtime_checkable
class OnPath(Protocol):
    """A nuisance that may differ from others in severity alone: these lie on one path with it."""

    def whole_path(self) -> Nuisance | None:
        """The same for all of these, with severity counted from a fixed beginning; None where there is none."""
        ...


@runtime_checkable
class InScales(Nuisance, Protocol):
    """A nuisance whose images are stored at some severities and can't be made at others, such as a shift of an image
    set that comes in scales. θ is the severity itself: `at` gives the severity asked for, whatever θ was."""

    @property
    def severity_scale(self) -> SeverityScale:
        """Its coarse values are the severities above 0 that are stored; it is fixed."""
        ...

    def exists(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """ids (B,) → (B,) whether the image is stored at every scale. Paths of others are not followed."""
        ...

    def fingerprint(self) -> bytes:
        """A hash of what is stored, without reading all of it."""
        ...
