"""The one place that draws θ: a function of seed, nuisance, image and draw number, and of nothing else.

And what is asked of a nuisance before work begins, on a made-up image."""

from __future__ import annotations

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures.base import About
from brittle.random import fold
from brittle.types import Batch, InScales, Nuisance


def draw_theta(nuisance: Nuisance, batch: Batch, draws: Tensor, root: Tensor, within: Tensor | None = None) -> Tensor:
    """θ (B, d) for one draw number per image; `root` is the key of (seed, nuisance). `within` numbers further θ of one
    draw, such as those of every severity."""
    keys = fold(fold(root, batch.ids), draws)
    if within is not None:
        keys = fold(keys, within)
    return nuisance.sample(batch, keys[:, None])[:, 0]


def check_stored(about: About, measure: str) -> None:
    """Raises where the image set has no images at severity 0, or a stored shift lacks some of its images."""
    subject, shift = about.subject, about.nuisance
    if not subject.origin:
        raise BrittleError(
            f"the image set {about.images!r} has no images at scale 0, and the measure {measure!r} needs them",
            "Name them: clean=SPEC of the image set, in a table rows at scale 0.",
        )
    lacking = int((~shift.exists(subject.ids)).sum()) if isinstance(shift, InScales) else 0
    if lacking:
        raise BrittleError(
            f"the shift {about.nuisance_name!r} lacks scales of {lacking} images of {about.images!r}, and the measure "
            f"{measure!r} needs them all",
            "Set paths=all for the image set, and shifts=… to choose among its shifts.",
        )


def check_path(about: About) -> None:
    """Raises where the nuisance has no severity between 0 and 1 that a path could pass through."""
    if about.nuisance is not None and not isinstance(about.nuisance, InScales):
        zero = torch.zeros(1, dtype=torch.int64)
        one = Batch(torch.linspace(0, 1, about.numbers).view(1, *about.subject.shape), zero, zero)
        about.nuisance.at(about.nuisance.identity(one), 0.5, one)
