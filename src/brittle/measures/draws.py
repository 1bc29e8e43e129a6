"""The one place that draws θ: a function of seed, nuisance, image and draw number, and of nothing else.

And what is asked of a nuisance before work begins, on a made-up image."""

from __future__ import annotations

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures.base import About
from brittle.measures.designs import DESIGNS
from brittle.random import fold, key_of, normal, sobol
from brittle.types import Batch, InScales, Nuisance

MOST_SPREAD = 2048  # numbers of θ beyond which a net of a few points spreads nothing


def draw_theta(nuisance: Nuisance, batch: Batch, draws: Tensor, root: Tensor, within: Tensor | None = None) -> Tensor:
    """θ (B, d) for one draw number per image; `root` is the key of (seed, nuisance). `within` numbers further θ of one
    draw, such as those of every severity."""
    keys = fold(fold(root, batch.ids), draws)
    if within is not None:
        keys = fold(keys, within)
    return nuisance.sample(batch, keys[:, None])[:, 0]


def design_theta(design: str, nuisance: Nuisance, batch: Batch, draws: Tensor, root: Tensor) -> Tensor:
    """θ (B, d) for one draw number per image, counted from the design's `first`: of the prior each, whatever the
    others of its block are."""
    if design == "independent":
        return draw_theta(nuisance, batch, draws, root)
    own, count = fold(fold(root, key_of(design)), batch.ids), nuisance.latent(batch)
    assert count is not None  # `check_design` has seen to it
    block = DESIGNS[design].block
    keys, place = fold(own, draws // block), draws % block
    z = normal(keys, count) * (1 - 2 * place)[:, None] if design == "antithetic" else _ndtri(sobol(keys, place, count))
    return nuisance.push(z[:, None], batch)[:, 0].to(batch.images.dtype)


def _ndtri(shares: Tensor) -> Tensor:
    numbers: Tensor = torch.special.ndtri(shares)
    return numbers


def numbered_theta(nuisance: Nuisance, batch: Batch, draws: Tensor, root: Tensor) -> Tensor:
    """θ (B, d) for one draw number per image, as rows have them: of whatever design each is."""
    numbers = draws.cpu()
    if not (numbers >= DESIGNS["antithetic"].first).any():
        return draw_theta(nuisance, batch, draws, root)
    theta = torch.empty_like(nuisance.identity(batch))
    names, firsts = list(DESIGNS), torch.tensor([each.first for each in DESIGNS.values()])
    kind = torch.searchsorted(firsts, numbers, right=True) - 1
    for number in sorted(set(kind.tolist())):
        here = (kind == number).nonzero()[:, 0].to(batch.ids.device)
        some = draws[here] - int(firsts[number])
        theta[here] = design_theta(names[number], nuisance, batch.take(here), some, root)
    return theta


def check_design(about: About, design: str, samples: int) -> None:
    """Raises where the draws of a design can't be made, or come to no whole number of blocks."""
    block, nuisance = DESIGNS[design].block, about.nuisance
    if samples % block:
        raise BrittleError(
            f"{samples} draws per image are no whole number of {DESIGNS[design].blocks}",
            f"Set samples={samples // block * block or block} or samples={-(-samples // block) * block}.",
        )
    if nuisance is None or block == 1:
        return
    zero = torch.zeros(1, dtype=torch.int64)
    numbers = nuisance.latent(Batch(torch.zeros(1, *about.subject.shape), zero, zero))
    why = "has no form in Gaussian numbers" if numbers is None else ""
    if numbers is not None and numbers > MOST_SPREAD:
        why = f"has {numbers} of them, over which a few points can't be spread"
    if why:
        raise BrittleError(
            f"design={design} is made of the Gaussian numbers behind θ, and the nuisance {about.nuisance_name!r} {why}",
            "Leave the option design out for it; in a study, name the measure's nuisances.",
        )


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
