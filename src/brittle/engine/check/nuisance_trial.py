"""A nuisance on made-up images, before work begins: options so extreme that nothing can be computed are named."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import torch

from brittle.errors import BrittleError
from brittle.images.pixels import Shape
from brittle.memory import out_of_memory
from brittle.nuisances import nuisances
from brittle.nuisances.base.compose import Compose
from brittle.random import draw_keys
from brittle.registry import options_of, written
from brittle.types import Batch, InScales, Nuisance

SIDE = 48  # of the images tried: what is extreme is so at any size
IMAGES, DRAWS = 2, 4


def try_nuisance(nuisance: Nuisance, shape: Shape) -> None:
    """Refuses one of Brittle's own nuisances that makes no sense with its options on images of shape (C, H, W). What
    others wrote is reported when it fails."""
    if isinstance(nuisance, InScales):  # it makes nothing of made-up images
        return
    for part in nuisance.parts if isinstance(nuisance, Compose) else (nuisance,):
        if type(part).__module__.partition(".")[0] != "brittle" or (why := _failure(part, shape)) is None:
            continue
        options = {
            key: field
            for key, field in options_of(type(part)).items()
            if field.default is not dataclasses.MISSING and getattr(part, field.name) != field.default
        }
        cured = [key for key, field in options.items() if _failure(_reset(part, field), shape) is None]
        blamed = " and ".join(f"{key}={written(getattr(part, options[key].name))}" for key in cured or options)
        raise BrittleError(
            f"the nuisance {nuisances.name_of(part)!r} can't be computed with {blamed or 'its options'}: {why}",
            "Use a less extreme value.",
        )


def _reset(part: Any, field: dataclasses.Field[Any]) -> Nuisance:
    made: Nuisance = dataclasses.replace(part, **{field.name: field.default})
    return made


def _failure(nuisance: Nuisance, shape: Shape) -> str | None:
    """What goes wrong; None where nothing does."""
    channels, height, width = shape
    size = channels, min(height, SIDE), min(width, SIDE)
    ids = torch.arange(IMAGES)
    images = torch.linspace(0, 1, IMAGES * size[0] * size[1] * size[2]).view(IMAGES, *size)
    batch = Batch(images, torch.zeros(IMAGES, dtype=torch.int64), ids)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # of overflows, which are looked for
            nuisance.describe(height, width)
            nuisance.check(size)
            theta = nuisance.sample(batch, draw_keys(0, "trial", ids, torch.arange(DRAWS)))
            density = nuisance.log_prior(theta, batch)
            # What a nuisance reads beside the images only a classifier can give.
            made = [nuisance.apply(batch, theta[:, draw]) for draw in range(DRAWS)] if not nuisance.needs else []
    except BrittleError:
        return None  # smaller images than its own may be refused, and its own were looked at
    except (ArithmeticError, ValueError, RuntimeError) as error:
        if out_of_memory(error):
            raise
        return str(error.args[-1] if error.args else type(error).__name__)
    if not bool(theta.isfinite().all()):
        return "θ is infinite"
    if density is not None and bool(density.isnan().any()):
        return "the prior's density is not a number"
    return None if all(bool(each.isfinite().all()) for each in made) else "pixels are NaN or infinite"
