"""Where somebody else's code meets the engine: its errors are reported as errors of that code, and its pixels are
looked at."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType

import torch
from torch import Tensor

from brittle.errors import BrittleError, Failure, foreign, users_line
from brittle.memory import out_of_memory
from brittle.nuisances import nuisances
from brittle.nuisances.base.compose import Compose
from brittle.types import Batch, Clamping, Nuisance, Traceable

ROUNDING = 1e-3  # how far beyond [0, 1] a pixel may lie


@contextmanager
def attribute_errors(things: Mapping[str, object], otherwise: str = "") -> Iterator[None]:
    """An error raised inside one of some things, by what they are called, becomes one that names it. Where it came
    from none of them but from the user's code, it is `otherwise` who failed."""
    try:
        yield
    except (Exception, SystemExit) as error:
        if isinstance(error, BrittleError) or out_of_memory(error):
            raise
        who = _innermost(error.__traceback__, things) or (otherwise if users_line(error) else "")
        if not who:
            raise
        raise foreign(who, error) from error


def _innermost(trace: TracebackType | None, things: Mapping[str, object]) -> str:
    """The innermost of some things that a method was called of on the way to an error."""
    found = ""
    while trace is not None:
        it = trace.tb_frame.f_locals.get("self")
        found = next((name for name, thing in things.items() if thing is it), found)
        trace = trace.tb_next
    return found


def with_checked_pixels(space: Nuisance) -> Nuisance:
    """A nuisance that is not Brittle's own, as the same object but for `apply`: what it makes is held to [0, 1]. Where
    it has `clamps = True`, what lies outside is clamped, and refused otherwise."""
    if isinstance(space, Compose):
        return dataclasses.replace(space, parts=tuple(map(with_checked_pixels, space.parts)))
    if type(space).__module__.partition(".")[0] == "brittle" or not isinstance(space, Nuisance):
        return space
    held = copy.copy(space)
    apply = partial(_apply_checked, partial(type(space).apply, held), nuisances.spec_of(space))
    try:
        object.__setattr__(held, "apply", partial(apply, isinstance(space, Clamping) and space.clamps))
    except AttributeError:  # a class with slots
        return space
    if isinstance(space, Traceable):
        with suppress(AttributeError):  # a property
            object.__setattr__(held, "traceable", False)  # whether pixels are fine decides what happens next
    return held


def _apply_checked(
    apply: Callable[[Batch, Tensor], Tensor], name: str, clamps: bool, batch: Batch, theta: Tensor
) -> Tensor:
    made: object = apply(batch, theta)
    if not isinstance(made, Tensor) or made.shape != batch.images.shape:
        shape = tuple(made.shape) if isinstance(made, Tensor) else f"an object of type {type(made).__name__}"
        raise BrittleError(
            f"the nuisance {name!r} made {shape} of images {tuple(batch.images.shape)}", "Fix its `apply`."
        )
    made = made.clamp(0, 1) if clamps else made
    with torch.no_grad():
        beyond = ~((made >= -ROUNDING) & (made <= 1 + ROUNDING))  # NaN too
        if not bool(beyond.any()):
            return made
        row = int(beyond.flatten(1).any(1).nonzero()[0])
        raise bad_pixels(name, f"id {int(batch.ids[row])}", made[row])


def bad_pixels(name: str, where: str, image: Tensor) -> Failure:
    """The error for an image (C, H, W) that no image can look like."""
    if not bool(image.isfinite().all()):
        return Failure(
            f"the nuisance {name!r} made NaN or infinite pixels of the image {where}",
            "Use milder options, or fix its `apply`; finished units are kept.",
        )
    return Failure(
        f"the nuisance {name!r} made pixels from {float(image.min()):.3g} to {float(image.max()):.3g} of the image "
        f"{where}",
        "Keep them in [0, 1], or set `clamps = True` in its class to have them clamped.",
    )
