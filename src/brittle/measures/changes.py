"""What measures do to images before they ask: nothing, a draw of a nuisance, a given θ, a place on a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from brittle.measures.answers import At, Notes
from brittle.measures.draws import design_theta, draw_theta
from brittle.types import Batch, Nuisance, Traceable


class Untouched:
    """Images as they are. Nothing is gained by compiling that."""

    traceable: ClassVar[bool] = False

    def make(self, batch: Batch, at: At) -> tuple[Tensor, Notes]:
        return batch.images, {}


@dataclass(frozen=True)
class UnderNuisance:
    """What changes by a nuisance have in common."""

    nuisance: Nuisance

    @property
    def traceable(self) -> bool:
        return isinstance(self.nuisance, Traceable) and self.nuisance.traceable


@dataclass(frozen=True)
class DrawnTheta(UnderNuisance):
    """T_θ x, with θ the draw of the prior that has the number `draw`, counted from the first of its `design`; `root` is
    the key of (seed, nuisance)."""

    root: Tensor
    design: str = "independent"

    def make(self, batch: Batch, at: At) -> tuple[Tensor, Notes]:
        theta = design_theta(self.design, self.nuisance, batch, at["draw"], self.root)
        return self.nuisance.apply(batch, theta), {}


@dataclass(frozen=True)
class GivenTheta(UnderNuisance):
    """T_θ x, with θ given."""

    def make(self, batch: Batch, at: At) -> tuple[Tensor, Notes]:
        return self.nuisance.apply(batch, at["theta"]), {}


@dataclass(frozen=True)
class AlongPath(UnderNuisance):
    """The path through θ at a `severity`."""

    def make(self, batch: Batch, at: At) -> tuple[Tensor, Notes]:
        return self.nuisance.apply(batch, self.nuisance.at(at["theta"], at["severity"], batch)), {}


@dataclass(frozen=True)
class AlongFreshPath(UnderNuisance):
    """A `severity` of the path through a θ of its own: that of a `draw`, and within it of the `place` on a grid."""

    root: Tensor

    def make(self, batch: Batch, at: At) -> tuple[Tensor, Notes]:
        theta = draw_theta(self.nuisance, batch, at["draw"], self.root, within=at["place"])
        return self.nuisance.apply(batch, self.nuisance.at(theta, at["severity"], batch)), {}
