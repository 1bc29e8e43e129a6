"""Nuisances: parametrised changes of an image that should not change its label. One file an idea."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from brittle.registry import Registry

if TYPE_CHECKING:
    from brittle.types import Nuisance

_PLUS = re.compile(r"\+(?=[a-z][a-z0-9-]*(?:[:+]|$))")  # before a kind's name, not inside a number such as 1e+3


class NuisanceRegistry(Registry["Nuisance"]):
    """A registry whose specs may be joined by + into a composition."""

    def build(self, text: str) -> Nuisance:
        specs = _PLUS.split(text.strip())
        if len(specs) == 1:
            return super().build(text)
        from brittle.nuisances.compose import Compose

        parts = tuple(super(NuisanceRegistry, self).build(spec) for spec in specs)
        return Compose(parts, tuple(self.name_of(part) for part in parts))

    def spec_of(self, thing: object) -> str:
        from brittle.nuisances.compose import Compose

        return "+".join(map(self.spec_of, thing.parts)) if isinstance(thing, Compose) else super().spec_of(thing)


nuisances = NuisanceRegistry("nuisance", __name__)
register = nuisances.register


def nuisance(what: str | Nuisance, **options: Any) -> Nuisance:
    """A nuisance from its spec ("affine:alpha=50"), from its kind and options ("affine", alpha=50), or itself."""
    if not isinstance(what, str):
        return what
    return nuisances.get(what)(**options) if options else nuisances.build(what)
