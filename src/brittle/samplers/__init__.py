"""Samplers: draws from p(θ | not ℓ, x) ∝ p(not ℓ | T_θ x) · p(θ | x), for many images at once. One file per idea."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brittle.registry import Registry

if TYPE_CHECKING:
    from brittle.samplers.target import Sampler

samplers: Registry[Sampler] = Registry("sampler", __name__, own_code=True)
register = samplers.register


def sampler(what: str | Sampler) -> Sampler:
    """A sampler from its spec ("crank-nicolson:step=0.3"), or itself."""
    return samplers.build(what) if isinstance(what, str) else what
