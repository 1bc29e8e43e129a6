"""Fog (ImageNet-C's fog): bright clouds laid over the image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.base.corruption import Corruption, field_keys
from brittle.nuisances.base.levels import at_level, strengths
from brittle.nuisances.base.seeds import SEED_NAMES
from brittle.nuisances.ops.broadcast import per_image
from brittle.nuisances.ops.plasma import plasma

AMOUNT = (0.0, 1.5, 2.0, 2.5, 2.5, 3.0)
DECAY = (2.0, 2.0, 2.0, 1.7, 1.5, 1.4)


@register("fog")
@dataclass(frozen=True)
class Fog(Corruption):
    """Fog. Prior: level = level·exp(spread·z), z ~ N(0, 1); seed uniform, from which the clouds are made.

    x ← (x + a·clouds)·m/(m + a), with m the image's brightest value, clouds in [0, 1] from the diamond-square algorithm
    and a = 1.5, 2, 2.5, 2.5 and 3 at levels 1 to 5; the clouds are finer at higher levels (ImageNet-C). Severity
    multiplies the level; the seed stays the same."""

    parameters: ClassVar = ("level", *SEED_NAMES)

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        amount, decay = strengths(level, AMOUNT, DECAY)
        clouds = plasma(field_keys(rest, 0), decay.clamp(min=1.2), *images.shape[-2:])
        brightest = images.amax((1, 2, 3))
        share = brightest / (brightest + amount).clamp(min=1e-6)
        return images * per_image(share) + clouds[:, None] * per_image(share * amount)

    def picture(self, height: int, width: int) -> str:
        amount = at_level(AMOUNT, self.level)
        return f"clouds that leave {100 / (1 + amount):.0f} % of the image's contrast"
