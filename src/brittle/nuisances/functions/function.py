"""Any function of images as a nuisance: `function:my_module:blur`, or from Python `brittle.nuisance(blur)`.

θ is a seed. T_θ x is what the function makes of x while the random generators are seeded with θ, so that a random
function becomes a function of (x, θ) like any other transform. Its prior has no density that says anything of the
image, and there is no path, since half of a function means nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NoReturn

import torch
from torch import Tensor

from brittle.errors import BrittleError, Failure, foreign
from brittle.nuisances import register
from brittle.nuisances.base.seeds import SEED_NAMES, seed_from, seed_keys
from brittle.nuisances.functions.calling import Call
from brittle.nuisances.functions.pixels import CONVENTIONS
from brittle.nuisances.ops.broadcast import as_factor
from brittle.random import uniform
from brittle.registry import option
from brittle.registry.arguments import argument
from brittle.registry.source import resolve
from brittle.registry.spec import written
from brittle.types import Batch

NOTHING = -1.0  # the seed that leaves an image as it is
ROUNDING = 1e-3  # how far beyond [0, 1] a pixel may lie


@register("function")
@dataclass(frozen=True)
class Function:
    """What a function makes of the image: yours, or a transform of torchvision (v2), albumentations or Kornia.

    Random functions draw from torch, numpy.random and random, whose generators are seeded for each image and draw and
    put back afterwards; the prior is the distribution of their results. A function that draws nothing gives the same at
    every draw. θ is a seed, two whole numbers. There is neither a density (log_prior is None) nor a severity: breaking
    points, failure points and samplers that move θ are refused."""

    function: Any = option(
        dataclasses.MISSING,
        "package.module:name or file.py:name of a function image → image, of a transform, or of a transform's class",
        positional=True,
    )
    arguments: tuple[str, ...] = option((), "name=value/… that the function gets too, or that the class is made with")
    takes: Literal["auto", "image", "batch", "array", "pil"] = option(
        "auto",
        "a tensor (C, H, W) or (B, C, H, W) in [0, 1], a uint8 array (H, W, C) or a PIL image; auto finds out",
    )
    clip: bool = option(False, "clip pixels to [0, 1]; by default those outside are refused")

    _call: Call = dataclasses.field(init=False, repr=False, compare=False)

    runs_code: ClassVar[bool] = True
    parameters: ClassVar[Sequence[str]] = SEED_NAMES
    needs: ClassVar[frozenset[str]] = frozenset()
    differentiable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "_call", Call(self._bound(), f"the function {self.name}", self.takes))

    @property
    def name(self) -> str:
        return written(self.function)

    def check(self, shape: tuple[int, int, int]) -> None:
        """Tries the function on made-up images."""
        self._call.way(shape)

    def latent(self, batch: Batch) -> None:
        return None

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        return seed_from(uniform(keys, len(SEED_NAMES))).to(batch.images.dtype)

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        raise BrittleError(f"the function {self.name} has no latent form", "Draw θ with sample.")

    def identity(self, batch: Batch) -> Tensor:
        return batch.images.new_full((len(batch.images), len(SEED_NAMES)), NOTHING)

    def log_prior(self, theta: Tensor, batch: Batch) -> None:
        return None

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        factor = as_factor(severity, theta)
        if not bool(((factor == 0) | (factor == 1)).all()):
            raise BrittleError(
                f"the function {self.name} has no severity, so no path leads from an image to what it makes of it",
                "Measure robustness under it, or use a nuisance with a severity.",
            )
        return torch.where(factor == 0, NOTHING, theta)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        rows = (theta >= 0).all(-1).nonzero()[:, 0]
        if len(rows) == len(theta):
            return self._made(batch, theta)
        if not len(rows):
            return batch.images
        return batch.images.index_copy(0, rows, self._made(batch.take(rows), theta[rows]))

    def describe(self, height: int, width: int) -> str:
        way = self._call.known()
        if way is None:
            return f"what {self.name} makes of the image"
        drawn = "with new random numbers at each draw" if way.random else "the same at every draw"
        return f"what {self.name} makes of the image, given as {CONVENTIONS[way.takes].words}, {drawn}"

    def _bound(self) -> Any:
        """What is called: the function with its arguments, or an object of the class, made with them."""
        found = resolve(self.function) if isinstance(self.function, str) else self.function
        given = dict(map(argument, self.arguments))
        if not callable(found):
            raise BrittleError(
                f"{self.name} is an object of type {type(found).__name__}, not a function",
                "Name a function that takes an image and returns one.",
            )
        if not isinstance(found, type):
            return functools.partial(found, **given) if given else found
        try:
            return found(**given)
        except Exception as error:
            raise foreign(f"making an object of the class {self.name}", error) from error

    def _made(self, batch: Batch, theta: Tensor) -> Tensor:
        made = self._call(batch, seed_keys(theta)).to(batch.images.dtype)
        low, high = map(float, made.aminmax())  # NaN where one pixel is
        if low >= 0 and high <= 1:
            return made
        near = low >= -ROUNDING and high <= 1 + ROUNDING
        if not (near or (self.clip and math.isfinite(low) and math.isfinite(high))):
            self._refuse(made, batch.ids, theta)
        return made.clamp(0, 1)

    def _refuse(self, made: Tensor, ids: Tensor, theta: Tensor) -> NoReturn:
        """Tells the first of images (B, C, H, W) whose pixels no image has."""
        fits = made.isfinite() if self.clip else (made >= -ROUNDING) & (made <= 1 + ROUNDING)
        row = int((~fits).flatten(1).any(1).nonzero()[0])
        image, seeds = made[row], zip(SEED_NAMES, theta[row].long().tolist(), strict=True)
        where = f"of the image with id {int(ids[row])} ({', '.join(f'{name} {value}' for name, value in seeds)})"
        if not bool(image.isfinite().all()):
            raise Failure(
                f"the function {self.name} made NaN or infinite pixels {where}", "Fix it; finished units are kept."
            )
        raise Failure(
            f"the function {self.name} made pixels from {float(image.min()):.3g} to {float(image.max()):.3g} {where}",
            "Let it keep them in [0, 1], set clip=true, or takes=array where it works on whole numbers up to 255.",
        )
