"""Nuisances: parametrised changes of an image that should not change its label. One file an idea."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brittle.registry import Registry

if TYPE_CHECKING:
    from brittle.types import Nuisance

nuisances: Registry[Nuisance] = Registry("nuisance", __name__)
register = nuisances.register


def nuisance(what: str | Nuisance, **options: Any) -> Nuisance:
    """A nuisance from its spec ("affine:alpha=50"), from its kind and options ("affine", alpha=50), or itself."""
    if not isinstance(what, str):
        return what
    return nuisances.get(what)(**options) if options else nuisances.build(what)
