"""What a model says of itself: the preprocessing and the label names in its own configuration.

What a user gives comes first. Resizing (size, crop, interpolation), values (range, mean, std) and channels are three
decisions: whoever gives one option of the first two decides the whole of it.
"""

from __future__ import annotations

import dataclasses
import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch

from brittle.classifiers.base import AdapterOptions
from brittle.classifiers.preprocess import Preprocess
from brittle.errors import BrittleError, BrittleWarning
from brittle.registry import option

DECISIONS = (("size", "crop", "interpolation"), ("range", "mean", "std"), ("channels",), ("layout",))
PILLOW = {2: "bilinear", 3: "bicubic"}  # numbers of Pillow's filters


@dataclasses.dataclass(frozen=True)
class Configuration:
    """A model's own preprocessing, and its label names in output order; None where it has none."""

    preprocess: Preprocess = dataclasses.field(default_factory=Preprocess)
    labels: tuple[str, ...] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class NamedModelOptions(AdapterOptions):
    """The options of every model that a library knows by name."""

    weights: str | None = option(None, "weights from a local file instead: .safetensors, .pt or .pth")
    pretrained: bool = option(True, "no: random weights, the same each time")


def settings_with(options: AdapterOptions, own: Configuration) -> dict[str, Any]:
    """The keyword arguments of an adapter: what the user gave, and the model's own configuration for the rest."""
    settings, plain = options.settings(), Preprocess()
    given: Preprocess = settings["preprocess"]
    taken = {
        key: getattr(own.preprocess, key)
        for decision in DECISIONS
        if all(getattr(given, key) == getattr(plain, key) for key in decision)
        for key in decision
    }
    settings["preprocess"] = dataclasses.replace(given, **taken)
    if settings["labels"] is None:
        settings["labels"] = own.labels
    return settings


def interpolation(word: Any, who: str) -> Literal["bilinear", "bicubic"]:
    """A way to resize that the adapters have, for the library's word or Pillow's number for it."""
    name = PILLOW.get(word, str(word)) if isinstance(word, int) else str(getattr(word, "value", word))
    if name == "bilinear":
        return "bilinear"
    if name == "bicubic":
        return "bicubic"
    told = f"{who} resizes its images by {name!r}; bicubic is used, the nearest there is."
    warnings.warn(told, BrittleWarning, stacklevel=3)
    return "bicubic"


@contextmanager
def same_random_weights() -> Iterator[None]:
    """Within it, what is drawn at random is drawn from the same seed; afterwards all is as it was."""
    before = random.getstate()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        random.seed(0)
        try:
            yield
        finally:
            random.setstate(before)


def missing_weights(who: str, where: str, remedy: str) -> BrittleError:
    """The error for weights that are neither on this machine nor to be fetched."""
    return BrittleError(f"the weights of {who} are not on this machine and can't be fetched from {where}", remedy)
