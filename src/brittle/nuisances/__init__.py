"""Nuisances: parametrised changes of an image that should not change its label. One file per idea."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from brittle.errors import BrittleError
from brittle.registry import Registry
from brittle.registry.spec import summands

if TYPE_CHECKING:
    from torch import Tensor

    from brittle.types import Batch, Nuisance


class NuisanceRegistry(Registry["Nuisance"]):
    """A registry whose specs can be joined with + into a composition."""

    def build(self, text: str, options: Mapping[str, Any] | None = None) -> Nuisance:
        specs = summands(text)
        if len(specs) == 1:
            return super().build(specs[0], options)
        if options:
            raise BrittleError(f"{text!r} joins several nuisances and takes no options", "Write them into its specs.")
        from brittle.nuisances.base.compose import Compose

        parts = tuple(super(NuisanceRegistry, self).build(spec) for spec in specs)
        return Compose(parts, tuple(self.name_of(part) for part in parts))

    def runs_code(self, text: str, options: Mapping[str, Any] | None = None) -> bool:
        return any(super(NuisanceRegistry, self).runs_code(spec, options) for spec in summands(text))

    def check(self, text: str, options: Mapping[str, Any] | None = None) -> None:
        for spec in summands(text):
            super().check(spec, options)

    def spec_of(self, thing: Any) -> str:
        from brittle.nuisances.base.compose import Compose

        space = nuisance(thing)
        return "+".join(map(self.spec_of, space.parts)) if isinstance(space, Compose) else super().spec_of(space)


nuisances = NuisanceRegistry("nuisance", __name__, own_code=True)
register = nuisances.register


def transformed(space: Nuisance, batch: Batch, theta: Tensor, severity: Tensor | float) -> Tensor:
    """T_θ x at a severity, for θ (B, d): severity 0 bypasses the transform and returns exactly the same pixels."""
    if isinstance(severity, (int, float)):
        return batch.images if severity == 0 else space.apply(batch, space.at(theta, severity, batch))
    moved = space.apply(batch, space.at(theta, severity, batch))
    return batch.images.where((severity == 0).view(-1, 1, 1, 1), moved)


def nuisance(what: str | Nuisance | Callable[..., Any], **options: Any) -> Nuisance:
    """A nuisance from its spec ("affine:alpha=50") or kind and options ("affine", alpha=50); from a function of images
    or a transform of torchvision, albumentations or Kornia (`takes=`, `clip=`); or the nuisance given."""
    from brittle.types import Nuisance

    if isinstance(what, str):
        return nuisances.build(what, options)
    if isinstance(what, Nuisance) or not callable(what):
        return what
    return nuisances.make("function", {"function": what, **options})
