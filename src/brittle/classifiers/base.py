"""The contract of every adapter: images in [0, 1] in, float32 log-probabilities out, on the images' device.

`AdaptedClassifier.log_probs` is final and enforces the contract; a subclass implements only `scores`, the raw
outputs for prepared input. What only the outputs reveal (logits or probabilities, how many classes, hard or
soft) is determined once, on a first small batch; the hot path checks only shapes and never waits for the
device.
"""

from __future__ import annotations

import abc
import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, final, runtime_checkable

import torch
from torch import Tensor

from brittle.class_names import class_names
from brittle.classifiers.class_mapping import ClassMapping, ClassMappingOptions, Pooling
from brittle.classifiers.preprocess import Preprocess
from brittle.device import usable_device
from brittle.errors import BrittleError, Failure, users_line
from brittle.libraries import first_line
from brittle.registry import did_you_mean, option, validated

Output = Literal["auto", "logits", "probabilities"]
SUM_TOLERANCE = 1e-3
MOST_KEYS = 5  # in a message
ABOUT_SHAPE = re.compile(r"shape|size|channel|dimension|feature|\bdim\b", re.IGNORECASE)


@runtime_checkable
class ClassifierLoader(Protocol):
    """What is registered: a frozen dataclass of options that loads a classifier."""

    def load(self, device: str = "cpu") -> AdaptedClassifier: ...


@validated("classifier")
@dataclasses.dataclass(frozen=True, kw_only=True)
class AdapterOptions(ClassMappingOptions, Preprocess):
    """The options every adapter has: its preprocessing, what its outputs are, and the names of its classes."""

    output: Literal["auto", "logits", "probabilities"] = option(
        "auto", "what the outputs are: logits, probabilities, or auto (inferred from a first batch)"
    )
    labels: str | tuple[str, ...] | None = option(
        None, "class names in output order: a text file with one per line, or a/b/c"
    )

    def settings(self) -> dict[str, Any]:
        """The same as keyword arguments of an `AdaptedClassifier`."""
        steps = {field.name: getattr(self, field.name) for field in dataclasses.fields(Preprocess)}
        labels = None if self.labels is None else class_names(self.labels, "labels")
        return {
            "preprocess": Preprocess(**steps),
            "output": self.output,
            "labels": labels,
            "mapping": self.mapping(),
        }


class AdaptedClassifier(abc.ABC):
    """p(c | x) from raw scores. Subclasses implement `scores`."""

    def __init__(
        self,
        *,
        name: str = "",
        preprocess: Preprocess | None = None,
        output: Output = "auto",
        labels: Sequence[str] | None = None,
        mapping: ClassMapping | None = None,
        can: frozenset[str] = frozenset(),
        device: str | torch.device = "cpu",
    ) -> None:
        self.name = name or type(self).__name__
        self.preprocess = preprocess or Preprocess()
        self.output: Output = output
        self.device = usable_device(device)
        self._labels = None if labels is None else tuple(labels)
        self.mapping = mapping
        self._pooling: Pooling | None = None  # the mapping, once a first batch has revealed K
        self._can, self._hard = can, False
        self.remarks: tuple[
            str, ...
        ] = ()  # what its loader found out and a reader must know, as in "has random weights"
        self.copies = False  # whether it changes its input, and is therefore given a copy
        self._classes: int | None = None
        self._shapes: set[torch.Size] = set()  # image shapes that have worked

    def __repr__(self) -> str:
        known = f": {len(self.labels):,} classes" if self.labels else ""
        return f"<{type(self).__name__} {self.name!r}{known}>"

    @abc.abstractmethod
    def scores(self, prepared: Tensor) -> Tensor:
        """Prepared images on `self.device` → raw outputs (B, K)."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names in output order, those of the mapping where there is one; "0" … "K−1" when none are known; empty
        until a first batch reveals K."""
        if self.mapping is not None:
            return self.mapping.names
        if self._labels is not None:
            return self._labels
        return tuple(map(str, range(self._classes or 0)))

    @property
    def named(self) -> bool:
        """Whether its labels are names that somebody gave it."""
        return self._labels is not None or self.mapping is not None

    @property
    def pooling(self) -> Pooling | None:
        """The mapping in terms of this classifier's own classes, once a first batch has revealed how many there are."""
        return self._pooling

    def seen(self, height: int, width: int) -> tuple[int, int, int, int]:
        """Top, left, bottom and right end of the part of an image that its preprocessing leaves."""
        return self.preprocess.seen(height, width)

    @property
    def can(self) -> frozenset[str]:
        """What it offers beyond log-probabilities; a first batch may reveal that it is "hard" (only 0 and 1)."""
        return self._can | {"hard"} if self._hard else self._can

    @final
    def log_probs(self, images: Tensor) -> Tensor:
        """images (B, C, H, W) in [0, 1] → float32 log p(c | x) (B, K), on the images' device."""
        return self._log_probs_of(self._raw(images), images.shape[0], images.device)

    def _log_probs_of(self, raw: Tensor, count: int, device: torch.device) -> Tensor:
        """Raw outputs of `count` images → log-probabilities on a device."""
        if self._classes is None:
            self._settle(raw, count)
        elif raw.shape != (count, self._classes):
            raise Failure(
                f"classifier {self.name} gave outputs of {_times(raw.shape)} for {count} images,"
                f" but {self._classes} classes before",
                "Its outputs must be (images, classes).",
            )
        found = log_scores(raw, self.output)
        return (found if self._pooling is None else self._pooling(found)).to(device)

    def check(self, images: Tensor) -> None:
        """Tries a few images and determines what only outputs reveal; raises a one-line error if they are not valid.

        Also finds out whether the input is changed in place, which one memory layout may hide."""
        with torch.no_grad():
            for given in layouts(images):
                self._settle(self._raw(given, watched=not self.copies), images.shape[0])

    def _raw(self, images: Tensor, *, watched: bool = False) -> Tensor:
        try:
            prepared = self.preprocess(images.to(self.device))
            given = prepared.clone() if watched or self.copies else prepared
            raw = self.scores(given)
            self.copies = self.copies or (watched and not torch.equal(given, prepared))
        except (BrittleError, MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:
            # On a shape that has worked before, or for lack of memory, the shape is not to blame; nor is it where the
            # user's own code fails with an error about something else.
            where = users_line(error)
            if images.shape[1:] in self._shapes or "memory" in str(error) or (where and not _about_shape(error)):
                raise
            said = f"{first_line(error)}{f' ({where})' if where else ''}"
            raise BrittleError(
                f"classifier {self.name} can't take images of {_times(images.shape[1:])}: {said}",
                "Give channels=… or size=….",
            ) from error
        self._shapes.add(images.shape[1:])
        return raw

    def _settle(self, raw: Tensor, count: int) -> None:
        raw = raw.detach()
        who = f"classifier {self.name}"
        if count == 0:
            raise BrittleError(f"{who} can't be checked without images", "Give at least one image.")
        if raw.ndim != 2 or raw.shape[0] != count:
            raise BrittleError(
                f"{who} gives outputs of {_times(raw.shape)} for {count} images",
                "They must be (images, classes): end the network in one row of scores per image.",
            )
        classes = raw.shape[1]
        if classes < 2:
            raise BrittleError(
                f"{who} gives one number per image", "Make it give two: p(not c) and p(c), or the logits 0 and z."
            )
        if self._labels is not None and len(self._labels) != classes:
            raise BrittleError(
                f"{who} gives {classes} classes but has {len(self._labels)} label names",
                "Give as many names as classes, in output order.",
            )
        odd = (~torch.isfinite(raw)).any(1).nonzero().flatten().tolist()
        if odd:
            raise Failure(
                f"{who} gives NaN or infinite outputs for {len(odd)} of {count} images, the first at position {odd[0]}",
                "Check its weights, mean, std and range.",
            )
        self.output = self._settled_output(raw)
        one_hot = bool(((raw == 0) | (raw == 1)).all())
        # Images of one set may come in several batches: a classifier is hard if it is hard on all of them.
        self._hard = one_hot and self.output == "probabilities" and (self._hard or self._classes is None)
        self._classes = classes
        if self.mapping is not None:
            self._pooling = self.mapping.resolved(self._labels, classes, who)
            if self._hard and not self._pooling.whole:
                raise BrittleError(
                    f"{who} gives only 0 and 1, and its mapping leaves classes out: an image of these has no class",
                    "Map all of its classes, or use a classifier that gives probabilities.",
                )

    def _settled_output(self, raw: Tensor) -> Output:
        sums = raw.double().sum(1)
        is_distribution = bool(((sums - 1).abs() <= SUM_TOLERANCE).all() and (raw >= -1e-6).all())
        if self.output == "auto":
            return "probabilities" if is_distribution else "logits"
        if self.output == "probabilities" and not is_distribution:
            raise BrittleError(
                f"classifier {self.name} does not give probabilities: the outputs of an image sum to {sums[0]:.4g}"
                f" and the smallest is {raw.min():.4g}",
                "Set output=logits if they are logits.",
            )
        return self.output


def scores_in(outputs: Any, who: str) -> Tensor:
    """The scores that a network or a function returns: a tensor, an array, rows of numbers, or an object that holds
    them as its `logits`."""
    found = getattr(outputs, "logits", outputs)
    kind = f"an object of type {type(found).__name__}"
    if isinstance(found, Tensor) or hasattr(found, "__array__"):
        return torch.as_tensor(found)
    if isinstance(found, Mapping):
        kind = f"a dictionary of {_keys(found)}"
    elif isinstance(found, (tuple, list)):
        try:
            return torch.as_tensor(found)
        except (TypeError, ValueError, RuntimeError):
            kind = f"a {type(found).__name__} of {len(found)}"
    raise BrittleError(
        f"classifier {who} returns {kind}, not scores",
        "Return the scores alone, (images, classes), as a tensor or an array.",
    )


def _keys(found: Mapping[Any, Any]) -> str:
    names = list(map(repr, found))
    return ", ".join(names[:MOST_KEYS]) + ("" if len(names) <= MOST_KEYS else " and more") if names else "nothing"


def log_scores(raw: Tensor, output: Output) -> Tensor:
    """Raw outputs (B, K) → float32 log-probabilities."""
    wide = raw if raw.dtype in (torch.float32, torch.float64) else raw.float()
    if output == "logits":
        return torch.log_softmax(wide, 1).float()
    # Rounding leaves p slightly above 1 or below 0; the logarithm of float64 keeps what float32 would lose near 0.
    # Values further off are not rounding errors and become NaN, which is noticed where rows are checked.
    return wide.clamp(0, 1).where((wide - 0.5).abs() < 0.51, torch.nan).log().float()


def _about_shape(error: Exception) -> bool:
    """Whether an error may be due to the shape of the images: libraries have no type of error for that."""
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and bool(ABOUT_SHAPE.search(str(error)))


def layouts(images: Tensor) -> list[Tensor]:
    """Copies of the images in the memory layouts that differ for them."""
    plain = images.clone(memory_format=torch.contiguous_format)
    alike = plain.is_contiguous(memory_format=torch.channels_last)
    return [plain] if alike else [plain, plain.contiguous(memory_format=torch.channels_last)]


def no_file(path: Path, pattern: str) -> BrittleError:
    """The error for a missing file, with the nearest existing path as the remedy."""
    near = [str(other) for other in path.parent.glob(pattern)]
    return BrittleError(f"there is no file {path}", did_you_mean(str(path), near) if near else "Check the path.")


def _times(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "no dimensions"
