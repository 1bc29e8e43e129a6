"""Augmented images: an image under a nuisance, or mixed with another one of which it shows the larger share."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures.draws import draw_theta
from brittle.mixing import mixes
from brittle.mixing.base import Mix
from brittle.nuisances import nuisance as open_nuisance
from brittle.nuisances import nuisances
from brittle.random import fold, stream_root
from brittle.registry import did_you_mean, options_of, parse_spec
from brittle.types import Batch, Nuisance

HALF = 0.5


class Augmented(NamedTuple):
    """Images (B, C, H, W), and the share (B,) of each that is its own; 1 under a nuisance."""

    images: Tensor
    share: Tensor


def opened(spec: str) -> Mix | Nuisance:
    """What a spec names: a mix, or a nuisance that needs nothing but the image."""
    kind = parse_spec(spec).kind.split("+")[0]
    if kind in mixes.names():
        return mixes.build(spec)
    if kind not in nuisances.names():
        raise BrittleError(
            f"there is no augmentation {kind!r}", did_you_mean(kind, [*mixes.names(), *nuisances.names()])
        )
    space = open_nuisance(spec)
    reads = [key for key, field in options_of(type(space)).items() if field.metadata.get("image_set")]
    if space.needs or any(isinstance(getattr(space, key.replace("-", "_")), str) for key in reads):
        raise BrittleError(
            f"the augmentation {spec!r} needs more than the image itself", "Use a mix, or another nuisance."
        )
    return space


def in_pairs(what: Mix | Nuisance) -> bool:
    return isinstance(what, Mix) and what.pairs


def augmented(what: Mix | Nuisance, batch: Batch, partners: Tensor, draws: Tensor, seed: int) -> Augmented:
    """Images of a batch (B) augmented for one draw number each; partners (B, C, H, W) are what they are mixed with."""
    device = batch.images.device
    if not isinstance(what, Mix):
        root = stream_root(seed, nuisances.name_of(what), device)
        moved = what.apply(batch, draw_theta(what, batch, draws, root))
        return Augmented(moved, torch.ones(len(moved), device=device))
    root = stream_root(seed, f"mix {mixes.name_of(what)}", device)
    keys = fold(fold(root, batch.ids), draws)
    masks = what.masks(keys, *batch.images.shape[-2:], mixed_targets=False, seed=seed)
    share = masks.mean((1, 2, 3))
    if not what.pairs:
        return Augmented(batch.images * masks, share)
    # The majority's label counts. Both images of a pair are looked at, so that it may as well always be the first.
    masks = torch.where((share < HALF)[:, None, None, None], 1 - masks, masks)
    return Augmented(torch.lerp(partners, batch.images, masks), torch.maximum(share, 1 - share))
