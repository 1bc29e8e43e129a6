"""How a function is called on images: with what it takes, and one image at a time or a whole batch at once.

Transforms of albumentations, torchvision (v2) and Kornia are known by their classes. Any other function is tried on a
few made-up images. What draws random numbers is called image by image, with generators seeded for each, so that no
result depends on the other images of a batch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from brittle.errors import BrittleError, foreign
from brittle.memory import out_of_memory
from brittle.nuisances.functions.generators import Watch, left_alone, seed_generators
from brittle.nuisances.functions.pixels import CONVENTIONS, KEYWORD, Misfit, from_tensor
from brittle.random import uniform
from brittle.types import Batch

T = TypeVar("T")
LIBRARIES = {"albumentations": KEYWORD, "torchvision.transforms.v2": "image", "kornia.augmentation": "batch"}
TRIED = 3  # made-up images
SAME = 1e-4  # how far two ways of computing a pixel may differ


class Way(NamedTuple):
    """How a function is called."""

    takes: str  # one of CONVENTIONS
    whole: bool  # once for a whole batch: it draws nothing, and an image's result does not depend on the others
    random: bool  # whether it draws random numbers


class Call:
    """A function on images (C, H, W) in [0, 1]; `takes` is one of CONVENTIONS or "auto"."""

    def __init__(self, function: Callable[..., Any], name: str, takes: str) -> None:
        self.function, self.name = function, name
        self.takes = (_library(function) or takes) if takes == "auto" else takes

    def __call__(self, batch: Batch, keys: Tensor) -> Tensor:
        """What the function makes of each image of a batch, with random numbers from its key (B,)."""
        images, way = batch.images, self.way(tuple(batch.images.shape[1:]))
        with torch.inference_mode(False), torch.no_grad(), left_alone(self.function, images.device):
            if way.whole:
                watch = Watch(images.device)
                made = self._told(lambda: from_tensor(self.function(images.clone())))
                if not watch.drawn():
                    return self._same_shape(made, images).to(images.device)
            rows = zip(images.clone(), keys.tolist(), batch.ids.tolist(), strict=True)
            parts = [self._told(functools.partial(self._one, way.takes, *each), f" on image {at}") for *each, at in rows]
            return torch.stack([self._same_shape(part, images[0]).to(images.device) for part in parts])

    def way(self, shape: tuple[int, ...]) -> Way:
        """How images of shape (C, H, W) are given to the function: found out once per number of channels."""
        known = _WAYS.setdefault(self, {})
        if shape[0] not in known:
            images = _made_up(shape)
            with torch.inference_mode(False), torch.no_grad(), left_alone(self.function, images.device):
                known[shape[0]] = self._found(images)
        return known[shape[0]]

    def draws(self) -> bool | None:
        """Whether the function draws random numbers; None where it has not been tried yet."""
        known = _WAYS.get(self, {})
        return any(way.random for way in known.values()) if known else None

    def _one(self, takes: str, image: Tensor, key: int) -> Tensor:
        seed_generators(self.function, key, image.device)
        return CONVENTIONS[takes].call(self.function, image)

    def _singly(self, takes: str, images: Tensor) -> tuple[Tensor, bool]:
        """What is made of each image alone, and whether random numbers were drawn."""
        made, drawn = [], takes == KEYWORD
        for key, image in enumerate(images.clone()):
            seed_generators(self.function, key, image.device)
            watch = Watch(image.device)
            made.append(CONVENTIONS[takes].call(self.function, image))
            drawn = drawn or watch.drawn()
        if len({each.shape for each in made}) > 1:
            raise Misfit(f"returned images of several sizes: {', '.join(str(tuple(each.shape)) for each in made)}")
        return torch.stack(made), drawn

    def _found(self, images: Tensor) -> Way:
        """The way to call the function, found on made-up images (TRIED, C, H, W)."""
        takes, also_a_batch = self._taken(images)
        (singly, random), (again, _) = (self._told(lambda: self._singly(takes, images)) for _ in range(2))
        self._same_shape(singly, images)
        if not torch.allclose(singly, again, atol=SAME, equal_nan=True):
            raise BrittleError(
                f"{self.name} gives another result each time, though the random seeds are the same",
                "Let it draw from torch, numpy.random or random, whose global generators are seeded for each image.",
            )
        whole = not random and (takes == "batch" or also_a_batch) and self._apart(images, singly)
        return Way(takes, whole, random)

    def _apart(self, images: Tensor, singly: Tensor) -> bool:
        """Whether each image of a batch gets what it gets alone."""
        made = self._told(lambda: from_tensor(self.function(images.clone())))
        return made.shape == singly.shape and torch.allclose(made, singly, atol=SAME, equal_nan=True)

    def _taken(self, images: Tensor) -> tuple[str, bool]:
        """What the function takes, and whether that may also be a batch."""
        if self.takes != "auto":
            return self.takes, False
        failures: dict[str, Exception] = {}
        results: dict[str, Tensor] = {}
        for takes in ("image", "batch", "array", "pil"):
            if takes == "array" and any(made.shape == images.shape for made in results.values()):
                break
            try:
                results[takes], _ = self._singly(takes, images)
            except Exception as error:
                if isinstance(error, BrittleError) or out_of_memory(error):
                    raise
                failures[takes] = error
        fitting = [takes for takes, made in results.items() if made.shape == images.shape]
        if not fitting and results:
            self._same_shape(next(iter(results.values())), images)
        if not fitting:
            raise self._uncallable(failures)
        if fitting == ["image", "batch"]:
            if not torch.allclose(results["image"], results["batch"], atol=SAME, equal_nan=True):
                raise BrittleError(
                    f"{self.name} makes something else of an image (C, H, W) than of a batch of it (1, C, H, W)",
                    "Say which of them it takes: takes=image or takes=batch.",
                )
            return "image", True
        return fitting[0], False

    def _uncallable(self, failures: Mapping[str, Exception]) -> BrittleError:
        told = {takes: _said(error) for takes, error in failures.items()}
        if len(set(told.values())) == 1:
            return foreign(self.name, next(iter(failures.values())))
        return BrittleError(
            f"{self.name} can't be called: "
            + "; ".join(f"with {CONVENTIONS[takes].words} it {said}" for takes, said in told.items()),
            "Fix it, or say what it takes: takes=image, batch, array or pil.",
        )

    def _told(self, call: Callable[[], T], where: str = "") -> T:
        """Its errors are reported as errors of that function."""
        try:
            return call()
        except Misfit as error:
            raise BrittleError(f"{self.name} {error}{where}", "Let it return an image of the kind it is given.") from None
        except Exception as error:
            if isinstance(error, BrittleError) or out_of_memory(error):
                raise
            raise foreign(f"{self.name}{where}", error) from error

    def _same_shape(self, made: Tensor, given: Tensor) -> Tensor:
        if made.shape != given.shape:
            raise BrittleError(
                f"{self.name} made an image {tuple(made.shape[-3:])} of an image {tuple(given.shape[-3:])}",
                "An image must keep its size: resize or crop in the image set (size=, crop=), or in the classifier.",
            )
        return made


_WAYS: WeakKeyDictionary[Call, dict[int, Way]] = WeakKeyDictionary()  # beside a Call, which stays as it was made


def _library(function: object) -> str | None:
    """How the transforms of a known library are called."""
    for kind in type(function).__mro__:
        for library, takes in LIBRARIES.items():
            if f"{kind.__module__}.".startswith(f"{library}."):
                return takes
    return None


def _said(error: Exception) -> str:
    if isinstance(error, Misfit):
        return str(error)
    lines = str(error).strip().splitlines() or [""]
    return f"raised {type(error).__name__}: {lines[0]}".rstrip(": .")


def _made_up(shape: tuple[int, ...]) -> Tensor:
    """Images (TRIED, C, H, W) that differ in brightness and contrast, with values in (0, 1)."""
    keys = torch.arange(TRIED)
    noise = uniform(keys, shape[0] * shape[1] * shape[2]).view(TRIED, *shape)
    scale = (keys + 1.0).view(-1, 1, 1, 1) / (TRIED + 1)
    return (0.1 + 0.8 * scale * noise).float()
