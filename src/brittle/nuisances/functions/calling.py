"""How a function is called on images: with what it takes, and one image at a time or a whole batch at once.

Transforms of albumentations, torchvision (v2) and Kornia are known by their classes. Any other function is tried on a
few made-up images. What draws random numbers is called image by image, with generators seeded for each, so that no
result depends on the other images of a batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from brittle.errors import BrittleError, foreign
from brittle.memory import out_of_memory
from brittle.nuisances.functions.generators import GeneratorWatch, restored_generators, seed_generators
from brittle.nuisances.functions.pixels import CONVENTIONS, KEYWORD, NotAnImage, from_tensor
from brittle.random import uniform
from brittle.types import Batch

LIBRARIES = {"albumentations": KEYWORD, "torchvision.transforms.v2": "image", "kornia.augmentation": "batch"}
RANGES = ((0.02, 0.1), (0.1, 0.9), (0.9, 0.98))  # of the pixels of the images that a function is tried on
SAME = 1e-4  # how far two ways of computing a pixel may differ


class CallMode(NamedTuple):
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
        with self._on_its_own(images.device):
            if way.whole:
                watch = GeneratorWatch(images.device)
                with self._reported():
                    made = from_tensor(self.function(images.clone()))
                if not watch.drawn():
                    return self._same_shape(made, images).to(images.device)
            parts = []
            for image, key, number in zip(images.clone(), keys.tolist(), batch.ids.tolist(), strict=True):
                seed_generators(self.function, key, image.device)
                with self._reported(f" on the image with id {number}"):
                    made = CONVENTIONS[way.takes].call(self.function, image)
                parts.append(self._same_shape(made, image))
            return torch.stack(parts).to(images.device)

    def way(self, shape: tuple[int, ...]) -> CallMode:
        """How images of shape (C, H, W) are given to the function: found out once per number of channels."""
        known = _CALL_MODES.setdefault(self, {})
        if shape[0] not in known:
            images = _made_up(shape)
            with self._on_its_own(images.device), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what it is given only to see whether it takes it
                known[shape[0]] = self._find_mode(images)
        return known[shape[0]]

    def known(self) -> CallMode | None:
        """How the function is called; None where it has not been tried yet."""
        return next(iter(_CALL_MODES.get(self, {}).values()), None)

    @contextmanager
    def _on_its_own(self, device: torch.device) -> Iterator[None]:
        """Within it the function can do as it likes: compute gradients, draw random numbers, remember something."""
        with torch.inference_mode(False), torch.no_grad(), restored_generators(self.function, device):
            yield

    def _one_by_one(self, takes: str, images: Tensor) -> tuple[Tensor, bool]:
        """What is made of each image alone, and whether random numbers were drawn."""
        made, drawn = [], takes == KEYWORD
        for key, image in enumerate(images.clone()):
            seed_generators(self.function, key, image.device)
            watch = GeneratorWatch(image.device)
            made.append(CONVENTIONS[takes].call(self.function, image))
            drawn = drawn or watch.drawn()
        if len({each.shape for each in made}) > 1:
            raise NotAnImage(f"returned images of several sizes: {', '.join(str(tuple(each.shape)) for each in made)}")
        return torch.stack(made), drawn

    def _find_mode(self, images: Tensor) -> CallMode:
        """The way to call the function, found on made-up images (3, C, H, W)."""
        takes, also_a_batch = self._accepted_input(images)
        singly, random = self._one_by_one_twice(takes, images)
        self._same_shape(singly, images)
        whole = not random and (takes == "batch" or also_a_batch) and self._matches_one_by_one(images, singly)
        return CallMode(takes, whole, random)

    def _one_by_one_twice(self, takes: str, images: Tensor) -> tuple[Tensor, bool]:
        """What is made of each image alone, the same with the same seeds, and whether random numbers were drawn."""
        with self._reported():
            (singly, random), (again, _) = self._one_by_one(takes, images), self._one_by_one(takes, images)
        if singly.shape != again.shape or not torch.allclose(singly, again, atol=SAME, equal_nan=True):
            raise BrittleError(
                f"{self.name} gives another result each time, though the random seeds are the same",
                "Let it draw from torch, numpy.random or random, whose global generators are seeded for each image.",
            )
        return singly, random

    def _matches_one_by_one(self, images: Tensor, singly: Tensor) -> bool:
        """Whether each image of a batch gets what it gets alone."""
        with self._reported():
            made = from_tensor(self.function(images.clone()))
        return made.shape == singly.shape and torch.allclose(made, singly, atol=SAME, equal_nan=True)

    def _accepted_input(self, images: Tensor) -> tuple[str, bool]:
        """What the function takes, and whether that may also be a batch."""
        if self.takes != "auto":
            return self.takes, False
        failures: dict[str, Exception] = {}
        results: dict[str, Tensor] = {}
        for takes in ("image", "batch", "array", "pil"):
            if takes == "array" and any(made.shape == images.shape for made in results.values()):
                break
            try:
                results[takes], _ = self._one_by_one(takes, images)
            except Exception as error:
                if isinstance(error, BrittleError) or out_of_memory(error):
                    raise
                failures[takes] = error
        fitting = [takes for takes, made in results.items() if made.shape == images.shape]
        if not fitting and results:
            self._same_shape(next(iter(results.values())), images)
        if not fitting:
            self._refuse(failures)
        if fitting == ["image", "batch"]:
            if not torch.allclose(results["image"], results["batch"], atol=SAME, equal_nan=True):
                self._one_by_one_twice("image", images)
                raise BrittleError(
                    f"{self.name} makes something else of an image (C, H, W) than of a batch of it (1, C, H, W)",
                    "Say which of them it takes: takes=image or takes=batch.",
                )
            return "image", True
        return fitting[0], False

    def _refuse(self, failures: Mapping[str, Exception]) -> NoReturn:
        """Raises the one error that all kinds of input led to, or tells what each of them led to."""
        told = {takes: _said(error) for takes, error in failures.items()}
        if len(set(told.values())) == 1:
            with self._reported():
                raise next(iter(failures.values()))
        raise BrittleError(
            f"{self.name} can't be called: "
            + "; ".join(f"with {CONVENTIONS[takes].words} it {said}" for takes, said in told.items()),
            "Fix it, or say what it takes: takes=image, batch, array or pil.",
        )

    @contextmanager
    def _reported(self, where: str = "") -> Iterator[None]:
        """What goes wrong inside is reported as an error of the function."""
        try:
            yield
        except NotAnImage as error:
            remedy = "Let it return an image of the kind it is given."
            raise BrittleError(f"{self.name} {error}{where}", remedy) from None
        except (Exception, SystemExit) as error:
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


_CALL_MODES: WeakKeyDictionary[Call, dict[int, CallMode]] = (
    WeakKeyDictionary()
)  # beside a Call, which stays as it was made


def _library(function: object) -> str | None:
    """How the transforms of a known library are called."""
    for kind in type(function).__mro__:
        for library, takes in LIBRARIES.items():
            if f"{kind.__module__}.".startswith(f"{library}."):
                return takes
    return None


def _said(error: Exception) -> str:
    if isinstance(error, NotAnImage):
        return str(error)
    lines = str(error).strip().splitlines() or [""]
    return f"raised {type(error).__name__}: {lines[0]}".rstrip(": .")


def _made_up(shape: tuple[int, ...]) -> Tensor:
    """A dark, a middling and a bright image (3, C, H, W), so that a function that looks at more than one image, or at
    the mean of a batch, gives itself away."""
    noise = uniform(torch.arange(len(RANGES)), shape[0] * shape[1] * shape[2]).view(-1, *shape)
    low, high = torch.tensor(RANGES, dtype=torch.float64).view(-1, 2, 1, 1, 1).unbind(1)
    return (low + (high - low) * noise).float()
